package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watching is the state of a watcher that runs; its goroutine alone has it.
type watching struct {
	cfg      WatchConfig
	notifier Notifier // nil until there is something to watch

	target
	// rootInfo is the workspace's folder when it was last seen; nil while it
	// is not there. real is its path without links.
	rootInfo fs.FileInfo
	real     string
	// outside are the open files, by path, whose folders are not in tree: those
	// outside of the workspace, set aside, behind a link or past a limit.
	outside map[string]bool
	// uses counts what each watch is for.
	uses map[string]int
	// tree holds the watched folders of the workspace, and what each costs.
	tree map[string]int
	cost int
	// around are the other watched folders: that of the workspace, or the
	// nearest above that is there, and those of outside.
	around []string
	queue  []errand
	// limited is true when not all of the workspace is watched.
	limited bool

	folders, named map[string]bool // of the next batch
	all, gone      bool
	first          time.Time
	due            <-chan time.Time
	ready          bool // the batch has waited long enough
	busy           bool // OnChange runs
	done           chan struct{}
	wg             sync.WaitGroup
}

// errand is a folder to watch and to look through for more.
type errand struct {
	path string
	// tell says that what it holds is news.
	tell bool
}

func newWatching(cfg WatchConfig) *watching {
	return &watching{
		cfg: cfg, outside: map[string]bool{}, uses: map[string]int{}, tree: map[string]int{},
		folders: map[string]bool{}, named: map[string]bool{}, done: make(chan struct{}, 1),
	}
}

func (l *watching) close() {
	if l.notifier != nil {
		_ = l.notifier.Close() // nothing waits in it
	}
	l.wg.Wait()
}

// aim changes what is watched; again finds it anew.
func (l *watching) aim(t target, again bool) {
	if t.root != l.root || again {
		l.forget()
		l.root, l.limited = t.root, false
		if l.findRoot() {
			l.queue = append(l.queue, errand{path: l.root})
		}
	} else if slices.Equal(t.files, l.files) {
		return
	}
	l.files = t.files
	l.surround()
}

// forget lets go of everything.
func (l *watching) forget() {
	for path := range l.tree {
		l.drop(path)
	}
	for _, path := range l.around {
		l.unuse(path)
	}
	l.around, l.queue = nil, nil
}

// findRoot looks whether the workspace is there.
func (l *watching) findRoot() bool {
	l.rootInfo = nil
	if l.root == "" {
		return false
	}
	l.real, l.rootInfo = l.cfg.Grants.stands(l.root)
	return l.rootInfo != nil
}

// surround watches the folder that holds the workspace, or the nearest above
// it that is there, and so the folders of files outside. A folder that was made
// anew is watched from then on.
func (l *watching) surround() {
	want := map[string]bool{}
	if l.root != "" {
		up := filepath.Dir(l.root)
		if l.rootInfo == nil {
			up = l.nearest(up)
		}
		want[up] = true
		if l.rootInfo != nil {
			want[filepath.Dir(l.real)] = true
		} else {
			// A folder that something in it is held open in goes without a
			// word of its own: only the one above tells.
			want[filepath.Dir(up)] = true
		}
	}
	l.outside = map[string]bool{}
	for _, f := range l.files {
		if _, followed := l.tree[filepath.Dir(f)]; !followed {
			l.outside[f] = true
			want[l.nearest(filepath.Dir(f))] = true
		}
	}
	old := l.around
	l.around = slices.Sorted(maps.Keys(want))
	for _, path := range l.around {
		l.use(path)
	}
	for _, path := range old {
		l.unuse(path)
	}
}

// nearest is the folder, or else the nearest above it that is there.
func (l *watching) nearest(folder string) string {
	for folder != filepath.Dir(folder) {
		if _, err := l.cfg.Grants.calls.EvalSymlinks(folder); err == nil {
			break
		}
		folder = filepath.Dir(folder)
	}
	return folder
}

// await watches anew what leads to files outside of the tree when a folder came
// or went that is on the way to one.
func (l *watching) await(folder string) {
	led := false
	for f := range l.outside {
		if _, inside := rebase(f, folder, ""); inside && f != folder {
			l.file(f)
			led = true
		}
	}
	// A folder can come in one that is just being looked at.
	for range maxDepth {
		if !led {
			return
		}
		before := l.around
		l.surround()
		led = !slices.Equal(before, l.around)
	}
}

