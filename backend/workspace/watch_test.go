package workspace_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"

	"galley/backend/workspace"
)

// patience is how long an event is waited for; on a busy machine it comes late.
const patience = 30 * time.Second

// eye is a watcher that runs, and what it has told.
type eye struct {
	t        *testing.T
	w        *workspace.Watcher
	grants   *workspace.Grants
	surveyed chan int
	// mu guards what follows.
	mu   sync.Mutex
	told []workspace.Changes
	more chan struct{}
}

func watch(t *testing.T, root string, change ...func(*workspace.WatchConfig)) *eye {
	t.Helper()
	e := &eye{t: t, grants: openFolder(t, root), surveyed: make(chan int, 1000), more: make(chan struct{})}
	cfg := workspace.WatchConfig{
		Grants: e.grants, Log: slog.New(slog.DiscardHandler), OnChange: e.take,
		Surveyed: func(n int) { e.surveyed <- n },
	}
	for _, c := range change {
		c(&cfg)
	}
	e.w = workspace.NewWatcher(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { e.w.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	e.w.Watch(root, nil)
	return e
}

func (e *eye) take(c workspace.Changes) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, c)
	close(e.more)
	e.more = make(chan struct{})
}

// forget forgets how many folders were watched before.
func (e *eye) forget() {
	for {
		select {
		case <-e.surveyed:
		default:
			return
		}
	}
}

// folders waits until that many folders are watched.
func (e *eye) folders(n int) {
	e.t.Helper()
	limit := time.After(patience)
	for {
		select {
		case got := <-e.surveyed:
			if got == n {
				return
			}
		case <-limit:
			e.t.Fatalf("never %d folders", n)
		}
	}
}

// until waits until all that was told since the last call fits, and returns it
// as one.
func (e *eye) until(what string, fits func(c workspace.Changes) bool) workspace.Changes {
	e.t.Helper()
	limit := time.After(patience)
	var sum workspace.Changes
	for {
		e.mu.Lock()
		for _, c := range e.told {
			sum.Folders = append(sum.Folders, c.Folders...)
			sum.Files = append(sum.Files, c.Files...)
			sum.All = sum.All || c.All
			sum.Gone = sum.Gone || c.Gone
		}
		e.told = nil
		more := e.more
		e.mu.Unlock()
		if fits(sum) {
			return sum
		}
		select {
		case <-more:
		case <-limit:
			e.t.Fatalf("%s: not told; told were %+v", what, sum)
		}
	}
}

func named(folder, file string) func(workspace.Changes) bool {
	return func(c workspace.Changes) bool {
		return (folder == "" || slices.Contains(c.Folders, folder)) && (file == "" || slices.Contains(c.Files, file))
	}
}

