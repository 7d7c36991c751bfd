package reviewed

import (
	"context"
	"fmt"
	"slices"

	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
)

// Ticks are the edits of one file that were ticked, by their index.
type Ticks struct {
	Path  string
	Edits []int
}

// Applying is what came of applying or undoing a set.
type Applying struct {
	Set Set
	// Documents are edits that are the page's to make.
	Documents []DocumentEdits
}

// DocumentEdits are edits to an open document at Version. When a set is undone
// they refer to the text as it was right after the set was applied.
type DocumentEdits struct {
	ID      string
	Version int
	Edits   []text.Edit
}

// application is what undoing a set takes.
type application struct {
	journal *journal
	// files are those written, in the order of the journal's.
	files []string // by their paths after the move
	docs  []appliedDocument
}

// appliedDocument is an open document whose edits the page got.
type appliedDocument struct {
	id string
	// path is absolute, after the move.
	path    string
	version int
	inverse []text.Edit
	// before are the bytes that saving the text from before would write, after
	// the hash of those for the text with the edits made.
	before []byte
	after  string
}

// Apply applies the ticked edits of a set, and its move: all of it or nothing.
// The edits of open documents are returned and not made. Faults: stale for an
// open document that is not at its version any more and changed_on_disk for a
// file that is not what the edits were made from, both naming the file, upon
// which nothing was touched; invalid_input for ticks that do not fit or a set
// that is not open; not_found; cancelled; those of writing and of the move,
// upon which everything is as it was.
func (m *Manager) Apply(ctx context.Context, id string, ticks []Ticks) (Applying, error) {
	const op = "apply set"
	if err := m.take(ctx); err != nil {
		return Applying{}, err
	}
	defer m.release()
	m.mu.Lock()
	k, err := m.find(id)
	if err == nil && k.State != Open {
		err = fault.New(fault.InvalidInput, op, nil)
	}
	var set Set
	if err == nil {
		set = k.Set
	}
	m.mu.Unlock()
	if err != nil {
		return Applying{}, err
	}
	chosen, err := choose(set, ticks)
	if err != nil {
		return Applying{}, err
	}
	if len(chosen) == 0 && set.Kind != Move {
		return Applying{}, fault.New(fault.NoChange, op, nil)
	}
	a := &application{}
	changes, out, err := m.prepare(set, chosen, a)
	if err != nil {
		return Applying{}, err
	}
	var mf manifest
	if set.Kind == Move {
		mf.From, mf.To = set.From, set.To
	}
	m.keepVersions(ctx, changes)
	if a.journal, err = m.run(ctx, set.ID, mf, changes); err != nil {
		return Applying{}, err
	}
	m.settle(ctx, a.files)
	m.mu.Lock()
	k.State, k.applied = Applied, a
	set = k.Set
	m.mu.Unlock()
	return Applying{Set: set, Documents: out}, nil
}

// choice is a file and its ticked edits.
type choice struct {
	file  File
	edits []text.Edit
}

// choose returns the ticked edits of a set.
func choose(set Set, ticks []Ticks) ([]choice, error) {
	refuse := fault.New(fault.InvalidInput, "apply set", nil)
	var out []choice
	seen := map[string]bool{}
	for _, t := range ticks {
		at := slices.IndexFunc(set.Files, func(f File) bool { return f.Path == t.Path })
		if at < 0 || seen[t.Path] {
			return nil, refuse
		}
		seen[t.Path] = true
		f := set.Files[at]
		if len(t.Edits) == 0 {
			continue
		}
		if f.Problem != "" {
			return nil, named(f.Problem, "apply set", f.Path)
		}
		picked := slices.Sorted(slices.Values(t.Edits))
		if picked[0] < 0 || picked[len(picked)-1] >= len(f.Edits) || len(slices.Compact(slices.Clone(picked))) != len(picked) {
			return nil, refuse
		}
		c := choice{file: f}
		for _, i := range picked {
			c.edits = append(c.edits, f.Edits[i].Edit)
		}
		out = append(out, c)
	}
	return out, nil
}

