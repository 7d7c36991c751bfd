package text

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
)

// covers: P1
func TestApply_MakesAllEditsOfOneBase(t *testing.T) {
	t.Parallel()
	got, err := Apply("one two three", []Edit{{0, 0, ">> "}, {4, 7, "2"}, {7, 7, "!"}, {13, 13, "\n"}})
	if err != nil || got != ">> one 2! three\n" {
		t.Errorf("Apply = %q, %v", got, err)
	}
}

// B8: offsets of units, bytes and runes are not mixed, a pair is never split.
func TestApply_CountsUTF16Units(t *testing.T) {
	t.Parallel()
	got, err := Apply("a😀b c", []Edit{{3, 4, "B"}})
	if err != nil || got != "a😀B c" {
		t.Errorf("Apply = %q, %v", got, err)
	}
	if _, err := Apply("a😀b c", []Edit{{2, 3, "x"}}); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("an edit inside a pair: %v, want invalid_input", err)
	}
}

// B10: replacement text is literal.
func TestApply_InsertsLiterally(t *testing.T) {
	t.Parallel()
	const dollars = "$$x$$ $& $1 $'"
	got, err := Apply("[m]", []Edit{{1, 2, dollars}})
	if err != nil || got != "["+dollars+"]" {
		t.Errorf("Apply = %q, %v", got, err)
	}
}

// covers: P1
func TestCheck_Refusals(t *testing.T) {
	t.Parallel()
	for name, edits := range map[string][]Edit{
		"below zero":              {{-1, 0, ""}},
		"past the end":            {{0, 5, ""}},
		"from past to":            {{2, 1, ""}},
		"inside a pair":           {{2, 2, "x"}},
		"overlap":                 {{0, 3, ""}, {1, 4, ""}},
		"insertion in a deletion": {{0, 3, ""}, {1, 1, "x"}},
		"unsorted":                {{3, 4, ""}, {0, 1, ""}},
		"carriage return":         {{0, 0, "a\r\n"}},
		"lone surrogate":          {{0, 0, "\xed\xa0\xbd"}},
		"later edit is wrong":     {{0, 0, "x"}, {9, 9, "y"}},
	} {
		if err := Check(edits, NewIndex("a😀b")); fault.CodeOf(err) != fault.InvalidInput {
			t.Errorf("%s: %v, want invalid_input", name, err)
		}
	}
	if err := Check([]Edit{{1, 1, "x"}, {1, 1, "y"}, {1, 3, ""}, {3, 4, "z"}}, NewIndex("a😀b")); err != nil {
		t.Errorf("touching edits: %v", err)
	}
}

