package resolve

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"galley/backend/agent/core"
)

// maxHunks bounds how many hunks a proposal has.
const maxHunks = 200

// warningOrder is the order of the warnings of a hunk.
var warningOrder = []core.Warning{
	core.WarnNumber, core.WarnDate, core.WarnLink, core.WarnCode, core.WarnQuotation, core.WarnFootnote,
	core.WarnFrontMatter, core.WarnInvisible, core.WarnHeadingLevel, core.WarnMarker, core.WarnTableColumns, core.WarnFence,
}

// hunks groups edits of doc, which are sorted, and says what each group
// changes that a person should look at (P10). Each edit is a hunk of its own,
// but for those that make sense only together.
func hunks(doc string, edits []byteEdit) []core.Hunk {
	groups := group(doc, edits)
	said := warnings(doc, edits)
	out := make([]core.Hunk, len(groups))
	for i, g := range groups {
		h := core.Hunk{ID: strconv.Itoa(i + 1), First: g.first, Count: g.count, Warnings: []core.Warning{}}
		for _, w := range warningOrder {
			for e := g.first; e < g.first+g.count; e++ {
				if said[e].has(w) {
					h.Warnings = append(h.Warnings, w)
					break
				}
			}
		}
		out[i] = h
	}
	return out
}

type editGroup struct{ first, count int }

func group(doc string, edits []byteEdit) []editGroup {
	out := make([]editGroup, 0, len(edits))
	for i := range edits {
		if n := len(out); n > 0 && out[n-1].count == 1 && coupled(doc, edits[i-1], edits[i]) {
			out[n-1].count = 2
			continue
		}
		out = append(out, editGroup{i, 1})
	}
	for len(out) > maxHunks {
		out = pairUp(edits, out)
	}
	return out
}

// pairUp joins neighbours, the nearest first, until few enough are left or
// each has been joined once.
func pairUp(edits []byteEdit, groups []editGroup) []editGroup {
	gaps := make([]int, 0, len(groups)-1)
	gap := func(i int) int {
		return edits[groups[i+1].first].from - edits[groups[i].first+groups[i].count-1].to
	}
	for i := range len(groups) - 1 {
		gaps = append(gaps, gap(i))
	}
	slices.Sort(gaps)
	over := len(groups) - maxHunks
	limit := gaps[min(over, len(gaps))-1]
	var out []editGroup
	for i := 0; i < len(groups); i++ {
		g := groups[i]
		if over > 0 && i+1 < len(groups) && gap(i) <= limit {
			g.count += groups[i+1].count
			i++
			over--
		}
		out = append(out, g)
	}
	return out
}

// coupled reports whether two neighbouring edits are the two ends of one thing:
// a pair of marks that changes, or a heading that changes its style.
func coupled(doc string, a, b byteEdit) bool {
	between := doc[a.to:b.from]
	goneA, goneB := doc[a.from:a.to], doc[b.from:b.to]
	if !strings.Contains(between, "\n") && marksOnly(goneA+a.insert) && marksOnly(goneB+b.insert) {
		return mirror(goneA) == goneB && mirror(a.insert) == b.insert
	}
	if strings.Count(between, "\n")+strings.Count(goneB+b.insert, "\n") > 1 {
		return false
	}
	toATX := onlyOf(a.insert, "# ") && goneA == "" && b.insert == "" && onlyOf(goneB, "=-\n ")
	toSetext := onlyOf(goneA, "# ") && a.insert == "" && goneB == "" && onlyOf(b.insert, "=-\n ")
	return (toATX || toSetext) && strings.ContainsAny(goneB+b.insert, "=-")
}

func marksOnly(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return isWord(r) || isEdge(r) || unicode.IsControl(r)
	}) < 0
}

func onlyOf(s, chars string) bool { return s != "" && strings.Trim(s, chars) == "" }

// mirrored are the marks that have another one as their other end.
var mirrored = strings.NewReplacer("(", ")", ")", "(", "[", "]", "]", "[", "<", ">", ">", "<", "{", "}", "}", "{",
	"“", "”", "”", "“", "‘", "’", "’", "‘", "「", "」", "」", "「", "『", "』", "』", "『", "«", "»", "»", "«",
	"（", "）", "）", "（", "《", "》", "》", "《", "【", "】", "】", "【")

// mirror returns the marks that close what s opens.
func mirror(s string) string {
	r := []rune(s)
	if len(r) > 1 && r[0] == '\\' {
		// An escape is not turned round: \( and \).
		return string(r[0]) + mirror(string(r[1:]))
	}
	slices.Reverse(r)
	return mirrored.Replace(string(r))
}
