package tools

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
	"galley/backend/workspace/filefault"
)

// bench is a real workspace with real documents: the folder w, beside it far
// (not granted) and home.
type bench struct {
	t     testing.TB
	root  string
	calls *filefault.Calls
	grant *workspace.Grants
	docs  *document.Set
	page  int64
	exec  *Executor
	// cmd is that of the run that calls; n counts its calls.
	cmd core.CommandID
	n   int
}

func newBench(t testing.TB, files map[string]string) *bench {
	t.Helper()
	b := &bench{t: t, root: memoryDir(t), calls: filefault.New(workspace.OSCalls()), cmd: "cmd"}
	try(t, os.MkdirAll(b.path(""), 0o755))
	for name, data := range files {
		b.put(name, data)
	}
	b.start(Config{})
	return b
}

// start begins anew, as after the end of the program.
func (b *bench) start(cfg Config) {
	b.t.Helper()
	b.grant = workspace.NewGrantsOn(b.calls)
	_, err := b.grant.GrantFolder(b.path(""))
	try(b.t, err)
	home := filepath.Join(b.root, "home")
	log := slog.New(slog.DiscardHandler)
	b.docs, err = document.New(document.Config{Grants: b.grant, Home: home, Log: log})
	try(b.t, err)
	b.page = b.docs.Attach().Page
	cfg.Grants, cfg.Documents, cfg.Home = b.grant, b.docs, home
	if cfg.Log == nil {
		cfg.Log = log
	}
	cfg.Now = func() time.Time { return time.UnixMilli(1_700_000_000_000) }
	n := 0
	cfg.NewID = func() string { n++; return "p" + string(rune('0'+n%10)) }
	b.exec, err = New(cfg)
	try(b.t, err)
	docs, grant, exec := b.docs, b.grant, b.exec
	b.t.Cleanup(func() {
		exec.Close()
		try(b.t, docs.Close(context.Background()))
		grant.Close()
	})
}

