package provider

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"galley/backend/fault"
)

// TestRefusal reads what servers say of a parameter that they do not take, and
// of sizes. Each request had sent the parameters that the dialect of the words
// sends.
//
// covers: K6 K10
func TestRefusal(t *testing.T) {
	t.Parallel()
	chat := []string{"max_completion_tokens", "temperature", "reasoning_effort", "stream_options"}
	legacy := []string{"max_tokens", "temperature", "reasoning_effort", "stream_options"}
	responses := []string{"max_output_tokens", "temperature", "reasoning.effort", "reasoning.summary", "include"}
	messages := []string{"temperature", "thinking", "output_config.effort"}
	gemini := []string{"generationConfig.temperature", "generationConfig.thinkingConfig", "generationConfig.maxOutputTokens"}
	tests := []struct {
		name            string
		sent            []string
		status          int
		body            string
		param           string
		context, output int
	}{
		{"openai max_tokens", legacy, 400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`, "max_tokens", 0, 0},
		{"openai temperature value", chat, 400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`, "temperature", 0, 0},
		{"openai effort argument", chat, 400, `{"error":{"message":"Unrecognized request argument supplied: reasoning_effort","type":"invalid_request_error","param":null,"code":null}}`, "reasoning_effort", 0, 0}, //nolint:misspell // its words
		{"openai effort value", chat, 400, `{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'low', 'medium', and 'high'.","type":"invalid_request_error","param":"reasoning_effort","code":"unsupported_value"}}`, "reasoning_effort", 0, 0},
		{"openai effort with tools", chat, 400, `{"error":{"message":"Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions.","type":"invalid_request_error","param":"reasoning_effort","code":null}}`, "reasoning_effort", 0, 0},
		{"responses temperature", responses, 400, `{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","type":"invalid_request_error","param":"temperature","code":null}}`, "temperature", 0, 0},
		{"responses effort", responses, 400, `{"error":{"message":"Unsupported parameter: 'reasoning.effort' is not supported with this model.","type":"invalid_request_error","param":"reasoning.effort","code":"unsupported_parameter"}}`, "reasoning.effort", 0, 0},
		{"responses encrypted", responses, 400, `{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include","code":null}}`, "include", 0, 0},
		{"azure in words", legacy, 400, `{"error":{"code":"BadRequest","message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}`, "max_tokens", 0, 0},
		{"anthropic deprecated", messages, 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"`temperature` is deprecated for this model.\"}}", "temperature", 0, 0},
		{"anthropic thinking on", messages, 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"`temperature` may only be set to 1 when thinking is enabled.\"}}", "temperature", 0, 0},
		{"anthropic adaptive", messages, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"adaptive thinking is not supported on this model"}}`, "thinking", 0, 0},
		{"anthropic effort", messages, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"This model does not support the effort parameter."}}`, "output_config.effort", 0, 0},
		{"anthropic extra", messages, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"output_config: Extra inputs are not permitted"}}`, "output_config.effort", 0, 0},
		{"gemini unknown name", gemini, 400, `{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"thinkingConfig\" at 'generation_config': Cannot find field.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"generation_config","description":"x"}]}]}}`, "generationConfig.thinkingConfig", 0, 0},
		{"gemini thinking", gemini, 400, `{"error":{"code":400,"message":"Thinking level is not supported for this model.","status":"INVALID_ARGUMENT"}}`, "generationConfig.thinkingConfig", 0, 0},
		{"gemini budget", gemini, 400, `{"error":{"code":400,"message":"Budget 0 is invalid. This model only works in thinking mode.","status":"INVALID_ARGUMENT"}}`, "generationConfig.thinkingConfig", 0, 0},
		{"xai", legacy, 400, `{"code":"Client specified an invalid argument","error":"Argument not supported on this model: reasoning_effort"}`, "reasoning_effort", 0, 0},
		{"xai camel", legacy, 400, `{"code":"invalid-argument","error":"Model grok-4 does not support parameter reasoningEffort."}`, "reasoning_effort", 0, 0},
		{"mistral", legacy, 422, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","reasoning_effort"],"msg":"Extra inputs are not permitted","input":"low"}]},"type":"invalid_request_error","param":null,"code":null}`, "reasoning_effort", 0, 0},
		{"fastapi", legacy, 422, `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`, "stream_options", 0, 0},
		{"groq", legacy, 400, "{\"error\":{\"message\":\"property 'reasoning_effort' is unsupported\",\"type\":\"invalid_request_error\"}}", "reasoning_effort", 0, 0},
		{"cerebras", legacy, 400, `{"message":"body.stream_options: property 'body.stream_options' is unsupported","type":"invalid_request_error","param":"validation_error","code":"wrong_api_format"}`, "stream_options", 0, 0},
		{"serde", legacy, 422, "{\"error\":{\"message\":\"Failed to deserialize the JSON body into the target type: unknown field `stream_options`, expected one of `model`, `messages`, `temperature`\"}}", "stream_options", 0, 0},
		{"ollama thinking", legacy, 400, `{"error":{"message":"\"pine:4b\" does not support thinking","type":"invalid_request_error"}}`, "reasoning_effort", 0, 0},
		{"zod", legacy, 400, `{"error":"Unrecognized key(s) in object: 'stream_options'"}`, "stream_options", 0, 0}, //nolint:misspell // its words
		{"json schema", legacy, 400, `{"error":{"message":"Additional properties are not allowed ('stream_options' was unexpected)"}}`, "stream_options", 0, 0},
		{"litellm", legacy, 400, `{"error":{"message":"litellm.UnsupportedParamsError: fern does not support parameters: ['reasoning_effort'], for model=fern-2","type":"None","param":"None","code":"400"}}`, "reasoning_effort", 0, 0},
		{"kimi", legacy, 400, `{"error":{"message":"invalid temperature: only 1 is allowed for this model","type":"invalid_request_error"}}`, "temperature", 0, 0},
		{"chinese", legacy, 400, `{"error":{"message":"该模型不支持参数 temperature"}}`, "temperature", 0, 0},
		{"named, no words", legacy, 400, `{"error":{"message":"Invalid request","param":"stream_options","type":"invalid_request_error"}}`, "stream_options", 0, 0},

		{"never one that was not sent", []string{"max_tokens"}, 400, `{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","param":"temperature","code":"unsupported_parameter"}}`, "", 0, 0},
		{"nor in words", []string{"max_tokens"}, 400, `{"error":{"message":"Unrecognized request argument supplied: top_k"}}`, "", 0, 0}, //nolint:misspell // its words
		{"no part of a name", []string{"temperature"}, 400, `{"error":{"message":"Unknown parameter: 'min_temperature'"}}`, "", 0, 0},
		{"another parameter", chat, 400, `{"error":{"message":"Invalid schema, temperature is not supported in it","param":"tools[0].function.parameters"}}`, "", 0, 0},
		{"out of range", chat, 400, `{"error":{"message":"Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.","type":"invalid_request_error","param":"temperature","code":"decimal_above_max_value"}}`, "", 0, 0},
		{"anthropic range", messages, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"temperature: range: 0..1"}}`, "", 0, 0},
		{"a value that is not allowed", chat, 400, `{"error":{"message":"temperature is not allowed to be greater than 2"}}`, "", 0, 0},
		{"a value that is not supported", chat, 400, `{"error":{"message":"The value 3 is not supported: must be at most 2","param":"temperature"}}`, "", 0, 0},
		{"wrong key", chat, 401, `{"error":{"message":"temperature is not supported","code":"invalid_api_key"}}`, "", 0, 0},
		{"far away in words", legacy, 400, `{"error":{"message":"` + strings.Repeat("x ", 4000) + ` temperature is not supported"}}`, "", 0, 0},

		{"a server that broke down", messages, 500, `{"error":{"message":"unexpected EOF while thinking"}}`, "", 0, 0},
		{"a server behind it", legacy, 502, `{"error":{"message":"upstream reasoning service: unknown host, not available"}}`, "", 0, 0},
		{"an unknown error", messages, 400, `{"error":{"message":"unknown error while thinking"}}`, "", 0, 0},
		{"no JSON", legacy, 400, `{"error":{"message":"Invalid JSON: unexpected character near temperature"}}`, "", 0, 0},
		{"refused with 500", legacy, 500, `{"error":{"message":"this model does not support thinking"}}`, "reasoning_effort", 0, 0},

		{"openai output", legacy, 400, `{"error":{"message":"max_tokens is too large: 90000. This model supports at most 16384 completion tokens, whereas you provided 90000.","type":"invalid_request_error","param":"max_tokens","code":"invalid_value"}}`, "", 0, 16384},
		{"anthropic output", messages, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for larch-4"}}`, "", 0, 64000},
		{"gemini output", gemini, 400, `{"error":{"code":400,"message":"Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive). Update the value and try again.","status":"INVALID_ARGUMENT"}}`, "", 0, 65536},
		{"deepseek output", legacy, 400, `{"error":{"message":"Invalid max_tokens value, the valid range of max_tokens is [1, 8192]","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, "", 0, 8192},
		{"groq output", chat, 400, "{\"error\":{\"message\":\"`max_completion_tokens` must be less than or equal to `32768`, the maximum value for `max_completion_tokens` is less than the `context_window` for this model\",\"type\":\"invalid_request_error\",\"param\":\"max_completion_tokens\"}}", "", 0, 32768},
		{"pydantic output", legacy, 422, `{"detail":[{"type":"less_than_equal","loc":["body","max_tokens"],"msg":"Input should be less than or equal to 4096"}]}`, "", 0, 4096},
		{"vllm output", legacy, 400, `{"object":"error","message":"'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 tokens and your request has 100 input tokens (9000 > 8192 - 100).","type":"BadRequestError","param":"max_tokens","code":400}`, "", 8192, 0},

		{"openai context", chat, 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, "", 8192, 0},
		{"openrouter context", legacy, 400, `{"error":{"message":"This endpoint's maximum context length is 131,072 tokens. However, you requested about 200000 tokens","code":400}}`, "", 131072, 0},
		{"anthropic context", messages, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 205000 tokens > 200000 maximum"}}`, "", 200000, 0},
		{"anthropic sum", messages, 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again\"}}", "", 200000, 0},
		{"gemini context", gemini, 400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, "", 1048576, 0},
		{"llama.cpp context", legacy, 400, `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`, "", 4096, 0},
		{"llama.cpp words", legacy, 400, `{"error":{"code":400,"message":"request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error"}}`, "", 4096, 0},
		{"lm studio context", legacy, 400, `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}`, "", 4096, 0},
		{"mistral context", legacy, 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","code":"3051"}`, "", 32768, 0},
		{"xai context", legacy, 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, "", 131072, 0},
		{"dashscope context", legacy, 400, `{"code":"InvalidParameter","message":"Range of input length should be [1, 30720]"}`, "", 30720, 0},
		{"tgi context", legacy, 422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`\",\"error_type\":\"validation\"}", "", 4096, 0},
		{"chinese context", legacy, 400, `{"error":{"message":"输入内容超过模型最大长度 32768"}}`, "", 32768, 0},
		{"context without a size", legacy, 413, ``, "", 0, 0},
		{"written short", legacy, 400, `{"error":{"message":"This model's maximum context length is 256k tokens, but the prompt has 300000."}}`, "", 256000, 0},
		{"written shorter", legacy, 400, `{"error":{"message":"This model's maximum context length is 1.5M tokens, and 2M were sent"}}`, "", 0, 0},
		{"output written short", legacy, 400, `{"error":{"message":"max_tokens must be less than or equal to 32k"}}`, "", 0, 32000},
		{"a limit by the minute", legacy, 413, `{"error":{"message":"Request too large on tokens per minute (TPM): the limit is 6000 tokens, requested 9000, please reduce your message size"}}`, "", 0, 0},
		{"characters", legacy, 400, `{"error":{"message":"输入长度不能超过 30000 字符"}}`, "", 0, 0},
		{"absurd size", chat, 400, `{"error":{"message":"maximum context length is 12 tokens","code":"context_length_exceeded"}}`, "", 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := testAttempt(t)
			a.optional = tt.sent
			res := &http.Response{StatusCode: tt.status, Header: make(http.Header)}
			var api *APIError
			if kind, rest, err := sniff(strings.NewReader(tt.body)); err == nil {
				api = readError(rest, kind)
			}
			failed := a.apiFault(res, api)
			got, want := &RefusedParam{}, &RefusedParam{Name: tt.param}
			if p, ok := errors.AsType[*RefusedParam](failed); ok {
				got = p
			}
			if *got != *want {
				t.Errorf("parameter %q, want %q (%v)", got.Name, want.Name, failed)
			}
			gotSize, wantSize := &NamedSize{}, &NamedSize{Context: tt.context, Output: tt.output}
			if s, ok := errors.AsType[*NamedSize](failed); ok {
				gotSize = s
			}
			if *gotSize != *wantSize {
				t.Errorf("sizes %+v, want %+v (%v)", *gotSize, *wantSize, failed)
			}
		})
	}
}

// TestRefusal_Opaque: data of an earlier turn that is refused is told from a
// parameter that is, in the words of several providers.
//
// covers: K2
func TestRefusal_Opaque(t *testing.T) {
	t.Parallel()
	sent := []string{"include", "thinking", "reasoning.effort", "generationConfig.thinkingConfig"}
	tests := []struct {
		body string
		want bool
	}{
		{`{"error":{"message":"The encrypted content gAAA could not be verified. Reason: Encrypted content could not be decrypted or parsed.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`, true},
		{`{"error":{"message":"The encrypted content for item rs_01 could not be verified.","type":"invalid_request_error"}}`, true},
		{`{"error":{"message":"Item 'rs_01ab' of type 'reasoning' was provided without its required following item.","type":"invalid_request_error"}}`, true},
		{`{"error":{"message":"Item with id 'rs_01ab' not found. Items are not persisted when store is set to false.","type":"invalid_request_error","param":"input"}}`, true},
		{"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}", true},
		{"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.3.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.\"}}", true},
		{`{"error":{"code":400,"message":"Thought signature is not valid","status":"INVALID_ARGUMENT"}}`, true},
		{`{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}`, true},
		{`{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include"}}`, false},
		{`{"type":"error","error":{"type":"invalid_request_error","message":"adaptive thinking is not supported on this model"}}`, false},
		{`{"error":{"message":"The signature of the deed is at the end of the text","type":"invalid_request_error"}}`, false},
	}
	for _, tt := range tests {
		api, _ := ParseError([]byte(tt.body), true)
		_, got := errors.AsType[*RefusedOpaque](refusal(Classify(400, api), api, sent))
		if got != tt.want {
			t.Errorf("%v for %s", got, tt.body)
		}
	}
}

// TestRefusal_Tools: what only a flag or a place withholds says nothing of the
// model.
//
// covers: K10
func TestRefusal_Tools(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		"registry.ollama.ai/library/m does not support tools":                                      true,
		"This model does not support tool use":                                                     true,
		"模型不支持工具调用":                                                                                true,
		`\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`: false,
		"tools are not supported without the --jinja flag":                                         false,
		"m does not support tools in your region":                                                  false,
	} {
		api, _ := ParseError([]byte(`{"error":{"message":"`+message+`","code":400}}`), true)
		code := Classify(400, api)
		_, got := errors.AsType[*RefusedTools](refusal(code, api, nil))
		if code != fault.UnsupportedByModel || got != want {
			t.Errorf("%s: %s, learned %v", message, code, got)
		}
	}
}

// FuzzRefusal: whatever is said, only what was sent is learned, and no size that
// cannot be.
func FuzzRefusal(f *testing.F) {
	f.Add(`{"error":{"message":"Unsupported parameter: 'max_tokens'","param":"max_tokens"}}`, "max_tokens")
	f.Add(`{"detail":[{"loc":["body","temperature"],"type":"extra_forbidden"}]}`, "temperature")
	f.Add(`{"error":{"message":"maximum context length is 8192 tokens"}}`, "generationConfig.x")
	f.Fuzz(func(t *testing.T, body, sent string) {
		api, ok := ParseError([]byte(body), true)
		if !ok {
			return
		}
		err := refusal(Classify(400, api), api, []string{sent})
		if p, ok := errors.AsType[*RefusedParam](err); ok && p.Name != sent {
			t.Errorf("%q was not sent", p.Name)
		}
		if s, ok := errors.AsType[*NamedSize](err); ok && (s.Context < 0 || s.Context > maxSize || s.Output < 0 || s.Output > maxSize) {
			t.Errorf("size %+v", s)
		}
	})
}

// TestClassify_ToolsForNow: a server that cannot do it at the moment says nothing
// of what its model can.
//
// covers: K6 K10
func TestClassify_ToolsForNow(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]fault.Code{400: fault.UnsupportedByModel, 503: fault.Overloaded, 529: fault.Overloaded} {
		if got := Classify(status, &APIError{Message: "Tool calling is not available", retry: -1}); got != want {
			t.Errorf("%d: %s, want %s", status, got, want)
		}
	}
}
