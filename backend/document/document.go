// Package document owns the open documents of the host: the mirror of each
// text that a page edits, its file on disk, and the drafts that outlive a
// crash.
//
// The page is where a text changes; the mirror follows by change sets and is
// what drafts, saves and the agent host read. A mirror that does not agree with
// the page is never written: the page sends the whole text again. The package
// knows neither page nor agent, and reaches files through the permits of
// workspace only; its own folder of drafts is the exception.
//
// All methods of [Set] may be called at the same time. The invariant that
// matters: the last copy of unsaved text is never removed, except when the
// person discards it.
package document

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
)

// MaxEditable is the size in bytes over which a file is shown read-only.
const MaxEditable = 50 << 20

// maxShown is the size in bytes over which a file is not opened at all.
const maxShown = 256 << 20

// Config says what a [Set] works with.
type Config struct {
	// Grants says which files may be reached. Required.
	Grants *workspace.Grants
	// Home is the program's own folder; drafts go to its drafts, recovery
	// copies to its recovery. Required.
	Home string
	// Log gets no text and no path. Required.
	Log *slog.Logger
	// Now is the clock for times that are shown; nil is time.Now.
	Now func() time.Time
	// OnDisk is told how the files of open documents change outside; nil is
	// nobody. It must not call the set.
	OnDisk func(DiskChange)
	// Settle is how long such a change has to last until it is told; 0 is
	// 80 ms.
	Settle time.Duration
	// Calls are those by which the history and the drafts are written; nil is
	// the real file system.
	Calls workspace.Calls
}

// Set is the open documents. Make one with [New] and end it with [Set.Close].
type Set struct {
	grants *workspace.Grants
	home   string
	log    *slog.Logger
	now    func() time.Time
	// ctx ends the keepers, which keepers waits for.
	ctx     context.Context
	cancel  context.CancelFunc
	keepers sync.WaitGroup
	// opening lets one file be opened at a time, so that two paths of one
	// file cannot become two documents.
	opening turn
	// checking lets one comparison with the disk run at a time, so that what it
	// tells comes in order.
	checking turn
	onDisk   func(DiskChange)
	settle   time.Duration
	calls    workspace.Calls
	history  *history
	// watching counts the files that were replaced and are still looked at.
	watching sync.WaitGroup

	// mu guards what follows and the state of each document. No file is
	// touched while it is held.
	mu sync.Mutex
	// closed says that Close has begun.
	closed  bool
	page    int64
	docs    []*doc
	current string
	left    map[string]leftover
	broken  []string
}

// doc is one open document.
type doc struct {
	id string
	// turn lets one call at a time work with the document's file.
	turn   turn
	keeper *keeper
	// pending is guarded by Set.mu.
	pending pending
	// state is guarded by Set.mu; a copy of it is a consistent picture.
	state
}

// state is what a document is at one moment.
type state struct {
	// path is absolute; empty for an untitled document.
	path     string
	format   text.Format
	majority text.Ending
	lines    text.Lines
	version  int
	// stamp counts all changes that a draft has to follow.
	stamp        int64
	anchor, head int
	base         baseline
	dirty        bool
	// readOnly is why the document cannot be edited; empty when it can.
	readOnly     fault.Code
	restoredAtMs int64
	// draftFault is why the last draft could not be kept; empty when it was.
	draftFault fault.Code
	// disk is what was last told of the file, diskHash its bytes when they are
	// not the baseline's.
	disk     DiskState
	diskHash string
	// compared is nil but after a comparison.
	compared *compared
}

// baseline is what a document is compared with: its file as it was last read
// or written here.
type baseline struct {
	// stat is zero while there is no file.
	stat workspace.Stat
	// seenAt is when stat was taken; zero when it is of an earlier start.
	seenAt time.Time
	// id is the file's, zero when it is not known.
	id     workspace.Identity
	format text.Format
	lines  text.Lines
	// saved says that it was written here, not only read.
	saved bool
	// unknown is set when lines could not be read: a restored draft whose
	// file has changed. Such a document is dirty whatever it holds.
	unknown bool
}

