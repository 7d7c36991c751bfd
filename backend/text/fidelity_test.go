package text_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/text/vectors"
)

// A1, A2, A3, A5 and their kinds.
//
// covers: F1 F2 F3 P11
func TestFidelity_Vectors(t *testing.T) {
	t.Parallel()
	cases, err := vectors.Fidelity()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			runFidelity(t, c)
		})
	}
}

func runFidelity(t *testing.T, c vectors.Case) {
	format, lines, err := text.Decode(c.Bytes)
	if !c.Open.Editable {
		if fault.CodeOf(err) != c.Open.Reason {
			t.Fatalf("Decode: %v, want %s", err, c.Open.Reason)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text.Format{Encoding: c.Open.Encoding, BOM: c.Open.BOM}, format); diff != "" {
		t.Error(diff)
	}
	n := lines.Count()
	if diff := cmp.Diff(c.Open.Endings, map[text.Ending]int{text.LF: n.LF, text.CRLF: n.CRLF, text.CR: n.CR}); diff != "" {
		t.Error(diff)
	}
	if lines.Len() != c.Open.LengthUtf16 || lines.Breaks()+1 != c.Open.Lines || strings.HasSuffix(lines.Text(), "\n") != c.Open.FinalNewline {
		t.Errorf("length %d, breaks %d", lines.Len(), lines.Breaks())
	}
	majority := n.Majority()
	// deleted holds the endings that each step deleted.
	deleted := make([][]text.EndingRun, len(c.Steps))
	for i, step := range c.Steps {
		edits := step.Edits()
		before := lines.Text()
		want, applyErr := text.Apply(before, edits)
		_, runs, inverseErr := lines.Inverse(edits)
		var next text.Lines
		var err error
		if step.UndoOf == nil {
			next, err = lines.Apply(edits, majority)
		} else {
			next, err = lines.ApplyWithEndings(edits, deleted[*step.UndoOf])
		}
		if step.Rejected {
			for _, err := range []error{err, applyErr, inverseErr} {
				if fault.CodeOf(err) != fault.InvalidInput {
					t.Fatalf("step %d: %v, want invalid_input", i, err)
				}
			}
			continue
		}
		if err != nil || applyErr != nil || inverseErr != nil {
			t.Fatalf("step %d: %v, %v, %v", i, err, applyErr, inverseErr)
		}
		deleted[i] = runs
		if next.Text() != want {
			t.Fatalf("step %d: texts differ", i)
		}
		lines = next
	}
	if got := text.Encode(format, lines); !bytes.Equal(got, c.Saved) {
		t.Errorf("saved %d bytes, want %d: %.200q", len(got), len(c.Saved), got)
	}
}

// covers: F1 F2
func FuzzOpenSave(f *testing.F) {
	for _, s := range []string{
		"", "a\r\nb\rc\nd", "\xEF\xBB\xBF\r\r\n", "\xEF\xBB\xBF\xEF\xBB\xBF", "\xFF\xFEa\x00\r\x00\n\x00", "\xFE\xFF\xD8\x3D\xDE\x00",
		"\xFF\xFE\x00\x00", "\xFF\xFEa", "\xED\xA0\x80", "\xC0\x80", "a\x00b", "\uFFFD", "\xF4\x90\x80\x80", strings.Repeat("é\r\n", 9000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		format, lines, err := text.Decode(data)
		if err != nil {
			if fault.CodeOf(err) != fault.UnsupportedEncoding {
				t.Fatal(err)
			}
			if v := text.View(data); strings.ContainsAny(v, "\r\x00") {
				t.Fatalf("view %q", v)
			}
			return
		}
		if got := text.Encode(format, lines); !bytes.Equal(got, data) {
			t.Fatalf("%q became %q", data, got)
		}
		if strings.Count(lines.Text(), "\uFFFD") != 0 && format.Encoding == text.UTF8 && !bytes.Contains(data, []byte("\uFFFD")) {
			t.Fatal("U+FFFD that was not there")
		}
		again, err := text.NewLines(lines.Text(), lines.Endings())
		if err != nil || !again.Equal(lines) || again.Digest() != text.Digest(lines.Text()) {
			t.Fatalf("not made again: %v", err)
		}
	})
}

func TestView_ShowsEveryByte(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff("a\n\\xff\\x00é\\xc0\\x80\n\\x1b\\xc2\\x85\uFFFD", text.View([]byte("a\r\n\xff\x00é\xc0\x80\r\n\x1b\xc2\x85\uFFFD"))); diff != "" {
		t.Error(diff)
	}
}
