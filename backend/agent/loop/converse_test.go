package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider/scripted"
)

// conversation is a run that may call every tool.
func conversation(t testing.TB, m core.Model, rec *record) core.Task {
	t.Helper()
	task := core.Task{
		Run:   core.Run{ID: "run", SessionID: "s", Kind: core.KindConversation, State: core.RunRunning, Model: core.ModelRef{ProviderID: "p", Model: "mock-1"}},
		Model: m, Budget: core.DefaultBudget(), Recorder: rec,
		Tools: registry(t), Allowed: core.ConversationTools(), Toolbox: &box{},
	}
	rec.history.Runs = append(rec.history.Runs, task.Run)
	rec.say("run", core.Message{Role: core.RoleUser, Parts: []core.Part{{Type: core.PartText, Text: "hello"}}})
	ids := 0
	task.NewID = func() string { ids++; return fmt.Sprintf("id%d", ids) }
	return task
}

// calls is an answer that calls tools: name, arguments, name, arguments…
func calls(pairs ...string) scripted.Script {
	var s scripted.Script
	for i := 0; i < len(pairs); i += 2 {
		c := core.AnswerCall{ID: fmt.Sprint("call_", i), ProviderID: fmt.Sprint("p", i), Name: pairs[i], Arguments: json.RawMessage(pairs[i+1])}
		if !json.Valid(c.Arguments) {
			c.Arguments, c.Raw, c.Invalid = nil, pairs[i+1], true
		}
		s.Answer.Calls = append(s.Answer.Calls, c)
	}
	s.Answer.Usage = exact
	return s
}

func words(s string) scripted.Script {
	return scripted.Script{Steps: scripted.Say(s), Answer: core.Answer{Usage: exact}}
}

// call returns the nth call of the history, from 1.
func (r *record) call(t testing.TB, n int) core.ToolCall {
	t.Helper()
	if len(r.history.Calls) < n {
		t.Fatalf("only %d calls", len(r.history.Calls))
	}
	return r.history.Calls[n-1]
}

func TestConverse_Answers(t *testing.T) {
	m, rec := scripted.Play(scripted.Script{Steps: scripted.Say("Hel", "lo."), Answer: core.Answer{Usage: exact}}), &record{}
	end := run(t, t.Context(), conversation(t, m, rec))
	if end.State != core.RunSucceeded || end.Message.Parts[0].Text != "Hello." || end.Outcome != "" || end.Usage != exact || rec.text != "Hello." {
		t.Errorf("end %+v, shown %q", end, rec.text)
	}
	req := m.Requests()[0]
	if len(req.Messages) != 1 || req.System == "" || len(req.Tools) != len(core.ConversationTools()) {
		t.Errorf("request %+v", req)
	}
	if len(rec.contexts) != 1 || rec.contexts[0].Tokens == 0 || rec.contexts[0].Step != 1 || rec.contexts[0].RunID != "run" {
		t.Errorf("context %+v", rec.contexts)
	}
}

// A task goes from model to tool and back until an answer calls none, in strict
// order, with intent and start recorded before each effect.
//
// covers: R6 T1
func TestConverse_CallsToolsInOrder(t *testing.T) {
	first := calls("searchWorkspace", `{"query":"a"}`, "readDocument", `{ "path":"a.md","fromLine":2.0 }`)
	first.Steps = scripted.Say("I look", " first.")
	m, rec := scripted.Play(first, calls("getOutline", `{}`), words("Found.")), &record{}
	task := conversation(t, m, rec)
	b := &box{}
	b.prepare = func(_ context.Context, c core.ToolCall) (core.Prepared, error) {
		return core.Prepared{Source: "/w/" + c.Name, BaseVersion: 3}, nil
	}
	b.execute = func(_ context.Context, c core.ToolCall, in core.Intent) (core.ToolResult, error) {
		if !strings.HasSuffix(rec.log(), c.Name+" running") {
			t.Errorf("%s is carried out after: %s", c.Name, rec.log())
		}
		if in.Source != "/w/"+c.Name || in.BaseVersion != 3 || in.Attempt != 1 || in.IdemKey != "" {
			t.Errorf("intent %+v", in)
		}
		return core.ToolResult{Text: "result of " + c.Name, Facts: core.ToolFacts{Path: "a.md", Bytes: 5}}, nil
	}
	task.Toolbox = b
	end := run(t, t.Context(), task)
	if end.State != core.RunSucceeded || end.Message.Parts[0].Text != "Found." || end.Usage.Input != 30 || end.Usage.Kind != core.UsageExact {
		t.Errorf("end %+v", end)
	}
	want := "1.1 prepared, 1.1 sent, 1.1 streaming, 1.1 done, searchWorkspace proposed, readDocument proposed, " +
		"searchWorkspace ready, searchWorkspace running, searchWorkspace succeeded, readDocument ready, readDocument running, readDocument succeeded, " +
		"2.2 prepared, 2.2 sent, 2.2 done, getOutline proposed, getOutline ready, getOutline running, getOutline succeeded, " +
		"3.3 prepared, 3.3 sent, 3.3 streaming, 3.3 done"
	if got := rec.log(); got != want {
		t.Errorf("recorded %s\nwant %s", got, want)
	}
	if got := strings.Join(b.ran, "; "); got != `searchWorkspace {"query":"a"}; readDocument {"path":"a.md","fromLine":2}; getOutline {}` {
		t.Errorf("ran %s", got)
	}
	// The second request holds what was said and done, the third everything.
	sent := m.Requests()[1].Messages
	if len(sent) != 3 || sent[1].Role != core.RoleAssistant || sent[2].Role != core.RoleTool {
		t.Fatalf("second request %+v", sent)
	}
	if p := sent[1].Parts; len(p) != 3 || p[0].Text != "I look first." || p[1].Name != "searchWorkspace" || string(p[2].Input) != `{"path":"a.md","fromLine":2.0}` {
		t.Errorf("answer %+v", p)
	}
	if p := sent[2].Parts; len(p) != 2 || p[0].Text != "result of searchWorkspace" || p[1].IsError || p[1].ToolCallID != sent[1].Parts[2].ToolCallID {
		t.Errorf("results %+v", p)
	}
	if n := len(m.Requests()[2].Messages); n != 5 {
		t.Errorf("third request has %d messages", n)
	}
	if c := rec.call(t, 2); c.Facts.Path != "a.md" || c.ProviderCallID != "p2" || c.ModelCallID == "" || c.Kind != core.ToolRead {
		t.Errorf("call %+v", c)
	}
}

