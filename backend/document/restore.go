package document

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
)

// previewLength is how many characters of a draft are shown.
const previewLength = 160

// leftover is a draft of an earlier start that waits for a decision.
type leftover struct {
	path      string
	base      workspace.Stat
	savedAtMs int64
	length    int
	preview   string
}

// Draft describes unsaved text that an earlier start left.
type Draft struct {
	ID string
	// Path is absolute; empty for an untitled document.
	Path string
	// Name is the file's name; empty for an untitled document.
	Name      string
	SavedAtMs int64
	// Length is in UTF-16 units.
	Length int
	// Preview is the first 160 characters.
	Preview string
	// Conflict is true when the file is known to have changed since the draft's
	// baseline, or to be gone. It is false where the file may not be read.
	Conflict bool
}

// takeStock reads the drafts of earlier starts. One that cannot be read is
// renamed, so that it is kept and met only once.
func (s *Set) takeStock() {
	// Only files half written by processes that are gone.
	if err := workspace.SweepFolder(s.draftFolder()); err != nil {
		s.log.Warn("drafts not swept", slog.Any("err", err))
	}
	found, err := os.ReadDir(s.draftFolder())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Error("drafts not listed", slog.Any("err", err))
		s.broken = append(s.broken, s.draftFolder())
	}
	for _, f := range found {
		path := filepath.Join(s.draftFolder(), f.Name())
		if strings.HasSuffix(f.Name(), draftExt+brokenExt) {
			s.broken = append(s.broken, path)
			continue
		}
		if name, ok := strings.CutSuffix(f.Name(), changesExt); ok && !has(found, name+draftExt) {
			// Of a draft that is decided; it tells nothing without it.
			_ = os.Remove(path)
		}
		id, isDraft := strings.CutSuffix(f.Name(), draftExt)
		if !isDraft {
			continue
		}
		st, at, err := readDraft(path)
		if err != nil {
			s.log.Error("draft not readable", slog.Any("err", err))
			if errors.Is(err, errBroken) && os.Rename(path, path+brokenExt) == nil {
				// What belongs to it may help, and is not needed to say so.
				_ = os.Rename(changesPath(path), changesPath(path)+brokenExt)
				path += brokenExt
			}
			s.broken = append(s.broken, path)
			continue
		}
		s.left[id] = leftover{
			path: st.path, base: st.base.stat, savedAtMs: at,
			length: st.lines.Len(), preview: preview(st.lines.Text()),
		}
	}
}

func has(entries []fs.DirEntry, name string) bool {
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
}

func readDraft(path string) (state, int64, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return state{}, 0, err
	}
	if !info.Mode().IsRegular() {
		return state{}, 0, errBroken
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return state{}, 0, err
	}
	st, _, err := decodeDraft(data)
	if err != nil {
		return state{}, 0, err
	}
	replay(path, draftDigest(data), &st)
	return st, st.restoredAtMs, nil
}

// preview returns the beginning of a text.
func preview(s string) string {
	n := 0
	for range previewLength {
		if n == len(s) {
			break
		}
		_, size := utf8.DecodeRuneInString(s[n:])
		n += size
	}
	return strings.Clone(s[:n])
}