// memoryDir is a folder in memory where the system has one.
func memoryDir(t testing.TB) string {
	t.Helper()
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		try(t, err)
		return dir
	}
	dir, err := os.MkdirTemp(memory, "galley") //nolint:usetesting // TempDir would lie on a disk
	try(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (b *bench) path(name string) string {
	return filepath.Join(b.root, "w", filepath.FromSlash(name))
}

// put makes a file; "-> x" makes a link, with $ROOT for the folder of the test.
func (b *bench) put(name, data string) {
	b.t.Helper()
	p := b.path(name)
	if strings.HasSuffix(name, "/") {
		try(b.t, os.MkdirAll(p, 0o755))
		return
	}
	try(b.t, os.MkdirAll(filepath.Dir(p), 0o755))
	if to, ok := strings.CutPrefix(data, "-> "); ok {
		try(b.t, os.Symlink(strings.ReplaceAll(to, "$ROOT", b.root), p))
		return
	}
	try(b.t, os.WriteFile(p, []byte(data), 0o644))
}

// open opens a document.
func (b *bench) open(name string) document.Info {
	b.t.Helper()
	info, err := b.docs.Open(context.Background(), b.path(name))
	try(b.t, err)
	return info
}

// edit is one transaction of the page; the selection stays.
func (b *bench) edit(id string, edits ...text.Edit) document.Info {
	b.t.Helper()
	info, err := b.docs.Info(id)
	try(b.t, err)
	return b.sync(document.SyncRequest{
		ID: id, FromVersion: info.Version, Changes: []document.Change{{Edits: edits}}, Anchor: info.Anchor, Head: info.Head,
	})
}

// choose moves the selection.
func (b *bench) choose(id string, anchor, head int) document.Info {
	b.t.Helper()
	info, err := b.docs.Info(id)
	try(b.t, err)
	return b.sync(document.SyncRequest{ID: id, FromVersion: info.Version, Anchor: anchor, Head: head})
}

func (b *bench) sync(r document.SyncRequest) document.Info {
	b.t.Helper()
	r.Page = b.page
	for i, c := range r.Changes {
		for _, e := range c.Edits {
			if n := strings.Count(e.Insert, "\n"); n > 0 {
				r.Changes[i].Endings = append(r.Changes[i].Endings, text.EndingRun{Ending: text.LF, Count: n})
			}
		}
	}
	_, err := b.docs.Sync(r)
	try(b.t, err)
	info, err := b.docs.Info(r.ID)
	try(b.t, err)
	return info
}

// begin starts a run about an open document, "" for none.
func (b *bench) begin(id string) {
	b.t.Helper()
	b.cmd += "+"
	s := Scope{DocumentID: id, Workspace: b.path("")}
	if id != "" {
		info, err := b.docs.Info(id)
		try(b.t, err)
		got, err := b.docs.Snapshot(id, info.Version)
		try(b.t, err)
		s.Snapshot = &core.Snapshot{
			DocURI: got.URI, BaseVersion: got.Version, Digest: got.Digest, Text: got.Text,
			Selection: core.Range{From: min(got.Anchor, got.Head), To: max(got.Anchor, got.Head)},
		}
	}
	b.exec.Begin(b.cmd, s)
}

// with opens a document with a text and starts a run about it.
func (b *bench) with(name, s string) document.Info {
	b.t.Helper()
	b.put(name, s)
	info := b.open(name)
	b.begin(info.ID)
	return info
}

type input map[string]any

func (b *bench) ref() wire.ToolCallRef {
	return wire.ToolCallRef{CommandID: b.cmd, RunID: "run", SessionID: "s", ToolCallID: core.ToolCallID("t" + string(rune('0'+b.n)))}
}

func encode(t testing.TB, in any) json.RawMessage {
	t.Helper()
	if raw, ok := in.(string); ok {
		return json.RawMessage(raw)
	}
	data, err := json.Marshal(in)
	try(t, err)
	return data
}

// normal is what the Runner makes of an input before it sends it.
func normal(t testing.TB, tool string, in any) (norm json.RawMessage, digest string) {
	t.Helper()
	reg, err := core.NewRegistry(core.Tools()...)
	try(t, err)
	declared, _ := reg.Tool(tool)
	norm, err = declared.Input.Normalise(encode(t, in))
	try(t, err)
	sum := core.InputDigest(norm)
	return norm, hex.EncodeToString(sum[:])
}

// call prepares and executes a call as the Runner does.
func (b *bench) call(tool string, in any) core.ToolResult {
	b.t.Helper()
	b.n++
	p, err := b.exec.Prepare(context.Background(), wire.ToolPrepareParams{ToolCallRef: b.ref(), Name: tool, Input: encode(b.t, in)})
	if err != nil {
		// The Runner makes a result of it.
		f := fault.From(err)
		return core.ToolResult{IsError: true, Code: f.Code, Text: f.Detail}
	}
	r, err := b.execute(context.Background(), tool, in, p)
	try(b.t, err)
	return r
}

// execute executes a call that was prepared.
func (b *bench) execute(ctx context.Context, tool string, in any, p core.Prepared) (core.ToolResult, error) {
	b.t.Helper()
	return b.exec.Execute(ctx, b.request(tool, in, p))
}

func (b *bench) request(tool string, in any, p core.Prepared) wire.ToolExecuteParams {
	b.t.Helper()
	norm, digest := normal(b.t, tool, in)
	return wire.ToolExecuteParams{
		ToolCallRef: b.ref(), Name: tool, Input: norm, InputDigest: digest, MaxBytes: 256 << 10,
		Intent: core.Intent{
			Tool: tool, Input: norm, InputDigest: digest, BaseVersion: p.BaseVersion, Source: p.Source, Target: p.Target,
			PreDigest: p.PreDigest, PostDigest: p.PostDigest,
		},
	}
}

// must is call for a call that succeeds.
func (b *bench) must(tool string, in any) core.ToolResult {
	b.t.Helper()
	r := b.call(tool, in)
	if r.IsError {
		b.t.Fatalf("%s: %s: %s", tool, r.Code, r.Text)
	}
	return r
}

// refused is call for one that fails with a code, in words.
func (b *bench) refused(tool string, in any, code fault.Code) core.ToolResult {
	b.t.Helper()
	r := b.call(tool, in)
	if !r.IsError || r.Code != code || r.Text == "" || r.Proposal != nil {
		b.t.Errorf("%s %v: got %q %q, want %s", tool, in, r.Code, r.Text, code)
	}
	if strings.Contains(r.Text, b.root) {
		b.t.Errorf("%s %v: the absolute path is told: %s", tool, in, r.Text)
	}
	return r
}

// holding says that a result has some words in it.
func (b *bench) holding(r core.ToolResult, want ...string) {
	b.t.Helper()
	for _, w := range want {
		if !strings.Contains(r.Text, w) {
			b.t.Errorf("%q is not in\n%s", w, r.Text)
		}
	}
}

// data is what stands between the marks of a result.
func (b *bench) data(r core.ToolResult) string {
	b.t.Helper()
	_, rest, ok := strings.Cut(r.Text, "<data ")
	mark, rest, ok2 := strings.Cut(rest, ">\n")
	body, _, ok3 := strings.Cut(rest, "</data "+mark+">")
	if !ok || !ok2 || !ok3 {
		b.t.Fatalf("no marks in\n%s", r.Text)
	}
	return body
}

// snapshot is every file below a folder with its bytes; links by where they
// lead.
func snapshot(t testing.TB, top string) map[string]string {
	t.Helper()
	out := map[string]string{}
	try(t, filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, p)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			out[filepath.ToSlash(rel)+"/"] = ""
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			out[filepath.ToSlash(rel)] = "-> " + to
			return err
		case d.Type().IsRegular():
			data, err := os.ReadFile(p)
			out[filepath.ToSlash(rel)] = string(data)
			return err
		}
		return nil
	}))
	return out
}

func try(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

func (b *bench) prepare(tool string, in any) wire.ToolPrepareParams {
	b.t.Helper()
	return wire.ToolPrepareParams{ToolCallRef: b.ref(), Name: tool, Input: encode(b.t, in)}
}

func (b *bench) fuzzed(tool string, in json.RawMessage) wire.ToolExecuteParams {
	b.n++
	return wire.ToolExecuteParams{ToolCallRef: b.ref(), Name: tool, Input: in, MaxBytes: 64 << 10}
}

func (b *bench) fuzzedPrepare(tool string, in json.RawMessage) wire.ToolPrepareParams {
	b.n++
	return wire.ToolPrepareParams{ToolCallRef: b.ref(), Name: tool, Input: in}
}