// prepare looks at every file before anything is touched and makes what is to
// be written.
func (m *Manager) prepare(set Set, chosen []choice, a *application) (changes []change, out []DocumentEdits, err error) {
	open := m.openNow()
	total := 0
	for _, c := range chosen {
		place := c.file.Path
		if set.Kind == Move {
			place = rebaseAbs(place, set.From, set.To)
		}
		info, isOpen := open.byPath[c.file.Path]
		if !isOpen {
			f, err := m.cfg.Grants.PermitRead(c.file.Path)
			if err != nil {
				return nil, nil, gone(c.file, err)
			}
			info, isOpen = open.of(c.file.Path, f)
		}
		if isOpen {
			if info.Path != c.file.Path {
				place = info.Path
			}
			doc, edits, err := m.prepareDocument(info, c)
			if err != nil {
				return nil, nil, err
			}
			doc.path = place
			a.docs = append(a.docs, doc)
			out = append(out, edits)
			continue
		}
		ch, err := m.prepareFile(c)
		if err != nil {
			return nil, nil, err
		}
		if total += len(ch.old) + len(ch.new); total > maxBytes {
			return nil, nil, named(fault.TooLarge, "apply set", c.file.Path)
		}
		changes = append(changes, ch)
		a.files = append(a.files, place)
	}
	return changes, out, nil
}

// gone is the fault for a file that cannot be read any more.
func gone(f File, err error) error {
	if code := fault.CodeOf(err); code == fault.NotFound || code == fault.NotAFile {
		return named(fault.ChangedOnDisk, "apply set", f.Path)
	}
	return fmt.Errorf("apply set: %w", err)
}

// prepareFile sees that a file still is what its edits were made from and makes
// its new bytes: those of the edits and no others differ.
func (m *Manager) prepareFile(c choice) (change, error) {
	const op = "apply set"
	path := c.file.Path
	if _, err := m.cfg.Grants.PermitWrite(path); err != nil {
		return change{}, err
	}
	f, err := m.cfg.Grants.PermitRead(path)
	if err != nil {
		return change{}, gone(c.file, err)
	}
	data, stat, err := f.Read(maxBytes)
	if err != nil {
		return change{}, gone(c.file, err)
	}
	if stat.Mode.Perm()&0o222 == 0 {
		return change{}, named(fault.ReadOnly, op, path)
	}
	// One that was open when the edits were made counts by its text.
	if c.file.base.hash != "" && stat.Hash != c.file.base.hash {
		return change{}, named(fault.ChangedOnDisk, op, path)
	}
	format, lines, err := text.Decode(data)
	if err != nil || lines.Digest() != c.file.base.digest {
		return change{}, named(fault.ChangedOnDisk, op, path)
	}
	next, err := lines.Apply(c.edits, lines.Count().Majority())
	if err != nil {
		return change{}, fmt.Errorf("apply set: %w", err)
	}
	return change{path: path, old: data, new: text.Encode(format, next), stat: stat}, nil
}

// prepareDocument sees that an open document still is what its edits were made
// from.
func (m *Manager) prepareDocument(info document.Info, c choice) (appliedDocument, DocumentEdits, error) {
	const op = "apply set"
	stale := named(fault.Stale, op, c.file.Path)
	if info.ReadOnly != "" {
		return appliedDocument{}, DocumentEdits{}, named(fault.ReadOnly, op, c.file.Path)
	}
	if c.file.DocumentID == info.ID && c.file.Version != info.Version {
		return appliedDocument{}, DocumentEdits{}, stale
	}
	s, version, err := m.cfg.Documents.Text(info.ID)
	if err != nil || version != info.Version || text.Digest(s) != c.file.base.digest {
		return appliedDocument{}, DocumentEdits{}, stale
	}
	lines, err := text.NewLines(s, info.Endings)
	if err != nil {
		return appliedDocument{}, DocumentEdits{}, stale
	}
	next, err := lines.Apply(c.edits, info.Majority)
	if err != nil {
		return appliedDocument{}, DocumentEdits{}, fmt.Errorf("apply set: %w", err)
	}
	back, _, err := lines.Inverse(c.edits)
	if err != nil {
		return appliedDocument{}, DocumentEdits{}, fmt.Errorf("apply set: %w", err)
	}
	return appliedDocument{
		id: info.ID, version: version, inverse: back,
		before: text.Encode(info.Format, lines), after: hashOf(text.Encode(info.Format, next)),
	}, DocumentEdits{ID: info.ID, Version: version, Edits: c.edits}, nil
}

// keepVersions keeps what is to be written over in the history of each file.
// The journal has it too, so that a history which takes nothing stops nobody.
func (m *Manager) keepVersions(ctx context.Context, changes []change) {
	for _, c := range changes {
		if err := m.cfg.Documents.KeepVersion(ctx, c.path, c.old, document.VersionReplaced); err != nil {
			m.cfg.Log.Warn("version before a reviewed set not kept", "code", string(fault.CodeOf(err)))
			return
		}
	}
}

