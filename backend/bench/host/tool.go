//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/bench"
	"galley/backend/provider/scripted"
)

// calls is how many calls one answer makes; they are carried out one by one.
const calls = 24

// instant is a host's tools that take no time.
type instant struct{}

func (instant) Prepare(context.Context, wire.ToolPrepareParams) (core.Prepared, error) {
	return core.Prepared{}, nil
}

func (instant) Execute(context.Context, wire.ToolExecuteParams) (core.ToolResult, error) {
	return core.ToolResult{Text: "3"}, nil
}

func (instant) Probe(context.Context, wire.ToolProbeParams) (wire.ToolProbeResult, error) {
	return wire.ToolProbeResult{Verdict: core.VerdictUnknown}, nil
}

// tools is the round trip of a call: looked at, kept as an intent, begun, carried
// out by the host, its result committed. Between them lie two requests over the
// pipe and three commits; the bar counts one of each.
func tools(dir string) error {
	p, err := start(filepath.Join(dir, "tools"), nil, instant{})
	if err != nil {
		return err
	}
	defer p.end()
	e, err := newEchoAndCommit(dir, "tools.db")
	if err != nil {
		return err
	}
	defer func() { _ = e.end() }()
	n := 0
	ours := func() (time.Duration, error) {
		n++
		return p.callTools(n)
	}
	for _, peer := range []struct {
		name    string
		times   int
		commits int
	}{
		{"tool round trip beside an echo and a commit", 1, 1},
		{"tool round trip beside two echoes with three commits", 2, 0},
	} {
		r, err := bench.Pair{
			ID: "bm-14", Name: peer.name, Rounds: 12, Ours: ours,
			Peer: func() (time.Duration, error) {
				var all time.Duration
				for range calls {
					d, err := e.do(peer.times, peer.commits)
					if err != nil {
						return 0, err
					}
					all += d
					if peer.times == 2 {
						begun := time.Now()
						for range 3 {
							if err := e.log.commit(0); err != nil {
								return 0, err
							}
						}
						all += time.Since(begun)
					}
				}
				return all / calls, nil
			},
		}.Run()
		if err != nil {
			return err
		}
		fmt.Println(r)
	}
	return nil
}

// callTools has a run make its calls and returns what one of them took, from the
// moment the page knew of them to the last result.
func (p *program) callTools(n int) (time.Duration, error) {
	line := "/tool " + core.ToolMathAdd + ` {"left":1,"right":2}` + "\n"
	res, err := p.Submit(context.Background(), wire.SubmitParams{
		CommandID: core.CommandID("run-" + strconv.Itoa(n)), Kind: core.KindConversation, Input: strings.Repeat(line, calls),
		ModelRef: core.ModelRef{ProviderID: "mock", Model: scripted.ModelOne}, Provider: wire.ProviderConfig{ID: "mock", Kind: "mock"},
		AllowedTools: core.DevelopmentTools(), Language: "en",
	})
	if err != nil {
		return 0, err
	}
	var begun, done time.Time
	looked, succeeded := 0, 0
	err = p.until(func() (bool, error) {
		for ; looked < len(p.events); looked++ {
			e := p.events[looked]
			if e.RunID != res.RunID {
				continue
			}
			switch e.Type {
			case core.EventToolChanged:
				var c core.ToolCall
				if err := json.Unmarshal(e.Payload, &c); err != nil {
					return false, err
				}
				switch {
				case c.State == core.CallProposed:
					begun = e.at // the last of them: they are one commit
				case c.State == core.CallSucceeded:
					done = e.at
					succeeded++
				case c.State.Final():
					return false, fmt.Errorf("a call ended %s, %s", c.State, c.Reason)
				}
			case core.EventRunSucceeded, core.EventRunFailed, core.EventRunCancelled, core.EventRunInterrupted:
				if succeeded != calls {
					return false, fmt.Errorf("%d calls succeeded of %d, run %s", succeeded, calls, e.Payload)
				}
				return true, nil
			default:
			}
		}
		return false, nil
	})
	return done.Sub(begun) / calls, err
}
