package endpoint

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
)

// Memory keeps the facts of the models of one endpoint: of one configured
// provider at one address. It answers with what it has; what it cannot read or
// write is its own affair, since a fact that is lost is learned again. It is
// safe for concurrent use.
type Memory interface {
	// Facts returns what is kept of a model, in any order.
	Facts(ctx context.Context, model string) []core.Fact
	// Learn keeps a fact in place of the one of the same name and source: what
	// was learned and what was asked stand beside each other. A memory that is
	// full lets the oldest go.
	Learn(ctx context.Context, model string, f core.Fact)
}

// How long facts are believed, and how many are kept of one model.
const (
	// LearnedFor is for what was learned from a refusal.
	LearnedFor = 30 * 24 * time.Hour
	// AskedFor is for what the endpoint told.
	AskedFor = 24 * time.Hour
	// MaxFacts is for one model.
	MaxFacts = 32
)

// maxRefusals is how many refused parameters one request can teach.
const maxRefusals = 3

// factAsked says that the endpoint was asked, also when it told nothing.
const factAsked = "asked"

// LearningConfig configures [Learn].
type LearningConfig struct {
	// Kind and Profile are those of the configured provider.
	Kind, Profile string
	// Memory keeps what is learned; nil keeps nothing.
	Memory Memory
	// Set is what the person set of every model of this provider; the zero value
	// for nothing.
	Set core.Capabilities
	// Now is the time; nil is the clock's.
	Now func() time.Time
}

// Learning is an endpoint that learns what its models refuse, and sends no
// request that they are known to refuse. It is safe for concurrent use.
type Learning struct {
	Endpoint
	cfg LearningConfig
}

// Learn returns e with a memory.
func Learn(e Endpoint, cfg LearningConfig) *Learning {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Memory == nil {
		cfg.Memory = forgetful{}
	}
	return &Learning{Endpoint: e, cfg: cfg}
}

type forgetful struct{}

func (forgetful) Facts(context.Context, string) []core.Fact { return nil }
func (forgetful) Learn(context.Context, string, core.Fact)  {}

// Facts returns what is believed now of what was learned and asked of a model,
// newest first; never nil.
func (l *Learning) Facts(ctx context.Context, model string) []core.Fact {
	return Fresh(l.cfg.Memory.Facts(ctx, model), l.cfg.Now())
}

// Fresh returns the facts that are still believed at now, newest first; never
// nil.
func Fresh(facts []core.Fact, now time.Time) []core.Fact {
	out := []core.Fact{}
	for _, f := range facts {
		keep := LearnedFor
		if f.Source == core.SourceAsked {
			keep = AskedFor
		}
		if f.Name != factAsked && now.Sub(time.UnixMilli(f.AtMs)) < keep {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b core.Fact) int { return int(min(max(b.AtMs-a.AtMs, -1), 1)) })
	return out
}

// Known returns what is known of a model without a request: what the person set,
// what was learned, what the endpoint told, what the program knows. Of a server
// on the person's own machine what it told last goes before what was learned
// earlier.
func (l *Learning) Known(ctx context.Context, model string) core.Capabilities {
	return l.known(model, l.Facts(ctx, model))
}

func (l *Learning) known(model string, facts []core.Fact) core.Capabilities {
	if isLocal(l.cfg.Profile) {
		facts = current(facts)
	}
	set := l.cfg.Set
	if set.ContextTokens > 0 {
		set.ContextSource = core.SourceSet
	}
	return set.
		Over(capabilities(facts, core.SourceLearned)).
		Over(capabilities(facts, core.SourceAsked)).
		Over(WellKnown(l.cfg.Kind, l.cfg.Profile, model))
}

// current leaves out what was learned before the endpoint told otherwise: a
// server of the person's own is started again with more room, and knows it.
// facts are newest first.
func current(facts []core.Fact) []core.Fact {
	told := make(map[string]bool)
	out := make([]core.Fact, 0, len(facts))
	for _, f := range facts {
		if f.Source == core.SourceLearned && told[f.Name] {
			continue
		}
		told[f.Name] = told[f.Name] || f.Source == core.SourceAsked
		out = append(out, f)
	}
	return out
}

