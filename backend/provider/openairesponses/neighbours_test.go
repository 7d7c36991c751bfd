package openairesponses

import (
	"encoding/json"
	"strings"
	"testing"

	"galley/backend/provider/streamtest"
)

// body writes events, each a JSON object that its type names too; what is no
// object stands as it is.
func body(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		if !strings.HasPrefix(e, "{") {
			b.WriteString(e + "\n\n")
			continue
		}
		var head struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal([]byte(e), &head)
		e = strings.Join(strings.Fields(e), " ")
		b.WriteString("event: " + head.Type + "\ndata: " + e + "\n\n")
	}
	return b.String()
}

// row is a row of the form of streams.json: what comes in one piece, and what is
// expected as JSON.
func row(t *testing.T, profile, body, expect string) streamtest.Row {
	t.Helper()
	r := streamtest.Said(body)
	r.Profile = profile
	if err := json.Unmarshal([]byte(expect), &r.Expect); err != nil {
		t.Fatalf("%s: %v", expect, err)
	}
	return r
}

func play(t *testing.T, r streamtest.Row) {
	t.Helper()
	streamtest.PlayAt(t, r, 1<<20, New)
}

// Events that many of the neighbours share.
const (
	created   = `{"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress","error":null,"output":[],"usage":null}}`
	completed = `{"type":"response.completed","response":{"id":"resp_1","object":"response","status":"completed","error":null,"incomplete_details":null,"output":[]}}`
	half      = `{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"half"}`
)

func callAdded(id, index, callID, name string) string {
	return `{"type":"response.output_item.added","output_index":` + index + `,"item":{"id":"` + id + `","type":"function_call","call_id":"` + callID + `","name":"` + name + `","arguments":""}}`
}

func argsDelta(id, index, delta string) string {
	raw, _ := json.Marshal(delta)
	return `{"type":"response.function_call_arguments.delta","item_id":"` + id + `","output_index":` + index + `,"delta":` + string(raw) + `}`
}

func ended(word, details, output string) string {
	return `{"type":"response.` + word + `","response":{"status":"` + word + `","error":null,"incomplete_details":` + details + `,"output":` + output + `}}`
}

