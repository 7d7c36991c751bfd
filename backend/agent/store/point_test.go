//go:build crashtest && unix

package store

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"galley/backend/agent/core"
)

// TestCrash_AtEachNamedPoint kills a process at every point of the matrix that
// lies in the store and looks at what the next start makes of it.
//
// covers: R6 R13 (rows 1 to 3, 7 to 12, 18, 20, 21 and 23 of the crash matrix)
func TestCrash_AtEachNamedPoint(t *testing.T) {
	t.Parallel()
	tests := []struct {
		point string
		// run is the state of the run, "" for none; calls are those of its
		// calls, in order.
		run   core.RunState
		calls string
		// unsettled calls wait for the host.
		unsettled int
	}{
		{"before_accept_commit", "", "", 0},
		{"after_accept_commit", core.RunInterrupted, "", 0},
		{"after_run_started", core.RunInterrupted, "", 0},
		{"after_proposed", core.RunInterrupted, "cancelled/runner_lost", 0},
		{"after_approval_asked", core.RunInterrupted, "cancelled/runner_lost", 0},
		{"after_approval_decided", core.RunInterrupted, "cancelled/runner_lost", 0},
		{"after_ready", core.RunInterrupted, "cancelled/runner_lost", 0},
		{"after_running", core.RunRunning, "running/", 1},
		{"after_result", core.RunInterrupted, "succeeded/", 0},
		{"during_artifact_rename", core.RunInterrupted, "succeeded/ failed/interrupted_read", 0},
		{"after_patch", core.RunInterrupted, "succeeded/ succeeded/ succeeded/", 0},
		{"after_cancel_commit", core.RunCancelled, "succeeded/ succeeded/ succeeded/", 0},
	}
	for _, tt := range tests {
		t.Run(tt.point, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "runs.db")
			crashed(t, "conversation", path, 0, "CRASH_AT="+tt.point)
			s := openAt(t, path, "two")
			recovered(t, s)
			open, err := s.Unsettled(t.Context())
			must(t, err)
			runs, err := s.Runs(t.Context(), 10)
			must(t, err)
			if tt.run == "" {
				if len(runs) != 0 || s.LastSeq() != 0 {
					t.Errorf("runs are %+v", runs)
				}
				return
			}
			if len(runs) != 1 || runs[0].State != tt.run || len(open) != tt.unsettled {
				t.Fatalf("runs are %+v, unsettled %+v", runs, open)
			}
			d, err := s.RunDetail(t.Context(), runs[0].ID)
			must(t, err)
			var calls []string
			for _, c := range d.Calls {
				calls = append(calls, fmt.Sprintf("%s/%s", c.State, c.Reason))
			}
			if got := strings.Join(calls, " "); got != tt.calls {
				t.Errorf("calls are %s, want %s", got, tt.calls)
			}
			want := map[string]core.ApprovalState{"after_proposed": "", "after_approval_asked": core.ApprovalExpired}
			for _, a := range d.Approvals {
				if state, ok := want[tt.point]; ok && a.State != state || !ok && a.State != core.ApprovalAllowedOnce {
					t.Errorf("approval is %s", a.State)
				}
			}
			if n := strings.Count(tt.calls, "succeeded"); n == 3 && (len(d.Proposals) != 1 || len(files(t, s)) != 1) {
				t.Errorf("%d proposals and files %v, want one of each", len(d.Proposals), files(t, s))
			}
			if tt.point == "during_artifact_rename" && (len(files(t, s)) != 0 || artifactStates(t, s) != "missing") {
				t.Errorf("files %v, artifacts %s", files(t, s), artifactStates(t, s))
			}
			// The command again gives the run that there is.
			sub := rewrite("c")
			sub.Kind = core.KindConversation
			if r := submit(t, s, sub); r.ID != runs[0].ID {
				t.Errorf("the command sent again gave run %s", r.ID)
			}
			events, err := s.EventsAfter(t.Context(), 0, 1<<20)
			must(t, err)
			contiguous(t, events, 0)
		})
	}
}

// covers: R12 R13 (row 24 of the crash matrix)
func TestCrash_DuringMigration(t *testing.T) {
	t.Parallel()
	for v := 1; v < len(migrations()); v++ {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			t.Parallel()
			path := saved(t, fmt.Sprintf("v%d.sql", v))
			crashed(t, "conversation", path, 0, "CRASH_AT=during_migration")
			s := &Store{cfg: Config{Path: path}}
			if got, err := s.inspect(context.Background()); err != nil || got != v {
				t.Errorf("schema is %d, %v; want %d", got, err, v)
			}
			for _, p := range []string{fmt.Sprintf("%s.v%d.bak", path, v), path} {
				wantState(t, openAt(t, p, "two"), "run-1", core.RunSucceeded, "end_turn")
			}
		})
	}
}