// Drafts lists the unsaved texts of earlier starts, newest first; never nil.
// It looks at their files as far as these may be read, and leaves out
// those that were saved after all.
func (s *Set) Drafts(ctx context.Context) ([]Draft, error) {
	s.mu.Lock()
	left := make(map[string]leftover, len(s.left))
	for id, l := range s.left {
		left[id] = l
	}
	s.mu.Unlock()
	out := []Draft{}
	for id, l := range left {
		if err := ctx.Err(); err != nil {
			return nil, cancelled(err)
		}
		d := Draft{ID: id, Path: l.path, SavedAtMs: l.savedAtMs, Length: l.length, Preview: l.preview}
		if l.path != "" {
			d.Name = filepath.Base(l.path)
			g, err := s.see(l.path, baseline{stat: l.base})
			d.Conflict = err == nil && (g.state != DiskSame || g.moving)
			if d.Conflict && g.read && s.spent(id, g.stat.Hash) {
				s.letGo(id, g)
				continue
			}
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b Draft) int {
		if a.SavedAtMs != b.SavedAtMs {
			return int(b.SavedAtMs - a.SavedAtMs)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out, nil
}

// spent reports whether a draft says what its file, with this content hash, says:
// the program ended after the save and before the draft was removed.
func (s *Set) spent(id, fileHash string) bool {
	st, _, err := readDraft(s.draftPath(id))
	return err == nil && hashOf(text.Encode(st.format, st.lines)) == fileHash
}

// durableAfter is how long a file must have been as it is for its draft to go:
// by then a rename that nobody made durable has reached the disk.
const durableAfter = time.Minute

// letGo removes a draft whose text its file holds. A later start looks at what
// is kept again.
func (s *Set) letGo(id string, g sight) {
	last := time.Unix(0, max(g.stat.ModTimeNs, g.stat.ChangeTimeNs))
	if g.at.Sub(last) < durableAfter {
		return
	}
	if err := s.dropLeft(id); err != nil {
		s.log.Warn("draft not removed", slog.String("code", string(fault.CodeOf(err))))
	}
}

// BrokenDrafts names the files in the drafts folder that could not be read and
// are kept aside, for the person to look at; never nil.
func (s *Set) BrokenDrafts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.broken...)
}

// RestoreDraft opens a draft as a dirty document with the draft's own
// baseline: saving it over a file that changed since is a conflict. Where the
// file is open and has no unsaved text, that document takes the draft's text,
// one version later. Grants for the draft's path are the caller's to make.
// Faults: not_found; exists when the file is open with unsaved text; internal
// when the draft cannot be read any more; busy, cancelled.
func (s *Set) RestoreDraft(ctx context.Context, page int64, id string) (Info, error) {
	if err := s.opening.take(ctx); err != nil {
		return Info{}, err
	}
	defer s.opening.release()
	if err := s.checkLeft(page, id); err != nil {
		return Info{}, err
	}
	st, _, err := readDraft(s.draftPath(id))
	if err != nil {
		return Info{}, internal("restore draft", err)
	}
	if st.path == "" {
		return s.reopen(id, st), nil
	}
	s.recall(ctx, &st)
	f, err := s.grants.PermitRead(st.path)
	if err != nil {
		// Gone or out of reach: the text comes back all the same, and saving
		// it says what is wrong.
		s.standing(&st)
		if err := s.noneOpenAt("restore draft", st.path, nil); err != nil {
			return Info{}, err
		}
		return s.reopen(id, st), nil
	}
	st.base.learn(f)
	s.standing(&st)
	open, err := s.holding(f)
	if err != nil {
		return Info{}, err
	}
	if open == nil {
		return s.reopen(id, st), nil
	}
	return s.adopt(ctx, open, id, st)
}

// learn reads the text of a draft's baseline, if the file still has it.
func (b *baseline) learn(f workspace.File) {
	at := time.Now()
	data, stat, err := f.Read(maxShown)
	if err != nil || stat.Hash != b.stat.Hash {
		return
	}
	format, lines, err := text.Decode(data)
	if err != nil {
		return
	}
	*b = baseline{stat: stat, seenAt: at, id: identityOf(f, stat), format: format, lines: lines}
}

// standing notes how the file of a draft stands to its baseline, so that the
// document says so from the start.
func (s *Set) standing(st *state) {
	g, err := s.see(st.path, st.base)
	if err != nil {
		return // out of reach
	}
	st.disk, st.diskHash = g.state, ""
	if g.state == DiskChanged {
		st.diskHash = g.stat.Hash
	}
}

// recall reads the text of a draft's baseline from the history, where it was
// kept when the file was first edited.
func (s *Set) recall(ctx context.Context, st *state) {
	data, err := s.history.withHash(ctx, st.subject())
	if err != nil {
		s.log.Debug("baseline not in the history", slog.String("code", string(fault.CodeOf(err))))
		return
	}
	format, lines, err := text.Decode(data)
	if err == nil {
		st.base.format, st.base.lines, st.base.unknown = format, lines, false
	}
}

// reopen opens a draft as a document of its own.
func (s *Set) reopen(id string, st state) Info {
	s.mu.Lock()
	delete(s.left, id)
	d := s.add(newID(), st, id)
	d.touch()
	st = d.state
	s.mu.Unlock()
	return st.info(d.id)
}

// adopt gives a draft's text to the document that has its file open.
func (s *Set) adopt(ctx context.Context, d *doc, id string, st state) (Info, error) {
	if err := d.turn.take(ctx); err != nil {
		return Info{}, err
	}
	defer d.turn.release()
	s.mu.Lock()
	if d.dirty || d.readOnly != "" {
		s.mu.Unlock()
		return Info{}, &fault.Error{Code: fault.Exists, Op: "restore draft", Detail: filepath.Base(st.path)}
	}
	st.path, st.version, st.stamp = d.path, d.version+1, d.stamp
	d.state = st
	d.touch()
	s.mu.Unlock()
	// The document has a draft of its own from here on. Only when that one is
	// durable may the old one go; else it is offered again.
	i := s.settled(ctx, d)
	if i.DraftFault == "" && ctx.Err() == nil {
		return i, s.dropLeft(id)
	}
	return i, nil
}

// noneOpenAt refuses a path that an open document but except has, whether its
// file is there or not.
func (s *Set) noneOpenAt(op, path string, except *doc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.docs {
		if d.path == path && d != except {
			return &fault.Error{Code: fault.Exists, Op: op, Detail: filepath.Base(path)}
		}
	}
	return nil
}

// DiscardDraft removes a draft of an earlier start for good. Faults:
// not_found; busy, cancelled.
func (s *Set) DiscardDraft(ctx context.Context, page int64, id string) error {
	if err := s.opening.take(ctx); err != nil {
		return err
	}
	defer s.opening.release()
	if err := s.checkLeft(page, id); err != nil {
		return err
	}
	return s.dropLeft(id)
}

// checkLeft sees that id is a draft that waits for a decision of this page.
func (s *Set) checkLeft(page int64, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkPage(page); err != nil {
		return err
	}
	if _, ok := s.left[id]; !ok {
		return fault.New(fault.NotFound, "draft", nil)
	}
	return nil
}

// dropLeft removes the file of a draft that is decided.
func (s *Set) dropLeft(id string) error {
	for _, path := range []string{s.draftPath(id), changesPath(s.draftPath(id))} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return internal("remove draft", err)
		}
	}
	s.mu.Lock()
	delete(s.left, id)
	s.mu.Unlock()
	return nil
}
