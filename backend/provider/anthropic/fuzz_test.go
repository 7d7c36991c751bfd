package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
	"galley/backend/provider/streamtest"
)

// FuzzDecoder: whatever a server sends, nothing panics, what is shown is what is
// answered, no call runs of an answer that failed or was cut, what is kept can
// be read again, and a request can be built of it.
//
// covers: X6
func FuzzDecoder(f *testing.F) {
	rows, err := streamtest.Load(rowsFile, provider.Messages)
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range rows {
		if body := r.Joined().Chunks[0].Data; len(body) < 8<<10 {
			f.Add(body)
		}
	}
	f.Add([]byte(thoughtStream))
	m, err := New(Config{BaseURL: "https://api.provider.test", Profile: "compatible"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var text, reasoning strings.Builder
		d := newDecoder(false, core.Request{}, dialect.Names{}, func(delta core.Delta) {
			text.WriteString(delta.Text)
			reasoning.WriteString(delta.Reasoning)
		})
		d.Begin(provider.NewRedactor("sk-ant-fuzz-0123456789"))
		var failed error
		if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed) {
			failed = d.Whole(trimmed)
		} else {
			events := provider.NewEventReader(bytes.NewReader(body))
			for failed == nil {
				ev, err := events.Next()
				if err != nil {
					break
				}
				if ev.Done {
					d.Done()
					break
				}
				if err := d.Event(ev); !d.Finished() {
					failed = err
				}
			}
		}
		if failed != nil || !d.Finished() {
			if a := d.partial(); len(a.Calls) > 0 || len(a.Envelopes) > 0 || a.Text != text.String() {
				t.Fatalf("a failed answer: %+v", a)
			}
			return
		}
		a := d.answer(m.Origin("heron-4"))
		if a.Text != text.String() || a.Reasoning != reasoning.String() {
			t.Fatalf("answered %q and %q, shown %q and %q", a.Text, a.Reasoning, text.String(), reasoning.String())
		}
		if (len(a.Calls) > 0) != (a.Finish == core.FinishToolCalls) {
			t.Fatalf("%s with %d calls", a.Finish, len(a.Calls))
		}
		msg := modelSays(textPart(a.Text))
		for _, c := range a.Calls {
			if c.Invalid == (c.Arguments != nil) || !c.Invalid && !dialect.IsObject(string(c.Arguments)) {
				t.Fatalf("call %+v", c)
			}
			msg.Parts = append(msg.Parts, callPart(core.ToolCallID(c.ID), c.ProviderID, c.Name, string(c.Arguments)))
		}
		for i := range a.Envelopes {
			var k kept
			msg.Parts[0].Envelope = &a.Envelopes[i]
			if !dialect.Open(msg, provider.Messages, m.Origin("heron-4"), &k) {
				t.Fatalf("what is kept cannot be read: %s", a.Envelopes[i].Raw)
			}
		}
		out, _ := m.encode(core.Request{Model: "heron-4", Messages: []core.Message{userSays("x"), msg}})
		raw, err := dialect.Marshal(out)
		if err != nil || !utf8.Valid(raw) {
			t.Fatalf("the next request: %v", err)
		}
		for _, turn := range out.Messages {
			last := dialect.Object(turn.Content[len(turn.Content)-1])
			if kind := dialect.Str(last["type"]); strings.HasSuffix(kind, "thinking") {
				t.Fatalf("a turn ends with %s", kind)
			}
		}
	})
}
