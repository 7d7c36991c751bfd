package search

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
	"galley/backend/text"
)

// naive finds what a query means with nothing but package regexp: a literal
// text is a quoted expression, and an expression that names no break is tried
// line by line. It returns byte offsets.
func naive(t testing.TB, q Query, s string) [][2]int {
	t.Helper()
	expr := q.Text
	if !q.Regexp {
		expr = regexp.QuoteMeta(expr)
	}
	flags := "(?m)"
	if !q.Case {
		flags = "(?mi)"
	}
	re, err := regexp.Compile(flags + "(?:" + expr + ")")
	if err != nil {
		t.Fatal(err)
	}
	whole := func(a, b int) bool { return !q.Word || naiveBoundary(s, a) && naiveBoundary(s, b) }
	var out [][2]int
	if !q.Regexp {
		// From each match on, or from the character after one that is no word.
		for from := 0; from <= len(s); {
			m := re.FindStringIndex(s[from:])
			if m == nil {
				break
			}
			a, b := from+m[0], from+m[1]
			if whole(a, b) {
				out = append(out, [2]int{a, b})
				from = b
				continue
			}
			_, n := utf8.DecodeRuneInString(s[a:])
			from = a + n
		}
		return out
	}
	at := 0
	lines := []string{s}
	if !strings.Contains(expr, `\n`) && !strings.Contains(expr, "(?s") && !strings.Contains(expr, `\z`) && !strings.Contains(expr, `\A`) && !strings.Contains(expr, "(?-m") {
		lines = strings.SplitAfter(s, "\n")
	}
	for _, line := range lines {
		body := line
		if len(lines) > 1 {
			body = strings.TrimSuffix(line, "\n")
		}
		for _, m := range re.FindAllStringIndex(body, -1) {
			if whole(at+m[0], at+m[1]) {
				out = append(out, [2]int{at + m[0], at + m[1]})
			}
		}
		at += len(line)
	}
	return out
}

var (
	naiveWord  = regexp.MustCompile(`^[\pL\pM\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}]$`)
	naiveMark  = regexp.MustCompile(`^\pM$`)
	naiveAlone = regexp.MustCompile(`^[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]$`)
)

// naiveBoundary is what whole words mean, by the classes of package regexp.
func naiveBoundary(s string, at int) bool {
	_, m := utf8.DecodeLastRuneInString(s[:at])
	_, n := utf8.DecodeRuneInString(s[at:])
	a, b := s[at-m:at], s[at:at+n]
	if !naiveWord.MatchString(a) || !naiveWord.MatchString(b) {
		return true
	}
	if naiveMark.MatchString(b) {
		return false
	}
	return naiveAlone.MatchString(a) || naiveAlone.MatchString(b)
}

