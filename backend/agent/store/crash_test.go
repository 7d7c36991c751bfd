package store

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

const (
	// envChild names what a re-executed test binary does instead of testing.
	envChild = "GALLEY_STORE_CHILD"
	envPath  = "GALLEY_STORE_PATH"
)

// kill ends this process as a crash does: nothing is flushed or closed.
func kill() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	fmt.Fprintln(os.Stderr, "still alive:", err)
	select {}
}

// child is what the re-executed test binary does: it brings a store to a point
// and dies there.
func child(name string) int {
	ctx := context.Background()
	cfg := Config{Path: os.Getenv(envPath)}
	if name == "migrating" {
		fmt.Fprintln(os.Stderr, childMigrating(ctx, cfg))
		return 1
	}
	if name == "flood" {
		cfg.MaxQueued = 64
		cfg.OnEvent = func(e core.Event) { fmt.Printf("event %d\n", e.Seq) }
	}
	s, err := Open(ctx, cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := children[name](ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	kill()
	return 0
}

// childMigrating dies when all steps of a migration are written and none is
// committed.
func childMigrating(ctx context.Context, cfg Config) error {
	db, err := openDB(cfg.Path, writerPragmas())
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	from, _, err := one(ctx, plain{conn}, scanInt, "PRAGMA user_version")
	if err != nil {
		return err
	}
	s := &Store{cfg: cfg}
	if err := s.vacuumInto(ctx, conn, fmt.Sprintf("%s.v%d.bak", cfg.Path, from)); err != nil {
		return err
	}
	steps := append(slices.Clone(migrations()[from:]), fmt.Sprintf("PRAGMA user_version=%d", len(migrations())))
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE; "+strings.Join(steps, ";\n")); err != nil {
		return err
	}
	kill()
	return nil
}

func childRun(ctx context.Context, s *Store) (core.Run, error) {
	r, err := s.Submit(ctx, rewrite("c"))
	if err == nil {
		err = s.Start(ctx, r.ID)
	}
	fmt.Println("run", r.ID)
	return r, err
}

// childCall brings a call as far as running, asking where it must.
func childCall(ctx context.Context, s *Store, run core.RunID, name string, kind core.ToolKind) (core.ToolCall, error) {
	in := json.RawMessage(`{}`)
	calls, err := s.CommitStep(ctx, run, 1, core.Message{Role: core.RoleAssistant, Parts: []core.Part{
		{Type: core.PartText, Text: "I look."}, {Type: core.PartToolCall, Name: name, Input: in},
	}}, []core.ToolCall{{Name: name, Kind: kind, Input: in}})
	if err != nil {
		return core.ToolCall{}, err
	}
	c := calls[0]
	if kind == core.ToolWrite && name != core.ToolProposePatch {
		a, err := s.AskApproval(ctx, core.Approval{ToolCallID: c.ID, Rule: core.PermNotesWrite})
		if err != nil {
			return c, err
		}
		if _, err := s.DecideApproval(ctx, core.CommandID("allow "+c.ID), a.ID, c.ID, c.InputDigest, core.AllowOnce); err != nil {
			return c, err
		}
	}
	if err := s.ReadyCall(ctx, c.ID, intent(c)); err != nil {
		return c, err
	}
	return c, s.StartCall(ctx, c.ID)
}

// childConversation passes every point of the crash matrix that lies in the
// store, with a read, a write that asks and a proposal, and a cancel at the end.
func childConversation(ctx context.Context, s *Store) error {
	sub := rewrite("c")
	sub.Kind = core.KindConversation
	run, err := s.Submit(ctx, sub)
	if err != nil {
		return err
	}
	if err := s.Start(ctx, run.ID); err != nil {
		return err
	}
	for _, call := range []struct {
		name string
		kind core.ToolKind
		end  core.CallEnd
	}{
		{core.ToolCreateDocument, core.ToolWrite, core.CallEnd{Result: "created"}},
		{core.ToolSearchWorkspace, core.ToolRead, core.CallEnd{Result: "short", Truncated: true, Whole: "all of it"}},
		{core.ToolProposePatch, core.ToolWrite, core.CallEnd{Result: "proposed, not applied", Proposal: proposal(1)}},
	} {
		c, err := childCall(ctx, s, run.ID, call.name, call.kind)
		if err != nil {
			return err
		}
		call.end.State = core.CallSucceeded
		if err := s.FinishCall(ctx, c.ID, call.end); err != nil {
			return err
		}
	}
	_, err = s.Cancel(ctx, "x", run.ID)
	return err
}

var children = map[string]func(ctx context.Context, s *Store) error{
	"before accept": func(ctx context.Context, s *Store) error {
		return s.change(ctx, "test", func(ctx context.Context, t *tx) error {
			r, err := t.submit(ctx, "test", rewrite("c"))
			fmt.Println("run", r.ID)
			if err == nil {
				kill() // inside the transaction
			}
			return err
		})
	},
	"after accept": func(ctx context.Context, s *Store) error {
		r, err := s.Submit(ctx, rewrite("c"))
		fmt.Println("run", r.ID)
		return err
	},
	"prepared": func(ctx context.Context, s *Store) error {
		r, err := childRun(ctx, s)
		if err != nil {
			return err
		}
		_, err = s.BeginModelCall(ctx, core.ModelCall{RunID: r.ID, Step: 1, Attempt: 1})
		return err
	},
	"streaming": func(ctx context.Context, s *Store) error {
		r, err := childRun(ctx, s)
		if err != nil {
			return err
		}
		c, err := s.BeginModelCall(ctx, core.ModelCall{RunID: r.ID, Step: 1, Attempt: 1})
		if err != nil {
			return err
		}
		for _, c.Phase = range []core.CallPhase{core.PhaseSent, core.PhaseStreaming} {
			if err := s.UpdateModelCall(ctx, c); err != nil {
				return err
			}
		}
		return s.KeepDraft(ctx, r.ID, assistantMessage("Half"))
	},
	"inside end": func(ctx context.Context, s *Store) error {
		r, err := childRun(ctx, s)
		if err != nil {
			return err
		}
		return s.change(ctx, "test", func(ctx context.Context, t *tx) error {
			m := assistantMessage("Whole.")
			r.State = core.RunRunning
			err := t.end(ctx, "test", r, core.RunEnd{State: core.RunSucceeded, Message: &m, Proposal: proposal(1)})
			if err == nil {
				kill()
			}
			return err
		})
	},
	"after end": func(ctx context.Context, s *Store) error {
		r, err := childRun(ctx, s)
		if err != nil {
			return err
		}
		_, err = s.End(ctx, r.ID, core.RunEnd{State: core.RunSucceeded, Proposal: proposal(1)})
		return err
	},
	"after cancel": func(ctx context.Context, s *Store) error {
		r, err := childRun(ctx, s)
		if err != nil {
			return err
		}
		_, err = s.Cancel(ctx, "x", r.ID)
		return err
	},
	// whole kept has the file of a result and not yet the result.
	"whole kept": func(ctx context.Context, s *Store) error {
		run, err := childRun(ctx, s)
		if err != nil {
			return err
		}
		end := core.CallEnd{State: core.CallSucceeded, Result: "short", Truncated: true, Whole: "all of it"}
		c, err := childCall(ctx, s, run.ID, "search", core.ToolRead)
		if err != nil {
			return err
		}
		_, err = s.keepWhole(ctx, "test", c.ID, end)
		return err
	},
	"conversation": childConversation,
	"sending":      childSending,
	"io error":     childIOError,
	// recovering dies in the middle of recovering another crash.
	"recovering": func(ctx context.Context, s *Store) error {
		rows, err := all(ctx, plain{s.reader}, scanRun, qRunsOlderBoot, s.cfg.BootID)
		if err != nil {
			return err
		}
		return s.change(ctx, "test", func(ctx context.Context, t *tx) error {
			for _, r := range rows {
				if _, err := t.recover(ctx, r.Run); err != nil {
					return err
				}
			}
			kill()
			return nil
		})
	},
	// flood writes until somebody kills it, and says what was answered.
	"flood": func(ctx context.Context, s *Store) error {
		if _, err := s.Recover(ctx); err != nil {
			return err
		}
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := 0; ; i++ {
					cmd := core.CommandID(fmt.Sprint(s.BootID(), "-", w, "-", i))
					r, err := s.Submit(ctx, rewrite(cmd))
					if err != nil {
						fmt.Println("error", err)
						return
					}
					fmt.Println("accepted", cmd, r.ID)
					if s.Start(ctx, r.ID) == nil {
						if e, err := s.End(ctx, r.ID, core.RunEnd{State: core.RunSucceeded, Proposal: proposal(1)}); err == nil {
							fmt.Println("ended", e.ID)
						}
					}
				}
			})
		}
		wg.Wait()
		return errors.New("flood ended by itself")
	},
}