// Bad arguments, a tool that is not there or not allowed, a policy, a fault, an
// error and a panic are results, and the run goes on.
//
// covers: T6 T8
func TestConverse_FailuresAreResults(t *testing.T) {
	tests := []struct {
		name, tool, input string
		policy            core.Policy
		allowed           []string
		prepare           error
		res               core.ToolResult
		err               error
		panics            bool
		log, result       string
	}{
		{name: "no such tool", tool: "rm -rf", input: `{"p":1}`, log: "rm_-rf proposed, rm_-rf refused not_found", result: "The tools are: getActiveDocument,"},
		{name: "not allowed", tool: "searchWorkspace", input: `{"query":"a"}`, allowed: []string{"getOutline"}, log: "searchWorkspace proposed, searchWorkspace refused not_found", result: "The tools are: getOutline."},
		{name: "no tools", tool: "searchWorkspace", input: `{"query":"a"}`, allowed: []string{}, log: "searchWorkspace proposed, searchWorkspace refused not_found", result: "there are no tools"},
		{name: "no name", tool: "", input: `{}`, log: "unnamed proposed, unnamed refused not_found", result: "no tool unnamed"},
		{name: "no JSON", tool: "searchWorkspace", input: `{"query":`, log: "searchWorkspace proposed, searchWorkspace refused invalid_input", result: `begins with "{\"query\":"`},
		{name: "no JSON, all optional", tool: "listWorkspace", input: `{"path":`, log: "listWorkspace proposed, listWorkspace refused invalid_input", result: `"additionalProperties":false`},
		{name: "no JSON, not allowed", tool: "searchWorkspace", input: `{`, allowed: []string{"getOutline"}, log: "searchWorkspace proposed, searchWorkspace refused not_found", result: "not_found"},
		{name: "outside the schema", tool: "searchWorkspace", input: `{"query":1}`, log: "searchWorkspace proposed, searchWorkspace refused invalid_input", result: "query: expected a string"},
		{name: "policy", tool: "searchWorkspace", input: `{"query":"a"}`, policy: core.Policy{core.PermWorkspaceRead: core.VerdictDeny}, log: "searchWorkspace proposed, searchWorkspace refused policy_denied", result: "settings do not allow"},
		{name: "cannot be prepared", tool: "readDocument", input: `{"path":"x.md"}`, prepare: &fault.Error{Code: fault.NotFound, Detail: "x.md"}, log: "readDocument proposed, readDocument refused not_found", result: "not_found: x.md."},
		{name: "fault", tool: "readDocument", input: `{"path":"x.md"}`, res: core.ToolResult{IsError: true, Code: fault.TooLarge, Text: "It has 9 MB."}, log: "readDocument proposed, readDocument ready, readDocument running, readDocument failedtoo_large", result: "too_large: It has 9 MB."},
		{name: "resolver", tool: "proposePatch", input: `{"oldText":"a","newText":"b","summary":"s"}`, res: core.ToolResult{IsError: true, Code: fault.Ambiguous, Text: "ambiguous: oldText occurs 2 times."}, log: "proposePatch proposed, proposePatch ready, proposePatch running, proposePatch failedambiguous", result: "ambiguous: oldText occurs"},
		{name: "no answer to a read", tool: "readDocument", input: `{"path":"x.md"}`, err: errors.New("gone"), log: "readDocument proposed, readDocument ready, readDocument running, readDocument failedinterrupted_read", result: "you may repeat it"},
		{name: "no answer to a proposal", tool: "proposePatch", input: `{"oldText":"a","newText":"b","summary":"s"}`, err: errors.New("gone"), log: "proposePatch proposed, proposePatch ready, proposePatch running, proposePatch failedno_effect", result: "no_effect"},
		{name: "panic", tool: "readDocument", input: `{"path":"x.md"}`, panics: true, log: "readDocument proposed, readDocument ready, readDocument running, readDocument failedinterrupted_read", result: "gave nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, rec := scripted.Play(calls(tt.tool, tt.input), words("Then not.")), &record{}
			task := conversation(t, m, rec)
			task.Policy = tt.policy
			if tt.allowed != nil {
				task.Allowed = tt.allowed
			}
			b := &box{}
			b.prepare = func(context.Context, core.ToolCall) (core.Prepared, error) { return core.Prepared{}, tt.prepare }
			b.execute = func(context.Context, core.ToolCall, core.Intent) (core.ToolResult, error) {
				if tt.panics {
					panic("tool")
				}
				return tt.res, tt.err
			}
			task.Toolbox = b
			end := run(t, t.Context(), task)
			if end.State != core.RunSucceeded || end.Message.Parts[0].Text != "Then not." {
				t.Errorf("end %+v", end)
			}
			if got := rec.toolLog(); got != tt.log {
				t.Errorf("recorded %s, want %s", got, tt.log)
			}
			sent := m.Requests()[1].Messages
			res := sent[len(sent)-1].Parts[0]
			if !res.IsError || !strings.Contains(res.Text, tt.result) || res.ToolCallID != sent[len(sent)-2].Parts[0].ToolCallID {
				t.Errorf("result %+v, want %q", res, tt.result)
			}
			if c := rec.call(t, 1); !json.Valid(c.Input) || c.InputDigest == "" {
				t.Errorf("call %+v", c)
			}
		})
	}
}

