package dialect

import (
	"encoding/json"
	"errors"

	"galley/backend/agent/core"
	"galley/backend/provider"
)

// ErrNotJSON is returned for an event that is no JSON.
var ErrNotJSON = errors.New("an event that is no JSON")

// NamesError reports whether an event calls itself an error.
func NamesError(ev provider.Event) bool { return ev.Error || ev.Name == "error" }

// Plain returns the words of an event that is no JSON, as the error that it calls
// itself, else ErrNotJSON.
func Plain(ev provider.Event) error {
	if NamesError(ev) && ev.Data[0] != '{' && ev.Data[0] != '[' {
		return &provider.APIError{Message: string(ev.Data)}
	}
	return ErrNotJSON
}

// Event returns the fields of an event; none, without an error, for other JSON
// that says nothing. Where it is an error in a list or a string, that is what is
// returned.
func Event(ev provider.Event) (Fields, error) {
	var fields Fields
	if json.Unmarshal(ev.Data, &fields) == nil {
		return fields, nil
	}
	if !json.Valid(ev.Data) {
		return nil, Plain(ev)
	}
	if api, ok := provider.ParseError(ev.Data, NamesError(ev)); ok {
		return nil, api
	}
	return nil, nil
}

// Speakers returns those of text and of reasoning, which tell onDelta.
func Speakers(red *provider.Redactor, onDelta func(core.Delta)) [2]Speaker {
	return [2]Speaker{
		{Red: red, Say: func(s string) { onDelta(core.Delta{Text: s}) }},
		{Red: red, Say: func(s string) { onDelta(core.Delta{Reasoning: s}) }},
	}
}
