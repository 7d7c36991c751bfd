package tools

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/text"
)

func (b *bench) propose(in input) core.ToolResult {
	b.t.Helper()
	if _, ok := in["summary"]; !ok {
		in["summary"] = "why"
	}
	return b.must(core.ToolProposePatch, in)
}

func (b *bench) noProposal(in input, code fault.Code, want ...string) {
	b.t.Helper()
	in["summary"] = "why"
	r := b.call(core.ToolProposePatch, in)
	if !r.IsError || r.Code != code || r.Proposal != nil {
		b.t.Errorf("%v: got %q %q, want %s", in, r.Code, r.Text, code)
	}
	b.holding(r, want...)
}

// applied is the base with a proposal in it.
func applied(t *testing.T, base string, r core.ToolResult) string {
	t.Helper()
	if r.Proposal == nil {
		t.Fatalf("no proposal: %s", r.Text)
	}
	out, err := text.Apply(base, r.Proposal.Patch.Edits)
	try(t, err)
	return out
}

// A proposal is one hunk of word-level edits on the text that the model saw,
// and the answer says that it is not applied.
//
// covers: P1 P2 T4
func TestProposePatch(t *testing.T) {
	base := "# Tea\n\nWe drink 3 cups of [green](a.md) tea.\n"
	b := newBench(t, nil)
	doc := b.with("a.md", base)
	before := snapshot(t, b.path(""))
	r := b.propose(input{"oldText": "We drink 3 cups of [green](a.md) tea", "newText": "We drink 4 cups of [black](b.md) tea", "summary": "More tea."})
	if got := applied(t, base, r); got != "# Tea\n\nWe drink 4 cups of [black](b.md) tea.\n" {
		t.Errorf("%q", got)
	}
	p := r.Proposal
	if len(p.Patch.Edits) < 2 || len(p.Hunks) != 1 {
		t.Fatalf("%+v", p)
	}
	want := core.Hunk{ID: "1", First: 0, Count: len(p.Patch.Edits), Warnings: []core.Warning{core.WarnNumber, core.WarnLink}}
	if d := cmp.Diff(want, p.Hunks[0]); d != "" {
		t.Error(d)
	}
	if p.ID == "" || p.Origin != core.OriginTool || p.RunID != "run" || p.ToolCallID == "" || p.DocURI != doc.URI ||
		p.BaseDigest != text.Digest(base) || p.Patch.BaseVersion != 1 || p.Patch.Summary != "More tea." || p.State != core.ProposalProposed || p.CreatedAtMs == 0 {
		t.Errorf("%+v", p)
	}
	var told struct {
		Status                string
		Hunks, Added, Removed int
		Note                  string
	}
	try(t, json.Unmarshal([]byte(r.Text), &told))
	if told.Status != "proposed" || told.Hunks != 1 || told.Added == 0 || told.Removed == 0 || !strings.HasPrefix(told.Note, "Not applied.") {
		t.Errorf("%s", r.Text)
	}
	if r.Facts.Version != 1 || r.Facts.Path != "a.md" {
		t.Errorf("%+v", r.Facts)
	}
	if s, v, err := b.docs.Text(doc.ID); err != nil || s != base || v != 1 {
		t.Errorf("the document is %q at %d, %v", s, v, err)
	}
	if d := cmp.Diff(before, snapshot(t, b.path(""))); d != "" {
		t.Error(d)
	}
}

