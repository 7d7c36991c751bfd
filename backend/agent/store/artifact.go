package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/agent/crash"
	"galley/backend/fault"
)

// A file of the artifacts' folder has the name of its artifact, and this ending
// as long as it is being written.
const unfinished = ".tmp"

// errNoRoom says that an artifact does not fit the quota, whatever may go.
var errNoRoom = errors.New("no room for the artifact")

// wholeFile is an artifact whose file is durable and which no result names yet.
type wholeFile struct {
	core.Artifact
	sum [sha256.Size]byte
}

// keepWhole writes all that came of a call to a file, where there is more than
// its result: first the fact that it is being written, then the file, so that
// whatever a crash leaves is known. An empty id means that nothing is kept. An
// error means that the call cannot be finished.
func (s *Store) keepWhole(ctx context.Context, op string, id core.ToolCallID, end core.CallEnd) (wholeFile, error) {
	if end.Whole == "" {
		return wholeFile{}, nil
	}
	w := wholeFile{sum: sha256.Sum256([]byte(end.Whole))}
	w.Kind, w.Bytes = end.WholeKind, int64(len(end.Whole))
	if w.Kind == "" {
		w.Kind = core.ArtifactLog
	}
	var gone []artifactRow
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		c, err := t.call(ctx, op, id)
		if err != nil {
			return err
		}
		if !end.State.Final() || !core.MayCall(core.ActorExecutor, c.State, end.State) {
			return badState(op, c.State)
		}
		if gone, err = t.makeRoom(ctx, c.RunID, w.Bytes); err != nil {
			return err
		}
		w.ID = core.ArtifactID(s.cfg.NewID())
		return t.update(ctx, qInsertArtifact, string(w.ID), string(c.RunID), string(id), string(w.Kind), string(w.ID), w.Bytes)
	})
	switch {
	case errors.Is(err, errNoRoom):
		s.log.Warn("result not kept whole", "call", id, "bytes", w.Bytes, "err", errNoRoom)
		return wholeFile{}, nil
	case err != nil:
		return wholeFile{}, err
	}
	s.removeFiles(gone)
	if err := s.writeArtifact(string(w.ID), end.Whole); err != nil {
		// What happened is more than the whole of what came.
		s.log.Warn("result not kept whole", "call", id, "bytes", w.Bytes, "err", err)
		s.forget(ctx, w.ID)
		return wholeFile{}, nil
	}
	return w, nil
}

// makeRoom lets the oldest logs and caches go that stand in the way of an
// artifact of so many bytes, first those of its run and then any. It returns
// those whose files are to be removed after the commit.
func (t *tx) makeRoom(ctx context.Context, run core.RunID, size int64) (gone []artifactRow, err error) {
	for _, quota := range []struct {
		limit       int64
		used, spare string
		args        []any
	}{
		{t.s.cfg.ArtifactsPerRun, qBytesOfRun, qSpareOfRun, []any{string(run)}},
		{t.s.cfg.ArtifactsInAll, qBytesOfAll, qSpareOfAll, nil},
	} {
		used, _, err := one(ctx, t, scanInt, quota.used, quota.args...)
		if err != nil {
			return nil, err
		}
		if used+size <= quota.limit {
			continue
		}
		spare, err := all(ctx, t, scanArtifact, quota.spare, quota.args...)
		if err != nil {
			return nil, err
		}
		for _, a := range spare {
			if used+size <= quota.limit {
				break
			}
			if err := t.update(ctx, qMoveArtifact, string(core.ArtifactDeleted), string(a.ID)); err != nil {
				return nil, err
			}
			used -= a.Bytes
			gone = append(gone, a)
		}
		if used+size > quota.limit {
			return nil, errNoRoom // nothing of this change stays
		}
	}
	return gone, nil
}

// writeArtifact writes a durable file of this name.
func (s *Store) writeArtifact(name, content string) error {
	if err := os.Mkdir(s.cfg.Artifacts, 0o700); err == nil {
		if err := syncDir(filepath.Dir(s.cfg.Artifacts)); err != nil {
			return err
		}
	} else if !errors.Is(err, os.ErrExist) {
		return err
	}
	path := filepath.Join(s.cfg.Artifacts, name)
	if err := os.WriteFile(path+unfinished, []byte(content), 0o600); err != nil {
		return err
	}
	if err := syncFile(path + unfinished); err != nil {
		return err
	}
	if err := os.Rename(path+unfinished, path); err != nil {
		return err
	}
	crash.At("during_artifact_rename")
	return syncDir(s.cfg.Artifacts)
}