func TestEdit_UnmarshalKeepsLoneSurrogates(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"plain \"q\" \\ud83d \n"`:     "plain \"q\" \\ud83d \n",
		`"\ud83d\ude00 whole"`:         "😀 whole",
		`"x\ud83dy"`:                   "x\xed\xa0\xbdy",
		`"\ude00\ud83d"`:               "\xed\xb8\x80\xed\xa0\xbd",
		`"\ud83d\ud83d\ude00"`:         "\xed\xa0\xbd😀",
		`"\u00e9\uFFFD\u4e00\\\ud83d"`: "é\uFFFD一\\\xed\xa0\xbd",
		`""`:                           "",
	} {
		var e Edit
		if err := json.Unmarshal([]byte(`{"from":1,"to":2,"insert":`+in+`}`), &e); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if diff := cmp.Diff(Edit{1, 2, want}, e); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
	}
}

func TestIndex_AgreesWithUTF16(t *testing.T) {
	t.Parallel()
	checkIndex(t, strings.Repeat("aé一😀\n", 900)+strings.Repeat("x", 1500)+"😀")
}

func FuzzIndex(f *testing.F) {
	for _, s := range []string{"", "a", "aé一😀", strings.Repeat("x", 1023) + "😀y", strings.Repeat("一", 800)} {
		f.Add(s)
	}
	f.Fuzz(checkIndex)
}

// checkIndex compares an index with the standard library's encoding.
func checkIndex(t *testing.T, s string) {
	if !utf8.ValidString(s) {
		t.Skip()
	}
	ix := NewIndex(s)
	if got, want := ix.Len(), len(utf16.Encode([]rune(s))); got != want || Length(s) != want {
		t.Fatalf("Len = %d, Length = %d, want %d", got, Length(s), want)
	}
	unit := 0
	for at, r := range s {
		if got, err := ix.Byte(unit); err != nil || got != at {
			t.Fatalf("Byte(%d) = %d, %v, want %d", unit, got, err, at)
		}
		for b := range utf8.RuneLen(r) {
			if got := ix.UTF16(at + b); got != unit {
				t.Fatalf("UTF16(%d) = %d, want %d", at+b, got, unit)
			}
		}
		if r > 0xFFFF {
			if _, err := ix.Byte(unit + 1); fault.CodeOf(err) != fault.InvalidInput {
				t.Fatalf("Byte(%d) = %v inside a pair", unit+1, err)
			}
		}
		unit += utf16.RuneLen(r)
	}
	if got, err := ix.Byte(unit); err != nil || got != len(s) {
		t.Fatalf("Byte(%d) = %d, %v, want %d", unit, got, err, len(s))
	}
	for _, pos := range []int{-1, unit + 1} {
		if _, err := ix.Byte(pos); fault.CodeOf(err) != fault.InvalidInput {
			t.Fatalf("Byte(%d) = %v out of range", pos, err)
		}
	}
}

func FuzzApply(f *testing.F) {
	f.Add("a😀b c", 3, 4, "B", 4, 4, "x")
	f.Add("", 0, 0, "a\nb", 0, 0, "c")
	f.Add("éé", 1, 2, "", 1, 1, "\xed\xa0\xbd")
	f.Fuzz(func(t *testing.T, s string, f1, t1 int, i1 string, f2, t2 int, i2 string) {
		if !utf8.ValidString(s) {
			t.Skip()
		}
		edits := []Edit{{f1, t1, i1}, {f2, t2, i2}}
		got, err := Apply(s, edits)
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidInput {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		units := utf16.Encode([]rune(s))
		want := append([]uint16{}, units[:f1]...)
		want = append(want, utf16.Encode([]rune(i1))...)
		want = append(want, units[t1:f2]...)
		want = append(want, utf16.Encode([]rune(i2))...)
		want = append(want, units[t2:]...)
		if diff := cmp.Diff(string(utf16.Decode(want)), got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func FuzzEditJSON(f *testing.F) {
	for _, s := range []string{`"a\\ud83d"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\\\"\u00e9\udfff\n"`, `null`, `1`, "\"\xff\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, insert string) {
		var want struct{ Insert string }
		var got Edit
		data := []byte(`{"insert":` + insert + `}`)
		wantErr := json.Unmarshal(data, &want)
		err := json.Unmarshal(data, &got)
		if !utf8.Valid(data) {
			if err == nil && wantErr == nil && strings.Contains(want.Insert, "\uFFFD") && !strings.Contains(insert, "\uFFFD") && utf8.ValidString(got.Insert) {
				t.Fatalf("%q became %q", insert, got.Insert)
			}
			return
		}
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v, want %v", insert, err, wantErr)
		}
		// The only difference is that lone surrogates are still there.
		if err == nil && string([]rune(want.Insert)) != loneReplaced(got.Insert) {
			t.Fatalf("%q became %q, want %q", insert, got.Insert, want.Insert)
		}
	})
}

// loneReplaced makes each three-byte lone surrogate U+FFFD.
func loneReplaced(s string) string {
	var out strings.Builder
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			n = 3
		}
		out.WriteRune(r)
		s = s[n:]
	}
	return out.String()
}
