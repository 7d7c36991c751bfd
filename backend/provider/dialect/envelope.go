package dialect

import (
	"encoding/json"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/provider"
)

// Seal puts what must go back with a turn of the model into an envelope, without
// the secrets. kept is written as JSON.
func Seal(dialect provider.Dialect, origin string, kept any, red *provider.Redactor) []core.Envelope {
	raw, err := Marshal(kept)
	if err != nil {
		return nil // it was read from JSON
	}
	return []core.Envelope{{V: 1, Dialect: string(dialect), Origin: origin, Raw: []byte(red.Text(string(raw)))}}
}

// Open reads the envelope of a message into kept, if it came from the same
// dialect and origin; there is one for a turn, attached to any of its parts. It
// reports whether there was one.
func Open(msg core.Message, dialect provider.Dialect, origin string, kept any) bool {
	for _, p := range msg.Parts {
		e := p.Envelope
		if e == nil || e.Dialect != string(dialect) || e.Origin != origin {
			continue
		}
		if json.Unmarshal(e.Raw, kept) == nil {
			return true
		}
	}
	return false
}

// Origin is where an envelope came from and may go back to: a host, and the part
// of a model's name that its versions share.
func Origin(host, model string) string { return host + " " + family(model) }

func family(model string) string {
	model = strings.ToLower(model)
	vendor := ""
	if i := strings.LastIndexByte(model, '/'); i >= 0 {
		vendor, model = model[:i+1], model[i+1:]
	}
	if i := strings.IndexAny(model, "-_.:@0123456789"); i > 0 {
		model = model[:i]
	}
	return vendor + model
}