// crashed runs a child until it has died, or was killed after a number of lines
// (0: never), and returns the fields of what it said.
func crashed(t *testing.T, name, path string, after int, env ...string) [][]string {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(append(os.Environ(), envChild+"="+name, envPath+"="+path), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var lines [][]string
	sc := bufio.NewScanner(out)
	for sc.Scan() {
		lines = append(lines, strings.Fields(sc.Text()))
		if after > 0 && len(lines) == after {
			must(t, cmd.Process.Kill())
		}
	}
	must(t, sc.Err())
	err = cmd.Wait()
	if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() == 1 || e.ExitCode() == 2 {
		t.Fatalf("child %q ended with %v, want it killed", name, err)
	}
	// The last line may be torn; what was not said whole was not said.
	if n := len(lines); n > 0 && len(lines[n-1]) < 2 {
		lines = lines[:n-1]
	}
	return lines
}

// covers: R4 R6 R13 (rows 1 to 5, 20 and 21 of the crash matrix)
func TestCrash_AtEachPointOfARewrite(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// want is "" when no run may be there.
		want      core.RunState
		reason    string
		calls     string
		proposals int
	}{
		{"before accept", "", "", "", 0},
		{"after accept", core.RunInterrupted, "never_started", "", 0},
		{"prepared", core.RunInterrupted, "runner_lost", "failed unknown no_effect", 0},
		{"streaming", core.RunInterrupted, "runner_lost", "unknown unknown runner_lost", 0},
		{"inside end", core.RunInterrupted, "runner_lost", "", 0},
		{"after end", core.RunSucceeded, "", "", 1},
		{"after cancel", core.RunCancelled, "runner_lost", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "runs.db")
			said := crashed(t, tt.name, path, 0)
			if len(said) != 1 {
				t.Fatalf("child said %q", said)
			}
			id := core.RunID(said[0][1])
			rec := newRecorder()
			s := openAt(t, path, "two", func(c *Config) { c.OnEvent = rec.add })
			before := s.LastSeq()
			recovered(t, s)
			events, err := s.EventsAfter(t.Context(), 0, 1<<20)
			must(t, err)
			contiguous(t, events, 0)
			if tt.want == "" {
				_, err := s.Run(t.Context(), id)
				wantCode(t, err, fault.NotFound)
				if before != 0 {
					t.Errorf("a transaction that was not committed left events up to %d", before)
				}
				if r := submit(t, s, rewrite("c")); r.State != core.RunQueued {
					t.Errorf("the command sent again gave a run that is %s", r.State)
				}
				return
			}
			wantState(t, s, id, tt.want, tt.reason)
			if got := strings.Join(modelCalls(t, s, id), ";"); got != tt.calls {
				t.Errorf("model calls are %q, want %q", got, tt.calls)
			}
			if r := submit(t, s, rewrite("c")); r.ID != id {
				t.Errorf("the command sent again gave run %s, want %s", r.ID, id)
			}
			st, _, err := s.Snapshot(t.Context())
			must(t, err)
			if len(st.Proposals) != tt.proposals || len(st.Runs) != 1 {
				t.Errorf("%d proposals and %d runs, want %d and 1", len(st.Proposals), len(st.Runs), tt.proposals)
			}
			var partial bool
			for _, e := range events {
				if e.Type == core.EventMessageCommitted && payload[core.MessageCommitted](t, e).Status == "partial" {
					partial = true
				}
			}
			if want := tt.name == "streaming"; partial != want {
				t.Errorf("partial message kept: %v, want %v", partial, want)
			}
		})
	}
}

