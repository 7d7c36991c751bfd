package openaichat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
)

// testKey goes with each request, as it would in life.
func testKey(context.Context) (string, error) { return "sk-TESTKEY-stream-0123456789", nil }

func (r row) run(t *testing.T, cfg Config) {
	t.Helper()
	cfg.Profile, cfg.Key = r.Profile, testKey
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var text, reasoning strings.Builder
	answer, err := m.Stream(t.Context(), core.Request{
		Model:                "fern-2",
		Messages:             []core.Message{{Role: core.RoleUser, Parts: []core.Part{{Type: core.PartText, Text: "hello"}}}},
		PromptTokensEstimate: r.Request.PromptTokensEstimate,
	}, func(d core.Delta) {
		text.WriteString(d.Text)
		reasoning.WriteString(d.Reasoning)
	})
	r.check(t, answer, err)
	// The deltas say what the answer says, but for thinking whose opening tag
	// never came.
	if !strings.Contains(text.String(), "</think") && text.String() != answer.Text {
		t.Errorf("the deltas give %.200q, the answer %.200q", text.String(), answer.Text)
	}
	if strings.Contains(text.String(), "</think") && !strings.HasSuffix(text.String(), answer.Text) {
		t.Errorf("the deltas give %.200q, the answer %.200q", text.String(), answer.Text)
	}
}

// check compares an answer with what the row expects.
func (r row) check(t *testing.T, got core.Answer, err error) {
	t.Helper()
	want := r.Expect
	if want.Fault != "" {
		r.checkFault(t, got, err)
		return
	}
	if err != nil {
		t.Fatalf("fault %v, want finish %s", err, want.Finish)
	}
	if got.Text != string(want.Text) {
		t.Errorf("text %.200q, want %.200q", got.Text, want.Text)
	}
	if got.Finish != want.Finish {
		t.Errorf("finish %s, want %s", got.Finish, want.Finish)
	}
	if bare(got.Reasoning) != bare(string(want.Reasoning)) {
		t.Errorf("reasoning %q, want %q", got.Reasoning, want.Reasoning)
	}
	if got.Refusal != want.Refusal {
		t.Errorf("refusal %q, want %q", got.Refusal, want.Refusal)
	}
	if got.Clipped != want.Clipped {
		t.Errorf("clipped %v, want %v", got.Clipped, want.Clipped)
	}
	wantUsage := core.Usage{Kind: core.UsageUnknown}
	if want.Usage != nil {
		wantUsage = *want.Usage
		wantUsage.Kind = core.UsageExact
	}
	if d := cmp.Diff(wantUsage, got.Usage); d != "" {
		t.Errorf("usage (-want +got):\n%s", d)
	}
	r.checkCalls(t, got)
	for _, s := range want.Keep {
		found := false
		for _, e := range got.Envelopes {
			found = found || bytes.Contains(e.Raw, []byte(s))
		}
		if !found {
			t.Errorf("%q is not kept", s)
		}
	}
}

func (r row) checkCalls(t *testing.T, got core.Answer) {
	t.Helper()
	want := r.Expect.Calls
	if len(got.Calls) != len(want) {
		t.Fatalf("%d calls, want %d: %+v", len(got.Calls), len(want), got.Calls)
	}
	seen := make(map[string]bool)
	for i, g := range got.Calls {
		w := want[i]
		if g.ID == "" || seen[g.ID] {
			t.Errorf("call %d: own id %q is empty or used twice", i, g.ID)
		}
		seen[g.ID] = true
		if g.Name != w.Name || g.ProviderID != w.ProviderID || g.Invalid != w.Invalid || g.Raw != w.Raw {
			t.Errorf("call %d is %+v, want %+v", i, g, w)
		}
		if w.Invalid {
			if g.Arguments != nil {
				t.Errorf("call %d has arguments though they are no JSON", i)
			}
			continue
		}
		// A raw text is not readable in a failure; the values are.
		var gv, wv any
		if err := errors.Join(json.Unmarshal(g.Arguments, &gv), json.Unmarshal(expand(w.Arguments), &wv)); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
		if d := cmp.Diff(wv, gv); d != "" {
			t.Errorf("call %d arguments (-want +got):\n%s", i, d)
		}
	}
}

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

