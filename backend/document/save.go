package document

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

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
// not what the page holds (unknown_base), when the file is neither the baseline
// nor the version that DiskHash names, or is gone (changed_on_disk), or when
// there is nothing to write. What is written over is in the history before; it
// is refused where a version that is not the baseline cannot be kept (disk_full,
// store_failed). Further faults: those
// of [workspace.Target.Write]; read_only for a view; invalid_input for an
// untitled document; busy, not_found, cancelled. After each fault the document
// is as it was.
func (s *Set) Save(ctx context.Context, r SaveRequest) (Saved, error) {
	d, release, err := s.begin(ctx, r.Page, r.ID)
	if err != nil {
		return Saved{}, err
	}
	defer release()
	st, data, err := s.agreed(d, r)
	if err != nil {
		return Saved{}, err
	}
	if st.path == "" {
		return Saved{}, fault.New(fault.InvalidInput, "save", nil)
	}
	done, err := s.write(ctx, d, st, data, st.path, r)
	if fault.CodeOf(err) == fault.ChangedOnDisk {
		// The document says so from here on, without waiting for a watcher.
		if g, err := s.see(st.path, st.base); err == nil {
			s.note(ctx, d, st, g, nil)
		}
	}
	return done, err
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
	st, data, err := s.agreed(d, r)
	if err != nil {
		return Saved{}, err
	}
	if f, err := s.grants.PermitRead(path); err == nil {
		other, err := s.holding(f)
		if err != nil {
			return Saved{}, err
		}
		if other == d {
			return s.write(ctx, d, st, data, st.path, r)
		}
		if other != nil {
			return Saved{}, &fault.Error{Code: fault.Exists, Op: "save as", Detail: filepath.Base(path)}
		}
	}
	// That of another document can be gone: it still is that one's.
	if err := s.noneOpenAt("save as", path, d); err != nil {
		return Saved{}, err
	}
	r.Overwrite = true
	return s.write(ctx, d, st, data, path, r)
}

// agreed returns the state of a document whose mirror is what the page holds,
// and the bytes of its file.
func (s *Set) agreed(d *doc, r SaveRequest) (state, []byte, error) {
	s.mu.Lock()
	_, err := s.editable(r.Page, r.ID)
	st := d.state
	s.mu.Unlock()
	if err != nil {
		return state{}, nil, err
	}
	if r.Version != st.version || r.Length != st.lines.Len() {
		return state{}, nil, fault.New(fault.UnknownBase, "save", nil)
	}
	// Of a large text both take their time, and one does not need the other.
	data := make(chan []byte, 1)
	go func() { data <- text.Encode(st.format, st.lines) }()
	if r.Digest != st.lines.Digest() {
		return state{}, nil, fault.New(fault.UnknownBase, "save", nil)
	}
	return st, <-data, nil
}

// write writes a state to path and makes what was written the baseline. The
// document's turn must be held; it may be edited meanwhile.
func (s *Set) write(ctx context.Context, d *doc, st state, data []byte, path string, r SaveRequest) (Saved, error) {
	own := path == st.path
	if own && !st.dirty {
		done, err := s.unchanged(st)
		switch {
		case err == nil:
			return s.saved(ctx, d, st, path, done, nil)
		case fault.CodeOf(err) != fault.ChangedOnDisk || !r.Overwrite && r.DiskHash == "":
			return Saved{}, err
		}
	}
	target, err := s.grants.PermitWrite(path)
	if err != nil {
		return Saved{}, err
	}
	options := workspace.WriteOptions{
		Overwrite: r.Overwrite, Watch: true, RecoveryDir: filepath.Join(s.home, "recovery"),
		Keep: func(old []byte, hash string) error { return s.keepOld(ctx, st, path, old, hash) },
	}
	if own {
		options.Base = st.base.stat
		if r.DiskHash != "" {
			options.Base.Hash = r.DiskHash
		}
	}
	done, err := target.Write(data, options)
	if err != nil {
		return Saved{Fallback: done.Fallback, RecoveryPath: done.RecoveryPath}, err
	}
	if done.Replaced != nil {
		s.watchReplaced(path, done.Replaced)
	}
	return s.saved(ctx, d, st, path, done, data)
}

