package document

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"galley/backend/fault"
)

// covers: F5 F6 F8
func TestMove_TakesUnsavedTextAndDraftsAlong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.outside(os.MkdirAll(b.path("a/b"), 0o755))
	b.file("a/b/n.md", "1\n")
	b.file("a/left.md", "left\n")
	b.file("ab.md", "beside\n")
	left := b.open("a/left.md").ID
	b.replace(left, "left", "unsaved")
	if err := b.FlushDrafts(t.Context()); err != nil {
		t.Fatal(err)
	}
	b = b.restart() // its draft waits for a decision now
	id, beside := b.open("a/b/n.md").ID, b.open("ab.md").ID
	b.replace(id, "1", "2")

	err := b.Move(t.Context(), b.path("a"), b.path("z"), func() error { return os.Rename(b.path("a"), b.path("z")) })
	if err != nil {
		t.Fatal(err)
	}
	if got := b.told.take(); got != "moved" {
		t.Errorf("told %q", got)
	}
	if i := b.info(id); i.Path != b.path("z/b/n.md") || !i.Dirty || b.info(beside).Path != b.path("ab.md") {
		t.Errorf("%+v", i)
	}
	b.wantTold("after", b.check(), "")
	b.save(id)
	if data, err := os.ReadFile(b.path("z/b/n.md")); err != nil || string(data) != "2\n" {
		t.Errorf("saved %q, %v", data, err)
	}
	// The draft, in this start and in the next.
	for range 2 {
		drafts, err := b.Drafts(t.Context())
		if err != nil || len(drafts) != 1 || drafts[0].Path != b.path("z/left.md") || drafts[0].Conflict {
			t.Fatalf("drafts %+v, %v", drafts, err)
		}
		b = b.restart()
	}
	drafts, err := b.Drafts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i, err := b.RestoreDraft(t.Context(), b.page, drafts[0].ID)
	if err != nil || i.Path != b.path("z/left.md") || !i.Dirty {
		t.Errorf("restored %+v, %v", i, err)
	}
	if s, _, err := b.Text(i.ID); s != "unsaved\n" || err != nil {
		t.Errorf("text %q, %v", s, err)
	}
}

// A large draft is kept as changes; those made last move along.
//
// covers: F6 F8
func TestMove_TakesChangesOfALargeDraftAlong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "first\n"+strings.Repeat("line\n", 80_000))
	id := b.open("n.md").ID
	for _, c := range [][2]string{{"first", "second"}, {"second", "third"}, {"third", "fourth"}} {
		b.replace(id, c[0], c[1])
		if err := b.FlushDrafts(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b = b.restart()
	if err := b.Move(t.Context(), b.path("n.md"), b.path("m.md"), func() error { return os.Rename(b.path("n.md"), b.path("m.md")) }); err != nil {
		t.Fatal(err)
	}
	b = b.restart()
	drafts, err := b.Drafts(t.Context())
	if err != nil || len(drafts) != 1 || drafts[0].Path != b.path("m.md") || !strings.HasPrefix(drafts[0].Preview, "fourth\n") {
		t.Fatalf("drafts %+v, %v", drafts, err)
	}
}

func TestMove_ThatFailsLeavesAllAsItWas(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "1\n")
	id := b.open("n.md").ID
	refused := fault.New(fault.Exists, "move", nil)
	if err := b.Move(t.Context(), b.path("n.md"), b.path("m.md"), func() error { return refused }); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	if i := b.info(id); i.Path != b.path("n.md") || b.told.take() != "" {
		t.Errorf("%+v", i)
	}
	// While its file is in somebody's hands it does not move.
	b.mu.Lock()
	d, err := b.find(id)
	b.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.turn.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- b.Move(ctx, b.path("n.md"), b.path("m.md"), func() error { return errors.New("it moved") })
	}()
	cancel()
	wantCode(t, "move", <-done, fault.Cancelled)
	d.turn.release()
	b.save(id)
}

// out-4: a document whose file is gone still has its path, which no other
// document may get.
//
// covers: F5 F8
func TestMove_NotOntoAnOpenDocument(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.outside(os.Mkdir(b.path("s"), 0o755), os.Mkdir(b.path("z"), 0o755))
	gone := b.file("s/a.md", "a\n")
	id := b.open("s/a.md").ID
	b.replace(id, "a", "mine")
	b.outside(os.RemoveAll(b.path("s")))
	b.wantTold("removed", b.check(), "missing")
	b.file("x.md", "x\n")
	b.file("z/a.md", "z\n")
	other := b.open("x.md").ID
	for from, to := range map[string]string{b.path("x.md"): gone, b.path("z"): b.path("s")} {
		err := b.Move(t.Context(), from, to, func() error {
			t.Errorf("%s moved", from)
			return nil
		})
		wantCode(t, from, err, fault.Exists)
	}
	if b.info(id).Path != gone || b.info(other).Path != b.path("x.md") {
		t.Errorf("%+v, %+v", b.info(id), b.info(other))
	}
	// Its own place is no obstacle.
	if err := b.Move(t.Context(), gone, b.path("n.md"), func() error { return nil }); err != nil {
		t.Error(err)
	}
}
