package tools

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
)

// What a person agrees to is what is made: the path, every byte, and nothing
// before they have.
//
// covers: T2 R6
func TestCreateDocument(t *testing.T) {
	b := newBench(t, map[string]string{"Notes/a.md": "a"})
	b.begin("")
	in := input{"dir": "Notes", "name": "夜 b.md", "text": "# Tea <b>\r\ntwo words, 茶\n"}
	before := snapshot(t, b.root)
	b.n++
	p, err := b.exec.Prepare(t.Context(), b.prepare(core.ToolCreateDocument, in))
	try(t, err)
	content := "# Tea <b>\ntwo words, 茶\n"
	want := core.Prepared{
		Target: b.path("Notes/夜 b.md"), PostDigest: digestOf([]byte(content)),
		Summary: core.ToolSummary{Path: "Notes/夜 b.md", Text: content, Bytes: len(content), Words: 5},
	}
	if d := cmp.Diff(want, p); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before, snapshot(t, b.root)); d != "" {
		t.Fatalf("it had an effect: %s", d)
	}
	var told []string
	b.exec.cfg.Created = func(p string) { told = append(told, p) }
	r, err := b.execute(t.Context(), core.ToolCreateDocument, in, p)
	try(t, err)
	if r.IsError || r.PostDigest != want.PostDigest || r.PreDigest != "" || r.Facts != (core.ToolFacts{Path: "Notes/夜 b.md", Bytes: len(content)}) {
		t.Errorf("%+v", r)
	}
	b.holding(r, "Created Notes/夜 b.md")
	before["w/Notes/夜 b.md"] = content
	after := snapshot(t, b.root)
	delete(after, "home/recovery/")
	delete(after, "home/")
	delete(before, "home/")
	if d := cmp.Diff(before, after); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{b.path("Notes/夜 b.md")}, told); d != "" {
		t.Error(d)
	}
	// The same call again finds its own file and leaves it.
	r, err = b.execute(t.Context(), core.ToolCreateDocument, in, p)
	if err != nil || r.Code != fault.Exists {
		t.Errorf("again: %+v, %v", r, err)
	}
	for _, dir := range []string{"", ".", "./"} {
		r := b.must(core.ToolCreateDocument, input{"dir": dir, "name": "top" + strings.ReplaceAll(dir, "/", "_") + ".md", "text": ""})
		b.holding(r, "Created top", "0 bytes")
	}
}

func TestCreateDocument_Refused(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "a", "Notes/": "", "Folder.md/": "", ".git/": "", "link.md": "-> a.md", "dangling.md": "-> none.md", "out": "-> $ROOT", "pic.md": "-> $ROOT/x.md"})
	b.begin("")
	before := snapshot(t, b.root)
	for _, c := range []struct {
		dir, name string
		want      fault.Code
	}{
		{"", "a.md", fault.Exists},
		{"", "Folder.md", fault.Exists},
		{"", "link.md", fault.Exists},
		{"", "dangling.md", fault.Exists},
		{"", "pic.md", fault.Exists},
		{"none", "b.md", fault.NotFound},
		{"a.md", "b.md", fault.NotAFile},
		{".git", "b.md", fault.OutsideWorkspace},
		{"out", "b.md", fault.OutsideWorkspace},
		{"", "b.sh", fault.ReservedName},
		{"", "b", fault.ReservedName},
		{"", ".md", fault.ReservedName},
		{"", ".b.md", fault.ReservedName},
		{"", "", fault.ReservedName},
		{"", "Notes/b.md", fault.ReservedName},
		{"", "../b.md", fault.ReservedName},
		{"", `Notes\b.md`, fault.ReservedName},
		{"", "nul.md", fault.ReservedName},
		{"", "b.md:x.md", fault.ReservedName},
		{"", "b.md ", fault.ReservedName},
		{"", "b\x00.md", fault.ReservedName},
		{"", ".galley-1-x.tmp", fault.ReservedName},
		{"", strings.Repeat("x", 300) + ".md", fault.ReservedName},
	} {
		b.refused(core.ToolCreateDocument, input{"dir": c.dir, "name": c.name, "text": "x"}, c.want)
	}
	b.refused(core.ToolCreateDocument, input{"dir": "", "name": "big.md", "text": strings.Repeat("x", maxNew+1)}, fault.TooLarge)
	if d := cmp.Diff(before, snapshot(t, b.root)); d != "" {
		t.Error(d)
	}
	// A document whose file is gone keeps its place.
	doc := b.open("a.md")
	try(t, os.Remove(b.path("a.md")))
	b.refused(core.ToolCreateDocument, input{"dir": "", "name": "a.md", "text": "x"}, fault.Exists)
	b.put("c.md", "c")
	b.refused(core.ToolRenameDocument, input{"path": "c.md", "newName": "a.md"}, fault.Exists)
	try(t, b.docs.CloseDocument(t.Context(), b.page, doc.ID, document.DiscardUnsaved))
	b.must(core.ToolCreateDocument, input{"dir": "", "name": "a.md", "text": "x"})
}

