package endpoint

import (
	"encoding/json"
	"fmt"

	"galley/backend/provider"
)

// voice is how one dialect says things on the wire: the bytes of the
// fault-injecting server are its own.
type voice struct {
	kind    string
	dialect provider.Dialect
	// vendor is whom the person takes it for.
	vendor string
	// begin comes before the first token, finish says that the answer is whole
	// and counts, after is what follows it.
	begin, finish, after string
	// text and call are a piece of text and a whole call.
	text func(s string) string
	call func(c call) string
	// fail is a refusal: the status and the body that come in place of an answer.
	fail func(w why) (int, string)
	// broke is a failure in the middle of a stream.
	broke string
}

// call is a call of a tool. A part that is "" is left out, index too.
type call struct{ index, id, name, args string }

// why is the reason of a refusal.
type why int

const (
	whyCoded why = iota
	whyPause
	whyQuota
	whyContext
	whyPairs
	whyEmpty
)

// quote writes a JSON string.
func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

// field writes one field of an object with a comma, or nothing when the value is
// empty.
func field(name, raw string) string {
	if raw == "" {
		return ""
	}
	return quote(name) + ":" + raw + ","
}

func event(data string) string { return "data: " + data + "\n\n" }

// named writes an event whose name is its type.
func named(data string) string {
	var t struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal([]byte(data), &t); err != nil {
		panic(fmt.Sprint(data, err))
	}
	return "event: " + t.Type + "\n" + event(data)
}

// voices are those of the four dialects.
func voices() []voice {
	return []voice{chatVoice(), responsesVoice(), messagesVoice(), geminiVoice()}
}

func chatVoice() voice {
	choice := func(delta, finish string) string {
		return event(`{"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{` + delta + `},"finish_reason":` + finish + `}]}`)
	}
	return voice{
		kind: KindOpenAIChat, dialect: provider.Chat, vendor: "DeepSeek",
		begin:  choice(`"role":"assistant","content":""`, "null"),
		finish: event(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`),
		after:  event("[DONE]"),
		text:   func(s string) string { return choice(`"content":`+quote(s), "null") },
		call: func(c call) string {
			return choice(`"tool_calls":[{`+field("index", c.index)+field("id", quoted(c.id))+
				`"type":"function","function":{"name":`+quote(c.name)+`,"arguments":`+quote(c.args)+`}}]`, "null")
		},
		broke: event(`{"error":{"message":"The engine is currently overloaded","type":"server_error","code":503}}`),
		fail: func(w why) (int, string) {
			switch w {
			case whyPause:
				return 429, `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`
			case whyQuota:
				return 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`
			case whyContext:
				return 400, `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`
			case whyPairs:
				return 400, `{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages","type":"invalid_request_error","param":"messages.[2].role","code":null}}`
			case whyEmpty:
				return 400, `{"error":{"message":"Invalid value for 'content': expected a string, got null.","type":"invalid_request_error","param":"messages.[1].content","code":null}}`
			default:
				return 400, `{"error":{"message":"Some words","type":"invalid_request_error","param":"messages","code":"code_of_it"}}`
			}
		},
	}
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return quote(s)
}

func responsesVoice() voice {
	v := chatVoice()
	chatFail := v.fail
	item := func(c call) string { return "fc_" + c.index + c.id }
	return voice{
		kind: KindOpenAIResponses, dialect: provider.Responses, vendor: "OpenAI",
		begin:  named(`{"type":"response.created","response":{"id":"r1","status":"in_progress","error":null,"output":[],"usage":null}}`),
		finish: named(`{"type":"response.completed","response":{"id":"r1","status":"completed","error":null,"incomplete_details":null,"output":[],"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}}}`),
		text: func(s string) string {
			return named(`{"type":"response.output_item.added","output_index":0,"item":{"id":"m1","type":"message","role":"assistant","content":[]}}`) +
				named(`{"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":`+quote(s)+`}`)
		},
		call: func(c call) string {
			at := field("output_index", c.index)
			open := `{"id":"` + item(c) + `","type":"function_call",` + field("call_id", quoted(c.id)) + `"name":` + quote(c.name) + `,"arguments":`
			out := named(`{"type":"response.output_item.added",` + at + `"item":` + open + `""}}`)
			if c.args != "" {
				out += named(`{"type":"response.function_call_arguments.delta","item_id":"` + item(c) + `",` + at + `"delta":` + quote(c.args) + `}`)
			}
			return out + named(`{"type":"response.output_item.done",`+at+`"item":`+open+quote(c.args)+`}}`)
		},
		broke: named(`{"type":"error","code":"server_overloaded","message":"The engine is currently overloaded","param":null}`) +
			named(`{"type":"response.failed","response":{"id":"r1","status":"failed","error":{"code":"overloaded","message":"late"}}}`),
		fail: func(w why) (int, string) {
			switch w {
			case whyContext:
				return 400, `{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`
			case whyPairs:
				return 400, `{"error":{"message":"No tool output found for function call c1.","type":"invalid_request_error","param":"input","code":null}}`
			case whyEmpty:
				return 400, `{"error":{"message":"Invalid 'input[1].content': empty string.","type":"invalid_request_error","param":"input[1].content","code":"empty_string"}}`
			case whyCoded, whyPause, whyQuota:
			}
			return chatFail(w)
		},
	}
}