// covers: F5 F8
func TestWatcher_SaysWhatChanged(t *testing.T) {
	root := tree(t, map[string]string{"w/a.md": "a", "w/s/b.md": "b", "w/.git/x": "x", "w/node_modules/y/z": "z", "w/l": "-> $ROOT/o", "o/p/": ""})
	w := root + "/w"
	e := watch(t, w)
	e.folders(2) // neither hidden, nor ignored, nor a link

	must(t, os.WriteFile(w+"/a.md", []byte("a2"), 0o644))
	if c := e.until("write", named("", w+"/a.md")); len(c.Folders) != 0 {
		t.Errorf("a write changed entries: %+v", c)
	}
	must(t, os.Remove(w+"/s/b.md"))
	e.until("remove", named(w+"/s", w+"/s/b.md"))
	must(t, os.WriteFile(w+"/s/b.md", []byte("b2"), 0o644))
	e.until("made anew", named(w+"/s", w+"/s/b.md"))
	must(t, os.WriteFile(w+"/s/.b.md.swp", []byte("b3"), 0o644))
	must(t, os.Rename(w+"/s/.b.md.swp", w+"/s/b.md"))
	e.until("replaced", named(w+"/s", w+"/s/b.md"))
	must(t, os.Rename(w+"/s/b.md", w+"/c.md"))
	e.until("moved", func(c workspace.Changes) bool {
		return named(w+"/s", w+"/s/b.md")(c) && named(w, w+"/c.md")(c)
	})

	// Folders that come with what they hold, and move.
	must(t, os.MkdirAll(root+"/new/deep", 0o755))
	must(t, os.WriteFile(root+"/new/deep/d.md", []byte("d"), 0o644))
	must(t, os.Rename(root+"/new", w+"/new"))
	e.until("folder", named(w+"/new/deep", w+"/new"))
	must(t, os.WriteFile(w+"/new/deep/d.md", []byte("d2"), 0o644))
	e.until("in it", named("", w+"/new/deep/d.md"))
	must(t, os.Rename(w+"/new", w+"/s/moved"))
	e.until("folder moved", named(w+"/s/moved/deep", w+"/new"))
	must(t, os.WriteFile(w+"/s/moved/deep/d.md", []byte("d3"), 0o644))
	e.until("in its new place", named("", w+"/s/moved/deep/d.md"))
	must(t, os.RemoveAll(w+"/s/moved"))
	e.until("folder removed", named(w+"/s", w+"/s/moved"))
	must(t, os.MkdirAll(w+"/s/moved/deep", 0o755))
	e.until("folder made anew", named(w+"/s/moved", ""))
	must(t, os.WriteFile(w+"/s/moved/deep/d.md", []byte("d4"), 0o644))
	e.until("in the new one", named("", w+"/s/moved/deep/d.md"))
}

// covers: F5
func TestWatcher_FilesOutside(t *testing.T) {
	root := tree(t, map[string]string{"w/a.md": "a", "o/b.md": "b", "o/c.md": "c"})
	e := watch(t, root+"/w")
	e.folders(1)
	e.w.Watch(root+"/w", []string{root + "/o/b.md", root + "/w/a.md"})
	e.w.Refresh()
	e.until("refresh", func(c workspace.Changes) bool { return c.All })
	must(t, os.WriteFile(root+"/o/c.md", []byte("c2"), 0o644))
	must(t, os.WriteFile(root+"/o/b.tmp", []byte("b2"), 0o644))
	must(t, os.Rename(root+"/o/b.tmp", root+"/o/b.md"))
	if c := e.until("replaced", named("", root+"/o/b.md")); len(c.Folders) != 0 || len(slices.Compact(c.Files)) != 1 {
		t.Errorf("told besides: %+v", c)
	}
	e.w.Watch("", []string{root + "/o/c.md"})
	e.w.Refresh()
	e.until("refresh", func(c workspace.Changes) bool { return c.All })
	must(t, os.WriteFile(root+"/w/a.md", []byte("a2"), 0o644))
	must(t, os.WriteFile(root+"/o/b.md", []byte("b3"), 0o644))
	must(t, os.WriteFile(root+"/o/c.md", []byte("c3"), 0o644))
	if c := e.until("without a workspace", named("", root+"/o/c.md")); len(slices.Compact(c.Files)) != 1 {
		t.Errorf("told besides: %+v", c)
	}
}

// The folder of a file by itself goes and comes back, also with the one above.
//
// covers: F5
func TestWatcher_FolderOfAFileOutsideVanishes(t *testing.T) {
	root := tree(t, map[string]string{"w/a.md": "a", "o/p/b.md": "b"})
	e := watch(t, root+"/w")
	e.folders(1)
	path := root + "/o/p/b.md"
	for _, open := range []string{root + "/w", ""} {
		e.w.Watch(open, []string{path})
		e.w.Refresh()
		e.until("refresh", func(c workspace.Changes) bool { return c.All })
		must(t, os.RemoveAll(root+"/o"))
		e.until("removed", named("", path))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		e.until("made anew", named("", path))
		must(t, os.WriteFile(path, []byte("b2"), 0o644))
		e.until("in the new folder", named("", path))
		must(t, os.Rename(root+"/o/p", root+"/o/q"))
		e.until("moved away", named("", path))
		must(t, os.Rename(root+"/o/q", root+"/o/p"))
		e.until("moved back", named("", path))
		must(t, os.WriteFile(path, []byte("b3"), 0o644))
		e.until("at its place", named("", path))
	}
}

