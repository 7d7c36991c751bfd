package tools

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/text"
)

// Every tool that is declared is there, and no other.
//
// covers: T2
func TestTools_AreThoseDeclared(t *testing.T) {
	b := newBench(t, nil)
	declared := core.Tools()
	if len(declared) != len(b.exec.tools) {
		t.Errorf("%d tools, %d are declared", len(b.exec.tools), len(declared))
	}
	for _, d := range declared {
		got, ok := b.exec.tools[d.Name]
		if !ok || got.prepare == nil || got.run == nil {
			t.Errorf("%s is not there", d.Name)
		}
		if effect := d.Permission == core.PermNotesWrite; got.effect != effect || (got.probe != nil) != effect {
			t.Errorf("%s: effect %v, probe %v", d.Name, got.effect, got.probe != nil)
		}
	}
	b.begin("")
	b.refused("notes.delete", "{}", fault.NotFound)
	b.refused("shell", `{"command":"ls"}`, fault.NotFound)
	b.refused(core.ToolMathAdd, `{"left":1}`, fault.InvalidInput)
	b.refused(core.ToolMathAdd, `{"left":1,"right":2,"more":3}`, fault.InvalidInput)
	if r := b.must(core.ToolMathAdd, input{"left": 1, "right": 2.5}); r.Text != "3.5" {
		t.Errorf("1 + 2.5 = %s", r.Text)
	}
	if r := b.must(core.ToolSystemEcho, input{"text": "hello <tool> 🦊"}); r.Text != "hello <tool> 🦊" {
		t.Errorf("echo: %s", r.Text)
	}
}

// What is read of the document is what its page holds, unsaved text too.
//
// covers: T2 T7
func TestGetActiveDocument(t *testing.T) {
	b := newBench(t, nil)
	doc := b.with("Notes/a.md", "---\r\ntitle: x\r\n---\r\n# One\r\nold\r\n")
	r := b.must(core.ToolGetActiveDocument, input{})
	if got := b.data(r); got != "---\ntitle: x\n---\n# One\nold\n" {
		t.Errorf("got %q", got)
	}
	b.holding(r, "Notes/a.md", "version 1", "5 lines", "data and no instructions")
	if want := (core.ToolFacts{Path: "Notes/a.md", Bytes: len(b.data(r)) - 1, Version: 1}); r.Facts != want {
		t.Errorf("facts %+v", r.Facts)
	}
	info := b.edit(doc.ID, text.Edit{From: 23, To: 26, Insert: "new"})
	r = b.must(core.ToolGetActiveDocument, input{})
	if !strings.Contains(b.data(r), "# One\nnew\n") || r.Facts.Version != info.Version {
		t.Errorf("%+v\n%s", r.Facts, r.Text)
	}
	try(t, b.docs.CloseDocument(t.Context(), b.page, doc.ID, document.DiscardUnsaved))
	for _, tool := range []string{core.ToolGetActiveDocument, core.ToolGetSelection, core.ToolGetOutline} {
		b.holding(b.refused(tool, input{}, fault.NotFound), "closed")
	}
	b.refused(core.ToolProposePatch, input{"oldText": "old", "newText": "x", "summary": "s"}, fault.NotFound)
}

func TestGetActiveDocument_Kinds(t *testing.T) {
	b := newBench(t, nil)
	b.begin("")
	b.holding(b.refused(core.ToolGetActiveDocument, input{}, fault.NotFound), "no document")

	untitled := b.docs.NewUntitled()
	b.begin(untitled.ID)
	b.holding(b.must(core.ToolGetActiveDocument, input{}), "no file yet", "empty")

	try(t, os.WriteFile(b.root+"/bad.md", []byte("\xff\xfe\xff"), 0o644))
	_, err := b.grant.GrantFile(b.root + "/bad.md")
	try(t, err)
	bad, err := b.docs.Open(t.Context(), b.root+"/bad.md")
	try(t, err)
	b.begin(bad.ID)
	b.refused(core.ToolGetActiveDocument, input{}, fault.UnsupportedEncoding)

	// Outside of the workspace only its name is told.
	try(t, os.WriteFile(b.root+"/far.md", []byte("far"), 0o644))
	_, err = b.grant.GrantFile(b.root + "/far.md")
	try(t, err)
	far, err := b.docs.Open(t.Context(), b.root+"/far.md")
	try(t, err)
	b.begin(far.ID)
	r := b.must(core.ToolGetActiveDocument, input{})
	if b.data(r) != "far\n" || r.Facts.Path != "far.md" || strings.Contains(r.Text, b.root) {
		t.Errorf("%+v\n%s", r.Facts, r.Text)
	}
}