// TestNeighbours holds what stands beside the rows of streams.json: the same
// things at other places, in other orders and in other words.
//
// covers: K1 K2 K6
// CASES: C6 C7 C8
func TestNeighbours(t *testing.T) {
	t.Parallel()
	const one = `"toolCalls":[{"name":"f","arguments":{"a":1},"providerId":"c1"}],"finish":"tool_calls"`
	const two = `"toolCalls":[{"name":"f","arguments":{"a":1},"providerId":"c1"},{"name":"g","arguments":{"b":2},"providerId":"c2"}],"finish":"tool_calls"`
	const whole = `{"id":"i1","type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"}`
	tests := []struct {
		name, profile, body, expect string
	}{
		// What belongs together.
		{"two calls by turns under one index", "compatible", body(
			callAdded("i1", "0", "c1", "f"), callAdded("i2", "0", "c2", "g"),
			argsDelta("i1", "0", `{"a"`), argsDelta("i2", "0", `{"b"`), argsDelta("i1", "0", `:1}`), argsDelta("i2", "0", `:2}`), completed,
		), `{` + two + `}`},
		{"another item id in each event", "compatible", body(
			callAdded("x1", "1", "c1", "f"), argsDelta("x2", "1", `{"a"`), argsDelta("x3", "1", `:1}`),
			`{"type":"response.output_item.done","output_index":1,"item":{"id":"x4","type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"}}`,
			ended("completed", "null", `[{"id":"x5","type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"}]`),
		), `{` + one + `}`},
		{"no id at all", "compatible", body(
			`{"type":"response.output_item.added","output_index":3,"item":{"type":"function_call","call_id":"c1","name":"f"}}`,
			`{"type":"response.output_item.added","output_index":4,"item":{"type":"function_call","call_id":"c2","name":"g"}}`,
			`{"type":"response.function_call_arguments.delta","output_index":4,"delta":"{\"b\":2}"}`,
			`{"type":"response.function_call_arguments.delta","output_index":3,"delta":"{\"a\":1}"}`, completed,
		), `{` + two + `}`},
		{"neither id nor index", "compatible", body(
			`{"type":"response.output_item.added","item":{"type":"function_call","call_id":"c1","name":"f"}}`,
			`{"type":"response.function_call_arguments.delta","delta":"{\"a\":"}`,
			`{"type":"response.function_call_arguments.delta","delta":"1}"}`,
			`{"type":"response.output_text.delta","delta":"and "}`, `{"type":"response.output_text.delta","delta":"so"}`, completed,
		), `{"text":"and so",` + one + `}`},
		{"null ids and a text index", "compatible", body(
			`{"type":"response.output_item.added","output_index":"0","item":{"id":null,"type":"function_call","call_id":"c1","name":"f"}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"","output_index":0,"delta":"{\"a\":1}"}`, completed,
		), `{` + one + `}`},
		{"whole calls at one index", "compatible", body(
			`{"type":"response.output_item.done","output_index":0,"item":`+whole+`}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"id":"i2","type":"function_call","call_id":"c2","name":"g","arguments":"{\"b\":2}"}}`, completed,
		), `{` + two + `}`},
		{"whole calls without ids at one index", "compatible", body(
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","name":"f","arguments":"{\"a\":1}"}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","name":"f","arguments":"{\"a\":2}"}}`, completed,
		), `{"toolCalls":[{"name":"f","arguments":{"a":1}},{"name":"f","arguments":{"a":2}}],"finish":"tool_calls"}`},
		{"thinking under the id of the text", "compatible", body(
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"m","type":"message","content":[]}}`,
			`{"type":"response.reasoning_summary_text.delta","item_id":"m","output_index":0,"delta":"hm"}`, half, completed,
		), `{"text":"half","reasoning":"hm","finish":"end_turn"}`},
		{"text, call and text at one index", "compatible", body(
			`{"type":"response.output_text.delta","output_index":0,"item_id":"m1","delta":"a"}`, callAdded("i1", "0", "c1", "f"), argsDelta("i1", "0", `{"a":1}`),
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"m2","type":"message","content":[]}}`,
			`{"type":"response.output_text.delta","output_index":0,"item_id":"m2","delta":"b"}`, completed,
		), `{"text":"ab",` + one + `}`},

		// Ends hold the whole.
		{"the end says other arguments", "", body(
			callAdded("i1", "0", "c1", "f"), argsDelta("i1", "0", `{"a":9,`),
			`{"type":"response.function_call_arguments.done","item_id":"i1","output_index":0,"arguments":"{\"a\":1}"}`, completed,
		), `{` + one + `}`},
		{"no piece, only the end of the arguments", "", body(
			callAdded("i1", "0", "c1", "f"), `{"type":"response.function_call_arguments.done","item_id":"i1","arguments":"{\"a\":1}"}`, completed,
		), `{` + one + `}`},
		{"the end of the item corrects that of the arguments", "", body(
			callAdded("i1", "0", "c0", "e"), `{"type":"response.function_call_arguments.done","item_id":"i1","arguments":"{\"a\":9}"}`,
			`{"type":"response.output_item.done","item":`+whole+`}`, completed,
		), `{` + one + `}`},
		{"an end that says nothing", "", body(
			callAdded("i1", "0", "c1", "f"), argsDelta("i1", "0", `{"a":1}`),
			`{"type":"response.function_call_arguments.done","item_id":"i1","arguments":""}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"id":"i1","type":"function_call","call_id":"c1","name":"f","arguments":null}}`, completed,
		), `{` + one + `}`},
		{"whole with the beginning, and again in pieces", "compatible", body(
			`{"type":"response.output_item.added","output_index":0,"item":`+whole+`}`, argsDelta("i1", "0", `{"a"`), argsDelta("i1", "0", `:1}`), completed,
		), `{` + one + `}`},
		{"whole with the beginning and nothing after", "compatible", body(`{"type":"response.output_item.added","output_index":0,"item":`+whole+`}`, completed), `{` + one + `}`},
		{"arguments as an object", "compatible", body(
			`{"type":"response.output_item.done","item":{"id":"i1","type":"function_call","call_id":"c1","name":"f","arguments":{"a":1}}}`, completed,
		), `{` + one + `}`},
		{
			"no arguments", "", body(callAdded("i1", "0", "c1", "f"), `{"type":"response.output_item.done","output_index":0,"item":{"id":"i1","type":"function_call","call_id":"c1","name":"f","arguments":null}}`, completed),
			`{"toolCalls":[{"name":"f","arguments":{},"providerId":"c1"}],"finish":"tool_calls"}`,
		},
		{"a place holder", "", body(`{"type":"response.output_item.added","output_index":0,"item":{"id":"i0","type":"function_call","call_id":"","name":"","arguments":""}}`, half, completed), `{"text":"half","finish":"end_turn"}`},
		{"arguments that are no object", "", body(
			`{"type":"response.output_item.done","item":{"id":"i1","type":"function_call","call_id":"c1","name":"f","arguments":"[1]"}}`, completed,
		), `{"toolCalls":[{"name":"f","raw":"[1]","invalid":true,"providerId":"c1"}],"finish":"tool_calls"}`},
		{"the id comes last", "compatible", body(
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","name":"f"}}`, argsDelta("", "0", `{"a":1}`),
			`{"type":"response.output_item.done","output_index":0,"item":`+whole+`}`, completed,
		), `{` + one + `}`},
		{"the last piece of a text is lost", "", body(half, `{"type":"response.output_text.done","item_id":"m","output_index":0,"content_index":0,"text":"half and half"}`, completed), `{"text":"half and half","finish":"end_turn"}`},
		{"the end of a part only", "", body(`{"type":"response.content_part.done","item_id":"m","output_index":0,"content_index":0,"part":{"type":"output_text","text":"part"}}`, completed), `{"text":"part","finish":"end_turn"}`},
		{"two parts of a text", "", body(
			`{"type":"response.output_text.delta","item_id":"m","content_index":0,"delta":"a"}`, `{"type":"response.output_text.delta","item_id":"m","content_index":1,"delta":"b"}`,
			`{"type":"response.output_item.done","item":{"id":"m","type":"message","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"bc"}]}}`, completed,
		), `{"text":"abc","finish":"end_turn"}`},
		{"a second beginning and a second end", "", body(
			callAdded("i1", "0", "c1", "f"), callAdded("i1", "0", "c1", "f"), argsDelta("i1", "0", `{"a":1}`),
			`{"type":"response.output_item.done","output_index":0,"item":`+whole+`}`, `{"type":"response.output_item.done","output_index":0,"item":`+whole+`}`, argsDelta("i1", "0", `{"a":1}`), completed, completed,
		), `{` + one + `}`},

		// The last event.
		{
			"all in the last event", "compatible", body(ended("completed", "null", `[
			{"id":"r","type":"reasoning","summary":[{"type":"summary_text","text":"why"}],"encrypted_content":"ENC"},
			{"id":"m","type":"message","content":[{"type":"output_text","text":"so"}]},`+whole+`]`)),
			`{"text":"so","reasoning":"why","keep":["ENC"],` + one + `}`,
		},
		{"a call in the last event only", "compatible", body(half, ended("completed", "null", `[{"id":"m9","type":"message","content":[{"type":"output_text","text":"half"}]},`+whole+`]`)), `{"text":"half",` + one + `}`},
		{"other ids in the last event", "compatible", body(
			half, `{"type":"response.output_text.done","item_id":"m","output_index":0,"text":"half"}`, callAdded("i1", "1", "c1", "f"), argsDelta("i1", "1", `{"a":1}`),
			ended("completed", "null", `[{"id":"y","type":"message","content":[{"type":"output_text","text":"half"}]},{"id":"z","type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"}]`),
		), `{"text":"half",` + one + `}`},
		{"what was encrypted comes last", "", body(
			`{"type":"response.output_item.done","output_index":0,"item":{"id":"r","type":"reasoning","summary":[]}}`, half,
			ended("completed", "null", `[{"id":"r","type":"reasoning","summary":[],"encrypted_content":"ENC"},{"id":"m","type":"message","content":[{"type":"output_text","text":"half"}]}]`),
		), `{"text":"half","finish":"end_turn","keep":["ENC"]}`},
		{"an item that began and is whole in the last event", "compatible", body(
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"m","type":"message","content":[]}}`,
			ended("completed", "null", `[{"id":"m","type":"message","content":[{"type":"output_text","text":"late"}]}]`),
		), `{"text":"late","finish":"end_turn"}`},
		{"no response in the last event", "compatible", body(half, `{"type":"response.completed"}`), `{"text":"half","finish":"end_turn"}`},

		// What is not ours.
		{"unknown events, items, parts and fields", "", body(
			created, `{"type":"response.glow.delta","item_id":"m","output_index":0,"delta":"ghost","text":"ghost"}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"w","type":"web_search_call","status":"searching","name":"ghost","arguments":"{}"}}`,
			`{"type":"response.output_text.delta","item_id":"w","output_index":0,"delta":"ghost"}`,
			`{"type":"response.mcp_call_arguments.delta","item_id":"w","output_index":0,"delta":"{}"}`,
			`{"type":"response.mcp_call.failed","item_id":"w","error":{"message":"ghost","code":500}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"id":"w","type":"web_search_call","content":[{"type":"output_text","text":"ghost"}]}}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"id":"m","type":"message","content":[],"x":{"text":"ghost"}}}`,
			`{"type":"response.content_part.added","item_id":"m","output_index":1,"content_index":0,"part":{"type":"hologram","text":"ghost"}}`,
			`{"type":"response.output_text.delta","item_id":"m","output_index":1,"content_index":0,"delta":"ghost"}`,
			`{"type":"response.output_text.delta","item_id":"m","output_index":1,"content_index":1,"delta":"said","error":null}`,
			`{"type":"response.output_text.annotation.added","item_id":"m","output_index":1,"content_index":1,"annotation":{"text":"ghost"}}`,
			`{"type":"response.custom_tool_call_input.delta","item_id":"q","output_index":2,"delta":"ghost"}`,
			ended("completed", "null", `[{"id":"w","type":"web_search_call"},{"id":"m","type":"message","content":[{"type":"hologram","text":"ghost"},{"type":"output_text","text":"said"}]}]`),
		), `{"text":"said","finish":"end_turn"}`},
		{"the name tells what the data does not", "compatible", "event: response.output_text.delta\ndata: {\"item_id\":\"m\",\"delta\":\"hi\"}\n\nevent: response.completed\ndata: {\"response\":{}}\n\n", `{"text":"hi","finish":"end_turn"}`},
		{"the data tells before the name", "compatible", "event: error\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}\n\nevent: ping\ndata: {\"type\":\"response.completed\",\"response\":{\"output\":null}}\n\n", `{"text":"hi","finish":"end_turn"}`},
		{"half a surrogate pair", "", body(`{"type":"response.output_text.delta","item_id":"m","delta":"a\ud83d"}`, completed), `{"text":"a\ufffd","finish":"end_turn"}`},

		// How it ended.
		{"filtered", "azure", body(half, callAdded("i1", "1", "c1", "f"), argsDelta("i1", "1", "{}"), ended("incomplete", `{"reason":"content_filter"}`, `[]`)), `{"text":"half","finish":"content_filter"}`},
		{"cut for no reason that is told", "compatible", body(half, callAdded("i1", "1", "c1", "f"), argsDelta("i1", "1", "{}"), ended("incomplete", `null`, `[]`)), `{"text":"half","finish":"max_tokens"}`},
		{"a whole call of an answer that is cut", "", body(`{"type":"response.output_item.done","item":`+whole+`}`, ended("incomplete", `{"reason":"max_output_tokens"}`, `[`+whole+`]`)), `{"finish":"max_tokens"}`},
		{"incomplete by its status", "compatible", body(half, `{"type":"response.completed","response":{"status":"incomplete","incomplete_details":{"reason":"length"},"output":[]}}`), `{"text":"half","finish":"max_tokens"}`},
		{"refused by the end of the item", "", body(`{"type":"response.output_item.done","item":{"id":"m","type":"message","content":[{"type":"refusal","refusal":"No."}]}}`, completed), `{"refusal":"No.","finish":"refusal"}`},
		{"refused in the last event", "", body(ended("completed", "null", `[{"id":"m","type":"message","content":[{"type":"refusal","refusal":"No."}]}]`)), `{"refusal":"No.","finish":"refusal"}`},
		{"refused after a text and a call", "", body(
			half, callAdded("i1", "1", "c1", "f"), argsDelta("i1", "1", "{}"), `{"type":"response.refusal.delta","item_id":"m2","output_index":2,"content_index":0,"delta":"No."}`, completed,
		), `{"text":"half","refusal":"No.","finish":"refusal"}`},
		{"an empty refusal is none", "", body(half, `{"type":"response.refusal.delta","item_id":"m","output_index":0,"content_index":1,"delta":" "}`, completed), `{"text":"half","refusal":" ","finish":"end_turn"}`},
		{"a name is told in the end of the arguments only", "compatible", body(argsDelta("i1", "0", `{"a":1}`), `{"type":"response.function_call_arguments.done","item_id":"i1","output_index":0,"name":"f","arguments":"{\"a\":1}"}`, completed), `{"toolCalls":[{"name":"f","arguments":{"a":1}}],"finish":"tool_calls"}`},

		// Thinking.
		{"raw thinking in the item only", "ollama", body(`{"type":"response.output_item.done","output_index":0,"item":{"id":"r","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"deep"}]}}`, `{"type":"response.output_text.delta","item_id":"m","output_index":1,"delta":"out"}`, completed), `{"text":"out","reasoning":"deep","finish":"end_turn","keep":["deep"]}`},
		{"a summary that says what was thought", "openrouter", body(`{"type":"response.output_item.done","output_index":0,"item":{"id":"r","type":"reasoning","summary":[{"type":"summary_text","text":"same"}],"content":[{"type":"reasoning_text","text":"same"}]}}`, half, completed), `{"text":"half","reasoning":"same","finish":"end_turn"}`},
		{"thinking between two calls", "", body(
			`{"type":"response.output_item.done","output_index":0,"item":{"id":"r1","type":"reasoning","summary":[{"type":"summary_text","text":"one"}],"encrypted_content":"E1"}}`,
			`{"type":"response.output_item.done","output_index":1,"item":`+whole+`}`,
			`{"type":"response.output_item.done","output_index":2,"item":{"id":"r2","type":"reasoning","summary":[{"type":"summary_text","text":"two"}],"encrypted_content":"E2"}}`,
			`{"type":"response.output_item.done","output_index":3,"item":{"id":"i2","type":"function_call","call_id":"c2","name":"g","arguments":"{\"b\":2}"}}`, completed,
		), `{"reasoning":"one two","keep":["E1","E2"],` + two + `}`},
		{"thinking cut off", "", body(`{"type":"response.reasoning_summary_text.delta","item_id":"r","output_index":0,"summary_index":0,"delta":"hm"}`, ended("incomplete", `{"reason":"max_output_tokens"}`, `[]`)), `{"reasoning":"hm","finish":"max_tokens"}`},

		// Usage.
		{"usage of thinking beside the output", "xai", body(half, `{"type":"response.completed","response":{"usage":{"input_tokens":3,"output_tokens":4,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":12}}}`), `{"text":"half","finish":"end_turn","usage":{"input":3,"output":9,"reasoning":5}}`},
		{"usage that counts nothing", "", body(half, `{"type":"response.completed","response":{"usage":{"input_tokens":null,"input_tokens_details":null}}}`), `{"text":"half","finish":"end_turn"}`},
		{"usage at the start only", "compatible", body(`{"type":"response.created","response":{"usage":{"input_tokens":0,"output_tokens":0}}}`, half, completed), `{"text":"half","finish":"end_turn"}`},
		{"usage twice", "", body(half, `{"type":"response.completed","response":{"usage":{"input_tokens":1,"output_tokens":1}}}`, `{"type":"response.completed","response":{"usage":{"input_tokens":3,"output_tokens":4}}}`), `{"text":"half","finish":"end_turn","usage":{"input":3,"output":4}}`},

		// After the end nothing can undo it.
		{"bad JSON after the end", "", body(half, completed, "data: {\"oops\":"), `{"text":"half","finish":"end_turn"}`},
		{"an error after the end", "", body(half, completed, `{"type":"error","code":"server_error","message":"late"}`), `{"text":"half","finish":"end_turn"}`},
		{"a failure after the end", "", body(half, completed, `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"late"}}}`), `{"text":"half","finish":"end_turn"}`},
		{"more text after the end", "", body(half, completed, half, ended("incomplete", `{"reason":"content_filter"}`, `[]`)), `{"text":"half","finish":"end_turn"}`},
		{"cut after the end", "", body(half, completed) + "data: {\"type\":\"resp", `{"text":"half","finish":"end_turn"}`},
		{"the last event without its blank line", "", strings.TrimRight(body(half, completed), "\n"), `{"text":"half","finish":"end_turn"}`},

		// Less than an end.
		{"[DONE] alone", "compatible", body(half, "data: [DONE]"), `{"fault":"stream_cut","partialText":"half"}`},
		{"[DONE] before the last event", "compatible", body(half, "data: [DONE]", completed), `{"fault":"stream_cut","partialText":"half"}`},
		{"the item is whole, the answer not", "", body(half, `{"type":"response.output_item.done","item":{"id":"m","type":"message","status":"completed","content":[{"type":"output_text","text":"half"}]}}`), `{"fault":"stream_cut","partialText":"half"}`},
		{"nothing", "", "", `{"fault":"stream_cut"}`},
		{"a start only", "", body(created), `{"fault":"stream_cut"}`},
		{"events of another dialect", "compatible", "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n", `{"fault":"stream_cut"}`},

		// Errors from within.
		{"failed, and no word why", "", body(half, ended("failed", "null", "[]")), `{"fault":"provider_error","partialText":"half"}`},
		{"failed, in words", "compatible", body(half, `{"type":"response.failed","response":{"status":"failed","error":"The server is on fire"}}`), `{"fault":"provider_error","partialText":"half","provider":{"message":"on fire"}}`},
		{"failed for the context", "", body(half, `{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}}`), `{"fault":"context_too_long","partialText":"half"}`},
		{"failed by its status", "compatible", body(half, `{"type":"response.completed","response":{"status":"failed","error":{"code":"server_error","message":"x"}}}`), `{"fault":"provider_error","partialText":"half"}`},
		{"cancelled by the provider", "", body(half, `{"type":"response.cancelled","response":{"status":"cancelled","error":null}}`), `{"fault":"provider_error","partialText":"half"}`},
		{"an error within an event", "", body(half, `{"type":"error","sequence_number":3,"error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long","param":"input"}}`), `{"fault":"context_too_long","partialText":"half"}`},
		{"an error with a status", "compatible", body(half, `{"type":"error","status":401,"error":{"message":"who are you"}}`), `{"fault":"bad_key","partialText":"half"}`},
		{"an error without a type", "compatible", body(half) + "data: {\"error\":{\"message\":\"m\",\"code\":429}}\n\n", `{"fault":"rate_limited","partialText":"half"}`},
		{"an error in a string", "compatible", body(half) + "data: {\"error\":\"overloaded\"}\n\n", `{"fault":"provider_error","partialText":"half","provider":{"message":"overloaded"}}`},
		{"a flat error", "compatible", body(half) + "data: {\"code\":\"insufficient_quota\",\"message\":\"pay\"}\n\n", `{"fault":"quota","partialText":"half"}`},
		{"an error in a list", "compatible", body(half) + "data: [{\"error\":{\"message\":\"m\",\"code\":503}}]\n\n", `{"fault":"overloaded","partialText":"half"}`},
		{"an error by the name of the event", "compatible", body(half) + "event: error\ndata: {\"message\":\"slow\",\"code\":\"rate_limit_exceeded\"}\n\n", `{"fault":"rate_limited","partialText":"half"}`},
		{"an error in words", "compatible", body(half) + "event: error\ndata: it broke\n\n", `{"fault":"provider_error","partialText":"half","provider":{"message":"it broke"}}`},
		{"an error in the field of that name", "llamacpp", body(half) + "error: {\"code\":500,\"message\":\"no slot\"}\n\n", `{"fault":"provider_error","partialText":"half","provider":{"message":"no slot"}}`},
		{"an error and nothing else", "compatible", body(half, `{"type":"error"}`), `{"fault":"provider_error","partialText":"half"}`},
		{"bad JSON", "", body(half, "data: {\"type\":"), `{"fault":"protocol_error","partialText":"half"}`},

		// JSON in place of a stream.
		{
			"whole: thinking, text and call", "", `{"object":"response","status":"completed","error":null,"output":[{"id":"r","type":"reasoning","summary":[{"type":"summary_text","text":"why"}],"encrypted_content":"ENC"},{"id":"m","type":"message","content":[{"type":"output_text","text":"so"}]},` + whole + `],"usage":{"input_tokens":2,"output_tokens":3}}`,
			`{"text":"so","reasoning":"why","keep":["ENC"],"usage":{"input":2,"output":3},` + one + `}`,
		},
		{"whole: bare", "compatible", `{"output":[{"type":"message","content":[{"type":"output_text","text":"so"}]}]}`, `{"text":"so","finish":"end_turn"}`},
		{"whole: empty", "compatible", `{"object":"response","output":null}`, `{"finish":"end_turn"}`},
		{"whole: cut by the limit", "", `{"object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[` + whole + `]}`, `{"finish":"max_tokens"}`},
		{"whole: refused", "", `{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"No."}]}]}`, `{"refusal":"No.","finish":"refusal"}`},
		{"whole: failed", "", `{"object":"response","status":"failed","error":{"code":"rate_limit_exceeded","message":"slow"},"output":[]}`, `{"fault":"rate_limited"}`},
		{"whole: failed, and no word why", "", `{"object":"response","status":"failed","error":null,"output":[]}`, `{"fault":"provider_error"}`},
		{"whole: not yet", "", `{"object":"response","status":"in_progress","output":[]}`, `{"fault":"stream_cut"}`},
		{"whole: of another dialect", "compatible", `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`, `{"fault":"not_an_api"}`},
		{"whole: of some service", "compatible", `{"output":["hi"],"status":"ok"}`, `{"fault":"not_an_api"}`},
		{"whole: nothing", "compatible", `{}`, `{"fault":"not_an_api"}`},
		{"whole: cut", "", `{"object":"response","output":[`, `{"fault":"stream_cut"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			play(t, row(t, tt.profile, tt.body, tt.expect))
		})
	}
}

// TestNeighbours_Clipped: a local server that has read less than it was sent.
func TestNeighbours_Clipped(t *testing.T) {
	t.Parallel()
	stream := body(half, `{"type":"response.completed","response":{"usage":{"input_tokens":70,"output_tokens":1}}}`)
	for profile, clipped := range map[string]bool{"lmstudio": true, "ollama": true, "compatible": false, "": false} {
		r := row(t, profile, stream, `{"text":"half","finish":"end_turn","usage":{"input":70,"output":1}}`)
		r.Request.PromptTokensEstimate, r.Expect.Clipped = 100, clipped
		play(t, r)
	}
}

// TestNeighbours_Corrected: where the end of a text says something else than its
// pieces did, the answer is what the end says, though the pieces were seen.
func TestNeighbours_Corrected(t *testing.T) {
	t.Parallel()
	for _, end := range []string{
		`{"type":"response.output_text.done","item_id":"m","output_index":0,"content_index":0,"text":"whole"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"id":"m","type":"message","content":[{"type":"output_text","text":"whole"}]}}`,
	} {
		play(t, row(t, "", body(half, end, completed), `{"text":"whole","finish":"end_turn"}`))
	}
}

// TestNeighbours_Timers: what is no token does not end the wait for the first,
// and after one each silence is a stall; a local server is waited for.
//
// covers: K6
func TestNeighbours_Timers(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, profile, before, after, expect string }{
		{"starts", "", body(created, `{"type":"response.output_item.added","output_index":0,"item":{"id":"r","type":"reasoning","summary":[]}}`, ": ping", `{"type":"keepalive"}`), "hold", `{"fault":"timeout"}`},
		{"a start of a call", "", body(callAdded("i1", "0", "c1", "f")), "hold", `{"fault":"timeout"}`},
		{"thinking", "", body(`{"type":"response.reasoning_summary_text.delta","item_id":"r","delta":"hm"}`), "hold", `{"fault":"stalled"}`},
		{"arguments", "", body(callAdded("i1", "0", "c1", "f"), argsDelta("i1", "0", "{")), "hold", `{"fault":"stalled"}`},
		{"a refusal", "", body(`{"type":"response.refusal.delta","item_id":"m","delta":"N"}`), "hold", `{"fault":"stalled"}`},
		{"whole thinking", "", body(`{"type":"response.output_item.done","item":{"id":"r","type":"reasoning","summary":[],"encrypted_content":"E"}}`), "hold", `{"fault":"stalled"}`},
		{"the end", "", body(half, completed), "hold", `{"text":"half","finish":"end_turn"}`},
		{"a local server", "ollama", body(created), body(half, completed), `{"text":"half","finish":"end_turn"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := row(t, tt.profile, tt.before, tt.expect)
			more := `[{"wait":"idle"},{"hold":true}]`
			if tt.after != "hold" {
				more = `[{"wait":"idle"}]`
			}
			var chunks []streamtest.Chunk
			if err := json.Unmarshal([]byte(more), &chunks); err != nil {
				t.Fatal(err)
			}
			r.Chunks = append(r.Chunks, chunks...)
			if tt.after != "hold" {
				r.Chunks = append(r.Chunks, streamtest.Chunk{Data: []byte(tt.after)})
			}
			streamtest.PlayAt(t, r, 1<<20, New)
		})
	}
}
