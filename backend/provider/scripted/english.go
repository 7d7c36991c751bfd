package scripted

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table replaces phrases, the longest first, and keeps a capital at the start.
type table struct {
	re *regexp.Regexp
	to map[string]string
}

// newTable takes pairs of a phrase in lower case and what stands for it; an
// empty one takes the phrase out.
func newTable(pairs ...string) table {
	t := table{to: make(map[string]string)}
	var phrases []string
	for i := 0; i+1 < len(pairs); i += 2 {
		t.to[pairs[i]] = pairs[i+1]
		phrases = append(phrases, pairs[i])
	}
	slices.SortFunc(phrases, func(a, b string) int { return len(b) - len(a) })
	for i, p := range phrases {
		phrases[i] = strings.ReplaceAll(regexp.QuoteMeta(p), " ", `\s+`)
	}
	t.re = regexp.MustCompile(`(?i)\b(` + strings.Join(phrases, "|") + `)\b`)
	return t
}

func (t table) apply(s string) string {
	var b strings.Builder
	at := 0
	capital := false // the next letter takes over a capital that went
	for _, m := range t.re.FindAllStringIndex(s, -1) {
		found := s[m[0]:m[1]]
		to, ok := t.to[strings.ToLower(strings.Join(strings.Fields(found), " "))]
		if !ok || partOfWord(s, m[0], m[1]) {
			continue
		}
		b.WriteString(raise(s[at:m[0]], &capital))
		at = m[1]
		first, _ := utf8.DecodeRuneInString(found)
		if unicode.IsUpper(first) {
			capital = true
		}
		if to == "" {
			// One of the blanks round it goes with it.
			at += len(s[at:]) - len(strings.TrimLeft(s[at:], " "))
			continue
		}
		b.WriteString(raise(to, &capital))
	}
	b.WriteString(raise(s[at:], &capital))
	return b.String()
}

// partOfWord reports whether a hyphen or an apostrophe ties a match to more.
func partOfWord(s string, from, to int) bool {
	const ties = "-'’_"
	before, _ := utf8.DecodeLastRuneInString(s[:from])
	after, _ := utf8.DecodeRuneInString(s[to:])
	return from > 0 && (strings.ContainsRune(ties, before) || unicode.IsLetter(before)) ||
		to < len(s) && (strings.ContainsRune(ties, after) || unicode.IsLetter(after))
}

// raise gives the first letter of s the capital that is owed.
func raise(s string, capital *bool) string {
	if !*capital {
		return s
	}
	for i, r := range s {
		if unicode.IsLetter(r) {
			*capital = false
			return s[:i] + string(unicode.ToUpper(r)) + s[i+utf8.RuneLen(r):]
		}
	}
	return s
}

