package search

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// IndexConfig says what an [Index] works with.
type IndexConfig struct {
	// Folder permits the folder whose files are found, or says why there is
	// none. Required.
	Folder func() (workspace.Folder, error)
	// Recent returns the absolute paths of files that were opened, newest
	// first; nil for none.
	Recent func() []string
	// Limit is how many files are held; 0 for 50,000.
	Limit int
}

// Index finds the files of a workspace by parts of their path. It is built by
// the first question and again by the first one after a change. End it with
// [Index.Close].
type Index struct {
	cfg    IndexConfig
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	// mu guards what follows.
	mu sync.Mutex
	// held is the newest list; nil before the first.
	held *paths
	// changes counts what made the list stale.
	changes int
	// building is closed when the build that runs ends; nil while none does.
	building chan struct{}
	err      error
}

// paths is the files of a workspace at one time. It is immutable.
type paths struct {
	folder  string
	ignored func(name string) bool
	changes int
	began   time.Time // when its listing began
	list    []pathEntry
	at      map[string]int // by the relative path
	cut     bool
}

const (
	// indexDepth is how many folders deep files are found.
	indexDepth = 32
	// maxAge is how old a list may be: what a watcher missed is found then.
	maxAge = 10 * time.Second
	// patience is how long a question waits for a build when there is an older
	// list to answer from.
	patience = 150 * time.Millisecond
)

// NewIndex returns an index; nothing is read yet.
func NewIndex(cfg IndexConfig) *Index {
	if cfg.Limit == 0 {
		cfg.Limit = 50_000
	}
	x := &Index{cfg: cfg}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	return x
}

// Close ends what is under way and waits for it.
func (x *Index) Close() {
	x.cancel()
	x.wg.Wait()
}

// InvalidateAll says that any file may have come or gone.
func (x *Index) InvalidateAll() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.changes++
}

// Invalidate says that entries of folders, by their absolute paths, changed.
// What happens in folders that are not held makes nothing stale.
func (x *Index) Invalidate(folders []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.held == nil {
		return
	}
	for _, folder := range folders {
		rel, err := filepath.Rel(x.held.folder, folder)
		if err != nil || rel == "." || !filepath.IsLocal(rel) || !slices.ContainsFunc(strings.Split(filepath.ToSlash(rel), "/"), x.held.ignored) {
			x.changes++
			return
		}
	}
}

// PathMatch is one file that fits.
type PathMatch struct {
	// Path is absolute, Name relative to the workspace with slashes.
	Path, Name string
	// Hits are the UTF-16 offsets in Name that the query took; never nil.
	Hits   []int
	Recent bool
}

// Paths is what fits a query, best first.
type Paths struct {
	Files []PathMatch
	// More counts those past the limit.
	More int
	// Cut is true when the workspace has more files than are held.
	Cut bool
}

// Find returns the files whose path fits the query: every word of it, letters
// in order and without regard to case. Without a query it returns the recent
// ones, newest first. limit is how many are returned at most. It waits for the
// first list until ctx ends. Faults: cancelled, and those of listing the
// folder.
func (x *Index) Find(ctx context.Context, query string, limit int) (Paths, error) {
	p, err := x.paths(ctx)
	if err != nil {
		return Paths{}, err
	}
	var recent []int
	if x.cfg.Recent != nil {
		for _, path := range x.cfg.Recent() {
			rel, err := filepath.Rel(p.folder, path)
			if err != nil {
				continue
			}
			if at, ok := p.at[filepath.ToSlash(rel)]; ok {
				recent = append(recent, at)
			}
		}
	}
	return p.find(query, recent, max(limit, 0)), nil
}

