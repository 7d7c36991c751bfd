package cli

import (
	"fmt"
	"slices"
	"strings"

	"galley/backend/text"
)

// around is how many lines a patch shows round what changes.
const around = 3

// unifiedDiff writes edits of a text as a patch that diff and git read. name is
// the file's, with slashes; the lines have the endings of the file.
func unifiedDiff(name string, base text.Lines, bom bool, edits []text.Edit) (string, error) {
	after, err := base.Apply(edits, base.Count().Majority())
	if err != nil {
		return "", err
	}
	before, now := rows(base, bom), rows(after, bom)
	groups, err := regions(base.Text(), edits)
	if err != nil {
		return "", err
	}
	groups = narrowed(groups, before, now)
	var b strings.Builder
	fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", name, name)
	shift := 0
	for i := 0; i < len(groups); {
		// Regions whose context would touch are one hunk.
		j := i + 1
		for j < len(groups) && groups[j].from-groups[j-1].to <= 2*around {
			j++
		}
		shift = hunk(&b, before, now, groups[i:j], shift)
		i = j
	}
	return b.String(), nil
}

// region is a range of lines, half-open, and how many there are more afterwards.
type region struct{ from, to, more int }

// regions are the lines that edits touch, in order.
func regions(s string, edits []text.Edit) ([]region, error) {
	ix := text.NewIndex(s)
	line := func(pos int) (int, error) {
		at, err := ix.Byte(pos)
		if err != nil {
			return 0, err
		}
		return strings.Count(s[:at], "\n"), nil
	}
	sorted := slices.Clone(edits)
	slices.SortStableFunc(sorted, func(a, b text.Edit) int { return a.From - b.From })
	var out []region
	for _, e := range sorted {
		from, err := line(e.From)
		if err != nil {
			return nil, err
		}
		to, err := line(e.To)
		if err != nil {
			return nil, err
		}
		r := region{from: from, to: to + 1, more: strings.Count(e.Insert, "\n") - (to - from)}
		if n := len(out); n > 0 && r.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, r.to)
			out[n-1].more += r.more
			continue
		}
		out = append(out, r)
	}
	return out, nil
}

// rows are the lines of a text with their endings as they are written; the last
// one has none when the text does not end with a break, and is no line when
// nothing stands in it.
func rows(l text.Lines, bom bool) []string {
	parts := strings.Split(l.Text(), "\n")
	i := 0
	for _, run := range l.Endings() {
		for range run.Count {
			if run.Ending == text.CRLF {
				parts[i] += "\r"
			}
			parts[i] += "\n" // a bare CR ends no line of a patch
			i++
		}
	}
	if parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	if bom && len(parts) > 0 {
		parts[0] = "\uFEFF" + parts[0]
	}
	return parts
}

// narrowed leaves out of regions the lines at their ends that stay as they are.
func narrowed(groups []region, before, now []string) []region {
	var out []region
	shift := 0
	for _, g := range groups {
		// The end of a text that ends with a break is behind its last line.
		nowTo := min(g.to+shift+g.more, len(now))
		g.to = min(g.to, len(before))
		nowEnd := nowTo
		from := min(g.from, g.to)
		for from < g.to && from+shift < nowTo && before[from] == now[from+shift] {
			from++
		}
		to := g.to
		for to > from && nowTo > from+shift && before[to-1] == now[nowTo-1] {
			to--
			nowTo--
		}
		if more := nowTo - shift - to; to > from || more > 0 {
			out = append(out, region{from: from, to: to, more: more})
		}
		// At the end of a text without a break the lines are as many as there
		// are, whatever the breaks say.
		shift = nowEnd - g.to
	}
	return out
}

// hunk writes regions as one hunk and returns how many lines the text has more
// behind it.
func hunk(b *strings.Builder, before, now []string, groups []region, shift int) int {
	from := max(groups[0].from-around, 0)
	to := min(groups[len(groups)-1].to+around, len(before))
	var body strings.Builder
	old, fresh, at, start := 0, 0, from, from+shift
	same := func(until int) {
		for ; at < until; at++ {
			put(&body, ' ', before[at])
			old++
			fresh++
		}
	}
	for _, g := range groups {
		same(g.from)
		for ; at < g.to; at++ {
			put(&body, '-', before[at])
			old++
		}
		for _, row := range now[g.from+shift : g.to+shift+g.more] {
			put(&body, '+', row)
			fresh++
		}
		shift += g.more
	}
	same(to)
	fmt.Fprintf(b, "@@ -%s +%s @@\n", span(from, old), span(start, fresh))
	b.WriteString(body.String())
	return shift
}

// span is a range of lines as a patch counts them.
func span(from, n int) string {
	if n > 0 {
		from++
	}
	if n == 1 {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d,%d", from, n)
}

func put(b *strings.Builder, sign byte, row string) {
	b.WriteByte(sign)
	b.WriteString(row)
	if !strings.HasSuffix(row, "\n") {
		b.WriteString("\n\\ No newline at end of file\n")
	}
}