// A panic while a call is prepared refuses it.
func TestConverse_PanicWhilePreparing(t *testing.T) {
	m, rec := scripted.Play(calls("getOutline", `{}`), words("Ok.")), &record{}
	task := conversation(t, m, rec)
	task.Toolbox = nil
	if end := run(t, t.Context(), task); end.State != core.RunSucceeded || rec.call(t, 1).Reason != "internal" {
		t.Errorf("end %+v, call %+v", end, rec.call(t, 1))
	}
}

// A write asks, and is carried out only when the person allows it. Refusal is a
// result the model goes on from.
//
// covers: T4 T5
func TestConverse_WritesAskFirst(t *testing.T) {
	create := `{"dir":"","name":"a.md","text":"x"}`
	for _, tt := range []struct {
		state     core.ApprovalState
		log, told string
		ran       int
	}{
		{core.ApprovalAllowedOnce, "createDocument proposed, createDocument asked notes.write a.md, allowed_once, createDocument ready, createDocument running, createDocument succeeded", "createDocument done", 1},
		{core.ApprovalDenied, "createDocument proposed, createDocument asked notes.write a.md, denied", "permission_denied: the person refused", 0},
		{core.ApprovalExpired, "createDocument proposed, createDocument asked notes.write a.md, expired", "expired: nobody answered", 0},
	} {
		m, rec := scripted.Play(calls("createDocument", create), words("So.")), &record{}
		rec.decide = func(core.Approval) core.ApprovalState { return tt.state }
		task := conversation(t, m, rec)
		b := &box{prepare: func(context.Context, core.ToolCall) (core.Prepared, error) {
			return core.Prepared{Target: "/w/a.md", PostDigest: "d", Summary: core.ToolSummary{Path: "a.md"}}, nil
		}}
		task.Toolbox = b
		end := run(t, t.Context(), task)
		if end.State != core.RunSucceeded || rec.toolLog() != tt.log || len(b.ran) != tt.ran {
			t.Errorf("%s: end %+v, recorded %s", tt.state, end, rec.toolLog())
		}
		if res := m.Requests()[1].Messages[2].Parts[0]; !strings.HasPrefix(res.Text, tt.told) {
			t.Errorf("%s: told %q", tt.state, res.Text)
		}
		if in, ok := rec.intents["id1"]; ok && (in.IdemKey != "id1" || in.Target != "/w/a.md" || in.PostDigest != "d") {
			t.Errorf("intent %+v", in)
		}
	}
}

// A read that the settings make ask is not asked about again once it is allowed
// for the session, also by the call before it in the same answer.
//
// covers: T4
func TestConverse_AllowedForTheSession(t *testing.T) {
	m, rec := scripted.Play(calls("searchWorkspace", `{"query":"a"}`, "searchWorkspace", `{"query":"b"}`), words("So.")), &record{granted: map[string]bool{}}
	rec.decide = func(core.Approval) core.ApprovalState {
		rec.granted["searchWorkspace"] = true
		return core.ApprovalAllowedSession
	}
	task := conversation(t, m, rec)
	task.Policy = core.Policy{core.PermWorkspaceRead: core.VerdictConfirm}
	run(t, t.Context(), task)
	want := "searchWorkspace proposed, searchWorkspace proposed, searchWorkspace asked workspace.read , allowed_session, " +
		"searchWorkspace ready, searchWorkspace running, searchWorkspace succeeded, searchWorkspace ready, searchWorkspace running, searchWorkspace succeeded"
	if got := rec.toolLog(); got != want {
		t.Errorf("recorded %s", got)
	}
}

