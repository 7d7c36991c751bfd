package scripted

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"galley/backend/agent/core"
)

// The wishes that the mock understands besides those to replace something,
// which rewrites share.
var (
	createEnglish = regexp.MustCompile(`(?is)^\s*(?:please,?\s+)?(?:create|make|write)\s+(?:me\s+)?an?\s+(?:new\s+)?(?:note|document|file)\b(.*)$`)
	createChinese = regexp.MustCompile(`(?s)^\s*(?:请)?(?:帮我)?新建(?:一个|一篇|一份|个|篇|份)?(.*)$`)
	sayEnglish    = regexp.MustCompile(`(?i)^\s*what\s+(?:does|do|did)\s+(.+?)\s+say(?:\s+about\s+(.+?))?\s*\?*\s*$`)
	sayChinese    = regexp.MustCompile(`^\s*(.+?)(?:里面|里|中)?(?:都)?(?:说了什么|写了什么|讲了什么|说的是什么|写的是什么|说什么)\s*[?？]*\s*$`)
	renameEnglish = regexp.MustCompile(`(?i)\brename ["“]([^"”]+)["”] (?:to|into|as) ["“]([^"”]+)["”]`)
	renameChinese = regexp.MustCompile(`把["“「]([^"”」]+)["”」](?:重命名|改名)(?:为|成)["“「]([^"”」]+)["”」]`)
)

// wish goes a step towards what the person wishes for; false when that is none
// of the wishes, or the tools for it are not offered.
func (t *turn) wish(a *core.Answer) bool {
	if m := match(t.ask, renameEnglish, renameChinese); m != nil && t.has(core.ToolRenameDocument) {
		t.rename(a, m[1], m[2])
		return true
	}
	if m := match(t.ask, replaceEnglish, replaceChinese); m != nil && t.has(core.ToolProposePatch) {
		t.replace(a, m[1], m[2])
		return true
	}
	if m := match(t.ask, createEnglish, createChinese); m != nil && t.has(core.ToolCreateDocument) {
		t.create(a, m[1])
		return true
	}
	if m := match(t.ask, sayEnglish, sayChinese); m != nil && t.has(core.ToolReadDocument) && t.has(core.ToolSearchWorkspace) {
		about := ""
		if len(m) > 2 {
			about = m[2]
		}
		t.say(a, unquote(m[1]), unquote(about))
		return true
	}
	return false
}

func match(s string, forms ...*regexp.Regexp) []string {
	for _, f := range forms {
		if m := f.FindStringSubmatch(s); m != nil {
			return m
		}
	}
	return nil
}

// unquote takes quotation marks and blanks off a word.
func unquote(s string) string { return strings.Trim(s, " \t\n\"'“”‘’「」『』《》。.") }

// either is what is said in the language of the person.
func (t *turn) either(english, chinese string) string {
	if t.chinese {
		return chinese
	}
	return english
}

// call makes a call of one tool.
func call(name string, input any) core.AnswerCall {
	raw, err := json.Marshal(input)
	if err != nil {
		return core.AnswerCall{Name: name, Invalid: true}
	}
	return core.AnswerCall{Name: name, Arguments: raw}
}

// whyNot says in words why a call failed.
func (t *turn) whyNot(d done) string {
	if strings.Contains(d.result, "permission_denied") {
		return t.either("You did not allow it, so nothing was done.", "您没有允许，所以什么也没有做。")
	}
	why, _, _ := strings.Cut(strings.TrimSpace(d.result), "\n")
	if r := []rune(why); len(r) > 200 {
		why = string(r[:200]) + "…"
	}
	return t.either("That did not work: ", "没有成功：") + why
}

