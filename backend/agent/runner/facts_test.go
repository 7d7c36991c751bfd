package runner

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/store"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// contextOf is the context that a run's first request was made for.
func (r *rig) contextOf(run core.RunID) int {
	r.t.Helper()
	var begun core.ModelCallBegun
	r.until("a request of "+string(run), func() bool {
		for _, e := range r.events {
			if e.RunID == run && e.Type == core.EventModelCallBegun {
				return json.Unmarshal(e.Payload, &begun) == nil
			}
		}
		return false
	})
	return begun.ContextSize
}

func (r *rig) describe(s *remote, model string, set int) wire.ModelDescribeResult {
	r.t.Helper()
	var res wire.ModelDescribeResult
	r.must(wire.MethodModelDescribe, wire.ModelParams{Provider: s.provider(), Model: model, ContextTokens: set, Ask: true}, &res)
	if res.Facts == nil {
		r.t.Error("facts are null")
	}
	return res
}

// refuse answers as a server does that does not take what it was sent.
func refuse(w http.ResponseWriter, failure string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = fmt.Fprintf(w, `{"error":%s}`, failure)
}

// A run's context is what the person set, else what was learned, else what the
// endpoint told, which is asked once a day and model.
//
// covers: K10
func TestRun_TakesItsContextFromWhatIsKnown(t *testing.T) {
	s := newRemote(t)
	r := ready(t, nil)
	for i, want := range []int{9000, 9000} {
		run := r.submit(s.talk(fmt.Sprint("asked", i), "large", "Hello.")).RunID
		r.endsAs(run, core.RunSucceeded)
		if got := r.contextOf(run); got != want {
			t.Errorf("run %d had a context of %d, want %d", i, got, want)
		}
	}
	if _, lists := s.counts(); lists != 1 {
		t.Errorf("the endpoint was asked %d times", lists)
	}
	set := s.talk("set", "large", "Hello.")
	set.ContextTokens = 5000
	run := r.submit(set).RunID
	r.endsAs(run, core.RunSucceeded)
	if got := r.contextOf(run); got != 5000 {
		t.Errorf("set by the person: %d", got)
	}
	d := r.describe(s, "large", 0)
	if d.Capabilities.ContextTokens != 9000 || d.Capabilities.ContextSource != core.SourceAsked || len(d.Facts) != 1 {
		t.Errorf("described %+v", d)
	}
	if d := r.describe(s, "large", 4000); d.Capabilities.ContextTokens != 4000 || d.Capabilities.ContextSource != core.SourceSet {
		t.Errorf("set by the person: %+v", d.Capabilities)
	}
	if _, lists := s.counts(); lists != 1 {
		t.Errorf("the endpoint was asked %d times", lists)
	}
	// Nobody knows of the other.
	run = r.submit(s.talk("none", "small", "Hello.")).RunID
	r.endsAs(run, core.RunSucceeded)
	if got := r.contextOf(run); got != 0 {
		t.Errorf("not known: %d", got)
	}
	// Forgotten is forgotten until it is asked again.
	var res wire.ModelDescribeResult
	r.must(wire.MethodModelForget, wire.ModelParams{Provider: s.provider(), Model: "large"}, &res)
	if res.Capabilities.ContextTokens != 0 || res.Facts == nil || len(res.Facts) != 0 {
		t.Errorf("forgotten: %+v", res)
	}
	if d := r.describe(s, "large", 0); d.Capabilities.ContextTokens != 9000 {
		t.Errorf("asked again: %+v", d)
	}
}

