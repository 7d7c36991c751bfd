package reviewed

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/search"
	"galley/backend/text"
)

// A replacement touches the bytes of its matches and no others, whatever the
// encoding and the endings of a file, and undoing it gives every byte back.
//
// covers: F9 F1 F2 F3
func TestApply_ReplaceKeepsEveryOtherByte(t *testing.T) {
	b := newBench(t, map[string]string{
		"a.md": "tea\r\nmore tea\nend\r", "bom.md": "\xEF\xBB\xBFtea", "le.md": "\xFF\xFEt\x00e\x00a\x00\r\x00\n\x00", "be.md": "\xFE\xFF\x00t\x00e\x00a",
		"none.md": "coffee", "sub/夜.md": "茶 tea 🦊 tea", "bad.md": "\xff tea", "node_modules/x.md": "tea",
	})
	try(t, os.Chmod(b.path("a.md"), 0o640))
	before := b.snapshot()
	set := b.replace("tea", "t\ne")
	if len(set.Files) != 5 || set.Cut || set.Kind != Replace || set.State != Open || !set.Kind.Valid() || !set.State.Valid() {
		t.Fatalf("%+v", set)
	}
	if d := cmp.Diff(before, b.snapshot()); d != "" {
		t.Fatalf("the preview wrote: %s", d)
	}
	applied := b.apply(set)
	if applied.Set.State != Applied || len(applied.Documents) != 0 {
		t.Errorf("%+v", applied)
	}
	b.want("a.md", "t\r\ne\r\nmore t\ne\nend\r")
	b.want("bom.md", "\xEF\xBB\xBFt\ne")
	b.want("le.md", "\xFF\xFEt\x00\r\x00\n\x00e\x00\r\x00\n\x00")
	b.want("be.md", "\xFE\xFF\x00t\x00\n\x00e")
	b.want("sub/夜.md", "茶 t\ne 🦊 t\ne")
	b.want("bad.md", "\xff tea")
	if info, err := os.Stat(b.path("a.md")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := b.m.Apply(context.Background(), set.ID, all(set)); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("applied twice: %v", err)
	}
	if undone := b.undo(set.ID); undone.Set.State != Undone {
		t.Errorf("%+v", undone.Set)
	}
	if d := cmp.Diff(before, b.snapshot()); d != "" {
		t.Errorf("not as it was: %s", d)
	}
	if _, err := b.m.Undo(context.Background(), set.ID); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("undone twice: %v", err)
	}
	if left := b.journals(); len(left) != 0 {
		t.Errorf("journals left: %v", left)
	}
}

func TestApply_TickedOnly(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "x x x", "b.md": "x", "c.md": "x"})
	set := b.replace("x", "y")
	ctx := context.Background()
	for _, bad := range [][]Ticks{
		{{Path: b.path("none.md"), Edits: []int{0}}},
		{{Path: b.path("a.md"), Edits: []int{3}}},
		{{Path: b.path("a.md"), Edits: []int{-1}}},
		{{Path: b.path("a.md"), Edits: []int{0, 0}}},
		{{Path: b.path("a.md"), Edits: []int{0}}, {Path: b.path("a.md"), Edits: []int{1}}},
	} {
		_, err := b.m.Apply(ctx, set.ID, bad)
		refused(t, err, fault.InvalidInput, "")
	}
	_, err := b.m.Apply(ctx, set.ID, []Ticks{{Path: b.path("a.md")}})
	refused(t, err, fault.NoChange, "")
	_, err = b.m.Apply(ctx, "none", nil)
	refused(t, err, fault.NotFound, "")
	_, err = b.m.Apply(ctx, set.ID, []Ticks{{Path: b.path("a.md"), Edits: []int{2, 0}}, {Path: b.path("c.md"), Edits: []int{0}}, {Path: b.path("b.md")}})
	try(t, err)
	b.want("a.md", "y x y")
	b.want("b.md", "x")
	b.want("c.md", "y")
}

