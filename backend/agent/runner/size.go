package runner

import (
	"encoding/json"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/text"
)

// An answer that does not fit into a line reaches nobody, so that whatever can
// grow is cut before. What is cut can be asked for one by one.

// maxAnswer leaves room in a line for what stands round an answer.
const maxAnswer = wire.MaxLine - 64<<10

// pageBytes is about how much a page of events holds: enough to be few, and
// little enough that what comes after it does not wait.
const pageBytes = 1 << 20

// eventFrame is about what stands round the payload of an event.
const eventFrame = 256

func sizeOf(e core.Event) int { return len(e.Payload) + eventFrame }

// size is how many bytes v takes in a line. What cannot be encoded has none;
// that is found out when it is sent.
func size(v any) int {
	b, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(b)
}

// fitState cuts a state down to what a line takes and returns how much room is
// left. Proposals, which stand the newest first, go without their edits where
// these do not fit; proposal.get has them.
func fitState(s *core.State) int {
	room := maxAnswer - size(core.State{Sessions: s.Sessions, Runs: s.Runs, Approvals: s.Approvals})
	short := make([]core.Proposal, len(s.Proposals))
	for i, p := range s.Proposals {
		short[i] = withoutEdits(p)
		room -= size(short[i]) + 1
	}
	for i, p := range s.Proposals {
		more := size(p) - size(short[i])
		if more > room {
			s.Proposals[i] = short[i]
			continue
		}
		room -= more
	}
	for room < 0 && len(s.Proposals) > 0 {
		last := len(s.Proposals) - 1
		room += size(s.Proposals[last]) + 1
		s.Proposals = s.Proposals[:last]
	}
	return room
}

// withoutEdits leaves out of a proposal what proposal.get gives.
func withoutEdits(p core.Proposal) core.Proposal {
	p.Patch.Edits, p.Hunks = []text.Edit{}, []core.Hunk{}
	return p
}

// page cuts events down to a page. An event that alone is too long for a line
// goes without its body.
func page(events []core.Event, more bool) wire.SessionEventsResult {
	res := wire.SessionEventsResult{Events: []core.Event{}, More: more}
	total := 0
	for _, e := range events {
		if sizeOf(e) > maxAnswer {
			e = withoutBody(e)
		}
		total += sizeOf(e)
		if total > pageBytes && len(res.Events) > 0 {
			res.More = true
			break
		}
		res.Events = append(res.Events, e)
	}
	return res
}

// withoutBody returns an event whose payload lacks the part that can be long
// without bound. Of other types it returns the event as it is.
func withoutBody(e core.Event) core.Event {
	var short any
	switch e.Type {
	case core.EventProposalCreated:
		var p core.Proposal
		if json.Unmarshal(e.Payload, &p) != nil {
			return e
		}
		short = withoutEdits(p)
	case core.EventMessageCommitted:
		var m core.MessageCommitted
		if json.Unmarshal(e.Payload, &m) != nil {
			return e
		}
		m.Message.Parts = []core.Part{}
		short = m
	case core.EventToolChanged:
		var c core.ToolCall
		if json.Unmarshal(e.Payload, &c) != nil {
			return e
		}
		c = withoutTexts(c)
		short = c
	default:
		return e
	}
	if b, err := json.Marshal(short); err == nil {
		e.Payload = b
	}
	return e
}

// withoutTexts leaves out of a call what tool.get gives.
func withoutTexts(c core.ToolCall) core.ToolCall {
	c.Input, c.Result, c.Truncated = json.RawMessage("{}"), "", true
	return c
}

// fitMessages leaves the oldest messages out until the others fit into a line,
// and returns how many it left out.
func fitMessages(list []core.MessageCommitted, room int) ([]core.MessageCommitted, int) {
	for i := len(list) - 1; i >= 0; i-- {
		room -= size(list[i]) + 1
		if room < 0 {
			return list[i+1:], i + 1
		}
	}
	return list, 0
}

// fitDetail cuts a run's detail down to what a line takes: the texts of its
// calls and questions first, then edits, then messages.
func fitDetail(d *core.RunDetail) {
	if size(d) <= maxAnswer {
		return
	}
	for i, c := range d.Calls {
		d.Calls[i] = withoutTexts(c)
	}
	for i, a := range d.Approvals {
		// tool.get has the input of the others; what is asked about is shown whole.
		if a.State != core.ApprovalPending {
			d.Approvals[i].Summary.Text = ""
		}
	}
	for i, r := range d.Reconciled {
		d.Reconciled[i].Call = withoutTexts(r.Call)
	}
	if size(d) <= maxAnswer {
		return
	}
	for i, p := range d.Proposals {
		d.Proposals[i] = withoutEdits(p)
	}
	messages := d.Messages
	d.Messages = []core.MessageCommitted{}
	d.Messages, _ = fitMessages(messages, maxAnswer-size(d))
}

// fitReports leaves the oldest reports out until the others fit into a line.
func fitReports(list []core.ContextReport) []core.ContextReport {
	room := maxAnswer
	for i := len(list) - 1; i >= 0; i-- {
		room -= size(list[i]) + 1
		if room < 0 {
			return list[i+1:]
		}
	}
	return list
}
