package store

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// contiguous checks that events have the seqs after+1, after+2, …
func contiguous(t testing.TB, events []core.Event, after int64) {
	t.Helper()
	for i, e := range events {
		if want := after + int64(i) + 1; e.Seq != want {
			t.Fatalf("event %d has seq %d, want %d", i, e.Seq, want)
		}
	}
}

// states folds run events over a state, as a client does.
func states(t testing.TB, st core.State, events []core.Event) map[core.RunID]core.RunState {
	t.Helper()
	m := map[core.RunID]core.RunState{}
	for _, r := range st.Runs {
		m[r.ID] = r.State
	}
	for _, e := range events {
		switch e.Type {
		case core.EventRunAccepted:
			if _, known := m[e.RunID]; known {
				t.Errorf("run %s was accepted twice", e.RunID)
			}
			m[e.RunID] = core.RunQueued
		case core.EventRunStarted, core.EventRunCancelling, core.EventRunCancelled, core.EventRunSucceeded:
			to := payload[core.RunChanged](t, e).State
			if !core.CanRun(m[e.RunID], to) {
				t.Errorf("seq %d moves run %s from %q to %s", e.Seq, e.RunID, m[e.RunID], to)
			}
			m[e.RunID] = to
		case core.EventSessionCreated, core.EventRunWaiting, core.EventRunResumed, core.EventRunFailed, core.EventRunInterrupted,
			core.EventMessageCommitted, core.EventAttemptWithdrawn, core.EventToolChanged, core.EventToolReconciled,
			core.EventApprovalAsked, core.EventApprovalDecided, core.EventProposalCreated, core.EventProposalDecided,
			core.EventRunnerRecovered:
		}
	}
	return m
}

