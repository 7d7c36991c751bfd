package anthropic

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
	"galley/backend/provider/streamtest"
)

const rowsFile = "../../agent/core/testdata/patch/streams.json"

// TestStreams plays every row of this dialect, cut in every way.
//
// covers: K1 K2 K6
// CASES: C3 C4 C6 C7 C8
func TestStreams(t *testing.T) {
	t.Parallel()
	streamtest.Suite(t, rowsFile, provider.Messages, 79, New)
}

// play plays a row in one piece and byte by byte.
func play(t *testing.T, r streamtest.Row) {
	t.Helper()
	for _, limit := range []int{1 << 20, 1} {
		streamtest.PlayAt(t, r, limit, New)
	}
}

// events writes events of the dialect, each with its name.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		var e struct {
			Type string `json:"type"`
		}
		if json.Unmarshal([]byte(d), &e) == nil && e.Type != "" {
			b.WriteString("event: " + e.Type + "\n")
		}
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

const (
	textStart  = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	textDelta  = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"whole"}}`
	endOfTurn  = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`
	endOfAll   = `{"type":"message_stop"}`
	callStart  = `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{}}}`
	callDelta  = `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"p\":1}"}}`
	messageHas = `{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}`
)

// one is a call that a row expects.
func one(t *testing.T, r *streamtest.Row, calls string) {
	t.Helper()
	if err := json.Unmarshal([]byte(calls), &r.Expect.Calls); err != nil {
		t.Fatal(err)
	}
	r.Expect.Finish = core.FinishToolCalls
}

