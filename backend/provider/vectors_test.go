package provider

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"galley/backend/fault"
)

// TestClassify_Vectors reads the refused requests of all dialects, since
// failures are classified in one place for all of them.
//
// covers: K6
func TestClassify_Vectors(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../agent/core/testdata/patch/streams.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		ID   string `json:"id"`
		HTTP struct {
			Status  int               `json:"status"`
			Headers map[string]string `json:"headers"`
		} `json:"http"`
		Chunks []json.RawMessage `json:"chunks"`
		Expect struct {
			Fault   fault.Code `json:"fault"`
			RetryMs int64      `json:"retryAfterMs"`
		} `json:"expect"`
	}
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, r := range rows {
		var body strings.Builder
		for _, c := range r.Chunks {
			var s string
			if json.Unmarshal(c, &s) == nil {
				body.WriteString(s)
			}
		}
		text := strings.TrimSpace(body.String())
		inPlace := r.HTTP.Status == 200 && r.Expect.Fault != "" && strings.HasPrefix(strings.TrimLeft(text, "["), `{"error"`)
		if r.HTTP.Status < 400 && !inPlace {
			continue
		}
		ran++
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			h := make(http.Header)
			for k, v := range r.HTTP.Headers {
				h.Set(k, v)
			}
			res := &http.Response{StatusCode: r.HTTP.Status, Header: h, Body: http.NoBody}
			a := testAttempt(t)
			kind, rest, err := sniff(strings.NewReader(body.String()))
			var got error
			switch {
			case err != nil:
				got = a.apiFault(res, nil)
			case kind == bodyPage:
				res.Body = nopCloser{rest}
				got = a.statusFault(res)
			default:
				got = a.apiFault(res, readError(rest, kind))
			}
			f := fault.From(got)
			if f.Code != r.Expect.Fault {
				t.Errorf("%v, want %s", f, r.Expect.Fault)
			}
			if (f.Code == fault.RateLimited || f.Code == fault.Overloaded) && f.RetryAfter.Milliseconds() != r.Expect.RetryMs {
				t.Errorf("retry after %v, want %d ms", f.RetryAfter, r.Expect.RetryMs)
			}
		})
	}
	if ran < 60 {
		t.Errorf("only %d rows ran", ran)
	}
}