// covers: X4
func TestCreateDocument_TellsOfWhatIsHidden(t *testing.T) {
	b := newBench(t, nil)
	b.begin("")
	for text, want := range map[string]bool{
		"plain 夜 é e\u0301 👨‍👩‍👧 ❤️ ☕ “x”\t\n": false, "zero\u200bwidth": true, "\u202eevil": true, "so\u00adft": true, "tag\U000E0041": true,
		"a\u200db": true, "\ufeffbom": true, "🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F": false, "nul\x00": true, "\u2028": true, "private \ue000": true,
	} {
		p, err := b.exec.Prepare(t.Context(), b.prepare(core.ToolCreateDocument, input{"dir": "", "name": "a.md", "text": text}))
		try(t, err)
		if p.Summary.Invisible != want {
			t.Errorf("%q: %v", text, p.Summary.Invisible)
		}
	}
	p, err := b.exec.Prepare(t.Context(), b.prepare(core.ToolCreateDocument, input{"dir": "", "name": "\u202edm.a.md", "text": ""}))
	try(t, err)
	if !p.Summary.Invisible {
		t.Error("the name is not told of")
	}
}

func TestWords(t *testing.T) {
	for s, want := range map[string]int{"": 0, "one": 1, "It's well-known, isn't it?": 4, "夜路 tea 茶。": 4, "- a\n- b": 2, "12 3.5": 3, "e\u0301te\u0301": 1, " — ": 0} {
		if got := words(s); got != want {
			t.Errorf("%q: %d words, want %d", s, got, want)
		}
	}
}

// What was agreed to and what is to be done are compared to the last byte.
//
// covers: T5 R6
func TestWrite_OnlyWhatWasAgreedTo(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "a", "b.md": "b"})
	b.begin("")
	create := input{"dir": "", "name": "n.md", "text": "n"}
	rename := input{"path": "a.md", "newName": "c.md"}
	for tool, in := range map[string]input{core.ToolCreateDocument: create, core.ToolRenameDocument: rename} {
		p, err := b.exec.Prepare(t.Context(), b.prepare(tool, in))
		try(t, err)
		for name, change := range map[string]func(*wire.ToolExecuteParams){
			"input digest":  func(r *wire.ToolExecuteParams) { r.InputDigest = strings.Repeat("0", 64) },
			"intent digest": func(r *wire.ToolExecuteParams) { r.Intent.InputDigest = strings.Repeat("0", 64) },
			"no intent":     func(r *wire.ToolExecuteParams) { r.Intent = core.Intent{} },
			"target":        func(r *wire.ToolExecuteParams) { r.Intent.Target = b.path("other.md") },
			"content": func(r *wire.ToolExecuteParams) {
				r.Intent.PostDigest, r.Intent.PreDigest = digestOf([]byte("x")), digestOf([]byte("x"))
			},
		} {
			req := b.request(tool, in, p)
			change(&req)
			r, err := b.exec.Execute(t.Context(), req)
			if err != nil || !r.IsError || r.Code != fault.StaleApproval && r.Code != fault.ChangedOnDisk {
				t.Errorf("%s, %s: %+v, %v", tool, name, r, err)
			}
		}
	}
	// Written since it was agreed to.
	p, err := b.exec.Prepare(t.Context(), b.prepare(core.ToolRenameDocument, rename))
	try(t, err)
	b.put("a.md", "a and more")
	r, err := b.execute(t.Context(), core.ToolRenameDocument, rename, p)
	if err != nil || r.Code != fault.ChangedOnDisk {
		t.Errorf("%+v, %v", r, err)
	}
	// Taken since it was agreed to.
	p, err = b.exec.Prepare(t.Context(), b.prepare(core.ToolCreateDocument, create))
	try(t, err)
	b.put("n.md", "somebody else's")
	r, err = b.execute(t.Context(), core.ToolCreateDocument, create, p)
	if err != nil || r.Code != fault.Exists {
		t.Errorf("%+v, %v", r, err)
	}
	if d := cmp.Diff(map[string]string{"./": "", "a.md": "a and more", "b.md": "b", "n.md": "somebody else's"}, snapshot(t, b.path(""))); d != "" {
		t.Error(d)
	}
	// A name that turns up in the very last moment is not replaced either.
	in := input{"dir": "", "name": "late.md", "text": "ours"}
	p, err = b.exec.Prepare(t.Context(), b.prepare(core.ToolCreateDocument, in))
	try(t, err)
	_, err = b.grant.CreateFile(workspace.NewFile{
		Folder: b.path(""), Name: "late.md", Data: []byte("ours"), RecoveryDir: b.exec.recoveryFolder(),
		Written: func() error { b.put("late.md", "theirs"); return nil },
	})
	if fault.CodeOf(err) != fault.Exists || errors.Is(err, workspace.ErrUncertain) {
		t.Errorf("%v", err)
	}
	r, err = b.execute(t.Context(), core.ToolCreateDocument, in, p)
	if err != nil || r.Code != fault.Exists || b.read("late.md") != "theirs" {
		t.Errorf("%+v, %v: %q", r, err, b.read("late.md"))
	}
}