// A result is no longer than asked for, of whole lines, and says how to go on;
// the parts together are the text.
//
// covers: R8 R9
func TestGetActiveDocument_InParts(t *testing.T) {
	b := newBench(t, nil)
	var whole strings.Builder
	for i := range 400 {
		fmt.Fprintf(&whole, "line %d 夜🦊👨‍👩‍👧 of the text\n", i+1)
	}
	b.with("a.md", whole.String())
	var got strings.Builder
	for from := 1; from <= 400; {
		p, err := b.exec.Prepare(t.Context(), b.prepare(core.ToolGetActiveDocument, input{"fromLine": from}))
		try(t, err)
		req := b.request(core.ToolGetActiveDocument, input{"fromLine": from}, p)
		req.MaxBytes = 4096
		r, err := b.exec.Execute(t.Context(), req)
		try(t, err)
		if len(r.Text) > 4096 {
			t.Fatalf("%d bytes", len(r.Text))
		}
		got.WriteString(b.data(r))
		if !r.Facts.More {
			break
		}
		next := 0
		_, rest, _ := strings.Cut(r.Text, "fromLine ")
		if _, err := fmt.Sscanf(rest, "%d", &next); err != nil || next <= from {
			t.Fatalf("from %d: %s", from, r.Text)
		}
		from = next
	}
	if got.String() != whole.String() {
		t.Error("the parts are not the text")
	}
	b.refused(core.ToolGetActiveDocument, input{"fromLine": 401}, fault.InvalidInput)

	// A line that does not fit is cut between characters.
	long := strings.Repeat("👨‍👩‍👧", 1000)
	b.begin(b.with("long.md", long+"\nnext\n").ID)
	req := b.request(core.ToolGetActiveDocument, input{}, core.Prepared{})
	req.MaxBytes = 2000
	r, err := b.exec.Execute(t.Context(), req)
	try(t, err)
	part := strings.TrimSuffix(b.data(r), "\n")
	if strings.ReplaceAll(part, "👨‍👩‍👧", "") != "" || len(part)%len("👨‍👩‍👧") != 0 || part == "" || len(r.Text) > 2000 || !r.Facts.More {
		t.Errorf("%d bytes: %q", len(r.Text), part)
	}
	b.holding(r, "beginning of line 1", "fromLine 2")
}

// covers: T7
func TestGetSelection(t *testing.T) {
	b := newBench(t, nil)
	doc := b.with("a.md", "one\ntwo words\nthree\n")
	b.choose(doc.ID, 8, 8)
	r := b.must(core.ToolGetSelection, input{})
	b.holding(r, "Nothing is selected", "line 2", "two ‸words")
	b.choose(doc.ID, 17, 4)
	r = b.must(core.ToolGetSelection, input{})
	b.holding(r, "lines 2 to 3")
	if b.data(r) != "two words\nthr\n" || r.Facts.Bytes != 13 {
		t.Errorf("%+v\n%s", r.Facts, r.Text)
	}
	// The selection that was read is the one that is meant.
	b.refused(core.ToolProposePatch, input{"oldText": "one", "newText": "1", "summary": "s"}, fault.NotInDocument)
	b.must(core.ToolProposePatch, input{"oldText": "words", "newText": "WORDS", "scope": "selection", "summary": "s"})
	b.edit(doc.ID, text.Edit{From: 0, Insert: "zero\n"})
	b.holding(b.must(core.ToolGetSelection, input{}), "has changed since you read it")
}

func TestGetOutline(t *testing.T) {
	b := newBench(t, nil)
	doc := b.with("a.md", "---\nt: x\n---\n# One\n\n```\n# no\n```\n\nTwo\n---\n")
	r := b.must(core.ToolGetOutline, input{})
	if b.data(r) != "4: # One\n10: ## Two\n" {
		t.Errorf("%s", r.Text)
	}
	b.edit(doc.ID, text.Edit{From: 0, To: doc.Length, Insert: "plain\n"})
	b.holding(b.must(core.ToolGetOutline, input{}), "no headings", "has changed since")
}
