package search

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// Limits bound a search. A field that is 0 stands for its default, a negative
// one for no limit.
type Limits struct {
	// Files is how many files are searched: 20,000.
	Files int
	// FileBytes is how large a file may be: 4 MB.
	FileBytes int64
	// HitsPerFile is how many hits of a file are told: 100.
	HitsPerFile int
	// Depth is how many folders deep files are searched: 12.
	Depth int
	// Hits is how many hits are told in all: 20,000. The others are counted by
	// their files.
	Hits int
}

// withDefaults returns the limits with their defaults in place.
func (l Limits) withDefaults() Limits {
	set := func(field *int, n int) {
		if *field == 0 {
			*field = n
		}
	}
	set(&l.Files, 20_000)
	set(&l.HitsPerFile, 100)
	set(&l.Depth, 12)
	set(&l.Hits, 20_000)
	if l.FileBytes == 0 {
		l.FileBytes = 4 << 20
	}
	return l
}

// bytes is the size limit as a reader takes it.
func (l Limits) bytes() int64 {
	if l.FileBytes < 0 {
		return 1 << 40
	}
	return l.FileBytes
}

// Config says what an [Engine] works with.
type Config struct {
	// Folder permits the folder that is searched, or says why there is none.
	// Required.
	Folder func() (workspace.Folder, error)
	// Unsaved returns the LF texts of unsaved documents by their absolute
	// paths, which are searched in the place of their files; nil for none.
	Unsaved func() map[string]string
	// Found gets results in order, and Ended the end of each search that was
	// started; nothing of a search comes after its end. Both are called by one
	// goroutine at a time and should not take long. Required for
	// [Engine.Start].
	Found func(id string, files []File)
	Ended func(Ended)
	// Log gets no text, no path and no query. Required.
	Log    *slog.Logger
	Limits Limits
	// Workers is how many goroutines read; 0 for a number that suits the
	// machine.
	Workers int
}

// Summary counts what a search did.
type Summary struct {
	// Searched counts the files, Files those with hits, Hits all hits in them.
	Searched, Files, Hits int
	// PastLimit counts files past the limit, TooLarge those over their size,
	// Unread files and folders that could not be read or are no text, TooDeep
	// folders below the depth.
	PastLimit, TooLarge, Unread, TooDeep int
	Took                                 time.Duration
}

// Ended is how a search ended.
type Ended struct {
	ID string
	// Code is what ended it early; "" when it is complete.
	Code fault.Code
	Summary
}

// Engine searches a workspace, one search at a time. End it with
// [Engine.Close].
type Engine struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	// mu guards last.
	mu sync.Mutex
	// last is the newest search; the ones before it have been cancelled.
	last *job
}

// job is one search.
type job struct {
	id     string
	ctx    context.Context
	cancel context.CancelFunc
	// before is closed when the search before has ended, done when this has.
	before <-chan struct{}
	done   chan struct{}
}

// New returns an engine.
func New(cfg Config) *Engine {
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.Workers <= 0 {
		// More goroutines than processors, since a cold disk is waited for.
		cfg.Workers = min(8, 2*runtime.GOMAXPROCS(0))
	}
	e := &Engine{cfg: cfg}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e
}

// Close ends what is under way and waits for it.
func (e *Engine) Close() {
	e.cancel()
	e.wg.Wait()
}

// begin makes a search the newest one and cancels the one before.
func (e *Engine) begin(ctx context.Context, id string) *job {
	j := &job{id: id, done: make(chan struct{})}
	j.ctx, j.cancel = context.WithCancel(ctx)
	e.mu.Lock()
	before := e.last
	e.last = j
	e.mu.Unlock()
	if before != nil {
		before.cancel()
		j.before = before.done
	}
	return j
}

// end lets the next search begin.
func (j *job) end() {
	j.cancel()
	close(j.done)
}

// Start starts a search; its results come through Found and Ended. It ends the
// one before. Fault: invalid_input, as [Compile].
func (e *Engine) Start(id string, q Query) error {
	m, err := Compile(q)
	if err != nil {
		return err
	}
	j := e.begin(e.ctx, id)
	e.wg.Go(func() {
		defer j.end()
		s, err := e.search(j, m, func(files []File) { e.cfg.Found(id, files) })
		e.cfg.Ended(Ended{ID: id, Code: codeOf(err), Summary: s})
	})
	return nil
}

// Run searches and returns when that has ended, with results through found in
// order, which may be nil. It takes its turn as Start does and can be cancelled
// by its id too. Faults: invalid_input, cancelled, and those of listing the
// folder.
func (e *Engine) Run(ctx context.Context, id string, q Query, found func([]File)) (Summary, error) {
	m, err := Compile(q)
	if err != nil {
		return Summary{}, err
	}
	j := e.begin(ctx, id)
	defer j.end()
	// The engine's own end ends it too.
	defer context.AfterFunc(e.ctx, j.cancel)()
	if found == nil {
		found = func([]File) {}
	}
	return e.search(j, m, found)
}

// Cancel ends the search with that id. One that has ended, or never was, is no
// error.
func (e *Engine) Cancel(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last != nil && e.last.id == id {
		e.last.cancel()
	}
}

// codeOf is the fault code of an error that ended a search.
func codeOf(err error) fault.Code {
	if errors.Is(err, context.Canceled) {
		return fault.Cancelled
	}
	return fault.CodeOf(err)
}

