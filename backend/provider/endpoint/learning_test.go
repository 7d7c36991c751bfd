package endpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
)

// notebook is a Memory.
type notebook struct {
	mu    sync.Mutex // guards facts
	facts map[string][]core.Fact
}

func (n *notebook) Facts(_ context.Context, model string) []core.Fact {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.facts[model])
}

func (n *notebook) Learn(_ context.Context, model string, f core.Fact) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.facts == nil {
		n.facts = make(map[string][]core.Fact)
	}
	n.facts[model] = slices.DeleteFunc(n.facts[model], func(x core.Fact) bool { return x.Name == f.Name && x.Source == f.Source })
	n.facts[model] = append(n.facts[model], f)
}

// picky is an endpoint whose model does not take some parameters, says so one at
// a time, and has a limit.
type picky struct {
	refuses []string
	limit   int
	tools   bool
	speaks  bool // says a word before it refuses
	clips   bool // cuts the prompt and does not say so
	opaque  bool // takes none of its own data back
	told    core.ModelInfo
	tellErr error
	sent    []core.Request
	asked   int
}

func (p *picky) Stream(_ context.Context, req core.Request, onDelta func(core.Delta)) (core.Answer, error) {
	p.sent = append(p.sent, req)
	refuse := func(code fault.Code, why error) (core.Answer, error) {
		if p.speaks {
			onDelta(core.Delta{Text: "Well, "})
		}
		return core.Answer{}, &fault.Error{Code: code, Op: "chat", Err: why}
	}
	for _, name := range p.refuses {
		if !slices.Contains(req.Refused, name) {
			return refuse(fault.BadRequest, &provider.RefusedParam{Name: name})
		}
	}
	for _, msg := range req.Messages {
		if p.opaque && slices.ContainsFunc(msg.Parts, func(p core.Part) bool { return p.Envelope != nil }) {
			return refuse(fault.BadRequest, &provider.RefusedOpaque{})
		}
	}
	if p.limit > 0 && req.MaxOutputTokens > p.limit {
		return refuse(fault.BadRequest, &provider.NamedSize{Output: p.limit})
	}
	if !p.tools && len(req.Tools) > 0 {
		return refuse(fault.UnsupportedByModel, &provider.RefusedTools{})
	}
	if len(req.Messages) > 1 {
		return refuse(fault.ContextTooLong, &provider.NamedSize{Context: 8192})
	}
	a := core.Answer{Text: "ok", Reasoning: "hm", Clipped: p.clips}
	for range req.Tools {
		a.Calls = append(a.Calls, core.AnswerCall{Name: "x"})
	}
	return a, nil
}

func (p *picky) Models(context.Context) ([]core.ModelInfo, error) {
	return []core.ModelInfo{{ID: "m", Capabilities: core.Capabilities{ContextTokens: 1000, ContextSource: core.SourceAsked, Tools: yes}}, {ID: "gpt-4o"}}, nil
}

func (p *picky) Describe(context.Context, string) (core.ModelInfo, error) {
	p.asked++
	return p.told, p.tellErr
}
func (p *picky) URL(string) string { return "https://h.test" }
func (p *picky) Close()            {}

func names(facts []core.Fact) []string {
	out := []string{}
	for _, f := range facts {
		out = append(out, fmt.Sprintf("%s=%s %s", f.Name, f.Value, f.Source))
	}
	slices.Sort(out)
	return out
}

// TestLearning_Parameters: what was refused once is learned, the request goes
// again without it, and the next one goes without it at once.
//
// covers: K10
func TestLearning_Parameters(t *testing.T) {
	t.Parallel()
	p := &picky{refuses: []string{"temperature", "reasoning_effort"}, limit: 100}
	memory := &notebook{}
	l := Learn(p, LearningConfig{Kind: KindOpenAIChat, Memory: memory})
	req := core.Request{Model: "m", MaxOutputTokens: 500}
	if _, err := l.Stream(t.Context(), req, func(core.Delta) {}); err != nil {
		t.Fatal(err)
	}
	if len(p.sent) != 4 {
		t.Errorf("%d requests, want 4", len(p.sent))
	}
	want := []string{"max_output_tokens=100 learned", "param:reasoning_effort=refused learned", "param:temperature=refused learned", "reasoning=yes learned"}
	if d := cmp.Diff(want, names(l.Facts(t.Context(), "m"))); d != "" {
		t.Errorf("facts (-want +got):\n%s", d)
	}
	p.sent = nil
	if _, err := l.Stream(t.Context(), req, func(core.Delta) {}); err != nil || len(p.sent) != 1 {
		t.Errorf("%v after %d requests, want 1", err, len(p.sent))
	}
	if p.sent[0].MaxOutputTokens != 100 || req.MaxOutputTokens != 500 || req.Refused != nil {
		t.Errorf("sent %+v", p.sent[0])
	}
	// Another model knows nothing of it.
	if facts := l.Facts(t.Context(), "other"); len(facts) != 0 {
		t.Errorf("another model has %v", facts)
	}
}

