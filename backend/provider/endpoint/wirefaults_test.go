package endpoint

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
	"galley/backend/provider/streamtest"
)

type m = map[string]any

const words = "茶🦊 ready"

// The answers that the plays end with.
var (
	wholeText = m{"text": words, "finish": "end_turn", "usage": m{"input": 3, "output": 2}}
	hold      = m{"hold": true}
	idle      = m{"wait": "idle"}
	reset     = m{"close": "reset"}
)

// called expects calls, each with its id of the provider.
func called(ids ...string) m {
	calls := []any{}
	for i, id := range ids {
		calls = append(calls, m{"name": "readDocument", "arguments": m{"p": string(rune('a' + i))}, "providerId": id})
	}
	return m{"text": "", "finish": "tool_calls", "toolCalls": calls, "usage": m{"input": 3, "output": 2}}
}

func read(index, id, p string) call {
	return call{index: index, id: id, name: "readDocument", args: `{"p":"` + p + `"}`}
}

// wireFaults are the rows of section 3 of AGENT.md, in its order.
func wireFaults() []wireFault {
	return slices.Concat(framingFaults(), callFaults(), refusalFaults(), requestFaults(), timingFaults())
}

func framingFaults() []wireFault {
	return []wireFault{
		{1, "a comment as keep-alive", func(v voice) cell {
			return plays(row("", wholeText, ": PROCESSING\n\n", v.begin, ":\n\n", v.text(words), ": ping\n\n", v.finish, v.after))
		}},
		{2, "a keep-alive wrapped into data", func(v voice) cell {
			return plays(row("", wholeText, v.begin, "data: : PROCESSING\n\n", v.text(words), "data:\n\n", v.finish, v.after))
		}},
		{3, "no [DONE], the connection stays open", func(v voice) cell {
			return plays(row("", wholeText, v.begin, v.text(words), v.finish, hold))
		}},
		{4, "[DONE], and the socket is never closed", func(v voice) cell {
			return plays(play{"", func(t *testing.T, v voice) outcome {
				r := readRow(t, v, 200, nil, "", wholeText, []any{v.begin, v.text(words), v.finish, "data: [DONE]\n\n", hold})
				// With this grace only [DONE] ends it.
				return ask(t, v, r, func(cfg *dialect.Config) { cfg.Timers = provider.Timers{Grace: -1} })
			}})
		}},
		{5, "the last event without its blank line", func(v voice) cell {
			return plays(
				row("", wholeText, v.begin, v.text(words), strings.TrimRight(v.finish, "\n")+"\n"),
				row("nor its line end", wholeText, v.begin, v.text(words), strings.TrimRight(v.finish, "\n")),
			)
		}},
		{6, "the body ends without a finish", func(v voice) cell {
			cut := m{"fault": fault.StreamCut, "partialText": words}
			return plays(
				row("after text", cut, v.begin, v.text(words)),
				row("after a whole call, which does not run", cut, v.begin, v.text(words), v.call(read("1", "c1", "a"))),
			)
		}},
		{7, "usage in a chunk without an answer", func(v voice) cell {
			switch v.dialect {
			case provider.Chat:
				return plays(row("", wholeText, v.begin, v.text(words),
					event(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`),
					event(`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}`), v.after))
			case provider.Gemini:
				return plays(row("", wholeText, v.text(words),
					event(`{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]}`),
					event(`{"candidates":[],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2}}`)))
			case provider.Messages:
				return never("usage has events of its own, with no list of answers that could be empty")
			case provider.Responses:
			}
			return never("usage comes within the response that it counts, with no list of answers")
		}},
	}
}

func callFaults() []wireFault {
	const whole = "a call comes whole in one part, with no index"
	return []wireFault{
		{8, "a piece of a call without index", func(v voice) cell {
			if v.dialect == provider.Gemini {
				return never(whole)
			}
			return plays(row("", called("c1", "c2"), v.begin, v.call(read("", "c1", "a")), v.call(read("", "c2", "b")), v.finish, v.after))
		}},
		{9, "a new id under an old index", func(v voice) cell {
			if v.dialect == provider.Gemini {
				return never(whole)
			}
			return plays(row("", called("c1", "c2"), v.begin, v.call(read("0", "c1", "a")), v.call(read("0", "c2", "b")), v.finish, v.after))
		}},
		{10, "the first index is 1", func(v voice) cell {
			if v.dialect == provider.Gemini {
				return never(whole)
			}
			return plays(row("", called("c1"), v.begin, v.call(read("1", "c1", "a")), v.finish, v.after))
		}},
		{11, "a call without id", func(v voice) cell {
			return plays(row("", called("", ""), v.begin, v.call(read("0", "", "a")), v.call(read("1", "", "b")), v.finish, v.after))
		}},
		{12, "a call without arguments", func(v voice) cell {
			expect := called("c1")
			expect["toolCalls"] = []any{m{"name": "readDocument", "arguments": m{}, "providerId": "c1"}}
			return plays(row("", expect, v.begin, v.call(call{index: "0", id: "c1", name: "readDocument"}), v.finish, v.after))
		}},
	}
}

func refusalFaults() []wireFault {
	const page = "<!DOCTYPE html><html><body>Sign in to the network</body></html>"
	html := map[string]string{"content-type": "text/html"}
	return []wireFault{
		{13, "a failure within a 200", func(v voice) cell {
			return plays(
				row("after text", m{"fault": fault.Overloaded, "partialText": words}, v.begin, v.text(words), v.broke),
				row("at once", m{"fault": fault.Overloaded}, v.begin, v.broke),
			)
		}},
		{14, "code and type of a failure are kept", func(v voice) cell {
			status, body := v.fail(whyCoded)
			kept := m{"status": "400", "words": "Some words"}
			switch v.dialect {
			case provider.Chat, provider.Responses:
				kept["type"], kept["code"], kept["param"] = "invalid_request_error", "code_of_it", "messages"
			case provider.Messages:
				kept["type"] = "invalid_request_error"
			case provider.Gemini:
				kept["type"] = "INVALID_ARGUMENT"
			}
			return plays(refusal("", nil, fault.BadRequest, m{"provider": kept}, status, body))
		}},
		{15, "a web page of a proxy or a firewall", func(v voice) cell {
			return plays(
				refusal("200", html, fault.NotAnAPI, nil, 200, page),
				refusal("200, as a stream", map[string]string{"content-type": "text/event-stream"}, fault.NotAnAPI, nil, 200, page),
				refusal("403", html, fault.NotAnAPI, nil, 403, page),
				refusal("502", html, fault.ProviderError, nil, 502, page),
			)
		}},
		{16, "a pause is asked for", func(v voice) cell {
			status, body := v.fail(whyPause)
			header := map[string]string{}
			switch v.dialect {
			case provider.Chat:
				header["Retry-After"] = "30"
			case provider.Responses:
				header["Retry-After-Ms"] = "30000"
			case provider.Messages:
				header["Date"], header["Retry-After"] = "Thu, 02 Jan 2031 03:04:05 GMT", "Thu, 02 Jan 2031 03:04:35 GMT"
			case provider.Gemini: // in the body
			}
			return plays(refusal("", header, fault.RateLimited, m{"retryAfterMs": 30000}, status, body))
		}},
		{17, "a quota that is used up is not tried again", func(v voice) cell {
			status, body := v.fail(whyQuota)
			p := refusal("", map[string]string{"Retry-After": "30"}, fault.Quota, nil, status, body)
			return plays(play{"", func(t *testing.T, v voice) outcome {
				o := p.run(t, v)
				retried(t, o.err, false)
				return o
			}})
		}},
		{18, "the context overflows", func(v voice) cell {
			status, body := v.fail(whyContext)
			all := []play{
				refusal("refused", nil, fault.ContextTooLong, nil, status, body),
				refusal("413", nil, fault.ContextTooLong, nil, 413, "too big"),
			}
			if v.dialect == provider.Chat {
				all = append(all, play{"cut silently, by Ollama", func(t *testing.T, v voice) outcome {
					expect := m{"text": words, "finish": "end_turn", "usage": m{"input": 3, "output": 2}, "clipped": true}
					r := readRow(t, v, 200, nil, "ollama", expect, []any{v.begin, v.text(words), v.finish, v.after})
					r.Request.PromptTokensEstimate = 9000
					return ask(t, v, r, nil)
				}})
			}
			return plays(all...)
		}},
	}
}

func requestFaults() []wireFault {
	return []wireFault{
		{19, "thinking must go back, and elsewhere must not", func(v voice) cell {
			if v.dialect == provider.Gemini {
				return never("its thoughts do not go back; their signature does: fault 20")
			}
			return plays(play{"", goesBack})
		}},
		{20, "a thought signature is missing", func(v voice) cell {
			switch v.dialect {
			case provider.Responses:
				return never("its thinking goes back encrypted, in one piece: fault 19")
			case provider.Messages:
				return never("its signature goes back with the thinking: fault 19")
			case provider.Chat, provider.Gemini:
			}
			return plays(play{"", signatureGoesBack})
		}},
		{21, "empty content is refused", func(v voice) cell {
			status, body := v.fail(whyEmpty)
			all := []play{{"a turn of calls alone", nothingEmpty}, refusal("refused", nil, fault.BadRequest, nil, status, body)}
			if v.dialect == provider.Chat {
				all = append(all, play{"null refused, by a local server", emptyForLocal})
			}
			return plays(all...)
		}},
		{22, "the finish says other than what came", func(v voice) cell {
			after := v.after
			switch v.dialect {
			case provider.Chat:
				return plays(
					row("stop with a call", called("c1"), v.begin, v.call(read("0", "c1", "a")), v.finish, after),
					row("tool_calls with none", wholeText, v.begin, v.text(words), strings.Replace(v.finish, `"stop"`, `"tool_calls"`, 1), after),
				)
			case provider.Messages:
				return plays(
					row("end_turn with a call", called("c1"), v.begin, v.call(read("0", "c1", "a")), v.finish, after),
					row("tool_use with none", wholeText, v.begin, v.text(words), strings.Replace(v.finish, `"end_turn"`, `"tool_use"`, 1), after),
				)
			case provider.Responses, provider.Gemini:
			}
			return plays(row("an ordinary end with a call", called("c1"), v.begin, v.call(read("0", "c1", "a")), v.finish, after))
		}},
		{23, "the address with and without its tail", func(voice) cell {
			return plays(play{"all lead to one", oneAddress}, play{"a wrong path", wrongPath})
		}},
		{24, "a key with a character that no header takes", func(voice) cell {
			return plays(play{"", malformedKey})
		}},
		{25, "a character cut over pieces, half a pair in the request", func(v voice) cell {
			text := v.text(words)
			chunks := []any{v.begin}
			for i := range len(text) {
				chunks = append(chunks, m{"b64": base64.StdEncoding.EncodeToString([]byte{text[i]})})
			}
			return plays(row("byte by byte", wholeText, append(chunks, v.finish, v.after)...), play{"in the request", scrubbed})
		}},
	}
}

func timingFaults() []wireFault {
	return []wireFault{
		{26, "slow, or stalled", func(v voice) cell {
			all := []play{
				row("no token", m{"fault": fault.Timeout}, ": ping\n\n", v.begin, idle, v.text(words), v.finish, v.after),
				row("no more tokens", m{"fault": fault.Stalled, "partialText": words}, v.begin, v.text(words), idle, v.finish, v.after),
			}
			if v.dialect == provider.Chat {
				all = append(all, answering("no token yet, of a local server", 200, nil, "llamacpp", wholeText, idle, v.text(words), v.finish, v.after))
			}
			return plays(all...)
		}},
		{27, "a reset in the middle, and trying again doubles", func(v voice) cell {
			tried := func(p play) play {
				return play{p.what, func(t *testing.T, v voice) outcome {
					o := p.run(t, v)
					retried(t, o.err, true)
					return o
				}}
			}
			return plays(
				tried(row("after words, which are kept", m{"fault": fault.StreamCut, "partialText": words}, v.begin, v.text(words), reset)),
				tried(row("before any", m{"fault": fault.StreamCut}, v.begin, ": ping\n\n", reset)),
			)
		}},
		{28, "a call in the history without its result", func(v voice) cell {
			status, body := v.fail(whyPairs)
			return plays(play{"each call has its result", pairs}, refusal("refused", nil, fault.BadRequest, nil, status, body))
		}},
		{29, "a line of many MiB", func(v voice) cell {
			before, behind, _ := strings.Cut(v.text("@"), "@")
			long := func(n int) m { return m{"repeat": []any{"x", n}} }
			return plays(
				row("2 MiB", m{"text": m{"$repeat": []any{"x", 2 << 20}}, "finish": "end_turn", "usage": m{"input": 3, "output": 2}},
					v.begin, before, long(2<<20), behind, v.finish, v.after),
				row("over 16 MiB", m{"fault": fault.ProtocolError}, v.begin, before, long(17<<20), behind, v.finish, v.after),
			)
		}},
	}
}

// listener is a server on loopback that keeps what it is sent and answers with
// the next of its texts, the last one again and again.
type listener struct {
	url string

	mu     sync.Mutex // guards the rest
	paths  []string
	bodies [][]byte
}

func listen(t *testing.T, answers ...string) *listener {
	t.Helper()
	l := &listener{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.paths, l.bodies = append(l.paths, r.URL.Path), append(l.bodies, body)
		_, _ = io.WriteString(w, answers[min(len(l.bodies), len(answers))-1])
	}))
	t.Cleanup(s.Close)
	l.url = s.URL
	return l
}

// last is the request that came last.
func (l *listener) last(t *testing.T) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.bodies) == 0 {
		t.Fatal("nothing was sent")
	}
	return string(l.bodies[len(l.bodies)-1])
}

func (v voice) open(t *testing.T, base, profile string) Endpoint {
	t.Helper()
	e, err := New(v.kind, dialect.Config{BaseURL: base, Profile: profile, Key: streamtest.Key, Timers: provider.Timers{Grace: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func (v voice) whole() string { return v.begin + v.text(words) + v.finish + v.after }

func says(role core.Role, text string) core.Message {
	return core.Message{Role: role, Parts: []core.Part{{Type: core.PartText, Text: text}}}
}

func stream(t *testing.T, e Endpoint, req core.Request) core.Answer {
	t.Helper()
	a, err := e.Stream(t.Context(), req, func(core.Delta) {})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// turn is an answer as it stands in the history, with what belongs to it.
func turn(a core.Answer) core.Message {
	msg := core.Message{Role: core.RoleAssistant}
	if a.Text != "" {
		msg.Parts = append(msg.Parts, core.Part{Type: core.PartText, Text: a.Text})
	}
	for _, c := range a.Calls {
		msg.Parts = append(msg.Parts, core.Part{
			Type: core.PartToolCall, ToolCallID: core.ToolCallID(c.ID), ProviderCallID: c.ProviderID, Name: c.Name, Input: c.Arguments,
		})
	}
	if len(a.Envelopes) > 0 && len(msg.Parts) > 0 {
		msg.Parts[0].Envelope = &a.Envelopes[0]
	}
	return msg
}

func results(a core.Answer) core.Message {
	msg := core.Message{Role: core.RoleTool}
	for _, c := range a.Calls {
		msg.Parts = append(msg.Parts, core.Part{Type: core.PartToolResult, ToolCallID: core.ToolCallID(c.ID), ProviderCallID: c.ProviderID, Name: c.Name, Text: "the result"})
	}
	return msg
}

var readTool = core.ToolSpec{Name: "readDocument", Description: "reads", InputSchema: json.RawMessage(`{"type":"object","properties":{"p":{"type":"string"}}}`)}

// exchange asks, lets the model call a tool, and asks again with the result. It
// returns the last request.
func (v voice) exchange(t *testing.T, profile, first string) (string, core.Answer) {
	t.Helper()
	l := listen(t, first, v.whole())
	e := v.open(t, l.url, profile)
	req := core.Request{Model: "fern-2", Messages: []core.Message{says(core.RoleUser, "do")}, Tools: []core.ToolSpec{readTool}}
	a := stream(t, e, req)
	if len(a.Calls) != 1 {
		t.Fatalf("%d calls", len(a.Calls))
	}
	req.Messages = append(req.Messages, turn(a), results(a))
	return func() (string, core.Answer) {
		last := stream(t, e, req)
		return l.last(t), last
	}()
}

// goesBack: what was thought goes back to whom it came from, and to no other
// place.
func goesBack(t *testing.T, v voice) outcome {
	var thought, profile string
	var marks []string
	switch v.dialect {
	case provider.Chat:
		profile, marks = "deepseek", []string{`"reasoning_content":"because of this"`}
		thought = event(`{"choices":[{"index":0,"delta":{"reasoning_content":"because of this"}}]}`)
	case provider.Responses:
		marks = []string{"gAAAAenc+/=="}
		thought = named(`{"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"because of this"}],"encrypted_content":"gAAAAenc+/=="}}`)
	case provider.Messages:
		marks = []string{"because of this", "SIGNED+/=="}
		thought = named(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`) +
			named(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"because of this"}}`) +
			named(`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"SIGNED+/=="}}`) +
			named(`{"type":"content_block_stop","index":0}`)
	case provider.Gemini:
	}
	first := v.begin + thought + v.call(read("1", "c1", "a")) + v.finish + v.after
	body, answer := v.exchange(t, profile, first)
	for _, mark := range marks {
		if !strings.Contains(body, mark) {
			t.Errorf("%s does not go back: %s", mark, body)
		}
	}
	// Elsewhere it does not: another place, and here another profile.
	a := stream(t, v.open(t, listen(t, first).url, profile), core.Request{Model: "fern-2", Messages: []core.Message{says(core.RoleUser, "do")}, Tools: []core.ToolSpec{readTool}})
	elsewhere := listen(t, v.whole())
	stream(t, v.open(t, elsewhere.url, profile), core.Request{Model: "fern-2", Messages: []core.Message{says(core.RoleUser, "do"), turn(a), results(a)}, Tools: []core.ToolSpec{readTool}})
	bodies := []string{elsewhere.last(t)}
	if v.dialect == provider.Chat {
		other, _ := v.exchange(t, "compatible", first)
		bodies = append(bodies, other)
	}
	for _, body := range bodies {
		for _, mark := range marks {
			if strings.Contains(body, mark) {
				t.Errorf("%s goes elsewhere: %s", mark, body)
			}
		}
	}
	return outcome{answer: inWords(answer)}
}

// signatureGoesBack: the signature of a thought goes back beside its call, byte
// by byte.
func signatureGoesBack(t *testing.T, v voice) outcome {
	const mark = "//4AgQc="
	first := v.begin
	if v.dialect == provider.Chat {
		first += event(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"readDocument","arguments":"{}"},"extra_content":{"google":{"thought_signature":"` + mark + `"}}}]}}]}`)
	} else {
		first += event(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"readDocument","args":{}},"thoughtSignature":"` + mark + `"}],"role":"model"}}]}`)
	}
	body, answer := v.exchange(t, "", first+v.finish+v.after)
	if !strings.Contains(body, mark) {
		t.Errorf("the signature does not go back: %s", body)
	}
	return outcome{answer: inWords(answer)}
}

