// Package search owns finding in a workspace: what a query means, the scan of
// all files for it, and the index behind quick open.
//
// It reads files through the permits of workspace only and knows neither
// documents nor the page: the texts of unsaved documents are handed in. What is
// found is told in UTF-16 positions of LF text. A [Matcher] is immutable; an
// [Engine] and an [Index] may be used by several goroutines.
//
// The invariant that matters: what is found does not depend on how it was
// searched for. Filters and automata only skip what the plain meaning of the
// query would not find, and results come in the order of the tree whatever
// goroutine found them.
package search

import (
	"errors"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf8"

	"galley/backend/fault"
	"galley/backend/text"
)

// Query says what is looked for, and in which files.
type Query struct {
	// Text is what is looked for; a break in it is one of LF text.
	Text string
	// Case: capital letters matter. Without it two characters are the same
	// when Unicode's simple folding says so.
	Case bool
	// Word: only matches that neither begin nor end inside a word.
	Word bool
	// Regexp: Text is a regular expression in RE2 syntax. ^ and $ stand for the
	// ends of a line and . for no break. A class (\s, [^a]) takes breaks only
	// when the expression names one itself (\n, (?s)).
	Regexp bool
	// Include and Exclude are globs over the path relative to the workspace
	// ("*.md", "notes/**"). One without a slash is about a name at any depth;
	// one that names a folder is about all inside. Empty ones do not count.
	Include []string
	Exclude []string
}

// maxQuery is how long a query may be, in bytes.
const maxQuery = 16 << 10

// Matcher is a query made ready. It is immutable and may be shared.
type Matcher struct {
	word bool
	// breaks is true when the text that is looked for holds a break.
	breaks bool
	globs  globs

	// literal is set for an exact text, folded for one without regard to case,
	// pattern for a regular expression; the others are nil.
	literal *literal
	folded  *folded
	pattern *pattern

	scanners *sync.Pool // of *scanner
}

// Compile makes a query ready. Fault: invalid_input, with the mistake as
// detail, for an empty text, a regular expression or a glob that is none.
func Compile(q Query) (*Matcher, error) {
	refuse := func(detail string, err error) error {
		return &fault.Error{Code: fault.InvalidInput, Op: "search", Detail: detail, Err: err}
	}
	switch {
	case q.Text == "":
		return nil, refuse("empty", nil)
	case len(q.Text) > maxQuery:
		return nil, refuse("too long", nil)
	case !utf8.ValidString(q.Text):
		return nil, refuse("not valid UTF-8", nil)
	}
	m := &Matcher{word: q.Word}
	var err error
	if m.globs, err = compileGlobs(q.Include, q.Exclude); err != nil {
		return nil, err
	}
	switch {
	case q.Regexp:
		m.pattern, err = compilePattern(q.Text, q.Case)
		if bad, ok := errors.AsType[*syntax.Error](err); ok {
			return nil, refuse(strings.TrimSpace(string(bad.Code)+": "+bad.Expr), err)
		}
		if err != nil {
			return nil, refuse("", err)
		}
	default:
		s := strings.ReplaceAll(strings.ReplaceAll(q.Text, "\r\n", "\n"), "\r", "\n")
		m.breaks = strings.ContainsRune(s, '\n')
		if q.Case || !hasCase(s) {
			m.literal = newLiteral(s)
		} else {
			m.folded = newFolded(s)
		}
	}
	m.scanners = &sync.Pool{New: func() any { return newScanner(m) }}
	return m, nil
}

// Match is one place of a text, in UTF-16 units.
type Match struct{ From, To int }

// All returns the first matches in a text, at most limit of them (all with a
// limit of 0), and how many more there are. text is LF only. Matches do not
// overlap; those of a regular expression may be empty.
func (m *Matcher) All(s string, limit int) (matches []Match, more int) {
	b := []byte(s)
	c := newPositions(b)
	m.each(b, func(start, end int) bool {
		if limit > 0 && len(matches) == limit {
			more++
			return true
		}
		matches = append(matches, Match{From: c.at(start), To: c.at(end)})
		return true
	})
	return matches, more
}

// Edit replaces one match.
type Edit struct {
	text.Edit
	// Old is what is replaced.
	Old string
	// Line is the number of the line it begins in, from 1.
	Line int
	// Before and After are the rest of its lines, cut to the width asked for.
	Before, After string
}

// Edits returns the edits that replace the first matches in a text, at most
// limit of them (all with a limit of 0), and how many more there are. For a
// regular expression $1 and ${name} in with stand for what its groups took and
// $$ for a dollar sign; else with is taken as it is. width is how long Before
// and After are at most, in UTF-16 units.
func (m *Matcher) Edits(s, with string, limit, width int) (edits []Edit, more int) {
	b := []byte(s)
	c := newPositions(b)
	add := func(start, end int, insert string) {
		if limit > 0 && len(edits) == limit {
			more++
			return
		}
		before, after := lineAround(b, start, end, width)
		e := Edit{Old: s[start:end], Before: before, After: after}
		e.From, e.Line = c.at(start), c.line
		e.To, e.Insert = c.at(end), insert
		edits = append(edits, e)
	}
	if m.pattern == nil {
		m.each(b, func(start, end int) bool {
			add(start, end, with)
			return true
		})
		return edits, more
	}
	for _, groups := range m.pattern.submatches(b) {
		start, end := groups[0], groups[1]
		if m.word && !wholeWord(b, start, end) {
			continue
		}
		add(start, end, string(m.pattern.re.Expand(nil, []byte(with), b, groups)))
	}
	return edits, more
}

// each calls found for every match in LF text, from the left, until it returns
// false.
func (m *Matcher) each(b []byte, found func(start, end int) bool) {
	s := m.scanners.Get().(*scanner)
	defer m.scanners.Put(s)
	s.each(b, found)
}