// TestLearning_Bounded: one request teaches three parameters at most, each once,
// and nothing goes again that was shown.
//
// covers: K6 K10
func TestLearning_Bounded(t *testing.T) {
	t.Parallel()
	p := &picky{refuses: []string{"a", "b", "c", "d", "e"}}
	l := Learn(p, LearningConfig{Memory: &notebook{}})
	_, err := l.Stream(t.Context(), core.Request{Model: "m"}, func(core.Delta) {})
	if fault.CodeOf(err) != fault.BadRequest || len(p.sent) != 4 {
		t.Errorf("%v after %d requests, want 4", err, len(p.sent))
	}
	// The same one again and again ends at once.
	stubborn := &stubborn{}
	l = Learn(stubborn, LearningConfig{Memory: &notebook{}})
	_, err = l.Stream(t.Context(), core.Request{Model: "m"}, func(core.Delta) {})
	if fault.CodeOf(err) != fault.BadRequest || stubborn.n != 2 {
		t.Errorf("%v after %d requests, want 2", err, stubborn.n)
	}
	// Words that were shown are not taken back.
	p = &picky{refuses: []string{"a"}, speaks: true}
	memory := &notebook{}
	l = Learn(p, LearningConfig{Memory: memory})
	_, err = l.Stream(t.Context(), core.Request{Model: "m"}, func(core.Delta) {})
	if fault.CodeOf(err) != fault.BadRequest || len(p.sent) != 1 || len(memory.facts["m"]) != 1 {
		t.Errorf("%v after %d requests, %v", err, len(p.sent), memory.facts)
	}
	// What was cancelled does not go again.
	p = &picky{refuses: []string{"a"}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l = Learn(p, LearningConfig{Memory: &notebook{}})
	if _, err = l.Stream(ctx, core.Request{Model: "m"}, func(core.Delta) {}); err == nil || len(p.sent) != 1 {
		t.Errorf("cancelled: %v after %d requests", err, len(p.sent))
	}
}

type stubborn struct {
	picky
	n int
}

func (s *stubborn) Stream(context.Context, core.Request, func(core.Delta)) (core.Answer, error) {
	s.n++
	return core.Answer{}, &fault.Error{Code: fault.BadRequest, Err: &provider.RefusedParam{Name: "a"}}
}

// TestLearning_Tools: a model that cannot call tools is not asked to.
//
// covers: K10
func TestLearning_Tools(t *testing.T) {
	t.Parallel()
	p := &picky{}
	l := Learn(p, LearningConfig{Memory: &notebook{}})
	req := core.Request{Model: "m", Tools: []core.ToolSpec{{Name: "x"}}}
	for i := range 2 {
		_, err := l.Stream(t.Context(), req, func(core.Delta) {})
		if fault.CodeOf(err) != fault.UnsupportedByModel || len(p.sent) != 1 {
			t.Errorf("time %d: %v after %d requests", i, err, len(p.sent))
		}
		if i == 1 && fault.From(err).Detail != "m" {
			t.Errorf("the model is not named: %v", err)
		}
	}
	// Without tools it is asked.
	if _, err := l.Stream(t.Context(), core.Request{Model: "m"}, func(core.Delta) {}); err != nil {
		t.Error(err)
	}
	// One that is known not to, without ever asking.
	p = &picky{}
	l = Learn(p, LearningConfig{Kind: KindOpenAIChat})
	req.Model = "openai/o1-mini"
	if _, err := l.Stream(t.Context(), req, func(core.Delta) {}); fault.CodeOf(err) != fault.UnsupportedByModel || len(p.sent) != 0 {
		t.Errorf("%v after %d requests", err, len(p.sent))
	}
	// The person knows better.
	l = Learn(&picky{tools: true}, LearningConfig{Kind: KindOpenAIChat, Set: core.Capabilities{Tools: yes}})
	if _, err := l.Stream(t.Context(), req, func(core.Delta) {}); err != nil {
		t.Error(err)
	}
	// A call is proof.
	l = Learn(&picky{tools: true}, LearningConfig{Memory: &notebook{}})
	req.Model = "m"
	if _, err := l.Stream(t.Context(), req, func(core.Delta) {}); err != nil || l.Known(t.Context(), "m").Tools != yes {
		t.Errorf("%v, known %+v", err, l.Known(t.Context(), "m"))
	}
}

// TestLearning_Known: set goes before learned, that before asked, that before
// known.
//
// covers: K10
func TestLearning_Known(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	p := &picky{told: core.ModelInfo{ID: "gpt-4o", Capabilities: core.Capabilities{ContextTokens: 64000, Tools: no}}}
	memory := &notebook{}
	now := time.UnixMilli(1_900_000_000_000)
	cfg := LearningConfig{Kind: KindOpenAIChat, Memory: memory, Now: func() time.Time { return now }}
	l := Learn(p, cfg)

	check := func(name string, context int, source core.Source, tools core.Known) {
		t.Helper()
		c := l.Known(ctx, "gpt-4o")
		if c.ContextTokens != context || c.ContextSource != source || c.Tools != tools || c.MaxOutputTokens != 16_384 {
			t.Errorf("%s: %+v", name, c)
		}
	}
	check("known", 128_000, core.SourceKnown, yes)
	for range 3 {
		l.Ask(ctx, "gpt-4o")
	}
	if p.asked != 1 {
		t.Errorf("asked %d times in a day", p.asked)
	}
	check("asked", 64_000, core.SourceAsked, no)
	_, err := l.Stream(ctx, core.Request{Model: "gpt-4o", Messages: make([]core.Message, 2)}, func(core.Delta) {})
	if fault.CodeOf(err) != fault.ContextTooLong || len(p.sent) != 1 {
		t.Errorf("%v after %d requests", err, len(p.sent))
	}
	check("learned", 8192, core.SourceLearned, no)
	cfg.Set.ContextTokens = 5000
	l = Learn(p, cfg)
	check("set", 5000, core.SourceSet, no)

	// What was learned or asked is not believed for ever.
	cfg.Set.ContextTokens = 0
	l = Learn(p, cfg)
	now = now.Add(AskedFor)
	check("a day later", 8192, core.SourceLearned, yes)
	now = now.Add(LearnedFor)
	check("a month later", 128_000, core.SourceKnown, yes)
	if facts := l.Facts(ctx, "gpt-4o"); facts == nil || len(facts) != 0 {
		t.Errorf("facts %v", facts)
	}
	l.Ask(ctx, "gpt-4o")
	if p.asked != 2 {
		t.Errorf("asked %d times in a month", p.asked)
	}
	// That nothing was told is remembered too; that nothing could be asked is not.
	l = Learn(p, LearningConfig{Memory: &notebook{}, Now: cfg.Now})
	p.told, p.asked = core.ModelInfo{}, 0
	l.Ask(ctx, "m")
	l.Ask(ctx, "m")
	if p.asked != 1 {
		t.Errorf("asked %d times where nothing is told", p.asked)
	}
	p.tellErr = errors.New("no way")
	l.Ask(ctx, "n")
	l.Ask(ctx, "n")
	if p.asked != 3 {
		t.Errorf("asked %d times where nothing can be asked", p.asked)
	}
}

// TestLearning_Local: a server that was started again with more room is believed.
//
// covers: K10
func TestLearning_Local(t *testing.T) {
	t.Parallel()
	fact := func(source core.Source, tokens string, at int64) core.Fact {
		return core.Fact{Name: core.FactContextTokens, Value: tokens, Source: source, AtMs: at}
	}
	now := time.Now()
	early, late := now.Add(-time.Hour).UnixMilli(), now.UnixMilli()
	tests := []struct {
		profile string
		facts   []core.Fact
		want    int
	}{
		{"llamacpp", []core.Fact{fact(core.SourceLearned, "4096", early), fact(core.SourceAsked, "16384", late)}, 16384},
		{"llamacpp", []core.Fact{fact(core.SourceLearned, "4096", late), fact(core.SourceAsked, "16384", early)}, 4096},
		{"compatible", []core.Fact{fact(core.SourceLearned, "4096", early), fact(core.SourceAsked, "16384", late)}, 4096},
	}
	for _, tt := range tests {
		memory := &notebook{}
		for _, f := range tt.facts {
			memory.Learn(t.Context(), "m", f)
		}
		l := Learn(&picky{}, LearningConfig{Kind: KindOpenAIChat, Profile: tt.profile, Memory: memory})
		if c := l.Known(t.Context(), "m"); c.ContextTokens != tt.want {
			t.Errorf("%s %v: %d tokens, want %d", tt.profile, tt.facts, c.ContextTokens, tt.want)
		}
	}
}

// TestLearning_Opaque: a provider that does not take its own data back, as with
// another key, is asked once more without it; the caller keeps what it has, and
// nothing is learned of the model.
//
// covers: K2
func TestLearning_Opaque(t *testing.T) {
	t.Parallel()
	p := &picky{opaque: true}
	l := Learn(p, LearningConfig{Kind: KindOpenAIResponses, Memory: &notebook{}})
	req := core.Request{Model: "m", Messages: []core.Message{{Role: core.RoleAssistant, Parts: []core.Part{
		{Type: core.PartText, Text: "hm"}, {Type: core.PartText, Text: "ah", Envelope: &core.Envelope{V: 1}},
	}}}}
	if _, err := l.Stream(t.Context(), req, func(core.Delta) {}); err != nil || len(p.sent) != 2 {
		t.Fatalf("%v after %d requests, want 2", err, len(p.sent))
	}
	if req.Messages[0].Parts[1].Envelope == nil || p.sent[1].Messages[0].Parts[1].Text != "ah" {
		t.Errorf("kept %+v, sent %+v", req.Messages, p.sent[1].Messages)
	}
	for _, f := range l.Facts(t.Context(), "m") {
		if f.Name != core.FactReasoning {
			t.Errorf("learned %+v", f)
		}
	}
	// Where words were shown the answer is not asked for again.
	p.sent, p.speaks = nil, true
	if _, err := l.Stream(t.Context(), req, func(core.Delta) {}); fault.CodeOf(err) != fault.BadRequest || len(p.sent) != 1 {
		t.Errorf("%v after %d requests, want a bad request after 1", err, len(p.sent))
	}
}

// TestLearning_Clipped: a server that has cut a prompt is asked again how much
// room it has; it told what the model was trained with before it was loaded.
//
// covers: K10
func TestLearning_Clipped(t *testing.T) {
	t.Parallel()
	told := func(tokens int) core.ModelInfo {
		return core.ModelInfo{ID: "m", Capabilities: core.Capabilities{ContextTokens: tokens, ContextSource: core.SourceAsked}}
	}
	p := &picky{told: told(131072), clips: true}
	l := Learn(p, LearningConfig{Kind: KindOpenAIChat, Profile: "ollama", Memory: &notebook{}})
	l.Ask(t.Context(), "m")
	p.told = told(4096)
	if _, err := l.Stream(t.Context(), core.Request{Model: "m"}, func(core.Delta) {}); err != nil {
		t.Fatal(err)
	}
	if c := l.Known(t.Context(), "m"); c.ContextTokens != 4096 {
		t.Errorf("%d tokens", c.ContextTokens)
	}
	p.clips = false
	if _, err := l.Stream(t.Context(), core.Request{Model: "m"}, func(core.Delta) {}); err != nil || p.asked != 2 {
		t.Errorf("asked %d times, %v", p.asked, err)
	}
}

// TestLearning_Models: each model of a list with all that is known of it.
//
// covers: K10
func TestLearning_Models(t *testing.T) {
	t.Parallel()
	memory := &notebook{}
	memory.Learn(t.Context(), "m", core.Fact{Name: core.FactTools, Value: "no", Source: core.SourceLearned, AtMs: time.Now().UnixMilli()})
	memory.Learn(t.Context(), "m", core.Fact{Name: core.FactContextTokens, Value: strconv.Itoa(500), Source: core.SourceAsked, AtMs: time.Now().UnixMilli()})
	l := Learn(&picky{}, LearningConfig{Kind: KindOpenAIChat, Memory: memory})
	models, err := l.Models(t.Context())
	if err != nil || len(models) != 2 {
		t.Fatal(models, err)
	}
	if m := models[0]; m.ContextTokens != 1000 || m.Tools != no {
		t.Errorf("the list now, and what was learned: %+v", m)
	}
	if m := models[1]; m.ContextTokens != 128_000 || m.ContextSource != core.SourceKnown || m.Tools != yes {
		t.Errorf("what is known: %+v", m)
	}
}

// TestWellKnown finds a family by name, whoever offers it.
//
// covers: K10
func TestWellKnown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind, profile, model string
		context, output      int
		tools, reasoning     core.Known
	}{
		{KindOpenAIChat, "", "gpt-4o-2024-11-20", 128_000, 16_384, yes, no},
		{KindOpenAIChat, "", "gpt-4.1-mini", 1_047_576, 32_768, yes, no},
		{KindOpenAIChat, "", "gpt-4-1106-preview", 128_000, 4_096, yes, no},
		{KindOpenAIChat, "", "gpt-4-0613", 8_192, 8_192, yes, no},
		{KindOpenAIResponses, "", "gpt-5-2025-08-07", 400_000, 128_000, yes, yes},
		{KindOpenAIResponses, "", "gpt-5.4-mini", 400_000, 128_000, yes, yes},
		{KindOpenAIResponses, "", "gpt-5.6-sol", 1_050_000, 128_000, yes, yes},
		{KindOpenAIChat, "openrouter", "anthropic/claude-opus-4.6", 1_000_000, 128_000, yes, yes},
		{KindAnthropic, "", "claude-opus-4-20250514", 200_000, 32_000, yes, yes},
		{KindAnthropic, "", "claude-3-5-haiku-20241022", 200_000, 8_192, yes, no},
		{KindGemini, "", "models/gemini-2.5-flash", 1_048_576, 65_536, yes, yes},
		{KindGemini, "", "gemini-2.5-flash-image", 0, 0, not, not},
		{KindOpenAIChat, "xai", "grok-4-1-fast-non-reasoning", 2_000_000, 0, yes, no},
		{KindOpenAIChat, "ollama", "gpt-oss:20b", 0, 0, yes, yes},
		{KindOpenAIChat, "compatible", "o1-mini", 128_000, 65_536, no, yes},
		{KindOpenAIChat, "compatible", "o1zzz", 0, 0, not, not},
		{KindOpenAIChat, "compatible", "fern-2", 0, 0, not, not},
		{KindOpenAIChat, "compatible", "", 0, 0, not, not},
	}
	for _, tt := range tests {
		c := WellKnown(tt.kind, tt.profile, tt.model)
		if c.ContextTokens != tt.context || c.MaxOutputTokens != tt.output || c.Tools != tt.tools || c.Reasoning != tt.reasoning {
			t.Errorf("%s: %+v", tt.model, c)
		}
		if c.ContextTokens > 0 != (c.ContextSource == core.SourceKnown) {
			t.Errorf("%s: source %q", tt.model, c.ContextSource)
		}
	}
	for _, tt := range []struct {
		kind, profile string
		want          core.Known
	}{{KindGemini, "", no}, {KindOpenAIChat, "mistral", no}, {KindOpenAIChat, "ollama", no}, {KindAnthropic, "", yes}, {KindOpenAIChat, "compatible", not}, {KindMock, "", not}} {
		if got := WellKnown(tt.kind, tt.profile, "m").StreamedArguments; got != tt.want {
			t.Errorf("%s %s: streamed %q, want %q", tt.kind, tt.profile, got, tt.want)
		}
	}
	seen := make(map[string]bool)
	for _, w := range table {
		if seen[w.name] {
			t.Errorf("%s twice", w.name)
		}
		seen[w.name] = true
	}
}
