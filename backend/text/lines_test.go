package text

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"galley/backend/fault"
)

// plain is the table of endings in its simplest form: one for each break.
type plain struct {
	text string
	ends []Ending
}

func (p plain) apply(t *testing.T, edits []Edit, choose func(from int) Ending) plain {
	t.Helper()
	out := plain{}
	var err error
	if out.text, err = Apply(p.text, edits); err != nil {
		t.Fatal(err)
	}
	ix := NewIndex(p.text)
	at := 0
	for _, e := range edits {
		from, to := byteOf(t, ix, e.From), byteOf(t, ix, e.To)
		first := strings.Count(p.text[:from], "\n")
		out.ends = append(out.ends, p.ends[at:first]...)
		for range strings.Count(e.Insert, "\n") {
			out.ends = append(out.ends, choose(first))
		}
		at = strings.Count(p.text[:to], "\n")
	}
	out.ends = append(out.ends, p.ends[at:]...)
	return out
}

func byteOf(t *testing.T, ix *Index, pos int) int {
	t.Helper()
	b, err := ix.Byte(pos)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func runsOf(ends []Ending) []EndingRun {
	runs := []EndingRun{}
	for _, e := range ends {
		runs = addRun(runs, e, 1)
	}
	return runs
}

// The parts are an arrangement; random edits on texts of many parts must give
// what the simplest table gives, and their inverses must take them back.
//
// covers: F1 F3
func TestLines_RandomEdits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 2))
		endings := []Ending{LF, CRLF, CR}
		var ends []Ending
		s := randomText(r, 20) + strings.Repeat(randomText(r, r.IntN(3000)), r.IntN(16))
		for range strings.Count(s, "\n") {
			ends = append(ends, endings[r.IntN(3)])
		}
		want := plain{s, ends}
		got, err := NewLines(s, runsOf(ends))
		if err != nil {
			t.Fatal(err)
		}
		first := got
		type back struct {
			edits []Edit
			runs  []EndingRun
		}
		var undo []back
		for step := range 20 {
			edits := randomEdits(r, want.text)
			if r.IntN(5) == 0 {
				edits[0].Insert = strings.Repeat(randomText(r, 10), r.IntN(5000))
			}
			b, runs, err := got.Inverse(edits)
			if err != nil {
				t.Fatal(err)
			}
			undo = append(undo, back{b, runs})
			before := want
			want = want.apply(t, edits, func(line int) Ending {
				if line < len(before.ends) {
					return before.ends[line]
				}
				return CR
			})
			if got, err = got.Apply(edits, CR); err != nil {
				t.Fatal(err)
			}
			checkLines(t, seed, step, got, want)
		}
		for i := len(undo) - 1; i >= 0; i-- {
			if got, err = got.ApplyWithEndings(undo[i].edits, undo[i].runs); err != nil {
				t.Fatal(err)
			}
		}
		if !got.Equal(first) || !first.Equal(got) {
			t.Fatalf("seed %d: all undone is not equal", seed)
		}
	}
}

func checkLines(t *testing.T, seed uint64, step int, got Lines, want plain) {
	t.Helper()
	if got.Text() != want.text || got.Len() != Length(want.text) || got.Size() != len(want.text) || got.Breaks() != len(want.ends) {
		t.Fatalf("seed %d, step %d: texts differ", seed, step)
	}
	if !slices.Equal(got.Endings(), runsOf(want.ends)) {
		t.Fatalf("seed %d, step %d: endings differ", seed, step)
	}
	for _, p := range got.parts {
		if len(p.text) > partMax || p.units != Length(p.text) || len(p.endings) != strings.Count(p.text, "\n") {
			t.Fatalf("seed %d, step %d: a part of %d bytes", seed, step, len(p.text))
		}
	}
}

func TestLines_EqualSeesEndings(t *testing.T) {
	t.Parallel()
	a, b := splitLines("a\r\nb\n"), splitLines("a\nb\r\n")
	if a.Text() != b.Text() || a.Equal(b) {
		t.Error("texts with other endings are equal")
	}
	if a.Equal(splitLines("a\r\nc\n")) || !a.Equal(splitLines("a\r\nb\n")) {
		t.Error("Equal is wrong")
	}
}

func TestLines_Refusals(t *testing.T) {
	t.Parallel()
	for name, runs := range map[string][]EndingRun{
		"too few":     {{LF, 1}},
		"too many":    {{LF, 3}},
		"negative":    {{LF, 3}, {CR, -1}},
		"no ending":   {{"nl", 2}},
		"huge":        {{LF, 1 << 62}, {LF, 1 << 62}},
		"none at all": nil,
	} {
		if _, err := NewLines("a\nb\n", runs); fault.CodeOf(err) != fault.InvalidInput {
			t.Errorf("%s: NewLines: %v", name, err)
		}
		if _, err := splitLines("x").ApplyWithEndings([]Edit{{0, 0, "\n\n"}}, runs); fault.CodeOf(err) != fault.InvalidInput {
			t.Errorf("%s: ApplyWithEndings: %v", name, err)
		}
	}
	for _, s := range []string{"a\rb", "\xff", "\xed\xa0\xbd"} {
		if _, err := NewLines(s, nil); fault.CodeOf(err) != fault.InvalidInput {
			t.Errorf("NewLines(%q): %v", s, err)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\r\nb\nc\r"), 1, 2, "x\ny", true)
	f.Add([]byte("\xEF\xBB\xBF😀\r\n"), 0, 3, "\n", false)
	f.Fuzz(func(t *testing.T, data []byte, from, to int, insert string, undo bool) {
		format, lines, err := Decode(data)
		if err != nil {
			t.Skip()
		}
		edits := []Edit{{from, to, insert}}
		want, wantErr := Apply(lines.Text(), edits)
		got, err := lines.Apply(edits, lines.Count().Majority())
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%v, want %v", err, wantErr)
		}
		if err != nil {
			return
		}
		if got.Text() != want || got.Breaks() != strings.Count(want, "\n") {
			t.Fatalf("%q, want %q", got.Text(), want)
		}
		if !undo {
			return
		}
		back, runs, err := lines.Inverse(edits)
		if err != nil {
			t.Fatal(err)
		}
		if got, err = got.ApplyWithEndings(back, runs); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(Encode(format, got), data) {
			t.Fatal("undone, the bytes differ")
		}
	})
}

func manyLines(n int) Lines {
	return splitLines(strings.Repeat("some words\r\nin a line\n", n/2))
}

func BenchmarkLines_OneKey(b *testing.B) {
	for name, l := range map[string]Lines{
		"lines=1M":   manyLines(1_000_000),
		"bytes=10MB": splitLines(strings.Repeat("é1234567", 10<<20/9)),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				at := l.Len() / 2
				next, err := l.Apply([]Edit{{at, at, "\n"}}, LF)
				if err != nil || next.Equal(l) {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeEncode(b *testing.B) {
	f := Format{Encoding: UTF8}
	data := Encode(f, manyLines(1_000_000))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_, l, err := Decode(data)
		if err != nil {
			b.Fatal(err)
		}
		Encode(f, l)
	}
}

func BenchmarkIndex(b *testing.B) {
	s := strings.Repeat("é1234567", 10<<20/9)
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		NewIndex(s)
	}
}
