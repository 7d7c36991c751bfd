package tools

import (
	"context"
	"math"
	"path/filepath"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/workspace"
)

// probeCreate looks for what became of a createDocument, and removes the
// temporary file that it may have left.
func (e *Executor) probeCreate(_ context.Context, c *call) (core.ToolVerdict, error) {
	target, want := c.intent.Target, c.intent.PostDigest
	if target == "" || want == "" {
		return core.VerdictUnknown, nil
	}
	g := e.grants(c.scope)
	dir := filepath.Dir(target)
	// One that stays is hidden, and cleared up by a later sweep.
	_ = g.SweepNewFile(dir, keyOf(c.ToolCallID))
	f, err := g.PermitRead(target)
	switch fault.CodeOf(err) {
	case "":
	case fault.NotFound:
		// Its folder has to be there: with a folder that went, it went too.
		if _, err := g.PermitList(dir); err != nil {
			return core.VerdictUnknown, nil
		}
		return core.VerdictAbsent, nil
	default:
		return core.VerdictUnknown, nil
	}
	if holds(f, want, maxNew) {
		return core.VerdictApplied, nil
	}
	return core.VerdictUnknown, nil
}

// probeRename looks for what became of a renameDocument.
func (e *Executor) probeRename(_ context.Context, c *call) (core.ToolVerdict, error) {
	in := c.intent
	if in.Source == "" || in.Target == "" || in.PreDigest == "" {
		return core.VerdictUnknown, nil
	}
	return e.whereRenamed(e.grants(c.scope), in.Source, in.Target, in.PreDigest), nil
}

// whereRenamed says under which of two names of one folder a file stands. The
// names are read from the folder, since where case does not tell names apart
// both lead to the file.
func (e *Executor) whereRenamed(g *workspace.Grants, from, to, digest string) core.ToolVerdict {
	folder, err := g.PermitList(filepath.Dir(from))
	if err != nil || filepath.Dir(from) != filepath.Dir(to) {
		return core.VerdictUnknown
	}
	entries, _, err := folder.List(math.MaxInt)
	if err != nil {
		return core.VerdictUnknown
	}
	var was, is bool
	for _, en := range entries {
		was = was || en.Name == filepath.Base(from)
		is = is || en.Name == filepath.Base(to)
	}
	at, verdict := from, core.VerdictAbsent
	switch {
	case was == is:
		return core.VerdictUnknown
	case is:
		at, verdict = to, core.VerdictApplied
	}
	f, err := g.PermitRead(at)
	if err != nil || !holds(f, digest, maxRenamed) {
		return core.VerdictUnknown
	}
	return verdict
}

// holds reports whether a file has the bytes with that digest.
func holds(f workspace.File, digest string, limit int64) bool {
	_, stat, err := f.Read(limit)
	return err == nil && stat.Hash == digest
}
