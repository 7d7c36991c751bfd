package provider

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// APIError is what a provider said of a failure, read from whatever shape it
// came in (decision 24).
type APIError struct {
	// Status is an HTTP status found in the error itself; 0 for none.
	Status int
	Code   string
	Type   string
	Param  string
	// Message is the provider's own words, not yet redacted.
	Message string

	// more holds further codes: reasons in details, inner errors.
	more []string
	// flagged says that a moderation quoted what it took offence at.
	flagged bool
	// retry is Google's RetryInfo; negative for none.
	retry time.Duration
	// context is llama.cpp's n_ctx; 0 for none.
	context int
}

// Error implements error with the codes only, since the words may hold
// anything.
func (e *APIError) Error() string {
	return strings.Join(strings.Fields("provider error "+e.Type+" "+e.Code), " ")
}

// ParseError reads an error from JSON. Without lenient it must say that it is
// one: a field "error" that is not null or empty, or the type or object
// "error", or a message with a code and no answer beside it. With lenient, for
// the body of a failed request, any words will do.
func ParseError(data []byte, lenient bool) (*APIError, bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil, false
	}
	return errorOf(v, lenient, 0)
}

func errorOf(v any, lenient bool, depth int) (*APIError, bool) {
	if depth > 4 {
		return nil, false
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if e, ok := errorOf(item, lenient, depth+1); ok {
				return e, true
			}
		}
	case string:
		if lenient && strings.TrimSpace(v) != "" {
			return &APIError{Message: v, retry: -1}, true
		}
	case map[string]any:
		return errorOfObject(v, lenient, depth)
	}
	return nil, false
}

func errorOfObject(m map[string]any, lenient bool, depth int) (*APIError, bool) {
	for _, name := range []string{"error", "errors"} {
		inner, ok := errorOf(m[name], true, depth+1)
		if !ok {
			continue
		}
		// What stands beside the error belongs to it (xAI's code).
		if beside, ok := flatError(m); ok {
			inner.fill(beside)
		}
		return inner, true
	}
	if e, ok := m["error"]; ok && !isEmpty(e) {
		return &APIError{retry: -1}, true // {"error": true}
	}
	if choices, ok := m["choices"].([]any); ok {
		for _, c := range choices {
			if c, ok := c.(map[string]any); ok && !isEmpty(c["error"]) {
				return errorOfObject(map[string]any{"error": c["error"]}, lenient, depth+1)
			}
		}
		return nil, false
	}
	e, ok := flatError(m)
	if !ok {
		return nil, false
	}
	says := m["object"] == "error" || m["type"] == "error"
	coded := e.Message != "" && (e.Code != "" || e.Status != 0)
	if says || coded || lenient {
		return e, true
	}
	return nil, false
}

// flatError reads the fields of an error object itself.
func flatError(m map[string]any) (*APIError, bool) {
	e := &APIError{retry: -1}
	for _, name := range []string{"message", "msg", "error_description", "detail", "error_msg"} {
		if s := words(m[name]); s != "" {
			e.Message = s
			break
		}
	}
	e.Code = word(m["code"])
	if e.Code == "" {
		e.Code = word(m["error_code"])
	}
	e.Param = word(m["param"])
	for _, name := range []string{"detail", "message", "errors"} {
		e.addPlace(m[name], 0)
	}
	if n, ok := m["n_ctx"].(json.Number); ok {
		e.context, _ = strconv.Atoi(n.String())
	}
	if t := word(m["type"]); t != "error" {
		e.Type = t
	}
	e.Status = asStatus(e.Code)
	switch status := m["status"].(type) {
	case string:
		if n := asStatus(status); n != 0 {
			e.Status = n
		} else if e.Type == "" {
			e.Type = status
		} else {
			e.more = append(e.more, status)
		}
	case json.Number:
		if n := asStatus(status.String()); n != 0 && e.Status == 0 {
			e.Status = n
		}
	}
	if inner, ok := m["innererror"].(map[string]any); ok {
		e.more = append(e.more, word(inner["code"]))
	}
	if details, ok := m["details"].([]any); ok {
		e.addDetails(details)
	}
	if meta, ok := m["metadata"].(map[string]any); ok {
		e.addMetadata(meta)
	}
	found := e.Message != "" || e.Code != "" || e.Type != "" || e.Status != 0
	return e, found
}

