package store

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// clock is a clock that the test moves.
func clock(at int64) (*atomic.Int64, func(*Config)) {
	now := new(atomic.Int64)
	now.Store(at)
	return now, func(c *Config) { c.Now = func() time.Time { return time.UnixMilli(now.Load()) } }
}

// covers: R11
func TestRecover_OldEventsOfRewritesGo(t *testing.T) {
	t.Parallel()
	day := (24 * time.Hour).Milliseconds()
	now, with := clock(day)
	s, _ := openNew(t, with)
	ctx := t.Context()
	end := func(run core.Run, p *core.Proposal) core.SessionID {
		_, err := s.End(ctx, run.ID, core.RunEnd{State: core.RunSucceeded, Proposal: p})
		must(t, err)
		return run.SessionID
	}
	old := end(started(t, s, "old"), nil)
	for i := range dropPage { // more than one transaction takes
		end(started(t, s, core.CommandID(fmt.Sprint(i))), nil)
	}
	openProposal := end(started(t, s, "open"), proposal(1))
	conversation := end(talk(t, s, "talk"), nil)
	busy := started(t, s, "busy").SessionID
	empty, err := s.CreateSession(ctx, "empty", core.Session{Title: "Empty"})
	must(t, err)
	now.Store(20 * day)
	recent := end(started(t, s, "recent"), nil)

	count := func(id core.SessionID) int {
		events, err := s.SessionEvents(ctx, id, 0, 1000)
		must(t, err)
		return len(events)
	}
	now.Store(31*day - 1)
	recovered(t, s)
	if count(old) == 0 {
		t.Error("events went before their time")
	}
	now.Store(31*day + 1)
	last := s.LastSeq()
	recovered(t, s)
	if n := count(old); n != 0 {
		t.Errorf("%d events of an old rewrite are left", n)
	}
	if n, _, err := one(ctx, plain{s.reader}, scanInt, `SELECT count(DISTINCT session_id) FROM events`); err != nil || n != 5 {
		t.Errorf("%d sessions have events, %v; want 5", n, err)
	}
	for name, id := range map[string]core.SessionID{"open proposal": openProposal, "conversation": conversation, "busy": busy, "recent": recent, "empty": empty.ID} {
		if count(id) == 0 {
			t.Errorf("%s: the events are gone", name)
		}
	}
	// The run itself is still there, and no seq is used again.
	if h, err := s.History(ctx, old); err != nil || len(h.Messages) != 1 || s.LastSeq() != last {
		t.Errorf("history is %+v, %v", h, err)
	}
}

func TestRecover_OldEventsStayWhereTheyAreToStay(t *testing.T) {
	t.Parallel()
	now, with := clock(1)
	s, _ := openNew(t, with, func(c *Config) { c.KeepRewrites = -1 })
	run := started(t, s, "c")
	_, err := s.End(t.Context(), run.ID, core.RunEnd{State: core.RunSucceeded})
	must(t, err)
	now.Store(1 << 50)
	recovered(t, s)
	if events, err := s.SessionEvents(t.Context(), run.SessionID, 0, 10); err != nil || len(events) == 0 {
		t.Errorf("events are %v, %v", events, err)
	}
	// The change that a store makes by itself each day is the same.
	s.cfg.KeepRewrites = time.Hour
	must(t, s.change(t.Context(), "test", daily().do))
	if events, err := s.SessionEvents(t.Context(), run.SessionID, 0, 10); err != nil || len(events) != 0 {
		t.Errorf("events are %v, %v", events, err)
	}
}

// A publisher that lags behind passes over what has gone meanwhile.
func TestPublish_PassesOverEventsThatWent(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	run := started(t, s, "c")
	rec.upTo(s.LastSeq())
	must(t, s.change(t.Context(), "test", func(ctx context.Context, x *tx) error {
		_, err := x.exec(ctx, `DELETE FROM events WHERE session_id=?`, string(run.SessionID))
		return err
	}))
	if got := s.deliver(t.Context(), 0); got != s.LastSeq() {
		t.Errorf("the publisher stands at %d, want %d", got, s.LastSeq())
	}
}

