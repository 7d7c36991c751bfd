package dialect

import (
	"encoding/json"
	"strconv"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/provider"
)

// Speaker passes text on, holding back what may be the beginning of a secret.
type Speaker struct {
	// Red takes the secrets out.
	Red *provider.Redactor
	// Say is given what may be shown.
	Say  func(string)
	held string
}

// Add takes a piece in.
func (s *Speaker) Add(piece string) {
	if piece == "" {
		return
	}
	all := s.Red.Text(s.held + piece)
	keep := s.Red.Hold(all)
	s.held = all[len(all)-keep:]
	if all = all[:len(all)-keep]; all != "" {
		s.Say(all)
	}
}

// Flush says what was held back; nothing more comes.
func (s *Speaker) Flush() {
	if s.held != "" {
		s.Say(s.held)
		s.held = ""
	}
}

// Call builds the nth call, counted from 0, of a whole answer. name is that of
// the wire; raw are its arguments as they came, of which none, null and "" are
// {} (decision 13). What is no object is kept as it came and marked invalid.
func Call(n int, providerID, name, raw string, names Names, red *provider.Redactor) core.AnswerCall {
	raw = red.Text(raw)
	a := core.AnswerCall{ID: "call_" + strconv.Itoa(n+1), ProviderID: red.Text(providerID), Name: names.Own(red.Text(name))}
	switch trimmed := strings.TrimSpace(raw); {
	case a.Name == "":
		a.Raw, a.Invalid = raw, true
	case trimmed == "", trimmed == "null":
		a.Arguments = json.RawMessage("{}")
	case IsObject(trimmed):
		a.Arguments = ScrubEscapes(json.RawMessage(trimmed))
	default:
		a.Raw, a.Invalid = raw, true
	}
	return a
}

// Arguments returns the input of a call as it goes back; {} for none.
func Arguments(input json.RawMessage) json.RawMessage {
	if len(strings.TrimSpace(string(input))) == 0 {
		return json.RawMessage("{}")
	}
	return ScrubEscapes(input)
}

// Text joins the parts of one type of a message. What a person sees as separate
// parts stays separate; what the model said in pieces goes back as one.
func Text(msg core.Message, t core.PartType) string {
	var parts []string
	for _, p := range msg.Parts {
		if p.Type == t && p.Text != "" {
			parts = append(parts, p.Text)
		}
	}
	sep := "\n\n"
	if msg.Role == core.RoleAssistant {
		sep = ""
	}
	return Scrub(strings.Join(parts, sep))
}

// Clipped reports whether a local server has read less than three quarters of
// what we think we sent: it has cut the prompt and not said so (decision 21).
func Clipped(u core.Usage, estimate int) bool {
	return u.Kind == core.UsageExact && estimate > 0 && 4*u.Input < 3*estimate
}
