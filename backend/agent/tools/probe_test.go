package tools

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

func (b *bench) probe(tool string, in core.Intent) core.ToolVerdict {
	b.t.Helper()
	r, err := b.exec.Probe(b.t.(*testing.T).Context(), wire.ToolProbeParams{ToolCallRef: b.ref(), Name: tool, Intent: in})
	try(b.t, err)
	return r.Verdict
}

// What became of a call is told by digests, and by nothing else.
//
// covers: R6
func TestProbe_Create(t *testing.T) {
	b := newBench(t, map[string]string{"Notes/": ""})
	intent := core.Intent{Tool: core.ToolCreateDocument, Target: b.path("Notes/n.md"), PostDigest: digestOf([]byte("text"))}
	probe := func(want core.ToolVerdict, why string) {
		t.Helper()
		if got := b.probe(core.ToolCreateDocument, intent); got != want {
			t.Errorf("%s: %s, want %s", why, got, want)
		}
	}
	probe(core.VerdictAbsent, "not there")
	// Half of it, under the name of this call, and one of another.
	b.put("Notes/.galley-1-"+keyOf(b.ref().ToolCallID)+".tmp", "te")
	b.put("Notes/.galley-1-another.tmp", "te")
	probe(core.VerdictAbsent, "half")
	if d := cmp.Diff(map[string]string{"./": "", "Notes/": "", "Notes/.galley-1-another.tmp": "te"}, snapshot(t, b.path(""))); d != "" {
		t.Error(d)
	}
	b.put("Notes/n.md", "text")
	probe(core.VerdictApplied, "there")
	b.put("Notes/n.md", "text and more")
	probe(core.VerdictUnknown, "edited since")
	try(t, os.Remove(b.path("Notes/n.md")))
	b.put("Notes/n.md/", "")
	probe(core.VerdictUnknown, "a folder")
	try(t, os.RemoveAll(b.path("Notes")))
	probe(core.VerdictUnknown, "its folder is gone")
	intent.Target = filepath.Join(b.root, "far.md")
	probe(core.VerdictUnknown, "not permitted")
	try(t, os.WriteFile(intent.Target, []byte("text"), 0o644))
	probe(core.VerdictUnknown, "not permitted, and there")
	probe = func(want core.ToolVerdict, why string) {
		t.Helper()
		if got := b.probe(core.ToolCreateDocument, core.Intent{}); got != want {
			t.Errorf("%s: %s, want %s", why, got, want)
		}
	}
	probe(core.VerdictUnknown, "no intent")
	if got := b.probe("another tool", intent); got != core.VerdictUnknown {
		t.Errorf("another tool: %s", got)
	}
	for _, tool := range []string{core.ToolProposePatch, core.ToolReadDocument, core.ToolMathAdd} {
		if got := b.probe(tool, core.Intent{}); got != core.VerdictAbsent {
			t.Errorf("%s: %s", tool, got)
		}
	}
}

// covers: R6
func TestProbe_Rename(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "text"})
	intent := core.Intent{
		Tool: core.ToolRenameDocument, Source: b.path("a.md"), Target: b.path("b.md"), PreDigest: digestOf([]byte("text")), PostDigest: digestOf([]byte("text")),
	}
	probe := func(want core.ToolVerdict, why string) {
		t.Helper()
		if got := b.probe(core.ToolRenameDocument, intent); got != want {
			t.Errorf("%s: %s, want %s", why, got, want)
		}
	}
	probe(core.VerdictAbsent, "as before")
	b.put("a.md", "edited")
	probe(core.VerdictUnknown, "edited since")
	b.put("a.md", "text")
	b.put("b.md", "text")
	probe(core.VerdictUnknown, "both")
	try(t, os.Remove(b.path("a.md")))
	probe(core.VerdictApplied, "renamed")
	b.put("b.md", "edited")
	probe(core.VerdictUnknown, "renamed and edited since")
	try(t, os.Remove(b.path("b.md")))
	probe(core.VerdictUnknown, "neither")
	intent.Target = b.path("sub/b.md")
	probe(core.VerdictUnknown, "not what a rename does")
	b.grant.Revoke(b.path(""))
	probe(core.VerdictUnknown, "not permitted")
}

