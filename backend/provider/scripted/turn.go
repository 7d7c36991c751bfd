package scripted

import (
	"regexp"
	"strconv"
	"strings"

	"galley/backend/agent/core"
)

// turn is what the mock has to answer: the person's last words and what was
// done about them since.
type turn struct {
	ask     string
	role    core.Role // whose turn it was last
	parts   int       // of the person's message
	chinese bool
	tools   []core.ToolSpec
	// document is the text that was given along, path its name.
	document, path string
	// continued is what the program says of a run that this one continues.
	continued string
	done      []done
	// steps is how often tools have answered, last the answer as it came.
	steps int
	last  string
}

// done is a call that was made, with what came of it.
type done struct {
	name   string
	result string
	failed bool
}

// given is how the loop gives a document: between tags with a mark that no text
// contains.
var given = regexp.MustCompile(`(?m)^<document-([0-9a-f]{16})( [^\n]*)>$`)

var pathOf = regexp.MustCompile(` path=("(?:[^"\\]|\\.)*")`)

// readTurn reads a request.
func readTurn(req core.Request) turn {
	t := turn{tools: req.Tools}
	if n := len(req.Messages); n > 0 {
		t.role = req.Messages[n-1].Role
	}
	from := len(req.Messages) - 1
	for from >= 0 && req.Messages[from].Role != core.RoleUser {
		from--
	}
	if from < 0 {
		return t
	}
	for _, p := range req.Messages[from].Parts {
		if p.Type != core.PartText {
			continue
		}
		t.parts++
		t.ask = p.Text
		switch {
		case strings.HasPrefix(p.Text, "[This continues a run"):
			t.continued = p.Text
		case t.document == "":
			t.readDocument(p.Text)
		}
	}
	t.chinese = isChinese(t.ask)
	for _, m := range req.Messages[from+1:] {
		if m.Role != core.RoleTool {
			continue
		}
		t.steps++
		var words []string
		for _, p := range m.Parts {
			if p.Type == core.PartToolResult {
				t.done = append(t.done, done{name: p.Name, result: p.Text, failed: p.IsError})
				words = append(words, p.Text)
			}
		}
		t.last = strings.Join(words, "\n")
	}
	return t
}

func (t *turn) readDocument(s string) {
	m := given.FindStringSubmatchIndex(s)
	if m == nil {
		return
	}
	body, _, found := strings.Cut(s[m[1]+1:], "</document-"+s[m[2]:m[3]]+">")
	if !found {
		return
	}
	t.document = body
	if p := pathOf.FindStringSubmatch(s[m[4]:m[5]]); p != nil {
		t.path, _ = strconv.Unquote(p[1])
	}
}

// answer goes on with a turn: by the calls that the person typed, else by what
// they wish for, else in words.
func (t *turn) answer(a *core.Answer) {
	steps := blocks(t.ask)
	typed := false
	for _, s := range steps {
		typed = typed || len(toolCalls(s, t.tools)) > 0
	}
	switch {
	case typed && t.steps < len(steps):
		block := steps[t.steps]
		if a.Calls = toolCalls(block, t.tools); len(a.Calls) == 0 {
			a.Text = strings.TrimSpace(block)
		}
	case len(t.tools) > 0 && !typed && t.wish(a):
	case t.role == core.RoleTool:
		a.Text = afterTool(t.last, t.chinese)
	case t.continued != "":
		a.Text = t.goOn()
	default:
		a.Text = chat(t.ask, len(t.tools) > 0)
	}
	for i := range a.Calls {
		n := strconv.Itoa(t.steps+1) + "_" + strconv.Itoa(i+1)
		a.Calls[i].ID, a.Calls[i].ProviderID = "call_"+n, "mock_"+n
	}
}

// goOn answers a run that continues another.
func (t *turn) goOn() string {
	unknown := strings.Count(t.continued, "outcome unknown")
	switch {
	case t.chinese && unknown > 0:
		return "我从中断的地方继续。有 " + strconv.Itoa(unknown) + " 个操作的结果不明，我不会重复它；请先看一看，再告诉我。"
	case t.chinese:
		return "我从中断的地方继续。已经完成的事，我不会再做一遍。"
	case unknown > 0:
		return "I go on from there. The outcome of " + strconv.Itoa(unknown) + " call(s) is not known, and I do not repeat that; please look, and tell me."
	}
	return "I go on from there. What was done already I do not do again."
}

// has reports whether a tool is offered.
func (t *turn) has(name string) bool {
	for _, s := range t.tools {
		if s.Name == name {
			return true
		}
	}
	return false
}

// called returns the first call of a tool in this turn.
func (t *turn) called(name string) (done, bool) {
	for _, d := range t.done {
		if d.name == name {
			return d, true
		}
	}
	return done{}, false
}

// data is what stands between the marks of a result, else all of it.
func (d done) data() string {
	_, s, found := strings.Cut("\n"+d.result, "\n<data ")
	if !found {
		return d.result
	}
	_, s, _ = strings.Cut(s, ">\n")
	if i := strings.LastIndex(s, "</data "); i >= 0 {
		s = s[:i]
	}
	return s
}

// afterTool answers the result of a tool.
func afterTool(result string, chinese bool) string {
	size := strconv.Itoa(len([]rune(result)))
	if chinese {
		return "工具已经返回结果，共 " + size + " 个字符。"
	}
	return "The tool answered with " + size + " characters."
}
