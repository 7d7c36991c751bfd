package streamtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
)

// Run sends one request to the model of a row and returns what is not as the row
// expects; nil when all is.
func (r Row) Run(ctx context.Context, m core.Model) []string {
	_, wrong, _ := r.Ask(ctx, m)
	return wrong
}

// Ask is Run that returns the answer and the failure too.
func (r Row) Ask(ctx context.Context, m core.Model) (answer core.Answer, wrong []string, err error) {
	var text, reasoning strings.Builder
	answer, err = m.Stream(ctx, core.Request{
		Model:                "fern-2",
		Messages:             []core.Message{{Role: core.RoleUser, Parts: []core.Part{{Type: core.PartText, Text: "hello"}}}},
		PromptTokensEstimate: r.Request.PromptTokensEstimate,
	}, func(d core.Delta) {
		text.WriteString(d.Text)
		reasoning.WriteString(d.Reasoning)
	})
	w := wrongs{}
	r.check(&w, answer, err)
	// The deltas say what the answer says, but for thinking whose opening tag
	// never came, and for pieces that the end of a text corrected.
	said := text.String()
	untagged := strings.Contains(said, "</think") && strings.HasSuffix(said, answer.Text)
	if said != answer.Text && !untagged && said != r.pieces() {
		w.add("the deltas give %.200q, the answer %.200q", said, answer.Text)
	}
	return answer, w, err
}

// pieces joins what came of a text in pieces, in the dialect that says at its
// end what it is as a whole: what was shown cannot be taken back.
func (r Row) pieces() string {
	var b strings.Builder
	events := provider.NewEventReader(bytes.NewReader(r.Joined().Chunks[0].Data))
	for {
		ev, err := events.Next()
		if err != nil {
			return b.String()
		}
		var e struct {
			Type  string `json:"type"`
			Delta string `json:"delta"`
		}
		if json.Unmarshal(ev.Data, &e) == nil && e.Type == "response.output_text.delta" {
			b.WriteString(e.Delta)
		}
	}
}

type wrongs []string

func (w *wrongs) add(format string, args ...any) { *w = append(*w, fmt.Sprintf(format, args...)) }

// check compares an answer with what the row expects.
func (r Row) check(w *wrongs, got core.Answer, err error) {
	want := r.Expect
	if want.Fault != "" {
		r.checkFault(w, got, err)
		return
	}
	if err != nil {
		w.add("fault %v, want finish %s", err, want.Finish)
		return
	}
	if got.Text != string(want.Text) {
		w.add("text %.200q, want %.200q", got.Text, want.Text)
	}
	if got.Finish != want.Finish {
		w.add("finish %s, want %s", got.Finish, want.Finish)
	}
	if bare(got.Reasoning) != bare(string(want.Reasoning)) {
		w.add("reasoning %q, want %q", got.Reasoning, want.Reasoning)
	}
	if got.Refusal != want.Refusal {
		w.add("refusal %q, want %q", got.Refusal, want.Refusal)
	}
	if got.Clipped != want.Clipped {
		w.add("clipped %v, want %v", got.Clipped, want.Clipped)
	}
	wantUsage := core.Usage{Kind: core.UsageUnknown}
	if want.Usage != nil {
		wantUsage = *want.Usage
		wantUsage.Kind = core.UsageExact
	}
	if d := cmp.Diff(wantUsage, got.Usage); d != "" {
		w.add("usage (-want +got):\n%s", d)
	}
	r.checkCalls(w, got)
	for _, s := range want.Keep {
		found := false
		for _, e := range got.Envelopes {
			found = found || bytes.Contains(e.Raw, []byte(s))
		}
		if !found {
			w.add("%q is not kept", s)
		}
	}
}

func (r Row) checkCalls(w *wrongs, got core.Answer) {
	want := r.Expect.Calls
	if len(got.Calls) != len(want) {
		w.add("%d calls, want %d: %+v", len(got.Calls), len(want), got.Calls)
		return
	}
	seen := make(map[string]bool)
	for i, g := range got.Calls {
		e := want[i]
		if g.ID == "" || seen[g.ID] {
			w.add("call %d: own id %q is empty or used twice", i, g.ID)
		}
		seen[g.ID] = true
		if g.Name != e.Name || g.ProviderID != e.ProviderID || g.Invalid != e.Invalid || g.Raw != e.Raw {
			w.add("call %d is %+v, want %+v", i, g, e)
		}
		if e.Invalid {
			if g.Arguments != nil {
				w.add("call %d has arguments though they are no JSON", i)
			}
			continue
		}
		// A raw text is not readable in a failure; the values are.
		var gv, ev any
		if err := errors.Join(json.Unmarshal(g.Arguments, &gv), json.Unmarshal(e.Expanded(), &ev)); err != nil {
			w.add("call %d: %v", i, err)
		}
		if d := cmp.Diff(ev, gv); d != "" {
			w.add("call %d arguments (-want +got):\n%s", i, d)
		}
	}
}

// Expanded returns the arguments with their repeated strings written out.
func (c expectedCall) Expanded() json.RawMessage { return expand(c.Arguments) }

// expand writes out the repeated strings within a value.
func expand(raw json.RawMessage) json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		return raw
	}
	if o["$repeat"] != nil {
		var r repeated
		if json.Unmarshal(raw, &r) == nil {
			out, _ := json.Marshal(string(r))
			return out
		}
	}
	for k, v := range o {
		o[k] = expand(v)
	}
	out, _ := json.Marshal(o)
	return out
}

func (r Row) checkFault(w *wrongs, got core.Answer, err error) {
	want := r.Expect
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		w.add("no fault (%v, %+v), want %s", err, got, want.Fault)
		return
	}
	if f.Code != want.Fault {
		w.add("fault %v, want %s", f, want.Fault)
		return
	}
	if got.Text != string(want.Partial) {
		w.add("partial text %.200q, want %.200q", got.Text, want.Partial)
	}
	if len(got.Calls) > 0 {
		w.add("a failed answer offers calls: %+v", got.Calls)
	}
	for field, v := range want.Provider {
		if !strings.Contains(f.Detail, fmt.Sprint(v)) {
			w.add("the detail %q lacks the %s %q", f.Detail, field, v)
		}
	}
	if f.Code == fault.RateLimited || f.Code == fault.Overloaded {
		var wantMs int64
		if want.RetryMs != nil {
			wantMs = *want.RetryMs
		}
		if f.RetryAfter.Milliseconds() != wantMs {
			w.add("retry after %v, want %d ms", f.RetryAfter, wantMs)
		}
	}
	if strings.Contains(err.Error(), "TESTKEY") {
		w.add("the key is in the error: %v", err)
	}
}

func bare(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