func TestReplace_Regexp(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "due 2026-11-30\n", "b.txt": "due 2026-11-30\n"})
	set, err := b.m.Replace(context.Background(), Replacement{
		ID: "r", Query: search.Query{Text: `(\d+)-(\d+)-(?<d>\d+)`, Regexp: true, Include: []string{"*.md"}}, With: "${d}.$2.$1",
	})
	try(t, err)
	want := []search.Edit{{Edit: text.Edit{From: 4, To: 14, Insert: "30.11.2026"}, Old: "2026-11-30", Line: 1, Before: "due "}}
	if len(set.Files) != 1 || cmp.Diff(want, set.Files[0].Edits) != "" || set.Files[0].Name != "a.md" {
		t.Errorf("%+v", set.Files)
	}
	// B10: without a regexp nothing in the replacement means anything.
	lit := b.replace("due", "$1 ${d} $$")
	if got := lit.Files[0].Edits[0].Insert; got != "$1 ${d} $$" {
		t.Errorf("inserts %q", got)
	}
	_, err = b.m.Replace(context.Background(), Replacement{Query: search.Query{Text: "(", Regexp: true}})
	refused(t, err, fault.InvalidInput, "")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = b.m.Replace(cancelled, Replacement{Query: search.Query{Text: "x"}})
	refused(t, err, fault.Cancelled, "")
}

// What would change nothing is no edit, and 10,000 edits are enough.
//
// covers: F9
func TestReplace_Limits(t *testing.T) {
	files := map[string]string{"same.md": "b"}
	for i := range 7 {
		files[fmt.Sprintf("%d.md", i)] = strings.Repeat("a\n", 1500)
	}
	b := newBench(t, files)
	set := b.replace("a", "b")
	total := 0
	for _, f := range set.Files {
		total += len(f.Edits)
	}
	if total != MaxEdits || !set.Cut || len(set.Files) != 7 || len(set.Files[6].Edits) != 1000 {
		t.Errorf("%d edits, cut %v", total, set.Cut)
	}
	b.apply(set)
	b.want("0.md", strings.Repeat("b\n", 1500))
	b.want("6.md", strings.Repeat("b\n", 1000)+strings.Repeat("a\n", 500))
	if set := b.replace("b", "b"); len(set.Files) != 0 || set.Cut {
		t.Errorf("%d files", len(set.Files))
	}
}

// Nothing is written when a single file is not what was reviewed.
//
// covers: F9
func TestApply_ChangedSinceThePreview(t *testing.T) {
	for name, spoil := range map[string]func(b *bench){
		"changed": func(b *bench) { b.put("c.md", "x other") },
		"same size": func(b *bench) {
			info, err := os.Stat(b.path("c.md"))
			try(b.t, err)
			b.put("c.md", "z x")
			try(b.t, os.Chtimes(b.path("c.md"), info.ModTime(), info.ModTime()))
		},
		"gone":   func(b *bench) { try(b.t, os.Remove(b.path("c.md"))) },
		"folder": func(b *bench) { try(b.t, os.Remove(b.path("c.md"))); try(b.t, os.Mkdir(b.path("c.md"), 0o755)) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]string{"a.md": "x", "b.md": "x", "c.md": "a x"})
			set := b.replace("x", "y")
			spoil(b)
			before := b.snapshot()
			_, err := b.m.Apply(context.Background(), set.ID, all(set))
			refused(t, err, fault.ChangedOnDisk, b.path("c.md"))
			if d := cmp.Diff(before, b.snapshot()); d != "" {
				t.Error(d)
			}
			if left := b.journals(); len(left) != 0 {
				t.Errorf("journals left: %v", left)
			}
		})
	}
}

func TestApply_ReadOnly(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "x", "b.md": "x"})
	try(t, os.Chmod(b.path("b.md"), 0o444))
	set := b.replace("x", "y")
	if set.Files[0].Problem != "" || set.Files[1].Problem != fault.ReadOnly {
		t.Errorf("%+v", set.Files)
	}
	_, err := b.m.Apply(context.Background(), set.ID, all(set))
	refused(t, err, fault.ReadOnly, b.path("b.md"))
	try(t, os.Chmod(b.path("b.md"), 0o644))
	set = b.replace("x", "y")
	try(t, os.Chmod(b.path("b.md"), 0o444))
	_, err = b.m.Apply(context.Background(), set.ID, all(set))
	refused(t, err, fault.ReadOnly, b.path("b.md"))
	b.want("a.md", "x")
}

