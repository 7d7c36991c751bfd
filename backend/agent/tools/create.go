package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/agent/crash"
	"galley/backend/fault"
	"galley/backend/workspace"
)

// maxNew is how large a new document may be, in bytes.
const maxNew = 1 << 20

// creation is a new document as a call wants it.
type creation struct {
	ws folder
	// rel and path are the document's; dir is its folder's, absolute.
	rel, path, dir, name string
	data                 []byte
	digest               string
}

// creation checks all that can be checked before anything is touched.
func (e *Executor) creation(c *call) (creation, error) {
	var in struct{ Dir, Name, Text string }
	if err := c.decode(&in); err != nil {
		return creation{}, err
	}
	ws, err := e.folder(c.scope)
	if err != nil {
		return creation{}, err
	}
	dir, err := ws.reach(in.Dir)
	if err != nil {
		return creation{}, err
	}
	if err := documentName(in.Name); err != nil {
		return creation{}, err
	}
	n := creation{ws: ws, name: in.Name, dir: ws.Path(dir), rel: in.Name}
	if dir != "" {
		n.rel = dir + "/" + in.Name
	}
	if _, err := ws.reach(n.rel); err != nil {
		return creation{}, err
	}
	if _, err := ws.PermitList(dir); err != nil {
		return creation{}, ofFolder(dir, err)
	}
	if err := ws.grants.CheckNewFile(n.dir, n.name); err != nil {
		return creation{}, of(n.rel, err)
	}
	if _, err := ws.PermitWrite(n.rel); err != nil {
		return creation{}, of(n.rel, err)
	}
	n.path = filepath.Join(n.dir, n.name)
	if slices.Contains(e.cfg.Documents.Paths(), n.path) {
		// Its file is gone, and saving would put it there again.
		return creation{}, of(n.rel, fault.New(fault.Exists, "create document", nil))
	}
	n.data = []byte(strings.ReplaceAll(strings.ReplaceAll(in.Text, "\r\n", "\n"), "\r", "\n"))
	if len(n.data) > maxNew {
		return creation{}, refuse(fault.TooLarge, "The text is too long: a new document may have %d bytes.", maxNew)
	}
	n.digest = digestOf(n.data)
	return n, nil
}

// prepareCreate is for createDocument.
func (e *Executor) prepareCreate(_ context.Context, c *call) (core.Prepared, error) {
	n, err := e.creation(c)
	if err != nil {
		return core.Prepared{}, err
	}
	content := string(n.data)
	return core.Prepared{
		Target: n.path, PostDigest: n.digest,
		Summary: core.ToolSummary{
			Path: n.rel, Text: content, Bytes: len(content), Words: words(content), Invisible: hidden(content) || hidden(n.rel),
		},
	}, nil
}

// createDocument makes a document. What was agreed to must still be so.
func (e *Executor) createDocument(ctx context.Context, c *call) (core.ToolResult, error) {
	n, err := e.creation(c)
	if err != nil {
		return core.ToolResult{}, err
	}
	if c.intent.InputDigest != c.digest || c.intent.Target != n.path || c.intent.PostDigest != n.digest {
		return core.ToolResult{}, disagreed()
	}
	crash.At("before_effect")
	c.begun = true
	made, err := n.ws.grants.CreateFile(workspace.NewFile{
		Folder: n.dir, Name: n.name, Data: n.data, Key: keyOf(c.ToolCallID), RecoveryDir: e.recoveryFolder(),
		Written: func() error {
			crash.At("between_temp_and_rename")
			if ctx.Err() != nil {
				// The last moment at which stopping leaves nothing behind.
				return stopped(ctx)
			}
			return nil
		},
		Placed: func() { crash.At("after_rename") },
	})
	if errors.Is(err, workspace.ErrUncertain) {
		return core.ToolResult{}, errUnknown
	}
	if err != nil {
		return core.ToolResult{}, of(n.rel, err)
	}
	crash.At("after_effect")
	if e.cfg.Created != nil {
		e.cfg.Created(made.Entry.Path)
	}
	say := fmt.Sprintf("Created %s with %s.", shown(n.rel), count(len(n.data), "byte"))
	if !made.Durable {
		say += " The disk did not confirm that it would outlast a loss of power."
	}
	return core.ToolResult{
		Text: say, PostDigest: made.Stat.Hash, Facts: core.ToolFacts{Path: n.rel, Bytes: len(n.data)},
	}, nil
}

// disagreed says that a call is not the one that was agreed to.
func disagreed() error {
	return refuse(fault.StaleApproval, "This is no longer what was agreed to. Nothing was done. Make the call anew.")
}

// keyOf marks the temporary file of a call.
func keyOf(id core.ToolCallID) string { return digestOf([]byte(id))[:32] }

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
