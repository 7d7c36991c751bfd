package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/streamtest"
)

const fuzzKey = "fuzzed-secret-0"

// FuzzDecode reads any body as a stream and as JSON. Whatever comes, the deltas
// say what the answer says, a call is an object or marked as none, an answer
// that did not finish has none, and what is kept can go back.
func FuzzDecode(f *testing.F) {
	rows, err := streamtest.Load(rowsFile, provider.Gemini)
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range rows {
		if body := r.Joined().Chunks[0].Data; len(body) < 4<<10 {
			f.Add(body)
		}
	}
	f.Add([]byte(signed))
	f.Add([]byte("[" + says("", `{"text":"a"}`) + "," + says("STOP", `{"functionCall":{"name":"f","partialArgs":[{"jsonPath":"$.a[0]['b']","stringValue":"x"}],"willContinue":true}}`) + "]"))
	f.Add([]byte(sse(says("STOP", `{"text":"`+fuzzKey+`","thoughtSignature":"x"}`))))
	m, err := New(Config{BaseURL: "http://localhost"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var said strings.Builder
		d := newDecoder(profile, hello(), encoded{}, func(delta core.Delta) { said.WriteString(delta.Text) })
		d.Begin(provider.NewRedactor(fuzzKey))
		read(d, body)
		partial := d.partial()
		if partial.Calls != nil || partial.Usage.Kind != core.UsageUnknown {
			t.Fatalf("half an answer: %+v", partial)
		}
		a := d.answer(m.Origin("fern-2"))
		if said.String() != a.Text || !utf8.ValidString(a.Text) {
			t.Fatalf("the deltas give %q, the answer %q", said.String(), a.Text)
		}
		if (len(a.Calls) > 0) != (a.Finish == core.FinishToolCalls) {
			t.Fatalf("%s with %d calls", a.Finish, len(a.Calls))
		}
		for _, c := range a.Calls {
			var object map[string]any
			if c.ID == "" || c.Invalid == (json.Unmarshal(c.Arguments, &object) == nil) {
				t.Fatalf("call %+v", c)
			}
		}
		req := hello()
		if len(a.Calls) > 0 || a.Text != "" {
			req.Messages = append(req.Messages, fuzzStored(a))
		}
		r, err := m.encode(req)
		if err != nil || !json.Valid(r.body) || !utf8.Valid(r.body) {
			t.Fatalf("it goes back as %s, %v", r.body, err)
		}
		if bytes.Contains(r.body, []byte(fuzzKey)) {
			t.Fatalf("the key is in %s", r.body)
		}
	})
}

// read does what the client does with a body.
func read(d *decoder, body []byte) {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && (body[0] == '{' || body[0] == '[') {
		if json.Valid(body) {
			_ = d.Whole(body)
		}
		return
	}
	events := provider.NewEventReader(bytes.NewReader(body))
	for {
		ev, err := events.Next()
		if errors.Is(err, io.EOF) || err != nil {
			return
		}
		if ev.Done {
			d.Done()
			return
		}
		whole := d.Finished()
		if err := d.Event(ev); err != nil && !whole {
			return
		}
	}
}

func fuzzStored(a core.Answer) core.Message {
	msg := core.Message{Role: core.RoleAssistant}
	if a.Text != "" {
		msg.Parts = append(msg.Parts, core.Part{Type: core.PartText, Text: a.Text})
	}
	for _, c := range a.Calls {
		msg.Parts = append(msg.Parts, callOf(core.ToolCallID(c.ID), c.ProviderID, c.Name, string(c.Arguments)))
	}
	for i := range a.Envelopes {
		msg.Parts[i].Envelope = &a.Envelopes[i]
	}
	return msg
}
