package resolve

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/text"
)

// longText is a text of the vectors, which may be given in repeated pieces.
type longText string

func (l *longText) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		var s string
		err := json.Unmarshal(data, &s)
		*l = longText(s)
		return err
	}
	var r struct {
		Repeat [][2]json.RawMessage `json:"repeat"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	var b strings.Builder
	for _, p := range r.Repeat {
		var s string
		var n int
		if err := json.Unmarshal(p[0], &s); err != nil {
			return err
		}
		if err := json.Unmarshal(p[1], &n); err != nil {
			return err
		}
		b.WriteString(strings.Repeat(s, n))
	}
	*l = longText(b.String())
	return nil
}

// corpusRow is one row of edit-corpus.json.
type corpusRow struct {
	ID         string      `json:"id"`
	Kind       string      `json:"kind"`
	Document   longText    `json:"document"`
	Selection  *core.Range `json:"selection"`
	Answer     longText    `json:"answer"`
	Finish     Finish      `json:"finish"`
	Concurrent []text.Edit `json:"concurrent"`
	Calls      []struct {
		OldText    string `json:"oldText"`
		NewText    string `json:"newText"`
		Occurrence int    `json:"occurrence"`
		Scope      string `json:"scope"`
	} `json:"calls"`
	Expect struct {
		Outcome         Outcome           `json:"outcome"`
		Text            longText          `json:"text"`
		MustKeep        []json.RawMessage `json:"mustKeep"`
		MaxChangedChars int               `json:"maxChangedChars"`
		Warn            []core.Warning    `json:"warn"`
		Calls           []struct {
			Outcome string      `json:"outcome"`
			Match   string      `json:"match"`
			Count   int         `json:"count"`
			Lines   []int       `json:"lines"`
			Edits   []text.Edit `json:"edits"`
		} `json:"calls"`
	} `json:"expect"`
}

const vectorDir = "../core/testdata/patch"

func corpus(tb testing.TB) []corpusRow {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(vectorDir, "edit-corpus.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var file struct{ Cases []corpusRow }
	if err := json.Unmarshal(data, &file); err != nil {
		tb.Fatal(err)
	}
	return file.Cases
}

// knownFailures are the rows that do not come out right yet, each with the
// reason. The test fails when a row joins or leaves it.
var knownFailures = map[string]string{}

// covers: P1 P5 P6 P7 P10 P11
func TestCorpus(t *testing.T) {
	rows := corpus(t)
	if len(rows) != 242 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		t.Run(row.Kind+"/"+row.ID, func(t *testing.T) {
			problems := rewriteProblems
			if row.Kind == "tool" {
				problems = quoteProblems
			}
			found := problems(row)
			if why, known := knownFailures[row.ID]; known {
				if len(found) == 0 {
					t.Errorf("comes out right now; take it off the list (%s)", why)
				}
				return
			}
			for _, p := range found {
				t.Error(p)
			}
		})
	}
}

// rewriteProblems returns what is wrong with our reading of a row.
func rewriteProblems(row corpusRow) []string {
	var problems []string
	doc := string(row.Document)
	got := ReadRewrite(doc, *row.Selection, string(row.Answer), row.Finish)
	want := row.Expect
	if got.Outcome != want.Outcome {
		problems = append(problems, "outcome "+string(got.Outcome)+", want "+string(want.Outcome))
	}
	if got.Outcome != Proposal && got.Outcome != CutOff && len(got.Edits) > 0 {
		problems = append(problems, "edits without a proposal")
	}
	ix := text.NewIndex(doc)
	after, err := ix.Apply(got.Edits)
	if err != nil {
		return append(problems, err.Error())
	}
	if got.Outcome == CutOff {
		after = doc
	}
	if after != string(want.Text) {
		problems = append(problems, "text:\n got "+excerpt(after, string(want.Text))+"\nwant "+excerpt(string(want.Text), after))
	}
	if got.Outcome == CutOff {
		return problems
	}
	changed := 0
	for _, e := range got.Edits {
		changed += e.To - e.From + text.Length(e.Insert)
		for _, p := range []int{e.From, e.To} {
			b, err := ix.Byte(p)
			if err != nil || !isBorder(doc, b) {
				problems = append(problems, "an edit cuts a cluster")
			}
		}
	}
	if changed > want.MaxChangedChars {
		problems = append(problems, "changed too much: "+jsonOf(got.Edits))
	}
	for _, raw := range want.MustKeep {
		if !kept(doc, after, raw, got.Edits) {
			problems = append(problems, "not kept: "+string(raw)+" by "+jsonOf(got.Edits))
		}
	}
	var warn []core.Warning
	for _, h := range got.Hunks {
		for _, w := range h.Warnings {
			if !slices.Contains(warn, w) {
				warn = append(warn, w)
			}
		}
	}
	slices.Sort(warn)
	slices.Sort(want.Warn)
	if !slices.Equal(warn, want.Warn) {
		problems = append(problems, "warn "+jsonOf(warn)+", want "+jsonOf(want.Warn)+" "+jsonOf(got.Edits)+jsonOf(got.Hunks))
	}
	return problems
}

// kept reports whether a string stands in the document before and after, or a
// range of the document is touched by no edit.
func kept(doc, after string, raw json.RawMessage, edits []text.Edit) bool {
	var r core.Range
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return strings.Contains(doc, s) && strings.Contains(after, s)
	}
	return json.Unmarshal(raw, &r) == nil && untouched(r, edits)
}

func untouched(r core.Range, edits []text.Edit) bool {
	for _, e := range edits {
		if e.From < r.To && e.To > r.From {
			return false
		}
	}
	return true
}

func jsonOf(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// excerpt shows where a differs from b.
func excerpt(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return jsonOf(a[max(0, i-60):min(len(a), i+120)])
}