// TestStreams_Neighbours holds what the rows stand for at other places and in
// other words: how blocks, deltas and events that are not as they should be come
// together.
//
// CASES: C6 C7 C8
// covers: K2 K6
func TestStreams_Neighbours(t *testing.T) {
	t.Parallel()
	type want struct {
		text, reasoning string
		calls           string
		finish          core.Finish
		keep            []string
		usage           *core.Usage
	}
	tests := map[string]struct {
		body string
		want want
	}{
		"deltas without a start": {events(textDelta, endOfTurn), want{text: "whole", usage: &core.Usage{Output: 1}}},
		"deltas without an index": {events(
			`{"type":"content_block_start","content_block":{"type":"text","text":"a"}}`,
			`{"type":"content_block_delta","delta":{"type":"text_delta","text":"b"}}`,
			`{"type":"content_block_start","content_block":{"type":"tool_use","id":"t1","name":"f"}}`,
			`{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{\"p\":"}}`,
			`{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"1}"}}`,
			endOfAll,
		), want{text: "ab", calls: `[{"name":"f","providerId":"t1","arguments":{"p":1}}]`}},
		"an index that nobody opened": {
			events(callStart, strings.Replace(callDelta, `"index":1`, `"index":7`, 1), endOfAll),
			want{calls: `[{"name":"f","providerId":"t1","arguments":{"p":1}}]`},
		},
		"deltas without a type": {events(
			`{"type":"content_block_delta","index":0,"delta":{"thinking":"hm"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"signature":"S=="}}`,
			`{"type":"content_block_delta","index":1,"delta":{"text":"hi"}}`,
			endOfAll,
		), want{text: "hi", reasoning: "hm", keep: []string{"S=="}}},
		"two blocks take turns": {events(
			textStart, callStart,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"p\""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":1}"}}`,
			endOfAll,
		), want{text: "ab", calls: `[{"name":"f","providerId":"t1","arguments":{"p":1}}]`}},
		"text under the index of a call": {events(
			callStart,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"a"}}`,
			callDelta,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"b"}}`,
			endOfAll,
		), want{text: "ab", calls: `[{"name":"f","providerId":"t1","arguments":{"p":1}}]`}},
		"index as a string": {
			events(strings.Replace(callStart, `"index":1`, `"index":"1"`, 1), callDelta, endOfAll),
			want{calls: `[{"name":"f","providerId":"t1","arguments":{"p":1}}]`},
		},
		"arguments of other kinds": {events(
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{"p":1}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":""}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"f","input":null}}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"c","name":"f","input":"{\"p\":2}"}}`,
			`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"d","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":{"p":3}}}`,
			`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"e","name":"f","input":{"p":4}}}`,
			`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"p\":5}"}}`,
			`{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"g","name":"f"}}`,
			`{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"[1]"}}`,
			`{"type":"content_block_start","index":6,"content_block":{"type":"tool_use","id":"","name":""}}`,
			`{"type":"content_block_start","index":7,"content_block":{"type":"tool_use","id":"h","name":"f"}}`,
			`{"type":"content_block_delta","index":7,"delta":{"type":"input_json_delta","partial_json":"{\"s\":\"\\ud83d\"}"}}`,
			endOfAll,
		), want{calls: `[{"name":"f","providerId":"a","arguments":{"p":1}},{"name":"f","providerId":"b","arguments":{}},{"name":"f","providerId":"c","arguments":{"p":2}},` +
			`{"name":"f","providerId":"d","arguments":{"p":3}},{"name":"f","providerId":"e","arguments":{"p":5}},{"name":"f","providerId":"g","raw":"[1]","invalid":true},` +
			`{"name":"f","providerId":"h","arguments":{"s":"\ufffd"}}]`}},
		"the reason alone": {events(textStart, textDelta, endOfTurn), want{text: "whole", usage: &core.Usage{Output: 1}}},
		"the stop alone":   {events(textStart, textDelta, endOfAll), want{text: "whole"}},
		"done alone":       {events(textStart, textDelta) + "data: [DONE]\n\n", want{text: "whole"}},
		"the stop before its reason": {
			events(callStart, callDelta, endOfAll, `{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":9}}`),
			want{finish: core.FinishMaxTokens, usage: &core.Usage{Output: 9}},
		},
		"tool_use without a call":     {events(textDelta, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`), want{text: "whole"}},
		"pause_turn":                  {events(textDelta, `{"type":"message_delta","delta":{"stop_reason":"pause_turn"}}`), want{text: "whole"}},
		"an unknown reason":           {events(callStart, callDelta, `{"type":"message_delta","delta":{"stop_reason":"because"}}`), want{calls: `[{"name":"f","providerId":"t1","arguments":{"p":1}}]`}},
		"context window exceeded":     {events(textDelta, callStart, callDelta, `{"type":"message_delta","delta":{"stop_reason":"model_context_window_exceeded"}}`), want{text: "whole", finish: core.FinishMaxTokens}},
		"the reason of a gateway":     {events(textDelta, `{"type":"message_delta","delta":{"stop_reason":"length"}}`), want{text: "whole", finish: core.FinishMaxTokens}},
		"filtered":                    {events(textDelta, callStart, callDelta, `{"type":"message_delta","delta":{"stop_reason":"content_filter"}}`), want{text: "whole", finish: core.FinishContentFilter}},
		"refusal without a token":     {events(messageHas, `{"type":"message_delta","delta":{"stop_reason":"refusal"}}`), want{finish: core.FinishRefusal, usage: &core.Usage{Input: 3, Output: 1}}},
		"more after the end":          {events(textDelta, endOfTurn, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" ghost"}}`, callStart, endOfAll), want{text: "whole", usage: &core.Usage{Output: 1}}},
		"another end":                 {events(textDelta, endOfTurn, `{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":2}}`), want{text: "whole", usage: &core.Usage{Output: 2}}},
		"an error after the end":      {events(textDelta, endOfTurn, `{"type":"error","error":{"type":"api_error","message":"late"}}`), want{text: "whole", usage: &core.Usage{Output: 1}}},
		"bad JSON after the end":      {events(textDelta, endOfTurn, `{"oops":`, `{"type":"message_delta","usage":{"output_tokens":5}}`), want{text: "whole", usage: &core.Usage{Output: 5}}},
		"a cut after the end":         {events(textDelta, endOfTurn) + "data: {\"type\":\"mess", want{text: "whole", usage: &core.Usage{Output: 1}}},
		"the last event is not ended": {strings.TrimSpace(events(textDelta, endOfTurn)), want{text: "whole", usage: &core.Usage{Output: 1}}},
		"a late start changes no count": {
			events(messageHas, textDelta, `{"type":"message_delta","delta":{},"usage":{"output_tokens":8}}`, messageHas, endOfAll),
			want{text: "whole", usage: &core.Usage{Input: 3, Output: 8}},
		},
		"the type decides, not the name":  {"event: error\ndata: {\"type\":\"ping\"}\n\n" + "event: ping\ndata: " + textDelta + "\n\n" + events(endOfAll), want{text: "whole"}},
		"the name where there is no type": {"event: content_block_delta\ndata: {\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"whole\"}}\n\nevent: message_stop\ndata: {}\n\n", want{text: "whole"}},
		"no error":                        {events(`{"type":"ping","error":null}`, `{"type":"content_block_delta","index":0,"error":{},"delta":{"type":"text_delta","text":"whole"}}`, endOfAll), want{text: "whole"}},
		"what is not known": {events(
			`{"type":"message_note","text":"not text","content":[{"type":"text","text":"not text"}]}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"not text"}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","content":[{"type":"text","text":"not text"}]}}`,
			`{"type":"content_block_start","index":2,"content_block":null}`,
			`{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"whole","citations":[{"cited_text":"no"}]}}`,
			`[1,2]`, `"text"`, `3`, `null`,
			endOfAll,
		), want{text: "whole"}},
		"nulls": {events(
			`{"type":"message_start","message":null}`,
			`{"type":"content_block_start","index":null,"content_block":{"type":"text","text":null}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":null}}`,
			`{"type":"content_block_delta","index":0,"delta":null}`,
			textDelta,
			`{"type":"message_delta","delta":{"stop_reason":null},"usage":null}`,
			`{"type":"message_delta","delta":null,"usage":{"output_tokens":null,"input_tokens":2}}`,
			endOfAll,
		), want{text: "whole", usage: &core.Usage{Input: 2}}},
		"thinking without its text": {events(
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Sig"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Two=="}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"whole"}}`,
			endOfAll,
		), want{text: "whole", keep: []string{`"signature":"SigTwo=="`}}},
		"thinking that stays empty": {events(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`, textDelta, endOfAll), want{text: "whole"}},
		"what a gateway adds to a call": {events(
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{},"extra_content":{"google":{"thought_signature":"//4AgQ=="}}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"p\":1}"}}`,
			endOfAll,
		), want{calls: `[{"name":"f","providerId":"t1","arguments":{"p":1}}]`, keep: []string{"//4AgQ=="}}},
		"tags are text": {events(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"<think>a</think>b"}}`, endOfAll), want{text: "<think>a</think>b"}},
		"reasoning counted": {
			events(textDelta, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":4,"cache_read_input_tokens":6,"output_tokens":9,"output_tokens_details":{"thinking_tokens":5}}}`),
			want{text: "whole", usage: &core.Usage{Input: 10, Cached: 6, Output: 9, Reasoning: 5}},
		},
		"half a pair": {events(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83db"}}`, endOfAll), want{text: "a\uFFFDb"}},

		"whole": {
			`{"id":"m","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"S=="},{"type":"text","text":"who"},{"type":"text","text":"le"},` +
				`{"type":"tool_use","id":"t1","name":"f","input":{"p":1}},{"type":"later","text":"not text"}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}`,
			want{text: "whole", reasoning: "hm", calls: `[{"name":"f","providerId":"t1","arguments":{"p":1}}]`, keep: []string{"S=="}, usage: &core.Usage{Input: 3, Output: 4}},
		},
		"whole without a type":  {"\n " + `{"content":[{"type":"text","text":"whole"}],"stop_reason":null,"error":null}`, want{text: "whole"}},
		"whole, its text bare":  {`{"type":"message","role":"assistant","content":"whole"}`, want{text: "whole"}},
		"whole, nothing in it":  {`{"type":"message","role":"assistant","content":[],"stop_reason":"refusal"}`, want{finish: core.FinishRefusal}},
		"whole, cut by a limit": {`{"type":"message","content":[{"type":"text","text":"whole"},{"type":"tool_use","id":"t1","name":"f","input":{"p":1}}],"stop_reason":"max_tokens"}`, want{text: "whole", finish: core.FinishMaxTokens}},
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		tt := tests[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := streamtest.Said(tt.body)
			r.Expect.Finish = core.FinishEndTurn
			if tt.want.calls != "" {
				one(t, &r, tt.want.calls)
			}
			if tt.want.finish != "" {
				r.Expect.Finish = tt.want.finish
			}
			r.Expect.Keep, r.Expect.Usage = tt.want.keep, tt.want.usage
			if err := json.Unmarshal(quote(t, tt.want.text), &r.Expect.Text); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(quote(t, tt.want.reasoning), &r.Expect.Reasoning); err != nil {
				t.Fatal(err)
			}
			play(t, r)
		})
	}
}