// Calls of an answer that broke off or was refused are never carried out; a
// stop with calls carries them out, a call finish without calls ends.
//
// covers: K3
func TestConverse_WhatCameDecides(t *testing.T) {
	with := func(f core.Finish) scripted.Script {
		s := calls("getOutline", `{}`)
		s.Answer.Finish = f
		s.Steps = scripted.Say("Half.")
		return s
	}
	cut := with("")
	cut.Steps = append(cut.Steps, scripted.Step{Fault: fault.New(fault.StreamCut, "chat", nil)})
	for _, tt := range []struct {
		name   string
		script scripted.Script
		state  core.RunState
		code   fault.Code
		ran    int
	}{
		{"length", with(core.FinishMaxTokens), core.RunFailed, fault.CutOff, 0},
		{"cut", cut, core.RunFailed, fault.StreamCut, 0},
		{"refusal", with(core.FinishRefusal), core.RunFailed, fault.Refused, 0},
		{"filter", with(core.FinishContentFilter), core.RunFailed, fault.Refused, 0},
		{"stop", with(core.FinishEndTurn), core.RunSucceeded, "", 1},
		{"calls without calls", scripted.Script{Steps: scripted.Say("Half."), Answer: core.Answer{Finish: core.FinishToolCalls, Usage: exact}}, core.RunSucceeded, "", 0},
	} {
		rec := &record{}
		task := conversation(t, scripted.Play(tt.script, words("Done.")), rec)
		end := run(t, t.Context(), task)
		code := fault.Code("")
		if end.Fault != nil {
			code = fault.Code(end.Fault.Code)
		}
		if end.State != tt.state || code != tt.code || len(rec.history.Calls) != tt.ran {
			t.Errorf("%s: end %+v %s, %d calls", tt.name, end, code, len(rec.history.Calls))
		}
		if tt.code != "" && (end.Message == nil || end.Message.Parts[0].Text != "Half." || end.MessageStatus != partial) {
			t.Errorf("%s: message %+v", tt.name, end.Message)
		}
	}
}

// An answer with calls is asked for again only when nothing of it was seen and
// none of its calls was recorded.
//
// covers: K6
func TestConverse_AsksAgainBeforeAnythingCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := scripted.Script{Steps: []scripted.Step{{Fault: fault.New(fault.Overloaded, "chat", nil)}}}
		m, rec := scripted.Play(over, calls("getOutline", `{}`), over, words("Done.")), &record{}
		end := run(t, t.Context(), conversation(t, m, rec))
		want := "1.1 prepared, 1.1 sent, 1.1 failedoverloaded, 1.1 withdrawn overloaded, 1.2 prepared, 1.2 sent, 1.2 done, " +
			"getOutline proposed, getOutline ready, getOutline running, getOutline succeeded, " +
			"2.3 prepared, 2.3 sent, 2.3 failedoverloaded, 2.3 withdrawn overloaded, 2.4 prepared, 2.4 sent, 2.4 streaming, 2.4 done"
		if end.State != core.RunSucceeded || rec.log() != want {
			t.Errorf("end %+v, recorded %s", end, rec.log())
		}
	})
}

// Calls with one provider id keep ids of their own.
func TestConverse_IdsGivenTwice(t *testing.T) {
	twice := calls("getOutline", `{}`, "getSelection", `{}`)
	for i := range twice.Answer.Calls {
		twice.Answer.Calls[i].ID, twice.Answer.Calls[i].ProviderID = "same", "same"
	}
	m, rec := scripted.Play(twice, twice, words("Done.")), &record{}
	run(t, t.Context(), conversation(t, m, rec))
	seen, provider := map[core.ToolCallID]bool{}, map[string]int{}
	for _, msg := range m.Requests()[2].Messages {
		for _, p := range msg.Parts {
			if p.Type == core.PartToolCall {
				seen[p.ToolCallID] = true
				provider[p.ProviderCallID]++
			}
		}
	}
	if len(seen) != 4 || provider["same"] != 1 || len(rec.history.Calls) != 4 {
		t.Errorf("ids %v, of the provider %v", seen, provider)
	}
}

// What the provider wants back goes with the message of a step and of the end.
// covers: K2
func TestConverse_KeepsEnvelopes(t *testing.T) {
	env := []core.Envelope{{V: 1, Dialect: "d", Origin: "o", Raw: []byte{0xff, 0}}}
	first, last := calls("getOutline", `{}`), words("Done.")
	first.Answer.Envelopes, last.Answer.Envelopes = env, env
	m, rec := scripted.Play(first, last), &record{}
	end := run(t, t.Context(), conversation(t, m, rec))
	if e := rec.history.Messages[1].Parts[0].Envelope; e == nil || string(e.Raw) != "\xff\x00" {
		t.Errorf("step %+v", e)
	}
	if e := end.Message.Parts[0].Envelope; e == nil || e.Origin != "o" {
		t.Errorf("end %+v", e)
	}
	if p := m.Requests()[1].Messages[1].Parts[0]; p.Envelope == nil {
		t.Error("not sent back")
	}
}

// A proposal is recorded with its call, and what the person decided since is in
// its result.
//
// covers: T4
func TestConverse_Proposes(t *testing.T) {
	in := `{"oldText":"a","newText":"b","summary":"s"}`
	m, rec := scripted.Play(calls("proposePatch", in), calls("getOutline", `{}`), words("Proposed.")), &record{}
	task := conversation(t, m, rec)
	b := &box{}
	b.execute = func(_ context.Context, c core.ToolCall, _ core.Intent) (core.ToolResult, error) {
		if c.Name == core.ToolGetOutline {
			rec.history.Proposals[0].Hunks[0].Outcome = core.HunkAccepted
			rec.history.Proposals[0].State = core.ProposalApplied
			// A tool that only reads proposes nothing.
			return core.ToolResult{Text: "none", Proposal: &core.Proposal{}}, nil
		}
		return core.ToolResult{Text: "proposed", Proposal: &core.Proposal{DocURI: "file:///a.md", Hunks: []core.Hunk{{ID: "1"}}}}, nil
	}
	task.Toolbox = b
	if end := run(t, t.Context(), task); end.State != core.RunSucceeded {
		t.Fatalf("end %+v", end)
	}
	if len(rec.history.Proposals) != 1 {
		t.Fatalf("%d proposals", len(rec.history.Proposals))
	}
	if p := rec.history.Proposals[0]; p.ID == "" || p.ToolCallID != "id1" || p.RunID != "run" || p.Origin != core.OriginTool || p.CreatedAtMs == 0 {
		t.Errorf("proposal %+v", p)
	}
	if got := m.Requests()[1].Messages[2].Parts[0].Text; got != "[Since then: not decided yet. It is not applied.]\nproposed" {
		t.Errorf("told %q", got)
	}
	if got := m.Requests()[2].Messages[2].Parts[0].Text; got != "[Since then: the person accepted 1 of 1 hunks.]\nproposed" {
		t.Errorf("told %q", got)
	}
}