// nothingEmpty: a turn of calls alone has no text that is empty; in chat it is
// null.
func nothingEmpty(t *testing.T, v voice) outcome {
	body, answer := v.exchange(t, "", v.begin+v.call(read("0", "c1", "a"))+v.finish+v.after)
	for _, empty := range []string{`"text":""`, `"content":""`, `"parts":[]`, `"content":[]`} {
		if strings.Contains(body, empty) {
			t.Errorf("%s is in %s", empty, body)
		}
	}
	if v.dialect == provider.Chat && !strings.Contains(body, `"content":null`) {
		t.Errorf("the content is not null in %s", body)
	}
	return outcome{answer: inWords(answer)}
}

func emptyForLocal(t *testing.T, v voice) outcome {
	body, answer := v.exchange(t, "ollama", v.begin+v.call(read("0", "c1", "a"))+v.finish+v.after)
	if strings.Contains(body, `"content":null`) || !strings.Contains(body, `"content":""`) {
		t.Errorf("null is in %s", body)
	}
	return outcome{answer: inWords(answer)}
}

// pairs: a call and its result name each other, also one whose end is unknown.
func pairs(t *testing.T, v voice) outcome {
	l := listen(t, v.whole())
	call := func(id core.ToolCallID, providerID string) core.Part {
		return core.Part{Type: core.PartToolCall, ToolCallID: id, ProviderCallID: providerID, Name: "readDocument", Input: json.RawMessage(`{"p":"a"}`)}
	}
	result := func(id core.ToolCallID, providerID, text string) core.Part {
		return core.Part{Type: core.PartToolResult, ToolCallID: id, ProviderCallID: providerID, Name: "readDocument", Text: text}
	}
	answer := stream(t, v.open(t, l.url, ""), core.Request{
		Model: "fern-2", Tools: []core.ToolSpec{readTool},
		Messages: []core.Message{
			says(core.RoleUser, "do"),
			{Role: core.RoleAssistant, Parts: []core.Part{call("t1", "pair_one"), call("t2", "pair_two")}},
			{Role: core.RoleTool, Parts: []core.Part{result("t1", "pair_one", "done"), result("t2", "pair_two", "the outcome is unknown")}},
			says(core.RoleUser, "go on"),
		},
	})
	body := l.last(t)
	want := map[string]int{"pair_one": 2, "pair_two": 2}
	if v.dialect == provider.Gemini && !strings.Contains(body, "pair_one") {
		want = map[string]int{`"functionCall"`: 2, `"functionResponse"`: 2} // paired by their order
	}
	for mark, n := range want {
		if got := strings.Count(body, mark); got != n {
			t.Errorf("%s stands %d times in %s", mark, got, body)
		}
	}
	return outcome{answer: inWords(answer)}
}