// covers: R12
func TestLog_IsEmptiedWhenReadersLetIt(t *testing.T) {
	t.Parallel()
	now, with := clock(1)
	s, _ := openNew(t, with)
	run := started(t, s, "c")
	size := func() int64 {
		st, err := os.Stat(s.cfg.Path + "-wal")
		must(t, err)
		return st.Size()
	}
	// A reader that stays keeps the usual checkpoints from ending.
	reading, err := s.reader.BeginTx(t.Context(), nil)
	must(t, err)
	_, _, err = one(t.Context(), plain{reading}, scanInt, qLastSeq)
	must(t, err)
	for i := range 20 {
		must(t, s.KeepDraft(t.Context(), run.ID, assistantMessage(strings.Repeat(string(rune('a'+i)), 1<<20))))
	}
	if size() < logLimit {
		t.Fatalf("the log has %d bytes: too few for this test", size())
	}
	must(t, reading.Rollback())
	now.Add(logAgain.Milliseconds())
	must(t, s.KeepDraft(t.Context(), run.ID, assistantMessage("small")))
	if size() > 1<<20 {
		t.Errorf("the log still has %d bytes", size())
	}
}

// covers: R13 (row 25 of the crash matrix)
func TestDiskFull_StopsWhatIsNewAndKeepsWhatIs(t *testing.T) {
	t.Parallel()
	type failure struct {
		code fault.Code
		seq  int64
	}
	failed := make(chan failure, 1)
	s, _ := openNew(t, func(c *Config) {
		c.OnFail = func(f *fault.Error, seq int64) { failed <- failure{f.Code, seq} }
	})
	ctx := t.Context()
	run := talk(t, s, "c")
	create := runningCall(t, s, run.ID, "createDocument", core.ToolWrite)
	must(t, s.change(ctx, "fill the disk", func(ctx context.Context, x *tx) error {
		_, _, err := one(ctx, x, scanInt, "PRAGMA max_page_count=1") // as many as there are
		return err
	}))
	last := s.LastSeq()
	err := s.FinishCall(ctx, create.ID, core.CallEnd{State: core.CallSucceeded, Result: strings.Repeat("x", 1<<20)})
	wantCode(t, err, fault.DiskFull)
	if got := <-failed; got.code != fault.DiskFull || got.seq != last || s.LastSeq() != last {
		t.Errorf("told %+v, last seq %d; want disk_full at %d", got, s.LastSeq(), last)
	}
	// Nothing new, however small; what is there can be read.
	_, err = step(t, s, run.ID, core.ToolRead, "search")
	wantCode(t, err, fault.DiskFull)
	_, err = s.BeginModelCall(ctx, core.ModelCall{RunID: run.ID, Step: 1, Attempt: 1})
	wantCode(t, err, fault.DiskFull)
	_, err = s.Submit(ctx, rewrite("new"))
	wantCode(t, err, fault.DiskFull)
	wantCall(t, s, create, core.CallRunning, "")
	// With room again the next start has the host look.
	s, _ = restart(t, s, "two")
	recovered(t, s)
	open, err := s.Unsettled(ctx)
	if err != nil || len(open) != 1 || open[0].Call.ID != create.ID {
		t.Errorf("unsettled calls are %+v, %v", open, err)
	}
	must(t, s.Reconcile(ctx, create.ID, core.CallSucceeded))
	wantState(t, s, run.ID, core.RunInterrupted, "runner_lost")
	h, err := s.History(ctx, run.SessionID)
	if err != nil || h.Verdicts[create.ID] != core.VerdictApplied {
		t.Errorf("verdicts are %v, %v", h.Verdicts, err)
	}
}