// TestClassify holds the neighbours of the rows: what real servers say in other
// words.
//
// covers: K6
func TestClassify(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status int
		body   string
		want   fault.Code
	}{
		{"openai too many tokens a minute", 429, `{"error":{"message":"Request too large for m on tokens per min (TPM): Limit 10000, Requested 12000. The input or output tokens must be reduced.","type":"tokens","code":"rate_limit_exceeded"}}`, fault.RateLimited},
		{"vllm output too long", 400, `{"object":"error","message":"'max_tokens' or 'max_completion_tokens' is too large: 9000. This model's maximum context length is 8192 tokens and your request has 100 input tokens","type":"BadRequestError","param":"max_tokens","code":400}`, fault.BadRequest},
		{"openai output too long", 400, `{"error":{"message":"max_tokens is too large: 90000. This model supports at most 16384 completion tokens, whereas you provided 90000.","type":"invalid_request_error","param":"max_tokens","code":"invalid_value"}}`, fault.BadRequest},
		{"name too long", 400, `{"error":{"message":"Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with length 70 instead.","type":"invalid_request_error","param":"tools[0].function.name","code":"string_above_max_length"}}`, fault.BadRequest},
		{"dashscope input", 400, `{"code":"InvalidParameter","message":"Range of input length should be [1, 30720]"}`, fault.ContextTooLong},
		{"chinese context", 400, `{"error":{"message":"输入内容超过模型最大长度"}}`, fault.ContextTooLong},
		{"chinese pace", 429, `{"error":{"message":"超过每分钟 token 限制"}}`, fault.RateLimited},
		{"moonshot balance", 429, `{"error":{"message":"Your account is suspended","type":"exceeded_current_quota_error"}}`, fault.Quota},
		{"429 words of quota", 429, `{"error":{"message":"You exceeded your current quota"}}`, fault.RateLimited},
		{"chinese balance", 402, `{"error":{"message":"余额不足"}}`, fault.Quota},
		{"400 credit", 400, `{"error":{"message":"Not enough credits left on the account","type":"invalid_request_error"}}`, fault.Quota},
		{"ollama tools", 400, `{"error":{"message":"registry.ollama.ai/library/m does not support tools","type":"api_error"}}`, fault.UnsupportedByModel},
		{"vllm tools", 400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","code":400}`, fault.UnsupportedByModel},
		{"tool schema", 400, `{"error":{"message":"Invalid schema for function 'f': 'oneOf' is not supported","type":"invalid_request_error"}}`, fault.BadRequest},
		{"xai key", 400, `{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***. You can obtain an API key from the console."}`, fault.BadKey},
		{"ollama model", 404, `{"error":{"message":"model \"pine\" not found, try pulling it first","type":"api_error"}}`, fault.ModelNotFound},
		{"openrouter model", 400, `{"error":{"message":"foo/bar is not a valid model ID","code":400}}`, fault.ModelNotFound},
		{"chinese model", 400, `{"error":{"message":"模型 甲 不存在"}}`, fault.ModelNotFound},
		{"moderation", 403, `{"error":{"message":"Your chosen model requires moderation and your input was flagged","code":403,"metadata":{"reasons":["violence"],"flagged_input":"words of the person"}}}`, fault.Refused},
		{"upstream in raw", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"too long\",\"code\":\"context_length_exceeded\"}}"}}}`, fault.ContextTooLong},
		{"fastapi", 422, `{"detail":[{"loc":["body","x"],"msg":"Extra inputs are not permitted","type":"extra_forbidden"}]}`, fault.BadRequest},
		{"stream in a refusal", 429, "data: {\"error\":{\"message\":\"Wait\"}}\n\n", fault.RateLimited},
		{"method", 405, `{"detail":"Method Not Allowed"}`, fault.NotAnAPI},
		{"teapot", 418, `short and stout`, fault.ProviderError},
		{"timeout of a gateway", 408, ``, fault.ProviderError},
		{"numeric code", 200, `{"error":{"code":401,"message":"No auth credentials found"}}`, fault.BadKey},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := testAttempt(t)
			res := &http.Response{StatusCode: tt.status, Header: make(http.Header)}
			kind, rest, err := sniff(strings.NewReader(tt.body))
			var api *APIError
			if err == nil {
				api = readError(rest, kind)
			}
			f := fault.From(a.apiFault(res, api))
			if f.Code != tt.want {
				t.Errorf("%v, want %s", f, tt.want)
			}
			if strings.Contains(f.Detail, "words of the person") {
				t.Errorf("the detail quotes the person: %s", f.Detail)
			}
		})
	}
}

// TestRetryAfter reads the ways of asking for a pause.
//
// covers: K6
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := []struct {
		name   string
		header map[string]string
		api    *APIError
		want   time.Duration
	}{
		{name: "none"},
		{"seconds", map[string]string{"Retry-After": "30"}, nil, 30 * time.Second},
		{"fraction", map[string]string{"Retry-After": "1.5"}, nil, 1500 * time.Millisecond},
		{"ms first", map[string]string{"Retry-After-Ms": "250", "Retry-After": "9"}, nil, 250 * time.Millisecond},
		{"bad ms", map[string]string{"Retry-After-Ms": "x", "Retry-After": "9"}, nil, 9 * time.Second},
		{"negative", map[string]string{"Retry-After": "-3"}, nil, 0},
		{"endless", map[string]string{"Retry-After": "1e300"}, nil, 0},
		{"no number", map[string]string{"Retry-After": "NaN"}, nil, 0},
		{"date", map[string]string{"Retry-After": "Thu, 02 Jan 2031 03:05:05 GMT"}, nil, time.Minute},
		{"past date", map[string]string{"Retry-After": "Thu, 02 Jan 2031 03:00:00 GMT"}, nil, 0},
		{"google", nil, &APIError{retry: 34 * time.Second}, 34 * time.Second},
		{"header before google", map[string]string{"Retry-After": "2"}, &APIError{retry: 34 * time.Second}, 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := make(http.Header)
			for k, v := range tt.header {
				h.Set(k, v)
			}
			if got := retryAfter(h, tt.api, now); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestRetryDelay holds the policy: what is tried again, how often, how long.
//
// covers: K6
func TestRetryDelay(t *testing.T) {
	t.Parallel()
	again := map[fault.Code]bool{
		fault.RateLimited: true, fault.Overloaded: true, fault.ProviderError: true,
		fault.Stalled: true, fault.StreamCut: true, fault.ConnectionRefused: true,
	}
	for _, code := range fault.Codes() {
		err := fault.New(code, "chat", nil)
		d, ok := RetryDelay(err, 1, false, 0.5)
		if ok != again[code] {
			t.Errorf("%s: retried %v, want %v", code, ok, again[code])
		}
		if ok && (d < 500*time.Millisecond || d > time.Second) {
			t.Errorf("%s: first wait %v", code, d)
		}
		if _, ok := RetryDelay(err, 1, true, 0.5); ok {
			t.Errorf("%s: retried after a visible word", code)
		}
		if _, ok := RetryDelay(err, MaxAttempts, false, 0.5); ok {
			t.Errorf("%s: retried for ever", code)
		}
	}
	second, _ := RetryDelay(fault.New(fault.Overloaded, "", nil), 2, false, 0)
	if second != time.Second {
		t.Errorf("second wait %v", second)
	}
	asked := &fault.Error{Code: fault.RateLimited, RetryAfter: 30 * time.Second}
	if d, ok := RetryDelay(asked, 1, false, 0.5); !ok || d < 30*time.Second || d > 31*time.Second {
		t.Errorf("asked for 30 s, waits %v %v", d, ok)
	}
	asked.RetryAfter = 61 * time.Second
	if _, ok := RetryDelay(asked, 1, false, 0.5); ok {
		t.Error("waits longer than a minute without asking the person")
	}
	if _, ok := RetryDelay(nil, 1, false, 0.5); ok {
		t.Error("retries what did not fail")
	}
}
