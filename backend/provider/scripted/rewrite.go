package scripted

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// task is a rewrite as the loop asks for it.
type task struct {
	preset      string
	instruction string
	selection   string
}

// parseTask reads the message of a rewrite: the lines <preset>, <instruction>
// and, last, the passage between the lines <selection> and </selection>. The
// passage may hold such lines itself, so the last end counts, and what comes
// before it is looked for before the passage only.
func parseTask(s string) (task, bool) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	framed := "\n" + strings.TrimRight(s, "\n") + "\n"
	from := strings.Index(framed, "\n<selection>\n")
	to := strings.LastIndex(framed, "\n</selection>\n")
	if from < 0 || to < from {
		return task{}, false
	}
	t := task{}
	start := from + len("\n<selection>\n")
	if start <= to {
		t.selection = framed[start:to]
	}
	head := framed[:from]
	t.preset = strings.TrimSpace(between(head, "<preset>", "</preset>"))
	t.instruction = strings.TrimSpace(between(head, "<instruction>", "</instruction>"))
	return t, true
}

// between returns what stands between the first open and the first end after
// it.
func between(s, open, end string) string {
	_, rest, ok := strings.Cut(s, open)
	if !ok {
		return ""
	}
	inside, _, _ := strings.Cut(rest, end)
	return inside
}

// kinds maps words of presets and instructions to what is done, the first that
// is found.
var kinds = []struct {
	kind  string
	words []string
}{
	{"translate", []string{"transl", "翻译", "译成", "译为"}},
	{"grammar", []string{"gramm", "spell", "typo", "proofread", "语法", "错别字", "校对"}},
	{"shorten", []string{"short", "concise", "trim", "condense", "缩短", "精简", "简短", "压缩"}},
	{"expand", []string{"expand", "longer", "elaborat", "detail", "扩写", "扩展", "展开", "详细"}},
	{"continue", []string{"contin", "续写", "继续"}},
	{"simplify", []string{"simpl", "plain", "easier", "简化", "通俗", "简单"}},
	{"formal", []string{"formal", "polite", "professional", "正式", "礼貌"}},
	{"tone", []string{"tone", "warm", "friend", "casual", "语气", "亲切", "口语"}},
}

func kindOf(t task) string {
	for _, s := range []string{t.preset, t.instruction} {
		s = strings.ToLower(s)
		for _, k := range kinds {
			for _, w := range k.words {
				if strings.Contains(s, w) {
					return k.kind
				}
			}
		}
		if strings.Contains(s, "improve") {
			break
		}
	}
	return "improve"
}

var (
	replaceEnglish = regexp.MustCompile(`(?i)\b(?:replace|change) ["“]([^"”]+)["”] (?:with|by|to|into) ["“]([^"”]*)["”]`)
	replaceChinese = regexp.MustCompile(`把["“「]([^"”」]+)["”」](?:改成|改为|换成|替换为)["“「]([^"”」]*)["”」]`)
)

// rewrite does what a task asks for. The blanks at the edges of the passage
// stay.
func rewrite(t task) string {
	core := strings.TrimSpace(t.selection)
	if core == "" {
		return invent(t)
	}
	at := strings.Index(t.selection, core)
	before, after := t.selection[:at], t.selection[at+len(core):]
	for _, re := range []*regexp.Regexp{replaceEnglish, replaceChinese} {
		if m := re.FindStringSubmatch(t.instruction); m != nil && strings.Contains(core, m[1]) {
			return before + strings.ReplaceAll(core, m[1], m[2]) + after
		}
	}
	chinese := isChinese(core)
	kind := kindOf(t)
	if kind == "continue" {
		return before + core + "\n\n" + nextParagraph(chinese) + after
	}
	return before + rework(core, kind, chinese) + after
}

// invent writes where nothing was selected.
func invent(t task) string {
	if isChinese(t.instruction) {
		return nextParagraph(true)
	}
	return nextParagraph(false)
}

func nextParagraph(chinese bool) string {
	if chinese {
		return "接下来的事并不复杂：先看清眼前的情形，再决定下一步怎么走。"
	}
	return "What comes next is simple: look at what is there, and decide from that what to do."
}