// An open file is followed where the tree does not look: in what is set aside
// and behind a link.
//
// covers: F5
func TestWatcher_FilesSetAside(t *testing.T) {
	root := tree(t, map[string]string{
		"w/a.md": "a", "w/.hidden/b.md": "b", "w/.hidden/c.md": "c", "w/node_modules/p/d.md": "d", "w/s/e.md": "e", "w/l": "-> $ROOT/o", "o/f.md": "f",
	})
	w := root + "/w"
	e := watch(t, w)
	e.folders(2)
	hidden, deep, linked := w+"/.hidden/b.md", w+"/node_modules/p/d.md", w+"/l/f.md"
	e.w.Watch(w, []string{w + "/a.md", hidden, deep, linked, w + "/s/e.md"})
	e.w.Refresh()
	e.until("refresh", func(c workspace.Changes) bool { return c.All })
	must(t, os.WriteFile(w+"/.hidden/c.md", []byte("c2"), 0o644)) // which nobody has open
	for _, path := range []string{hidden, deep, linked} {
		must(t, os.WriteFile(path, []byte("2"), 0o644))
		if c := e.until(path, named("", path)); len(c.Folders) != 0 || slices.Contains(c.Files, w+"/.hidden/c.md") {
			t.Errorf("told besides: %+v", c)
		}
	}
	must(t, os.WriteFile(w+"/s/e.md", []byte("e2"), 0o644))
	e.until("in the tree", named("", w+"/s/e.md"))

	// Its folder goes and comes back.
	must(t, os.RemoveAll(w+"/.hidden"))
	e.until("removed", named(w, hidden))
	must(t, os.MkdirAll(root+"/.hidden", 0o755))
	must(t, os.WriteFile(root+"/.hidden/b.md", []byte("b3"), 0o644))
	must(t, os.Rename(root+"/.hidden", w+"/.hidden"))
	e.until("back", named(w, w+"/.hidden"))
	must(t, os.WriteFile(hidden, []byte("b4"), 0o644))
	e.until("in the new folder", named("", hidden))
}

// TestWatcher_FolderVanishes removes and moves the workspace and the folders
// above it, and brings them back.
//
// covers: F5 F8
func TestWatcher_FolderVanishes(t *testing.T) {
	root := tree(t, map[string]string{"up/mid/w/s/a.md": "a"})
	w := root + "/up/mid/w"
	e := watch(t, w)
	e.folders(2)
	gone := func(c workspace.Changes) bool { return c.Gone }
	all := func(c workspace.Changes) bool { return c.All }
	back := func() {
		t.Helper()
		e.until("back", all)
		e.folders(2)
		must(t, os.WriteFile(w+"/s/a.md", []byte("a2"), 0o644))
		e.until("in it", named("", w+"/s/a.md"))
		folder, err := e.grants.PermitList(w)
		must(t, err)
		if got, _, err := folder.List(10); err != nil || len(got) != 1 {
			t.Errorf("listed: %v, %v", got, err)
		}
	}
	must(t, os.RemoveAll(w))
	e.until("removed", gone)
	e.forget()
	must(t, os.MkdirAll(w+"/s", 0o755))
	back()

	must(t, os.Rename(w, w+"-away"))
	e.until("moved away", gone)
	e.forget()
	must(t, os.Rename(w+"-away", w))
	back()

	must(t, os.RemoveAll(root+"/up"))
	e.until("removed with all above", gone)
	e.forget()
	must(t, os.MkdirAll(w+"/s", 0o755))
	back()

	// Another folder in its place, at once.
	must(t, os.MkdirAll(root+"/other/s", 0o755))
	e.forget()
	must(t, os.Rename(w, root+"/old"))
	must(t, os.Rename(root+"/other", w))
	back()
}