// replace looks where a word stands, reads what is not known, and proposes to
// change it in the document.
func (t *turn) replace(a *core.Answer, old, with string) {
	if _, proposed := t.called(core.ToolProposePatch); proposed {
		a.Text = t.proposed(old, with)
		return
	}
	found, searched := t.called(core.ToolSearchWorkspace)
	if !searched && t.has(core.ToolSearchWorkspace) {
		a.Reasoning = t.either("The person wants “"+old+"” to become “"+with+"”. I look first where it stands.", "要把“"+old+"”改成“"+with+"”。先看看它出现在哪里。")
		a.Calls = []core.AnswerCall{call(core.ToolSearchWorkspace, map[string]any{"query": old, "caseSensitive": true})}
		return
	}
	if hit := firstPath(found); searched && hit != "" && hit != t.path && t.has(core.ToolReadDocument) {
		if _, read := t.called(core.ToolReadDocument); !read {
			a.Reasoning = t.either("It stands in "+hit+" too. I read that to know what is meant.", "它也出现在 "+hit+" 里，先读一读，弄清意思。")
			a.Calls = []core.AnswerCall{call(core.ToolReadDocument, map[string]any{"path": hit})}
			return
		}
	}
	read, again := t.called(core.ToolGetActiveDocument)
	document := t.document
	if again {
		document = read.data()
	}
	if !strings.Contains(document, old) && !again && t.has(core.ToolGetActiveDocument) {
		a.Reasoning = t.either("I read the document itself.", "再读一读文档本身。")
		a.Calls = []core.AnswerCall{call(core.ToolGetActiveDocument, struct{}{})}
		return
	}
	for _, q := range quotations(document, old) {
		in := map[string]any{
			"oldText": q.text, "newText": strings.ReplaceAll(q.text, old, with), "scope": "document",
			"summary": t.either("“"+old+"” becomes “"+with+"”", "“"+old+"”改为“"+with+"”"),
		}
		if q.occurrence > 0 {
			in["occurrence"] = q.occurrence
		}
		a.Calls = append(a.Calls, call(core.ToolProposePatch, in))
	}
	if len(a.Calls) == 0 {
		a.Text = t.either("“"+old+"” does not stand in this document, so there is nothing to change.", "这篇文档里没有“"+old+"”，没有什么可改的。")
		return
	}
	a.Reasoning = t.either("Now I know the place. I propose the change and leave the rest as it is.", "位置清楚了。我提出修改，其他都不动。")
}

// proposed says what became of the proposals.
func (t *turn) proposed(old, with string) string {
	made := 0
	var failed *done
	for i, d := range t.done {
		switch {
		case d.name != core.ToolProposePatch:
		case d.failed:
			failed = &t.done[i]
		default:
			made++
		}
	}
	text := ""
	if made > 0 {
		changes := "changes"
		if made == 1 {
			changes = "change"
		}
		text = fmt.Sprintf(
			t.either("I proposed %d "+changes+" for you to accept: “%s” becomes “%s”.", "我提出了 %d 处修改，请您决定：“%s”改为“%s”。"),
			made, old, with)
	}
	if failed != nil {
		text = strings.TrimSpace(text + " " + t.whyNot(*failed))
	}
	return text
}

// quotation is a passage that holds a word; occurrence is which one is meant of
// those that read the same, 0 where there is one.
type quotation struct {
	text       string
	occurrence int
}

// maxQuotations bounds how many changes are proposed at once.
const maxQuotations = 20

// quotations finds the passages that hold a word: of each line the clause, or
// the whole of it where that is not enough to tell it from others.
func quotations(document, word string) []quotation {
	var all []quotation
	seen := map[string]int{}
	for _, l := range strings.Split(document, "\n") {
		at := strings.Index(l, word)
		if word == "" || at < 0 || len(all) == maxQuotations {
			continue
		}
		last := strings.LastIndex(l, word) + len(word)
		const ends = ".!?。！？；;"
		from := strings.LastIndexAny(l[:at], ends) + 1
		if from > 0 {
			_, size := utf8.DecodeRuneInString(l[from-1:])
			from += size - 1
		}
		to := len(l)
		if i := strings.IndexAny(l[last:], ends); i >= 0 {
			to = last + i
		}
		q := quotation{text: strings.TrimSpace(l[from:to])}
		if strings.Count(document, q.text) > 1 {
			q.text = l
		}
		if n := strings.Count(document, q.text); n > 1 {
			seen[q.text]++
			if q.occurrence = seen[q.text]; q.occurrence > n {
				continue
			}
		}
		all = append(all, q)
	}
	return all
}

// hitLine is a line of a search's result: path, number, text.
var hitLine = regexp.MustCompile(`(?m)^(.+?):\d+: `)

// firstPath is the first document that a search found.
func firstPath(d done) string {
	if d.failed {
		return ""
	}
	if m := hitLine.FindStringSubmatch(d.data()); m != nil {
		return m[1]
	}
	return ""
}

// create makes a note.
func (t *turn) create(a *core.Answer, wish string) {
	title := titleOf(wish)
	if title == "" {
		title = t.either("Note", "笔记")
	}
	name := fileName(title)
	if d, made := t.called(core.ToolCreateDocument); made {
		if d.failed {
			a.Text = t.whyNot(d)
			return
		}
		a.Text = t.either("I created “"+name+"” with a first paragraph.", "已新建“"+name+"”，并写好了第一段。")
		return
	}
	a.Reasoning = t.either("A new note is asked for. I write a short beginning.", "要新建一篇笔记。我先写一个简短的开头。")
	heading := strings.TrimSuffix(name, ".md")
	text := t.either("# "+heading+"\n\nThis note is about "+heading+". It is short, so that there is room to go on.\n\n- What is known\n- What is open\n",
		"# "+heading+"\n\n这篇笔记写的是“"+heading+"”。先写下要点，再慢慢补充。\n\n- 已知的\n- 待定的\n")
	a.Calls = []core.AnswerCall{call(core.ToolCreateDocument, map[string]any{"dir": "", "name": name, "text": text})}
}

