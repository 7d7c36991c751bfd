package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// saved makes a database from a dump in testdata.
func saved(t *testing.T, dump string) (path string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", dump))
	must(t, err)
	path = filepath.Join(t.TempDir(), "runs.db")
	db, err := openDB(path, []string{"journal_mode(WAL)"})
	must(t, err)
	_, err = db.ExecContext(t.Context(), string(b))
	must(t, errors.Join(err, db.Close()))
	return path
}

// covers: R12
func TestMigrate_FromEachSavedVersion(t *testing.T) {
	t.Parallel()
	for v := 1; v < len(migrations()); v++ {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			t.Parallel()
			path := saved(t, fmt.Sprintf("v%d.sql", v))
			s := openAt(t, path, "two")
			version, _, err := one(t.Context(), plain{s.reader}, scanInt, "PRAGMA user_version")
			must(t, err)
			if int(version) != len(migrations()) {
				t.Errorf("version is %d, want %d", version, len(migrations()))
			}
			// What was there is there, and goes on.
			if s.LastSeq() != 9 {
				t.Errorf("last seq is %d, want 9", s.LastSeq())
			}
			run, err := s.Run(t.Context(), "run-1")
			must(t, err)
			if run.State != core.RunSucceeded || run.Kind != core.KindConversation || run.Usage.Input != 12 {
				t.Errorf("run is %+v", run)
			}
			p, err := s.Proposal(t.Context(), "p-1")
			must(t, err)
			if p.CutOff || p.State != core.ProposalProposed || len(p.Hunks) != 1 {
				t.Errorf("proposal is %+v", p)
			}
			recovered(t, s)
			wantState(t, s, "run-2", core.RunInterrupted, "runner_lost")
			got, err := s.Decide(t.Context(), "d", "p-1", accept("1"), 2)
			if err != nil || got != core.ProposalApplied {
				t.Errorf("decide: %s, %v", got, err)
			}
			if stale, err := all(t.Context(), plain{s.reader}, scanString, `SELECT name FROM sqlite_schema WHERE type='trigger' ORDER BY name`); err != nil || len(stale) != len(guards())+3 {
				t.Errorf("triggers %v, %v", stale, err)
			}

			// The backup is the old database, whole.
			backup, err := openDB(fmt.Sprintf("%s.v%d.bak", path, v), nil, "immutable=1")
			must(t, err)
			defer func() { must(t, backup.Close()) }()
			old, _, err := one(t.Context(), plain{backup}, scanInt, "PRAGMA user_version")
			must(t, err)
			state, _, err := one(t.Context(), plain{backup}, scanString, "SELECT state FROM runs WHERE id='run-2'")
			must(t, err)
			if int(old) != v || state != "running" {
				t.Errorf("backup has version %d and run-2 is %s, want %d and running", old, state, v)
			}
		})
	}
}

// covers: R12
func TestMigrate_AConversationOfSchema2IsWhole(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openAt(t, saved(t, "v2.sql"), "two")
	recovered(t, s)
	h, err := s.History(ctx, "s-1")
	must(t, err)
	if len(h.Messages) != 2 || h.Messages[1].Status != "partial" || len(h.Runs) != 3 || h.Runs[0].Tools == nil {
		t.Errorf("history is %+v", h)
	}
	if e := h.Messages[0].Parts[0].Envelope; e == nil || len(e.Raw) != 2 {
		t.Errorf("envelope is %+v", e)
	}
	if len(h.Calls) != 1 || h.Calls[0].State != core.CallUnknown || h.Calls[0].Facts != (core.ToolFacts{}) || len(h.Approvals) != 1 {
		t.Errorf("calls are %+v, approvals %+v", h.Calls, h.Approvals)
	}
	must(t, s.ReconcileByPerson(ctx, "v", "t-1", core.VerdictApplied))
	if list, err := s.Contexts(ctx, "run-3"); err != nil || len(list) != 0 {
		t.Errorf("contexts are %+v, %v", list, err)
	}
	// The answer of an old command is still known.
	found, err := s.DecideApproval(ctx, "c-4", "a-1", "t-1", "", core.AllowOnce)
	wantCode(t, err, fault.CommandConflict) // another input
	if found.State != "" {
		t.Errorf("approval is %+v", found)
	}
	must(t, s.DeleteSession(ctx, "x", "s-1"))
	_, err = s.History(ctx, "s-1")
	wantCode(t, err, fault.NotFound)
}