// A result that cannot be recorded as it is does not leave a call running.
func TestConverse_ResultThatIsNotTaken(t *testing.T) {
	m := scripted.Play(calls("proposePatch", `{"oldText":"a","newText":"b","summary":"s"}`, "createDocument", `{"dir":"","name":"a.md","text":"x"}`), words("Done."))
	rec := &record{decide: func(core.Approval) core.ApprovalState { return core.ApprovalAllowedOnce }}
	task := conversation(t, m, rec)
	task.Toolbox = &box{execute: func(_ context.Context, c core.ToolCall, _ core.Intent) (core.ToolResult, error) {
		if c.Name == core.ToolProposePatch {
			return core.ToolResult{Text: "proposed", Proposal: &core.Proposal{}}, nil
		}
		return core.ToolResult{Text: "made", PostDigest: "none"}, nil
	}}
	if end := run(t, t.Context(), task); end.State != core.RunSucceeded {
		t.Errorf("end %+v", end)
	}
	if p, c := rec.call(t, 1), rec.call(t, 2); p.State != core.CallFailed || p.Reason != "internal" || c.State != core.CallSucceeded || c.Result != "made" {
		t.Errorf("%+v, %+v", p, c)
	}
}

// The mock finds its way through a whole run: it reads what the loop sends.
//
// covers: K1
func TestConverse_WithTheMock(t *testing.T) {
	rec := &record{}
	task := conversation(t, scripted.New(scripted.Config{Pace: -1}), rec)
	rec.history.Messages[0].Parts[0].Text = "把“渡船”改成“小船”"
	text := "# 夜航\n\n渡船慢了。\n"
	task.Snapshot = &core.Snapshot{DocURI: "file:///w/a b.md", BaseVersion: 1, Text: text}
	b := &box{}
	b.execute = func(_ context.Context, c core.ToolCall, _ core.Intent) (core.ToolResult, error) {
		switch c.Name {
		case core.ToolSearchWorkspace:
			return core.ToolResult{Text: "1 hit.\n<data 00>\na b.md:3: 渡船慢了。\n</data 00>"}, nil
		case core.ToolProposePatch:
			return core.ToolResult{Text: "{}", Proposal: &core.Proposal{DocURI: "file:///w/a b.md"}}, nil
		}
		return core.ToolResult{IsError: true, Code: fault.NotFound}, nil
	}
	task.Toolbox = b
	end := run(t, t.Context(), task)
	want := `searchWorkspace {"query":"渡船","caseSensitive":true}; proposePatch {"oldText":"渡船慢了","newText":"小船慢了","scope":"document","summary":"“渡船”改为“小船”"}`
	if got := strings.Join(b.ran, "; "); got != want {
		t.Errorf("ran %s", got)
	}
	if end.State != core.RunSucceeded || end.Message == nil || !strings.Contains(end.Message.Parts[0].Text, "我提出了 1 处修改") || end.Usage.Kind != core.UsageEstimated {
		t.Errorf("end %+v", end)
	}
	thought := false
	for _, p := range rec.previews {
		thought = thought || p.Thinking
	}
	if !thought {
		t.Error("nobody saw it think")
	}
}

// covers: R8
func TestConverse_Budgets(t *testing.T) {
	outline := func() scripted.Script { return calls("getOutline", `{}`) }
	many := make([]scripted.Script, 30)
	for i := range many {
		many[i] = outline()
	}
	big := func(n int) func(context.Context, core.ToolCall, core.Intent) (core.ToolResult, error) {
		return func(context.Context, core.ToolCall, core.Intent) (core.ToolResult, error) {
			return core.ToolResult{Text: strings.Repeat("é", n/2)}, nil
		}
	}
	tests := []struct {
		name           string
		budget         core.Budget
		execute        func(context.Context, core.ToolCall, core.Intent) (core.ToolResult, error)
		reason, detail string
		code           fault.Code
		ran            int
	}{
		{"steps", core.Budget{Steps: 3}, nil, ReasonSteps, "3 steps", fault.CutOff, 3},
		{"default steps", core.Budget{}, nil, ReasonSteps, "25 steps", fault.CutOff, 25},
		{"tokens", core.Budget{Tokens: 6000}, nil, ReasonTokens, "6000 tokens", fault.CutOff, 3},
		{"output", core.Budget{ToolResultsBytes: 2500}, big(1000), ReasonOutput, "2500 bytes", fault.CutOff, 3},
		{"time", core.Budget{TimeMs: 60_000}, func(ctx context.Context, _ core.ToolCall, _ core.Intent) (core.ToolResult, error) {
			sleep(ctx, 25*time.Second)
			return core.ToolResult{Text: "x"}, nil
		}, ReasonTime, "1m0s", fault.Timeout, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := &record{}
				scripts := append([]scripted.Script{}, many...)
				for i := range scripts {
					scripts[i].Answer.Usage = core.Usage{Kind: core.UsageExact, Input: 1800, Output: 10}
				}
				task := conversation(t, scripted.Play(scripts...), rec)
				task.Budget = tt.budget.WithDefaults()
				task.Toolbox = &box{execute: tt.execute}
				end := run(t, t.Context(), task)
				if end.State != core.RunFailed || end.Reason != tt.reason || end.Fault.Detail != tt.detail || fault.Code(end.Fault.Code) != tt.code {
					t.Errorf("end %+v, fault %+v", end, end.Fault)
				}
				if len(rec.history.Calls) != tt.ran {
					t.Errorf("%d calls", len(rec.history.Calls))
				}
				for _, c := range rec.history.Calls {
					if !c.State.Final() {
						t.Errorf("a call is left %s", c.State)
					}
				}
			})
		})
	}
}