// capabilities reads the facts of one source.
func capabilities(facts []core.Fact, source core.Source) core.Capabilities {
	var c core.Capabilities
	for _, f := range facts {
		if f.Source != source {
			continue
		}
		n, _ := strconv.Atoi(f.Value)
		switch f.Name {
		case core.FactContextTokens:
			if n > 0 {
				c.ContextTokens, c.ContextSource = n, source
			}
		case core.FactMaxOutputTokens:
			c.MaxOutputTokens = max(n, 0)
		case core.FactTools:
			c.Tools = asKnown(f.Value)
		case core.FactStreamedArguments:
			c.StreamedArguments = asKnown(f.Value)
		case core.FactReasoning:
			c.Reasoning = asKnown(f.Value)
		}
	}
	return c
}

func asKnown(value string) core.Known {
	if k := core.Known(value); k == core.KnownYes || k == core.KnownNo {
		return k
	}
	return core.KnownNot
}

// Ask returns what is known of a model, after asking the endpoint if that was
// not done today. What the endpoint does not tell, or cannot be asked now, is
// no failure.
func (l *Learning) Ask(ctx context.Context, model string) core.Capabilities {
	kept := l.cfg.Memory.Facts(ctx, model)
	asked := slices.ContainsFunc(kept, func(f core.Fact) bool {
		return f.Name == factAsked && l.cfg.Now().Sub(time.UnixMilli(f.AtMs)) < AskedFor
	})
	if !asked {
		_, _ = l.Describe(ctx, model)
	}
	return l.Known(ctx, model)
}

// Describe implements Endpoint: it asks, and remembers the answer.
func (l *Learning) Describe(ctx context.Context, model string) (core.ModelInfo, error) {
	info, err := l.Endpoint.Describe(ctx, model)
	if err != nil {
		return info, err
	}
	for _, f := range factsOf(info.Capabilities) {
		l.learn(ctx, model, f.Name, f.Value, core.SourceAsked)
	}
	l.learn(ctx, model, factAsked, string(core.KnownYes), core.SourceAsked)
	info.Capabilities = l.Known(ctx, model)
	return info, nil
}

// factsOf writes what an endpoint told as facts.
func factsOf(c core.Capabilities) []core.Fact {
	var out []core.Fact
	for _, n := range []struct {
		name string
		n    int
	}{{core.FactContextTokens, c.ContextTokens}, {core.FactMaxOutputTokens, c.MaxOutputTokens}} {
		if n.n > 0 {
			out = append(out, core.Fact{Name: n.name, Value: strconv.Itoa(n.n)})
		}
	}
	for _, k := range []struct {
		name string
		k    core.Known
	}{{core.FactTools, c.Tools}, {core.FactStreamedArguments, c.StreamedArguments}, {core.FactReasoning, c.Reasoning}} {
		if k.k != core.KnownNot {
			out = append(out, core.Fact{Name: k.name, Value: string(k.k)})
		}
	}
	return out
}

// Models implements Endpoint: each model with all that is known of it.
func (l *Learning) Models(ctx context.Context) ([]core.ModelInfo, error) {
	models, err := l.Endpoint.Models(ctx)
	if err != nil {
		return nil, err
	}
	for i := range models {
		m := &models[i]
		facts := l.Facts(ctx, m.ID)
		// What the list says now goes before what it said before.
		m.Capabilities = core.Capabilities{}.
			Over(capabilities(facts, core.SourceLearned)).
			Over(m.Capabilities).
			Over(l.known(m.ID, facts))
		if l.cfg.Set.ContextTokens > 0 {
			m.ContextTokens, m.ContextSource = l.cfg.Set.ContextTokens, core.SourceSet
		}
	}
	return models, nil
}