// oneAddress: however the person writes an address, requests go to one.
func oneAddress(t *testing.T, v voice) outcome {
	l := listen(t, v.whole())
	root := map[string]string{KindGemini: "/v1beta"}[v.kind]
	if root == "" {
		root = "/v1"
	}
	var answer core.Answer
	whole, err := URL(v.kind, l.url, "fern-2")
	if err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{l.url, l.url + "/", l.url + root, l.url + root + "/", l.url + root + "//", l.url + root + "/models", whole} {
		e := v.open(t, base, "")
		answer = stream(t, e, core.Request{Model: "fern-2", Messages: []core.Message{says(core.RoleUser, "do")}})
		if e.URL("fern-2") != whole {
			t.Errorf("%s leads to %s, want %s", base, e.URL("fern-2"), whole)
		}
	}
	for _, path := range l.paths {
		if !strings.HasSuffix(strings.SplitN(whole, "?", 2)[0], path) {
			t.Errorf("a request went to %s, want %s", path, whole)
		}
	}
	return outcome{answer: inWords(answer)}
}

// wrongPath: an address where nothing is says that it is none.
func wrongPath(t *testing.T, v voice) outcome {
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	_, err := v.open(t, s.URL+"/elsewhere", "").Stream(t.Context(), core.Request{Model: "fern-2", Messages: []core.Message{says(core.RoleUser, "do")}}, func(core.Delta) {})
	if fault.CodeOf(err) != fault.NotAnAPI {
		t.Errorf("got %v", err)
	}
	return outcome{err: err}
}

