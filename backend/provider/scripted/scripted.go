// Package scripted answers without a network: [Model] is the offline provider
// "mock", with which everything can be tried without a key, and [Player] plays
// a given list of deltas, faults and silences in tests.
//
// The mock is deterministic: the same request and seed give the same pieces.
// It streams many small pieces, cut inside words and inside what a reader takes
// for one character, because that is what real providers do. Rewrites really
// edit the selection, word by word, and leave alone what a good model would:
// Markdown marks, numbers, links, code, quotations.
//
// In a conversation it calls tools. Lines "/tool name {json}" are calls of one
// step, a line "/then" begins the next. A few wishes it understands in English
// and Chinese: to replace a word, to create a note, to rename one, and to say
// what stands somewhere. It then goes from tool to tool as a model would.
//
// Both types are safe for concurrent use.
package scripted

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"time"
	"unicode/utf8"

	"galley/backend/agent/core"
	"galley/backend/agent/crash"
	"galley/backend/fault"
)

// The models of the mock. ModelSlow streams so slowly that a person, or a test
// of the window, can act while it does.
const (
	ModelOne  = "mock-1"
	ModelSlow = "mock-slow"
)

// The pauses between pieces, by model.
const (
	pace     = 12 * time.Millisecond
	paceSlow = 60 * time.Millisecond
)

// Config configures a [Model]. The zero value is the mock that people use.
type Config struct {
	// Pace is the pause after each piece; 0 is the model's own (12 ms, or
	// 60 ms for mock-slow), a negative one is none.
	Pace time.Duration
	// Seed varies where answers are cut, and nothing else.
	Seed uint64
}

// Model is the offline provider. It implements core.Model.
type Model struct {
	cfg Config
}

// New returns a model.
func New(cfg Config) *Model { return &Model{cfg: cfg} }

// Models lists the models of the mock.
func (m *Model) Models(context.Context) ([]core.ModelInfo, error) {
	can := core.Capabilities{
		ContextTokens: contextTokens, ContextSource: core.SourceAsked,
		Tools: core.KnownYes, StreamedArguments: core.KnownYes, Reasoning: core.KnownYes,
	}
	return []core.ModelInfo{{ID: ModelOne, Capabilities: can}, {ID: ModelSlow, Capabilities: can}}, nil
}

// contextTokens is what the mock pretends to take.
const contextTokens = 32_768

// Describe tells of one of them; a zero answer for any other.
func (m *Model) Describe(ctx context.Context, model string) (core.ModelInfo, error) {
	all, err := m.Models(ctx)
	for _, info := range all {
		if info.ID == model {
			return info, nil
		}
	}
	return core.ModelInfo{}, err
}

// URL is empty: nothing leaves.
func (m *Model) URL(string) string { return "" }

// Close does nothing: there is nothing to let go.
func (m *Model) Close() {}

// Stream implements core.Model.
func (m *Model) Stream(ctx context.Context, req core.Request, onDelta func(core.Delta)) (core.Answer, error) {
	if req.Model != ModelOne && req.Model != ModelSlow {
		return core.Answer{}, &fault.Error{Code: fault.ModelNotFound, Op: "chat", Detail: req.Model}
	}
	a := reply(req)
	wait := m.cfg.Pace
	if wait == 0 {
		wait = pace
		if req.Model == ModelSlow {
			wait = paceSlow
		}
	}
	var done core.Answer // what has come
	speak := func(all string, give func(piece string)) error {
		for _, piece := range pieces(all, m.cfg.Seed) {
			if err := pause(ctx, wait); err != nil {
				return err
			}
			give(piece)
		}
		return nil
	}
	err := speak(a.Reasoning, func(piece string) {
		done.Reasoning += piece
		onDelta(core.Delta{Reasoning: piece})
	})
	if err == nil {
		err = speak(a.Text, func(piece string) {
			done.Text += piece
			onDelta(core.Delta{Text: piece})
		})
	}
	// Arguments come in pieces too, but nobody is shown those.
	for _, c := range a.Calls {
		if err == nil {
			err = speak(string(c.Arguments)+c.Raw, func(string) { crash.At("mid_tool_args") })
		}
	}
	if err == nil {
		err = pause(ctx, wait)
	}
	if err != nil {
		return done, err
	}
	return a, nil
}

// pause waits; a negative or no wait only looks whether ctx has ended.
func pause(ctx context.Context, d time.Duration) error {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-ctx.Done():
		case <-t.C:
		}
	}
	if ctx.Err() != nil {
		return fault.New(fault.Cancelled, "chat", context.Cause(ctx))
	}
	return nil
}

// maxPieces keeps a long answer from taking minutes: its pieces grow instead.
const maxPieces = 400

// pieces cuts a text between any two code points, by a generator that depends
// on the text and the seed. Joined they are the text.
func pieces(s string, seed uint64) []string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s))
	r := rand.New(rand.NewPCG(h.Sum64(), seed))
	most := max(5, 2*utf8.RuneCountInString(s)/maxPieces)
	var all []string
	for s != "" {
		n, size := 1+r.IntN(most), 0
		for ; n > 0 && size < len(s); n-- {
			_, w := utf8.DecodeRuneInString(s[size:])
			size += w
		}
		all = append(all, s[:size])
		s = s[size:]
	}
	return all
}

// usage counts as a tokeniser would, more or less, and says that it does not
// know.
func usage(req core.Request, a core.Answer) core.Usage {
	in, out := len(req.System), len(a.Text)+len(a.Reasoning)
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			in += len(p.Text) + len(p.Input)
		}
	}
	for _, t := range req.Tools {
		in += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	for _, c := range a.Calls {
		out += len(c.Name) + len(c.Arguments) + len(c.Raw)
	}
	return core.Usage{Kind: core.UsageEstimated, Input: (in + 3) / 4, Output: (out + 3) / 4, Reasoning: (len(a.Reasoning) + 3) / 4}
}
