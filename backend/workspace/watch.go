package workspace

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Changes is what something else changed, as far as the system told. It is a
// hint: it may be late, doubled or missing, and what a file holds decides.
type Changes struct {
	// Folders are the folders whose entries changed, sorted.
	Folders []string
	// Files are the files that were made, written, moved or removed, sorted;
	// folders that went are among them.
	Files []string
	// All says that more changed than is named.
	All bool
	// Gone says that the workspace is not there any more.
	Gone bool
}

// The defaults of a [WatchConfig], and how much one batch names.
const (
	defaultQuiet      = 80 * time.Millisecond
	defaultLongest    = 200 * time.Millisecond
	defaultMaxFolders = 8192
	maxNamedFolders   = 256
	maxNamedFiles     = 4096
)

// WatchConfig says what a [Watcher] works with.
type WatchConfig struct {
	// Grants says what may be looked at. Required.
	Grants *Grants
	// Log gets no path. Required.
	Log *slog.Logger
	// OnChange gets what changed, one batch at a time and never two at once;
	// what happens meanwhile waits for the next. Required.
	OnChange func(Changes)
	// Surveyed, when set, is told whenever every folder that was found is
	// watched, with their number.
	Surveyed func(folders int)
	// Quiet is how long nothing must happen before a batch is given out, 0 for
	// 80 ms; Longest is how long it waits for that at most, 0 for 200 ms.
	Quiet, Longest time.Duration
	// MaxFolders is how many folders are watched, 0 for 8,192. On systems that
	// watch each file by itself files count too.
	MaxFolders int
	// Open gives what the system tells; nil for the real one.
	Open func() (Notifier, error)
}

// Notifier tells what happens in single folders.
type Notifier interface {
	// Add watches a folder, Remove ends that.
	Add(folder string) error
	Remove(folder string) error
	Events() <-chan fsnotify.Event
	Errors() <-chan error
	Close() error
}

// Watcher follows the workspace and the files that are open outside of it. It
// finds the folders in the background and gives up on what is past its limits
// or the system's, saying All, so that the person's return to the window is
// then what makes everything be looked at. Make one with [NewWatcher].
type Watcher struct {
	cfg  WatchConfig
	wake chan struct{}
	held chan hold

	// mu guards what follows.
	mu             sync.Mutex
	target         target
	refresh, again bool
	// over is closed when Run ends; nil before it begins.
	over chan struct{}
}

// target is what is to be watched.
type target struct {
	root  string
	files []string
}

// hold asks for the watches of a folder and below to be let go, or found again.
type hold struct {
	path    string
	release bool
	done    chan struct{}
}

// NewWatcher returns a watcher of nothing yet. Nothing happens before Run.
func NewWatcher(cfg WatchConfig) *Watcher {
	if cfg.Quiet == 0 {
		cfg.Quiet = defaultQuiet
	}
	if cfg.Longest == 0 {
		cfg.Longest = defaultLongest
	}
	if cfg.MaxFolders == 0 {
		cfg.MaxFolders = defaultMaxFolders
	}
	if cfg.Open == nil {
		cfg.Open = systemNotifier
	}
	if cfg.Surveyed == nil {
		cfg.Surveyed = func(int) {}
	}
	return &Watcher{cfg: cfg, wake: make(chan struct{}, 1), held: make(chan hold)}
}

// Watch says what to follow from now on: the granted folder root, "" for none,
// and files outside of it. The same again costs nothing. It does not wait.
func (w *Watcher) Watch(root string, files []string) {
	w.mu.Lock()
	w.target = target{root: root, files: slices.Clone(files)}
	w.mu.Unlock()
	w.poke()
}

// Refresh looks whether the workspace is there and says All. It does not wait.
func (w *Watcher) Refresh() {
	w.mu.Lock()
	w.refresh = true
	w.mu.Unlock()
	w.poke()
}

// Rescan finds the folders anew, after others are set aside. It does not wait.
func (w *Watcher) Rescan() {
	w.mu.Lock()
	w.refresh, w.again = true, true
	w.mu.Unlock()
	w.poke()
}

func (w *Watcher) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Hold lets go of a folder and all below until release is called: Windows moves
// no folder in which another one is watched. It does nothing while nothing is
// watched, and waits until ctx ends.
func (w *Watcher) Hold(ctx context.Context, path string) (release func()) {
	w.ask(ctx, hold{path: path})
	return func() { w.ask(context.WithoutCancel(ctx), hold{path: path, release: true}) }
}

func (w *Watcher) ask(ctx context.Context, h hold) {
	w.mu.Lock()
	over := w.over
	w.mu.Unlock()
	if over == nil {
		return
	}
	h.done = make(chan struct{})
	select {
	case w.held <- h:
		<-h.done
	case <-over:
	case <-ctx.Done():
	}
}

// Run watches until ctx ends, and waits for an OnChange under way. It may be
// called once.
func (w *Watcher) Run(ctx context.Context) {
	over := make(chan struct{})
	w.mu.Lock()
	w.over = over
	w.mu.Unlock()
	defer close(over)
	defer func() {
		if p := recover(); p != nil {
			w.cfg.Log.Error("watcher ended", "err", fmt.Sprintf("panic: %v", p), "stack", string(debug.Stack()))
		}
	}()
	l := newWatching(w.cfg)
	defer l.close()
	always := make(chan struct{})
	close(always)
	for {
		var events <-chan fsnotify.Event
		var problems <-chan error
		if l.notifier != nil {
			events, problems = l.notifier.Events(), l.notifier.Errors()
		}
		// One folder is looked at, then what happened meanwhile is taken in.
		var more <-chan struct{}
		if len(l.queue) > 0 {
			more = always
		}
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			l.hear(e)
		case err := <-problems:
			l.trouble(err)
		case <-w.wake:
			t, refresh, again := w.wanted()
			l.aim(t, again)
			if refresh {
				l.lookAgain()
			}
		case h := <-w.held:
			if h.release {
				l.queue = append(l.queue, errand{path: h.path, tell: true})
			} else {
				l.dropBelow(h.path)
			}
			close(h.done)
		case <-more:
			l.surveyNext()
		case <-l.due:
			l.due, l.ready = nil, true
			l.give()
		case <-l.done:
			l.busy = false
			l.give()
		}
	}
}

func (w *Watcher) wanted() (t target, refresh, again bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, refresh, again = w.target, w.refresh, w.again
	w.refresh, w.again = false, false
	return t, refresh, again
}