// settle lets open documents see what was written.
func (m *Manager) settle(ctx context.Context, paths []string) {
	if len(paths) == 0 {
		return
	}
	if err := m.cfg.Documents.Check(context.WithoutCancel(ctx), paths); err != nil {
		m.cfg.Log.Warn("documents not compared after a reviewed set", "code", string(fault.CodeOf(err)))
	}
}

// Undo takes an applied set back, the move too: all of it or nothing, and once
// only. The inverse edits of documents that are still open are returned and not
// made. Faults: changed_on_disk, naming a file that does not hold what was
// written any more; stale, naming a document that was opened since and has
// unsaved changes; both upon which nothing was touched; invalid_input for a set
// that is not applied; not_found; cancelled; those of writing and of the move.
func (m *Manager) Undo(ctx context.Context, id string) (Applying, error) {
	const op = "undo set"
	if err := m.take(ctx); err != nil {
		return Applying{}, err
	}
	defer m.release()
	m.mu.Lock()
	k, err := m.find(id)
	if err == nil && (k.State != Applied || k.applied == nil) {
		err = fault.New(fault.InvalidInput, op, nil)
	}
	m.mu.Unlock()
	if err != nil {
		return Applying{}, err
	}
	a := k.applied
	changes, out, err := m.prepareUndo(k.Set, a)
	if err != nil {
		return Applying{}, err
	}
	mf := manifest{MoveFirst: true}
	if k.Kind == Move {
		mf.From, mf.To = k.To, k.From
	}
	// The files are looked at where they are and written where they go.
	var paths []string
	for i := range changes {
		if k.Kind == Move {
			changes[i].path = rebaseAbs(changes[i].path, k.To, k.From)
		}
		paths = append(paths, changes[i].path)
	}
	j, err := m.run(ctx, id+".undo", mf, changes)
	if err != nil {
		return Applying{}, err
	}
	m.removeJournal(a.journal)
	m.removeJournal(j)
	m.settle(ctx, paths)
	m.mu.Lock()
	k.State, k.applied = Undone, nil
	set := k.Set
	m.mu.Unlock()
	return Applying{Set: set, Documents: out}, nil
}

// prepareUndo looks at everything before anything is touched.
func (m *Manager) prepareUndo(set Set, a *application) (changes []change, out []DocumentEdits, err error) {
	open := m.openNow()
	for i, path := range a.files {
		f := a.journal.Files[i]
		old, err := m.before(a.journal, f)
		if err != nil {
			return nil, nil, err
		}
		ch, err := m.prepareBack(path, f.New, old, open)
		if err != nil {
			return nil, nil, err
		}
		changes = append(changes, ch)
	}
	for _, d := range a.docs {
		if _, err := m.cfg.Documents.Info(d.id); err == nil {
			out = append(out, DocumentEdits{ID: d.id, Version: d.version + 1, Edits: d.inverse})
			continue
		}
		ch, err := m.prepareBack(d.path, d.after, d.before, open)
		if err != nil {
			return nil, nil, err
		}
		changes = append(changes, ch)
	}
	return changes, out, nil
}

// prepareBack sees that a file holds what the set made of it, and that no open
// document has other plans with it.
func (m *Manager) prepareBack(path, is string, old []byte, open openDocuments) (change, error) {
	const op = "undo set"
	f, err := m.cfg.Grants.PermitRead(path)
	if err != nil {
		return change{}, gone(File{Path: path}, err)
	}
	if info, ok := open.of(path, f); ok && info.Dirty {
		return change{}, named(fault.Stale, op, path)
	}
	data, stat, err := f.Read(maxBytes)
	if err != nil {
		return change{}, gone(File{Path: path}, err)
	}
	if stat.Hash != is {
		return change{}, named(fault.ChangedOnDisk, op, path)
	}
	if _, err := m.cfg.Grants.PermitWrite(path); err != nil {
		return change{}, err
	}
	return change{path: path, old: data, new: old, stat: workspace.Stat(stat)}, nil
}

// rebaseAbs returns the absolute path as it is called when from came to be to.
func rebaseAbs(path, from, to string) string {
	if rel, ok := relTo(from, path); ok {
		if rel == "." {
			return to
		}
		return to + path[len(from):]
	}
	return path
}
