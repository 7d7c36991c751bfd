package host

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// hands are tools that do what a test says.
type hands struct {
	execute func(ctx context.Context, p wire.ToolExecuteParams) (core.ToolResult, error)
	probe   func(ctx context.Context) (wire.ToolProbeResult, error)
	times   atomic.Int32
}

func (h *hands) Prepare(ctx context.Context, p wire.ToolPrepareParams) (core.Prepared, error) {
	if string(p.Input) == `"panic"` {
		panic("prepare")
	}
	return core.Prepared{Target: "/a"}, nil
}

func (h *hands) Execute(ctx context.Context, p wire.ToolExecuteParams) (core.ToolResult, error) {
	h.times.Add(1)
	return h.execute(ctx, p)
}

func (h *hands) Probe(ctx context.Context, _ wire.ToolProbeParams) (wire.ToolProbeResult, error) {
	return h.probe(ctx)
}

func deskWith(h *hands) *desk { return newDesk(h, slog.New(slog.DiscardHandler), 5*time.Second) }

func errandOf(id string, write bool) wire.ToolExecuteParams {
	p := wire.ToolExecuteParams{ToolCallRef: wire.ToolCallRef{ToolCallID: core.ToolCallID(id)}, Name: "t", DeadlineMs: 30_000}
	if write {
		p.Intent.Target = "/a"
	}
	return p
}

// covers: R6
func TestDesk_ACallIsCarriedOutOnce(t *testing.T) {
	h := &hands{execute: func(context.Context, wire.ToolExecuteParams) (core.ToolResult, error) {
		return core.ToolResult{Text: "done"}, nil
	}}
	d := deskWith(h)
	res, err := d.execute(t.Context(), errandOf("c", true))
	if err != nil || res.Text != "done" {
		t.Fatalf("got %+v, %v", res, err)
	}
	// What the first one came to is not said again, and not made up: internal
	// proves nothing, so that the call is unknown and not failed.
	if res, err := d.execute(t.Context(), errandOf("c", true)); fault.CodeOf(err) != fault.Internal || h.times.Load() != 1 {
		t.Errorf("sent twice: %+v, %v, carried out %d times", res, err, h.times.Load())
	}
}

// covers: T6
func TestDesk_PanicsAreResults(t *testing.T) {
	verdict := func(v core.ToolVerdict, err error) func(context.Context) (wire.ToolProbeResult, error) {
		return func(context.Context) (wire.ToolProbeResult, error) { return wire.ToolProbeResult{Verdict: v}, err }
	}
	for _, c := range []struct {
		name    string
		write   bool
		probe   func(context.Context) (wire.ToolProbeResult, error)
		unknown bool
	}{
		{"a read", false, nil, false},
		{"a write that did nothing", true, verdict(core.VerdictAbsent, nil), false},
		{"a write that did it", true, verdict(core.VerdictApplied, nil), true},
		{"a write that left something", true, verdict(core.VerdictUnknown, nil), true},
		{"a write that cannot be looked after", true, verdict("", errors.New("no")), true},
		{"a write whose look panics", true, func(context.Context) (wire.ToolProbeResult, error) { panic("probe") }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := deskWith(&hands{probe: c.probe, execute: func(context.Context, wire.ToolExecuteParams) (core.ToolResult, error) { panic("tool") }})
			res, err := d.execute(t.Context(), errandOf("c", c.write))
			switch {
			case c.unknown && fault.CodeOf(err) != fault.Internal:
				t.Errorf("got %+v, %v, want internal", res, err)
			case !c.unknown && (err != nil || !res.IsError || res.Code != fault.Internal || res.Text == ""):
				t.Errorf("got %+v, %v, want a result", res, err)
			}
		})
	}
	d := deskWith(&hands{})
	if _, err := d.prepare(t.Context(), wire.ToolPrepareParams{Input: json.RawMessage(`"panic"`)}); fault.CodeOf(err) != fault.Internal {
		t.Errorf("prepare: %v", err)
	}
}

