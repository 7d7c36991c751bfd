package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"galley/backend/agent/core"
)

// Names maps our tool names to those that every dialect allows, letters,
// digits, _ and - up to 64, and back.
type Names struct {
	out map[string]string
	in  map[string]string
}

// NewNames returns the names of the tools of a request.
func NewNames(req core.Request) Names {
	n := Names{out: make(map[string]string), in: make(map[string]string)}
	for _, t := range req.Tools {
		wire := legalName(t.Name)
		for i := 2; n.in[wire] != "" && n.in[wire] != t.Name; i++ {
			suffix := "_" + strconv.Itoa(i)
			wire = wire[:min(len(wire), 64-len(suffix))] + suffix
		}
		n.out[t.Name], n.in[wire] = wire, t.Name
	}
	return n
}

// Wire returns the name a tool goes out with, also of one that is no longer
// offered.
func (n Names) Wire(own string) string {
	if wire, ok := n.out[own]; ok {
		return wire
	}
	return legalName(own)
}

// Own returns our name of a tool; a name that nobody offered stays as it is.
func (n Names) Own(wire string) string {
	if own, ok := n.in[wire]; ok {
		return own
	}
	return wire
}

func legalName(s string) string {
	legal := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
	if legal == "" {
		legal = "_"
	}
	return legal[:min(len(legal), 64)]
}

// IDs gives each call of a conversation the id it goes out with: the provider's
// own, unless it gave none, gave it twice, or wants another form.
type IDs struct {
	short bool
	taken map[string]core.ToolCallID
	mine  map[core.ToolCallID]string
}

// NewIDs returns the ids of the calls in msgs. With short they have nine
// letters or digits, as Mistral wants.
func NewIDs(msgs []core.Message, short bool) IDs {
	x := IDs{short: short, taken: make(map[string]core.ToolCallID), mine: make(map[core.ToolCallID]string)}
	for _, msg := range msgs {
		for _, p := range msg.Parts {
			if p.Type != core.PartToolCall {
				continue
			}
			id := p.ProviderCallID
			if owner, used := x.taken[id]; id == "" || used && owner != p.ToolCallID {
				id = string(p.ToolCallID)
			}
			if short && !isShort(id) {
				sum := sha256.Sum256([]byte(string(p.ToolCallID) + "\x00" + id))
				id = hex.EncodeToString(sum[:])[:9]
			}
			x.taken[id], x.mine[p.ToolCallID] = p.ToolCallID, id
		}
	}
	return x
}

// Of returns the id of a call, or of the call that a result belongs to.
func (x IDs) Of(p core.Part) string {
	if id, ok := x.mine[p.ToolCallID]; ok {
		return id
	}
	if p.ProviderCallID != "" {
		return p.ProviderCallID
	}
	return string(p.ToolCallID)
}

func isShort(id string) bool {
	return len(id) == 9 && legalName(id) == id && !strings.ContainsAny(id, "_-")
}
