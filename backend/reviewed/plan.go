package reviewed

import (
	"path"
	"slices"
	"strings"

	"galley/backend/markdown"
	"galley/backend/text"
)

// linkEdits is what a move changes in one file.
type linkEdits struct {
	edits []text.Edit
	// left counts links that are left as they are: whose name several files
	// have, the moved one among them, or that cannot be written for where it
	// goes.
	left int
}

// relink returns the edits after which every link of a file's text leads to
// what it leads to now, once m has happened. now and then are the tree before
// and after. The edits are tried out: where the text so changed does not read
// as it should, they are written with more care, and what then still fails is
// left alone.
func relink(now, then *tree, m move, file, s string) linkEdits {
	links := markdown.Links(s)
	out := linkEdits{}
	for _, care := range []caution{asIs, escaped} {
		var changed []int
		out = linkEdits{}
		for i, l := range links {
			raw, verdict := rewrite(now, then, m, file, l, care)
			switch verdict {
			case keeps:
			case leaves:
				out.left++
			case changes:
				out.edits = append(out.edits, text.Edit{From: l.DestFrom, To: l.DestTo, Insert: raw})
				changed = append(changed, i)
			}
		}
		if len(out.edits) == 0 || leadsRight(now, then, m, file, s, links, changed, out.edits) {
			return out
		}
	}
	return out.each(now, then, m, file, s, links)
}

// each keeps those edits that read as they should by themselves.
func (e linkEdits) each(now, then *tree, m move, file, s string, links []markdown.Link) linkEdits {
	out := linkEdits{left: e.left}
	for _, edit := range e.edits {
		i := slices.IndexFunc(links, func(l markdown.Link) bool { return l.DestFrom == edit.From })
		try := append(slices.Clone(out.edits), edit)
		var changed []int
		for _, t := range try {
			changed = append(changed, slices.IndexFunc(links, func(l markdown.Link) bool { return l.DestFrom == t.From }))
		}
		if i < 0 || !leadsRight(now, then, m, file, s, links, changed, try) {
			out.left++
			continue
		}
		out.edits = try
	}
	return out
}

// leadsRight reports whether the text with edits has the same links, and those
// that were changed lead to where they should.
func leadsRight(now, then *tree, m move, file, s string, links []markdown.Link, changed []int, edits []text.Edit) bool {
	next, err := text.Apply(s, edits)
	if err != nil {
		return false
	}
	after := markdown.Links(next)
	if len(after) != len(links) {
		return false
	}
	for i := range links {
		if after[i].Kind != links[i].Kind || after[i].Form != links[i].Form {
			return false
		}
	}
	for _, i := range changed {
		was, ok := now.resolve(file, links[i])
		is, still := then.resolve(m.after(file), after[i])
		if !ok || !still || is != m.after(was) {
			return false
		}
	}
	return true
}

// verdict says what happens to a link.
type verdict int

const (
	keeps verdict = iota
	changes
	leaves
)

// rewrite decides on one link of file, and returns its new destination where
// it changes.
func rewrite(now, then *tree, m move, file string, l markdown.Link, care caution) (string, verdict) {
	if l.Kind == markdown.Autolink {
		return "", keeps
	}
	place := m.after(file)
	if l.Kind == markdown.Wikilink || l.Kind == markdown.Embed {
		found, ok := now.resolveWiki(file, l.Target)
		switch {
		case !ok:
			return "", keeps
		case found.ambiguous:
			if slices.ContainsFunc(found.fits, m.moves) {
				return "", leaves
			}
			return "", keeps
		}
		to := m.after(found.path)
		if next, ok := then.resolveWiki(place, l.Target); ok && !next.ambiguous && next.path == to {
			return "", keeps
		}
		raw, ok := then.writeWiki(l.Target, place, to, l.Form)
		if !ok {
			return "", leaves
		}
		return raw, changes
	}
	found, ok := now.resolveURL(file, l.Target)
	if !ok {
		return "", keeps
	}
	to := m.after(found.path)
	if next, ok := then.resolveURL(place, l.Target); ok && next.path == to && next.outside == found.outside {
		return "", keeps
	}
	raw, ok := writeURL(found, place, to, l.Form, care)
	if !ok && care == asIs {
		raw, ok = writeURL(found, place, to, l.Form, escaped)
	}
	if !ok {
		return "", leaves
	}
	return raw, changes
}

// mayLink reports whether a text may have a link that a move touches, by the
// names that it then must hold. needles are folded.
func mayLink(s string, needles []string) bool {
	if len(needles) == 0 {
		return true
	}
	if holdsAny(text.FoldName(s), needles) {
		return true
	}
	if !strings.ContainsAny(s, `%&\`) {
		return false
	}
	// A superset of what any destination in it can mean.
	return holdsAny(text.FoldName(decodePercent(markdown.Unescape(s))), needles)
}

func holdsAny(s string, needles []string) bool {
	for _, n := range needles {
		if strings.Contains(s, n) {
			return true
		}
	}
	return false
}

// maxNeedles is how many names are looked for before a text is parsed; with
// more, parsing all texts is no slower.
const maxNeedles = 8

// needles returns the folded names of which a text must hold one to have a link
// that m touches; nil when they are too many to look for. Texts inside of what
// moves are always looked at.
func needles(now *tree, m move) []string {
	out := []string{stem(m.from), stem(m.to)}
	if folder := now.entries[m.from]; folder {
		for p, isFolder := range now.entries {
			if isFolder || !m.moves(p) {
				continue
			}
			if out = append(out, stem(p)); len(out) > maxNeedles {
				return nil
			}
		}
	}
	return out
}

// stem is the folded name of a path without its extension.
func stem(p string) string {
	name := path.Base(p)
	return text.FoldName(strings.TrimSuffix(name, path.Ext(name)))
}