func (b *bench) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(b.path(name))
	try(b.t, err)
	return string(data)
}

// An open document follows its new name, with what is not saved.
//
// covers: T2
func TestRenameDocument(t *testing.T) {
	b := newBench(t, map[string]string{
		"Notes/a.md": "one", "b.md": "[x](Notes/a.md) [[a]] [y](other.md)", "Notes/pic.png": "p", "Notes/taken.md": "", ".git/x.md": "",
	})
	doc := b.open("Notes/a.md")
	b.edit(doc.ID, text.Edit{From: 3, To: 3, Insert: " unsaved"})
	b.begin(doc.ID)
	in := input{"path": "Notes/a.md", "newName": "夜.md"}
	b.n++
	p, err := b.exec.Prepare(t.Context(), b.prepare(core.ToolRenameDocument, in))
	try(t, err)
	digest := digestOf([]byte("one"))
	want := core.Prepared{
		Source: b.path("Notes/a.md"), Target: b.path("Notes/夜.md"), PreDigest: digest, PostDigest: digest,
		Summary: core.ToolSummary{Path: "Notes/a.md", NewPath: "Notes/夜.md", Bytes: 3, Links: 2},
	}
	if d := cmp.Diff(want, p); d != "" {
		t.Error(d)
	}
	r, err := b.execute(t.Context(), core.ToolRenameDocument, in, p)
	try(t, err)
	if r.IsError || r.PreDigest != digest || r.PostDigest != digest || r.Facts.Path != "Notes/夜.md" {
		t.Errorf("%+v", r)
	}
	b.holding(r, "Renamed Notes/a.md to Notes/夜.md", "not changed")
	info, err := b.docs.Info(doc.ID)
	try(t, err)
	if info.Path != b.path("Notes/夜.md") || !info.Dirty || b.read("Notes/夜.md") != "one" {
		t.Errorf("%+v", info)
	}
	// The run goes on with it, by its new name.
	read := b.must(core.ToolGetActiveDocument, input{})
	if b.data(read) != "one unsaved\n" || read.Facts.Path != "Notes/夜.md" {
		t.Errorf("%s", read.Text)
	}
	if pr := b.propose(input{"oldText": "unsaved", "newText": "saved"}); pr.Proposal.DocURI != info.URI {
		t.Errorf("%s, want %s", pr.Proposal.DocURI, info.URI)
	}
	for _, c := range []struct {
		path, name string
		want       fault.Code
	}{
		{"Notes/夜.md", "taken.md", fault.Exists},
		{"Notes/夜.md", "夜.md", fault.NoChange},
		{"Notes/夜.md", "../b.md", fault.ReservedName},
		{"Notes/夜.md", "x/b.md", fault.ReservedName},
		{"Notes/夜.md", "x.exe", fault.ReservedName},
		{"Notes/夜.md", "con.md", fault.ReservedName},
		{"Notes/夜.md", ".x.md", fault.ReservedName},
		{"Notes/a.md", "c.md", fault.NotFound},
		{"Notes/pic.png", "c.md", fault.NotAFile},
		{"Notes", "c.md", fault.NotAFile},
		{".git/x.md", "c.md", fault.OutsideWorkspace},
		{"", "c.md", fault.NotAFile},
	} {
		b.refused(core.ToolRenameDocument, input{"path": c.path, "newName": c.name}, c.want)
	}
}