// What went wrong is told so that the next call can be right.
//
// covers: P4
func TestProposePatch_Repair(t *testing.T) {
	base := "One tea.\nTwo tea.\nHe said “hello there” again.\n"
	b := newBench(t, nil)
	doc := b.with("a.md", base)
	b.noProposal(input{"oldText": "tea", "newText": "coffee"}, fault.Ambiguous, "2 times", "line 1", "line 2", "occurrence")
	if r := b.propose(input{"oldText": "tea", "newText": "coffee", "occurrence": 2}); applied(t, base, r) != strings.Replace(base, "Two tea", "Two coffee", 1) {
		t.Errorf("%+v", r.Proposal.Patch)
	}
	b.noProposal(input{"oldText": "He said hello again to all", "newText": "x"}, fault.NotInDocument, "He said “hello there” again.")
	b.noProposal(input{"oldText": "", "newText": "x"}, fault.EmptyOldText, "start, end or caret")
	b.noProposal(input{"oldText": "One tea.", "newText": "One tea."}, fault.NoChange)
	b.noProposal(input{"oldText": "One", "newText": "x", "scope": "selection"}, fault.InvalidInput, "Nothing is selected")
	// Quotes of another style are found, and what is equal stays as it is.
	if r := b.propose(input{"oldText": `said "hello there" again`, "newText": `said "hello friend" again`}); applied(t, base, r) != strings.Replace(base, "there", "friend", 1) {
		t.Errorf("%+v", r.Proposal.Patch)
	}
	for at, want := range map[string]string{"start": "New\n\n" + base, "end": base + "New"} {
		if r := b.propose(input{"oldText": "", "newText": "New", "at": at}); applied(t, base, r) != want {
			t.Errorf("%s: %q", at, applied(t, base, r))
		}
	}
	b.choose(doc.ID, 4, 4)
	b.begin(doc.ID)
	if r := b.propose(input{"oldText": "", "newText": "green ", "at": "caret"}); applied(t, base, r) != "One green"+base[3:] {
		t.Errorf("%q", applied(t, base, r))
	}
	// With a selection quotes lie in it, unless said otherwise.
	b.choose(doc.ID, 9, 17)
	b.begin(doc.ID)
	if r := b.propose(input{"oldText": "tea", "newText": "milk"}); applied(t, base, r) != strings.Replace(base, "Two tea", "Two milk", 1) {
		t.Errorf("%+v", r.Proposal.Patch)
	}
	b.noProposal(input{"oldText": "One tea.", "newText": "One cup."}, fault.NotInDocument, "scope: document")
	b.propose(input{"oldText": "One tea.", "newText": "One cup.", "scope": "document"})
}

// Two proposals of one run do not change the same words, until the first one is
// decided.
//
// covers: P4
func TestProposePatch_Overlap(t *testing.T) {
	b := newBench(t, nil)
	doc := b.with("a.md", "one two three four\n")
	first := b.propose(input{"oldText": "two three", "newText": "2 3"})
	b.propose(input{"oldText": "one two", "newText": "1 two"}) // the same quote, other words
	b.noProposal(input{"oldText": "three", "newText": "drei"}, fault.Overlap, "not decided")
	event := func(kind core.EventType, payload any) {
		data, err := json.Marshal(payload)
		try(t, err)
		b.exec.OnEvent(core.Event{Type: kind, RunID: "run", Payload: data})
	}
	stored := *first.Proposal
	stored.ID = "another id"
	event(core.EventProposalCreated, stored)
	event(core.EventProposalDecided, core.ProposalDecided{ProposalID: "another id", State: core.ProposalProposed})
	b.noProposal(input{"oldText": "three", "newText": "drei"}, fault.Overlap)
	event(core.EventProposalDecided, core.ProposalDecided{ProposalID: "another id", State: core.ProposalRejected})
	b.propose(input{"oldText": "three", "newText": "drei"})

	// What is open is carried over when the text is read anew.
	b.edit(doc.ID, text.Edit{From: 0, Insert: "zero "})
	b.must(core.ToolGetActiveDocument, input{})
	b.noProposal(input{"oldText": "three", "newText": "tres"}, fault.Overlap)
	b.edit(doc.ID, text.Edit{From: 13, To: 18, Insert: "THREE"})
	b.must(core.ToolGetActiveDocument, input{})
	b.propose(input{"oldText": "THREE", "newText": "tres"})
}

// A proposal keeps the version that the model saw; when the words it changes
// have changed since it is stale.
//
// covers: P3
func TestProposePatch_Stale(t *testing.T) {
	base := "alpha beta gamma\n\nsecond paragraph\n\nlast words here\n"
	b := newBench(t, nil)
	doc := b.with("a.md", base)
	b.edit(doc.ID, text.Edit{From: 0, Insert: "new first line\n"})
	b.edit(doc.ID, text.Edit{From: 15, To: 20, Insert: "ALPHA"})
	info := b.edit(doc.ID, text.Edit{From: doc.Length + 15, To: doc.Length + 15, Insert: "new last line\n"})
	r := b.propose(input{"oldText": "second paragraph", "newText": "middle paragraph"})
	if r.Proposal.Patch.BaseVersion != 1 || r.Proposal.BaseDigest != text.Digest(base) || applied(t, base, r) != strings.Replace(base, "second", "middle", 1) {
		t.Errorf("%+v", r.Proposal)
	}
	b.noProposal(input{"oldText": "alpha beta", "newText": "a beta"}, fault.Stale, "getActiveDocument", "version 1", "version 4 now")
	// Other words of the quote may have changed.
	b.propose(input{"oldText": "alpha beta gamma", "newText": "alpha beta delta"})
	// What the model cannot have seen is stale too, rather than not there.
	b.noProposal(input{"oldText": "new first line", "newText": "x"}, fault.Stale)
	b.must(core.ToolGetActiveDocument, input{})
	r = b.propose(input{"oldText": "new first line", "newText": "first line"})
	if r.Proposal.Patch.BaseVersion != info.Version {
		t.Errorf("version %d, want %d", r.Proposal.Patch.BaseVersion, info.Version)
	}
	// Typed and taken back is no change.
	now, _, err := b.docs.Text(doc.ID)
	try(t, err)
	b.edit(doc.ID, text.Edit{From: 3, To: 3, Insert: "xx"})
	b.edit(doc.ID, text.Edit{From: 3, To: 5})
	if r := b.propose(input{"oldText": "last words here", "newText": "last words"}); applied(t, now, r) != strings.Replace(now, " here", "", 1) {
		t.Errorf("%+v", r.Proposal.Patch)
	}
}

