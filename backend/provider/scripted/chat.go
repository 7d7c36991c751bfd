package scripted

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"galley/backend/agent/core"
)

// reply is the whole answer to a request.
func reply(req core.Request) core.Answer {
	a := core.Answer{Finish: core.FinishEndTurn}
	last, role := lastWords(req.Messages)
	task, isRewrite := parseTask(last)
	switch {
	case role == core.RoleTool:
		a.Text = afterTool(last, isChinese(earlierWords(req.Messages)))
	case role != core.RoleUser:
		a.Text = "OK."
	case isRewrite:
		a.Text = rewrite(task)
	default:
		if calls := toolCalls(last, req.Tools); len(calls) > 0 {
			a.Calls, a.Finish = calls, core.FinishToolCalls
		} else {
			a.Text = chat(last)
		}
	}
	a.Usage = usage(req, a.Text)
	return a
}

// lastWords returns the text of the last message and who said it.
func lastWords(msgs []core.Message) (string, core.Role) {
	if len(msgs) == 0 {
		return "", ""
	}
	m := msgs[len(msgs)-1]
	var parts []string
	for _, p := range m.Parts {
		if p.Type == core.PartText || p.Type == core.PartToolResult {
			parts = append(parts, p.Text)
		}
	}
	return strings.Join(parts, "\n"), m.Role
}

// earlierWords returns the last thing that the person said.
func earlierWords(msgs []core.Message) string {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == core.RoleUser {
			words, _ := lastWords(msgs[i : i+1])
			return words
		}
	}
	return ""
}

// toolCalls reads the lines "/tool name {json}". The JSON may go on over lines,
// up to the next such line, and may be left out.
func toolCalls(s string, tools []core.ToolSpec) []core.AnswerCall {
	var calls []core.AnswerCall
	for _, part := range strings.Split("\n"+strings.TrimSpace(s), "\n/tool ")[1:] {
		name, input := strings.TrimSpace(part), ""
		if i := strings.IndexFunc(name, func(r rune) bool { return unicode.IsSpace(r) || r == '{' }); i >= 0 {
			name, input = name[:i], strings.TrimSpace(name[i:])
		}
		n := strconv.Itoa(len(calls) + 1)
		c := core.AnswerCall{ID: "call_" + n, ProviderID: "mock_" + n, Name: toolName(name, tools)}
		switch {
		case input == "":
			c.Arguments = json.RawMessage("{}")
		case strings.HasPrefix(input, "{") && json.Valid([]byte(input)):
			c.Arguments = json.RawMessage(input)
		default:
			c.Raw, c.Invalid = input, true
		}
		calls = append(calls, c)
	}
	return calls
}

// toolName finds the tool that a typed name means. A dotted name,
// "workspace.search", means searchWorkspace, workspaceSearch or
// workspace_search, whichever is there; one that means none stays as it is, so
// that the policy refuses it by name.
func toolName(typed string, tools []core.ToolSpec) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer(".", "", "_", "", "-", "").Replace(s))
	}
	parts := strings.FieldsFunc(typed, func(r rune) bool { return r == '.' })
	turned := ""
	for _, p := range parts {
		turned = p + turned
	}
	for _, want := range []string{typed, plain(typed), plain(turned)} {
		for _, t := range tools {
			if t.Name == want || plain(t.Name) == want {
				return t.Name
			}
		}
	}
	return typed
}

// chat answers what is no task.
func chat(s string) string {
	s = strings.TrimSpace(s)
	quote := strings.Join(strings.Fields(s), " ")
	if r := []rune(quote); len(r) > 60 {
		quote = string(r[:60]) + "…"
	}
	switch {
	case s == "":
		return "OK."
	case isChinese(s):
		return fmt.Sprintf("你写的是：%s\n\n我是离线的 **mock**，不联网，也不需要密钥，只用来试用。可以这样试：\n\n"+
			"1. 选中一段文字，按改写快捷键。\n2. 输入 `/tool 名称 {json}`，看看工具调用。\n\n要得到真正的回答，请在设置中添加一个服务。", quote)
	default:
		return fmt.Sprintf("You wrote: %s\n\nI am **mock**, a provider that works offline and without a key, for trying things out. You can:\n\n"+
			"1. Select a passage and rewrite it.\n2. Type `/tool name {json}` to see a tool call.\n\nFor real answers, add a provider in the settings.", quote)
	}
}

// afterTool answers the result of a tool.
func afterTool(result string, chinese bool) string {
	size := len([]rune(result))
	if chinese {
		return fmt.Sprintf("工具已经返回结果，共 %d 个字符。", size)
	}
	return fmt.Sprintf("The tool answered with %d characters.", size)
}

// isChinese reports whether a text is more Chinese than not.
func isChinese(s string) bool {
	han, latin := 0, 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.Is(unicode.Latin, r):
			latin++
		}
	}
	// A Chinese character says about as much as four letters.
	return han > 0 && 4*han >= latin
}
