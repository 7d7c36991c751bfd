package document

import (
	"context"
	"log/slog"

	"galley/backend/fault"
	"galley/backend/text"
)

// Comparison is what a three-way compare starts from.
type Comparison struct {
	ID string
	// BaseHash names the baseline's text for [Set.BaseText]; "" when it is not
	// known any more.
	BaseHash string
	// DiskHash is the content hash of the file as it is now; "" when there is
	// none. [Set.DiskText] and [SaveRequest] take it.
	DiskHash    string
	DiskEndings []text.EndingRun
	// Missing is true when there is no file.
	Missing bool
	// ModifiedMs is when the file was last written; 0 when there is none.
	ModifiedMs int64
}

// compared holds the texts of the last comparison of a document, so that what
// is fetched is what was compared.
type compared struct {
	baseHash, diskHash string
	base, disk         text.Lines
}

// Compare reads a document's file anew and keeps both texts until the next
// comparison, save or reload. Faults: invalid_input for an untitled document;
// unsupported_encoding and too_large when the file cannot be shown beside it;
// those of [Set.Open]; busy, not_found, cancelled.
func (s *Set) Compare(ctx context.Context, page int64, id string) (Comparison, error) {
	d, release, err := s.begin(ctx, page, id)
	if err != nil {
		return Comparison{}, err
	}
	defer release()
	s.mu.Lock()
	st := d.state
	s.mu.Unlock()
	if st.path == "" {
		return Comparison{}, fault.New(fault.InvalidInput, "compare", nil)
	}
	out := Comparison{ID: id, DiskEndings: []text.EndingRun{}}
	both := &compared{}
	if !st.base.unknown {
		both.base, both.baseHash = st.base.lines, st.base.stat.Hash
	}
	// An empty baseline sees everything as changed, so that it is read.
	g, err := s.see(st.path, baseline{})
	switch {
	case err != nil:
		return Comparison{}, err
	case g.stat.Hash == tooLargeHash:
		return Comparison{}, fault.New(fault.TooLarge, "compare", nil)
	case g.state == DiskMissing:
		out.Missing = true
	default:
		_, both.disk, err = text.Decode(g.data)
		if err != nil {
			return Comparison{}, err
		}
		both.diskHash = g.stat.Hash
		out.DiskEndings = both.disk.Endings()
		out.ModifiedMs = g.stat.ModTimeNs / 1e6
		if g.stat.Hash == st.base.stat.Hash {
			g.state = DiskSame
		}
	}
	s.note(ctx, d, st, g, nil)
	out.BaseHash, out.DiskHash = both.baseHash, both.diskHash
	s.mu.Lock()
	d.compared = both
	s.mu.Unlock()
	return out, nil
}

// BaseText returns the baseline's text of the last comparison, which must be
// the one that hash names. Faults: not_found, stale.
func (s *Set) BaseText(id, hash string) (string, error) {
	c, err := s.comparedAs(id)
	if err != nil {
		return "", err
	}
	if hash == "" || c.baseHash != hash {
		return "", fault.New(fault.Stale, "base text", nil)
	}
	return c.base.Text(), nil
}

// DiskText is BaseText for the file's text; hash is "" where it was missing.
func (s *Set) DiskText(id, hash string) (string, error) {
	c, err := s.comparedAs(id)
	if err != nil {
		return "", err
	}
	if c.diskHash != hash {
		return "", fault.New(fault.Stale, "disk text", nil)
	}
	return c.disk.Text(), nil
}

func (s *Set) comparedAs(id string) (*compared, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.find(id)
	if err != nil {
		return nil, err
	}
	if d.compared == nil {
		return nil, fault.New(fault.NotFound, "compare", nil)
	}
	return d.compared, nil
}

// Version is one kept version of a file.
type Version struct {
	ID     string
	AtMs   int64
	Reason Reason
	// Bytes is the size of the file it was.
	Bytes int
	// Length is in UTF-16 units; it and Endings are empty for bytes that are no
	// text which can be edited.
	Length  int
	Endings []text.EndingRun
}

// Versions are the kept versions of a document's file.
type Versions struct {
	// Versions are newest first; never nil.
	Versions []Version
	// Folder is where they are kept.
	Folder string
	// Broken counts those that cannot be read.
	Broken int
}

