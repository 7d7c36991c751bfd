package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// finish carries out a read with this whole result and returns the call.
func finish(t testing.TB, s *Store, run core.RunID, whole string, kind core.ArtifactKind) core.ToolCall {
	t.Helper()
	c := runningCall(t, s, run, "search", core.ToolRead)
	must(t, s.FinishCall(t.Context(), c.ID, core.CallEnd{
		State: core.CallSucceeded, Result: "short", Truncated: true, Whole: whole, WholeKind: kind,
	}))
	got, err := s.ToolCall(t.Context(), c.ID)
	must(t, err)
	return got
}

// files returns the names in the artifacts' folder, sorted.
func files(t testing.TB, s *Store) []string {
	t.Helper()
	entries, err := os.ReadDir(s.cfg.Artifacts)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// artifactStates returns the states of all artifacts, the oldest first.
func artifactStates(t testing.TB, s *Store) string {
	t.Helper()
	list, err := all(t.Context(), plain{s.reader}, scanString, `SELECT state FROM artifacts ORDER BY rowid`)
	must(t, err)
	return strings.Join(list, " ")
}

// covers: R11
func TestFinishCall_KeepsTheWholeInAFile(t *testing.T) {
	t.Parallel()
	s, rec := openNew(t)
	ctx := t.Context()
	run := talk(t, s, "c")
	whole := strings.Repeat("0123456789", 1000)
	c := finish(t, s, run.ID, whole, "")
	if c.ArtifactID == "" || c.Result != "short" || !c.Truncated {
		t.Errorf("call is %+v", c)
	}
	events := rec.upTo(s.LastSeq())
	if got := payload[core.ToolCall](t, events[len(events)-1]); got.ArtifactID != c.ArtifactID {
		t.Errorf("tool.changed names artifact %q", got.ArtifactID)
	}
	sum := sha256.Sum256([]byte(whole))
	want := core.Artifact{
		ID: c.ArtifactID, RunID: run.ID, ToolCallID: c.ID, Kind: core.ArtifactLog, Bytes: 10_000,
		SHA256: hex.EncodeToString(sum[:]), State: core.ArtifactPublished,
	}
	for _, tt := range []struct {
		offset int64
		limit  int
		want   string
	}{{0, 1 << 20, whole}, {3, 4, "3456"}, {9_995, 100, "56789"}, {10_000, 1, ""}, {20_000, 1, ""}} {
		a, b, err := s.Artifact(ctx, c.ArtifactID, tt.offset, tt.limit)
		if err != nil || string(b) != tt.want {
			t.Errorf("at %d, at most %d: %d bytes, %v", tt.offset, tt.limit, len(b), err)
		}
		if diff := cmp.Diff(want, a); diff != "" {
			t.Errorf("artifact (-want +got):\n%s", diff)
		}
	}
	for _, bad := range []struct {
		offset int64
		limit  int
	}{{-1, 1}, {0, 0}} {
		_, _, err := s.Artifact(ctx, c.ArtifactID, bad.offset, bad.limit)
		wantCode(t, err, fault.InvalidInput)
	}
	st, err := os.Stat(filepath.Join(s.cfg.Artifacts, string(c.ArtifactID)))
	if err != nil || st.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("file is %v, %v", st, err)
	}

	// Somebody changed it, and then it is gone: not what it was, not found.
	path := filepath.Join(s.cfg.Artifacts, string(c.ArtifactID))
	must(t, os.WriteFile(path, []byte("other"), 0o600))
	_, _, err = s.Artifact(ctx, c.ArtifactID, 0, 1)
	wantCode(t, err, fault.NotFound)
	must(t, os.Remove(path))
	_, _, err = s.Artifact(ctx, c.ArtifactID, 0, 1)
	wantCode(t, err, fault.NotFound)
	_, _, err = s.Artifact(ctx, "none", 0, 1)
	wantCode(t, err, fault.NotFound)
}