// Tokens are estimated where the provider does not count, and an answer that
// would use up more than there are is stopped.
//
// covers: R8
func TestConverse_EstimatesTokens(t *testing.T) {
	silent := scripted.Script{Steps: scripted.Say(strings.Repeat("word ", 40))}
	rec := &record{}
	end := run(t, t.Context(), conversation(t, scripted.Play(silent), rec))
	if end.Usage.Kind != core.UsageEstimated || end.Usage.Output != 50 || end.Usage.Input < 500 {
		t.Errorf("usage %+v", end.Usage)
	}
	rec = &record{}
	task := conversation(t, scripted.Play(scripted.Script{Steps: scripted.Say(strings.SplitAfter(strings.Repeat("word ", 10_000), " ")...)}), rec)
	task.Budget.Tokens = 5000
	end = run(t, t.Context(), task)
	if end.State != core.RunFailed || end.Reason != ReasonTokens || end.MessageStatus != partial {
		t.Errorf("end %+v", end)
	}
	if n := len(end.Message.Parts[0].Text); n < 8_000 || n > 16_000 {
		t.Errorf("%d bytes came", n)
	}
}

// The time that a person takes to decide is not the run's.
//
// covers: R8
func TestConverse_WaitingForThePersonIsNotTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, rec := scripted.Play(calls("createDocument", `{"dir":"","name":"a.md","text":"x"}`), scripted.Script{Steps: []scripted.Step{{Pause: 9 * time.Minute, Delta: core.Delta{Text: "Done."}}}}), &record{}
		rec.decide = func(core.Approval) core.ApprovalState {
			time.Sleep(8 * time.Hour)
			return core.ApprovalAllowedOnce
		}
		if end := run(t, t.Context(), conversation(t, m, rec)); end.State != core.RunSucceeded {
			t.Errorf("end %+v", end)
		}
		m = scripted.Play(calls("createDocument", `{"dir":"","name":"a.md","text":"x"}`), scripted.Script{Steps: []scripted.Step{{Pause: 11 * time.Minute, Delta: core.Delta{Text: "Done."}}}})
		rec.history = core.History{}
		if end := run(t, t.Context(), conversation(t, m, rec)); end.Reason != ReasonTime {
			t.Errorf("end %+v", end)
		}
	})
}

// A tool that takes too long is a result; one that may have changed something
// ends the run, for nobody knows.
//
// covers: T6 R6 R8
func TestConverse_ToolTime(t *testing.T) {
	create := `{"dir":"","name":"a.md","text":"x"}`
	for _, tt := range []struct {
		name, tool, input string
		answer            func(ctx context.Context) (core.ToolResult, error)
		call              core.ToolCallState
		reason            string
		run               core.RunState
	}{
		{"read without answer", "readDocument", `{"path":"a"}`, func(context.Context) (core.ToolResult, error) { return core.ToolResult{}, errors.New("no answer") }, core.CallFailed, "timeout", core.RunSucceeded},
		{"read stopped", "readDocument", `{"path":"a"}`, func(context.Context) (core.ToolResult, error) { return core.ToolResult{Stopped: true}, nil }, core.CallFailed, "timeout", core.RunSucceeded},
		{"write stopped", "createDocument", create, func(context.Context) (core.ToolResult, error) { return core.ToolResult{Stopped: true}, nil }, core.CallFailed, "timeout", core.RunSucceeded},
		{"write done all the same", "createDocument", create, func(context.Context) (core.ToolResult, error) { return core.ToolResult{Text: "made"}, nil }, core.CallSucceeded, "", core.RunSucceeded},
		{"write without answer", "createDocument", create, func(context.Context) (core.ToolResult, error) { return core.ToolResult{}, errors.New("no answer") }, core.CallUnknown, "no_answer", core.RunInterrupted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := &record{decide: func(core.Approval) core.ApprovalState { return core.ApprovalAllowedOnce }}
				task := conversation(t, scripted.Play(calls(tt.tool, tt.input, "getOutline", `{}`), words("Done.")), rec)
				b := &box{}
				b.execute = func(ctx context.Context, c core.ToolCall, _ core.Intent) (core.ToolResult, error) {
					if c.Name != tt.tool {
						return core.ToolResult{}, nil
					}
					<-ctx.Done()
					return tt.answer(ctx)
				}
				task.Toolbox = b
				begun := time.Now()
				end := run(t, t.Context(), task)
				if d := time.Since(begun); d != 30*time.Second {
					t.Errorf("took %s", d)
				}
				c := rec.call(t, 1)
				if c.State != tt.call || c.Reason != tt.reason || end.State != tt.run {
					t.Errorf("call %s %s, end %+v", c.State, c.Reason, end)
				}
				if tt.run == core.RunInterrupted && (end.Reason != ReasonUnknown || len(b.ran) != 1) {
					t.Errorf("end %+v after %v", end, b.ran)
				}
			})
		})
	}
}