// covers: R5
func TestSnapshotAndEvents_NoGapAndNoRepeatWhileManyWrite(t *testing.T) {
	t.Parallel()
	const writers, runsEach, readers = 4, 12, 3
	s, rec := openNew(t, func(c *Config) { c.MaxQueued = writers + 1 })
	ctx := t.Context()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range runsEach {
				cmd := core.CommandID(fmt.Sprint(w, "-", i))
				run, err := s.Submit(ctx, rewrite(cmd))
				if err == nil {
					err = s.Start(ctx, run.ID)
				}
				if err == nil && i%3 == 0 {
					_, err = s.Cancel(ctx, "x"+cmd, run.ID)
				}
				if err == nil {
					_, err = s.End(ctx, run.ID, core.RunEnd{State: core.RunSucceeded})
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	type attached struct {
		st  core.State
		seq int64
	}
	snaps := make([][]attached, readers)
	for r := range readers {
		wg.Go(func() {
			for range 8 {
				st, seq, err := s.Snapshot(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				snaps[r] = append(snaps[r], attached{st, seq})
			}
		})
	}
	wg.Wait()
	last := s.LastSeq()
	published := rec.upTo(last)
	contiguous(t, published, 0)
	stored, err := s.EventsAfter(ctx, 0, 1<<20)
	must(t, err)
	if diff := cmp.Diff(stored, published); diff != "" {
		t.Errorf("published events differ from stored ones (-stored +published):\n%s", diff)
	}
	final, seq, err := s.Snapshot(ctx)
	must(t, err)
	if seq != last {
		t.Errorf("snapshot stands at %d, want %d", seq, last)
	}
	want := states(t, final, nil)
	for _, list := range snaps {
		for _, a := range list {
			after, err := s.EventsAfter(ctx, a.seq, 1<<20)
			must(t, err)
			contiguous(t, after, a.seq)
			got := states(t, a.st, after)
			for id, st := range want {
				if got[id] != st && len(final.Runs) <= stateRuns {
					t.Errorf("state at %d and the events after it give %s for %s, want %s", a.seq, got[id], id, st)
				}
			}
		}
	}
	if len(want) != writers*runsEach {
		t.Errorf("%d runs, want %d", len(want), writers*runsEach)
	}
}

func TestEventsAfter_Pages(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	for i := range 3 {
		submit(t, s, rewrite(core.CommandID(fmt.Sprint(i))))
	}
	var got []core.Event
	after := int64(0)
	for {
		page, err := s.EventsAfter(t.Context(), after, 2)
		must(t, err)
		if page == nil {
			t.Fatal("a page is nil")
		}
		if len(page) == 0 {
			break
		}
		if len(page) > 2 {
			t.Fatalf("page of %d, want at most 2", len(page))
		}
		got = append(got, page...)
		after = page[len(page)-1].Seq
	}
	contiguous(t, got, 0)
	if int64(len(got)) != s.LastSeq() {
		t.Errorf("%d events, want %d", len(got), s.LastSeq())
	}
}

// covers: R5
func TestSeq_IsNeverReused(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	submit(t, s, rewrite("a"))
	last := s.LastSeq()
	// Even when every event is gone.
	must(t, s.change(t.Context(), "test", func(ctx context.Context, x *tx) error {
		_, err := x.exec(ctx, "DELETE FROM events")
		return err
	}))
	s, rec := restart(t, s, "two")
	if s.LastSeq() != last {
		t.Errorf("last seq is %d, want %d", s.LastSeq(), last)
	}
	submit(t, s, rewrite("b"))
	contiguous(t, rec.upTo(s.LastSeq()), last)
	_, seq, err := s.Snapshot(t.Context())
	must(t, err)
	if seq != s.LastSeq() {
		t.Errorf("snapshot stands at %d, want %d", seq, s.LastSeq())
	}
}

func TestPublish_ASlowOrBrokenReceiverLosesNothing(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	rec := newRecorder()
	s, _ := openNew(t, func(c *Config) {
		c.OnEvent = func(e core.Event) {
			<-gate
			rec.add(e)
			if e.Seq%2 == 0 {
				panic("receiver")
			}
		}
	})
	// Nothing is published, and yet the writer goes on.
	for i := range 100 {
		run := submit(t, s, rewrite(core.CommandID(fmt.Sprint(i))))
		_, err := s.Cancel(t.Context(), core.CommandID(fmt.Sprint("x", i)), run.ID)
		must(t, err)
	}
	close(gate)
	last := s.LastSeq()
	if last < publishPage {
		t.Fatalf("%d events are less than a page", last)
	}
	got := rec.upTo(last)
	contiguous(t, got, 0)
}

func TestSnapshot_WhatItHolds(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	ctx := t.Context()
	st, seq, err := s.Snapshot(ctx)
	must(t, err)
	if seq != 0 || st.Sessions == nil || st.Runs == nil || st.Proposals == nil {
		t.Errorf("empty store: %d %+v", seq, st)
	}
	talk := started(t, s, "talk")
	_, err = s.End(ctx, talk.ID, core.RunEnd{State: core.RunSucceeded})
	must(t, err)
	conv := submit(t, s, in(talk.SessionID, rewrite("conversation")))
	must(t, s.Start(ctx, conv.ID))
	open := proposed(t, s, "open", proposal(2))
	_, err = s.Decide(ctx, "d1", open.ID, accept("1"), 5)
	must(t, err)
	shut := proposed(t, s, "shut", proposal(1))
	_, err = s.Decide(ctx, "d2", shut.ID, reject("1"), 5)
	must(t, err)
	for i := range stateRuns + 5 {
		r := started(t, s, core.CommandID(fmt.Sprint(i)))
		_, err := s.End(ctx, r.ID, core.RunEnd{State: core.RunFailed})
		must(t, err)
	}
	st, _, err = s.Snapshot(ctx)
	must(t, err)
	if len(st.Runs) != stateRuns+1 {
		t.Errorf("%d runs, want the newest %d and 1 that is not final", len(st.Runs), stateRuns)
	}
	if r := st.Runs[len(st.Runs)-1]; r.ID != conv.ID || r.State != core.RunRunning {
		t.Errorf("last run is %s %s, want %s running", r.ID, r.State, conv.ID)
	}
	if len(st.Proposals) != 1 || st.Proposals[0].ID != open.ID || st.Proposals[0].Hunks[0].Outcome != core.HunkAccepted || st.Proposals[0].Hunks[1].Outcome != "" {
		t.Errorf("proposals are %+v, want %s alone with hunk 1 accepted", st.Proposals, open.ID)
	}
	have := map[core.SessionID]int{}
	for _, x := range st.Sessions {
		have[x.ID]++
	}
	for _, r := range st.Runs {
		if have[r.SessionID] != 1 {
			t.Errorf("session of run %s is there %d times", r.ID, have[r.SessionID])
		}
	}
	if have[conv.SessionID] != 1 {
		t.Error("the conversation's session is missing")
	}
	if len(st.Sessions) != stateRuns+2 {
		// 50 rewrites, the conversation and the open proposal's.
		t.Errorf("%d sessions, want %d", len(st.Sessions), stateRuns+2)
	}
	got := st.Sessions[0]
	if got.ID != conv.SessionID || got.Title != "Rewrite" || got.WorkspaceID != "w" || got.Model.Model != "m" || got.DocURI != "file:///a.md" {
		t.Errorf("session is %+v", got)
	}
}

// covers: R12
func TestFull_NothingIsWrittenAfter(t *testing.T) {
	t.Parallel()
	failed := make(chan int64, 2)
	s, rec := openNew(t, func(c *Config) {
		c.MaxQueued = 1 << 20
		c.OnFail = func(err *fault.Error, last int64) {
			if err.Code != fault.DiskFull {
				t.Errorf("told %v, want disk_full", err)
			}
			failed <- last
		}
	})
	ctx := t.Context()
	run := submit(t, s, rewrite("first"))
	if s.Failed() != nil {
		t.Error("failed before anything went wrong")
	}
	must(t, s.change(ctx, "test", func(ctx context.Context, x *tx) error {
		pages, _, err := one(ctx, x, scanInt, "PRAGMA page_count")
		if err == nil {
			_, err = x.exec(ctx, fmt.Sprintf("PRAGMA max_page_count=%d", pages+2))
		}
		return err
	}))
	var err error
	var last int64
	for i := 0; err == nil; i++ {
		last = s.LastSeq()
		_, err = s.Submit(ctx, rewrite(core.CommandID(fmt.Sprint(i))))
	}
	wantCode(t, err, fault.DiskFull)
	// Every later change is refused in the same way, also a small one.
	wantCode(t, s.Start(ctx, run.ID), fault.DiskFull)
	_, err = s.Cancel(ctx, "x", run.ID)
	wantCode(t, err, fault.DiskFull)
	_, err = s.Recover(ctx)
	wantCode(t, err, fault.DiskFull)
	if got := s.Failed(); got == nil || got.Code != fault.DiskFull {
		t.Errorf("failed is %v", got)
	}
	if got := <-failed; got != last || s.LastSeq() != last {
		t.Errorf("told last seq %d, store says %d, want %d", got, s.LastSeq(), last)
	}
	contiguous(t, rec.upTo(last), 0)
	if got := rec.upTo(last); int64(len(got)) != last {
		t.Errorf("%d events were published, want %d", len(got), last)
	}
	// Reading goes on, and the file holds what was answered and nothing more.
	wantState(t, s, run.ID, core.RunQueued, "")
	must(t, s.Close())
	if len(failed) != 0 {
		t.Error("OnFail was called twice")
	}
	s = openAt(t, s.cfg.Path, "two")
	if s.LastSeq() != last {
		t.Errorf("after a restart the last seq is %d, want %d", s.LastSeq(), last)
	}
	must(t, s.Start(ctx, run.ID))
}
