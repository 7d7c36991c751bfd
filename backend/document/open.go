package document

import (
	"context"
	"strings"
	"time"

	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
)

// Open opens the file at path, which must be granted, or returns the document
// that holds it already, also when path leads there by a link. A file in an
// encoding that cannot be written back opens as a read-only view of its bytes,
// one over [MaxEditable] read-only. Faults: those of [workspace.File.Read],
// among them not_granted, not_found and not_a_file; cancelled.
func (s *Set) Open(ctx context.Context, path string) (Info, error) {
	if err := s.opening.take(ctx); err != nil {
		return Info{}, err
	}
	defer s.opening.release()
	f, err := s.grants.PermitRead(path)
	if err != nil {
		return Info{}, err
	}
	d, err := s.holding(f)
	if err != nil {
		return Info{}, err
	}
	if d == nil {
		st, err := load(f)
		if err != nil {
			return Info{}, err
		}
		s.mu.Lock()
		d = s.add(newID(), st, "")
		s.mu.Unlock()
	}
	s.mu.Lock()
	s.current = d.id
	st := d.state
	s.mu.Unlock()
	return st.info(d.id), nil
}

// NewUntitled opens an empty document without a file.
func (s *Set) NewUntitled() Info {
	s.mu.Lock()
	format := text.Format{Encoding: text.UTF8}
	d := s.add(newID(), state{
		format: format, majority: text.LF, version: 1, base: baseline{format: format},
	}, "")
	st := d.state
	s.mu.Unlock()
	return st.info(d.id)
}

// Discard says what closing does with unsaved text.
type Discard bool

// Whether unsaved text may be thrown away.
const (
	KeepUnsaved    Discard = false
	DiscardUnsaved Discard = true
)

// CloseDocument closes a document. Unsaved text is refused as busy unless the
// person decided to discard it; its draft then goes too. Faults: busy,
// not_found, cancelled.
func (s *Set) CloseDocument(ctx context.Context, page int64, id string, discard Discard) error {
	d, release, err := s.begin(ctx, page, id)
	if err != nil {
		return err
	}
	defer release()
	s.mu.Lock()
	if d.dirty && !bool(discard) {
		s.mu.Unlock()
		return &fault.Error{Code: fault.Busy, Op: "close", Detail: "unsaved"}
	}
	s.forget(d)
	s.mu.Unlock()
	d.keeper.finish(bool(discard))
	return nil
}

// forget takes a document out of the list; mu must be held.
func (s *Set) forget(d *doc) {
	for i, other := range s.docs {
		if other == d {
			s.docs = append(s.docs[:i], s.docs[i+1:]...)
			break
		}
	}
	if s.current == d.id {
		s.current = ""
	}
}

// begin takes the turn of a document for a call of a page. release gives it
// back.
func (s *Set) begin(ctx context.Context, page int64, id string) (d *doc, release func(), err error) {
	s.mu.Lock()
	d, err = s.forPage(page, id)
	s.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	if err := d.turn.take(ctx); err != nil {
		return nil, nil, err
	}
	// It may have been closed meanwhile.
	s.mu.Lock()
	_, err = s.find(id)
	s.mu.Unlock()
	if err != nil {
		d.turn.release()
		return nil, nil, err
	}
	return d, d.turn.release, nil
}

// Reload takes what is on disk, whatever the mirror holds; unsaved text goes to
// the history, and its draft is gone. The version rises by one. Faults: those
// of [Set.Open]; unknown_base when the text changed meanwhile; disk_full and
// store_failed when the unsaved text cannot be kept; busy.
func (s *Set) Reload(ctx context.Context, page int64, id string) (Info, error) {
	d, release, err := s.begin(ctx, page, id)
	if err != nil {
		return Info{}, err
	}
	defer release()
	s.mu.Lock()
	st := d.state
	s.mu.Unlock()
	if st.path == "" {
		return Info{}, fault.New(fault.InvalidInput, "reload", nil)
	}
	f, err := s.grants.PermitRead(st.path)
	if err != nil {
		return Info{}, err
	}
	fresh, err := load(f)
	if err != nil {
		return Info{}, err
	}
	if err := s.giveUp(ctx, st); err != nil {
		return Info{}, err
	}
	s.mu.Lock()
	if d.version != st.version {
		// Typed into in the very moment: that has to be kept too.
		s.mu.Unlock()
		return Info{}, fault.New(fault.UnknownBase, "reload", nil)
	}
	fresh.version = d.version + 1
	fresh.stamp = d.stamp
	fresh.anchor, fresh.head = clamp(d.anchor, fresh.lines), clamp(d.head, fresh.lines)
	d.state = fresh
	d.touch()
	s.mu.Unlock()
	return s.settled(ctx, d), nil
}

// giveUp keeps the unsaved text of a state in the history before it goes.
func (s *Set) giveUp(ctx context.Context, st state) error {
	if !st.dirty {
		return nil
	}
	s.keepBase(ctx, st, s.now().UnixMilli())
	c := contentOfState(st.format, st.lines)
	return s.history.keep(ctx, st.subject(), c, VersionDiscarded, s.now().UnixMilli())
}

// holding returns the open document of the file f, nil when there is none.
// Identities are asked anew each time, since a save gives a file another.
func (s *Set) holding(f workspace.File) (*doc, error) {
	id, err := f.Identity()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	docs := append([]*doc(nil), s.docs...)
	paths := make([]string, len(docs))
	for i, d := range docs {
		paths[i] = d.path
	}
	s.mu.Unlock()
	for i, path := range paths {
		if path == f.Path() {
			return docs[i], nil
		}
	}
	for i, path := range paths {
		if path == "" || id == (workspace.Identity{}) {
			continue
		}
		other, err := s.grants.PermitRead(path)
		if err != nil {
			// It is gone or out of reach, so it is not this file.
			continue
		}
		if otherID, err := other.Identity(); err == nil && otherID == id {
			return docs[i], nil
		}
	}
	return nil, nil
}

// load reads a file into the state of a document just opened.
func load(f workspace.File) (state, error) {
	at := time.Now()
	data, stat, err := f.Read(maxShown)
	if err != nil {
		return state{}, err
	}
	st := state{path: f.Path(), version: 1, disk: DiskSame}
	st.format, st.lines, err = text.Decode(data)
	switch {
	case fault.CodeOf(err) == fault.UnsupportedEncoding && len(data) <= MaxEditable:
		st.readOnly = fault.UnsupportedEncoding
		view := text.View(data)
		st.lines, err = text.NewLines(view, []text.EndingRun{{Ending: text.LF, Count: strings.Count(view, "\n")}})
	case err == nil && len(data) > MaxEditable:
		st.readOnly = fault.TooLarge
	}
	if err != nil {
		return state{}, err
	}
	st.majority = st.lines.Count().Majority()
	st.base = baseline{stat: stat, seenAt: at, id: identityOf(f, stat), format: st.format, lines: st.lines}
	return st, nil
}

// identityOf is the file's identity, zero when it is not known or already that
// of another file than stat.
func identityOf(f workspace.File, stat workspace.Stat) workspace.Identity {
	id, err := f.Identity()
	if err != nil || stat.Inode != 0 && id.File != stat.Inode {
		return workspace.Identity{}
	}
	return id
}

// clamp brings a position into a text.
func clamp(pos int, l text.Lines) int { return max(0, min(pos, l.Len())) }