// TestWatcher_Checkout writes 1,000 files as `git checkout` does: all are
// named, in few batches, and the folder is still followed afterwards.
//
// covers: F5 F8
func TestWatcher_Checkout(t *testing.T) {
	root := tree(t, nil)
	for i := range 10 {
		must(t, os.Mkdir(fmt.Sprintf("%s/%d", root, i), 0o755))
	}
	var batches atomic.Int64
	e := watch(t, root, func(c *workspace.WatchConfig) {
		take := c.OnChange
		c.OnChange = func(ch workspace.Changes) {
			batches.Add(1)
			take(ch)
		}
	})
	e.folders(11)
	start := time.Now()
	for round := range 2 {
		for i := range 1000 {
			p := fmt.Sprintf("%s/%d/%d.md", root, i%10, i)
			if round > 0 {
				must(t, os.Remove(p))
			}
			must(t, os.WriteFile(p, []byte(fmt.Sprint(round, i)), 0o644))
		}
	}
	last := root + "/9/999.md"
	c := e.until("the last of them", func(c workspace.Changes) bool {
		files := slices.Compact(slices.Sorted(slices.Values(c.Files)))
		return c.All || len(files) == 1000 && slices.Contains(files, last)
	})
	took := time.Since(start)
	if most := int64(took/(50*time.Millisecond)) + 2; batches.Load() > most {
		t.Errorf("%d batches in %v", batches.Load(), took)
	}
	t.Logf("%d batches in %v, all %v", batches.Load(), took, c.All)
	must(t, os.WriteFile(root+"/0/after.md", nil, 0o644))
	e.until("after it", func(c workspace.Changes) bool { return c.All || named(root+"/0", "")(c) })
}

// TestWatcher_Races makes 200 rounds of what other programs do to a file and
// its folder; after each one its last state has been told.
//
// covers: F5
func TestWatcher_Races(t *testing.T) {
	root := tree(t, map[string]string{"s/a.md": "0"})
	e := watch(t, root, func(c *workspace.WatchConfig) { c.Quiet, c.Longest = 5*time.Millisecond, 20*time.Millisecond })
	e.folders(2)
	file := root + "/s/a.md"
	for round := range 200 {
		text := fmt.Appendf(nil, "round %d", round)
		switch round % 5 {
		case 0: // truncated and written
			must(t, os.WriteFile(file, text, 0o644))
		case 1: // replaced
			must(t, os.WriteFile(file+"~", text, 0o644))
			must(t, os.Rename(file+"~", file))
		case 2: // removed and made anew
			must(t, os.Remove(file))
			must(t, os.WriteFile(file, text, 0o644))
		case 3: // moved away, as a backup, and written
			must(t, os.Rename(file, file+".bak"))
			must(t, os.WriteFile(file, text, 0o644))
			must(t, os.Remove(file+".bak"))
		case 4: // with its folder
			must(t, os.RemoveAll(root+"/s"))
			must(t, os.Mkdir(root+"/s", 0o755))
			must(t, os.WriteFile(file, text, 0o644))
		}
		c := e.until(fmt.Sprint("round ", round), func(c workspace.Changes) bool {
			// A file that came before its folder was watched is told of by the
			// folder.
			return c.All || named("", file)(c) || round%5 == 4 && named(root+"/s", "")(c)
		})
		if round%5 == 4 && !c.All {
			// What happens in it from now on is told by itself, or by its folder
			// where that is only now found.
			must(t, os.WriteFile(file, append(text, '!'), 0o644))
			e.until("in the new folder", func(c workspace.Changes) bool {
				return c.All || named("", file)(c) || named(root+"/s", "")(c)
			})
		}
	}
}

// signals is a notifier that a test speaks through.
type signals struct {
	events  chan fsnotify.Event
	errors  chan error
	mu      sync.Mutex
	watched map[string]bool
	limit   int
}

func newSignals() *signals {
	return &signals{events: make(chan fsnotify.Event), errors: make(chan error), watched: map[string]bool{}, limit: 1 << 30}
}

func (s *signals) Add(p string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.watched[p] && len(s.watched) >= s.limit {
		return syscall.ENOSPC
	}
	s.watched[p] = true
	return nil
}

func (s *signals) Remove(p string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.watched[p] {
		return fsnotify.ErrNonExistentWatch
	}
	delete(s.watched, p)
	return nil
}

