package gemini

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
)

// stored is a message as the loop makes it of an answer, after it lay in a
// store.
func stored(t *testing.T, a core.Answer) core.Message {
	t.Helper()
	msg := core.Message{Role: core.RoleAssistant}
	if a.Text != "" {
		msg.Parts = append(msg.Parts, core.Part{Type: core.PartText, Text: a.Text})
	}
	for i, c := range a.Calls {
		input := string(c.Arguments)
		if c.Invalid {
			input = "{}"
		}
		msg.Parts = append(msg.Parts, callOf(core.ToolCallID("own"+strconv.Itoa(i)), c.ProviderID, c.Name, input))
	}
	if len(a.Envelopes) > 0 {
		raw, err := json.Marshal(a.Envelopes[0])
		if err != nil {
			t.Fatal(err)
		}
		var e core.Envelope
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		msg.Parts[0].Envelope = &e
	}
	return msg
}

// round asks for an answer of model, stores it, and returns the turn of it as
// it goes back to another model, after change.
func round(t *testing.T, model, to, stream string, change func(*core.Message)) (turn []any, responses []any) {
	t.Helper()
	_, a := sent(t, stream, core.Request{Model: model, Messages: []core.Message{userSays("x")}})
	msg := stored(t, a)
	if change != nil {
		change(&msg)
	}
	msgs := []core.Message{userSays("x"), msg}
	for _, p := range msg.Parts {
		if p.Type == core.PartToolCall {
			msgs = append(msgs, result(p.ToolCallID, "r"))
		}
	}
	got, _ := sent(t, okStream, core.Request{Model: to, Messages: append(msgs, userSays("y"))})
	turn = got.parts(1)
	if len(msgs) > 2 {
		responses = got.parts(2)
	}
	return turn, responses
}

// signed is a turn of many parts, as Gemini 3 streams one.
var signed = sse(
	says("", `{"text":"**Look** ","thought":true}`), says("", `{"text":"first","thought":true}`),
	says("", `{"text":"I "}`), says("", `{"text":"look."}`),
	says("", `{"functionCall":{"name":"f","args":{"n":1.50,"t":"<a>"},"id":"x1"},"thoughtSignature":"//4AgQc=","later":{"k":[1]}}`),
	says("", `{"functionCall":{"name":"g","args":{},"id":"x1"}}`),
	says("STOP", `{"text":"","thoughtSignature":"Sg+/"}`),
)

// TestEnvelope_AsItCame: the parts of a turn go back as they came, through JSON
// and a store, and its results name the ids that it had.
//
// CASES: C12
// covers: K2
func TestEnvelope_AsItCame(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"gemini-3.1-pro", "gemini-3.8-flash"} {
		turn, responses := round(t, "gemini-3.1-pro", to, signed, nil)
		want := value(t, `[
			{"text":"**Look** first","thought":true},{"text":"I look."},
			{"functionCall":{"name":"f","args":{"n":1.50,"t":"<a>"},"id":"x1"},"thoughtSignature":"//4AgQc=","later":{"k":[1]}},
			{"functionCall":{"name":"g","args":{},"id":"x1"}},
			{"text":"","thoughtSignature":"Sg+/"}]`)
		if d := cmp.Diff(want, any(turn)); d != "" {
			t.Errorf("to %s (-want +got):\n%s", to, d)
		}
		want = value(t, `[{"functionResponse":{"id":"x1","name":"f","response":{"output":"r"}}},{"functionResponse":{"id":"x1","name":"g","response":{"output":"r"}}}]`)
		if d := cmp.Diff(want, any(responses)); d != "" {
			t.Errorf("to %s (-want +got):\n%s", to, d)
		}
	}
}

// TestEnvelope_Bytes: what an envelope holds is what came, byte for byte.
func TestEnvelope_Bytes(t *testing.T) {
	t.Parallel()
	const part = `{"functionCall":{"args":{"z":1.50,"a":"\u003cé\/\u2028"},"name":"f"},"thoughtSignature":"//4AgQc=","b":0}`
	_, a := sent(t, sse(says("STOP", part)), core.Request{Model: "m", Messages: []core.Message{userSays("x")}})
	var k struct{ Parts []json.RawMessage }
	if len(a.Envelopes) != 1 || json.Unmarshal(a.Envelopes[0].Raw, &k) != nil || len(k.Parts) != 1 || string(k.Parts[0]) != part {
		t.Errorf("kept %+v", a.Envelopes)
	}
}

