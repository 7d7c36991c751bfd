package openairesponses

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
	"galley/backend/provider/streamtest"
)

// decodeAll feeds a stream to a decoder as the client does.
func decodeAll(data []byte) (*decoder, string, error) {
	var said strings.Builder
	d := newDecoder(provider.Profile{}, hello(), sent{}, func(x core.Delta) { said.WriteString(x.Text) })
	d.Begin(provider.NewRedactor())
	events := provider.NewEventReader(bytes.NewReader(data))
	for {
		ev, err := events.Next()
		if err != nil || ev.Done {
			return d, said.String(), nil
		}
		whole := d.Finished()
		if err := d.Event(ev); err != nil && !whole {
			return d, said.String(), err
		}
	}
}

// FuzzDecoder: whatever comes, an answer is one that can be acted on: its calls
// are objects or marked, only an ordinary end has any, what goes back is JSON,
// and nothing runs of what failed.
func FuzzDecoder(f *testing.F) {
	rows, err := streamtest.Load(rowsFile, provider.Responses)
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range rows {
		if data := r.Joined().Chunks[0].Data; r.HTTP.Status == 200 && len(data) < 16<<10 {
			f.Add(data)
		}
	}
	f.Add([]byte(body(callAdded("i1", "0", "c1", "f"), argsDelta("i1", "0", `{"a"`), half, ended("incomplete", `{"reason":"x"}`, `[]`))))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, _, err := decodeAll(data)
		if err != nil {
			if a := d.partial(); len(a.Calls) > 0 {
				t.Errorf("a failed answer has calls: %+v", a)
			}
			_, api := errors.AsType[*provider.APIError](err)
			if !api && !errors.Is(err, dialect.ErrNotJSON) {
				t.Errorf("an error of no kind: %v", err)
			}
			return
		}
		a := d.answer("host.test pine")
		if len(a.Calls) > 0 != (a.Finish == core.FinishToolCalls) {
			t.Errorf("%d calls and %s", len(a.Calls), a.Finish)
		}
		if !utf8.ValidString(a.Text) || !utf8.ValidString(a.Reasoning) {
			t.Errorf("text is no UTF-8: %q %q", a.Text, a.Reasoning)
		}
		ids := make(map[string]bool)
		for _, c := range a.Calls {
			if c.ID == "" || ids[c.ID] || c.Invalid == (c.Arguments != nil) || !c.Invalid && !json.Valid(c.Arguments) {
				t.Errorf("call %+v", c)
			}
			ids[c.ID] = true
		}
		if len(a.Envelopes) > 1 {
			t.Errorf("%d envelopes", len(a.Envelopes))
		}
		// What was kept can go back, with all that was said.
		m, err := New(Config{BaseURL: "https://host.test"})
		if err != nil {
			t.Fatal(err)
		}
		turn := core.Message{Role: core.RoleAssistant, Parts: []core.Part{{Type: core.PartText, Text: a.Text}}}
		for _, c := range a.Calls {
			turn.Parts = append(turn.Parts, core.Part{Type: core.PartToolCall, ToolCallID: core.ToolCallID(c.ID), ProviderCallID: c.ProviderID, Name: c.Name, Input: c.Arguments})
		}
		if len(a.Envelopes) > 0 {
			a.Envelopes[0].Origin = m.Origin("pine")
			turn.Parts[0].Envelope = &a.Envelopes[0]
		}
		raw, _, err := m.encode(core.Request{Model: "pine", Messages: []core.Message{turn}})
		var back struct {
			Input []struct {
				Type    string `json:"type"`
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"input"`
		}
		if err != nil || !utf8.Valid(raw) || json.Unmarshal(raw, &back) != nil {
			t.Fatalf("it cannot go back: %s, %v", raw, err)
		}
		var text strings.Builder
		calls, results := 0, 0
		for i, item := range back.Input {
			switch item.Type {
			case "message":
				for _, c := range item.Content {
					text.WriteString(c.Text)
				}
			case "function_call":
				calls++
			case "function_call_output":
				results++
			case "reasoning":
				if i == len(back.Input)-1 {
					t.Errorf("nothing follows what was thought: %s", raw)
				}
			}
		}
		if text.String() != a.Text || calls != len(a.Calls) || results != calls {
			t.Errorf("%q with %d calls went back as %q with %d and %d results", a.Text, len(a.Calls), text.String(), calls, results)
		}
	})
}