func (r row) checkFault(t *testing.T, got core.Answer, err error) {
	t.Helper()
	want := r.Expect
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		t.Fatalf("no fault (%v, %+v), want %s", err, got, want.Fault)
	}
	if f.Code != want.Fault {
		t.Fatalf("fault %v, want %s", f, want.Fault)
	}
	if got.Text != string(want.Partial) {
		t.Errorf("partial text %.200q, want %.200q", got.Text, want.Partial)
	}
	if len(got.Calls) > 0 {
		t.Errorf("a failed answer offers calls: %+v", got.Calls)
	}
	for field, v := range want.Provider {
		if !strings.Contains(f.Detail, fmt.Sprint(v)) {
			t.Errorf("the detail %q lacks the %s %q", f.Detail, field, v)
		}
	}
	if f.Code == fault.RateLimited || f.Code == fault.Overloaded {
		var wantMs int64
		if want.RetryMs != nil {
			wantMs = *want.RetryMs
		}
		if f.RetryAfter.Milliseconds() != wantMs {
			t.Errorf("retry after %v, want %d ms", f.RetryAfter, wantMs)
		}
	}
	if strings.Contains(err.Error(), "TESTKEY") {
		t.Errorf("the key is in the error: %v", err)
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

// short is the timers of the rows that wait, on a real socket. The two others
// keep their length, so that a busy machine changes no outcome.
func short(r row) provider.Timers {
	var t provider.Timers
	if r.waits() {
		t.FirstToken, t.Silence, t.Grace = 400*time.Millisecond, 400*time.Millisecond, 400*time.Millisecond
	}
	return t
}

// silent is how a server keeps silent on a real socket: longer than the timers
// of short, or until the client has gone.
func silent(gone <-chan struct{}) {
	select {
	case <-gone:
	case <-time.After(time.Second):
	}
}

// TestStreams_Loopback plays every row over a real socket, cut as it says.
//
// covers: K1 K2 K6
// CASES: C1 C3 C4 C5 C6 C7 C8
func TestStreams_Loopback(t *testing.T) {
	t.Parallel()
	for _, r := range loadRows(t) {
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			r.run(t, r.onLoopback(t, 1<<20))
		})
	}
}

// TestStreams_OnePiece plays the rows that do not wait with their whole body in
// one piece.
//
// CASES: C3 C4
func TestStreams_OnePiece(t *testing.T) {
	t.Parallel()
	for _, r := range loadRows(t) {
		if !r.waits() {
			t.Run(r.ID, func(t *testing.T) {
				t.Parallel()
				r := r.joined()
				r.run(t, r.onLoopback(t, 1<<20))
			})
		}
	}
}

// TestStreams_ByteByByte reads the same one byte at a time, and writes it so
// where that is not too much. The two rows of many MiB are cut so by the tests
// of the event reader.
//
// CASES: C3
func TestStreams_ByteByByte(t *testing.T) {
	t.Parallel()
	for _, r := range loadRows(t) {
		r := r.joined()
		body, rest := r.Chunks[0].data, r.Chunks[1:]
		if r.waits() || len(body) > 1<<20 {
			continue
		}
		if len(body) < 64<<10 {
			r.Chunks = nil
			for i := range body {
				r.Chunks = append(r.Chunks, chunk{data: body[i : i+1]})
			}
			r.Chunks = append(r.Chunks, rest...)
		}
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			r.run(t, r.onLoopback(t, 1))
		})
	}
}

// TestStreams_AfterFinish: what comes after the finish can bring usage, and
// nothing that is wrong with it undoes the answer.
//
// CASES: C7
func TestStreams_AfterFinish(t *testing.T) {
	t.Parallel()
	const whole = "data: {\"choices\":[{\"delta\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}\n\n"
	const counts = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n"
	for name, rest := range map[string]string{
		"bad JSON":       "data: {\"oops\":\n\n" + counts,
		"error":          "data: {\"error\":{\"message\":\"late\",\"code\":500}}\n\n" + counts,
		"choice error":   "data: {\"choices\":[{\"error\":{\"message\":\"late\",\"code\":500}}]}\n\n" + counts,
		"more text":      "data: {\"choices\":[{\"delta\":{\"content\":\" ghost\"}}]}\n\n" + counts,
		"another finish": "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n" + counts,
		"cut":            counts + "data: {\"cho",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r row
			r.HTTP.Status = 200
			r.Chunks = []chunk{{data: []byte(whole + rest)}}
			r.Expect.Text, r.Expect.Finish = "whole", core.FinishEndTurn
			r.Expect.Usage = &core.Usage{Input: 3, Output: 1}
			r.run(t, r.onLoopback(t, 1<<20))
		})
	}
}

// TestStreams_SecondChoice: a second answer beside the first is not mixed in.
func TestStreams_SecondChoice(t *testing.T) {
	t.Parallel()
	var r row
	r.HTTP.Status = 200
	r.Chunks = []chunk{{data: []byte(
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}},{\"index\":1,\"delta\":{\"content\":\"x\"},\"finish_reason\":\"length\"}]}\n\n" +
			"data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"y\"}}]}\n\n" +
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")}}
	r.Expect.Text, r.Expect.Finish = "ab", core.FinishEndTurn
	r.run(t, r.onLoopback(t, 1<<20))
}

// TestStreams_RealTimers plays the rows that wait with the timers that people
// have, on a clock that runs only when everybody waits.
//
// covers: K6
// CASES: C7
func TestStreams_RealTimers(t *testing.T) {
	for _, r := range loadRows(t) {
		if r.waits() {
			t.Run(r.ID, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					dial := func(context.Context, string, string) (net.Conn, error) {
						client, server := net.Pipe()
						read := newMeter()
						go r.play(server, read, func(gone <-chan struct{}) {
							select {
							case <-gone:
							case <-time.After(10 * time.Minute):
							}
						})
						return meteredConn{client, read, 1 << 20}, nil
					}
					r.run(t, Config{BaseURL: "http://localhost/v1", DialContext: dial})
				})
			})
		}
	}
}
