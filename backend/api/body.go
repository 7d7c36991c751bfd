package api

import (
	"encoding/json"
	"fmt"

	"galley/backend/agent/core"
	"galley/backend/text"
)

// maxPayload is the size in bytes over which a committed event travels without
// its body: Wails evaluates each message as a script.
const maxPayload = 32 << 10

// maxMember is the size in bytes up to which a member of a call's input stays
// when the call travels without its body: names and paths are shown of it.
const maxMember = 1 << 10

// forPage returns a committed event as the page gets it, live or read again.
func forPage(ev core.Event) (Envelope, any, error) {
	e := Envelope{Type: string(ev.Type), Seq: ev.Seq, RunID: string(ev.RunID), SessionID: string(ev.SessionID), AtMs: ev.AtMs}
	if len(ev.Payload) <= maxPayload {
		return e, ev.Payload, nil
	}
	payload, short, err := withoutBody(ev)
	if err != nil {
		return e, nil, fmt.Errorf("shorten %s: %w", ev.Type, err)
	}
	e.Ref = short
	return e, payload, nil
}

// withoutBody returns the payload of a large event without its body, and false
// where it is the whole: of other types there is nothing to fetch.
func withoutBody(ev core.Event) (payload any, short bool, err error) {
	switch ev.Type {
	case core.EventProposalCreated:
		var p core.Proposal
		if err := json.Unmarshal(ev.Payload, &p); err != nil {
			return nil, false, err
		}
		p.Patch.Edits, p.Hunks = []text.Edit{}, []core.Hunk{}
		return p, true, nil
	case core.EventMessageCommitted:
		var m core.MessageCommitted
		if err := json.Unmarshal(ev.Payload, &m); err != nil {
			return nil, false, err
		}
		m.Message.Parts = []core.Part{}
		return m, true, nil
	case core.EventToolChanged:
		var c core.ToolCall
		if err := json.Unmarshal(ev.Payload, &c); err != nil {
			return nil, false, err
		}
		return shortCall(c), true, nil
	case core.EventToolReconciled:
		var r core.ToolReconciled
		if err := json.Unmarshal(ev.Payload, &r); err != nil {
			return nil, false, err
		}
		r.Call = shortCall(r.Call)
		return r, true, nil
	case core.EventApprovalAsked, core.EventApprovalDecided:
		// The text is that of the call's input.
		var a core.Approval
		if err := json.Unmarshal(ev.Payload, &a); err != nil {
			return nil, false, err
		}
		a.Summary.Text = ""
		return a, true, nil
	default:
		return ev.Payload, false, nil
	}
}

// shortCall is a call without its result and without what is long in its input.
func shortCall(c core.ToolCall) core.ToolCall {
	c.Result = ""
	var input map[string]json.RawMessage
	if json.Unmarshal(c.Input, &input) != nil {
		input = nil
	}
	kept, size := map[string]json.RawMessage{}, 0
	for name, value := range input {
		if len(name)+len(value) > maxMember || size+len(name)+len(value) > maxPayload/4 {
			continue
		}
		size += len(name) + len(value)
		kept[name] = value
	}
	// Members of valid JSON make valid JSON.
	c.Input, _ = json.Marshal(kept)
	return c
}
