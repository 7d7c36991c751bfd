package search

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pattern is a compiled regular expression.
type pattern struct {
	// re has the plain meaning; it is used where groups are asked for.
	re *regexp.Regexp
	// forward finds where the first match ends, backward where it began.
	forward, backward *program
	// byLine is true when no match holds a break or asks for an end of the text,
	// so that lines may be looked at one by one.
	byLine bool
	// required lists texts of which every match holds at least one; nil when
	// there is no such list that is worth a look.
	required []finder
}

// finder is a text that is looked for before a regular expression is tried.
type finder struct {
	exact *literal
	fold  *folded
}

// compilePattern reads a regular expression. Its errors are those of package
// regexp/syntax.
func compilePattern(s string, matchCase bool) (*pattern, error) {
	// Without OneLine, ^ and $ stand for the ends of a line.
	flags := syntax.Perl &^ syntax.OneLine
	if !matchCase {
		flags |= syntax.FoldCase
	}
	re, err := syntax.Parse(s, flags)
	if err != nil {
		return nil, err
	}
	if !namesBreak(s) {
		withoutBreaks(re)
	}
	p := &pattern{byLine: staysOnLine(re)}
	if p.re, err = regexp.Compile(re.String()); err != nil {
		return nil, err
	}
	if p.forward, err = compileProgram(re, false); err != nil {
		return nil, err
	}
	if p.backward, err = compileProgram(reversed(re), true); err != nil {
		return nil, err
	}
	if list, ok := requiredOf(re); ok {
		for _, n := range list {
			p.required = append(p.required, n.finder())
		}
	}
	return p, nil
}

// submatches returns the groups of all matches, as package regexp does.
func (p *pattern) submatches(b []byte) [][]int { return p.re.FindAllSubmatchIndex(b, -1) }

// namesBreak reports whether an expression names a break itself.
func namesBreak(s string) bool {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\n':
			return true
		case s[i] == '\\' && i+1 < len(s):
			i++
			rest := strings.ToLower(s[i:])
			for _, name := range []string{"n", "x0a", "x{a}", "x{0a}", "x{00a}", "x{000a}", "012"} {
				if strings.HasPrefix(rest, name) && s[i] != 'N' {
					return true
				}
			}
		case strings.HasPrefix(s[i:], "(?"):
			for _, c := range s[i+2:] {
				if c == 's' {
					return true
				}
				if !unicode.IsLetter(c) {
					break
				}
			}
		}
	}
	return false
}

// withoutBreaks takes the break out of every class of re, so that \s and [^a]
// stay on their line.
func withoutBreaks(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpCharClass:
		var out []rune
		for i := 0; i < len(re.Rune); i += 2 {
			lo, hi := re.Rune[i], re.Rune[i+1]
			if lo > '\n' || hi < '\n' {
				out = append(out, lo, hi)
				continue
			}
			if lo < '\n' {
				out = append(out, lo, '\n'-1)
			}
			if hi > '\n' {
				out = append(out, '\n'+1, hi)
			}
		}
		if re.Rune = out; len(out) == 0 {
			re.Op = syntax.OpNoMatch
		}
	default:
	}
	for _, sub := range re.Sub {
		withoutBreaks(sub)
	}
}

// staysOnLine reports whether a match holds no break and does not depend on
// where the text begins and ends.
func staysOnLine(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpAnyChar, syntax.OpBeginText, syntax.OpEndText:
		return false
	case syntax.OpLiteral:
		return !slices.Contains(re.Rune, '\n')
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if re.Rune[i] <= '\n' && '\n' <= re.Rune[i+1] {
				return false
			}
		}
		return true
	default:
	}
	for _, sub := range re.Sub {
		if !staysOnLine(sub) {
			return false
		}
	}
	return true
}

// reversed returns re read from its end.
func reversed(re *syntax.Regexp) *syntax.Regexp {
	out := *re
	out.Sub = nil
	for _, sub := range re.Sub {
		out.Sub = append(out.Sub, reversed(sub))
	}
	switch re.Op {
	case syntax.OpConcat:
		slices.Reverse(out.Sub)
	case syntax.OpLiteral:
		out.Rune = slices.Clone(re.Rune)
		slices.Reverse(out.Rune)
	case syntax.OpBeginLine:
		out.Op = syntax.OpEndLine
	case syntax.OpEndLine:
		out.Op = syntax.OpBeginLine
	case syntax.OpBeginText:
		out.Op = syntax.OpEndText
	case syntax.OpEndText:
		out.Op = syntax.OpBeginText
	default:
	}
	return &out
}

// needed is a text that a match holds, perhaps in another case.
type needed struct {
	text string
	fold bool
}

func (n needed) finder() finder {
	if n.fold && hasCase(n.text) {
		return finder{fold: newFolded(n.text)}
	}
	return finder{exact: newLiteral(n.text)}
}

// worth says how much a look for the text saves: rare bytes and length.
func (n needed) worth() int {
	b := []byte(n.text)
	w := 4000 / (int(commonness[b[rarest(b)]]) + 10)
	return w + 40*min(utf8.RuneCountInString(n.text), 8)
}

// maxNeeded is how many alternatives are looked for; each is a search.
const maxNeeded = 8

// requiredOf returns texts of which every match of re holds at least one.
func requiredOf(re *syntax.Regexp) ([]needed, bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return []needed{{string(re.Rune), re.Flags&syntax.FoldCase != 0}}, true
	case syntax.OpCapture, syntax.OpPlus:
		return requiredOf(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredOf(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []needed
		for _, sub := range re.Sub {
			if list, ok := requiredOf(sub); ok && (best == nil || worthOf(list) > worthOf(best)) {
				best = list
			}
		}
		return best, best != nil
	case syntax.OpAlternate:
		var all []needed
		for _, sub := range re.Sub {
			list, ok := requiredOf(sub)
			if !ok || len(all)+len(list) > maxNeeded {
				return nil, false
			}
			all = append(all, list...)
		}
		return all, true
	default:
	}
	return nil, false
}

// worthOf is the worth of the least of a list, less what each costs.
func worthOf(list []needed) int {
	least := list[0].worth()
	for _, n := range list {
		least = min(least, n.worth())
	}
	return least / len(list)
}