// The tables are small on purpose: enough that any paragraph of ordinary
// English holds a few of their words.
var (
	fillers = newTable(
		"very", "", "really", "", "quite", "", "just", "", "actually", "", "basically", "",
		"simply", "", "rather", "", "somewhat", "", "perhaps", "", "of course", "",
		"in fact", "", "needless to say", "", "it should be noted that", "", "it is important to note that", "",
	)
	weak = newTable(
		"very good", "excellent", "very bad", "poor", "very big", "vast", "very small", "tiny",
		"very important", "essential", "a lot of", "plenty of", "lots of", "plenty of", "a number of", "several",
		"in order to", "to", "due to the fact that", "because", "at this point in time", "now",
		"get to", "reach", "gets to", "reaches", "got to", "reached", "show", "reveal", "shows", "reveals",
		"make use of", "use", "big", "large", "good", "sound", "bad", "poor", "things", "details",
		"help", "support", "helps", "supports", "at night", "after dark", "late", "at a late hour",
		"think", "believe", "also", "likewise", "but", "yet",
		"start", "begin", "starts", "begins", "quick", "swift", "quickly", "swiftly", "old", "aged",
		"look at", "examine", "looks at", "examines", "find", "discover", "finds", "discovers",
		"make", "create", "makes", "creates", "nice", "pleasant", "hard", "difficult", "easy", "effortless",
		"important", "essential", "whole", "entire", "often", "frequently", "some", "a few",
	)
	wordy = newTable(
		"in order to", "to", "due to the fact that", "because", "in spite of", "despite",
		"at this point in time", "now", "in the event that", "if", "a large number of", "many",
		"a lot of", "many", "the majority of", "most", "with regard to", "about", "as well as", "and",
		"is able to", "can", "are able to", "can", "has the ability to", "can", "in addition", "also",
		"for the purpose of", "for", "prior to", "before", "subsequent to", "after",
		"each and every", "every", "first of all", "first", "there are many", "many", "however", "but",
		"that is to say", "", "as a matter of fact", "", "for example", "", "also", "", "already", "", "still", "",
		"quickly", "", "carefully", "", "slowly", "", "usually", "", "always", "", "completely", "", "together", "",
	)
	plain = newTable(
		"utilize", "use", "utilise", "use", "utilizes", "uses", "commence", "begin", "terminate", "end",
		"approximately", "about", "sufficient", "enough", "numerous", "many", "demonstrate", "show",
		"demonstrates", "shows", "facilitate", "help", "facilitates", "helps", "purchase", "buy",
		"require", "need", "requires", "needs", "required", "needed", "obtain", "get", "assist", "help",
		"additional", "more", "attempt", "try", "subsequently", "later", "consequently", "so",
		"therefore", "so", "however", "but", "furthermore", "also", "moreover", "also", "nevertheless", "still",
		"individuals", "people", "endeavour", "try", "endeavor", "try", "indicate", "show", "indicates", "shows",
		"regarding", "about", "component", "part", "components", "parts", "initial", "first",
		"quickly", "fast", "although", "though", "whilst", "while", "upon", "on", "large", "big", "difficult", "hard",
		"begin", "start", "begins", "starts", "began", "started", "several", "some", "nearly", "almost",
		"entire", "whole", "perhaps", "maybe", "within", "in", "beneath", "under", "among", "in", "depart", "leave",
	)
	warm = newTable(
		"do not", "don't", "does not", "doesn't", "did not", "didn't", "is not", "isn't", "are not", "aren't",
		"cannot", "can't", "can not", "can't", "will not", "won't", "would not", "wouldn't", "should not", "shouldn't",
		"it is", "it's", "that is", "that's", "there is", "there's", "we are", "we're", "you are", "you're",
		"they are", "they're", "i am", "I'm", "we will", "we'll", "you will", "you'll", "one should", "you should",
		"utilize", "use", "assist", "help", "inquire", "ask", "however", "but", "therefore", "so", "must", "have to",
		"regarding", "about", "the user", "you", "users", "you", "please", "do", "perhaps", "maybe", "children", "kids",
		"very", "so", "good", "great", "many", "lots of", "large", "big",
	)
	formal = newTable(
		"don't", "do not", "doesn't", "does not", "didn't", "did not", "isn't", "is not", "aren't", "are not",
		"can't", "cannot", "won't", "will not", "it's", "it is", "that's", "that is", "there's", "there is",
		"we're", "we are", "you're", "you are", "they're", "they are", "i'm", "I am", "let's", "let us",
		"get", "obtain", "gets", "obtains", "big", "considerable", "kids", "children", "a lot of", "a great deal of",
		"but", "however", "so", "therefore", "ask", "enquire", "help", "assist", "buy", "purchase", "start", "commence",
		"show", "demonstrate", "shows", "demonstrates", "about", "regarding", "need", "require", "needs", "requires",
		"use", "employ", "uses", "employs", "maybe", "perhaps", "good", "satisfactory", "bad", "unsatisfactory",
	)
	fuller = newTable(
		"because", "precisely because", "important", "particularly important", "many", "a great many",
		"often", "often enough", "first", "first of all", "finally", "finally, and not by chance",
		"can", "can well", "must", "must always", "should", "should as a rule", "now", "now more than before",
		"need", "really need", "needs", "really needs", "old", "old and worn", "small", "small but telling",
		"slowly", "slowly and with care", "quickly", "quickly and without fuss", "always", "always and everywhere",
	)
	typos = newTable(
		"teh", "the", "recieve", "receive", "recieved", "received", "definately", "definitely", "seperate", "separate",
		"occured", "occurred", "untill", "until", "wich", "which", "becuase", "because", "thier", "their",
		"alot", "a lot", "adress", "address", "beleive", "believe", "goverment", "government", "neccessary", "necessary",
		"dont", "don't", "doesnt", "doesn't", "cant", "can't", "wont", "won't", "isnt", "isn't", "didnt", "didn't",
		"could of", "could have", "should of", "should have", "would of", "would have", "your welcome", "you're welcome",
		"i", "I", "im", "I'm", "ive", "I've", "they is", "they are", "we was", "we were", "he don't", "he doesn't",
		"less people", "fewer people", "more better", "better", "irregardless", "regardless",
	)
)