// paths returns the list, a fresh one where that does not take long.
func (x *Index) paths(ctx context.Context) (*paths, error) {
	folder, err := x.cfg.Folder()
	if err != nil {
		return nil, err
	}
	var timer <-chan time.Time
	for {
		x.mu.Lock()
		held := x.held
		fresh := held != nil && held.changes == x.changes && time.Since(held.began) < maxAge
		if held != nil && held.folder != folder.Path() {
			held, fresh = nil, false
		}
		if fresh {
			x.mu.Unlock()
			return held, nil
		}
		if x.building == nil {
			x.build(folder)
		}
		building := x.building
		x.mu.Unlock()
		if held != nil && timer == nil {
			t := time.NewTimer(patience)
			defer t.Stop()
			timer = t.C
		}
		select {
		case <-building:
			x.mu.Lock()
			err := x.err
			x.mu.Unlock()
			if err != nil {
				return nil, err
			}
		case <-timer:
			return held, nil
		case <-ctx.Done():
			return nil, fault.New(fault.Cancelled, "quick open", ctx.Err())
		case <-x.ctx.Done():
			return nil, fault.New(fault.Cancelled, "quick open", x.ctx.Err())
		}
	}
}

// build starts to list the folder; mu must be held.
func (x *Index) build(folder workspace.Folder) {
	done := make(chan struct{})
	x.building, x.err = done, nil
	changes, began := x.changes, time.Now()
	x.wg.Go(func() {
		p, err := readPaths(x.ctx, folder, x.cfg.Limit)
		x.mu.Lock()
		if x.err = err; err == nil {
			p.changes, p.began = changes, began
			x.held = p
		}
		x.building = nil
		x.mu.Unlock()
		close(done)
	})
}

func readPaths(ctx context.Context, folder workspace.Folder, limit int) (*paths, error) {
	t, err := listTree(ctx, folder, globs{}, indexDepth, runtime.GOMAXPROCS(0), false)
	if err != nil {
		return nil, err
	}
	defer t.close()
	p := &paths{folder: folder.Path(), ignored: folder.Ignored, cut: len(t.files) > limit, at: map[string]int{}}
	t.files = t.files[:min(len(t.files), limit)]
	p.list = make([]pathEntry, len(t.files))
	for i, l := range t.files {
		rel := l.rel()
		p.list[i] = newPathEntry(rel)
		p.at[rel] = i
	}
	return p, nil
}

// scored is an entry that fits.
type scored struct{ at, score int }

func (p *paths) find(query string, recent []int, limit int) Paths {
	out := Paths{Files: []PathMatch{}, Cut: p.cut}
	rank := map[int]int{}
	for i, at := range recent {
		if _, twice := rank[at]; !twice {
			rank[at] = i
		}
	}
	add := func(at int, hits []int) {
		_, isRecent := rank[at]
		name := p.list[at].rel
		out.Files = append(out.Files, PathMatch{Path: pathOf(p.folder, name), Name: name, Hits: hits, Recent: isRecent})
	}
	f := newFuzzy(query)
	if f == nil {
		seen := map[int]bool{}
		for _, at := range recent {
			switch {
			case seen[at]:
			case len(out.Files) == limit:
				out.More++
			default:
				add(at, []int{})
			}
			seen[at] = true
		}
		return out
	}
	better := func(a, b scored) int {
		switch {
		case a.score != b.score:
			return b.score - a.score
		case len(p.list[a.at].rel) != len(p.list[b.at].rel):
			return len(p.list[a.at].rel) - len(p.list[b.at].rel)
		}
		return a.at - b.at
	}
	// The best so far, in order: most of what fits is worse than the last.
	var best []scored
	count := 0
	for at := range p.list {
		score, ok := f.score(&p.list[at])
		if !ok {
			continue
		}
		count++
		if i, isRecent := rank[at]; isRecent {
			score += bonusRecent + max(0, 5-i)
		}
		s := scored{at, score}
		if len(best) == limit {
			if limit == 0 || better(s, best[limit-1]) >= 0 {
				continue
			}
			best = best[:limit-1]
		}
		i, _ := slices.BinarySearchFunc(best, s, better)
		best = slices.Insert(best, i, s)
	}
	out.More = count - len(best)
	for _, s := range best {
		add(s.at, f.hits(&p.list[s.at]))
	}
	return out
}
