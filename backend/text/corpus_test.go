package text_test

import (
	"bytes"
	"strings"
	"testing"

	"galley/backend/text"
	"galley/backend/text/vectors"
)

// Every example of the CommonMark and GFM specifications, in every encoding
// with every kind of line ending: opened and saved it is the same bytes, and an
// edit of one place changes the bytes of that place alone.
//
// covers: F1 F2 F3
func TestCorpus_OpenSaveAndEdit(t *testing.T) {
	t.Parallel()
	examples, err := vectors.Examples()
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, e := range examples {
		if strings.Contains(e.Markdown, "\r") {
			t.Fatalf("%s %d holds a carriage return: the variants would say nothing", e.Spec, e.Number)
		}
		for _, v := range vectors.Variants() {
			data, err := v.Bytes(e.Markdown)
			if err != nil {
				t.Fatal(err)
			}
			format, lines, err := text.Decode(data)
			if err != nil || format != v.Format || lines.Text() != e.Markdown {
				t.Fatalf("%s %d as %s: opened as %+v (%v)", e.Spec, e.Number, v, format, err)
			}
			if got := text.Encode(format, lines); !bytes.Equal(got, data) {
				t.Errorf("%s %d as %s: %q became %q", e.Spec, e.Number, v, data, got)
			}
			files++
			editOnePlace(t, e, v, lines)
		}
	}
	t.Logf("%d examples, %d files", len(examples), files)
}

// editOnePlace puts a mark at the start of the middle line. The wanted bytes
// are made from the two halves apart, so that no code of the edit is in them.
func editOnePlace(t *testing.T, e vectors.Example, v vectors.Variant, lines text.Lines) {
	t.Helper()
	at := 0
	if breaks := strings.Count(e.Markdown, "\n"); breaks > 1 {
		for range breaks / 2 {
			at += strings.IndexByte(e.Markdown[at:], '\n') + 1
		}
	}
	before := text.Length(e.Markdown[:at])
	whole, err := v.Bytes(e.Markdown)
	if err != nil {
		t.Fatal(err)
	}
	head, err := v.Bytes(e.Markdown[:at])
	if err != nil {
		t.Fatal(err)
	}
	mark, err := vectors.Variant{Format: v.Format, Endings: v.Endings}.Bytes("茶")
	if err != nil {
		t.Fatal(err)
	}
	empty, err := v.Bytes("")
	if err != nil {
		t.Fatal(err)
	}
	want := append(bytes.Clone(head), mark[len(empty):]...)
	want = append(want, whole[len(head):]...)

	next, err := lines.Apply([]text.Edit{{From: before, To: before, Insert: "茶"}}, lines.Count().Majority())
	if err != nil {
		t.Fatalf("%s %d as %s: %v", e.Spec, e.Number, v, err)
	}
	if got := text.Encode(v.Format, next); !bytes.Equal(got, want) {
		t.Errorf("%s %d as %s: edited to %q, want %q", e.Spec, e.Number, v, got, want)
	}
}
