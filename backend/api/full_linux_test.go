package api

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"galley/backend/agent/core"
	"galley/backend/agent/host"
	"galley/backend/fault"
)

// small makes a folder a file system of its own of so many bytes.
func small(t *testing.T, dir string, size string) {
	t.Helper()
	try(t, os.MkdirAll(dir, 0o700))
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+size)
	if errors.Is(err, unix.EPERM) {
		t.Skip("only root may mount; that a database can take no more is tried with a limit of files too")
	}
	try(t, err)
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// apart makes a folder lie on the disk of another one.
func apart(t *testing.T, dir string) {
	t.Helper()
	try(t, os.MkdirAll(dir, 0o700))
	try(t, unix.Mount(t.TempDir(), dir, "", unix.MS_BIND, ""))
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill writes until a file system takes no more.
func fill(t *testing.T, at string) {
	t.Helper()
	f, err := os.OpenFile(at, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	try(t, err)
	defer f.Close()
	for piece := make([]byte, 64<<10); len(piece) > 0; piece = piece[:len(piece)/2] {
		for err == nil {
			_, err = f.Write(piece)
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
		err = nil
	}
}

// A disk that is full under the database: AI says so and is not started again by
// itself, what is written elsewhere is saved, nothing that was told is taken
// back, and when there is room again the person has it go on.
//
// covers: R2 R13 K8
func TestAgent_DiskIsFull(t *testing.T) {
	home := newHome(t)
	small(t, home.Dir, "12m")
	// What saves need stays writable: the disk is full under the database.
	apart(t, home.Drafts())
	apart(t, home.Recovery())
	w := &writing{window: openWindow(t, home), text: sampleText}
	w.path = filepath.Join(w.folder(map[string]string{"notes.md": sampleBytes}), "notes.md")
	w.number = w.page()
	w.doc = ask[Document](w.window, "Documents.Open", w.path)
	w.ready()
	before := w.say(w.message("c1", "Please.\n"+creation(t)))
	asked := w.approval(before.RunID)

	ballast := filepath.Join(home.Dir, "ballast")
	fill(t, ballast)
	w.mark()
	// The record is as long as the message: it finds no room in what is there.
	w.refused(fault.DiskFull, "Agent.SubmitMessage", w.message("c2", strings.Repeat("words that fill the database ", 20_000)))
	got := await(w.window, "runner.changed", func(_ Envelope, r RunnerState) bool { return r.Status == string(host.Failed) })
	if got.Code != string(fault.DiskFull) || got.Restarts != 0 {
		t.Errorf("told %+v", got)
	}
	w.refused(fault.DiskFull, "Agent.DecideApproval", w.answer("a1", asked, core.AllowOnce))
	absent(t, filepath.Join(filepath.Dir(w.path), "Ferry.md"))

	// The document lies elsewhere: writing goes on.
	w.typed(w.number, w.doc, insertion(0, "x"))
	saved := ask[SaveResult](w.window, "Documents.Save", saving(w.number, w.doc.ID, w.doc.Version+1, "x"+sampleText))
	if !saved.Written {
		t.Errorf("saved %+v", saved)
	}

	// Asked for while there is still no room, it says so again.
	w.mark()
	ask[RunnerState](w.window, "Agent.RestartRunner")
	got = await(w.window, "runner.changed", func(_ Envelope, r RunnerState) bool { return r.Status == string(host.Failed) })
	if got.Code != string(fault.DiskFull) {
		t.Errorf("told %+v", got)
	}
	list, _ := w.sent()
	starts := 0
	for _, m := range list {
		if m.Type == "runner.changed" && strings.Contains(string(m.Payload), string(host.Starting)) {
			starts++
		}
	}
	if starts > 2 { // without and with its process
		t.Errorf("started %d times", starts)
	}

	try(t, os.Remove(ballast))
	w.mark()
	ask[RunnerState](w.window, "Agent.RestartRunner")
	w.ready()
	if end := w.ended(before.RunID); end.State != core.RunInterrupted {
		t.Errorf("ended %+v", end)
	}
	after := w.message("c3", "Hello again.")
	after.Place.Version++
	if end := w.ended(w.say(after).RunID); end.State != core.RunSucceeded {
		t.Errorf("ended %+v", end)
	}
}