// History lists the kept versions of a document's file; none for an untitled
// one. A damaged version does not hide the others. Faults: not_found,
// cancelled, store_failed.
func (s *Set) History(ctx context.Context, id string) (Versions, error) {
	out := Versions{Versions: []Version{}, Folder: s.history.dir}
	of, err := s.subjectOf(id)
	if err != nil || of.path == "" {
		return out, err
	}
	if err := s.history.settle(ctx); err != nil {
		return out, err
	}
	if err := s.history.turn.take(ctx); err != nil {
		return out, err
	}
	defer s.history.turn.release()
	key, err := s.history.find(of)
	if err != nil {
		return out, err
	}
	shelf, err := s.history.look(key)
	if err != nil {
		return out, err
	}
	for i := len(shelf.marks) - 1; i >= 0; i-- {
		m := shelf.marks[i]
		hd, err := s.history.readHead(key, m.id)
		if _, stored := shelf.sizes[hd.Hash]; err != nil || !stored {
			out.Broken++
			continue
		}
		if hd.Endings == nil {
			hd.Endings = []text.EndingRun{}
		}
		out.Versions = append(out.Versions, Version{
			ID: m.id, AtMs: hd.AtMs, Reason: hd.Reason, Bytes: hd.Bytes, Length: hd.Length, Endings: hd.Endings,
		})
	}
	if out.Broken > 0 {
		s.log.Error("versions not readable", slog.String("code", string(fault.StoreFailed)), slog.Int("count", out.Broken))
	}
	return out, nil
}

// VersionText returns the text of a kept version, LF only. Faults: not_found;
// unsupported_encoding for bytes that are no text; store_failed when it is
// damaged; cancelled.
func (s *Set) VersionText(ctx context.Context, id, version string) (string, error) {
	of, err := s.subjectOf(id)
	if err != nil {
		return "", err
	}
	if _, ok := parseMark(version); !ok || of.path == "" {
		return "", fault.New(fault.NotFound, "version", nil)
	}
	if err := s.history.turn.take(ctx); err != nil {
		return "", err
	}
	defer s.history.turn.release()
	key, err := s.history.find(of)
	if err != nil {
		return "", err
	}
	hd, err := s.history.readHead(key, version)
	if err != nil {
		return "", err
	}
	data, err := s.history.readContent(key, hd)
	if err != nil {
		if fault.CodeOf(err) == fault.StoreFailed {
			s.log.Error("version not readable", slog.String("code", string(fault.StoreFailed)))
		}
		return "", err
	}
	_, lines, err := text.Decode(data)
	if err != nil {
		return "", err
	}
	return lines.Text(), nil
}

// KeepVersion keeps bytes as a version of the file at path before something
// else of the program replaces them. Faults: invalid_input for a reason that is
// none, disk_full, read_only, store_failed, cancelled.
func (s *Set) KeepVersion(ctx context.Context, path string, data []byte, reason Reason) error {
	if !reason.Valid() {
		return fault.New(fault.InvalidInput, "keep version", nil)
	}
	of := subject{path: path, hash: hashOf(data)}
	if f, err := s.grants.PermitRead(path); err == nil {
		// Without it the version is found by its path alone.
		of.id, _ = f.Identity()
	}
	return s.history.keep(ctx, of, contentOf(data), reason, s.now().UnixMilli())
}

// TidyHistory keeps the history within its bounds of size and age. It belongs
// after the window is usable. Faults: cancelled, store_failed.
func (s *Set) TidyHistory(ctx context.Context) error {
	broken, err := s.history.tidy(ctx)
	if broken > 0 {
		s.log.Error("versions not readable", slog.String("code", string(fault.StoreFailed)), slog.Int("count", broken))
	}
	return err
}

// subjectOf is the file of a document for the history.
func (s *Set) subjectOf(id string) (subject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d, err := s.find(id)
	if err != nil {
		return subject{}, err
	}
	return d.subject(), nil
}

// subject is the file as it was last read or written here.
func (st state) subject() subject {
	return subject{path: st.path, id: st.base.id, hash: st.base.stat.Hash}
}