// The text of an open document is the page's: its edits come back and its file
// is not written.
//
// covers: F9
func TestApply_OpenDocuments(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "x\r\nx\r\n", "b.md": "x"})
	doc := b.open("a.md")
	doc = b.edit(doc.ID, text.Edit{From: 0, To: 0, Insert: "unsaved x "})
	set := b.replace("x", "yy")
	if len(set.Files) != 2 || set.Files[0].DocumentID != doc.ID || set.Files[0].Version != doc.Version || len(set.Files[0].Edits) != 3 {
		t.Fatalf("%+v", set.Files)
	}
	stale := set
	b.edit(doc.ID, text.Edit{From: 0, To: 0, Insert: "!"})
	_, err := b.m.Apply(context.Background(), stale.ID, all(stale))
	refused(t, err, fault.Stale, b.path("a.md"))
	b.want("b.md", "x")

	set = b.replace("x", "yy")
	applied := b.apply(set)
	b.want("a.md", "x\r\nx\r\n")
	b.want("b.md", "yy")
	if len(applied.Documents) != 1 || applied.Documents[0].ID != doc.ID {
		t.Fatalf("%+v", applied.Documents)
	}
	was, _, err := b.docs.Text(doc.ID)
	try(t, err)
	b.edit(doc.ID, applied.Documents[0].Edits...)
	is, version, err := b.docs.Text(doc.ID)
	try(t, err)
	if is != "!unsaved yy yy\nyy\n" || version != applied.Documents[0].Version+1 {
		t.Errorf("%q at %d", is, version)
	}
	undone := b.undo(set.ID)
	if len(undone.Documents) != 1 || undone.Documents[0].Version != version {
		t.Fatalf("%+v", undone.Documents)
	}
	back, err := text.Apply(is, undone.Documents[0].Edits)
	try(t, err)
	if back != was {
		t.Errorf("%q, was %q", back, was)
	}
	b.want("b.md", "x")
}

