package resolve

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/text"
)

// covers: P1 P5 P11
func TestQuote_Vectors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(vectorDir, "resolve.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name       string      `json:"name"`
			Document   longText    `json:"document"`
			OldText    string      `json:"oldText"`
			NewText    string      `json:"newText"`
			Occurrence int         `json:"occurrence"`
			Scope      *core.Range `json:"scope"`
			Expect     struct {
				Match Match       `json:"match"`
				Edits []text.Edit `json:"edits"`
				Error fault.Code  `json:"error"`
				Count int         `json:"count"`
				Lines []int       `json:"lines"`
			} `json:"expect"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			doc := strings.ReplaceAll(string(c.Document), "\r\n", "\n")
			got, err := Quote(doc, QuoteInput{OldText: c.OldText, NewText: c.NewText, Occurrence: c.Occurrence, Scope: c.Scope})
			if code := fault.CodeOf(err); code != c.Expect.Error {
				t.Fatalf("code %q, want %q", code, c.Expect.Error)
			}
			if err != nil {
				var q *QuoteError
				if !errors.As(err, &q) {
					t.Fatalf("%T is no QuoteError", err)
				}
				if c.Expect.Count > 0 && (q.Count != c.Expect.Count || !slices.Equal(q.Lines, c.Expect.Lines)) {
					t.Errorf("count %d lines %v, want %d %v", q.Count, q.Lines, c.Expect.Count, c.Expect.Lines)
				}
				return
			}
			if got.Match != c.Expect.Match {
				t.Errorf("match %q, want %q", got.Match, c.Expect.Match)
			}
			if diff := cmp.Diff(c.Expect.Edits, got.Edits); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// quoteProblems returns what is wrong with our resolving of a row of tool
// calls.
func quoteProblems(row corpusRow) []string {
	var problems []string
	doc := string(row.Document)
	selection := core.Range{}
	if row.Selection != nil {
		selection = *row.Selection
	}
	quotes := make([]QuoteInput, len(row.Calls))
	for i, c := range row.Calls {
		quotes[i] = QuoteInput{OldText: c.OldText, NewText: c.NewText, Occurrence: c.Occurrence, Scope: ScopeOf(c.Scope, selection)}
	}
	changes := text.NoChanges(text.Length(doc))
	now := doc
	for _, e := range row.Concurrent {
		var err error
		if changes, err = changes.Compose([]text.Edit{e}); err != nil {
			return []string{err.Error()}
		}
		if now, err = text.Apply(now, []text.Edit{e}); err != nil {
			return []string{err.Error()}
		}
	}
	results, err := QuoteAll(doc, quotes, &changes)
	if err != nil {
		return []string{err.Error()}
	}
	ix := text.NewIndex(doc)
	var accepted []text.Edit
	for i, r := range results {
		want := row.Expect.Calls[i]
		outcome := "proposed"
		if r.Err != nil {
			outcome = strings.Replace(string(fault.CodeOf(r.Err)), "not_in_document", "not_found", 1)
		}
		if outcome != want.Outcome {
			problems = append(problems, "outcome "+outcome+", want "+want.Outcome)
			continue
		}
		var q *QuoteError
		if errors.As(r.Err, &q) && want.Count > 0 && (q.Count != want.Count || !slices.Equal(q.Lines, want.Lines)) {
			problems = append(problems, "places "+jsonOf(q.Lines)+", want "+jsonOf(want.Lines))
		}
		if want.Match != string(r.Match) {
			problems = append(problems, "match "+string(r.Match)+", want "+want.Match)
		}
		if len(want.Edits) > 0 {
			// A finer or coarser split of the same words is right too.
			a, errA := ix.Apply(r.Edits)
			b, errB := ix.Apply(want.Edits)
			if errA != nil || errB != nil || a != b {
				problems = append(problems, "edits "+jsonOf(r.Edits)+", want "+jsonOf(want.Edits))
			}
		}
		if r.Err == nil {
			accepted = append(accepted, r.Mapped...)
		}
	}
	slices.SortStableFunc(accepted, func(a, b text.Edit) int { return a.From - b.From })
	got, err := text.Apply(now, accepted)
	if err != nil {
		return append(problems, err.Error())
	}
	if want := string(row.Expect.Text); got != want {
		problems = append(problems, "text "+excerpt(got, want)+", want "+excerpt(want, got))
	}
	return problems
}

// covers: P5
// B5: the first of several matches is never taken.
func TestQuote_RefusesAnAmbiguousQuote(t *testing.T) {
	const doc = "- item\n- item\n- item\n"
	_, err := Quote(doc, QuoteInput{OldText: "- item", NewText: "- done"})
	var q *QuoteError
	if !errors.As(err, &q) || q.Fault.Code != fault.Ambiguous || q.Count != 3 || !slices.Equal(q.Lines, []int{1, 2, 3}) {
		t.Fatalf("got %+v", err)
	}
	for _, line := range []string{"line 1", "line 2", "line 3"} {
		if !strings.Contains(q.Message(), line) {
			t.Errorf("message names no %s: %s", line, q.Message())
		}
	}
	if strings.Contains(q.Error(), "item") {
		t.Error("the error for logs holds document text")
	}
	r, err := Quote(doc, QuoteInput{OldText: "- item", NewText: "- done", Occurrence: 2})
	if got := applied(t, doc, r.Edits); err != nil || got != "- item\n- done\n- item\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// covers: P5 P6
// B6: tolerant finding changes nothing but the words that were meant.
func TestQuote_FoldsOnlyToFind(t *testing.T) {
	const doc = "“a” — b\u00A0c  \nName is “Al”.\n"
	r, err := Quote(doc, QuoteInput{OldText: `Name is "Al".`, NewText: `Name is "Bo".`})
	if got := applied(t, doc, r.Edits); err != nil || r.Match != MatchFolded || got != "“a” — b\u00A0c  \nName is “Bo”.\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// covers: P1 P5
// B8: offsets are UTF-16, and no surrogate pair or cluster is cut.
func TestQuote_CountsUTF16(t *testing.T) {
	const doc = "a😀b c"
	r, err := Quote(doc, QuoteInput{OldText: "b", NewText: "B"})
	if diff := cmp.Diff([]text.Edit{{From: 3, To: 4, Insert: "B"}}, r.Edits); err != nil || diff != "" {
		t.Error(diff, err)
	}
	edits := snap(doc, []byteEdit{{from: 3, to: 5, insert: "x"}})
	if len(edits) != 1 || edits[0].from != 1 || edits[0].to != 5 {
		t.Errorf("an edit inside a character became %+v", edits)
	}
	reading := ReadRewrite("👨‍👩‍👧 x", core.Range{From: 2, To: 3}, "y", FinishStop)
	for _, e := range reading.Edits {
		if e.From != 0 || e.To != 8 {
			t.Errorf("a selection inside a cluster gave %+v", e)
		}
	}
}

// covers: P5
// B10: nothing in newText is expanded.
func TestQuote_TakesNewTextLiterally(t *testing.T) {
	const want = "$$x$$ $& $1 $'"
	r, err := Quote("[m]", QuoteInput{OldText: "m", NewText: want})
	if got := applied(t, "[m]", r.Edits); err != nil || got != "["+want+"]" {
		t.Errorf("got %q, %v", got, err)
	}
	reading := ReadRewrite("[m]", core.Range{From: 1, To: 2}, want, FinishStop)
	if got := applied(t, "[m]", reading.Edits); got != "["+want+"]" {
		t.Errorf("rewrite got %q", got)
	}
}

// covers: P5
func TestQuote_NamesTheNearestPassages(t *testing.T) {
	const doc = "# Walks\n\n* reed by the water\n* rush by the mill\n\nNothing else here.\n"
	_, err := Quote(doc, QuoteInput{OldText: "- reed by the water", NewText: "- sedge"})
	var q *QuoteError
	if !errors.As(err, &q) || q.Fault.Code != fault.NotInDocument {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Passage{{Text: "* reed by the water", Line: 3}}, q.Nearest); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(q.Message(), "* reed by the water") {
		t.Error(q.Message())
	}
}

// covers: P5
func TestQuote_InsertsAtAPlace(t *testing.T) {
	// B15: what goes to the top goes below front matter.
	const doc = "---\ntitle: a\n---\n\nbody\n"
	for _, c := range []struct{ at, new, want string }{
		{AtStart, "X", "---\ntitle: a\n---\n\nX\n\nbody\n"},
		{AtEnd, "X\n", "---\ntitle: a\n---\n\nbody\nX\n"},
		{AtCaret, "X", "---\ntitle: a\n---\n\nboXdy\n"},
	} {
		r, err := Quote(doc, QuoteInput{NewText: c.new, At: c.at, Caret: 20})
		if got := applied(t, doc, r.Edits); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v", c.at, got, err)
		}
		for _, h := range r.Hunks {
			if len(h.Warnings) > 0 {
				t.Errorf("%s warns %v", c.at, h.Warnings)
			}
		}
	}
	if _, err := Quote(doc, QuoteInput{NewText: "X", At: "middle"}); fault.CodeOf(err) != fault.InvalidInput {
		t.Error(err)
	}
}

func applied(tb testing.TB, doc string, edits []text.Edit) string {
	tb.Helper()
	got, err := text.Apply(doc, edits)
	if err != nil {
		tb.Fatal(err)
	}
	return got
}