// covers: R12 K9 K10
func TestMigrate_FromSchema3(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openAt(t, saved(t, "v3.sql"), "two")
	recovered(t, s)
	h, err := s.History(ctx, "s-1")
	must(t, err)
	if h.Verdicts["t-1"] != core.VerdictApplied || len(h.Messages) != 2 {
		t.Errorf("history is %+v", h)
	}
	if list, err := s.Contexts(ctx, "run-3"); err != nil || len(list) != 1 || list[0].Tokens != 5 {
		t.Errorf("contexts are %+v, %v", list, err)
	}
	if log := sends(t, s); log.Count != 0 || log.Sends == nil {
		t.Errorf("send log is %+v", log)
	}
	n := sending()
	n.SessionID, n.RunID = "s-1", "run-3"
	id := sent(t, s, n, "body")
	must(t, s.LearnFact(ctx, Place{"p", "h"}, "m", fact(core.FactTools, "no", core.SourceLearned, 900)))
	must(t, s.DeleteSession(ctx, "x", "s-1"))
	if got, _, err := s.SendBody(ctx, id, 0, 10); err != nil || got.HasBody {
		t.Errorf("entry is %+v, %v", got, err)
	}
}

func TestMigrate_AStepThatFailsLeavesTheOldSchema(t *testing.T) {
	t.Parallel()
	path := saved(t, "v1.sql")
	db, err := openDB(path, writerPragmas())
	must(t, err)
	conn, err := db.Conn(t.Context())
	must(t, err)
	schema := func() []string {
		list, err := all(t.Context(), plain{conn}, scanString, "SELECT name||coalesce(sql,'') FROM sqlite_schema ORDER BY name")
		must(t, err)
		return list
	}
	before := schema()
	s := &Store{cfg: Config{Path: path}}
	for name, step := range map[string]string{
		"a broken statement": migrations()[1] + "; ALTER TABLE nothing ADD COLUMN x",
		"a broken reference": "INSERT INTO grants VALUES('g','none','k','none',1,NULL)",
	} {
		if _, err := conn.ExecContext(t.Context(), "PRAGMA foreign_keys=0"); err != nil {
			t.Fatal(err)
		}
		if err := s.step(t.Context(), conn, 1, []string{"", step}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, schema()); diff != "" {
			t.Errorf("%s: schema (-want +got):\n%s", name, diff)
		}
	}
	must(t, errors.Join(conn.Close(), db.Close()))
	openAt(t, path, "two") // and the real one still works
}

func TestGuards_AreRenewedWhenTheyDiffer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	must(t, openAt(t, path, "one").Close())
	db, err := openDB(path, nil)
	must(t, err)
	_, err = db.ExecContext(t.Context(), "DROP TRIGGER runs_move; DROP TRIGGER runs_frozen; CREATE TRIGGER runs_move BEFORE UPDATE ON runs BEGIN SELECT 1; END")
	must(t, errors.Join(err, db.Close()))
	s := openAt(t, path, "two")
	for _, g := range guards() {
		got, _, err := one(t.Context(), plain{s.reader}, scanString, qTrigger, g.name)
		if err != nil || got != g.sql {
			t.Errorf("guard %s is %q, %v", g.name, got, err)
		}
	}
	if list, err := filepath.Glob(path + ".*.bak"); err != nil || len(list) != 0 {
		t.Errorf("backups %v, %v: want none when only guards change", list, err)
	}
}

// covers: R12
func TestBackup_IsConsistentWhileWritingGoesOn(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t, func(c *Config) { c.MaxQueued = 1 << 20 })
	stop, wrote := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				wrote <- nil
				return
			default:
			}
			if _, err := s.Submit(t.Context(), rewrite(core.CommandID(fmt.Sprint(i)))); err != nil {
				wrote <- err
				return
			}
		}
	}()
	path := filepath.Join(t.TempDir(), "copy.db")
	for range 3 { // each replaces the one before
		must(t, s.Backup(t.Context(), path))
	}
	close(stop)
	must(t, <-wrote)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.tmp"))
	if err != nil || len(left) != 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	other := openAt(t, path, "copy")
	events, err := other.EventsAfter(t.Context(), 0, 1<<20)
	must(t, err)
	contiguous(t, events, 0)
	if len(events)%3 != 0 {
		t.Errorf("%d events: half a submission is in the copy", len(events))
	}
	err = s.Backup(t.Context(), filepath.Join(t.TempDir(), "none", "copy.db"))
	wantCode(t, err, fault.StoreFailed)
}

func TestMigrations_AreNumberedWithoutGap(t *testing.T) {
	t.Parallel()
	list, err := migrationFiles.ReadDir("migration")
	must(t, err)
	for i, f := range list {
		if !strings.HasPrefix(f.Name(), fmt.Sprintf("%04d_", i+1)) {
			t.Errorf("migration %d is %s", i+1, f.Name())
		}
	}
}
