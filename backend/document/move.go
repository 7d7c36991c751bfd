package document

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// Move has do move a file or folder from from to to, with the open documents at
// or below from at rest: no save is under way and none begins. When do returns
// nil they, their history and the drafts of earlier starts are those of to, and
// each document is told as [DiskMoved]. Both paths are absolute. It waits until
// ctx ends. Faults, upon which nothing has moved: exists where another open
// document has its place at to, be its file there or not; cancelled; those of do.
func (s *Set) Move(ctx context.Context, from, to string, do func() error) error {
	from, to = filepath.Clean(from), filepath.Clean(to)
	// Nothing is opened by the old path meanwhile.
	if err := s.opening.take(ctx); err != nil {
		return err
	}
	defer s.opening.release()
	held, err := s.hold(ctx, from)
	defer func() {
		for _, d := range held {
			d.turn.release()
		}
	}()
	if err != nil {
		return err
	}
	if err := s.noneOpenWithin(to, held); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	// It has moved, so that nothing may stop here any more.
	ctx = context.WithoutCancel(ctx)
	for _, d := range held {
		s.mu.Lock()
		path, ok := movedPath(d.path, from, to)
		if ok {
			d.path = path
			d.touch()
		}
		info := d.info(d.id)
		s.mu.Unlock()
		if ok {
			s.onDisk(DiskChange{State: DiskMoved, Document: info, AtMs: s.now().UnixMilli()})
		}
	}
	if err := errors.Join(s.history.moved(ctx, from, to), s.moveLeft(from, to)); err != nil {
		// The files are where they belong, and their texts whole.
		s.log.Warn("history or drafts not moved", slog.String("code", string(fault.CodeOf(err))))
	}
	return nil
}

// Paths returns the paths of the open documents that have one; never nil.
func (s *Set) Paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	paths := make([]string, 0, len(s.docs))
	for _, d := range s.docs {
		if d.path != "" {
			paths = append(paths, d.path)
		}
	}
	return paths
}

// hold takes the turns of the documents at or below path, also after an error.
func (s *Set) hold(ctx context.Context, path string) (held []*doc, err error) {
	s.mu.Lock()
	var docs []*doc
	for _, d := range s.docs {
		if _, ok := movedPath(d.path, path, path); ok {
			docs = append(docs, d)
		}
	}
	s.mu.Unlock()
	// Two moves take them in one order, so that neither waits for the other.
	slices.SortFunc(docs, func(a, b *doc) int { return strings.Compare(a.id, b.id) })
	for _, d := range docs {
		if err := d.turn.take(ctx); err != nil {
			return held, err
		}
		held = append(held, d)
	}
	return held, nil
}

// noneOpenWithin refuses a path at or below which an open document that is not
// among held has its file, or had it: two documents with one path would save
// over each other.
func (s *Set) noneOpenWithin(path string, held []*doc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.docs {
		if _, ok := movedPath(d.path, path, path); ok && !slices.Contains(held, d) {
			return &fault.Error{Code: fault.Exists, Op: "move", Detail: d.path}
		}
	}
	return nil
}

// moveLeft makes the drafts of earlier starts that are of files at or below
// from those of to.
func (s *Set) moveLeft(from, to string) error {
	s.mu.Lock()
	paths := map[string]string{}
	for id, l := range s.left {
		if path, ok := movedPath(l.path, from, to); ok {
			paths[id] = path
		}
	}
	s.mu.Unlock()
	var errs []error
	for id, path := range paths {
		if err := s.repath(id, path); err != nil {
			errs = append(errs, fmt.Errorf("move draft: %w", err))
			continue
		}
		s.mu.Lock()
		if l, ok := s.left[id]; ok {
			l.path = path
			s.left[id] = l
		}
		s.mu.Unlock()
	}
	return errors.Join(errs...)
}

// repath writes the draft of an earlier start whole, with another path.
func (s *Set) repath(id, path string) error {
	at := s.draftPath(id)
	st, savedAtMs, err := readDraft(at)
	if err != nil {
		return internal("read draft", err)
	}
	st.path = path
	data, err := encodeDraft(st, savedAtMs)
	if err != nil {
		return internal("encode draft", err)
	}
	if err := workspace.ReplaceFileOn(s.calls, at, data, 0o600); err != nil {
		return err
	}
	// The changes beside it were of the draft from before, and are in this one.
	if err := os.Remove(changesPath(at)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return internal("remove changes", err)
	}
	return nil
}