// covers: R6 R13
func TestCrash_WhileRecoveringFromACrash(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	id := core.RunID(crashed(t, "streaming", path, 0)[0][1])
	crashed(t, "recovering", path, 0)
	crashed(t, "recovering", path, 0)
	s := openAt(t, path, "four")
	if got := recovered(t, s); len(got.Runs) != 1 {
		t.Errorf("recovered %v, want the one run", got.Runs)
	}
	wantState(t, s, id, core.RunInterrupted, "runner_lost")
	events, err := s.EventsAfter(t.Context(), 0, 1<<20)
	must(t, err)
	contiguous(t, events, 0)
	n := 0
	for _, e := range events {
		if e.Type == core.EventRunInterrupted {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d run.interrupted events, want 1", n)
	}
}

// covers: R12 R13 (row 24 of the crash matrix)
func TestCrash_WhileMigrating(t *testing.T) {
	t.Parallel()
	for v := 1; v < len(migrations()); v++ {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			t.Parallel()
			path := saved(t, fmt.Sprintf("v%d.sql", v))
			before, err := os.ReadFile(path)
			must(t, err)
			crashed(t, "migrating", path, 0)
			after, err := os.ReadFile(path)
			must(t, err)
			if !slices.Equal(before, after) {
				t.Error("the file changed before the commit")
			}
			for _, p := range []string{fmt.Sprintf("%s.v%d.bak", path, v), path} { // the backup is a database too
				s := openAt(t, p, "two")
				run, err := s.Run(t.Context(), "run-1")
				must(t, err)
				if run.State != core.RunSucceeded {
					t.Errorf("%s: run is %s", p, run.State)
				}
			}
		})
	}
}