// Info describes an open document.
type Info struct {
	ID string
	// URI is the file URI, or untitled: and the id.
	URI string
	// Path is absolute; empty for an untitled document.
	Path string
	// Name is the file's name; empty for an untitled document.
	Name    string
	Version int
	Format  text.Format
	// Endings lists the endings of all breaks in order; never nil.
	Endings []text.EndingRun
	// Majority is the ending of new lines that grow from no line with one.
	Majority text.Ending
	// ReadOnly is why the document cannot be edited: too_large or
	// unsupported_encoding; empty when it can be.
	ReadOnly fault.Code
	// Dirty says that saving would write other bytes than the baseline's.
	Dirty bool
	// Length, Anchor and Head are in UTF-16 units.
	Length, Anchor, Head int
	// RestoredAtMs is the time of the draft that the text came from; 0 when
	// it came from none.
	RestoredAtMs int64
	// DraftFault is why the last draft could not be kept; empty when it was.
	DraftFault fault.Code
	// Disk is how the file was last seen to stand to the baseline: same, changed
	// or missing.
	Disk DiskState
}

// New returns the set of open documents, none yet, and takes stock of the
// drafts that an earlier start left. A draft that cannot be read is kept aside
// and named by [Set.BrokenDrafts]; it does not stop the start.
func New(cfg Config) (*Set, error) {
	if cfg.Grants == nil || cfg.Home == "" || cfg.Log == nil {
		return nil, fault.New(fault.Internal, "new document set", errors.New("incomplete configuration"))
	}
	s := &Set{
		grants: cfg.Grants, home: cfg.Home, log: cfg.Log, now: cfg.Now,
		opening: newTurn(), checking: newTurn(), left: map[string]leftover{},
		onDisk: cfg.OnDisk, settle: cfg.Settle, calls: cfg.Calls,
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.onDisk == nil {
		s.onDisk = func(DiskChange) {}
	}
	if s.settle == 0 {
		s.settle = defaultSettle
	}
	if s.calls == nil {
		s.calls = workspace.OSCalls()
	}
	s.history = &history{
		calls: s.calls, dir: filepath.Join(cfg.Home, "history"), log: cfg.Log, now: s.now, turn: newTurn(), gone: s.unreachable, ofFile: maxOfFile,
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.takeStock()
	return s, nil
}

// Close keeps a draft of all that is unsaved and ends the work in the
// background. It waits until ctx ends; the error says what was not kept.
func (s *Set) Close(ctx context.Context) error {
	err := s.FlushDrafts(ctx)
	s.mu.Lock()
	s.closed = true // nothing more begins that would have to be waited for
	s.mu.Unlock()
	s.cancel()
	var all sync.WaitGroup
	ended := make(chan struct{})
	all.Go(func() {
		defer close(ended)
		s.keepers.Wait()
		s.watching.Wait()
		s.history.later.Wait()
	})
	select {
	case <-ended:
		return err
	case <-ctx.Done():
		return errors.Join(err, cancelled(ctx.Err()))
	}
}

// unreachable reports whether no file stands at path, as far as it may be
// looked at.
func (s *Set) unreachable(path string) bool {
	_, err := s.grants.PermitRead(path)
	return err != nil
}

// Attached is what a page gets when it attaches.
type Attached struct {
	// Page is the page's number.
	Page      int64
	Documents []Info
	// Current is the id of the document in front; empty for none.
	Current string
}

// Attach gives a page the next number and the open documents. From now on
// calls with an older number are refused as busy.
func (s *Set) Attach() Attached {
	s.mu.Lock()
	s.page++
	a := Attached{Page: s.page, Current: s.current}
	s.mu.Unlock()
	a.Documents = s.List()
	return a
}

// CheckPage refuses, as busy, the number of a page that a newer one replaced,
// and as invalid_input one that was never given.
func (s *Set) CheckPage(page int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checkPage(page)
}

// checkPage is CheckPage; mu must be held.
func (s *Set) checkPage(page int64) error {
	switch {
	case page < s.page:
		return fault.New(fault.Busy, "page", nil)
	case page > s.page:
		return fault.New(fault.InvalidInput, "page", nil)
	}
	return nil
}

// List describes the open documents in the order of their opening.
func (s *Set) List() []Info {
	s.mu.Lock()
	ids := make([]string, len(s.docs))
	states := make([]state, len(s.docs))
	for i, d := range s.docs {
		ids[i], states[i] = d.id, d.state
	}
	s.mu.Unlock()
	out := make([]Info, len(ids))
	for i, id := range ids {
		out[i] = states[i].info(id)
	}
	return out
}

// Info describes one document. Fault: not_found.
func (s *Set) Info(id string) (Info, error) {
	s.mu.Lock()
	d, err := s.find(id)
	if err != nil {
		s.mu.Unlock()
		return Info{}, err
	}
	st := d.state
	s.mu.Unlock()
	return st.info(id), nil
}

// SetCurrent says which document is in front. Faults: busy, not_found.
func (s *Set) SetCurrent(page int64, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.forPage(page, id); err != nil {
		return err
	}
	s.current = id
	return nil
}

// find returns the document; mu must be held.
func (s *Set) find(id string) (*doc, error) {
	for _, d := range s.docs {
		if d.id == id {
			return d, nil
		}
	}
	return nil, fault.New(fault.NotFound, "document", nil)
}

// forPage returns the document for a call of a page; mu must be held.
func (s *Set) forPage(page int64, id string) (*doc, error) {
	if err := s.checkPage(page); err != nil {
		return nil, err
	}
	return s.find(id)
}

// add opens a document with a state; mu must be held. draft is the id of the
// draft that holds the text already, empty for none.
func (s *Set) add(id string, st state, draft string) *doc {
	if st.disk == "" {
		st.disk = DiskSame
	}
	d := &doc{id: id, turn: newTurn(), state: st}
	d.keeper = newKeeper(s, d, draft)
	s.docs = append(s.docs, d)
	s.current = id
	if s.closed {
		close(d.keeper.closed)
		return d
	}
	s.keepers.Go(func() { d.keeper.run(s.ctx) })
	return d
}

// touch settles what follows from a changed text, file or baseline; mu must be
// held.
func (d *doc) touch() {
	d.pending = pending{}
	d.changed()
}

// changed is touch where the pending changes say how the text changed; mu must
// be held.
func (d *doc) changed() {
	d.stamp++
	d.dirty = d.readOnly == "" &&
		(d.base.unknown || d.format != d.base.format || !d.lines.Equal(d.base.lines))
	d.keeper.poke()
}

// info describes the document with this state.
func (st state) info(id string) Info {
	i := Info{
		ID: id, URI: "untitled:" + id, Path: st.path,
		Version: st.version, Format: st.format, Endings: st.lines.Endings(), Majority: st.majority,
		ReadOnly: st.readOnly, Dirty: st.dirty,
		Length: st.lines.Len(), Anchor: st.anchor, Head: st.head,
		RestoredAtMs: st.restoredAtMs, DraftFault: st.draftFault, Disk: st.disk,
	}
	if st.path != "" {
		i.URI, i.Name = fileURI(st.path), filepath.Base(st.path)
	}
	return i
}

// FileURI returns the URI that a document with a file at path, which is
// absolute, has.
func FileURI(path string) string { return fileURI(path) }

// fileURI returns the file URI of an absolute path.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

func newID() string { return strings.ToLower(rand.Text()) }

// turn is held by one goroutine at a time. Unlike a mutex, waiting for it ends
// with a context, so it may be held while a file is read or written.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// take waits for the turn. It fails with the context's error.
func (t turn) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return cancelled(err)
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return cancelled(ctx.Err())
	}
}

func (t turn) release() { <-t }

func cancelled(err error) error { return fault.New(fault.Cancelled, "document", err) }