// covers: R11
func TestArtifacts_TheOldestLogsAndCachesMakeRoom(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t, func(c *Config) { c.ArtifactsPerRun, c.ArtifactsInAll = 100, 250 })
	first, second, third := talk(t, s, "1"), talk(t, s, "2"), talk(t, s, "3")
	forty := strings.Repeat("x", 40)
	steps := []struct {
		run  core.Run
		size int
		kind core.ArtifactKind
		// kept says whether the new one is; states are all, the oldest first.
		kept   bool
		states string
	}{
		{first, 40, core.ArtifactProduct, true, "published"},
		{first, 40, core.ArtifactLog, true, "published published"},
		// The run is full: its log goes, the product stays.
		{first, 60, core.ArtifactCache, true, "published deleted published"},
		// Larger than everything that may go: the result stands alone.
		{first, 70, core.ArtifactLog, false, "published deleted published"},
		{first, 101, core.ArtifactLog, false, "published deleted published"},
		{second, 100, core.ArtifactLog, true, "published deleted published published"},
		// All of them together are too large: the oldest that may go does.
		{third, 60, core.ArtifactLog, true, "published deleted deleted published published"},
		{third, 40, core.ArtifactLog, true, "published deleted deleted published published published"},
		{third, 41, core.ArtifactProduct, true, "published deleted deleted published deleted published published"},
	}
	for i, st := range steps {
		c := finish(t, s, st.run.ID, (forty + forty + forty)[:st.size], st.kind)
		if kept := c.ArtifactID != ""; kept != st.kept || c.State != core.CallSucceeded {
			t.Errorf("step %d: artifact %q of a call that is %s", i, c.ArtifactID, c.State)
		}
		if got := artifactStates(t, s); got != st.states {
			t.Errorf("step %d: artifacts are %s, want %s", i, got, st.states)
		}
		if got, want := len(files(t, s)), strings.Count(st.states, "published"); got != want {
			t.Errorf("step %d: %d files, want %d", i, got, want)
		}
	}
	// What went is said to be gone.
	gone, _, err := one(t.Context(), plain{s.reader}, scanString, `SELECT id FROM artifacts WHERE state='deleted'`)
	must(t, err)
	_, _, err = s.Artifact(t.Context(), core.ArtifactID(gone), 0, 1)
	wantCode(t, err, fault.NotFound)
}

// What happened is committed also where its whole cannot be kept.
func TestFinishCall_WithoutAFile(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	run := talk(t, s, "c")
	must(t, os.WriteFile(s.cfg.Artifacts, nil, 0o600)) // a file is in the way of the folder
	c := finish(t, s, run.ID, "whole", "")
	if c.State != core.CallSucceeded || c.ArtifactID != "" || c.Result != "short" || artifactStates(t, s) != "" {
		t.Errorf("call is %+v, artifacts %q", c, artifactStates(t, s))
	}
	// And nothing is kept of a result that is not taken.
	must(t, os.Remove(s.cfg.Artifacts))
	left := runningCall(t, s, run.ID, "search", core.ToolRead)
	end := core.CallEnd{State: core.CallSucceeded, Whole: "whole", Proposal: &core.Proposal{BaseDigest: "none"}}
	wantCode(t, s.FinishCall(t.Context(), left.ID, end), fault.InvalidInput)
	end.State = core.CallReady
	wantCode(t, s.FinishCall(t.Context(), left.ID, end), fault.InvalidInput)
	wantCode(t, s.FinishCall(t.Context(), c.ID, core.CallEnd{State: core.CallSucceeded, Whole: "whole"}), fault.InvalidInput)
	if artifactStates(t, s) != "" || len(files(t, s)) != 0 {
		t.Errorf("artifacts %q, files %v", artifactStates(t, s), files(t, s))
	}
	wantCall(t, s, left, core.CallRunning, "")
}

// covers: R11 R13 (row 23 of the crash matrix)
func TestRecover_Artifacts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	// A file that was renamed, whose result was never committed.
	said := crashed(t, "whole kept", path, 0)
	s := openAt(t, path, "two")
	if got := artifactStates(t, s); got != "writing" || len(files(t, s)) != 1 {
		t.Fatalf("after the crash: %s, %v", got, files(t, s))
	}
	// Beside it: one that was being written, one that nobody knows, one that is
	// published and one that was, and things that are no files of ours.
	run := talk(t, s, "more")
	published, lost := finish(t, s, run.ID, "published", ""), finish(t, s, run.ID, "lost", core.ArtifactProduct)
	must(t, s.change(t.Context(), "test", func(ctx context.Context, x *tx) error {
		return x.update(ctx, qInsertArtifact, "half", said[0][1], nil, "log", "half", 9)
	}))
	in := func(name string) string { return filepath.Join(s.cfg.Artifacts, name) }
	must(t, errors.Join(
		os.WriteFile(in("half.tmp"), []byte("ha"), 0o600), os.WriteFile(in("orphan"), nil, 0o600),
		os.Remove(in(string(lost.ArtifactID))), os.Mkdir(in("folder"), 0o700),
	))
	// A store that looks while a file is being made does not take it away.
	must(t, s.change(t.Context(), "test", func(ctx context.Context, x *tx) error {
		return x.update(ctx, qInsertArtifact, "now", string(run.ID), nil, "log", "now", 9)
	}))
	must(t, os.WriteFile(in("now.tmp"), nil, 0o600))
	recovered(t, s)
	want := []string{"folder", "now.tmp", string(published.ArtifactID)}
	slices.Sort(want)
	if diff := cmp.Diff(want, files(t, s)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got := artifactStates(t, s); got != "missing published missing missing writing" {
		t.Errorf("artifacts are %s", got)
	}
	_, _, err := s.Artifact(t.Context(), lost.ArtifactID, 0, 1)
	wantCode(t, err, fault.NotFound)
	// The read that was running can be repeated; it names no file.
	calls, err := s.ToolCalls(t.Context(), core.RunID(said[0][1]))
	if err != nil || len(calls) != 1 || calls[0].Reason != "interrupted_read" || calls[0].ArtifactID != "" {
		t.Errorf("calls are %+v, %v", calls, err)
	}
}