// addPlace reads where in the request a validator of Python found something:
// {"loc": ["body", "temperature"], "type": "extra_forbidden"}, in a list, which
// may stand in an object. The first one counts.
func (e *APIError) addPlace(v any, depth int) {
	if depth > 3 || e.Param != "" {
		return
	}
	switch v := v.(type) {
	case []any:
		if len(v) > 0 {
			e.addPlace(v[0], depth+1)
		}
	case map[string]any:
		loc, ok := v["loc"].([]any)
		if !ok {
			e.addPlace(v["detail"], depth+1)
			return
		}
		var path []string
		for _, part := range loc {
			path = append(path, word(part))
		}
		e.Param = strings.Join(path, ".")
		e.more = append(e.more, word(v["type"]))
	}
}

// addDetails reads Google's list of details.
func (e *APIError) addDetails(details []any) {
	for _, d := range details {
		d, ok := d.(map[string]any)
		if !ok {
			continue
		}
		if reason := word(d["reason"]); reason != "" {
			e.more = append(e.more, reason)
		}
		if fields, ok := d["fieldViolations"].([]any); ok && len(fields) > 0 && e.Param == "" {
			if first, ok := fields[0].(map[string]any); ok {
				e.Param = word(first["field"])
			}
		}
		delay, ok := d["retryDelay"].(string)
		if !ok || !strings.HasSuffix(word(d["@type"]), "RetryInfo") {
			continue
		}
		if wait, err := time.ParseDuration(delay); err == nil && wait >= 0 {
			e.retry = wait.Round(time.Millisecond)
		}
	}
}

// addMetadata reads what OpenRouter says of the provider behind it.
func (e *APIError) addMetadata(meta map[string]any) {
	// The text that was flagged is the person's: it is noticed, not kept.
	if !isEmpty(meta["flagged_input"]) {
		e.flagged = true
	}
	raw, ok := meta["raw"].(string)
	if !ok || raw == "" {
		return
	}
	if inner, ok := ParseError([]byte(raw), true); ok {
		e.more = append(e.more, inner.Code, inner.Type)
		e.more = append(e.more, inner.more...)
		raw = inner.Message
	}
	if raw != "" {
		e.Message = strings.TrimSpace(e.Message + " " + raw)
	}
}

// fill takes from b what e lacks.
func (e *APIError) fill(b *APIError) {
	if e.Status == 0 {
		e.Status = b.Status
	}
	if e.Code == "" {
		e.Code = b.Code
	}
	if e.Type == "" {
		e.Type = b.Type
	}
	if e.Message == "" {
		e.Message = b.Message
	}
	if e.Param == "" {
		e.Param = b.Param
	}
	e.more = append(e.more, b.more...)
	if e.context == 0 {
		e.context = b.context
	}
	if e.retry < 0 {
		e.retry = b.retry
	}
}

// isEmpty reports whether a JSON value says nothing (decision 7).
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return strings.TrimSpace(v) == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// word returns a JSON string or number as text.
func word(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case json.Number:
		return v.String()
	}
	return ""
}

// words returns a message; some servers send a list of objects.
func words(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case []any:
		var all []string
		for _, item := range v {
			if s := words(item); s != "" {
				all = append(all, s)
			}
		}
		return strings.Join(all, "; ")
	case map[string]any:
		for _, name := range []string{"message", "msg", "detail"} {
			if s := words(v[name]); s != "" {
				return s
			}
		}
	}
	return ""
}

// asStatus reads a number as an HTTP status of a failure; 0 when it is none.
func asStatus(s string) int {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || f < 400 || f > 599 {
		return 0
	}
	return int(f)
}