// rework edits a passage so that one can see it. Where the kind finds nothing
// to do, the next best is done.
func rework(s, kind string, chinese bool) string {
	for _, loose := range []bool{false, true} {
		for _, k := range []string{kind, "improve", "simplify"} {
			lines := divide(s, loose)
			if k == kind {
				whole(lines, k, chinese)
			}
			edit(lines, wordEdits(k, chinese))
			tidy(lines)
			// A table may take out all there is.
			if out := join(lines); visible(out) != visible(s) && len(words(out)) > 0 {
				return out
			}
		}
		lines := divide(s, loose)
		if touch(lines, kind, chinese) {
			return join(lines)
		}
	}
	return s + "\n\n" + nextParagraph(chinese)
}

// whole makes the edits that look at more than words.
func whole(lines []line, kind string, chinese bool) {
	for i := range lines {
		l := &lines[i]
		if !l.paragraph || len(l.spans) == 0 {
			continue
		}
		last := &l.spans[len(l.spans)-1]
		next := ""
		if i+1 < len(lines) {
			next = strings.TrimSpace(join(lines[i+1 : i+2]))
		}
		// Only at the end of a paragraph.
		if !last.prose || next != "" || strings.TrimSpace(last.text) == "" {
			continue
		}
		body := strings.TrimRight(last.text, " \t")
		tail := last.text[len(body):]
		end, _ := utf8.DecodeLastRuneInString(body)
		switch kind {
		case "grammar":
			// A sentence has a full stop.
			if unicode.IsLetter(end) && isSentence(join(lines[i:i+1]), chinese) {
				body += map[bool]string{true: "。", false: "."}[chinese]
			}
		case "expand":
			if strings.ContainsRune(".!?。！？", end) {
				if chinese {
					body += "换句话说，这一点值得多看一眼。"
				} else {
					body += " In other words, this deserves a closer look."
				}
			}
		}
		last.text = body + tail
	}
}

// isSentence tells a sentence from a title by its length.
func isSentence(s string, chinese bool) bool {
	if chinese {
		return utf8.RuneCountInString(s) >= 10
	}
	return len(words(s)) >= 4
}

// wordEdits returns the edits of prose for a kind.
func wordEdits(kind string, chinese bool) func(string) string {
	if chinese {
		return chineseEdits(kind)
	}
	return englishEdits(kind)
}

// touch is for passages in which no table finds a word: it adds or, to shorten,
// takes away a little.
func touch(lines []line, kind string, chinese bool) bool {
	for i := range lines {
		for j := range lines[i].spans {
			s := &lines[i].spans[j]
			if !s.prose || len(words(s.text)) == 0 {
				continue
			}
			body := strings.TrimRight(s.text, " \t")
			tail := s.text[len(body):]
			stem := strings.TrimRight(body, ".!?:;,。！？：；，")
			end := body[len(stem):]
			switch w := words(stem); {
			case kind == "shorten" && len(w) > 3 && !chinese:
				cut := strings.LastIndex(stem, w[len(w)-1])
				stem = strings.TrimRight(stem[:cut], " ,")
			case kind == "shorten" && chinese && utf8.RuneCountInString(stem) > 6:
				r := []rune(stem)
				stem = string(r[:len(r)-2])
			case chinese:
				stem = "总的来说，" + stem
			case lines[i].paragraph && strings.Contains(strings.TrimSpace(stem), " "):
				stem += ", in short"
			default:
				stem += " in brief"
			}
			s.text = stem + end + tail
			return true
		}
	}
	return false
}

var wordForm = regexp.MustCompile(`[\p{L}\p{N}][\p{L}\p{N}'’-]*`)

// words returns the words of a text; a run of Chinese characters is one.
func words(s string) []string { return wordForm.FindAllString(s, -1) }

// visible leaves out what is no change to a reader: blanks.
func visible(s string) string { return strings.Join(strings.Fields(s), "") }

var (
	doubleBlank  = regexp.MustCompile(`([^\s]) {2,}([^\s])`)
	blankBefore  = regexp.MustCompile(` +([,.;:!?])`)
	doubleCommas = regexp.MustCompile(`,\s*([,.;!?])`)
	emptyAside   = regexp.MustCompile(` ?\(\s*\)`)
)

// tidy mends what taking words out leaves behind, in prose only.
func tidy(lines []line) {
	edit(lines, func(s string) string {
		s = emptyAside.ReplaceAllString(s, "")
		s = doubleBlank.ReplaceAllString(s, "$1 $2")
		s = blankBefore.ReplaceAllString(s, "$1")
		return doubleCommas.ReplaceAllString(s, "$1")
	})
}