// A change of case is a change of name like any other.
func TestRenameDocument_Case(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "one"})
	b.begin("")
	b.must(core.ToolRenameDocument, input{"path": "a.md", "newName": "A.md"})
	entries, err := os.ReadDir(b.path(""))
	try(t, err)
	if len(entries) != 1 || entries[0].Name() != "A.md" || b.read("A.md") != "one" {
		t.Errorf("%v", entries)
	}
	if runtime.GOOS == "linux" {
		b.put("a.md", "two")
		b.refused(core.ToolRenameDocument, input{"path": "A.md", "newName": "a.md"}, fault.Exists)
	}
}

// A run can have a folder of its own, which is no other run's.
func TestScope_OwnGrants(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "a"})
	own := filepath.Join(b.root, "own")
	try(t, os.MkdirAll(own, 0o755))
	try(t, os.WriteFile(filepath.Join(own, "x.md"), []byte("own words"), 0o644))
	g := workspace.NewGrants()
	defer g.Close()
	_, err := g.GrantFolder(own)
	try(t, err)
	_, err = g.GrantFile(filepath.Join(own, "x.md"))
	try(t, err)
	b.cmd = "own"
	b.exec.Begin(b.cmd, Scope{Workspace: own, Grants: g, File: filepath.Join(own, "x.md")})
	if r := b.must(core.ToolReadDocument, input{"path": "x.md"}); b.data(r) != "own words\n" {
		t.Errorf("%s", r.Text)
	}
	b.must(core.ToolCreateDocument, input{"dir": "", "name": "n.md", "text": "new"})
	b.must(core.ToolRenameDocument, input{"path": "n.md", "newName": "m.md"})
	b.refused(core.ToolReadDocument, input{"path": "a.md"}, fault.NotFound)
	// Its document is not open: it is read from disk.
	r := b.must(core.ToolGetActiveDocument, input{})
	if b.data(r) != "own words\n" || r.Facts.Version != 1 || r.Facts.Path != "x.md" {
		t.Errorf("%+v\n%s", r.Facts, r.Text)
	}
	pr := b.propose(input{"oldText": "own", "newText": "other"})
	if applied(t, "own words", pr) != "other words" || !strings.HasSuffix(pr.Proposal.DocURI, "/own/x.md") {
		t.Errorf("%+v", pr.Proposal)
	}
	try(t, os.WriteFile(filepath.Join(own, "x.md"), []byte("my words"), 0o644))
	b.noProposal(input{"oldText": "own", "newText": "other"}, fault.Stale)
	if r := b.must(core.ToolGetActiveDocument, input{}); r.Facts.Version != 2 {
		t.Errorf("%+v", r.Facts)
	}
	// The other runs have none of it.
	b.begin("")
	b.refused(core.ToolReadDocument, input{"path": "x.md"}, fault.NotFound)
	b.must(core.ToolReadDocument, input{"path": "a.md"})
}