// It waits for the folders of the start before, and for a call of this process
// that a lost Runner left behind.
//
// covers: R6
func TestProbe_Waits(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "text"})
	ready := make(chan struct{})
	b.start(Config{Ready: ready})
	b.begin("")
	in := input{"path": "a.md", "newName": "b.md"}
	p, err := b.exec.Prepare(t.Context(), b.prepare(core.ToolRenameDocument, in))
	try(t, err)
	req := b.request(core.ToolRenameDocument, in, p)
	ask := wire.ToolProbeParams{ToolCallRef: b.ref(), Name: core.ToolRenameDocument, Intent: req.Intent}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := b.exec.Probe(ended, ask); fault.CodeOf(err) != fault.Cancelled || r.Verdict != core.VerdictUnknown {
		t.Errorf("%v, %v", r, err)
	}
	close(ready)

	// The call hangs in the middle of its effect.
	hangs, goOn := make(chan struct{}), make(chan struct{})
	b.calls.Watch(func(name string) {
		if name == "move" {
			close(hangs)
			<-goOn
		}
	})
	type result struct {
		core.ToolResult
		err error
	}
	done := make(chan result, 1)
	lost, lose := context.WithCancel(context.Background())
	go func() {
		r, err := b.exec.Execute(lost, req)
		done <- result{r, err}
	}()
	<-hangs
	lose()
	if _, err := b.exec.Probe(ended, ask); fault.CodeOf(err) != fault.Cancelled {
		t.Errorf("%v", err)
	}
	if r, err := b.exec.Execute(t.Context(), req); err != nil || r.Code != fault.Busy {
		t.Errorf("the same call twice: %+v, %v", r, err)
	}
	verdict := make(chan core.ToolVerdict, 1)
	go func() {
		r, err := b.exec.Probe(context.Background(), ask)
		if err != nil {
			t.Error(err)
		}
		verdict <- r.Verdict
	}()
	select {
	case v := <-verdict:
		t.Errorf("it did not wait: %s", v)
	case <-done:
		t.Error("the call did not wait")
	default:
	}
	close(goOn)
	if r := <-done; r.err != nil || r.IsError {
		t.Errorf("%+v", r)
	}
	if v := <-verdict; v != core.VerdictApplied {
		t.Errorf("%s", v)
	}
}

// Where a failure says that nothing happened, and something has, nobody is told
// that it did not.
//
// covers: R6
func TestRename_DoesNotBelieveAnError(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "a", "b.md": "b"})
	moves := true
	b.start(Config{Move: func(_ context.Context, from, to string) error {
		if moves {
			try(t, os.Rename(from, to))
		}
		return fault.New(fault.Internal, "move", errors.New("lost"))
	}})
	b.begin("")
	run := func(in input) (core.ToolResult, error) {
		p, err := b.exec.Prepare(t.Context(), b.prepare(core.ToolRenameDocument, in))
		try(t, err)
		return b.execute(t.Context(), core.ToolRenameDocument, in, p)
	}
	if r, err := run(input{"path": "a.md", "newName": "c.md"}); !errors.Is(err, errUnknown) {
		t.Errorf("%+v, %v", r, err)
	}
	moves = false
	if r, err := run(input{"path": "b.md", "newName": "d.md"}); err != nil || !r.IsError || r.Code != fault.Internal {
		t.Errorf("%+v, %v", r, err)
	}
}

// covers: R8
func TestScopes_EndWithTheirRuns(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "a"})
	event := func(kind core.EventType, run core.RunID, payload any) {
		b.exec.OnEvent(core.Event{Type: kind, RunID: run, Payload: encode(t, payload)})
	}
	known := func() int { return len(b.exec.scopes.kept) }
	b.exec.Begin("one", Scope{Workspace: b.path("")})
	b.exec.Begin("one", Scope{Workspace: b.path("")})
	event(core.EventRunAccepted, "r1", core.Run{ID: "r1", CommandID: "one"})
	b.exec.Begin("one", Scope{})
	if b.exec.scopes.kept[0].Workspace == "" || known() != 1 {
		t.Error("an accepted run lost its folder")
	}
	b.exec.Begin("two", Scope{})
	event(core.EventRunAccepted, "r2", core.Run{ID: "r2", CommandID: "two"})
	event(core.EventRunWaiting, "r1", core.RunChanged{})
	event(core.EventRunAccepted, "r3", "no run")
	event(core.EventRunSucceeded, "r1", core.RunChanged{})
	event(core.EventRunFailed, "", core.RunChanged{})
	if known() != 1 || b.exec.scopes.kept[0].command != "two" {
		t.Errorf("%d are left", known())
	}
	for _, kind := range []core.EventType{core.EventRunFailed, core.EventRunCancelled, core.EventRunInterrupted} {
		event(core.EventRunAccepted, "r2", core.Run{ID: "r2", CommandID: "two"})
		event(kind, "r2", core.RunChanged{})
		if known() != 0 {
			t.Errorf("%s: %d are left", kind, known())
		}
		b.exec.Begin("two", Scope{})
	}
	b.exec.End("two")
	b.exec.End("two")
	// The ends of others can have been missed.
	for i := range 3 * maxScopes {
		b.exec.Begin(core.CommandID(string(rune('a'+i))), Scope{})
	}
	if known() != maxScopes {
		t.Errorf("%d are kept", known())
	}
}

// A disk that no longer answers holds up neither a call that reads nor the end
// of the program.
//
// covers: R2 R7
func TestHungDisk(t *testing.T) {
	b := newBench(t, map[string]string{"a.md": "text"})
	b.begin("")
	synctest.Test(t, func(t *testing.T) {
		hangs, goOn := make(chan struct{}), make(chan struct{})
		b.calls.Watch(func(name string) {
			if name == "read" {
				close(hangs)
				<-goOn
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan core.ToolResult, 1)
		go func() {
			r, err := b.exec.Execute(ctx, b.request(core.ToolReadDocument, input{"path": "a.md"}, core.Prepared{}))
			if err != nil {
				t.Error(err)
			}
			got <- r
		}()
		<-hangs
		cancel()
		if r := <-got; !r.Stopped {
			t.Errorf("%+v", r)
		}
		began := time.Now()
		b.exec.Close()
		if took := time.Since(began); took != closeTime {
			t.Errorf("the end took %s", took)
		}
		b.calls.Watch(nil)
		close(goOn)
		b.exec.Close()
	})
}