func quote(t *testing.T, s string) []byte {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestStreams_Faults holds the shapes and places of errors in a stream.
//
// CASES: C6 C7
// covers: K6
func TestStreams_Faults(t *testing.T) {
	t.Parallel()
	begun := events(textDelta, callStart, callDelta)
	tests := map[string]struct {
		body string
		want fault.Code
	}{
		"an error event":              {begun + events(`{"type":"error","error":{"type":"overloaded_error","message":"Busy"}}`), fault.Overloaded},
		"in llama.cpp's field":        {begun + "error: {\"code\":400,\"message\":\"the request exceeds the available context size\",\"type\":\"exceed_context_size_error\"}\n\n", fault.ContextTooLong},
		"by its name alone":           {begun + "event: error\ndata: {\"message\":\"Lost\"}\n\n", fault.ProviderError},
		"by its name, nothing said":   {begun + "event: error\ndata: {}\n\n", fault.ProviderError},
		"by its name, in plain words": {begun + "event: error\ndata: upstream gone\n\n", fault.ProviderError},
		"flat":                        {begun + events(`{"type":"overloaded_error","message":"Busy"}`), fault.Overloaded},
		"flat, its type error":        {begun + events(`{"type":"error","code":429,"message":"slow"}`), fault.RateLimited},
		"nothing but its type":        {begun + events(`{"type":"error"}`), fault.ProviderError},
		"a string":                    {begun + events(`{"type":"error","error":"prompt is too long: 9 tokens > 8 maximum"}`), fault.ContextTooLong},
		"without a type":              {begun + events(`{"error":{"message":"model heron-9 does not exist","code":404}}`), fault.ModelNotFound},
		"beside an event":             {begun + events(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"error":{"type":"rate_limit_error"}}`), fault.RateLimited},
		"in a list":                   {begun + events(`[{"error":{"type":"authentication_error"}}]`), fault.BadKey},
		"as a reason":                 {begun + events(`{"type":"message_delta","delta":{"stop_reason":"error"}}`), fault.ProviderError},
		"as a reason of resources":    {begun + events(`{"type":"message_delta","delta":{"stop_reason":"insufficient_system_resource"}}`), fault.Overloaded},
		"bad JSON":                    {begun + "data: {\"type\":\"content\n\n" + events(endOfAll), fault.ProtocolError},
		"words":                       {begun + "data: hello\n\n" + events(endOfAll), fault.ProtocolError},
		"cut between events":          {begun, fault.StreamCut},
		"cut within an event":         {begun + "data: {\"type\":\"message_st", fault.StreamCut},
		"cut after a null reason":     {begun + events(`{"type":"message_delta","delta":{"stop_reason":null}}`), fault.StreamCut},
		"cut after the last block":    {begun + events(`{"type":"content_block_stop","index":1}`), fault.StreamCut},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := streamtest.Said(tt.body)
			r.Expect.Fault, r.Expect.Partial = tt.want, "whole"
			play(t, r)
		})
	}
	for name, tt := range map[string]struct {
		body string
		want fault.Code
	}{
		"whole, flat":            {`{"type":"invalid_request_error","message":"no"}`, fault.BadRequest},
		"whole, coded":           {`{"message":"no","code":529}`, fault.Overloaded},
		"whole, a list":          {`[{"type":"error","error":{"type":"permission_error"}}]`, fault.NoPermission},
		"whole, as a reason":     {`{"type":"message","content":[{"type":"tool_use","id":"t","name":"f","input":{}}],"stop_reason":"error"}`, fault.ProviderError},
		"whole, of the chat":     {`{"object":"chat.completion","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`, fault.NotAnAPI},
		"whole, a single event":  {endOfTurn, fault.NotAnAPI},
		"whole, a list of words": {`["a"]`, fault.NotAnAPI},
		"nothing":                {"", fault.StreamCut},
		"pings":                  {events(`{"type":"ping"}`), fault.StreamCut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := streamtest.Said(tt.body)
			r.Expect.Fault = tt.want
			play(t, r)
		})
	}
}

// TestStreams_Clipped: a local server that has read far less than was sent has
// cut the prompt; the vendor is believed.
func TestStreams_Clipped(t *testing.T) {
	t.Parallel()
	for profile, clipped := range map[string]bool{"": false, "compatible": false, "ollama": true, "llamacpp": true} {
		r := streamtest.Said(events(messageHas, textDelta, endOfTurn))
		r.Profile, r.Request.PromptTokensEstimate = profile, 100
		r.Expect.Text, r.Expect.Finish, r.Expect.Clipped = "whole", core.FinishEndTurn, clipped
		r.Expect.Usage = &core.Usage{Input: 3, Output: 1}
		play(t, r)
	}
}