// englishEdits returns the edits of a kind.
func englishEdits(kind string) func(string) string {
	switch kind {
	case "grammar":
		return func(s string) string { return articles(sentenceCase(typos.apply(undouble(s)))) }
	case "shorten":
		return func(s string) string { return wordy.apply(fillers.apply(dropClauses(s))) }
	case "expand":
		return fuller.apply
	case "simplify":
		return plain.apply
	case "tone":
		return warm.apply
	case "formal":
		return formal.apply
	case "translate":
		return toChinese
	default:
		return func(s string) string { return fillers.apply(weak.apply(undouble(s))) }
	}
}

var twoWords = regexp.MustCompile(`\p{L}+`)

// undouble takes the second of two equal words out ("the the"). "had had" and
// "that that" may be right.
func undouble(s string) string {
	all := twoWords.FindAllStringIndex(s, -1)
	for i := len(all) - 1; i > 0; i-- {
		a, b := all[i-1], all[i]
		one, two := s[a[0]:a[1]], s[b[0]:b[1]]
		gap := s[a[1]:b[0]]
		lower := strings.ToLower(two)
		if !strings.EqualFold(one, two) || gap == "" || strings.TrimSpace(gap) != "" ||
			lower == "had" || lower == "that" || partOfWord(s, b[0], b[1]) || isChinese(two) {
			continue
		}
		s = s[:a[1]] + s[b[1]:]
	}
	return s
}

var article = regexp.MustCompile(`\b([Aa])(n?) (\p{L}+)`)

// articles mends "a apple" and "an car". Where the spelling does not tell the
// sound nothing is done.
func articles(s string) string {
	return article.ReplaceAllStringFunc(s, func(m string) string {
		p := article.FindStringSubmatch(m)
		word := strings.ToLower(p[3])
		vowel := strings.ContainsRune("aeio", rune(word[0]))
		for _, odd := range []string{"eu", "one", "once", "u", "h"} {
			if strings.HasPrefix(word, odd) || len(word) < 2 || strings.ToUpper(p[3]) == p[3] {
				return m
			}
		}
		if vowel {
			return p[1] + "n " + p[3]
		}
		return p[1] + " " + p[3]
	})
}

var afterStop = regexp.MustCompile(`([a-z]{2}[.!?] )([a-z])`)

// sentenceCase gives a sentence its capital.
func sentenceCase(s string) string {
	return afterStop.ReplaceAllStringFunc(s, func(m string) string {
		return m[:len(m)-1] + strings.ToUpper(m[len(m)-1:])
	})
}

var (
	aside  = regexp.MustCompile(` \([^()\d]*\)`)
	clause = regexp.MustCompile(`, (which|who|where|although|as if|so that) [^,.;:!?\d]+([,.;!?])`)
)

// dropClauses takes out what stands in brackets and what hangs on behind a
// comma, unless it holds a number.
func dropClauses(s string) string {
	s = aside.ReplaceAllString(s, "")
	return clause.ReplaceAllStringFunc(s, func(m string) string {
		if m[len(m)-1] == ',' {
			return ""
		}
		return m[len(m)-1:]
	})
}
