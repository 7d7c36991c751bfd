package resolve

import (
	"slices"
	"strings"
)

// unwrap takes away a fence round the whole text, and the talk outside of it
// (decision 4); false when the answer has none.
func (t *target) unwrap(lines []string, whole bool) ([]string, bool) {
	open := slices.IndexFunc(lines, func(l string) bool {
		_, ok := parseFence(strings.TrimSpace(l))
		return ok
	})
	if open < 0 {
		return nil, false
	}
	f, _ := parseFence(strings.TrimSpace(lines[open]))
	info := strings.ToLower(f.info)
	markdown := info == "markdown" || info == "md"
	yaml := t.inFront && (info == "yaml" || info == "yml")
	if !t.inCode && !markdown && !yaml && info != "" {
		return nil, false
	}
	rest := lines[open+1:]
	end := t.closing(f, rest, whole)
	if end < 0 {
		return nil, false
	}
	body, after := rest[:end], []string(nil)
	if end < len(rest) {
		after = rest[end+1:]
	}
	before := lines[:open]
	if t.opensFence && !t.inCode {
		first, one := fenceShape(body)
		if !first || t.isFence && !one && whole {
			return nil, false
		}
	}
	if !t.outside(before, after, body, markdown || yaml || t.inCode) {
		return nil, false
	}
	return body, true
}

// closing returns the line of rest that closes the wrapping fence f, len(rest)
// when it never came, or -1 when f wraps nothing. Fences inside the text may be
// as long as f, so all that leave balanced fences on both sides are weighed.
func (t *target) closing(f fence, rest []string, whole bool) int {
	var found []int
	for i, l := range rest {
		if f.closes(strings.TrimSpace(l)) && balanced(rest[:i]) && balanced(rest[i+1:]) {
			found = append(found, i)
		}
	}
	if t.opensFence {
		found = slices.DeleteFunc(found, func(i int) bool {
			first, one := fenceShape(rest[:i])
			return !first || t.isFence && !one
		})
	}
	switch {
	case len(found) == 0 && !whole:
		return len(rest)
	case len(found) == 0:
		// Never closed, or the text's own fences are not balanced.
		for i := len(rest) - 1; i >= 0; i-- {
			if f.closes(strings.TrimSpace(rest[i])) {
				return i
			}
		}
		if t.opensFence || f.info == "" && len(t.fences) > 0 {
			return -1
		}
		return len(rest)
	case len(found) == 1 || t.core == "":
		return found[len(found)-1]
	}
	best, score := 0, -1.0
	for _, i := range found {
		if s := similarity(t.bag(), bagOf(strings.Join(rest[:i], "\n"))); s >= score {
			best, score = i, s
		}
	}
	return best
}

// balanced reports whether every fence in lines is closed.
func balanced(lines []string) bool {
	var open fence
	in := false
	for _, l := range lines {
		l = strings.TrimSpace(l)
		if in {
			in = !open.closes(l)
			continue
		}
		open, in = parseFence(l)
	}
	return !in
}

// fenceShape reports whether lines begin with a fenced block and whether they
// are one and nothing else, blank lines aside.
func fenceShape(lines []string) (first, one bool) {
	for len(lines) > 0 && trimmed(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && trimmed(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	if len(lines) == 0 {
		return false, false
	}
	f, ok := parseFence(strings.TrimSpace(lines[0]))
	if !ok {
		return false, false
	}
	for i, l := range lines[1:] {
		if f.closes(strings.TrimSpace(l)) {
			return true, i == len(lines)-2
		}
	}
	return true, false
}

// fencedBlocks returns the fenced code blocks of s in order.
func fencedBlocks(s string) []block {
	if !strings.Contains(s, "```") && !strings.Contains(s, "~~~") {
		return nil
	}
	var out []block
	w := newWalker(s)
	for w.at < len(s) {
		was := w.inCode
		w.next()
		if was || !w.inCode {
			continue
		}
		start, end := w.at, w.at
		f := w.code
		for w.inCode && w.at < len(s) {
			end = w.at
			w.next()
		}
		if w.inCode {
			end = len(s)
		}
		out = append(out, block{fence: f, body: s[start:max(start, end)]})
	}
	return out
}

// outside reports whether what stands outside of a fence is no part of the
// text. sure means that the fence alone says it is a wrapping.
func (t *target) outside(before, after, body []string, sure bool) bool {
	said := 0
	inside := make(map[string]bool, len(body))
	for _, l := range body {
		inside[lineKey(l)] = true
	}
	var bags []lineBag
	for _, l := range slices.Concat(before, after) {
		if trimmed(l) == "" {
			continue
		}
		said++
		if t.caret {
			continue
		}
		if bags == nil {
			bags = bagsOf(body)
		}
		if t.belongs(newLineBag(l), bags) {
			return false
		}
	}
	if said == 0 || sure && !t.caret {
		return true
	}
	own := bagOf(strings.Join(body, "\n"))
	for _, b := range t.fences {
		if similarity(own, bagOf(b.body)) >= similarity(own, t.bag()) {
			return false
		}
	}
	if sure || !t.caret && similarity(own, t.bag()) >= 0.3 {
		return true
	}
	return t.allTalk(before, opensTalk) && t.allTalk(after, closesTalk)
}

func (t *target) allTalk(lines []string, talk func(string) strength) bool {
	for _, p := range paragraphs(lines) {
		if talk(p) == noTalk {
			return false
		}
	}
	return true
}

// belongs reports whether a line of the answer is a version of a line of the
// selection that no other line of the answer stands for better.
func (t *target) belongs(line lineBag, others []lineBag) bool {
	for _, own := range t.lines() {
		s := compareLines(own, line)
		if s < alike {
			continue
		}
		better := false
		for _, o := range others {
			if better = compareLines(own, o) > s; better {
				break
			}
		}
		if !better {
			return true
		}
	}
	return false
}

// maxBags bounds how many lines are compared one by one.
const maxBags = 400

func bagsOf(lines []string) []lineBag {
	var out []lineBag
	for _, l := range lines {
		if trimmed(l) != "" && len(out) < maxBags {
			out = append(out, newLineBag(l))
		}
	}
	return out
}

// paragraphs joins lines between blank ones.
func paragraphs(lines []string) []string {
	var out []string
	start := -1
	for i := 0; i <= len(lines); i++ {
		blank := i == len(lines) || trimmed(lines[i]) == ""
		switch {
		case !blank && start < 0:
			start = i
		case blank && start >= 0:
			out = append(out, strings.Join(lines[start:i], "\n"))
			start = -1
		}
	}
	return out
}