// forget takes back an artifact that no result names. What cannot be taken back
// now is an orphan, which the next start removes.
func (s *Store) forget(ctx context.Context, id core.ArtifactID) {
	s.removeFiles([]artifactRow{{file: string(id)}})
	err := s.change(ctx, "forget artifact", func(ctx context.Context, t *tx) error {
		return t.update(ctx, qForgetArtifact, string(id))
	})
	if err != nil {
		s.log.Warn("artifact not forgotten", "artifact", id, "err", err)
	}
}

// removeFiles removes the files of artifacts, finished or not.
func (s *Store) removeFiles(list []artifactRow) {
	for _, a := range list {
		path := filepath.Join(s.cfg.Artifacts, a.file)
		if err := errors.Join(removeIfThere(path+unfinished), removeIfThere(path)); err != nil {
			s.log.Warn("artifact not removed", "artifact", a.ID, "err", err)
		}
	}
}

// Artifact returns at most limit bytes of a published artifact from an offset,
// none at its end. One that was cleaned away, whose file is gone or has another
// size than was published is not_found.
func (s *Store) Artifact(ctx context.Context, id core.ArtifactID, offset int64, limit int) (core.Artifact, []byte, error) {
	const op = "read artifact"
	missing := &fault.Error{Code: fault.NotFound, Op: op, Detail: "artifact"}
	if offset < 0 || limit < 1 {
		return core.Artifact{}, nil, &fault.Error{Code: fault.InvalidInput, Op: op}
	}
	a, ok, err := one(ctx, plain{s.reader}, scanArtifact, qArtifact, string(id))
	if err != nil {
		return core.Artifact{}, nil, readFault(op, err)
	}
	if !ok || a.State != core.ArtifactPublished {
		return core.Artifact{}, nil, missing
	}
	f, err := os.Open(filepath.Join(s.cfg.Artifacts, a.file))
	if errors.Is(err, os.ErrNotExist) {
		return core.Artifact{}, nil, missing
	}
	if err != nil {
		return core.Artifact{}, nil, fault.New(fault.StoreFailed, op, err)
	}
	b, err := readAt(f, a.Bytes, offset, limit)
	if errors.Is(err, errChanged) {
		return core.Artifact{}, nil, missing
	}
	if err != nil {
		return core.Artifact{}, nil, fault.New(fault.StoreFailed, op, err)
	}
	return a.Artifact, b, nil
}

// errChanged says that a file is not the one that was published.
var errChanged = errors.New("artifact has another size")

// readAt reads a piece of a file of a known size and closes it.
func readAt(f *os.File, size, offset int64, limit int) (b []byte, err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() != size {
		return nil, errChanged
	}
	b = make([]byte, max(0, min(size-offset, int64(limit))))
	_, err = io.ReadFull(io.NewSectionReader(f, offset, int64(len(b))), b)
	return b, err
}

// sweep settles what earlier starts left of artifacts: what was being written
// is missing, files that nothing refers to go, and what is published but has no
// file is missing. A product is missing too then, never removed (R11).
func (s *Store) sweep(ctx context.Context) error {
	// The files first: one that is made from here on has its row before.
	entries, err := os.ReadDir(s.cfg.Artifacts)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.log.Warn("artifacts not looked through", "err", err)
		entries = nil
	}
	looked := err == nil || errors.Is(err, os.ErrNotExist)
	there := map[string]bool{}
	for _, e := range entries {
		there[e.Name()] = e.Type().IsRegular()
	}
	var gone []artifactRow
	err = s.change(ctx, "sweep artifacts", func(ctx context.Context, t *tx) error {
		if _, err := t.exec(ctx, qArtifactsLost, s.cfg.BootID); err != nil || !looked {
			return err
		}
		held, err := all(ctx, t, scanArtifact, qArtifactsHeld)
		if err != nil {
			return err
		}
		for _, a := range held {
			if a.State == core.ArtifactPublished && !there[a.file] {
				if err := t.update(ctx, qMoveArtifact, string(core.ArtifactMissing), string(a.ID)); err != nil {
					return err
				}
			}
			delete(there, a.file)
			if a.State == core.ArtifactWriting {
				delete(there, a.file+unfinished)
			}
		}
		for name, file := range there {
			if file {
				gone = append(gone, artifactRow{file: strings.TrimSuffix(name, unfinished)})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(gone) > 0 {
		s.log.Info("orphaned artifacts removed", "files", len(gone))
	}
	s.removeFiles(gone)
	return nil
}
