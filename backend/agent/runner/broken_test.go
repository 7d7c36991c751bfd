package runner

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// begin brings a call of a running run as far as running.
func begin(t *testing.T, task core.Task, name string, kind core.ToolKind) core.ToolCall {
	t.Helper()
	ctx, rec := context.WithoutCancel(t.Context()), task.Recorder
	do := func(err error) {
		if err != nil {
			t.Error(err)
			panic(err)
		}
	}
	input := json.RawMessage(`{}`)
	digest := core.InputDigest(input)
	calls, err := rec.CommitStep(ctx, task.Run.ID, 1, core.Message{Role: core.RoleAssistant, Parts: []core.Part{
		{Type: core.PartToolCall, Name: name, Input: input},
	}}, []core.ToolCall{{
		RunID: task.Run.ID, Name: name, Kind: kind, Input: input, InputDigest: hex.EncodeToString(digest[:]),
	}})
	do(err)
	c := calls[0]
	if kind == core.ToolWrite && name != core.ToolProposePatch {
		a, err := rec.AskApproval(ctx, core.Approval{ToolCallID: c.ID, Rule: core.PermNotesWrite})
		do(err)
		_, err = rec.AwaitApproval(ctx, a.ID)
		do(err)
	}
	do(rec.ReadyCall(ctx, c.ID, core.Intent{Tool: name, Input: input, InputDigest: c.InputDigest, Attempt: 1}))
	do(rec.StartCall(ctx, c.ID))
	return c
}

// A runtime that breaks in the middle of a call fails its run and nothing else:
// a write may have happened, so that the run is interrupted; a read has not
// come to anything. The process lives.
// covers: T6 R6
func TestScheduler_RuntimeBreaksInACall(t *testing.T) {
	for _, c := range []struct {
		tool string
		kind core.ToolKind
		run  core.RunState
		call core.ToolCallState
	}{
		{core.ToolListWorkspace, core.ToolRead, core.RunFailed, core.CallFailed},
		{core.ToolProposePatch, core.ToolWrite, core.RunFailed, core.CallFailed},
		{core.ToolCreateDocument, core.ToolWrite, core.RunInterrupted, core.CallUnknown},
	} {
		t.Run(c.tool, func(t *testing.T) {
			f := schedule(t, func(_ context.Context, task core.Task) (core.RunEnd, error) {
				begin(t, task, c.tool, c.kind)
				panic("broken")
			})
			run := f.submit("c1", "", core.KindConversation)
			f.allow(run.ID)
			f.until(run.ID, c.run)
			calls, err := f.store.ToolCalls(within(t), run.ID)
			if err != nil || len(calls) != 1 || calls[0].State != c.call || calls[0].Reason != reasonBroke {
				t.Errorf("calls %+v, %v", calls, err)
			}
			next := f.submit("c2", run.SessionID, core.KindConversation)
			f.allow(next.ID)
			f.until(next.ID, c.run)
		})
	}
}

// allow answers the question that a run comes to, if it comes to one.
func (f *fixture) allow(run core.RunID) {
	ctx := f.t.Context()
	go func() {
		for {
			f.mu.Lock()
			a, changed := f.asked[run], f.changed
			f.mu.Unlock()
			if a.ID != "" {
				decided, err := f.store.DecideApproval(ctx, core.CommandID("yes "+string(a.ID)), a.ID, a.ToolCallID, a.InputDigest, core.AllowOnce)
				if err == nil {
					f.questions.settle(decided)
				}
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
}

// A database that fails stops what would begin; an effect that runs is not told
// to stop, and its answer is waited for.
// covers: R13
func TestToolbox_AFailedStoreLetsEffectsFinish(t *testing.T) {
	for _, c := range []struct {
		name  string
		cause error
		told  bool
	}{
		{"store failed", errStore, false}, {"cancelled", errStop, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			started, finish := make(chan struct{}), make(chan struct{})
			var mu sync.Mutex
			told := false
			b := testBox(t, func(_ context.Context, method string, _, result any) error {
				if method == wire.MethodToolCancel {
					mu.Lock()
					defer mu.Unlock()
					told = true
					close(finish)
					return nil
				}
				close(started)
				<-finish
				result.(*core.ToolResult).Text = "made"
				return nil
			})
			go func() {
				<-started
				stop(c.cause)
				if !c.told {
					close(finish)
				}
			}()
			res, err := b.Execute(ctx, core.ToolCall{ID: "t", Name: core.ToolCreateDocument, Kind: core.ToolWrite}, core.Intent{})
			b.listeners.end()
			mu.Lock()
			defer mu.Unlock()
			if err != nil || res.Text != "made" || told != c.told {
				t.Errorf("got %+v, %v, told to stop: %t", res, err, told)
			}
		})
	}
}

func testBox(t *testing.T, call caller) *toolbox {
	t.Helper()
	return &toolbox{
		log: quiet(), call: call, listeners: &crew{}, life: t.Context(), late: func(core.ToolCall, core.ToolResult) {},
		run: core.Run{ID: "r", Budget: core.DefaultBudget()}, gone: &atomic.Bool{},
	}
}

// What a fault says of a write: that nothing happened, or that nobody knows. A
// read and a proposal have no effect, whatever happens to their answer.
// covers: R6 T6
func TestToolbox_WhatAFaultProves(t *testing.T) {
	write := core.ToolCall{Name: core.ToolCreateDocument, Kind: core.ToolWrite}
	patch := core.ToolCall{Name: core.ToolProposePatch, Kind: core.ToolWrite}
	read := core.ToolCall{Name: core.ToolReadDocument, Kind: core.ToolRead}
	unknown := map[fault.Code]bool{
		fault.Internal: true, fault.Cancelled: true, fault.Interrupted: true, fault.Timeout: true,
		fault.TooLarge: true, fault.ProtocolError: true,
	}
	for _, code := range fault.Codes() {
		for _, c := range []core.ToolCall{write, patch, read} {
			res, err := testBox(t, nil).judge(c, answer{err: fault.New(code, "test", nil)})
			nobodyKnows := c.Name == write.Name && unknown[code]
			if (err != nil) != nobodyKnows || err == nil && (!res.IsError || res.Code != code) {
				t.Errorf("%s of %s: %+v, %v", code, c.Name, res, err)
			}
		}
	}
}

// A call that is told to stop before it was sent has not happened.
// covers: R7
func TestToolbox_ToldBeforeItWasSent(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	b := testBox(t, func(context.Context, string, any, any) error {
		t.Error("the host was asked")
		return nil
	})
	res, err := b.Execute(ctx, core.ToolCall{ID: "t"}, core.Intent{})
	if err != nil || !res.Stopped {
		t.Errorf("got %+v, %v", res, err)
	}
}

// The prepared look has a time, and says so when it is up.
// covers: R8
func TestToolbox_PrepareIsBounded(t *testing.T) {
	b := testBox(t, func(ctx context.Context, _ string, _, _ any) error {
		<-ctx.Done()
		return ctx.Err()
	})
	b.run.Budget.ToolMs = 1
	if _, err := b.Prepare(t.Context(), core.ToolCall{ID: "t"}); fault.CodeOf(err) != fault.Timeout {
		t.Errorf("got %v", err)
	}
	b.run.Budget.ToolMs = 60_000
	ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
	defer stop()
	if _, err := b.Prepare(ctx, core.ToolCall{ID: "t"}); fault.CodeOf(err) != fault.Cancelled {
		t.Errorf("got %v", err)
	}
}