// search waits for its turn and searches.
func (e *Engine) search(j *job, m *Matcher, found func([]File)) (Summary, error) {
	if j.before != nil {
		<-j.before
	}
	began := time.Now()
	s, err := e.run(j.ctx, m, found)
	s.Took = time.Since(began)
	if err == nil || j.ctx.Err() == nil {
		return s, err
	}
	return s, fault.New(fault.Cancelled, "search", j.ctx.Err())
}

// partSize is how many files a goroutine takes at a time.
const partSize = 16

// part is what became of the files of one piece of the list.
type part struct {
	index int
	files []File
	Summary
}

func (e *Engine) run(ctx context.Context, m *Matcher, found func([]File)) (Summary, error) {
	var sum Summary
	if err := ctx.Err(); err != nil {
		return sum, err
	}
	folder, err := e.cfg.Folder()
	if err != nil {
		return sum, err
	}
	limits := e.cfg.Limits
	t, err := listTree(ctx, folder, m.globs, limits.Depth, e.cfg.Workers, true)
	if err != nil {
		return sum, err
	}
	defer t.close()
	if e.cfg.Unsaved != nil {
		t.standIn(e.cfg.Unsaved(), folder, m.globs, limits.Depth)
	}
	sum.TooDeep, sum.Unread = t.tooDeep, t.unread
	sum.PastLimit = t.plan(limits.Files)

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parts := make(chan part, e.cfg.Workers)
	var taken atomic.Int64
	var wg sync.WaitGroup
	for range e.cfg.Workers {
		wg.Go(func() {
			defer e.recover(cancel)
			r := &reading{ctx: ctx, m: m, scanner: newScanner(m), tree: t, limits: limits}
			r.scanner.stopOn(func() bool { return ctx.Err() != nil })
			for {
				i := int(taken.Add(1)) - 1
				if i*partSize >= len(t.files) || ctx.Err() != nil {
					return
				}
				parts <- r.part(i, folder.Path())
			}
		})
	}
	go func() { // ends with the goroutines above, which are waited for below
		wg.Wait()
		close(parts)
	}()
	c := collector{limits: limits, sum: &sum, found: found, waiting: map[int]part{}}
	c.collect(ctx, parts)
	return sum, context.Cause(ctx)
}

// recover turns a panic of a goroutine into the end of its search.
func (e *Engine) recover(cancel context.CancelCauseFunc) {
	if p := recover(); p != nil {
		e.cfg.Log.Error("search panicked", "stack", string(debug.Stack()))
		cancel(fault.New(fault.Internal, "search", nil))
	}
}

// part searches one piece of the list.
func (r *reading) part(index int, folder string) part {
	p := part{index: index}
	from := index * partSize
	for _, l := range r.tree.files[from:min(from+partSize, len(r.tree.files))] {
		if r.ctx.Err() != nil {
			break
		}
		f, what := r.file(l)
		l.in.letGo()
		switch what {
		case tooLarge:
			p.TooLarge++
		case unread:
			p.Unread++
		case searched:
			p.Searched++
			if n := len(f.Hits) + f.More; n > 0 {
				f.Path = pathOf(folder, f.Name)
				p.files = append(p.files, f)
				p.Files++
				p.Hits += n
			}
		}
	}
	return p
}

// collector puts parts in order and passes what they found on in batches.
type collector struct {
	limits Limits
	sum    *Summary
	found  func([]File)
	// waiting holds parts that came before their turn; next is whose turn it is.
	waiting map[int]part
	next    int
	// batch is what is not passed on yet, with batchHits hits in it; told
	// counts the hits of all.
	batch           []File
	batchHits, told int
	last            time.Time
}

const (
	// A batch is passed on when it has this many files or hits, which a page
	// takes without a pause, or this long after the last.
	batchFiles = 50
	batchHits  = 100
	batchPause = 50 * time.Millisecond
)

// collect takes parts until there are no more. After ctx has ended it passes
// nothing on.
func (c *collector) collect(ctx context.Context, parts <-chan part) {
	pause := time.NewTimer(batchPause)
	defer pause.Stop()
	for {
		select {
		case p, ok := <-parts:
			if !ok {
				c.flush(ctx)
				return
			}
			c.waiting[p.index] = p
			for c.take() {
				if len(c.batch) >= batchFiles || c.batchHits >= batchHits {
					c.flush(ctx)
				}
			}
			if time.Since(c.last) < batchPause {
				continue
			}
		case <-pause.C:
		}
		c.flush(ctx)
		pause.Reset(batchPause)
	}
}

// take moves the part whose turn it is into the batch.
func (c *collector) take() bool {
	p, ok := c.waiting[c.next]
	if !ok {
		return false
	}
	delete(c.waiting, c.next)
	c.next++
	c.sum.Searched += p.Searched
	c.sum.Files += p.Files
	c.sum.Hits += p.Hits
	c.sum.TooLarge += p.TooLarge
	c.sum.Unread += p.Unread
	for _, f := range p.files {
		if left := c.limits.Hits - c.told; c.limits.Hits >= 0 && len(f.Hits) > left {
			f.More += len(f.Hits) - left
			f.Hits = f.Hits[:left]
		}
		c.told += len(f.Hits)
		c.batchHits += len(f.Hits)
		c.batch = append(c.batch, f)
	}
	return true
}

func (c *collector) flush(ctx context.Context) {
	if len(c.batch) > 0 && ctx.Err() == nil {
		c.found(c.batch)
		c.last = time.Now()
	}
	c.batch, c.batchHits = nil, 0
}