// What a model refuses is learned by the run that is refused, and known to the
// next: a parameter, the size of its context, tools.
//
// covers: K10
func TestRun_LearnsFromARefusal(t *testing.T) {
	s := newRemote(t)
	r := ready(t, nil)
	s.chat = func(w http.ResponseWriter, _ *http.Request, body string) {
		switch {
		case strings.Contains(body, `"temperature"`):
			refuse(w, `{"message":"Unsupported parameter: 'temperature' is not supported with this model.","type":"invalid_request_error","param":"temperature","code":"unsupported_parameter"}`)
		case strings.Contains(body, "too long") && len(body) > 30_000:
			refuse(w, `{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 12000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}`)
		case strings.Contains(body, `"tools"`):
			refuse(w, `{"message":"small does not support tools","type":"api_error","param":null,"code":null}`)
		default:
			speak(w, "All done.")
		}
	}
	warm := 0.5
	for i, want := range []int{2, 1} { // requests
		p := s.talk(fmt.Sprint("warm", i), "large", "Hello.")
		p.Provider.Temperature = &warm
		before, _ := s.counts()
		r.endsAs(r.submit(p).RunID, core.RunSucceeded)
		if now, _ := s.counts(); now-before != want {
			t.Errorf("run %d made %d requests, want %d", i, now-before, want)
		}
	}
	if d := r.describe(s, "large", 0); !slices.ContainsFunc(d.Facts, func(f core.Fact) bool {
		return f.Name == core.FactParam+"temperature" && f.Value == core.FactRefused && f.Source == core.SourceLearned && f.AtMs > 0
	}) {
		t.Errorf("described %+v", d)
	}

	// The document is too long for the model, and gives way.
	long := s.talk("long", "small", "What is too long?")
	long.Snapshot = snapshotOf(strings.Repeat("Many words stand in this document. ", 1500))
	r.endsAs(r.submit(long).RunID, core.RunSucceeded)
	next := r.submit(s.talk("next", "small", "Hello.")).RunID
	r.endsAs(next, core.RunSucceeded)
	if got := r.contextOf(next); got != 8192 {
		t.Errorf("after the refusal the context is %d", got)
	}
	if d := r.describe(s, "small", 0); d.Capabilities.ContextSource != core.SourceLearned {
		t.Errorf("described %+v", d)
	}

	for i, want := range []int{1, 0} {
		before, _ := s.counts()
		run := r.endsAs(r.submit(s.talk(fmt.Sprint("tools", i), "small", "Hello.", core.ToolListWorkspace)).RunID, core.RunFailed)
		if run.Fault == nil || run.Fault.Code != string(fault.UnsupportedByModel) {
			t.Errorf("ended with %+v", run.Fault)
		}
		if now, _ := s.counts(); now-before != want {
			t.Errorf("run %d with tools made %d requests, want %d", i, now-before, want)
		}
	}
	var res wire.ModelDescribeResult
	r.must(wire.MethodModelForget, wire.ModelParams{Provider: s.provider(), Model: "small"}, &res)
	if res.Capabilities.Tools == core.KnownNo {
		t.Errorf("forgotten: %+v", res)
	}
}

// What is known of a model is said without asking anybody, unless that is wanted.
//
// covers: K10
func TestDescribe_SendsNothingUnasked(t *testing.T) {
	s := newRemote(t)
	r := ready(t, nil)
	about := wire.ModelParams{Provider: s.provider(), Model: "large"}
	var res wire.ModelDescribeResult
	r.must(wire.MethodModelDescribe, about, &res)
	if requests, lists := s.counts(); requests+lists != 0 || res.Capabilities.ContextTokens != 0 || res.Facts == nil {
		t.Errorf("unasked: %d and %d requests, %+v", requests, lists, res)
	}
	r.describe(s, "large", 0)
	r.must(wire.MethodModelDescribe, about, &res)
	if _, lists := s.counts(); lists != 1 || res.Capabilities.ContextTokens != 9000 {
		t.Errorf("what was told before: %d requests, %+v", lists, res)
	}
}

// What a provider told is kept over a restart, and at its address only.
//
// covers: K10
func TestFacts_OutliveTheRunner(t *testing.T) {
	t.Parallel()
	s, other := newRemote(t), newRemote(t)
	home := t.TempDir()
	r := boot(t, home, nil)
	r.greet()
	r.describe(s, "large", 0)
	r.close()
	r = boot(t, home, nil)
	r.greet()
	if d := r.describe(s, "large", 0); d.Capabilities.ContextTokens != 9000 {
		t.Errorf("after a restart: %+v", d)
	}
	if _, lists := s.counts(); lists != 1 {
		t.Errorf("the endpoint was asked %d times", lists)
	}
	other.models = `{"data":[]}`
	if d := r.describe(other, "large", 0); d.Capabilities.ContextTokens != 0 {
		t.Errorf("at another address: %+v", d)
	}
}