// covers: R7
func TestDesk_CancelStopsOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hands{execute: func(ctx context.Context, p wire.ToolExecuteParams) (core.ToolResult, error) {
			<-ctx.Done()
			return core.ToolResult{IsError: true, Stopped: true, Text: context.Cause(ctx).Error()}, nil
		}}
		d := deskWith(h)
		answers := map[string]chan core.ToolResult{"a": make(chan core.ToolResult, 1), "b": make(chan core.ToolResult, 1)}
		for id, out := range answers {
			go func() {
				res, err := d.execute(t.Context(), errandOf(id, false))
				if err != nil {
					t.Error(err)
				}
				out <- res
			}()
		}
		synctest.Wait()
		d.cancel("a")
		if res := <-answers["a"]; res.Text != errStopped.Error() {
			t.Errorf("a: %+v", res)
		}
		synctest.Wait()
		select {
		case res := <-answers["b"]:
			t.Errorf("b ended with a: %+v", res)
		default:
		}
		begun := time.Now()
		if res := <-answers["b"]; res.Text != errDeadline.Error() {
			t.Errorf("b: %+v", res)
		}
		if d := time.Since(begun); d != 30*time.Second {
			t.Errorf("b ended after %s", d)
		}
		// A cancel can overtake what it cancels.
		d.cancel("c")
		res, err := d.execute(t.Context(), errandOf("c", true))
		if err != nil || !res.Stopped || res.Code != fault.Cancelled || h.times.Load() != 2 {
			t.Errorf("c: %+v, %v, %d calls", res, err, h.times.Load())
		}
	})
}

// covers: T6
func TestDesk_AToolThatDoesNotEndIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leave := make(chan struct{})
		d := deskWith(&hands{execute: func(context.Context, wire.ToolExecuteParams) (core.ToolResult, error) {
			<-leave
			return core.ToolResult{Text: "late"}, nil
		}})
		begun := time.Now()
		_, err := d.execute(t.Context(), errandOf("c", true))
		if fault.CodeOf(err) != fault.Timeout || time.Since(begun) != 35*time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun = time.Now()
		d.wait(ctx)
		if time.Since(begun) != time.Second {
			t.Error("the tool was not waited for")
		}
		close(leave)
		d.wait(t.Context())
	})
}

func TestDesk_ForgetsTheOldest(t *testing.T) {
	d := deskWith(&hands{execute: func(context.Context, wire.ToolExecuteParams) (core.ToolResult, error) {
		return core.ToolResult{}, nil
	}})
	for i := range maxCalls + 10 {
		d.cancel(core.ToolCallID(rune(i)))
	}
	if len(d.calls) != maxCalls || len(d.order) != maxCalls {
		t.Errorf("%d calls are remembered, %d in order", len(d.calls), len(d.order))
	}
}

// Without tools there are none, and nothing is known of what they did.
func TestDesk_WithoutTools(t *testing.T) {
	d := newDesk(nil, slog.New(slog.DiscardHandler), time.Second)
	if _, err := d.execute(t.Context(), errandOf("c", false)); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("execute: %v", err)
	}
	if res, err := d.probe(t.Context(), wire.ToolProbeParams{}); err != nil || res.Verdict != core.VerdictUnknown {
		t.Errorf("probe: %+v, %v", res, err)
	}
}

// covers: R2
func TestClock_SeesTheMachineSleep(t *testing.T) {
	wall := time.Now()
	h := &Host{cfg: Config{Now: func() time.Time { return wall }}}
	c := h.newClock()
	for _, step := range []struct {
		d     time.Duration
		slept bool
	}{{time.Second, false}, {time.Hour, true}, {time.Second, false}, {-time.Hour, false}, {time.Second, false}} {
		wall = wall.Add(step.d)
		if got := c.slept(); (got > 0) != step.slept {
			t.Errorf("%s later: slept %s", step.d, got)
		}
	}
}

// covers: X5
func TestTask_IsLookedAtFirst(t *testing.T) {
	sound := wire.TaskParams{CommandID: "c", Input: "do", Folder: "/f", File: "/f/a.md"}
	if field := wrongField(sound); field != "" {
		t.Fatalf("%s is wrong", field)
	}
	for field, edit := range map[string]func(*wire.TaskParams){
		"commandId":    func(p *wire.TaskParams) { p.CommandID = "" },
		"folder":       func(p *wire.TaskParams) { p.Folder = "relative" },
		"file":         func(p *wire.TaskParams) { p.File = "/a\x00b" },
		"allowedTools": func(p *wire.TaskParams) { p.AllowedTools = []string{"shell"} },
		"policy":       func(p *wire.TaskParams) { p.Policy = core.Policy{"notes.write": "always"} },
		"modelRef":     func(p *wire.TaskParams) { p.ModelRef.Model = string(make([]byte, 300)) },
	} {
		p := sound
		edit(&p)
		if got := wrongField(p); got != field {
			t.Errorf("%s: found %q", field, got)
		}
	}
}