// Told to stop before anything happened, nothing has; after that the truth is
// told.
//
// covers: R7
func TestCancel(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "a"})
	doc := b.open("a.md")
	b.begin(doc.ID)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	create, rename := input{"dir": "", "name": "n.md", "text": "n"}, input{"path": "a.md", "newName": "c.md"}
	inputs := map[string]input{
		core.ToolGetActiveDocument: {}, core.ToolGetSelection: {}, core.ToolGetOutline: {}, core.ToolSearchWorkspace: {"query": "a"},
		core.ToolReadDocument: {"path": "a.md"}, core.ToolListWorkspace: {}, core.ToolProposePatch: {"oldText": "a", "newText": "b", "summary": "s"},
		core.ToolCreateDocument: create, core.ToolRenameDocument: rename, core.ToolMathAdd: {"left": 1, "right": 2}, core.ToolSystemEcho: {"text": "x"},
	}
	before := snapshot(t, b.path(""))
	for tool, in := range inputs {
		b.n++
		p, err := b.exec.Prepare(t.Context(), b.prepare(tool, in))
		try(t, err)
		r, err := b.execute(ended, tool, in, p)
		if err != nil || !r.Stopped || !r.IsError || r.Code != fault.Cancelled || r.Proposal != nil {
			t.Errorf("%s: %+v, %v", tool, r, err)
		}
		b.n++
		late, cancel := context.WithDeadline(context.Background(), b.exec.cfg.Now())
		r, err = b.execute(late, tool, in, p)
		cancel()
		if err != nil || r.Stopped || r.Code != fault.Timeout {
			t.Errorf("%s, too late: %+v, %v", tool, r, err)
		}
	}
	if d := cmp.Diff(before, snapshot(t, b.path(""))); d != "" {
		t.Error(d)
	}
	// In the last moment before the name is given. What was too late above may
	// still be on its way to its end.
	b.n++
	stop, cancel := context.WithCancel(context.Background())
	p, err := b.exec.Prepare(t.Context(), b.prepare(core.ToolCreateDocument, create))
	try(t, err)
	b.calls.Watch(func(name string) {
		if name == "sync" {
			cancel()
		}
	})
	r, err := b.execute(stop, core.ToolCreateDocument, create, p)
	if err != nil || !r.Stopped || r.Code != fault.Cancelled {
		t.Errorf("%+v, %v", r, err)
	}
	if d := cmp.Diff(before, snapshot(t, b.path(""))); d != "" {
		t.Error(d)
	}
	// And in the first after it.
	stop, cancel = context.WithCancel(context.Background())
	b.calls.Watch(func(name string) {
		if name == "move" {
			cancel()
		}
	})
	for tool, in := range map[string]input{core.ToolCreateDocument: create, core.ToolRenameDocument: rename} {
		p, err := b.exec.Prepare(t.Context(), b.prepare(tool, in))
		try(t, err)
		if r, err := b.execute(stop, tool, in, p); err != nil || r.IsError || r.Stopped || r.PostDigest == "" {
			t.Errorf("%s: %+v, %v", tool, r, err)
		}
		stop, cancel = context.WithCancel(context.Background())
	}
	cancel()
	b.calls.Watch(nil)
	if d := cmp.Diff(map[string]string{"./": "", "c.md": "a", "n.md": "n"}, snapshot(t, b.path(""))); d != "" {
		t.Error(d)
	}
}

// A panic is a result; in the middle of an effect nobody knows.
//
// covers: T6
func TestPanic(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "a"})
	var log strings.Builder
	b.start(Config{
		Log:  slog.New(slog.NewTextHandler(&log, nil)),
		Move: func(context.Context, string, string) error { panic("secret words") },
	})
	b.begin("")
	broken := b.exec.tools[core.ToolMathAdd]
	broken.run = func(context.Context, *call) (core.ToolResult, error) { panic("secret words") }
	b.exec.tools[core.ToolMathAdd] = broken
	r := b.call(core.ToolMathAdd, input{"left": 1, "right": 2})
	if !r.IsError || r.Code != fault.Internal || r.Text == "" {
		t.Errorf("%+v", r)
	}
	broken.prepare = func(context.Context, *call) (core.Prepared, error) { panic("secret words") }
	b.exec.tools[core.ToolMathAdd] = broken
	if r := b.call(core.ToolMathAdd, input{"left": 1, "right": 2}); r.Code != fault.Internal {
		t.Errorf("%+v", r)
	}
	in := input{"path": "a.md", "newName": "b.md"}
	p, err := b.exec.Prepare(t.Context(), b.prepare(core.ToolRenameDocument, in))
	try(t, err)
	if r, err := b.execute(t.Context(), core.ToolRenameDocument, in, p); !errors.Is(err, errUnknown) {
		t.Errorf("%+v, %v", r, err)
	}
	// It is over, and can be asked for.
	v, err := b.exec.Probe(t.Context(), wire.ToolProbeParams{ToolCallRef: b.ref(), Name: core.ToolRenameDocument, Intent: b.request(core.ToolRenameDocument, in, p).Intent})
	if err != nil || v.Verdict != core.VerdictAbsent {
		t.Errorf("%v, %v", v, err)
	}
	if strings.Contains(log.String(), "secret words") || strings.Count(log.String(), "tool panicked") != 3 {
		t.Errorf("%s", log.String())
	}
}
