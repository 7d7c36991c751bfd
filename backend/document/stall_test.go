package document

import (
	"context"
	"slices"
	"syscall"
	"testing"

	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
	"galley/backend/workspace/filefault"
)

// callsOfSave returns the names of the calls that one save makes.
func callsOfSave(t *testing.T) []string {
	t.Helper()
	calls := filefault.New(workspace.OSCalls())
	b := newBenchOn(t, calls, memoryDir(t), memoryDir(t))
	b.file("n.md", "one\n")
	id := b.open("n.md").ID
	b.edit(id, text.Edit{Insert: "x"})
	calls.Arm(filefault.Plan{})
	b.save(id)
	return calls.Names()
}

// A disk that stalls in the middle of a save holds up that save alone: typing
// goes on, its draft is kept, other documents are saved.
//
// covers: F4 F6
func TestSave_StalledDisk(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"write", "sync", "rename", "sync folder"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			n := slices.Index(callsOfSave(t), at) + 1
			if n == 0 {
				t.Fatalf("a save makes no such call")
			}
			calls := filefault.New(workspace.OSCalls())
			b := newBenchOn(t, calls, memoryDir(t), memoryDir(t))
			b.file("n.md", "one\n")
			b.file("other.md", "two\n")
			id, other := b.open("n.md").ID, b.open("other.md").ID
			b.edit(id, text.Edit{Insert: "x"})
			b.edit(other, text.Edit{Insert: "y"})

			stalled, goOn := make(chan struct{}), make(chan struct{})
			calls.Arm(filefault.Plan{At: n, Mode: filefault.After, Die: func() { close(stalled); <-goOn }})
			request := b.request(id)
			done := make(chan error, 1)
			go func() {
				_, err := b.Save(t.Context(), request)
				done <- err
			}()
			<-stalled

			b.edit(id, text.Edit{Insert: "typed "})
			// Whoever waits for the document's file can give up.
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := b.Save(ctx, b.request(id))
			wantCode(t, "a second save that was called off", err, fault.Cancelled)
			b.save(other)
			b.wantDisk("other.md", "ytwo\n")
			if err := b.FlushDrafts(t.Context()); err != nil {
				t.Errorf("drafts while the disk stalls: %v", err)
			}

			close(goOn)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			b.wantDisk("n.md", "xone\n")
			if i, err := b.Info(id); err != nil || !i.Dirty {
				t.Errorf("what was typed during the save is not unsaved: %+v (%v)", i, err)
			}
			b.save(id)
			b.wantDisk("n.md", "typed xone\n")
		})
	}
}

// A disk that is gone from call 1, 2, 3 … on: the save fails, the text stays
// unsaved and its draft, on another disk, holds it; back again it is saved.
//
// covers: F4 F6
func TestSave_DiskVanishes(t *testing.T) {
	t.Parallel()
	names := callsOfSave(t)
	for n := 1; n <= len(names); n++ {
		calls := filefault.New(workspace.OSCalls())
		b := newBenchOn(t, calls, memoryDir(t), memoryDir(t))
		b.file("n.md", "one\n")
		id := b.open("n.md").ID
		b.edit(id, text.Edit{Insert: "x"})
		calls.Arm(filefault.Plan{At: n, Mode: filefault.Forever, Err: syscall.ENODEV})
		_, err := b.Save(t.Context(), b.request(id))
		fired := calls.Fired()
		calls.Arm(filefault.Plan{})
		if err == nil {
			t.Logf("call %d (%s) of %d is not one that a save needs", n, fired, len(names))
			b.wantDisk("n.md", "xone\n")
			continue
		}
		if i, err := b.Info(id); err != nil || !i.Dirty {
			t.Errorf("call %d (%s): clean after a failed save (%v)", n, fired, err)
		}
		if err := b.FlushDrafts(t.Context()); err != nil {
			t.Errorf("call %d (%s): no draft: %v", n, fired, err)
		}
		r := b.restart()
		left, err := r.Drafts(t.Context())
		if b.disk("n.md") == "xone\n" {
			// The exchange had happened: there is nothing to offer, and the draft
			// is kept for a disk that forgets it.
			if err != nil || len(left) != 0 || b.kept() != "xone\n" {
				t.Errorf("call %d (%s): offered %+v (%v), kept %q", n, fired, left, err, b.kept())
			}
			continue
		}
		if err != nil || len(left) != 1 || left[0].Preview == "" {
			t.Fatalf("call %d (%s): drafts %+v (%v)", n, fired, left, err)
		}
	}
}