func (s *signals) has(p string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watched[p]
}

func (s *signals) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watched)
}

func (s *signals) Events() <-chan fsnotify.Event { return s.events }
func (s *signals) Errors() <-chan error          { return s.errors }
func (s *signals) Close() error                  { return nil }

func (s *signals) open(c *workspace.WatchConfig) {
	c.Open = func() (workspace.Notifier, error) { return s, nil }
}

// TestWatcher_Overflow: what the system lost makes everything doubtful, and
// folders that came meanwhile are found.
//
// covers: F5
func TestWatcher_Overflow(t *testing.T) {
	root := tree(t, map[string]string{"w/s/": ""})
	s := newSignals()
	e := watch(t, root+"/w", s.open)
	e.folders(2)
	must(t, os.MkdirAll(root+"/w/s/new", 0o755))
	s.errors <- fsnotify.ErrEventOverflow
	e.until("overflow", func(c workspace.Changes) bool { return c.All && !c.Gone })
	e.folders(3)
	if !s.has(root + "/w/s/new") {
		t.Error("the new folder is not watched")
	}
	must(t, os.RemoveAll(root+"/w"))
	s.errors <- fsnotify.ErrEventOverflow
	e.until("gone meanwhile", func(c workspace.Changes) bool { return c.Gone })
	if s.has(root+"/w") || s.has(root+"/w/s") || !s.has(root) {
		t.Errorf("watched: %v", s.watched)
	}
}

// TestWatcher_Limits: past our limit or the system's it says so, and a return
// to the window looks at everything.
//
// covers: F5 F8
func TestWatcher_Limits(t *testing.T) {
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("w/%d/deep/", i)] = ""
	}
	for name, change := range map[string]func(*workspace.WatchConfig, *signals){
		"ours":         func(c *workspace.WatchConfig, _ *signals) { c.MaxFolders = 10 },
		"the system's": func(_ *workspace.WatchConfig, s *signals) { s.limit = 10 },
		"none at all": func(c *workspace.WatchConfig, s *signals) {
			c.Open = func() (workspace.Notifier, error) { return nil, syscall.EMFILE }
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, files)
			s := newSignals()
			e := watch(t, root+"/w", s.open, func(c *workspace.WatchConfig) { change(c, s) })
			e.until("limit", func(c workspace.Changes) bool { return c.All && !c.Gone })
			if s.count() > 11 {
				t.Errorf("%d watched", s.count())
			}
			e.w.Refresh()
			e.until("refresh", func(c workspace.Changes) bool { return c.All })
			if name == "none at all" {
				return
			}
			s.events <- fsnotify.Event{Name: root + "/w/x.md", Op: fsnotify.Create}
			e.until("what is watched is told", named(root+"/w", root+"/w/x.md"))
		})
	}
}

