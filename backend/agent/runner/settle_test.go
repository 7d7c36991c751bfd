package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"galley/backend/agent/core"
	"galley/backend/agent/store"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

// left makes a home whose last start died while a document was being made: the
// call was running. It returns the run and the call.
func left(t *testing.T, home string) (core.Run, core.ToolCall) {
	t.Helper()
	ctx := within(t)
	s, err := store.Open(ctx, store.Config{Path: filepath.Join(home, "runs.db"), Log: quiet(), BootID: "before"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	run, err := s.Submit(ctx, core.Submission{
		CommandID: "old", InputDigest: sha256.Sum256([]byte("old")), Session: core.Session{Title: "old"},
		Kind: core.KindConversation, Runtime: "native", Budget: core.DefaultBudget(),
		Tools: []string{core.ToolCreateDocument}, Message: personSays("make it"),
	})
	do(err)
	do(s.Start(ctx, run.ID))
	input := json.RawMessage(`{"dir":"","name":"a.md","text":"words"}`)
	digest := core.InputDigest(input)
	calls, err := s.CommitStep(ctx, run.ID, 1, core.Message{Role: core.RoleAssistant, Parts: []core.Part{
		{Type: core.PartToolCall, Name: core.ToolCreateDocument, Input: input},
	}}, []core.ToolCall{{
		RunID: run.ID, Name: core.ToolCreateDocument, Kind: core.ToolWrite, Input: input,
		InputDigest: hex.EncodeToString(digest[:]),
	}})
	do(err)
	c := calls[0]
	a, err := s.AskApproval(ctx, core.Approval{ToolCallID: c.ID, Rule: core.PermNotesWrite})
	do(err)
	_, err = s.DecideApproval(ctx, "yes", a.ID, c.ID, a.InputDigest, core.AllowOnce)
	do(err)
	do(s.ReadyCall(ctx, c.ID, core.Intent{
		Tool: c.Name, Input: input, InputDigest: c.InputDigest, Target: "/notes/a.md",
		PostDigest: strings.Repeat("ab", 32), IdemKey: string(c.ID), Attempt: 1,
	}))
	do(s.StartCall(ctx, c.ID))
	return run, c
}

// What a call of the last start left is asked of the host once it has greeted;
// until it has answered the run has not ended and its session waits.
// covers: R6 R13
func TestRecovery_AsksTheHost(t *testing.T) {
	for _, c := range []struct {
		verdict core.ToolVerdict
		call    core.ToolCallState
		reason  string
	}{
		{core.VerdictApplied, core.CallSucceeded, "reconciled"},
		{core.VerdictAbsent, core.CallFailed, "no_effect"},
		{core.VerdictUnknown, core.CallUnknown, "runner_lost"},
	} {
		t.Run(string(c.verdict), func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			run, call := left(t, home)
			look, probed := make(chan struct{}), make(chan wire.ToolProbeParams, 1)
			r := boot(t, home, func(r *rig) {
				r.probe = func(_ context.Context, p wire.ToolProbeParams) (wire.ToolProbeResult, error) {
					probed <- p
					<-look
					return wire.ToolProbeResult{Verdict: c.verdict}, nil
				}
			})
			r.greet()
			asked := <-probed
			if asked.Name != call.Name || asked.Intent.Target != "/notes/a.md" || asked.CommandID != "old" || asked.ToolCallID != call.ID {
				t.Errorf("asked %+v", asked)
			}
			if got := r.detail(run.ID); got.Run.State.Final() || got.Calls[0].State != core.CallRunning {
				t.Errorf("before the answer: run %s, calls %s", got.Run.State, states(got))
			}
			p := message("c1", "and then?")
			p.SessionID = run.SessionID
			next := r.submit(p)
			if next.State != core.RunQueued {
				t.Errorf("the next message is %s", next.State)
			}
			other := r.submit(message("c2", "elsewhere"))
			r.endsAs(other.RunID, core.RunSucceeded)
			if got := r.detail(next.RunID).Run.State; got != core.RunQueued {
				t.Errorf("the session did not wait: %s", got)
			}
			close(look)
			r.endsAs(run.ID, core.RunInterrupted)
			d := r.detail(run.ID)
			if want := fmt.Sprintf("createDocument:%s:%s ", c.call, c.reason); states(d) != want {
				t.Errorf("calls %s, want %s", states(d), want)
			}
			if len(d.Reconciled) != 1 || d.Reconciled[0].Verdict != c.verdict || d.Reconciled[0].By != "recovery" {
				t.Errorf("reconciled %+v", d.Reconciled)
			}
			r.endsAs(next.RunID, core.RunSucceeded)
		})
	}
}

// A host that goes before it has answered leaves it to the next one.
// covers: R6
func TestRecovery_LeftToTheNextStart(t *testing.T) {
	home := t.TempDir()
	run, _ := left(t, home)
	r := boot(t, home, func(r *rig) {
		r.probe = func(ctx context.Context, _ wire.ToolProbeParams) (wire.ToolProbeResult, error) {
			<-ctx.Done()
			return wire.ToolProbeResult{}, ctx.Err()
		}
	})
	r.greet()
	r.until("the probe", func() bool { return len(r.asked) == 1 })
	r.close()
	again := boot(t, home, func(r *rig) {
		r.probe = func(context.Context, wire.ToolProbeParams) (wire.ToolProbeResult, error) {
			return wire.ToolProbeResult{Verdict: core.VerdictApplied}, nil
		}
	})
	again.greet()
	again.endsOrHas(run.ID, core.RunInterrupted)
	if got := states(again.detail(run.ID)); got != "createDocument:succeeded:reconciled " {
		t.Errorf("calls %s", got)
	}
}

// A run that is being looked at can be cancelled.
// covers: R7
func TestRecovery_CancelledWhileItIsLookedAt(t *testing.T) {
	home := t.TempDir()
	run, _ := left(t, home)
	look := make(chan struct{})
	r := boot(t, home, func(r *rig) {
		r.probe = func(context.Context, wire.ToolProbeParams) (wire.ToolProbeResult, error) {
			<-look
			return wire.ToolProbeResult{Verdict: core.VerdictAbsent}, nil
		}
	})
	r.greet()
	r.must(wire.MethodRunCancel, wire.CancelParams{CommandID: "x", RunID: run.ID}, nil)
	close(look)
	r.endsAs(run.ID, core.RunCancelled)
}

// recovering is a journal with two calls to look at.
type recovering struct {
	journal
	settled []string
	fail    error
}

func (j *recovering) Unsettled(context.Context) ([]core.UnsettledCall, error) {
	return []core.UnsettledCall{{Call: core.ToolCall{ID: "1", RunID: "r"}}, {Call: core.ToolCall{ID: "2", RunID: "r"}}}, nil
}

func (j *recovering) Run(_ context.Context, id core.RunID) (core.Run, error) {
	return core.Run{ID: id, SessionID: "s"}, nil
}

func (j *recovering) Reconcile(_ context.Context, id core.ToolCallID, to core.ToolCallState) error {
	j.settled = append(j.settled, fmt.Sprintf("%s %s", id, to))
	return j.fail
}

// A host that cannot look yet is asked again; one that does not know the
// question leaves a call unknown; one that is gone leaves it open. A session is
// held once and given back once.
// covers: R6
func TestSettler_AHostThatCannotTell(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		fail error
		want string
		held int
	}{
		{"not yet", fault.New(fault.Timeout, "test", nil), nil, "1 succeeded,2 succeeded", 0},
		{"breaks", fault.New(fault.Internal, "test", nil), nil, "1 succeeded,2 succeeded", 0},
		{"knows no probe", fault.New(fault.NotFound, "test", rpc.ErrNoMethod), nil, "1 unknown,2 unknown", 0},
		{"is gone", fmt.Errorf("probe: %w", rpc.ErrClosed), nil, "", 1},
		{"settled already", nil, &fault.Error{Code: fault.InvalidInput, Op: "test"}, "1 succeeded,2 succeeded", 0},
		{"database fails", nil, &fault.Error{Code: fault.StoreFailed, Op: "test"}, "1 succeeded", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := &recovering{fail: c.fail}
				held, tries := 0, 0
				s := &settler{
					journal: j, log: quiet(),
					hold:    func(core.SessionID) { held++ },
					release: func(core.SessionID) { held-- },
					call: func(_ context.Context, _ string, _, result any) error {
						if res, ok := result.(*wire.ToolProbeResult); ok {
							res.Verdict = core.VerdictApplied
						}
						// Ten tries are more than two minutes with a real host.
						if code := fault.CodeOf(c.err); code == fault.Timeout || code == fault.Internal {
							if tries++; tries > 10 {
								return nil
							}
						}
						return c.err
					},
				}
				if err := s.load(t.Context()); err != nil || held != 1 {
					t.Fatal(err, held)
				}
				s.settle(t.Context())
				if got := strings.Join(j.settled, ","); got != c.want || held != c.held {
					t.Errorf("settled %q, held %d; want %q, %d", got, held, c.want, c.held)
				}
			})
		})
	}
}
