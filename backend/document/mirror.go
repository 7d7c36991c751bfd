package document

import (
	"galley/backend/fault"
	"galley/backend/text"
)

// Change is one transaction of the page: its edits and the endings of the
// breaks they insert, in order.
type Change struct {
	Edits   []text.Edit
	Endings []text.EndingRun
}

// SyncRequest brings a mirror forward by one version for each change.
type SyncRequest struct {
	Page        int64
	ID          string
	FromVersion int
	Changes     []Change
	// Anchor and Head are the selection afterwards, in UTF-16 units.
	Anchor, Head int
}

// Synced acknowledges a change of the mirror.
type Synced struct {
	// Version is the mirror's; a draft of it follows within 500 ms.
	Version int
	Dirty   bool
}

// Sync follows the page. It takes all changes or none. Faults: unknown_base
// when FromVersion is not the mirror's, upon which the page sends the whole
// text; invalid_input for edits that [text.Check] refuses or endings that do
// not fit; read_only; busy; not_found.
func (s *Set) Sync(r SyncRequest) (Synced, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	find := s.editable
	if len(r.Changes) == 0 {
		// A selection may move where nothing may be typed.
		find = s.forPage
	}
	d, err := find(r.Page, r.ID)
	if err != nil {
		return Synced{}, err
	}
	if r.FromVersion != d.version {
		return Synced{}, fault.New(fault.UnknownBase, "sync", nil)
	}
	lines := d.lines
	for _, c := range r.Changes {
		if lines, err = lines.ApplyWithEndings(c.Edits, c.Endings); err != nil {
			return Synced{}, err
		}
	}
	d.anchor, d.head = clamp(r.Anchor, lines), clamp(r.Head, lines)
	if len(r.Changes) > 0 {
		d.lines = lines
		d.version += len(r.Changes)
		d.pending.add(r.Changes, lines.Size())
		d.changed()
	}
	return Synced{d.version, d.dirty}, nil
}

// Replacement is the whole text of a page whose mirror fell behind.
type Replacement struct {
	Page int64
	ID   string
	// Version is the page's; it is not before the mirror's.
	Version int
	// Text is LF only, valid UTF-8; Endings names each of its breaks.
	Text    string
	Endings []text.EndingRun
}

// ReplaceText makes the mirror what the page holds. Faults: invalid_input for
// a text with CR or invalid UTF-8, endings that do not fit or an older
// version; read_only; busy; not_found.
func (s *Set) ReplaceText(r Replacement) (Synced, error) {
	// Built before the lock is taken, since it can be large.
	lines, err := text.NewLines(r.Text, r.Endings)
	if err != nil {
		return Synced{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.editable(r.Page, r.ID)
	if err != nil {
		return Synced{}, err
	}
	if r.Version < d.version {
		return Synced{}, fault.New(fault.InvalidInput, "replace text", nil)
	}
	d.lines, d.version = lines, r.Version
	d.anchor, d.head = clamp(d.anchor, lines), clamp(d.head, lines)
	d.touch()
	return Synced{d.version, d.dirty}, nil
}

// editable returns a document that a page may change; mu must be held.
func (s *Set) editable(page int64, id string) (*doc, error) {
	d, err := s.forPage(page, id)
	if err != nil {
		return nil, err
	}
	if d.readOnly != "" {
		return nil, fault.New(fault.ReadOnly, "edit", nil)
	}
	return d, nil
}

// Text returns the mirror's text and its version. Fault: not_found.
func (s *Set) Text(id string) (string, int, error) {
	s.mu.Lock()
	d, err := s.find(id)
	if err != nil {
		s.mu.Unlock()
		return "", 0, err
	}
	st := d.state
	s.mu.Unlock()
	return st.lines.Text(), st.version, nil
}

// Snapshot is a document at one moment.
type Snapshot struct {
	ID string
	// URI and Path are those of [Info].
	URI, Path string
	Version   int
	// Text is LF only; Digest its hex SHA-256.
	Text, Digest string
	// Anchor and Head are the selection in UTF-16 units.
	Anchor, Head int
	ReadOnly     fault.Code
}

// Snapshot returns the document at a version. Faults: unknown_base when the
// mirror is at another version, not_found.
func (s *Set) Snapshot(id string, version int) (Snapshot, error) {
	s.mu.Lock()
	d, err := s.find(id)
	if err == nil && d.version != version {
		err = fault.New(fault.UnknownBase, "snapshot", nil)
	}
	if err != nil {
		s.mu.Unlock()
		return Snapshot{}, err
	}
	st := d.state
	s.mu.Unlock()
	i := st.info(id)
	return Snapshot{
		ID: id, URI: i.URI, Path: i.Path, Version: st.version,
		Text: st.lines.Text(), Digest: st.lines.Digest(),
		Anchor: st.anchor, Head: st.head, ReadOnly: st.readOnly,
	}, nil
}