// Much that changed on all sides leaves a passage that occurs once where it is.
func TestProposePatch_ChangedAllAround(t *testing.T) {
	long := strings.Repeat("some filling of the document\n", 3000)
	base := long + "the passage\n" + long
	b := newBench(t, nil)
	doc := b.with("a.md", base)
	b.edit(doc.ID, text.Edit{From: 0, To: 1, Insert: "S"}, text.Edit{From: doc.Length - 2, To: doc.Length - 1, Insert: "T"})
	b.propose(input{"oldText": "the passage", "newText": "this passage"})
	b.noProposal(input{"oldText": "filling", "newText": "x", "occurrence": 3000}, fault.Stale)
	at := len(long)
	b.edit(doc.ID, text.Edit{From: at, To: at + 11, Insert: "that passage"})
	b.noProposal(input{"oldText": "the passage", "newText": "no passage"}, fault.Stale)
}

func TestProposePatch_Refused(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "text"})
	b.begin("")
	b.noProposal(input{"oldText": "text", "newText": "x"}, fault.NotFound)
	doc := b.open("a.md")
	b.cmd = "no base"
	b.exec.Begin(b.cmd, Scope{DocumentID: doc.ID})
	b.noProposal(input{"oldText": "text", "newText": "x"}, fault.Stale, "getActiveDocument")
	b.must(core.ToolGetActiveDocument, input{})
	b.propose(input{"oldText": "text", "newText": "x"})
}

// TestProposePatch_ChangesNothingElse: whatever is proposed for a quote, applied
// it gives the text with the quote replaced, and not a byte else.
//
// covers: P1
func TestProposePatch_ChangesNothingElse(t *testing.T) {
	b := newBench(t, nil)
	pieces := []string{
		"word ", "tea", "夜路", "🦊", "👨‍👩‍👧", "e\u0301", "\n", "\n\n", "- item\n", "| a | b |\n", "| - | - |\n", "“quote”", "`code`", "[x](y.md)", "12 ", "2026-01-02", "\t", "  ", "# ", "```\n", "\u200b", "\r", ".",
	}
	random := func(r *rand.Rand, n int) string {
		var s strings.Builder
		for range 1 + r.IntN(n) {
			s.WriteString(pieces[r.IntN(len(pieces))])
		}
		return s.String()
	}
	seen := map[fault.Code]int{}
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 4))
		base := strings.ReplaceAll(random(r, 40), "\r", "")
		doc := b.docs.NewUntitled()
		b.edit(doc.ID, text.Edit{Insert: base})
		b.begin(doc.ID)
		from := r.IntN(len(base))
		to := from + r.IntN(len(base)-from+1)
		for from > 0 && !utf8.RuneStart(base[from]) {
			from--
		}
		for to < len(base) && !utf8.RuneStart(base[to]) {
			to++
		}
		if r.IntN(4) == 0 {
			// Typed into meanwhile, where it may hurt.
			b.edit(doc.ID, text.Edit{From: 0, Insert: "x"})
		}
		next := random(r, 6)
		got := b.call(core.ToolProposePatch, input{"oldText": base[from:to], "newText": next, "summary": "s"})
		seen[got.Code]++
		if got.IsError {
			if got.Proposal != nil || got.Text == "" || !slices.Contains(fault.Codes(), got.Code) {
				t.Fatalf("seed %d: %+v", seed, got)
			}
			continue
		}
		next = strings.ReplaceAll(strings.ReplaceAll(next, "\r\n", "\n"), "\r", "\n")
		out := applied(t, base, got)
		if want := base[:from] + next + base[to:]; out != want || !strings.Contains(out, next) {
			t.Fatalf("seed %d: %q in %q by %q:\ngot  %q\nwant %q", seed, base[from:to], base, next, out, want)
		}
	}
	if seen[""] < 200 || seen[fault.Ambiguous] == 0 || seen[fault.Stale] == 0 {
		t.Errorf("%v", seen)
	}
}
