package tools

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/crash"
	"galley/backend/fault"
	"galley/backend/reviewed"
	"galley/backend/workspace"
)

// maxRenamed is how large a document may be that is renamed, in bytes: it is
// read, so that it can be told afterwards what became of it.
const maxRenamed = 64 << 20

// countTime is how long links are counted.
const countTime = 5 * time.Second

// renaming is a new name as a call wants it.
type renaming struct {
	ws folder
	// rel and next are relative to the workspace, from and to absolute.
	rel, next, from, to string
	// digest is that of the file's bytes.
	digest string
	size   int64
}

// renaming checks all that can be checked before anything is touched.
func (e *Executor) renaming(c *call) (renaming, error) {
	var in struct{ Path, NewName string }
	if err := c.decode(&in); err != nil {
		return renaming{}, err
	}
	f, rel, ws, err := e.readable(c.scope, in.Path)
	if err != nil {
		return renaming{}, err
	}
	if !isDocument(path.Base(rel)) {
		return renaming{}, refuse(fault.NotAFile, "%s is no document: only .md, .markdown and .txt files are renamed here.", shown(rel))
	}
	if err := documentName(in.NewName); err != nil {
		return renaming{}, err
	}
	m := renaming{ws: ws, rel: rel, next: in.NewName, from: f.Path()}
	if dir := path.Dir(rel); dir != "." {
		m.next = dir + "/" + in.NewName
	}
	m.to = filepath.Join(filepath.Dir(m.from), in.NewName)
	if _, err := ws.reach(m.next); err != nil {
		return renaming{}, err
	}
	if m.from == m.to {
		return renaming{}, refuse(fault.NoChange, "%s has that name already.", shown(rel))
	}
	if err := ws.grants.CheckMove(m.from, m.to); err != nil {
		what := m.next
		if fault.CodeOf(err) == fault.NotFound {
			what = rel
		}
		return renaming{}, of(what, err)
	}
	if slices.Contains(e.cfg.Documents.Paths(), m.to) {
		return renaming{}, of(m.next, fault.New(fault.Exists, "rename document", nil))
	}
	_, stat, err := f.Read(maxRenamed)
	if err != nil {
		return renaming{}, of(rel, err)
	}
	m.digest, m.size = stat.Hash, stat.Size
	return m, nil
}

// prepareRename is for renameDocument.
func (e *Executor) prepareRename(ctx context.Context, c *call) (core.Prepared, error) {
	m, err := e.renaming(c)
	if err != nil {
		return core.Prepared{}, err
	}
	counting, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	links, _, err := reviewed.CountLinks(counting, reviewed.LinkQuery{
		Grants: m.ws.grants, Documents: e.cfg.Documents, Root: c.scope.Workspace, Path: m.from,
	})
	if ctx.Err() != nil {
		return core.Prepared{}, stopped(ctx)
	}
	if err != nil && !errors.Is(err, &fault.Error{Code: fault.Cancelled}) {
		return core.Prepared{}, of(m.rel, err)
	}
	return core.Prepared{
		Source: m.from, Target: m.to, PreDigest: m.digest, PostDigest: m.digest,
		Summary: core.ToolSummary{Path: m.rel, NewPath: m.next, Bytes: int(m.size), Links: links, Invisible: hidden(m.next)},
	}, nil
}

// renameDocument gives a document another name. Where it is open, it follows.
func (e *Executor) renameDocument(ctx context.Context, c *call) (core.ToolResult, error) {
	m, err := e.renaming(c)
	if err != nil {
		return core.ToolResult{}, err
	}
	if c.intent.InputDigest != c.digest || c.intent.Source != m.from || c.intent.Target != m.to {
		return core.ToolResult{}, disagreed()
	}
	if c.intent.PreDigest != m.digest {
		return core.ToolResult{}, refuse(fault.ChangedOnDisk, "%s was written since this was agreed to. It was not renamed. Make the call anew.", shown(m.rel))
	}
	if ctx.Err() != nil {
		return core.ToolResult{}, stopped(ctx)
	}
	crash.At("before_effect")
	c.begun = true
	move := e.cfg.Move
	if c.scope.Grants != nil {
		move = func(ctx context.Context, from, to string) error { return e.moveWith(ctx, c.scope.Grants, from, to) }
	}
	if err := move(ctx, m.from, m.to); err != nil {
		switch fault.CodeOf(err) {
		case fault.Cancelled, fault.Exists:
		default:
			// It says that nothing has moved; only a look at the disk can tell.
			if v := e.whereRenamed(m.ws.grants, m.from, m.to, m.digest); v != core.VerdictAbsent {
				return core.ToolResult{}, errUnknown
			}
		}
		if ctx.Err() != nil && fault.CodeOf(err) == fault.Cancelled {
			return core.ToolResult{}, stopped(ctx)
		}
		return core.ToolResult{}, of(m.next, err)
	}
	crash.At("after_rename")
	crash.At("after_effect")
	return core.ToolResult{
		Text:      fmt.Sprintf("Renamed %s to %s. Links to it were not changed.", shown(m.rel), shown(m.next)),
		PreDigest: m.digest, PostDigest: m.digest, Facts: core.ToolFacts{Path: m.next, Bytes: int(m.size)},
	}, nil
}

// move is Config.Move when none was given.
func (e *Executor) move(ctx context.Context, from, to string) error {
	return e.moveWith(ctx, e.cfg.Grants, from, to)
}

func (e *Executor) moveWith(ctx context.Context, g *workspace.Grants, from, to string) error {
	return e.cfg.Documents.Move(ctx, from, to, func() error {
		_, err := g.Move(ctx, from, to)
		return err
	})
}