// A document may be closed, opened or changed between applying and undoing.
//
// covers: F9
func TestUndo_DocumentsComeAndGo(t *testing.T) {
	ctx := context.Background()
	t.Run("closed after saving", func(t *testing.T) {
		b := newBench(t, map[string]string{"a.md": "x\r\nx\n", "b.md": "x"})
		doc := b.open("a.md")
		set := b.replace("x", "y")
		applied := b.apply(set)
		b.edit(doc.ID, applied.Documents[0].Edits...)
		b.save(doc.ID)
		b.want("a.md", "y\r\ny\n")
		try(t, b.docs.CloseDocument(ctx, b.page, doc.ID, document.KeepUnsaved))
		if undone := b.undo(set.ID); len(undone.Documents) != 0 {
			t.Errorf("%+v", undone.Documents)
		}
		b.want("a.md", "x\r\nx\n")
		b.want("b.md", "x")
	})
	t.Run("closed without saving", func(t *testing.T) {
		b := newBench(t, map[string]string{"a.md": "x", "b.md": "x"})
		doc := b.open("a.md")
		set := b.replace("x", "y")
		applied := b.apply(set)
		b.edit(doc.ID, applied.Documents[0].Edits...)
		try(t, b.docs.CloseDocument(ctx, b.page, doc.ID, document.DiscardUnsaved))
		_, err := b.m.Undo(ctx, set.ID)
		refused(t, err, fault.ChangedOnDisk, b.path("a.md"))
		b.want("b.md", "y")
	})
	t.Run("opened since, clean", func(t *testing.T) {
		b := newBench(t, map[string]string{"a.md": "x", "b.md": "x"})
		set := b.replace("x", "y")
		b.apply(set)
		b.open("a.md")
		if undone := b.undo(set.ID); len(undone.Documents) != 0 {
			t.Errorf("%+v", undone.Documents)
		}
		b.want("a.md", "x")
		info := b.docs.List()[0]
		if info.Disk == document.DiskSame {
			t.Error("the document was not told")
		}
	})
	t.Run("opened since, unsaved", func(t *testing.T) {
		b := newBench(t, map[string]string{"a.md": "x", "b.md": "x"})
		set := b.replace("x", "y")
		b.apply(set)
		doc := b.open("a.md")
		b.edit(doc.ID, text.Edit{Insert: "mine "})
		_, err := b.m.Undo(ctx, set.ID)
		refused(t, err, fault.Stale, b.path("a.md"))
		b.want("a.md", "y")
		b.want("b.md", "y")
	})
	t.Run("opened between preview and application", func(t *testing.T) {
		b := newBench(t, map[string]string{"a.md": "x", "b.md": "x"})
		set := b.replace("x", "y")
		doc := b.open("a.md")
		applied := b.apply(set)
		if len(applied.Documents) != 1 || applied.Documents[0].ID != doc.ID {
			t.Errorf("%+v", applied.Documents)
		}
		b.want("a.md", "x")
		b.want("b.md", "y")
	})
	t.Run("closed between preview and application", func(t *testing.T) {
		b := newBench(t, map[string]string{"a.md": "x", "b.md": "x"})
		doc := b.open("a.md")
		set := b.replace("x", "y")
		try(t, b.docs.CloseDocument(ctx, b.page, doc.ID, document.KeepUnsaved))
		if applied := b.apply(set); len(applied.Documents) != 0 {
			t.Errorf("%+v", applied.Documents)
		}
		b.want("a.md", "y")
	})
	t.Run("written since", func(t *testing.T) {
		b := newBench(t, map[string]string{"a.md": "x", "b.md": "x"})
		set := b.replace("x", "y")
		b.apply(set)
		b.put("b.md", "other")
		_, err := b.m.Undo(ctx, set.ID)
		refused(t, err, fault.ChangedOnDisk, b.path("b.md"))
		b.want("a.md", "y")
	})
}

// The same file under another name is one document.
func TestApply_DocumentUnderAnotherName(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "x"})
	try(t, os.Symlink("a.md", b.path("link.md")))
	doc := b.open("link.md")
	b.edit(doc.ID, text.Edit{Insert: "x "})
	set := b.replace("x", "y")
	if len(set.Files) != 1 || set.Files[0].DocumentID != doc.ID || len(set.Files[0].Edits) != 2 {
		t.Fatalf("%+v", set.Files)
	}
	if applied := b.apply(set); len(applied.Documents) != 1 {
		t.Errorf("%+v", applied)
	}
	b.want("a.md", "x")
}

func TestApply_KeepsVersions(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "x"})
	b.apply(b.replace("x", "y"))
	doc := b.open("a.md")
	h, err := b.docs.History(context.Background(), doc.ID)
	try(t, err)
	if len(h.Versions) != 1 || h.Versions[0].Reason != document.VersionReplaced {
		t.Errorf("%+v", h)
	}
}

func TestManager_KeepsAFew(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "0"})
	first := b.replace("0", "1")
	b.apply(first)
	var ids []string
	for range maxSets + 3 {
		ids = append(ids, b.replace("1", "2").ID)
	}
	if len(b.m.sets) != maxSets {
		t.Errorf("%d sets", len(b.m.sets))
	}
	if _, err := b.m.Get(ids[0]); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("the oldest is there: %v", err)
	}
	b.undo(first.ID) // an applied one goes last
	b.want("a.md", "0")
	b.m.Drop(ids[len(ids)-1])
	b.m.Drop("none")
	if _, err := b.m.Get(ids[len(ids)-1]); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("dropped and there: %v", err)
	}
	for i := range maxSets + 1 {
		set := b.replace(fmt.Sprint(i), fmt.Sprint(i+1))
		b.apply(set)
	}
	if n := len(b.journals()); n != maxSets {
		t.Errorf("%d journals", n)
	}
}