// inQuotes is a name that the person put between quotation marks.
var inQuotes = regexp.MustCompile(`["“「《]([^"”」》]+)["”」》]`)

// leadIn and leadOut are the words round the subject of a note.
var (
	leadIn  = regexp.MustCompile(`(?i)^[\s:：,，]*(?:called|named|titled|about|on|for|with the title|关于|名为|叫做|叫|题为)?\s*(?:the\s+|an?\s+)?`)
	leadOut = regexp.MustCompile(`(?:的)?(?:笔记|文档|文件|文章|便签)\s*$`)
)

func titleOf(wish string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(wish), "\n")
	if m := inQuotes.FindStringSubmatch(line); m != nil {
		return strings.TrimSpace(m[1])
	}
	line = leadIn.ReplaceAllString(unquote(line), "")
	return unquote(leadOut.ReplaceAllString(unquote(line), ""))
}

// fileName makes a name that every system takes.
func fileName(title string) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return ' '
		}
		return r
	}, strings.TrimSuffix(title, ".md"))
	clean = strings.Trim(strings.Join(strings.Fields(clean), " "), " .")
	if r := []rune(clean); len(r) > 60 {
		clean = strings.TrimRight(string(r[:60]), " .")
	}
	if clean == "" {
		clean = "Note"
	}
	return clean + ".md"
}

// rename gives a document another name.
func (t *turn) rename(a *core.Answer, path, name string) {
	if d, made := t.called(core.ToolRenameDocument); made {
		if d.failed {
			a.Text = t.whyNot(d)
			return
		}
		a.Text = t.either("“"+path+"” is now “"+name+"”. Links to it were not changed.", "“"+path+"”已改名为“"+name+"”。指向它的链接没有改动。")
		return
	}
	a.Reasoning = t.either("Only the name is to change.", "只改名字。")
	a.Calls = []core.AnswerCall{call(core.ToolRenameDocument, map[string]any{"path": path, "newName": name})}
}

// say looks for something, reads the first document that has it, and quotes
// that.
func (t *turn) say(a *core.Answer, what, about string) {
	path := ""
	if strings.HasSuffix(strings.ToLower(what), ".md") {
		path = what
	} else {
		found, searched := t.called(core.ToolSearchWorkspace)
		if !searched {
			a.Reasoning = t.either("I look where “"+what+"” stands.", "先找一找“"+what+"”在哪里。")
			a.Calls = []core.AnswerCall{call(core.ToolSearchWorkspace, map[string]any{"query": what})}
			return
		}
		if found.failed {
			a.Text = t.whyNot(found)
			return
		}
		if path = firstPath(found); path == "" {
			a.Text = t.either("I found nothing about “"+what+"”.", "没有找到关于“"+what+"”的内容。")
			return
		}
	}
	text := t.document
	if path != t.path || text == "" {
		read, done := t.called(core.ToolReadDocument)
		if !done {
			a.Reasoning = t.either("I read "+path+".", "读一读 "+path+"。")
			a.Calls = []core.AnswerCall{call(core.ToolReadDocument, map[string]any{"path": path})}
			return
		}
		if read.failed {
			a.Text = t.whyNot(read)
			return
		}
		text = read.data()
	}
	quote := telling(text, about, what)
	if quote == "" {
		a.Text = t.either("“"+path+"” is empty.", "“"+path+"”是空的。")
		return
	}
	a.Text = t.either("In “"+path+"” it says:\n\n> ", "“"+path+"”里写着：\n\n> ") + quote
}

// telling is the line of a text that holds the first of the words there is,
// else its first line of prose.
func telling(text string, words ...string) string {
	first := ""
	front := strings.HasPrefix(text, "---\n")
	best := len(words)
	for i, l := range strings.Split(text, "\n") {
		if front {
			front = i == 0 || strings.TrimRight(l, " ") != "---"
			continue
		}
		line := strings.TrimSpace(l)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "```") {
			continue
		}
		if first == "" {
			first = line
		}
		for n, w := range words[:best] {
			if w != "" && strings.Contains(strings.ToLower(line), strings.ToLower(w)) {
				first, best = line, n
				break
			}
		}
	}
	if r := []rune(first); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return first
}