// covers: R4 R5 R13
func TestCrash_InAFloodNothingAnsweredIsLost(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	answered := map[core.CommandID]core.RunID{}
	ended := map[core.RunID]bool{}
	top := int64(0) // the highest seq anybody was told
	for round := range 4 {
		// Each round is killed at another place of the flood.
		var seqs []int64
		for _, line := range crashed(t, "flood", path, 40+37*round) {
			switch {
			case line[0] == "accepted" && len(line) == 3:
				answered[core.CommandID(line[1])] = core.RunID(line[2])
			case line[0] == "ended":
				ended[core.RunID(line[1])] = true
			case line[0] == "event":
				var seq int64
				if _, err := fmt.Sscan(line[1], &seq); err != nil {
					t.Fatal(err)
				}
				seqs = append(seqs, seq)
			case line[0] == "error":
				t.Fatalf("child said %q", line)
			}
		}
		for i := 1; i < len(seqs); i++ {
			if seqs[i] != seqs[i-1]+1 && i < len(seqs)-1 { // the last line may be torn
				t.Fatalf("round %d: published %d after %d", round, seqs[i], seqs[i-1])
			}
		}
		if len(seqs) > 0 && seqs[0] <= top {
			t.Fatalf("round %d: seq %d was used again, %d was told before", round, seqs[0], top)
		}
		if len(seqs) > 1 {
			top = slices.Max(seqs[:len(seqs)-1])
		}
		s := openAt(t, path, fmt.Sprint("check", round))
		if s.LastSeq() < top {
			t.Fatalf("round %d: seq %d was told, the file ends at %d", round, top, s.LastSeq())
		}
		top = s.LastSeq()
		events, err := s.EventsAfter(t.Context(), 0, 1<<20)
		must(t, err)
		contiguous(t, events, 0)
		for cmd, id := range answered {
			sub := rewrite(cmd)
			if r := submit(t, s, sub); r.ID != id {
				t.Errorf("round %d: command %s gave %s, was answered %s", round, cmd, r.ID, id)
			}
		}
		for id := range ended {
			wantState(t, s, id, core.RunSucceeded, "")
		}
		must(t, s.Close())
	}
	if len(answered) < 20 {
		t.Errorf("only %d commands were answered: no flood", len(answered))
	}
}
