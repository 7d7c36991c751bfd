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
	t := readTurn(req)
	task, isRewrite := parseTask(t.ask)
	switch {
	case t.role != core.RoleUser && t.role != core.RoleTool:
		a.Text = "OK."
	case t.role == core.RoleUser && t.parts == 1 && isRewrite:
		a.Text = rewrite(task)
	default:
		t.answer(&a)
	}
	if len(a.Calls) > 0 {
		a.Finish = core.FinishToolCalls
	}
	a.Usage = usage(req, a)
	return a
}

// blocks are the steps that a message asks for: what stands between the lines
// "/then". A message without such a line is one block.
func blocks(s string) []string {
	var all []string
	var b strings.Builder
	for l := range strings.Lines(s) {
		if strings.TrimSpace(l) == "/then" {
			all = append(all, b.String())
			b.Reset()
			continue
		}
		b.WriteString(l)
	}
	return append(all, b.String())
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

// chat answers what is no task; withTools says that there is more to try.
func chat(s string, withTools bool) string {
	s = strings.TrimSpace(s)
	quote := strings.Join(strings.Fields(s), " ")
	if r := []rune(quote); len(r) > 60 {
		quote = string(r[:60]) + "…"
	}
	switch {
	case s == "":
		return "OK."
	case isChinese(s):
		more := ""
		if withTools {
			more = "3. 写：把“雾”改成“雨”。\n4. 写：新建一篇关于茶的笔记。\n5. 写：“渡船”里写了什么？\n"
		}
		return fmt.Sprintf("你写的是：%s\n\n我是离线的 **mock**，不联网，也不需要密钥，只用来试用。可以这样试：\n\n"+
			"1. 选中一段文字，按改写快捷键。\n2. 输入 `/tool 名称 {json}`，看看工具调用。\n%s\n要得到真正的回答，请在设置中添加一个服务。", quote, more)
	default:
		more := ""
		if withTools {
			more = "3. Write: Replace “mist” with “rain”.\n4. Write: Create a note about tea.\n5. Write: What does “ferry” say?\n"
		}
		return fmt.Sprintf("You wrote: %s\n\nI am **mock**, a provider that works offline and without a key, for trying things out. You can:\n\n"+
			"1. Select a passage and rewrite it.\n2. Type `/tool name {json}` to see a tool call.\n%s\nFor real answers, add a provider in the settings.", quote, more)
	}
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
