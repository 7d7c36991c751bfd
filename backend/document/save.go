package document

import (
	"context"
	"path/filepath"

	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
)

// SaveRequest asks to write a mirror, which must be what the page holds.
type SaveRequest struct {
	Page int64
	ID   string
	// Version, Length in UTF-16 units and Digest are those of the page's
	// text.
	Version, Length int
	Digest          string
	// Overwrite writes over a file that changed outside.
	Overwrite bool
	// DiskHash is the content hash of the one outside change that may be written
	// over; "" for none.
	DiskHash string
}

// Saved is a save that happened.
type Saved struct {
	Document Info
	// SavedAtMs is the time; Bytes the size of the file.
	SavedAtMs int64
	Bytes     int
	// Written is false when the file held these bytes already.
	Written bool
	// Fallback is true when the file was written in place; RecoveryPath is
	// then a copy of its old bytes.
	Fallback bool
	// RecoveryPath can be set beside an error: a copy of the new bytes.
	RecoveryPath string
}

// Save writes the mirror to its file. Nothing is written when the mirror is
// not what the page holds (unknown_base), when the file is not the baseline
// (changed_on_disk), or when there is nothing to write. Further faults: those
// of [workspace.Target.Write]; read_only for a view; invalid_input for an
// untitled document; busy, not_found, cancelled. After each fault the document
// is as it was.
func (s *Set) Save(ctx context.Context, r SaveRequest) (Saved, error) {
	d, release, err := s.begin(ctx, r.Page, r.ID)
	if err != nil {
		return Saved{}, err
	}
	defer release()
	st, err := s.agreed(d, r)
	if err != nil {
		return Saved{}, err
	}
	if st.path == "" {
		return Saved{}, fault.New(fault.InvalidInput, "save", nil)
	}
	return s.write(ctx, d, st, st.path, r.Overwrite)
}

// SaveAs writes the mirror to path, which the person chose in a dialog and
// which is granted, over whatever is there, and makes it the document's file.
// It is exists when another open document holds that file; faults besides are
// those of [Set.Save].
func (s *Set) SaveAs(ctx context.Context, r SaveRequest, path string) (Saved, error) {
	if err := s.opening.take(ctx); err != nil {
		return Saved{}, err
	}
	defer s.opening.release()
	d, release, err := s.begin(ctx, r.Page, r.ID)
	if err != nil {
		return Saved{}, err
	}
	defer release()
	st, err := s.agreed(d, r)
	if err != nil {
		return Saved{}, err
	}
	if f, err := s.grants.PermitRead(path); err == nil {
		other, err := s.holding(f)
		if err != nil {
			return Saved{}, err
		}
		if other == d {
			return s.write(ctx, d, st, st.path, r.Overwrite)
		}
		if other != nil {
			return Saved{}, &fault.Error{Code: fault.Exists, Op: "save as", Detail: filepath.Base(path)}
		}
	}
	return s.write(ctx, d, st, path, true)
}

// agreed returns the state of a document whose mirror is what the page holds.
func (s *Set) agreed(d *doc, r SaveRequest) (state, error) {
	s.mu.Lock()
	_, err := s.editable(r.Page, r.ID)
	st := d.state
	s.mu.Unlock()
	if err != nil {
		return state{}, err
	}
	if r.Version != st.version || r.Length != st.lines.Len() || r.Digest != st.lines.Digest() {
		return state{}, fault.New(fault.UnknownBase, "save", nil)
	}
	return st, nil
}

// write writes a state to path and makes what was written the baseline. The
// document's turn must be held; it may be edited meanwhile.
func (s *Set) write(ctx context.Context, d *doc, st state, path string, overwrite bool) (Saved, error) {
	own := path == st.path
	if own && !st.dirty {
		done, err := s.unchanged(st)
		switch {
		case err == nil:
			return s.saved(ctx, d, st, path, done, false)
		case fault.CodeOf(err) != fault.ChangedOnDisk || !overwrite:
			return Saved{}, err
		}
	}
	target, err := s.grants.PermitWrite(path)
	if err != nil {
		return Saved{}, err
	}
	options := workspace.WriteOptions{Overwrite: overwrite, RecoveryDir: filepath.Join(s.home, "recovery")}
	if own {
		options.Base = st.base.stat
	}
	done, err := target.Write(text.Encode(st.format, st.lines), options)
	if err != nil {
		return Saved{Fallback: done.Fallback, RecoveryPath: done.RecoveryPath}, err
	}
	return s.saved(ctx, d, st, path, done, true)
}

// unchanged sees that the file still is the baseline, so that nothing need be
// written. Only its hash decides; it is read only when it looks changed.
func (s *Set) unchanged(st state) (workspace.WriteResult, error) {
	stat, same, err := s.onDisk(st.path, st.base.stat)
	if err == nil && !same {
		err = &fault.Error{Code: fault.ChangedOnDisk, Op: "save", Detail: st.path}
	}
	return workspace.WriteResult{Stat: stat}, err
}

// onDisk reports whether the file at path still is base, and what is known of
// it now. A file that is gone is another.
func (s *Set) onDisk(path string, base workspace.Stat) (stat workspace.Stat, same bool, err error) {
	f, err := s.grants.PermitRead(path)
	if err == nil {
		stat, err = f.Stat()
	}
	if err == nil {
		stat.Hash = base.Hash
		if stat == base {
			return stat, true, nil
		}
		_, stat, err = f.Read(maxShown)
	}
	switch fault.CodeOf(err) {
	case "":
		return stat, stat.Hash == base.Hash, nil
	case fault.NotFound, fault.NotAFile, fault.TooLarge:
		return workspace.Stat{}, false, nil
	default:
		return workspace.Stat{}, false, err
	}
}

// saved makes what was written the baseline and lets the draft follow.
func (s *Set) saved(ctx context.Context, d *doc, st state, path string, done workspace.WriteResult, written bool) (Saved, error) {
	s.mu.Lock()
	d.path = path
	d.base = baseline{stat: done.Stat, format: st.format, lines: st.lines}
	d.restoredAtMs = 0
	d.touch()
	s.mu.Unlock()
	return Saved{
		Document: s.settled(ctx, d), SavedAtMs: s.now().UnixMilli(), Bytes: int(done.Stat.Size),
		Written: written, Fallback: done.Fallback, RecoveryPath: done.RecoveryPath,
	}, nil
}