// use watches a folder for one more purpose. A folder that is not there is
// none to watch.
func (l *watching) use(path string) (ok bool) {
	if l.notifier == nil {
		n, err := l.cfg.Open()
		if err != nil {
			l.limit(err)
			return false
		}
		l.notifier = n
	}
	l.uses[path]++
	err := l.notifier.Add(path)
	if err != nil && isWatchLimit(err) {
		l.limit(err)
	}
	return err == nil
}

func (l *watching) unuse(path string) {
	if l.uses[path]--; l.uses[path] > 0 {
		return
	}
	delete(l.uses, path)
	if l.notifier != nil {
		_ = l.notifier.Remove(path) // it may have gone with its folder
	}
}

// limit gives up on watching all. It is said once.
func (l *watching) limit(err error) {
	l.all = true
	l.news()
	l.queue = nil
	if !l.limited {
		l.limited = true
		l.cfg.Log.Warn("not everything is watched", "folders", len(l.tree), "err", err)
	}
}

// errManyFolders is our own limit.
var errManyFolders = errors.New("too many folders")

// surveyNext watches the next folder and looks for more inside.
func (l *watching) surveyNext() {
	e := l.queue[0]
	l.queue = l.queue[1:]
	defer func() {
		if len(l.queue) == 0 {
			l.queue = nil
			l.surround()
			l.cfg.Surveyed(len(l.tree))
		}
	}()
	if _, inside := rebase(e.path, l.root, ""); !inside || l.root == "" {
		return
	}
	if _, known := l.tree[e.path]; !known {
		if l.cost >= l.cfg.MaxFolders {
			l.limit(errManyFolders)
			return
		}
		// Watched first, so that what comes after the listing is told.
		if !l.use(e.path) {
			l.unuse(e.path)
			return
		}
		l.tree[e.path] = 1
		l.cost++
	}
	below, entries, err := l.cfg.Grants.survey(e.path)
	if err != nil {
		l.drop(e.path)
		return
	}
	if filesCost {
		l.cost += entries + 1 - l.tree[e.path]
		l.tree[e.path] = entries + 1
	}
	if e.tell {
		l.folder(e.path)
	}
	for _, name := range below {
		l.queue = append(l.queue, errand{path: filepath.Join(e.path, name), tell: e.tell})
	}
}

// filesCost says that each file of a watched folder is watched by itself.
const filesCost = runtime.GOOS != "linux" && runtime.GOOS != "windows"

func (l *watching) drop(path string) {
	l.cost -= l.tree[path]
	delete(l.tree, path)
	l.unuse(path)
}

// dropBelow lets go of a folder and all inside.
func (l *watching) dropBelow(path string) {
	for known := range l.tree {
		if _, inside := rebase(known, path, ""); inside {
			l.drop(known)
		}
	}
}

// hear takes in what the system tells.
func (l *watching) hear(e fsnotify.Event) {
	path := filepath.Clean(e.Name)
	if isTemp(filepath.Base(path)) || !e.Has(fsnotify.Create|fsnotify.Write|fsnotify.Remove|fsnotify.Rename) {
		return
	}
	if l.outside[path] {
		l.file(path)
	}
	if e.Has(fsnotify.Create | fsnotify.Remove | fsnotify.Rename) {
		l.await(path)
	}
	if l.root == "" {
		return
	}
	_, above := rebase(l.root, path, "")
	_, really := rebase(l.real, path, "")
	if above || really {
		// The workspace itself, or a folder that leads to it.
		if !e.Has(fsnotify.Write) {
			l.checkRoot()
		}
		return
	}
	if _, followed := l.tree[filepath.Dir(path)]; !followed {
		return // told late of a folder that was let go
	}
	l.file(path)
	if e.Has(fsnotify.Write) && !e.Has(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) {
		return
	}
	l.folder(filepath.Dir(path))
	if e.Has(fsnotify.Remove | fsnotify.Rename) {
		if _, known := l.tree[path]; known {
			l.dropBelow(path)
		}
	}
	if e.Has(fsnotify.Create) && !l.cfg.Grants.Ignored(filepath.Base(path)) && l.cfg.Grants.isFolder(path) {
		// One that came in place of another has no watch of its own yet.
		l.dropBelow(path)
		l.queue = append(l.queue, errand{path: path, tell: true})
	}
}

// trouble takes in that something was missed.
func (l *watching) trouble(err error) {
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		l.cfg.Log.Warn("watcher in trouble", "err", err)
	}
	l.all = true
	l.news()
	if l.root != "" && !l.limited {
		l.checkRoot()
		l.queue = append(l.queue[:0], errand{path: l.root})
	}
}

// lookAgain is a refresh: what is not told is looked at.
func (l *watching) lookAgain() {
	l.all = true
	l.news()
	l.checkRoot()
	l.surround()
}

