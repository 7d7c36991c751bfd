package store

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// talk starts a conversation run in a session of its own.
func talk(t testing.TB, s *Store, cmd core.CommandID) core.Run {
	t.Helper()
	sub := rewrite(cmd)
	sub.Kind, sub.Tools = core.KindConversation, []string{"search", "createDocument"}
	r := submit(t, s, sub)
	must(t, s.Start(t.Context(), r.ID))
	return r
}

// covers: R5 R6
func TestCommitStep_AMessageAndItsCallsAreOneFact(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	run := talk(t, s, "c")
	if diff := cmp.Diff([]string{"search", "createDocument"}, run.Tools); diff != "" {
		t.Errorf("tools of the run (-want +got):\n%s", diff)
	}
	mc, err := s.BeginModelCall(ctx, core.ModelCall{RunID: run.ID, Step: 1, Attempt: 4})
	must(t, err)
	must(t, s.KeepDraft(ctx, run.ID, assistantMessage("I lo")))
	envelope := &core.Envelope{V: 1, Dialect: "d", Origin: "o", Raw: []byte{0, 0xff}}
	m := core.Message{Role: core.RoleAssistant, Parts: []core.Part{
		{Type: core.PartText, Text: "I look."},
		{Type: core.PartToolCall, Name: "search", ProviderCallID: "x1", Input: json.RawMessage(`{"q":1}`), Envelope: envelope},
		{Type: core.PartToolCall, Name: "createDocument", ToolCallID: "given"},
	}}
	before := s.LastSeq()
	calls, err := s.CommitStep(ctx, run.ID, 4, m, []core.ToolCall{
		{Name: "search", Kind: core.ToolRead, ProviderCallID: "x1", Input: json.RawMessage(`{"q":1}`), State: core.CallRunning, Ord: 9},
		{Name: "createDocument", Kind: core.ToolWrite, Input: json.RawMessage(`{}`)},
	})
	must(t, err)
	if m.Parts[1].ToolCallID != "" {
		t.Error("the caller's message was changed")
	}
	first := calls[0]
	if first.ID == "" || calls[1].ID != "given" || first.Ord != 1 || calls[1].Ord != 2 || first.State != core.CallProposed ||
		first.ModelCallID != mc.ID || first.RunID != run.ID || len(first.InputDigest) != 64 || first.Attempt != 1 {
		t.Errorf("calls are %+v", calls)
	}
	events := rec.upTo(s.LastSeq())[before:]
	var types []core.EventType
	for _, e := range events {
		types = append(types, e.Type)
	}
	if diff := cmp.Diff([]core.EventType{core.EventMessageCommitted, core.EventToolChanged, core.EventToolChanged}, types); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	said := payload[core.MessageCommitted](t, events[0])
	if said.Attempt != 4 || said.Status != "complete" || said.Message.Parts[1].ToolCallID != first.ID || said.Message.Parts[2].ToolCallID != "given" {
		t.Errorf("message.committed says %+v", said)
	}
	// The draft has become the message, and what the provider needs is kept.
	h, err := s.History(ctx, run.SessionID)
	must(t, err)
	if len(h.Messages) != 2 || h.Messages[1].ID != said.MessageID || h.Messages[1].Ord != 2 {
		t.Errorf("messages are %+v", h.Messages)
	}
	if diff := cmp.Diff(envelope, h.Messages[1].Parts[1].Envelope); diff != "" {
		t.Errorf("envelope (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(calls, h.Calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	// The next step goes on.
	next, err := step(t, s, run.ID, core.ToolRead, "search", "search")
	must(t, err)
	if next[0].Ord != 3 || next[1].Ord != 4 {
		t.Errorf("next calls are %+v", next)
	}
}

func TestCommitStep_Refuses(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	ctx := t.Context()
	run := talk(t, s, "c")
	part := core.Part{Type: core.PartToolCall, Name: "search", ToolCallID: "a"}
	call := core.ToolCall{Name: "search", Kind: core.ToolRead, Input: json.RawMessage(`{}`)}
	with := func(change func(*core.ToolCall)) []core.ToolCall {
		c := call
		change(&c)
		return []core.ToolCall{c}
	}
	before := s.LastSeq()
	for name, tt := range map[string]struct {
		m     core.Message
		calls []core.ToolCall
	}{
		"another role":     {core.Message{Role: core.RoleUser, Parts: []core.Part{part}}, []core.ToolCall{call}},
		"no parts":         {core.Message{Role: core.RoleAssistant}, nil},
		"a part too many":  {core.Message{Role: core.RoleAssistant, Parts: []core.Part{part, part}}, []core.ToolCall{call}},
		"a call too many":  {core.Message{Role: core.RoleAssistant, Parts: []core.Part{part}}, []core.ToolCall{call, call}},
		"another id":       {core.Message{Role: core.RoleAssistant, Parts: []core.Part{part}}, with(func(c *core.ToolCall) { c.ID = "b" })},
		"no name":          {core.Message{Role: core.RoleAssistant, Parts: []core.Part{part}}, with(func(c *core.ToolCall) { c.Name = "" })},
		"no kind":          {core.Message{Role: core.RoleAssistant, Parts: []core.Part{part}}, with(func(c *core.ToolCall) { c.Kind = "" })},
		"half a JSON text": {core.Message{Role: core.RoleAssistant, Parts: []core.Part{part}}, with(func(c *core.ToolCall) { c.Input = json.RawMessage(`{`) })},
	} {
		if _, err := s.CommitStep(ctx, run.ID, 1, tt.m, tt.calls); fault.CodeOf(err) != fault.InvalidInput {
			t.Errorf("%s: %v, want invalid_input", name, err)
		}
	}
	if s.LastSeq() != before {
		t.Error("a refused step left events")
	}
	if _, err := step(t, s, "none", core.ToolRead, "search"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("no run: %v", err)
	}
	queued := submit(t, s, in(run.SessionID, rewrite("d")))
	if _, err := step(t, s, queued.ID, core.ToolRead, "search"); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("a queued run: %v", err)
	}
}

// covers: R7
func TestCommitStep_NothingIsProposedAfterACancel(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	ctx := t.Context()
	run, lost := talk(t, s, "c"), talk(t, s, "d")
	_, err := s.Cancel(ctx, "x", run.ID)
	must(t, err)
	_, err = s.End(ctx, lost.ID, core.RunEnd{State: core.RunInterrupted, Reason: "shutdown"})
	must(t, err)
	for _, id := range []core.RunID{run.ID, lost.ID} {
		_, err := step(t, s, id, core.ToolRead, "search")
		wantCode(t, err, fault.Cancelled)
		_, err = s.BeginModelCall(ctx, core.ModelCall{RunID: id, Step: 1, Attempt: 1})
		wantCode(t, err, fault.Cancelled)
	}
	calls, err := s.ToolCalls(ctx, run.ID)
	if err != nil || len(calls) != 0 {
		t.Errorf("calls are %+v, %v", calls, err)
	}
}

// covers: K9
func TestModelCall_ItsBeginningAndEndAreTold(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	run := talk(t, s, "c")
	before := s.LastSeq()
	c, err := s.BeginModelCall(ctx, core.ModelCall{RunID: run.ID, Step: 2, Attempt: 3, Context: &core.ContextReport{Tokens: 70, Size: 100}})
	must(t, err)
	for _, p := range []core.CallPhase{core.PhaseSent, core.PhaseStreaming} {
		must(t, s.UpdateModelCall(ctx, core.ModelCall{ID: c.ID, Phase: p}))
	}
	usage := core.Usage{Kind: core.UsageExact, Input: 5, Output: 2}
	must(t, s.UpdateModelCall(ctx, core.ModelCall{ID: c.ID, Phase: core.PhaseDone, FinishReason: "end_turn", Usage: usage}))
	other, err := s.BeginModelCall(ctx, core.ModelCall{RunID: run.ID, Step: 2, Attempt: 4})
	must(t, err)
	must(t, s.WithdrawAttempt(ctx, core.ModelCall{ID: other.ID, ErrorClass: "overloaded"}))
	events := rec.upTo(s.LastSeq())[before:]
	var types []core.EventType
	for _, e := range events {
		types = append(types, e.Type)
		if e.SessionID != run.SessionID || e.RunID != run.ID {
			t.Errorf("event %+v is of another run", e)
		}
	}
	if diff := cmp.Diff([]core.EventType{
		core.EventModelCallBegun, core.EventModelCallEnded, core.EventModelCallBegun, core.EventModelCallEnded, core.EventAttemptWithdrawn,
	}, types); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(core.ModelCallBegun{Step: 2, Attempt: 3, ContextTokens: 70, ContextSize: 100}, payload[core.ModelCallBegun](t, events[0])); diff != "" {
		t.Errorf("begun (-want +got):\n%s", diff)
	}
	done := core.ModelCallEnded{Step: 2, Attempt: 3, Phase: core.PhaseDone, FinishReason: "end_turn", Usage: usage}
	if diff := cmp.Diff(done, payload[core.ModelCallEnded](t, events[1])); diff != "" {
		t.Errorf("ended (-want +got):\n%s", diff)
	}
	failed := core.ModelCallEnded{Step: 2, Attempt: 4, Phase: core.PhaseFailed, Usage: core.Usage{Kind: core.UsageUnknown}, Code: "overloaded"}
	if diff := cmp.Diff(failed, payload[core.ModelCallEnded](t, events[3])); diff != "" {
		t.Errorf("withdrawn (-want +got):\n%s", diff)
	}
	d, err := s.RunDetail(ctx, run.ID)
	must(t, err)
	if diff := cmp.Diff([]core.ModelCallEnded{done, failed}, d.ModelCalls); diff != "" {
		t.Errorf("model calls (-want +got):\n%s", diff)
	}
}

// covers: R5
func TestEnd_ItsMessageNamesTheAttempt(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	run, lost := talk(t, s, "c"), talk(t, s, "d")
	for i := 1; i <= 3; i++ {
		for _, id := range []core.RunID{run.ID, lost.ID} {
			_, err := s.BeginModelCall(ctx, core.ModelCall{RunID: id, Step: min(i, 2), Attempt: i})
			must(t, err)
		}
	}
	m := assistantMessage("Done.")
	_, err := s.End(ctx, run.ID, core.RunEnd{State: core.RunSucceeded, Message: &m})
	must(t, err)
	must(t, s.KeepDraft(ctx, lost.ID, assistantMessage("Do")))
	attempts := func(rec *recorder, s *Store) (list []int) {
		for _, e := range rec.upTo(s.LastSeq()) {
			if e.Type == core.EventMessageCommitted {
				list = append(list, payload[core.MessageCommitted](t, e).Attempt)
			}
		}
		return list
	}
	if diff := cmp.Diff([]int{0, 0, 3}, attempts(rec, s)); diff != "" { // the persons' messages, and the answer
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	s, rec = restart(t, s, "two")
	recovered(t, s)
	if diff := cmp.Diff([]int{3}, attempts(rec, s)); diff != "" {
		t.Errorf("attempts after a crash (-want +got):\n%s", diff)
	}
}