// found is what All finds, as byte offsets.
func found(t testing.TB, q Query, s string) [][2]int {
	t.Helper()
	m, err := Compile(q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return foundBy(t, m, s)
}

func foundBy(t testing.TB, m *Matcher, s string) [][2]int {
	t.Helper()
	ix := text.NewIndex(s)
	var out [][2]int
	matches, more := m.All(s, 0)
	if more != 0 {
		t.Fatalf("%d more without a limit", more)
	}
	for _, f := range matches {
		a, err := ix.Byte(f.From)
		b, err2 := ix.Byte(f.To)
		if err != nil || err2 != nil {
			t.Fatalf("%+v: %v %v", f, err, err2)
		}
		out = append(out, [2]int{a, b})
	}
	return out
}

// pieces are what random texts are made of: what folds, what joins, what takes
// two units, and what searches stumble over.
var pieces = []string{
	"a", "b", "A", "B", "aa", "ab", "aab", "k", "K", "\u212a", "s", "S", "ſ", "ß", "ẞ", "i", "I", "İ", "ı", "é", "É", "e\u0301", "Σ", "σ", "ς", "Θ", "ϑ", "ǆ", "ǅ", "Ǆ",
	"茶", "绿茶", "中", "文", "，", "カ", "ひ", "한", "ไ", "😀", "👨\u200d👩\u200d👧", "🇩🇪", " ", "  ", "\n", "\n\n", "\t", "_", "-", ".", "(", "1", "12", "\u00a0", "\u2028", "\ufeff", "x", "the", "The ", "# ", "foo", "foobar", "\u0000",
}

func randomText(r *rand.Rand, n int) string {
	var b strings.Builder
	for range r.IntN(n) + 1 {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// covers: F9
func TestMatcher_LiteralAgreesWithNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	hits := 0
	for range 20000 {
		s := randomText(r, 60)
		q := Query{Text: randomText(r, 3), Case: r.IntN(2) == 0, Word: r.IntN(2) == 0}
		if r.IntN(3) > 0 { // something that is there
			from := r.IntN(len(s))
			for !utf8.RuneStart(s[from]) {
				from--
			}
			to := min(len(s), from+1+r.IntN(6))
			for to < len(s) && !utf8.RuneStart(s[to]) {
				to++
			}
			q.Text = s[from:to]
		}
		want := naive(t, q, s)
		hits += len(want)
		if d := cmp.Diff(want, found(t, q, s)); d != "" {
			t.Fatalf("%+v in %q:\n%s", q, s, d)
		}
	}
	if hits < 10000 {
		t.Errorf("only %d hits", hits)
	}
}

var patterns = []string{
	`a`, `a+`, `a*`, `a*?`, `a|ab`, `ab|a`, `(a|b)+`, `(a|ab)(b|)`, `a??b`, `^`, `$`, `^$`, `^a`, `b$`, `^.*$`, `.`, `..`, `.*`, `.+?a`, `\s`, `\s+`, `\S+`, `\w+`, `\W`, `[^a]`, `[^a]+`,
	`\bfoo`, `foo\b`, `\b`, `\B`, `\Bfoo`, `a\nb`, `\n`, `\n+`, `a.\n?`, `(?s).`, `(?s)a.*b`, `(?s:a.)b`, `[\n ]`, `foo|foobar`, `foobar|foo`, `foo(bar)?`, `f(o+)`, `(?i)foo`, `[[:upper:]]`, `[[:upper:]]+`,
	`\p{Han}+`, `\p{L}+`, `[a-z]+\d`, `[^\x00-\x7f]+`, `茶`, `绿?茶`, `[中文]`, `😀`, `.😀.`, `k`, `s+`, `[a-k]`, `[^s]`, `σ`, `İ`, `ß`, `é`, `e.`, `(the|The) `, `the\s`, `a{2}`, `a{2,}`, `(ab){1,2}`, `(?:a|b|c|1)+x`,
	`\Aa`, `a\z`, `(^|\s)a`, `a($|\s)`, `a(?-s:.)b`, `()`, `(|a)`, `(a|)`, `(a|)+`, `x*`, `\pM`, `[[:word:]]+`, `(?U)a+`, `[^\n]+`, `(?m)^# `, `(?-m)^a`, `a|茶|1`, `aab|foo.|[x]12`, `.{3}a`, `(a|b)*a(a|b){2}`,
}

// covers: F9
func TestMatcher_RegexpAgreesWithNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, p := range patterns {
		hits := 0
		for flags := range 4 {
			q := Query{Text: p, Regexp: true, Case: flags&1 != 0, Word: flags&2 != 0}
			m, err := Compile(q)
			if err != nil {
				t.Fatal(err)
			}
			for range 80 {
				s := randomText(r, 60)
				want := naive(t, q, s)
				hits += len(want)
				if d := cmp.Diff(want, foundBy(t, m, s)); d != "" {
					t.Fatalf("%+v in %q:\n%s", q, s, d)
				}
			}
		}
		if hits == 0 {
			t.Errorf("%s never matched", p)
		}
	}
}

// What is forgotten on the way changes nothing.
func TestMatcher_RegexpWithManyStates(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var b strings.Builder
	for range 30000 {
		b.WriteByte("ab"[r.IntN(2)])
		if r.IntN(200) == 0 {
			b.WriteByte('\n')
		}
	}
	q := Query{Text: `(a|b)*a(a|b){14}\pL`, Regexp: true, Case: true}
	if d := cmp.Diff(naive(t, q, b.String()), found(t, q, b.String())); d != "" {
		t.Error(d)
	}
}

func TestCompile_Refusals(t *testing.T) {
	for name, c := range map[string]struct {
		q      Query
		detail string
	}{
		"empty":          {Query{}, "empty"},
		"invalid UTF-8":  {Query{Text: "\xff"}, "not valid UTF-8"},
		"too long":       {Query{Text: strings.Repeat("x", maxQuery+1)}, "too long"},
		"open bracket":   {Query{Text: "a(b", Regexp: true}, "missing closing ): a(b"},
		"look behind":    {Query{Text: "(?<=a)b", Regexp: true}, "invalid named capture: (?<=a)b"},
		"back reference": {Query{Text: `(a)\1`, Regexp: true}, `invalid escape sequence: \1`},
		"repetition":     {Query{Text: "a{2000}", Regexp: true}, "invalid repeat count: {2000}"},
		"glob":           {Query{Text: "a", Include: []string{"*.md", "[a"}}, "[a"},
		"excluding glob": {Query{Text: "a", Exclude: []string{"{a,b"}}, "{a,b"},
	} {
		_, err := Compile(c.q)
		if f := fault.From(err); err == nil || f.Code != fault.InvalidInput || f.Detail != c.detail {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestMatcher_AllIsBounded(t *testing.T) {
	m, err := Compile(Query{Text: "a"})
	if err != nil {
		t.Fatal(err)
	}
	got, more := m.All(strings.Repeat("😀a", 10), 3)
	if d := cmp.Diff([]Match{{2, 3}, {5, 6}, {8, 9}}, got); d != "" || more != 7 {
		t.Errorf("%d more\n%s", more, d)
	}
}

// A replacement is taken as it is unless the query is a regular expression.
// covers: B10
func TestMatcher_Edits(t *testing.T) {
	for _, c := range []struct {
		q             Query
		s, with, want string
	}{
		{Query{Text: "m"}, "[m]", "$$x$$ $& $1 $'", "[$$x$$ $& $1 $']"},
		{Query{Text: "M", Word: true}, "m mm 😀m", "x", "x mm 😀x"},
		{Query{Text: `(\w+)@(\w+)`, Regexp: true}, "a@b\nc@d", "$2 at ${1}s $$1", "b at as $1\nd at cs $1"},
		{Query{Text: `(?P<first>a)|b`, Regexp: true}, "ab", "<$first>", "<a><>"},
		{Query{Text: `^`, Regexp: true}, "a\nb", "> ", "> a\n> b"},
		{Query{Text: `\n+`, Regexp: true}, "a\n\n\nb", "\n", "a\nb"},
		{Query{Text: `\s+$`, Regexp: true}, "a  \n\n b \n", "", "a\n\n b\n"},
		{Query{Text: "a\r\nb"}, "A\nB a\nb", "c\nd", "c\nd c\nd"},
		{Query{Text: `fo.`, Regexp: true, Word: true}, "foo foobar", "x", "x foobar"},
	} {
		m, err := Compile(c.q)
		if err != nil {
			t.Fatal(err)
		}
		edits, more := m.Edits(c.s, c.with, 0, 80)
		var plain []text.Edit
		for _, e := range edits {
			plain = append(plain, e.Edit)
			if old, err := text.NewIndex(c.s).Slice(e.From, e.To); err != nil || old != e.Old {
				t.Errorf("%+v: %q %v", e, old, err)
			}
		}
		got, err := text.Apply(c.s, plain)
		if err != nil || got != c.want || more != 0 {
			t.Errorf("%+v in %q: got %q, want %q (%v)", c.q, c.s, got, c.want, err)
		}
	}
	m, err := Compile(Query{Text: "b"})
	if err != nil {
		t.Fatal(err)
	}
	edits, more := m.Edits("x\nab abc b\nb", "", 2, 3)
	want := []Edit{
		{Edit: text.Edit{From: 3, To: 4}, Old: "b", Line: 2, Before: "a", After: " ab"},
		{Edit: text.Edit{From: 6, To: 7}, Old: "b", Line: 2, Before: "b a", After: "c b"},
	}
	if d := cmp.Diff(want, edits); d != "" || more != 2 {
		t.Errorf("%d more\n%s", more, d)
	}
}

// Edits and All find the same places.
func TestMatcher_EditsAgreeWithAll(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, p := range patterns {
		m, err := Compile(Query{Text: p, Regexp: true, Word: r.IntN(3) == 0})
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			s := randomText(r, 60)
			all, _ := m.All(s, 0)
			edits, _ := m.Edits(s, "", 0, 80)
			var got []Match
			for _, e := range edits {
				got = append(got, Match{e.From, e.To})
			}
			if d := cmp.Diff(all, got); d != "" {
				t.Fatalf("%s in %q:\n%s", p, s, d)
			}
		}
	}
}

// FuzzMatcher looks for anything in anything.
func FuzzMatcher(f *testing.F) {
	f.Add("a", "aA", byte(0))
	f.Add("a|ab", "xab\nb", byte(7))
	f.Add("K", "\u212ak", byte(2))
	f.Fuzz(func(t *testing.T, query, s string, flags byte) {
		q := Query{Text: query, Case: flags&1 != 0, Word: flags&2 != 0, Regexp: flags&4 != 0}
		s = strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\r", "")
		m, err := Compile(q)
		if err != nil || strings.Contains(query, "\r") {
			return
		}
		got := found(t, q, s)
		if q.Regexp {
			var want [][2]int
			for _, g := range m.pattern.submatches([]byte(s)) {
				if !q.Word || wholeWord([]byte(s), g[0], g[1]) {
					want = append(want, [2]int{g[0], g[1]})
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%+v in %q: got %v, want %v", q, s, got, want)
			}
			return
		}
		if want := naive(t, q, s); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%+v in %q: got %v, want %v", q, s, got, want)
		}
	})
}