// checkRoot follows the workspace's folder itself.
func (l *watching) checkRoot() {
	if l.root == "" {
		return
	}
	was := l.rootInfo
	// A folder above can come while the one above it is looked at.
	for range maxDepth {
		l.findRoot()
		before := l.around
		l.surround()
		if l.rootInfo != nil || slices.Equal(before, l.around) {
			break
		}
	}
	switch {
	case was != nil && l.rootInfo == nil:
		l.dropBelow(l.root)
		l.queue, l.gone = nil, true
		l.news()
	case l.rootInfo != nil && (was == nil || !os.SameFile(was, l.rootInfo)):
		// It is back, or another one stands in its place.
		l.dropBelow(l.root)
		l.limited = false
		l.queue = append(l.queue[:0], errand{path: l.root})
		l.all, l.gone = true, false
		l.news()
	}
}

func (l *watching) folder(path string) {
	if !l.all {
		l.folders[path] = true
		l.all = len(l.folders) > maxNamedFolders
	}
	l.news()
}

func (l *watching) file(path string) {
	if !l.all {
		l.named[path] = true
		l.all = len(l.named) > maxNamedFiles
	}
	l.news()
}

// news puts the batch off until it is quiet, but not for ever.
func (l *watching) news() {
	now := time.Now()
	if l.first.IsZero() {
		l.first = now
	}
	if l.ready {
		l.give()
		return
	}
	l.due = time.After(min(l.cfg.Quiet, max(0, l.cfg.Longest-now.Sub(l.first))))
}

// give gives the batch out when it is due and the last one was taken.
func (l *watching) give() {
	if l.busy || !l.ready || l.first.IsZero() {
		return
	}
	c := Changes{All: l.all, Gone: l.gone, Folders: []string{}, Files: []string{}}
	if !l.all {
		c.Folders, c.Files = slices.Sorted(maps.Keys(l.folders)), slices.Sorted(maps.Keys(l.named))
	}
	clear(l.folders)
	clear(l.named)
	l.all, l.gone, l.ready, l.first, l.due = false, false, false, time.Time{}, nil
	l.busy = true
	l.wg.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				l.cfg.Log.Error("change not passed on", "err", fmt.Sprintf("panic: %v", p), "stack", string(debug.Stack()))
			}
			l.done <- struct{}{}
		}()
		l.cfg.OnChange(c)
	})
}

// stands describes the granted folder at root when one stands there now, and
// makes it the one that is reached through the grant. info is nil when none
// does; real is the path without links.
func (g *Grants) stands(root string) (real string, info fs.FileInfo) {
	p, err := g.locateIn("watch", root)
	if err != nil {
		return root, nil
	}
	real = p.folder.at()
	dir := p.folder.current()
	if next, moved := p.folder.successor(dir); moved {
		dir = next
	}
	held, err := dir.Stat(".")
	if err != nil {
		return real, nil
	}
	at, err := g.calls.Lstat(real)
	if err != nil || !os.SameFile(at, held) {
		return real, nil
	}
	return real, at
}

// survey lists the folders inside a folder that are neither links nor set
// aside, and counts its entries. Copies that were left unfinished there go.
func (g *Grants) survey(path string) (below []string, entries int, err error) {
	f, err := g.PermitList(path)
	if err != nil {
		return nil, 0, err
	}
	dir, err := f.open()
	if err != nil {
		return nil, 0, err
	}
	defer letGo(dir)
	found, err := dir.List()
	if err != nil {
		return nil, 0, err
	}
	for _, e := range found {
		switch {
		case isTemp(e.Name()):
			sweepCopies(dir)
		case e.IsDir() && !g.Ignored(e.Name()):
			below = append(below, e.Name())
		}
	}
	return below, len(found), nil
}

// isFolder reports whether path is a folder of the workspace and no link.
func (g *Grants) isFolder(path string) bool {
	p, err := g.locateIn("watch", path)
	if err != nil {
		return false
	}
	var info fs.FileInfo
	err = p.folder.within(func(d Dir) (err error) {
		info, err = d.Lstat(p.rel)
		return err
	})
	return err == nil && info.IsDir()
}

// systemNotifier is what the system tells.
func systemNotifier() (Notifier, error) {
	w, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		return nil, err
	}
	return notifier{w}, nil
}

type notifier struct{ *fsnotify.Watcher }

func (n notifier) Events() <-chan fsnotify.Event { return n.Watcher.Events }
func (n notifier) Errors() <-chan error          { return n.Watcher.Errors }