// A move takes its link changes along and gives them back.
//
// covers: F8
func TestApply_Move(t *testing.T) {
	b := newBench(t, map[string]string{
		"index.md": "[a](notes/a.md) [[b]]\r\n", "notes/a.md": "[b](b.md)", "notes/b.md": "[a](a.md) [i](../index.md)", "other.md": "nothing",
	})
	before := b.snapshot()
	try(t, os.MkdirAll(b.path("deep/er"), 0o755))
	set := b.plan("notes", "deep/er/texts")
	if set.Kind != Move || set.From != b.path("notes") || set.To != b.path("deep/er/texts") || len(set.Files) != 2 {
		t.Fatalf("%+v", set)
	}
	before["deep/"], before["deep/er/"] = "", ""
	b.apply(set)
	b.want("index.md", "[a](deep/er/texts/a.md) [[b]]\r\n")
	b.want("deep/er/texts/b.md", "[a](a.md) [i](../../../index.md)")
	b.undo(set.ID)
	if d := cmp.Diff(before, b.snapshot()); d != "" {
		t.Error(d)
	}
}

func TestApply_MoveOfAnOpenDocument(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "[b](b.md)", "b.md": "[a](a.md)"})
	try(t, os.Mkdir(b.path("d"), 0o755))
	doc := b.open("a.md")
	set := b.plan("a.md", "d/a.md")
	if len(set.Files) != 2 {
		t.Fatalf("%+v", set)
	}
	applied := b.apply(set)
	b.want("d/a.md", "[b](b.md)")
	b.want("b.md", "[a](d/a.md)")
	if info, err := b.docs.Info(doc.ID); err != nil || info.Path != b.path("d/a.md") {
		t.Errorf("%+v, %v", info, err)
	}
	if len(applied.Documents) != 1 || applied.Documents[0].Edits[0].Insert != "../b.md" {
		t.Errorf("%+v", applied.Documents)
	}
	b.edit(doc.ID, applied.Documents[0].Edits...)
	b.save(doc.ID)
	try(t, b.docs.CloseDocument(context.Background(), b.page, doc.ID, document.KeepUnsaved))
	b.undo(set.ID)
	b.want("a.md", "[b](b.md)")
	b.want("b.md", "[a](a.md)")
}

func TestPlanMove_Refuses(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "", "b.md": "", "d/c.md": ""})
	ctx := context.Background()
	for _, c := range []struct {
		from, to string
		code     fault.Code
	}{
		{b.path("none.md"), b.path("x.md"), fault.NotFound},
		{b.path("a.md"), b.path("b.md"), fault.Exists},
		{b.path(""), b.path("x"), fault.OutsideWorkspace},
		{b.path("a.md"), filepath.Join(b.root, "a.md"), fault.OutsideWorkspace},
		{filepath.Join(b.root, "home"), b.path("x"), fault.OutsideWorkspace},
	} {
		_, err := b.m.PlanMove(ctx, c.from, c.to)
		refused(t, err, c.code, "")
	}
	if set := b.plan("a.md", "x.md"); len(set.Files) != 0 || set.ID != "" {
		t.Errorf("%+v", set)
	}
	b.grants.Revoke(b.path(""))
	_, err := b.m.PlanMove(ctx, b.path("a.md"), b.path("x.md"))
	refused(t, err, fault.NotGranted, "")
}

// A move that fails leaves no link changed.
func TestApply_MoveFails(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "[b](b.md)", "b.md": ""})
	set := b.plan("b.md", "c.md")
	b.put("c.md", "taken meanwhile")
	before := b.snapshot()
	_, err := b.m.Apply(context.Background(), set.ID, all(set))
	refused(t, err, fault.Exists, "")
	if d := cmp.Diff(before, b.snapshot()); d != "" {
		t.Error(d)
	}
	if left := b.journals(); len(left) != 0 {
		t.Errorf("journals left: %v", left)
	}
	// It can be tried again.
	try(t, os.Remove(b.path("c.md")))
	b.apply(set)
	b.want("a.md", "[b](c.md)")
}