// TestEnvelope_Elsewhere: another host, dialect, family or generation gets plain
// text and calls, and Gemini 3 the word for a signature that is not there.
//
// CASES: C12
// covers: K2
func TestEnvelope_Elsewhere(t *testing.T) {
	t.Parallel()
	plain := value(t, `[{"text":"I look."},{"functionCall":{"id":"x1","name":"f","args":{"n":1.50,"t":"<a>"}}},{"functionCall":{"id":"own1","name":"g","args":{}}}]`)
	skipped := value(t, `[{"text":"I look."},{"functionCall":{"id":"x1","name":"f","args":{"n":1.50,"t":"<a>"}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"own1","name":"g","args":{}}}]`)
	foreign := func(change func(e *core.Envelope)) func(*core.Message) {
		return func(m *core.Message) { change(m.Parts[0].Envelope) }
	}
	for name, tt := range map[string]struct {
		to     string
		change func(*core.Message)
		want   any
	}{
		"family":        {"fern-2", nil, plain},
		"generation":    {"gemini-2.5-pro", nil, plain},
		"next":          {"gemini-4-argon", nil, skipped},
		"host":          {"gemini-3.1-pro", foreign(func(e *core.Envelope) { e.Origin = "other.test gemini" }), skipped},
		"dialect":       {"gemini-3.1-pro", foreign(func(e *core.Envelope) { e.Dialect = "openai-chat" }), skipped},
		"broken":        {"gemini-3.1-pro", foreign(func(e *core.Envelope) { e.Raw = []byte("{") }), skipped},
		"old latest":    {"gemini-1.5-pro-latest", nil, plain},
		"latest":        {"gemini-pro-latest", foreign(func(e *core.Envelope) { e.Origin = "" }), skipped},
		"no envelope":   {"gemini-3.1-pro", func(m *core.Message) { m.Parts[0].Envelope = nil }, skipped},
		"no such model": {"other/fern-2", nil, plain},
	} {
		turn, responses := round(t, "gemini-3.1-pro", tt.to, signed, tt.change)
		if d := cmp.Diff(tt.want, any(turn)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		want := value(t, `[{"functionResponse":{"id":"x1","name":"f","response":{"output":"r"}}},{"functionResponse":{"id":"own1","name":"g","response":{"output":"r"}}}]`)
		if d := cmp.Diff(want, any(responses)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestEnvelope_Changed: a turn that was changed is built anew, with the
// signatures of its calls.
func TestEnvelope_Changed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*core.Message)
		want   string
	}{
		"text left out": {
			func(m *core.Message) { m.Parts[1].Envelope = m.Parts[0].Envelope; m.Parts = m.Parts[1:] },
			`[{"functionCall":{"id":"x1","name":"f","args":{"n":1.50,"t":"<a>"}},"thoughtSignature":"//4AgQc="},{"functionCall":{"id":"own1","name":"g","args":{}}}]`,
		},
		"input left out": {
			func(m *core.Message) { m.Parts[1].Input = json.RawMessage(`{}`) },
			`[{"text":"I look."},{"functionCall":{"id":"x1","name":"f","args":{}},"thoughtSignature":"//4AgQc="},{"functionCall":{"id":"own1","name":"g","args":{}}}]`,
		},
		"first call left out": {
			func(m *core.Message) { m.Parts = append(m.Parts[:1:1], m.Parts[2]) },
			`[{"text":"I look."},{"functionCall":{"id":"x1","name":"g","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]`,
		},
		"a call more": {
			func(m *core.Message) { m.Parts = append(m.Parts, callOf("own2", "", "h", "{}")) },
			`[{"text":"I look."},{"functionCall":{"id":"x1","name":"f","args":{"n":1.50,"t":"<a>"}},"thoughtSignature":"//4AgQc="},{"functionCall":{"id":"own1","name":"g","args":{}}},{"functionCall":{"id":"own2","name":"h","args":{}}}]`,
		},
		"envelope elsewhere": {
			func(m *core.Message) { m.Parts[2].Envelope = m.Parts[0].Envelope; m.Parts[0].Envelope = nil },
			`[{"text":"**Look** first","thought":true},{"text":"I look."},{"functionCall":{"name":"f","args":{"n":1.50,"t":"<a>"},"id":"x1"},"thoughtSignature":"//4AgQc=","later":{"k":[1]}},{"functionCall":{"name":"g","args":{},"id":"x1"}},{"text":"","thoughtSignature":"Sg+/"}]`,
		},
	} {
		turn, _ := round(t, "gemini-3.1-pro", "gemini-3.1-pro", signed, tt.change)
		if d := cmp.Diff(value(t, tt.want), any(turn)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestEnvelope_Neighbours holds turns of other shapes.
func TestEnvelope_Neighbours(t *testing.T) {
	t.Parallel()
	later := func(m *core.Message) {
		m.Parts = append(m.Parts, core.Part{Type: core.PartText, Text: "\n\n[Stopped.]"})
	}
	for name, tt := range map[string]struct {
		stream string
		change func(*core.Message)
		want   string
	}{
		"signed text":         {sse(says("STOP", `{"text":"a","thoughtSignature":"S1=="}`, `{"text":"b"}`)), nil, `[{"text":"a","thoughtSignature":"S1=="},{"text":"b"}]`},
		"words behind":        {sse(says("STOP", `{"text":"a","thoughtSignature":"S1=="}`)), later, `[{"text":"a","thoughtSignature":"S1=="},{"text":"\n\n[Stopped.]"}]`},
		"words behind a call": {sse(says("STOP", `{"text":"a"}`, `{"functionCall":{"name":"f","id":"x"},"thoughtSignature":"S1=="}`)), later, `[{"text":"a\n\n[Stopped.]"},{"functionCall":{"id":"x","name":"f","args":{}},"thoughtSignature":"S1=="}]`},
		"call cut off":        {sse(says("MAX_TOKENS", `{"text":"a"}`, `{"functionCall":{"name":"f","id":"x"},"thoughtSignature":"S1=="}`)), nil, `[{"text":"a"}]`},
		"nothing opaque":      {sse(says("STOP", `{"text":"a"}`, `{"text":"t","thought":true}`, `{"text":"b"}`)), nil, `[{"text":"ab"}]`},
		"signature alone":     {sse(says("", `{"text":"a"}`), says("STOP", `{"thoughtSignature":"S1=="}`)), nil, `[{"text":"a"},{"text":"","thoughtSignature":"S1=="}]`},
		"empty parts":         {sse(says("", `{}`, `{"text":"a"}`, `{"thought":true}`), says("STOP", `{"text":null,"functionCall":null}`, `{"functionCall":{}}`, `{"text":"b","thoughtSignature":"S1=="}`)), nil, `[{"text":"a"},{"text":"b","thoughtSignature":"S1=="}]`},
		"other part":          {sse(says("STOP", `{"text":"a"}`, `{"toolCall":{"id":"t"}}`)), nil, `[{"text":"a"},{"toolCall":{"id":"t"}}]`},
		"lone surrogate":      {sse(says("STOP", `{"functionCall":{"name":"f","args":{"p":"\ud83d"}},"thoughtSignature":"S1=="}`)), nil, `[{"functionCall":{"name":"f","args":{"p":"\ufffd"}},"thoughtSignature":"S1=="}]`},
		"unsigned first":      {sse(says("STOP", `{"functionCall":{"name":"f"}}`, `{"functionCall":{"name":"g"},"thoughtSignature":"S1=="}`)), nil, `[{"thoughtSignature":"skip_thought_signature_validator","functionCall":{"name":"f"}},{"functionCall":{"name":"g"},"thoughtSignature":"S1=="}]`},
		"null signature":      {sse(says("STOP", `{"functionCall":{"name":"f"},"thoughtSignature":null}`, `{"text":"a","thoughtSignature":"S1=="}`)), nil, `[{"functionCall":{"name":"f"},"thoughtSignature":"skip_thought_signature_validator"},{"text":"a","thoughtSignature":"S1=="}]`},
		"invalid arguments":   {sse(says("STOP", `{"functionCall":{"name":"f","id":"x","args":[1]},"thoughtSignature":"S1=="}`)), nil, `[{"functionCall":{"name":"f","id":"x","args":{}},"thoughtSignature":"S1=="}]`},
		"call in pieces": {
			sse(says("", `{"functionCall":{"name":"f","id":"x","willContinue":true},"thoughtSignature":"S1=="}`), says("STOP", `{"functionCall":{"partialArgs":[{"jsonPath":"$.p","stringValue":"a"}]}}`)), nil,
			`[{"functionCall":{"id":"x","name":"f","args":{"p":"a"}},"thoughtSignature":"S1=="}]`,
		},
		"signature in a piece": {
			sse(says("", `{"functionCall":{"name":"f","id":"x","willContinue":true}}`), says("STOP", `{"functionCall":{"partialArgs":[{"jsonPath":"$.p","stringValue":"a"}]},"thoughtSignature":"S1\u003d="}`)), nil,
			`[{"functionCall":{"id":"x","name":"f","args":{"p":"a"}},"thoughtSignature":"S1=="}]`,
		},
		"piece cut off": {
			sse(says("STOP", `{"functionCall":{"name":"f","id":"x","partialArgs":[{"jsonPath":"$.p","stringValue":"a"}],"willContinue":true},"thoughtSignature":"S1=="}`)), nil,
			`[{"functionCall":{"id":"x","name":"f","args":{}},"thoughtSignature":"S1=="}]`,
		},
	} {
		turn, _ := round(t, "gemini-3.1-pro", "gemini-3.1-pro", tt.stream, tt.change)
		if d := cmp.Diff(value(t, tt.want), any(turn)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestEnvelope_Merged: turns that stand in one message go back one after the
// other.
func TestEnvelope_Merged(t *testing.T) {
	t.Parallel()
	one := func(text, sig string) core.Message {
		_, a := sent(t, sse(says("STOP", `{"text":"`+text+`","thoughtSignature":"`+sig+`"}`)), core.Request{Model: "m", Messages: []core.Message{userSays("x")}})
		return stored(t, a)
	}
	msg := one("a", "S1==")
	msg.Parts = append(msg.Parts, one("b", "S2==").Parts...)
	got, _ := sent(t, okStream, core.Request{Model: "m", Messages: []core.Message{msg}})
	want := value(t, `[{"text":"a","thoughtSignature":"S1=="},{"text":"b","thoughtSignature":"S2=="}]`)
	if d := cmp.Diff(want, any(got.parts(0))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