// A conversation whose model was found to call no tools says so and sends
// nothing; a rewrite needs none.
//
// covers: K10 K6
func TestRun_SaysWhatTheModelCannotBeforeItAsks(t *testing.T) {
	s := newRemote(t)
	s.models = `{"data":[{"id":"small","supported_parameters":["temperature"]}]}`
	r := ready(t, nil)
	run := r.endsAs(r.submit(s.talk("c1", "small", "Hello.", core.ToolListWorkspace)).RunID, core.RunFailed)
	if run.Fault == nil || run.Fault.Code != string(fault.UnsupportedByModel) || run.Fault.Detail != "small" {
		t.Errorf("ended with %+v", run.Fault)
	}
	if asked, _ := s.counts(); asked != 0 {
		t.Errorf("it was asked %d times", asked)
	}
	if d := r.detail(run.ID); len(d.ModelCalls) != 0 {
		t.Errorf("model calls %+v", d.ModelCalls)
	}
	r.endsAs(r.submit(s.rewriteOf("c2", "small")).RunID, core.RunSucceeded)
	r.endsAs(r.submit(s.talk("c3", "small", "Hello.")).RunID, core.RunSucceeded) // without tools
}

// An endpoint that does not answer holds a run up for a short while, fails
// nothing, and is let alone by the next run.
//
// covers: K10
func TestRun_DoesNotWaitForADescription(t *testing.T) {
	s := newRemote(t)
	release := make(chan struct{})
	s.listing = func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	t.Cleanup(func() { close(release) })
	r := ready(t, nil)
	r.endsAs(r.submit(s.talk("c1", "large", "Hello.")).RunID, core.RunSucceeded)
	r.endsAs(r.submit(s.talk("c2", "large", "Hello.")).RunID, core.RunSucceeded)
	if _, lists := s.counts(); lists != 1 {
		t.Errorf("it was asked %d times", lists)
	}
	var waited, quick *wire.Send
	for _, n := range r.sends() {
		if n.Purpose == purposeDescribe {
			waited = &n
		} else {
			quick = &n
		}
	}
	if waited == nil || quick == nil || waited.EndedAtMs == 0 || waited.Code != fault.Cancelled {
		t.Errorf("described %+v, talked %+v", waited, quick)
	}
}

func TestAskings_HoldBackForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := askings{now: time.Now, last: map[askKey]time.Time{}}
		k := askKey{store.Place{ProviderID: "p"}, "m"}
		if !a.due(k) || a.due(k) || !a.due(askKey{k.at, "n"}) {
			t.Error("the first may ask, the second not, another model may")
		}
		time.Sleep(askAgain - time.Nanosecond)
		if a.due(k) {
			t.Error("asked too early")
		}
		time.Sleep(time.Nanosecond)
		if !a.due(k) || len(a.last) != 1 {
			t.Errorf("not asked again, or old ones are kept: %v", a.last)
		}
	})
}

// What the person set of answers is in every request, and a test asks for no
// more than it needs.
//
// covers: K3
func TestEndpoint_AsksAsThePersonSet(t *testing.T) {
	s := newRemote(t)
	r := ready(t, nil)
	sent := func() (body struct {
		Temperature *float64 `json:"temperature"`
		MaxTokens   int      `json:"max_tokens"`
		Effort      string   `json:"reasoning_effort"`
	},
	) {
		t.Helper()
		if err := json.Unmarshal([]byte(s.last()), &body); err != nil {
			t.Fatal(err)
		}
		return body
	}
	warm := 0.25
	p := s.talk("c1", "large", "Hello.")
	p.Provider.Temperature, p.Provider.MaxOutputTokens, p.Provider.Effort = &warm, 700, core.EffortLow
	r.endsAs(r.submit(p).RunID, core.RunSucceeded)
	if got := sent(); got.Temperature == nil || *got.Temperature != warm || got.MaxTokens != 700 || got.Effort != "low" {
		t.Errorf("a run sent %s", s.last())
	}
	r.must(wire.MethodProviderTest, wire.ProviderTestParams{Provider: p.Provider, Model: "small"}, nil)
	if got := sent(); got.Temperature == nil || *got.Temperature != warm || got.MaxTokens == 0 || got.MaxTokens >= 700 {
		t.Errorf("a test sent %s", s.last())
	}
	p = s.talk("c2", "large", "Hello.")
	r.endsAs(r.submit(p).RunID, core.RunSucceeded)
	if got := sent(); got.Temperature != nil || got.MaxTokens != 0 || got.Effort != "" {
		t.Errorf("with nothing set a run sent %s", s.last())
	}
}