// Stream implements core.Model. A request that the model is known to refuse is
// not sent: tools of a model that cannot call them are the fault
// unsupported_by_model. What is refused is learned, and where the request may
// go without it, it goes again: each parameter once, and only while nothing was
// shown.
func (l *Learning) Stream(ctx context.Context, req core.Request, onDelta func(core.Delta)) (core.Answer, error) {
	facts := l.Facts(ctx, req.Model)
	known := l.known(req.Model, facts)
	if len(req.Tools) > 0 && known.Tools == core.KnownNo {
		return core.Answer{}, &fault.Error{Code: fault.UnsupportedByModel, Op: "chat", Detail: req.Model}
	}
	req.Known, req.Refused = known, slices.Clone(req.Refused)
	for _, f := range facts {
		if name, ok := strings.CutPrefix(f.Name, core.FactParam); ok && f.Value == core.FactRefused && !slices.Contains(req.Refused, name) {
			req.Refused = append(req.Refused, name)
		}
	}
	if limit := capabilities(facts, core.SourceLearned).MaxOutputTokens; limit > 0 && req.MaxOutputTokens > limit {
		req.MaxOutputTokens = limit
	}
	shown := false
	tell := func(d core.Delta) {
		shown = true
		onDelta(d)
	}
	for taught := 0; ; taught++ {
		answer, err := l.Endpoint.Stream(ctx, req, tell)
		if err == nil {
			l.heard(ctx, req, known, answer)
			if answer.Clipped {
				l.misjudged(ctx, req.Model)
			}
			return answer, nil
		}
		again := l.refusal(ctx, &req, err)
		if !again || shown || taught == maxRefusals || ctx.Err() != nil {
			return answer, err
		}
	}
}

// refusal learns from a failure, and reports whether the request, changed, may
// go again.
func (l *Learning) refusal(ctx context.Context, req *core.Request, err error) bool {
	if param, ok := errors.AsType[*provider.RefusedParam](err); ok {
		if slices.Contains(req.Refused, param.Name) {
			return false
		}
		l.learn(ctx, req.Model, core.FactParam+param.Name, core.FactRefused, core.SourceLearned)
		req.Refused = append(req.Refused, param.Name)
		return true
	}
	if _, ok := errors.AsType[*provider.RefusedOpaque](err); ok {
		return withoutOpaque(req)
	}
	if _, ok := errors.AsType[*provider.RefusedTools](err); ok && len(req.Tools) > 0 {
		l.learn(ctx, req.Model, core.FactTools, string(core.KnownNo), core.SourceLearned)
		return false
	}
	size, ok := errors.AsType[*provider.NamedSize](err)
	if !ok {
		return false
	}
	if size.Context > 0 {
		l.learn(ctx, req.Model, core.FactContextTokens, strconv.Itoa(size.Context), core.SourceLearned)
	}
	if size.Output > 0 {
		l.learn(ctx, req.Model, core.FactMaxOutputTokens, strconv.Itoa(size.Output), core.SourceLearned)
		// A dialect that has to name a limit named its own where none was asked for.
		if req.MaxOutputTokens == 0 || req.MaxOutputTokens > size.Output {
			req.MaxOutputTokens = size.Output
			return true
		}
	}
	return false
}

// withoutOpaque takes the opaque data out of the history of a request, whose
// messages are the caller's. It reports whether there was any.
func withoutOpaque(req *core.Request) bool {
	found := false
	messages := slices.Clone(req.Messages)
	for i, msg := range messages {
		if !slices.ContainsFunc(msg.Parts, func(p core.Part) bool { return p.Envelope != nil }) {
			continue
		}
		found = true
		messages[i].Parts = slices.Clone(msg.Parts)
		for k := range messages[i].Parts {
			messages[i].Parts[k].Envelope = nil
		}
	}
	req.Messages = messages
	return found
}

// heard learns from an answer what was not known.
func (l *Learning) heard(ctx context.Context, req core.Request, known core.Capabilities, a core.Answer) {
	if len(a.Calls) > 0 && known.Tools != core.KnownYes {
		l.learn(ctx, req.Model, core.FactTools, string(core.KnownYes), core.SourceLearned)
	}
	if a.Reasoning != "" && known.Reasoning != core.KnownYes {
		l.learn(ctx, req.Model, core.FactReasoning, string(core.KnownYes), core.SourceLearned)
	}
}

// describeTime limits the question to a server that has cut a prompt.
const describeTime = 2 * time.Second

// misjudged asks a server again that has silently cut a prompt: it has less room
// than was thought, and now that the model is loaded it knows how much. Before
// that Ollama tells only what a model was trained with.
func (l *Learning) misjudged(ctx context.Context, model string) {
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	_, _ = l.Describe(ctx, model)
}

// maxName limits the name of a fact, in bytes: what is longer is no parameter.
const maxName = 80

func (l *Learning) learn(ctx context.Context, model, name, value string, source core.Source) {
	if len(name) > maxName {
		return
	}
	// A cancel does not undo what was learned.
	l.cfg.Memory.Learn(context.WithoutCancel(ctx), model, core.Fact{
		Name: name, Value: value, Source: source, AtMs: l.cfg.Now().UnixMilli(),
	})
}