// A result is cut between whole characters, with its beginning and its end, and
// the whole of it is kept.
//
// covers: R8 R9
func TestConverse_ShortensResults(t *testing.T) {
	m, rec := scripted.Play(calls("readDocument", `{"path":"a"}`), words("Done.")), &record{}
	task := conversation(t, m, rec)
	task.Budget.ToolResultBytes = 1000
	whole := "BEGIN " + strings.Repeat("👩‍👩‍👧🇨🇭e\u0301", 200) + " END"
	task.Toolbox = &box{execute: func(context.Context, core.ToolCall, core.Intent) (core.ToolResult, error) {
		return core.ToolResult{Text: whole}, nil
	}}
	run(t, t.Context(), task)
	end := rec.ends["id1"]
	if !end.Truncated || end.Whole != whole || len(end.Result) > 1000 || len(end.Result) < 900 {
		t.Errorf("%d bytes, %+v", len(end.Result), end.Truncated)
	}
	if !strings.HasPrefix(end.Result, "BEGIN ") || !strings.HasSuffix(end.Result, " END") || !strings.Contains(end.Result, "bytes are left out here") {
		t.Errorf("result %q", end.Result)
	}
	if got := m.Requests()[1].Messages[2].Parts[0].Text; !strings.HasPrefix(got, "[Shortened; the whole is kept as artifact art-id1,") {
		t.Errorf("told %q", got)
	}
}

// Cancel at any time ends the run cancelled, and what really happened is kept.
//
// covers: R7
func TestConverse_Cancel(t *testing.T) {
	create := `{"dir":"","name":"a.md","text":"x"}`
	for _, tt := range []struct {
		name  string
		after time.Duration
		log   string
		state core.RunState
		err   error
	}{
		{"while the model speaks", 5 * time.Second, "", core.RunCancelled, nil},
		{"while a person is asked", 15 * time.Second, "createDocument proposed, getOutline proposed, createDocument asked notes.write ", core.RunCancelled, nil},
		{"while a tool works", 25 * time.Second, "createDocument proposed, getOutline proposed, createDocument asked notes.write , allowed_once, createDocument ready, createDocument running, createDocument succeeded", core.RunCancelled, nil},
		{"while a tool works that does not answer", 25 * time.Second, "createDocument proposed, getOutline proposed, createDocument asked notes.write , allowed_once, createDocument ready, createDocument running, createDocument unknownno_answer", core.RunInterrupted, errors.New("gone")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer time.AfterFunc(tt.after, cancel).Stop()
				first := calls("createDocument", create, "getOutline", `{}`)
				first.Steps = []scripted.Step{{Delta: core.Delta{Text: "I make it."}}, {Pause: 10 * time.Second}}
				rec := &record{}
				rec.decide = func(core.Approval) core.ApprovalState {
					sleep(ctx, 10*time.Second)
					return core.ApprovalAllowedOnce
				}
				task := conversation(t, scripted.Play(first, words("Done.")), rec)
				task.Toolbox = &box{execute: func(ctx context.Context, _ core.ToolCall, _ core.Intent) (core.ToolResult, error) {
					<-ctx.Done()
					time.Sleep(2 * time.Second) // it could not be stopped any more
					return core.ToolResult{Text: "made"}, tt.err
				}}
				end := run(t, ctx, task)
				if end.State != tt.state || rec.toolLog() != tt.log || end.Fault != nil {
					t.Errorf("end %+v, recorded %s", end, rec.toolLog())
				}
				if said := end.Message != nil; said != (tt.log == "") {
					t.Errorf("message %+v", end.Message)
				}
			})
		})
	}
}

// The recorder can know of a cancel before the loop does, and a store that
// fails ends everything.
//
// covers: R7
func TestConverse_RecorderSaysNo(t *testing.T) {
	for _, at := range []string{"CommitStep", "ReadyCall", "StartCall"} {
		rec := &record{failOn: map[string]error{at: fault.New(fault.Cancelled, "test", nil)}}
		b := &box{}
		task := conversation(t, scripted.Play(calls("getOutline", `{}`)), rec)
		task.Toolbox = b
		if end := run(t, t.Context(), task); end.State != core.RunCancelled || len(b.ran) != 0 {
			t.Errorf("%s: end %+v, ran %v", at, end, b.ran)
		}
	}
	for _, at := range []string{"History", "CommitStep", "ReadyCall", "StartCall", "FinishCall"} {
		rec := &record{failOn: map[string]error{at: fault.New(fault.StoreFailed, "test", nil)}}
		b := &box{}
		m := scripted.Play(calls("getOutline", `{}`, "getSelection", `{}`))
		task := conversation(t, m, rec)
		task.Toolbox = b
		if _, err := runtime().Run(t.Context(), task); fault.CodeOf(err) != fault.StoreFailed || len(b.ran) > 1 {
			t.Errorf("%s: %v, ran %v", at, err, b.ran)
		}
	}
}