func messagesVoice() voice {
	failure := func(status int, kind, words string) (int, string) {
		return status, `{"type":"error","error":{"type":"` + kind + `","message":` + quote(words) + `},"request_id":"req_1"}`
	}
	return voice{
		kind: KindAnthropic, dialect: provider.Messages, vendor: "Anthropic",
		begin:  named(`{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}`),
		finish: named(`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}`),
		after:  named(`{"type":"message_stop"}`),
		text: func(s string) string {
			return named(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`) +
				named(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":`+quote(s)+`}}`)
		},
		call: func(c call) string {
			at := field("index", c.index)
			out := named(`{"type":"content_block_start",` + at + `"content_block":{"type":"tool_use",` + field("id", quoted(c.id)) + `"name":` + quote(c.name) + `,"input":{}}}`)
			if c.args != "" {
				out += named(`{"type":"content_block_delta",` + at + `"delta":{"type":"input_json_delta","partial_json":` + quote(c.args) + `}}`)
			}
			return out + named(`{`+field("index", c.index)+`"type":"content_block_stop"}`)
		},
		broke: named(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
		fail: func(w why) (int, string) {
			switch w {
			case whyPause:
				return failure(429, "rate_limit_error", "This request would exceed the rate limit")
			case whyQuota:
				return failure(400, "invalid_request_error", "Your credit balance is too low to access the API.")
			case whyContext:
				return failure(400, "invalid_request_error", "prompt is too long: 205000 tokens > 200000 maximum")
			case whyPairs:
				return failure(400, "invalid_request_error", "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: c1")
			case whyEmpty:
				return failure(400, "invalid_request_error", "messages: text content blocks must be non-empty")
			default:
				return failure(400, "invalid_request_error", "Some words")
			}
		},
	}
}

func geminiVoice() voice {
	parts := func(part, rest string) string {
		return event(`{"candidates":[{"content":{"parts":[` + part + `],"role":"model"},"index":0` + rest + `}`)
	}
	failure := func(status int, kind, words, details string) (int, string) {
		return status, fmt.Sprintf(`{"error":{"code":%d,"message":%s,"status":%q,"details":[%s]}}`, status, quote(words), kind, details)
	}
	return voice{
		kind: KindGemini, dialect: provider.Gemini, vendor: "Google",
		finish: parts(`{"text":""}`, `,"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5}`),
		text:   func(s string) string { return parts(`{"text":`+quote(s)+`}`, "}]") },
		call: func(c call) string {
			args := ""
			if c.args != "" {
				args = `,"args":` + c.args
			}
			return parts(`{"functionCall":{`+field("id", quoted(c.id))+`"name":`+quote(c.name)+args+`}}`, "}]")
		},
		broke: event(`{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`),
		fail: func(w why) (int, string) {
			switch w {
			case whyPause:
				return failure(429, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric", `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"30s"}`)
			case whyQuota:
				return failure(403, "PERMISSION_DENIED", "This API method requires billing to be enabled.", `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"BILLING_DISABLED"}`)
			case whyContext:
				return failure(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "")
			case whyPairs:
				return failure(400, "INVALID_ARGUMENT", "Please ensure that function call turn comes immediately after a user turn or after a function response turn.", "")
			case whyEmpty:
				return failure(400, "INVALID_ARGUMENT", "Unable to submit request because it must have a text parameter.", "")
			default:
				return failure(400, "INVALID_ARGUMENT", "Some words", `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"CODE_OF_IT"}`)
			}
		},
	}
}