// watchReplaced looks for a while at the file that a save replaced: another
// program can have opened it before, and what it writes into it afterwards has
// no name. That goes to the history.
func (s *Set) watchReplaced(path string, old *workspace.Replaced) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		old.Close()
		return
	}
	s.watching.Go(func() {
		defer old.Close()
		select {
		case <-time.After(lateRounds * s.settle):
		case <-s.ctx.Done():
		}
		data, err := old.Changed()
		if err == nil && len(data) > 0 {
			ctx := context.Background() // also when the program is ending
			err = s.history.keep(ctx, subject{path: path, hash: hashOf(data)}, contentOf(data), VersionOverwritten, s.now().UnixMilli())
		}
		if err != nil {
			s.log.Warn("version not kept", slog.String("code", string(fault.CodeOf(err))))
		}
	})
}

// lateRounds times the settling of a file is how long one that was replaced is
// looked at: 2 s.
const lateRounds = 25

// keepOld keeps what a save is about to write over. That is the baseline, which
// the file of an earlier version may be too, or somebody else's text, without
// which nothing is written.
func (s *Set) keepOld(ctx context.Context, st state, path string, old []byte, hash string) error {
	of := st.subject()
	if path != st.path {
		of = subject{path: path}
	}
	if hash != of.hash {
		if path == st.path {
			s.keepBase(ctx, st, s.now().UnixMilli())
		}
		of.hash = hash
		return s.history.keep(ctx, of, contentOf(old), VersionOverwritten, s.now().UnixMilli())
	}
	err := s.history.ensure(ctx, of, func() content { return contentOf(old) }, st.base.reason(), s.now().UnixMilli())
	if err != nil {
		s.log.Warn("version not kept", slog.String("code", string(fault.CodeOf(err))))
	}
	return nil
}

// unchanged sees that the file still is the baseline, so that nothing need be
// written. Only its hash decides; it is read only when it looks changed.
func (s *Set) unchanged(st state) (workspace.WriteResult, error) {
	stat, same, err := s.compareFile(st.path, st.base)
	if err == nil && !same {
		err = &fault.Error{Code: fault.ChangedOnDisk, Op: "save", Detail: st.path}
	}
	return workspace.WriteResult{Stat: stat}, err
}

// compareFile reports whether the file at path still is base, and what is known
// of it now. A file that is gone is another.
func (s *Set) compareFile(path string, base baseline) (stat workspace.Stat, same bool, err error) {
	g, err := s.see(path, base)
	return g.stat, g.state == DiskSame && !g.moving, err
}

// saved makes what was written the baseline and lets the draft follow. data is
// nil when the file held it already.
func (s *Set) saved(ctx context.Context, d *doc, st state, path string, done workspace.WriteResult, data []byte) (Saved, error) {
	base := baseline{stat: done.Stat, seenAt: time.Now(), format: st.format, lines: st.lines, saved: st.base.saved || data != nil}
	if f, err := s.grants.PermitRead(path); err == nil {
		base.id = identityOf(f, done.Stat)
	}
	s.mu.Lock()
	d.path = path
	d.base = base
	d.restoredAtMs = 0
	d.disk, d.diskHash, d.compared = DiskSame, "", nil
	d.touch()
	info := d.info(d.id)
	s.mu.Unlock()
	// The draft goes in its own time: until then it says what the file says,
	// and is dropped by the next start.
	d.keeper.poke()
	if data != nil {
		// Last, since packing it is work too, which the person need not wait for.
		of := subject{path: path, id: base.id, hash: done.Stat.Hash}
		s.history.keepLater(ctx, of, func() content { return contentOf(data) }, VersionSaved)
	}
	return Saved{
		Document: info, SavedAtMs: s.now().UnixMilli(), Bytes: int(done.Stat.Size),
		Written: data != nil, Fallback: done.Fallback, RecoveryPath: done.RecoveryPath,
	}, nil
}