// malformedKey: such a key is not sent, and the character is named.
func malformedKey(t *testing.T, v voice) outcome {
	l := listen(t, v.whole())
	e, err := New(v.kind, dialect.Config{BaseURL: l.url, Key: func(context.Context) (string, error) { return "sk-TESTKEY\u00a0more", nil }})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Stream(t.Context(), core.Request{Model: "fern-2"}, func(core.Delta) {})
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != fault.KeyMalformed || !strings.Contains(f.Detail, "U+00A0") || strings.Contains(err.Error(), "TESTKEY") {
		t.Errorf("got %v", err)
	}
	if len(l.bodies) != 0 {
		t.Error("something was sent")
	}
	return outcome{err: err}
}

// scrubbed: half a surrogate pair, which a page can hold, does not make the
// request invalid.
func scrubbed(t *testing.T, v voice) outcome {
	l := listen(t, v.whole())
	const half = "a\xed\xa0\xbdb"
	answer := stream(t, v.open(t, l.url, ""), core.Request{
		Model: "fern-2", System: half, Tools: []core.ToolSpec{readTool},
		Messages: []core.Message{
			says(core.RoleUser, half),
			{Role: core.RoleAssistant, Parts: []core.Part{{Type: core.PartText, Text: half}, {Type: core.PartToolCall, ToolCallID: "t1", ProviderCallID: "c1", Name: "readDocument", Input: json.RawMessage(`{"p":"\ud83d"}`)}}},
			{Role: core.RoleTool, Parts: []core.Part{{Type: core.PartToolResult, ToolCallID: "t1", ProviderCallID: "c1", Name: "readDocument", Text: half}}},
		},
	})
	body := []byte(l.last(t))
	if !utf8.Valid(body) || !json.Valid(body) || bytes.Contains(body, []byte(`\ud83d`)) || !bytes.ContainsAny(body, "\uFFFD") {
		t.Errorf("sent %q", body)
	}
	return outcome{answer: inWords(answer)}
}
