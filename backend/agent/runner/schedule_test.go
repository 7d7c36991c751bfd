package runner

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/store"
	"galley/backend/fault"
)

// runtimeFunc is a core.Runtime of a test.
type runtimeFunc func(ctx context.Context, t core.Task) (core.RunEnd, error)

func (runtimeFunc) Name() string { return "test" }

func (f runtimeFunc) Run(ctx context.Context, t core.Task) (core.RunEnd, error) { return f(ctx, t) }

type fixture struct {
	*scheduler
	t     *testing.T
	store *store.Store

	mu      sync.Mutex
	changed chan struct{}
	states  map[core.RunID]core.RunState
	asked   map[core.RunID]core.Approval
}

// schedule runs a scheduler over a real store.
func schedule(t *testing.T, runtime runtimeFunc) *fixture {
	t.Helper()
	f := &fixture{t: t, changed: make(chan struct{}), states: map[core.RunID]core.RunState{}, asked: map[core.RunID]core.Approval{}}
	s, err := store.Open(within(t), store.Config{
		Path: filepath.Join(t.TempDir(), "runs.db"), Log: quiet(),
		OnEvent: func(e core.Event) {
			states := map[core.EventType]core.RunState{
				core.EventRunStarted: core.RunRunning, core.EventRunCancelled: core.RunCancelled,
				core.EventRunSucceeded: core.RunSucceeded, core.EventRunFailed: core.RunFailed,
				core.EventRunInterrupted: core.RunInterrupted,
			}
			var a core.Approval
			if e.Type == core.EventApprovalAsked && json.Unmarshal(e.Payload, &a) == nil {
				f.mu.Lock()
				f.asked[e.RunID] = a
				close(f.changed)
				f.changed = make(chan struct{})
				f.mu.Unlock()
			}
			if st, ok := states[e.Type]; ok {
				f.mu.Lock()
				f.states[e.RunID] = st
				close(f.changed)
				f.changed = make(chan struct{})
				f.mu.Unlock()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.store = s
	f.scheduler = newScheduler(quiet(), s, parts{
		runtime: runtime,
		model: func(context.Context, core.Run, job) (core.Model, core.Capabilities, error) {
			return nil, core.Capabilities{}, nil
		},
	}, newHub(quiet()), newQuestions(time.Now, s.ExpireApproval))
	t.Cleanup(func() {
		f.drain(time.Now().Add(10*time.Second), false)
		_ = s.Close()
	})
	return f
}

func (f *fixture) submit(name string, session core.SessionID, kind core.RunKind) core.Run {
	f.t.Helper()
	run, err := f.scheduler.submit(within(f.t), core.Submission{
		CommandID: core.CommandID(name), InputDigest: sha256.Sum256([]byte(name)), SessionID: session,
		Session: core.Session{Title: name}, Kind: kind, Runtime: "test", Budget: core.DefaultBudget(),
		Message: core.Message{Role: core.RoleUser, Parts: []core.Part{{Type: core.PartText, Text: name}}},
	}, job{})
	if err != nil {
		f.t.Fatal(err)
	}
	return run
}

func (f *fixture) until(run core.RunID, st core.RunState) {
	f.t.Helper()
	late := time.After(60 * time.Second)
	for {
		f.mu.Lock()
		got, changed := f.states[run], f.changed
		f.mu.Unlock()
		if got == st {
			return
		}
		select {
		case <-changed:
		case <-late:
			f.t.Fatalf("run %s is %s, never %s", run, got, st)
		}
	}
}

// asks is what the person asked a run for.
func asks(t *testing.T, task core.Task) string {
	h, err := task.Recorder.History(within(t), task.Run.SessionID)
	if err != nil {
		t.Error(err)
	}
	for _, m := range h.Messages {
		if m.RunID == task.Run.ID && m.Role == core.RoleUser {
			return m.Parts[0].Text
		}
	}
	return ""
}

// At most one run of a session at a time, in order; a conversation at a time;
// rewrites of other sessions beside them.
// covers: R8
func TestScheduler_OneRunOfASession(t *testing.T) {
	release := make(chan struct{})
	var mu sync.Mutex
	running, worst := map[core.SessionID]int{}, 0
	var order []string
	f := schedule(t, func(_ context.Context, task core.Task) (core.RunEnd, error) {
		mu.Lock()
		running[task.Run.SessionID]++
		worst = max(worst, running[task.Run.SessionID])
		order = append(order, asks(t, task))
		mu.Unlock()
		<-release
		mu.Lock()
		running[task.Run.SessionID]--
		mu.Unlock()
		return core.RunEnd{State: core.RunSucceeded}, nil
	})
	first := f.submit("a1", "", core.KindRewrite)
	f.until(first.ID, core.RunRunning)
	second := f.submit("a2", first.SessionID, core.KindRewrite)
	other := f.submit("b1", "", core.KindRewrite)
	f.until(other.ID, core.RunRunning)
	talk := f.submit("c1", "", core.KindConversation)
	f.until(talk.ID, core.RunRunning)
	talk2 := f.submit("c2", "", core.KindConversation)
	for _, id := range []core.RunID{second.ID, talk2.ID} {
		if run, err := f.store.Run(within(t), id); err != nil || run.State != core.RunQueued {
			t.Errorf("run %+v, %v", run, err)
		}
	}
	close(release)
	for _, run := range []core.Run{first, second, other, talk, talk2} {
		f.until(run.ID, core.RunSucceeded)
	}
	if worst != 1 {
		t.Errorf("%d runs of a session at a time", worst)
	}
}

// A runtime that breaks fails its run and nothing else.
// covers: T6
func TestScheduler_RuntimeBreaks(t *testing.T) {
	f := schedule(t, func(_ context.Context, task core.Task) (core.RunEnd, error) {
		if task.Run.CommandID == "panics" {
			panic("broken")
		}
		return core.RunEnd{}, fault.New(fault.Internal, "test", nil)
	})
	for _, name := range []string{"panics", "errs"} {
		run := f.submit(name, "", core.KindRewrite)
		f.until(run.ID, core.RunFailed)
		if got, err := f.store.Run(within(t), run.ID); err != nil || got.Fault == nil || got.Fault.Code != "internal" {
			t.Errorf("run %+v, %v", got, err)
		}
	}
}

// What does not stop before the deadline is recorded as interrupted; what waits
// is cancelled; nothing more is started.
// covers: R2 R7
func TestScheduler_Drain(t *testing.T) {
	stuck := make(chan struct{})
	f := schedule(t, func(ctx context.Context, task core.Task) (core.RunEnd, error) {
		if task.Run.CommandID == "stuck" {
			<-stuck
		}
		<-ctx.Done()
		return core.RunEnd{State: core.RunCancelled}, nil
	})
	t.Cleanup(func() { close(stuck) })
	runs := map[string]core.Run{}
	for i, name := range []string{"stuck", "good", "good too", "waits"} {
		runs[name] = f.submit(name, "", core.KindRewrite)
		if i < 3 {
			f.until(runs[name].ID, core.RunRunning)
		}
	}
	f.drain(time.Now().Add(2*time.Second), false)
	for name, want := range map[string]core.RunState{
		"stuck": core.RunInterrupted, "good": core.RunCancelled, "good too": core.RunCancelled, "waits": core.RunCancelled,
	} {
		run, err := f.store.Run(within(t), runs[name].ID)
		if err != nil || run.State != want {
			t.Errorf("%s: %s, %v; want %s", name, run.State, err, want)
		}
	}
	if run := f.submit("late", "", core.KindRewrite); run.State != core.RunQueued {
		t.Errorf("late run %+v", run)
	}
	if n := len(f.tasks); n != 2 {
		t.Error(fmt.Sprint(n), "tasks")
	}
}
