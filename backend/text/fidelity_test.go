package text

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
)

// blob is base64, or pieces repeated.
type blob []byte

func (b *blob) UnmarshalJSON(data []byte) error {
	var plain []byte
	if json.Unmarshal(data, &plain) == nil {
		*b = plain
		return nil
	}
	var long struct {
		Repeat [][2]json.RawMessage `json:"repeat"`
	}
	if err := json.Unmarshal(data, &long); err != nil {
		return err
	}
	for _, piece := range long.Repeat {
		var s string
		var n int
		if err := json.Unmarshal(piece[0], &s); err != nil {
			return err
		}
		if err := json.Unmarshal(piece[1], &n); err != nil {
			return err
		}
		raw, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return err
		}
		*b = append(*b, bytes.Repeat(raw, n)...)
	}
	return nil
}

type fidelityCase struct {
	ID    string `json:"id"`
	Note  string `json:"note"`
	Bytes blob   `json:"bytes"`
	Saved blob   `json:"saved"`
	Open  struct {
		Editable     bool           `json:"editable"`
		Reason       fault.Code     `json:"reason"`
		Encoding     Encoding       `json:"encoding"`
		BOM          bool           `json:"bom"`
		Endings      map[Ending]int `json:"endings"`
		FinalNewline bool           `json:"finalNewline"`
		LengthUtf16  int            `json:"lengthUtf16"`
		Lines        int            `json:"lines"`
	} `json:"open"`
	Steps []struct {
		Changes  []fidelityChange `json:"changes"`
		UndoOf   *int             `json:"undoOf"`
		Rejected bool             `json:"rejected"`
	} `json:"steps"`
}

// fidelityChange is an edit as the page sends it: a lone surrogate travels as
// an escape.
type fidelityChange struct{ Edit }

func (c *fidelityChange) UnmarshalJSON(data []byte) error {
	var units struct {
		From        int    `json:"from"`
		To          int    `json:"to"`
		InsertUtf16 []rune `json:"insertUtf16"`
	}
	if err := json.Unmarshal(data, &units); err != nil {
		return err
	}
	if units.InsertUtf16 == nil {
		return json.Unmarshal(data, &c.Edit)
	}
	var sent strings.Builder
	sent.WriteString(`{"insert":"`)
	for _, u := range units.InsertUtf16 {
		sent.WriteString(`\u`)
		const hex = "0123456789abcdef"
		for shift := 12; shift >= 0; shift -= 4 {
			sent.WriteByte(hex[u>>shift&15])
		}
	}
	sent.WriteString(`"}`)
	if err := json.Unmarshal([]byte(sent.String()), &c.Edit); err != nil {
		return err
	}
	c.From, c.To = units.From, units.To
	return nil
}

// A1, A2, A3, A5 and their kinds.
//
// covers: F1 F2 F3 P11
func TestFidelity_Vectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../agent/core/testdata/patch/fidelity.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []fidelityCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 312 {
		t.Fatalf("%d cases, want at least 312", len(file.Cases))
	}
	for _, c := range file.Cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			runFidelity(t, c)
		})
	}
}

func runFidelity(t *testing.T, c fidelityCase) {
	format, lines, err := Decode(c.Bytes)
	if !c.Open.Editable {
		if fault.CodeOf(err) != c.Open.Reason {
			t.Fatalf("Decode: %v, want %s", err, c.Open.Reason)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Format{c.Open.Encoding, c.Open.BOM}, format); diff != "" {
		t.Error(diff)
	}
	n := lines.Count()
	if diff := cmp.Diff(c.Open.Endings, map[Ending]int{LF: n.LF, CRLF: n.CRLF, CR: n.CR}); diff != "" {
		t.Error(diff)
	}
	if lines.Len() != c.Open.LengthUtf16 || lines.Breaks()+1 != c.Open.Lines || strings.HasSuffix(lines.Text(), "\n") != c.Open.FinalNewline {
		t.Errorf("length %d, breaks %d", lines.Len(), lines.Breaks())
	}
	majority := n.Majority()
	// deleted holds the endings that each step deleted.
	deleted := make([][]EndingRun, len(c.Steps))
	for i, step := range c.Steps {
		edits := make([]Edit, len(step.Changes))
		for k, change := range step.Changes {
			edits[k] = change.Edit
		}
		before := lines.Text()
		want, applyErr := Apply(before, edits)
		_, runs, inverseErr := lines.Inverse(edits)
		var next Lines
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
	if got := Encode(format, lines); !bytes.Equal(got, c.Saved) {
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
		format, lines, err := Decode(data)
		if err != nil {
			if fault.CodeOf(err) != fault.UnsupportedEncoding {
				t.Fatal(err)
			}
			if v := View(data); strings.ContainsAny(v, "\r\x00") {
				t.Fatalf("view %q", v)
			}
			return
		}
		if got := Encode(format, lines); !bytes.Equal(got, data) {
			t.Fatalf("%q became %q", data, got)
		}
		if strings.Count(lines.Text(), "\uFFFD") != 0 && format.Encoding == UTF8 && !bytes.Contains(data, []byte("\uFFFD")) {
			t.Fatal("U+FFFD that was not there")
		}
		again, err := NewLines(lines.Text(), lines.Endings())
		if err != nil || !again.Equal(lines) || again.Digest() != Digest(lines.Text()) {
			t.Fatalf("not made again: %v", err)
		}
	})
}

func TestView_ShowsEveryByte(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff("a\n\\xff\\x00é\\xc0\\x80\n\\x1b\\xc2\\x85\uFFFD", View([]byte("a\r\n\xff\x00é\xc0\x80\r\n\x1b\xc2\x85\uFFFD"))); diff != "" {
		t.Error(diff)
	}
}
