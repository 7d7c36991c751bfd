package gemini

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider/streamtest"
)

// row is a row of one's own, in the form of streams.json.
func row(t *testing.T, expect string, body ...string) streamtest.Row {
	t.Helper()
	var r streamtest.Row
	if err := json.Unmarshal([]byte(`{"expect":`+expect+`}`), &r); err != nil {
		t.Fatal(err)
	}
	r.HTTP.Status = 200
	for _, s := range body {
		r.Chunks = append(r.Chunks, streamtest.Chunk{Data: []byte(s)})
	}
	return r
}

// sse are the events of a stream.
func sse(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\n\n")
	}
	return b.String()
}

// says is an answer of a stream with parts; finish is its word, "" for none.
func says(finish string, parts ...string) string {
	end := ""
	if finish != "" {
		end = `,"finishReason":"` + finish + `"`
	}
	return `{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(parts, ",") + `]}` + end + `}]}`
}

const counts = `{"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1}}`

// TestStreams_Neighbours holds rows beside those of streams.json, each cut as it
// is, in one piece and byte by byte.
//
// covers: K2 K6 K9
// CASES: C6 C7
func TestStreams_Neighbours(t *testing.T) {
	t.Parallel()
	a, b := `{"text":"a"}`, `{"text":"b"}`
	f := `{"functionCall":{"name":"f","args":{"p":1}}}`
	const ab = `{"text":"ab","finish":"end_turn"}`
	rows := map[string]streamtest.Row{
		// Words of the end (decisions 10 and 11).
		"recitation":            row(t, `{"text":"a","finish":"content_filter"}`, sse(says("RECITATION", a))),
		"blocklist":             row(t, `{"text":"a","finish":"content_filter"}`, sse(says("BLOCKLIST", a, f))),
		"filter in lower case":  row(t, `{"text":"a","finish":"content_filter"}`, sse(says("safety", a))),
		"length of a gateway":   row(t, `{"text":"a","finish":"max_tokens"}`, sse(says("length", a))),
		"more would go on":      row(t, `{"text":"a","finish":"max_tokens"}`, sse(says("CONTINUATION", a, f))),
		"unknown word":          row(t, ab, sse(says("", a), says("LATER_WORD", b))),
		"unknown word, call":    row(t, `{"text":"","finish":"tool_calls","toolCalls":[{"name":"f","arguments":{"p":1}}]}`, sse(says("OTHER", f))),
		"malformed call":        row(t, `{"fault":"provider_error","partialText":"a","provider":{"type":"MALFORMED_FUNCTION_CALL"}}`, sse(says("", a), says("MALFORMED_FUNCTION_CALL", f))),
		"unspecified is none":   row(t, ab, sse(says("FINISH_REASON_UNSPECIFIED", a), says("STOP", b))),
		"unspecified alone":     row(t, `{"fault":"stream_cut","partialText":"a"}`, sse(says("FINISH_REASON_UNSPECIFIED", a))),
		"finish null":           row(t, ab, sse(`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":null}]}`, says("STOP", b))),
		"done alone":            row(t, ab, sse(says("", a, b), "[DONE]", says("", a))),
		"call without a finish": row(t, `{"fault":"stream_cut"}`, sse(says("", f))),

		// What comes after the finish (decision 8).
		"late bad JSON":     row(t, `{"text":"a","finish":"end_turn","usage":{"input":3,"output":1}}`, sse(says("STOP", a), `{"oops":`, counts)),
		"late error":        row(t, `{"text":"a","finish":"end_turn","usage":{"input":3,"output":1}}`, sse(says("STOP", a), `{"error":{"code":500,"message":"late"}}`, counts)),
		"late block":        row(t, `{"text":"a","finish":"end_turn","usage":{"input":3,"output":1}}`, sse(says("STOP", a), `{"promptFeedback":{"blockReason":"SAFETY"}}`, counts)),
		"late text":         row(t, `{"text":"a","finish":"end_turn","usage":{"input":3,"output":1}}`, sse(says("STOP", a), says("", b), says("MAX_TOKENS", f), counts)),
		"late bad end":      row(t, `{"text":"a","finish":"end_turn"}`, sse(says("STOP", a), says("MALFORMED_FUNCTION_CALL"))),
		"cut in the usage":  row(t, `{"text":"a","finish":"end_turn"}`, sse(says("STOP", a)), `data: {"usageMeta`),
		"end without blank": row(t, `{"text":"a","finish":"end_turn"}`, "data: "+says("STOP", a)),

		// Prompts that were blocked.
		"blocked, prohibited": row(t, `{"fault":"refused","provider":{"type":"PROHIBITED_CONTENT"}}`, sse(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT","safetyRatings":[]}}`)),
		"blocked in JSON":     row(t, `{"fault":"refused","provider":{"type":"SAFETY"}}`, `{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":6}}`),
		"blocked in a list":   row(t, `{"fault":"refused","provider":{"type":"OTHER"}}`, `[{"promptFeedback":{"blockReason":"OTHER"}}]`),
		"rated, not blocked":  row(t, `{"text":"a","finish":"end_turn"}`, sse(`{"promptFeedback":{"safetyRatings":[{"category":"C","probability":"LOW"}]},"candidates":[]}`, says("STOP", a))),
		"feedback null":       row(t, `{"text":"a","finish":"end_turn"}`, sse(`{"promptFeedback":null,"error":null}`, says("STOP", a))),
		"unspecified block":   row(t, `{"text":"a","finish":"end_turn"}`, sse(`{"promptFeedback":{"blockReason":"BLOCK_REASON_UNSPECIFIED"}}`, says("STOP", a))),

		// JSON in place of a stream (decision 6).
		"one answer":            row(t, `{"text":"ab","finish":"end_turn","usage":{"input":3,"output":1}}`, ` {"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1}}`),
		"list of answers":       row(t, `{"text":"ab","finish":"end_turn","usage":{"input":3,"output":1}}`, "["+says("", a)+"\n,\r\n", says("STOP", b)+","+counts+"]"),
		"list with a call":      row(t, `{"text":"a","finish":"tool_calls","toolCalls":[{"name":"f","arguments":{"p":1}}]}`, "["+says("", a)+","+says("STOP", f)+"]"),
		"list, error last":      row(t, `{"fault":"overloaded","partialText":"a"}`, "["+says("", a)+`,{"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}]`),
		"list, late error":      row(t, `{"text":"a","finish":"end_turn"}`, "["+says("STOP", a)+`,{"error":{"code":503,"message":"m"}}]`),
		"list cut":              row(t, `{"fault":"stream_cut"}`, "["+says("", a)+","+says("", b)),
		"list without an end":   row(t, `{"fault":"stream_cut","partialText":"ab"}`, "["+says("", a)+","+says("", b)+"]"),
		"answer without an end": row(t, `{"fault":"stream_cut","partialText":"a"}`, says("", a, f)),
		"empty list":            row(t, `{"fault":"not_an_api"}`, "[]"),
		"empty object":          row(t, `{"fault":"not_an_api"}`, "{}"),
		"list of other things":  row(t, `{"fault":"not_an_api"}`, `[1,"a",null,{"text":"a"}]`),
		"no candidates":         row(t, `{"fault":"not_an_api"}`, `{"candidates":[]}`),
		"chat completion":       row(t, `{"fault":"not_an_api"}`, `{"choices":[{"message":{"content":"a"}}]}`),
		"list in an event":      row(t, ab, sse("["+says("", a)+","+says("STOP", b)+"]")),

		// Errors inside a 200 (decision 24).
		"error event":        row(t, `{"fault":"rate_limited","partialText":"a"}`, sse(says("", a))+"event: error\ndata: {\"message\":\"slow down\",\"code\":429}\n\n"),
		"error in words":     row(t, `{"fault":"provider_error","partialText":"a"}`, sse(says("", a))+"event: error\ndata: upstream gone\n\n"),
		"error string":       row(t, `{"fault":"provider_error","partialText":"a"}`, sse(says("", a), `{"error":"upstream gone"}`)),
		"error list":         row(t, `{"fault":"bad_key"}`, sse(`[{"error":{"code":401,"message":"m","status":"UNAUTHENTICATED"}}]`)),
		"flat error":         row(t, `{"fault":"overloaded"}`, sse(`{"code":503,"message":"m","status":"UNAVAILABLE"}`)),
		"error of candidate": row(t, `{"fault":"overloaded","partialText":"a"}`, sse(says("", a), `{"candidates":[{"error":{"code":503,"message":"m"}}]}`)),
		"retry info":         row(t, `{"fault":"rate_limited","retryAfterMs":1500}`, sse(`{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]}}`)),
		"retry info unread":  row(t, `{"fault":"rate_limited"}`, sse(`{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"soon"}]}}`)),
		"context in a 200":   row(t, `{"fault":"context_too_long"}`, sse(`{"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens allowed (8).","status":"INVALID_ARGUMENT"}}`)),

		// What is skipped (decision 7).
		"null everywhere":   row(t, `{"text":"a","finish":"end_turn"}`, sse(`{"candidates":null}`, `{"candidates":[null,{"content":null}]}`, `{"candidates":[{"content":{"parts":null}}]}`, `{"candidates":[{"content":{"parts":[null,{"text":null},{"functionCall":null,"text":"a"}]},"finishReason":"STOP"}]}`)),
		"other JSON":        row(t, `{"text":"a","finish":"end_turn"}`, sse(`7`, `"text"`, `null`, `[]`, says("STOP", a))),
		"other parts":       row(t, `{"text":"a","finish":"end_turn"}`, sse(says("STOP", `{"executableCode":{"code":"x"}}`, a, `{"inlineData":{"data":"eA=="}}`))),
		"second candidate":  row(t, ab, sse(`{"candidates":[{"content":{"parts":[{"text":"a"}]}},{"index":1,"content":{"parts":[{"text":"x"}]},"finishReason":"MAX_TOKENS"}]}`, `{"candidates":[{"index":0,"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}`)),
		"null before it":    row(t, ab, sse(`{"candidates":[null,{"index":1,"content":{"parts":[{"text":"a"}]}}]}`, `{"candidates":[{"index":1,"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}`)),
		"index from one":    row(t, ab, sse(`{"candidates":[{"index":1,"content":{"parts":[{"text":"a"}]}}]}`, `{"candidates":[{"index":1,"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}`)),
		"lone surrogate":    row(t, `{"text":"\ufffdb","finish":"tool_calls","toolCalls":[{"name":"f","arguments":{"p":"\ufffd"}}]}`, sse(says("STOP", `{"text":"\ud83db"}`, `{"functionCall":{"name":"f","args":{"p":"\udc00"}}}`))),
		"comments and CRs":  row(t, ab, ": hello\r\r", "data: "+says("", a)+"\r\r", "event: message\rid: 3\rdata:"+says("STOP", b)+"\r\r"),
		"data on two lines": row(t, `{"text":"a","finish":"end_turn"}`, "data: {\"candidates\":\ndata: [{\"content\":{\"parts\":[{\"text\":\"a\"}]},\"finishReason\":\"STOP\"}]}\n\n"),

		// Thinking (decision 17).
		"thoughts between":  row(t, `{"text":"ab","reasoning":"one two","finish":"end_turn"}`, sse(says("", `{"text":"one ","thought":true}`, a), says("STOP", `{"thought":true,"text":"two"}`, b))),
		"thought false":     row(t, `{"text":"a","finish":"end_turn"}`, sse(says("STOP", `{"text":"a","thought":false}`))),
		"thoughts alone":    row(t, `{"text":"","reasoning":"one","finish":"end_turn"}`, sse(says("STOP", `{"text":"one","thought":true}`))),
		"signed text":       row(t, `{"text":"ab","finish":"end_turn","keep":["Sg+/=="]}`, sse(says("", `{"text":"a","thoughtSignature":"Sg+/=="}`), says("STOP", b))),
		"signed thought":    row(t, `{"text":"","reasoning":"x","finish":"end_turn","keep":["Sg=="]}`, sse(says("STOP", `{"text":"x","thought":true,"thoughtSignature":"Sg=="}`))),
		"signature alone":   row(t, `{"text":"a","finish":"end_turn","keep":["Sg=="]}`, sse(says("", a), says("STOP", `{"thoughtSignature":"Sg=="}`))),
		"signature escaped": row(t, `{"text":"a","finish":"end_turn","keep":["//4AgQc="]}`, sse(says("STOP", `{"text":"a","thoughtSignature":"\/\/4AgQc\u003d"}`))),
		"two signatures":    row(t, `{"text":"","finish":"tool_calls","keep":["S1==","S2=="],"toolCalls":[{"name":"f","arguments":{}},{"name":"g","arguments":{}}]}`, sse(says("", `{"functionCall":{"name":"f"},"thoughtSignature":"S1=="}`), says("STOP", `{"functionCall":{"name":"g","args":null},"thoughtSignature":"S2=="}`))),
		"signed call cut":   row(t, `{"text":"","finish":"max_tokens"}`, sse(says("MAX_TOKENS", `{"functionCall":{"name":"f"},"thoughtSignature":"Sg=="}`))),
		"signed and cut":    row(t, `{"text":"a","finish":"max_tokens","keep":["Sg=="]}`, sse(says("MAX_TOKENS", `{"text":"a","thoughtSignature":"Sg=="}`, f))),

		// Calls (decisions 12 and 13).
		"no arguments":       row(t, `{"text":"","finish":"tool_calls","toolCalls":[{"name":"f","arguments":{}},{"name":"g","arguments":{}},{"name":"h","arguments":{}}]}`, sse(says("STOP", `{"functionCall":{"name":"f"}}`, `{"functionCall":{"name":"g","args":null}}`, `{"functionCall":{"name":"h","args":""}}`))),
		"arguments in words": row(t, `{"text":"","finish":"tool_calls","toolCalls":[{"name":"f","arguments":{"p":1}},{"name":"g","raw":"{\"p\":","invalid":true},{"name":"h","raw":"[1]","invalid":true}]}`, sse(says("STOP", `{"functionCall":{"name":"f","args":"{\"p\":1}"}}`, `{"functionCall":{"name":"g","args":"{\"p\":"}}`, `{"functionCall":{"name":"h","args":[1]}}`))),
		"no id":              row(t, `{"text":"","finish":"tool_calls","toolCalls":[{"name":"f","arguments":{}}]}`, sse(says("STOP", `{"functionCall":{"name":"f","id":""}}`))),
		"id in use":          row(t, `{"text":"","finish":"tool_calls","toolCalls":[{"name":"f","arguments":{"p":1},"providerId":"x"},{"name":"f","arguments":{"p":2},"providerId":"x"}]}`, sse(says("", `{"functionCall":{"name":"f","id":"x","args":{"p":1}}}`), says("STOP", `{"functionCall":{"name":"f","id":"x","args":{"p":2}}}`))),
		"place holder":       row(t, `{"text":"a","finish":"end_turn"}`, sse(says("STOP", a, `{"functionCall":{}}`))),
		"no name":            row(t, `{"text":"","finish":"tool_calls","toolCalls":[{"name":"","raw":"{\"p\":1}","invalid":true}]}`, sse(says("STOP", `{"functionCall":{"args":{"p":1}}}`))),
		"text and call":      row(t, `{"text":"ab","finish":"tool_calls","toolCalls":[{"name":"f","arguments":{"p":1}}]}`, sse(says("STOP", a, f, b))),
		"finish apart":       row(t, `{"text":"","finish":"tool_calls","toolCalls":[{"name":"f","arguments":{"p":1}}]}`, sse(says("", f), says("STOP"))),
		"in pieces": row(t, `{"text":"","finish":"tool_calls","keep":["Sg=="],"toolCalls":[{"name":"f","providerId":"x","arguments":{"p":"茶 tea","n":3,"b":true,"z":null,"l":[{"q r":"1"},{"q r":"2"}]}},{"name":"g","arguments":{}}]}`, sse(
			says("", `{"functionCall":{"name":"f","id":"x","willContinue":true},"thoughtSignature":"Sg=="}`),
			says("", `{"functionCall":{"partialArgs":[{"jsonPath":"$.p","stringValue":"茶 ","willContinue":true}],"willContinue":true}}`),
			says("", `{"functionCall":{"partialArgs":[{"jsonPath":"$.p","stringValue":"tea"},{"jsonPath":"$.n","numberValue":3}],"willContinue":true}}`),
			says("", `{"functionCall":{"partialArgs":[{"jsonPath":"$.b","boolValue":true},{"jsonPath":"$.z","nullValue":"NULL_VALUE"},{"jsonPath":"$.l[0]['q r']","stringValue":"1"}],"willContinue":true}}`),
			says("", `{"functionCall":{"partialArgs":[{"jsonPath":"$[\"l\"][1][\"q r\"]","stringValue":"2"}]}}`),
			says("", `{"functionCall":{"name":"g","willContinue":true}}`), says("STOP", `{"functionCall":{}}`))),
		"pieces cut off": row(t, `{"text":"","finish":"tool_calls","toolCalls":[{"name":"f","raw":"{\"p\":\"a\"}","invalid":true}]}`, sse(
			says("", `{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.p","stringValue":"a","willContinue":true}],"willContinue":true}}`), says("STOP"))),
		"pieces left open": row(t, `{"text":"","finish":"tool_calls","toolCalls":[{"name":"f","raw":"{\"p\":\"a\"}","invalid":true},{"name":"f","arguments":{"p":1}}]}`, sse(
			says("", `{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.p","stringValue":"a"}],"willContinue":true}}`), says("STOP", f))),
		"pieces out of place": row(t, `{"text":"","finish":"tool_calls","toolCalls":[{"name":"f","raw":"{\"p\":\"a\"}","invalid":true}]}`, sse(
			says("STOP", `{"functionCall":{"name":"f","args":{"p":"a"},"partialArgs":[{"jsonPath":"$.p.q","stringValue":"b"}]}}`))),
		"pieces far out": row(t, `{"text":"","finish":"tool_calls","toolCalls":[{"name":"f","raw":"{}","invalid":true}]}`, sse(
			says("STOP", `{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.l[999999999]","stringValue":"b"}]}}`))),
		"pieces of the limit": row(t, `{"text":"","finish":"max_tokens"}`, sse(
			says("MAX_TOKENS", `{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.p","stringValue":"a"}],"willContinue":true}}`))),

		// Usage (decisions 19 and 20).
		"usage, all of it":    row(t, `{"text":"a","finish":"end_turn","usage":{"input":12,"output":9,"cached":7,"reasoning":4}}`, sse(says("STOP", a), `{"usageMetadata":{"promptTokenCount":10,"toolUsePromptTokenCount":2,"cachedContentTokenCount":7,"candidatesTokenCount":5,"thoughtsTokenCount":4,"totalTokenCount":21}}`)),
		"usage, last word":    row(t, `{"text":"a","finish":"end_turn","usage":{"input":3,"output":1}}`, sse(`{"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":9,"thoughtsTokenCount":9}}`, says("STOP", a), counts)),
		"usage, nulls":        row(t, `{"text":"a","finish":"end_turn"}`, sse(`{"usageMetadata":{"promptTokenCount":null}}`, says("STOP", a), `{"usageMetadata":{}}`, `{"usageMetadata":null}`)),
		"usage, nulls behind": row(t, `{"text":"a","finish":"end_turn","usage":{"input":3,"output":1}}`, sse(counts, says("STOP", a), `{"usageMetadata":null}`)),
		"usage, no numbers":   row(t, `{"text":"a","finish":"end_turn"}`, sse(says("STOP", a), `{"usageMetadata":{"promptTokenCount":-1,"candidatesTokenCount":"many"}}`)),
		"usage, thoughts":     row(t, `{"text":"","finish":"max_tokens","usage":{"input":3,"output":16,"reasoning":16}}`, sse(says("MAX_TOKENS"), `{"usageMetadata":{"promptTokenCount":3,"thoughtsTokenCount":16,"totalTokenCount":19}}`)),
	}
	for name, r := range rows {
		for way, cut := range map[string]streamtest.Row{"": r, "/one piece": r.Joined(), "/bytes": bytewise(r)} {
			t.Run(name+way, func(t *testing.T) {
				t.Parallel()
				streamtest.PlayAt(t, cut, 1<<20, New)
			})
		}
	}
}

func bytewise(r streamtest.Row) streamtest.Row {
	body := r.Joined().Chunks[0].Data
	r.Chunks = nil
	for i := range body {
		r.Chunks = append(r.Chunks, streamtest.Chunk{Data: body[i : i+1]})
	}
	return r
}

// TestStreams_ManyPieces: a long argument in many pieces takes time that grows
// as it does.
func TestStreams_ManyPieces(t *testing.T) {
	t.Parallel()
	d := newDecoder(profile, hello(), encoded{}, func(core.Delta) {})
	d.Begin(nil)
	const n = 20_000
	for i := range n {
		event(t, d, says("", `{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.text","stringValue":"潮起潮落"}],"willContinue":`+map[bool]string{true: "true", false: "false"}[i < n-1]+`}}`))
	}
	event(t, d, says("STOP"))
	a := d.answer("")
	if len(a.Calls) != 1 || a.Calls[0].Invalid || !bytes.Contains(a.Calls[0].Arguments, []byte(strings.Repeat("潮起潮落", n))) {
		t.Errorf("%d calls", len(a.Calls))
	}
}

// TestPath holds the paths that pieces may have.
func TestPath(t *testing.T) {
	t.Parallel()
	for path, ok := range map[string]bool{
		"$": true, "$.a": true, "$.a.b[0].c": true, "$['a.b'][\"c\"][3]": true, "$.茶[0][1]": true,
		"": false, "a": false, "$a": false, "$.": false, "$..a": false, "$[": false, "$[]": false, "$[-1]": false,
		"$['a": false, "$[*]": false, "$" + strings.Repeat(".a", maxDepth+1): false,
	} {
		if _, got := steps(path); got != ok {
			t.Errorf("%q is read: %v", path, got)
		}
	}
}

// TestStreams_Silence: a local server is waited for, Google's is not.
//
// CASES: C7
func TestStreams_Silence(t *testing.T) {
	t.Parallel()
	var r streamtest.Row
	if err := json.Unmarshal([]byte(`{"http":{"status":200},"chunks":[": ping\n\n",{"wait":"idle"},{"hold":true}],"expect":{"fault":"timeout"}}`), &r); err != nil {
		t.Fatal(err)
	}
	stalled := r
	stalled.Chunks = append([]streamtest.Chunk{{Data: []byte(sse(says("", `{"text":"a"}`)))}}, r.Chunks...)
	stalled.Expect.Fault, stalled.Expect.Partial = fault.Stalled, "a"
	thought := r
	thought.Chunks = append([]streamtest.Chunk{{Data: []byte(sse(says("", `{"text":"a","thought":true}`)))}}, r.Chunks...)
	thought.Expect.Fault = fault.Stalled
	whole := r
	whole.Chunks = append([]streamtest.Chunk{{Data: []byte(sse(says("STOP", `{"text":"a"}`)))}}, r.Chunks...)
	whole.Expect.Fault, whole.Expect.Text, whole.Expect.Finish = "", "a", core.FinishEndTurn
	for name, r := range map[string]streamtest.Row{"nothing": r, "text": stalled, "thoughts": thought, "whole": whole} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streamtest.PlayAt(t, r, 1<<20, New)
		})
	}
}