// TestWatcher_Batches: one batch in 80 ms of quiet or 200 ms of storm, at most
// a limit of names, and one at a time.
//
// covers: F5 F8
func TestWatcher_Batches(t *testing.T) {
	root := tree(t, map[string]string{"w/": ""})
	g := openFolder(t, root+"/w")
	synctest.Test(t, func(t *testing.T) {
		s := newSignals()
		var told []workspace.Changes
		var at []time.Duration
		start := time.Now()
		slow := make(chan struct{})
		waiting := false
		cfg := workspace.WatchConfig{Grants: g, Log: slog.New(slog.DiscardHandler), OnChange: func(c workspace.Changes) {
			told, at = append(told, c), append(at, time.Since(start))
			if waiting {
				<-slow
			}
		}}
		s.open(&cfg)
		w := workspace.NewWatcher(cfg)
		ctx, cancel := context.WithCancel(context.Background())
		var group sync.WaitGroup
		group.Go(func() { w.Run(ctx) })
		w.Watch(root+"/w", nil)
		synctest.Wait()
		say := func(i int) { s.events <- fsnotify.Event{Name: fmt.Sprintf("%s/w/%d", root, i), Op: fsnotify.Write} }

		say(1)
		time.Sleep(50 * time.Millisecond) // the bubble's clock
		say(2)
		time.Sleep(time.Second)
		synctest.Wait()
		if len(told) != 1 || at[0] != 130*time.Millisecond || !slices.Equal(told[0].Files, []string{root + "/w/1", root + "/w/2"}) {
			t.Errorf("told %+v at %v", told, at)
		}

		told, at, start = nil, nil, time.Now()
		for i := range 50 {
			say(i)
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(told) < 4 || len(told) > 6 || at[0] != 200*time.Millisecond {
			t.Errorf("%d batches at %v", len(told), at)
		}

		// A consumer that is slow gets the rest as one.
		told, at, waiting = nil, nil, true
		for i := range 50 {
			say(i)
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		if len(told) != 1 {
			t.Errorf("%d at once", len(told))
		}
		waiting = false
		close(slow)
		time.Sleep(time.Second)
		synctest.Wait()
		if len(told) != 2 || len(told[1].Files) != 49 {
			t.Errorf("then %d", len(told))
		}

		told = nil
		for i := range 5000 {
			say(i)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		want := []workspace.Changes{{All: true, Folders: []string{}, Files: []string{}}}
		if d := cmp.Diff(want, told); d != "" {
			t.Errorf("past the limit: %s", d)
		}
		cancel()
		group.Wait()
	})
}

// A folder that is held has no watch, nor has what is in it, until it is let
// go, at its old place or its new one.
//
// covers: F8
func TestWatcher_Hold(t *testing.T) {
	root := tree(t, map[string]string{"w/s/t/": ""})
	s := newSignals()
	e := watch(t, root+"/w", s.open)
	e.folders(3)
	release := e.w.Hold(t.Context(), root+"/w/s")
	if s.has(root+"/w/s") || s.has(root+"/w/s/t") || !s.has(root+"/w") {
		t.Errorf("watched: %v", s.watched)
	}
	release()
	e.folders(3)
	if !s.has(root+"/w/s") || !s.has(root+"/w/s/t") {
		t.Errorf("watched: %v", s.watched)
	}
}

// What a dead process left of copies goes when its folder is found; a save that
// was cut short does not, since it may be all that there is.
func TestWatcher_SweepsCopies(t *testing.T) {
	const pid = 1 << 30 // no system gives it out
	old, fresh := fmt.Sprintf(".galley-%d-copy-A.tmp", pid), fmt.Sprintf(".galley-%d-copy-B.tmp", pid)
	mine := fmt.Sprintf(".galley-%d-copy-C.tmp", os.Getpid())
	save := fmt.Sprintf(".galley-%d-A.tmp", pid)
	root := tree(t, map[string]string{"s/" + old + "/x/y": "y", "s/" + fresh: "f", "s/" + mine: "m", "s/" + save: "s"})
	before := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{old, mine, save} {
		must(t, os.Chtimes(filepath.Join(root, "s", name), before, before))
	}
	e := watch(t, root)
	e.folders(2)
	want := []string{mine, save, fresh}
	slices.Sort(want)
	if got := names(t, root+"/s"); !slices.Equal(got, want) {
		t.Errorf("left: %v", got)
	}
}

// covers: F8
func TestWatcher_RescansWhatIsSetAside(t *testing.T) {
	root := tree(t, map[string]string{"w/.git/": "", "w/.notes/": "", "w/build/": ""})
	s := newSignals()
	e := watch(t, root+"/w", s.open)
	e.folders(2)
	e.grants.SetIgnored(true, []string{".git", "build"})
	e.w.Rescan()
	e.until("rescan", func(c workspace.Changes) bool { return c.All })
	e.folders(2)
	if !s.has(root+"/w/.notes") || s.has(root+"/w/build") || s.has(root+"/w/.git") {
		t.Errorf("watched: %v", s.watched)
	}
	folder, err := e.grants.PermitList(root + "/w")
	must(t, err)
	list, _, err := folder.List(10)
	must(t, err)
	for _, en := range list {
		if want := en.Name != ".notes"; en.Ignored != want {
			t.Errorf("%s: ignored %v", en.Name, en.Ignored)
		}
	}
}
