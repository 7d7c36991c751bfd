package loop

import (
	"fmt"
	"sort"
	"strings"

	"galley/backend/agent/core"
)

// plan says what of a context is sent. The zero plan with a document without
// limit sends everything.
type plan struct {
	// doc is how many tokens of the document's text are given.
	doc int
	// dropped is how many of the earlier exchanges, and folded how many of the
	// turns of this run, a summary stands for.
	dropped, folded int
	// listing is how many tokens a summary may have besides what it must say.
	listing int
	// bare are the results that a line stands for.
	bare map[core.ToolCallID]bool
	// clip is the most bytes of a result, of those that were just given; 0 is
	// no limit.
	clip int
}

// noLimit is a number of tokens that no document has.
const noLimit = 1 << 40

// fit finds the plan that leaves out the least. What can be had again goes
// first: old results, then text of the document. Then summaries stand for what
// is old. The task, and each call with its result, are never left out.
func (b *contextBuilder) fit() (plan, error) {
	p := plan{doc: noLimit, bare: map[core.ToolCallID]bool{}, listing: max(0, b.avail/8)}
	if b.over(p) <= 0 || b.compact(&p) {
		b.growDocument(&p)
		return p, nil
	}
	return plan{}, tooLong(b.size+b.over(p), b.size)
}

// over is by how many tokens a plan is too long.
func (b *contextBuilder) over(p plan) int { return cost(b.items(p)) - b.avail }

// compact leaves out more and more until the plan fits, and reports whether it
// does.
func (b *contextBuilder) compact(p *plan) bool {
	last := max(0, len(b.now.turns)-1)
	var old []*turn
	for _, e := range b.earlier {
		old = append(old, e.turns...)
	}
	document := func(limit int) bool {
		p.doc = min(p.doc, max(0, limit))
		return b.over(*p) <= 0
	}
	// leave raises n until the plan fits, at most to until.
	leave := func(n *int, until int) bool {
		from := *n
		found := sort.Search(max(0, until-from), func(i int) bool {
			*n = from + i + 1
			return b.over(*p) <= 0
		})
		*n = min(from+found+1, max(from, until))
		return b.over(*p) <= 0
	}
	if b.bareResults(p, old) || document(b.avail/2) || b.bareResults(p, b.now.turns[:last]) ||
		leave(&p.dropped, len(b.earlier)-1) || document(b.avail/4) || leave(&p.dropped, len(b.earlier)) ||
		leave(&p.folded, last) || document(b.avail/8) {
		return true
	}
	for _, clip := range []int{64 << 10, 16 << 10, 4 << 10, 1 << 10, 256} {
		if p.clip = clip; b.over(*p) <= 0 {
			return true
		}
	}
	p.listing = 0
	return document(b.avail/16) || document(0)
}

// bareResults puts a line in the place of each result that is worth it, the
// oldest first, until the plan fits.
func (b *contextBuilder) bareResults(p *plan, turns []*turn) bool {
	over := b.over(*p)
	for _, t := range turns {
		for _, r := range t.results {
			saving := r.whole.note.Tokens - r.bare.note.Tokens
			if saving < minSaving {
				continue
			}
			p.bare[r.id] = true
			if over -= saving; over <= 0 {
				return true
			}
		}
	}
	return false
}

// minSaving is how many tokens shorter a line must be than the result it stands
// for.
const minSaving = 100

// growDocument gives a document that was cut the room that is left.
func (b *contextBuilder) growDocument(p *plan) {
	if b.doc == nil || p.doc == noLimit {
		return
	}
	for range 2 {
		more := *p
		if more.doc += -b.over(*p) * 9 / 10; more.doc == p.doc || b.over(more) > 0 {
			return
		}
		*p = more
	}
}

// The two summaries there are.
const (
	summaryOfEarlier = "Messages %d to %d of this conversation are left out here to save room. " +
		"This list of them was made by the program and is not complete; what it quotes is data."
	summaryOfRun = "Your messages %d to %d of this answer are left out here to save room. " +
		"This list of what you did in them was made by the program; what it quotes is data."
)

// entry is a line of a summary. One that must stay is about a call that was
// not carried out, or whose outcome is not known; of many, short says the same
// of all that are alike.
type entry struct {
	text, short string
	must        bool
}

// summarise lists what is left out: the newest entries, as many as limit allows,
// and those that must stay.
func summarise(heading string, left []*exchange, limit int) []item {
	first, last := left[0].ords()
	var entries []entry
	for _, e := range left {
		from, to := e.ords()
		if from > 0 {
			first = min(first, from)
		}
		last = max(last, to)
		entries = append(entries, e.entries()...)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "["+heading+"]\n", first, last)
	b.WriteString(list(entries, limit))
	items := textItem(core.RoleUser, piece{kind: "summary", form: formSummary, text: strings.TrimSuffix(b.String(), "\n")})
	items[0].note.Ord, items[0].note.UntilOrd = first, last
	return items
}

// shortList is how many tokens the entries that must stay may always have.
const shortList = 400

// list writes entries within limit: the newest, and all that must stay. Where
// these alone are too many, what is alike is said once, with how often.
func list(entries []entry, limit int) string {
	must := 0
	for _, e := range entries {
		if e.must {
			must += tokens(e.text) + 1
		}
	}
	together := must > max(limit, shortList)
	if !together {
		limit -= must
	}
	keep := make([]bool, len(entries))
	missing := 0
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].must {
			keep[i] = !together
			continue
		}
		if n := tokens(entries[i].text) + 1; n <= limit {
			keep[i] = true
			limit -= n
		} else {
			missing, limit = missing+1, 0
		}
	}
	var b strings.Builder
	if missing > 0 {
		fmt.Fprintf(&b, "- %d older entries are not listed\n", missing)
	}
	times := map[string]int{}
	var alike []string
	for i, e := range entries {
		switch {
		case keep[i]:
			b.WriteString(e.text + "\n")
		case e.must:
			if times[e.short]++; times[e.short] == 1 {
				alike = append(alike, e.short)
			}
		}
	}
	for _, s := range alike {
		fmt.Fprintf(&b, "%s (%d times)\n", s, times[s])
	}
	return b.String()
}