// A model that quotes one passage wrongly twice is shown it again; with the
// third time the run ends.
func TestConverse_QuotesThatAreNotThere(t *testing.T) {
	doc := strings.Repeat("Some other line.\n", 40) + "The ferry leaves at night.\n" + strings.Repeat("Yet another line.\n", 40)
	patch := func(old string) scripted.Script {
		in, _ := json.Marshal(map[string]string{"oldText": old, "newText": "x", "summary": "s"})
		return calls("proposePatch", string(in))
	}
	miss := func(context.Context, core.ToolCall, core.Intent) (core.ToolResult, error) {
		return core.ToolResult{IsError: true, Code: fault.NotInDocument, Text: "not_in_document: no."}, nil
	}
	m := scripted.Play(patch("A ferry leaves at night"), patch("The ferries leave at night"), patch("The ferry left at nights"), words("Done."))
	rec := &record{}
	task := conversation(t, m, rec)
	task.Snapshot = &core.Snapshot{DocURI: "file:///w/a.md", BaseVersion: 1, Text: doc}
	task.Toolbox = &box{execute: miss}
	end := run(t, t.Context(), task)
	if end.State != core.RunFailed || end.Reason != ReasonQuotes || end.Fault.Code != "not_in_document" {
		t.Errorf("end %+v", end)
	}
	if got := rec.call(t, 1).Result; got != "not_in_document: no." {
		t.Errorf("first result %q", got)
	}
	if got := rec.call(t, 2).Result; !strings.Contains(got, "\nThe ferry leaves at night.\n") || strings.Count(got, "\n") > 2*excerptLines+3 {
		t.Errorf("second result %q", got)
	}

	// Other passages, and a success between, begin anew.
	other := scripted.Play(patch("A ferry leaves at night"), patch("Quite another passage here"), patch("A ferry leaves at night"), patch("A ferry leaves at night"), words("Done."))
	rec = &record{}
	task = conversation(t, other, rec)
	task.Toolbox = &box{execute: miss}
	if end := run(t, t.Context(), task); end.State != core.RunSucceeded {
		t.Errorf("end %+v", end)
	}
}

// What the provider found too long is sent once more, half as long, and never
// unchanged.
//
// covers: R9
func TestConverse_ContextTooLong(t *testing.T) {
	long := func() scripted.Script {
		return scripted.Script{Steps: []scripted.Step{{Fault: fault.New(fault.ContextTooLong, "chat", nil)}}}
	}
	doc := strings.Repeat("A line of the document that says something.\n", 2000)
	m, rec := scripted.Play(long(), words("Done.")), &record{}
	task := conversation(t, m, rec)
	task.Snapshot = &core.Snapshot{DocURI: "file:///w/a.md", BaseVersion: 1, Text: doc}
	end := run(t, t.Context(), task)
	if end.State != core.RunSucceeded || end.Usage != exact {
		t.Errorf("end %+v", end)
	}
	a, b := rec.contexts[0], rec.contexts[1]
	if 2*(b.Tokens+b.Reserve) > a.Tokens+a.Reserve {
		t.Errorf("%d tokens after %d", b.Tokens, a.Tokens)
	}
	if got := rec.log(); !strings.HasPrefix(got, "1.1 prepared, 1.1 sent, 1.1 failedcontext_too_long, 1.1 withdrawn context_too_long, 1.2 prepared") {
		t.Errorf("recorded %s", got)
	}

	m, rec = scripted.Play(long(), long()), &record{}
	task = conversation(t, m, rec)
	task.Snapshot = &core.Snapshot{DocURI: "file:///w/a.md", BaseVersion: 1, Text: doc}
	if end := run(t, t.Context(), task); end.State != core.RunFailed || end.Fault.Code != "context_too_long" || len(m.Requests()) != 2 {
		t.Errorf("end %+v after %d requests", end, len(m.Requests()))
	}

	m, rec = scripted.Play(), &record{}
	task = conversation(t, m, rec)
	task.ContextTokens = 1000
	if end := run(t, t.Context(), task); end.State != core.RunFailed || end.Fault.Code != "context_too_long" || !strings.Contains(end.Fault.Detail, "> 1000 tokens (+") || len(m.Requests()) != 0 {
		t.Errorf("end %+v, %+v after %d requests", end, end.Fault, len(m.Requests()))
	}
}

func TestConverse_Ends(t *testing.T) {
	for name, tt := range map[string]struct {
		reply  reply
		code   fault.Code
		status string
	}{
		"length":  {ends("Half an", core.FinishMaxTokens, nil), fault.CutOff, partial},
		"refusal": {ends("No.", core.FinishRefusal, nil), fault.Refused, partial},
		"cut":     {ends("Half an", "", fault.New(fault.StreamCut, "chat", nil)), fault.StreamCut, partial},
		"no key":  {ends("", "", fault.New(fault.NoKey, "chat", nil)), fault.NoKey, ""},
	} {
		end := run(t, t.Context(), conversation(t, &model{replies: []reply{tt.reply}}, &record{}))
		if end.State != core.RunFailed || end.Fault.Code != string(tt.code) || end.MessageStatus != tt.status {
			t.Errorf("%s: end %+v", name, end)
		}
	}
}
