package api

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/host"
	"galley/backend/agent/wire"
	"galley/backend/attach"
	"galley/backend/fault"
	"galley/backend/settings"
)

// commandLine is a command line on a home: the same host without a window.
type commandLine struct {
	*host.Host
	runners chan host.Runner
}

func newCommandLine(t *testing.T, home settings.Home) commandLine {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	agent := attach.NewAgent(attach.AgentConfig{Home: home, Kind: wire.ClientCommand, Version: "1.2.3", Log: log})
	c := commandLine{runners: make(chan host.Runner, 100)}
	var err error
	c.Host, err = host.New(host.Config{
		Home: home.Dir, Logger: log, Claim: agent.Claim, Dial: agent.Dial,
		Credential: func(context.Context, string) (string, error) { return "", errors.New("none") },
		OnRunner:   func(r host.Runner) { c.runners <- r },
	})
	try(t, err)
	c.Start()
	t.Cleanup(c.end)
	return c
}

func (c commandLine) end() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c.Close(ctx)
}

// until waits until the agent of the command line stands so.
func (c commandLine) until(t *testing.T, s host.Status) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		select {
		case r := <-c.runners:
			if r.Status == s {
				return
			}
		case <-ctx.Done():
			t.Fatalf("is not %s", s)
		}
	}
}

// What a command line asks for is carried out by the window that holds the
// agent: with the unsaved text of the document that it names, in the folder that
// it names, which nobody else may reach; and it is the window where it can be
// approved.
//
// covers: F7 T4 X5 H2
func TestBackend_TaskOfACommandLine(t *testing.T) {
	w := newWriting(t)
	w.typed(w.number, w.doc, insertion(0, "unsaved "))
	c := newCommandLine(t, w.home)
	c.until(t, host.Elsewhere)
	folder := t.TempDir()
	task := wire.TaskParams{
		CommandID: "t1", Input: tool(t, core.ToolGetActiveDocument, struct{}{}) + "\n" + creation(t),
		ModelRef: core.ModelRef{ProviderID: settings.Mock().ID}, Folder: folder, File: w.path,
	}
	res, err := c.SubmitTask(t.Context(), task)
	try(t, err)
	if again, err := c.SubmitTask(t.Context(), task); err != nil || again.RunID != res.RunID {
		t.Errorf("again %+v (%v)", again, err)
	}
	run := string(res.RunID)
	asked := w.approval(run)
	if asked.Summary.Path != "Ferry.md" {
		t.Errorf("asked %+v", asked)
	}
	ask[core.Approval](w.window, "Agent.DecideApproval", w.answer("a1", asked, core.AllowOnce))
	if end := w.ended(run); end.State != core.RunSucceeded {
		t.Errorf("ended %+v", end)
	}
	if got := content(t, filepath.Join(folder, "Ferry.md")); got != ferry {
		t.Errorf("made %q", got)
	}
	absent(t, filepath.Join(filepath.Dir(w.path), "Ferry.md"))
	if read := w.called(run, core.ToolGetActiveDocument, core.CallSucceeded); !strings.Contains(read.Result, "unsaved # Notes") || read.Facts.Version != 2 {
		t.Errorf("read %+v", read)
	}
	if w.backend.Reaches(filepath.Join(folder, "Ferry.md")) || w.backend.Reaches(folder) {
		t.Error("the window reaches the folder of the run")
	}
	accepted := await(w.window, "run.accepted", func(e Envelope, _ core.Run) bool { return e.RunID == run })
	if accepted.DocURI != w.doc.URI {
		t.Errorf("run %+v", accepted)
	}
	// It can be stricter than the person, and no milder.
	task.Input = strings.Replace(creation(t), "Ferry.md", "Second.md", 1)
	task.CommandID, task.Policy = "t2", core.Policy{core.PermNotesWrite: core.VerdictAllow}
	if res, err = c.SubmitTask(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	w.approval(string(res.RunID))
	if _, err := c.Cancel(t.Context(), "x", res.RunID); err != nil {
		t.Error(err)
	}
	w.ended(string(res.RunID))
	task.CommandID, task.Policy = "t3", core.Policy{core.PermNotesWrite: core.VerdictDeny}
	if res, err = c.SubmitTask(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	w.ended(string(res.RunID))
	if call := w.called(string(res.RunID), core.ToolCreateDocument, core.CallFailed); call.Reason != "policy_denied" {
		t.Errorf("call %+v", call)
	}
	for _, bad := range []struct {
		name   string
		change func(*wire.TaskParams)
		want   fault.Code
	}{
		{"a folder that is not there", func(p *wire.TaskParams) { p.Folder = filepath.Join(folder, "none") }, fault.NotFound},
		{"a relative folder", func(p *wire.TaskParams) { p.Folder = "here" }, fault.InvalidInput},
		{"a provider that is not configured", func(p *wire.TaskParams) { p.ModelRef.ProviderID = "none" }, fault.NoProvider},
		{"a tool that there is not", func(p *wire.TaskParams) { p.AllowedTools = []string{"shell"} }, fault.InvalidInput},
	} {
		p := task
		p.CommandID = core.CommandID("bad")
		bad.change(&p)
		if _, err := c.SubmitTask(t.Context(), p); fault.CodeOf(err) != bad.want {
			t.Errorf("%s: %v", bad.name, err)
		}
	}
}

// A window whose agent a command line holds says so, works on, begins nothing,
// and takes over when the other has ended.
//
// covers: K8 H2
func TestBackend_AgentIsHeldByACommandLine(t *testing.T) {
	home := newHome(t)
	try(t, home.Make())
	c := newCommandLine(t, home)
	c.until(t, host.Ready)
	w := &writing{window: openWindow(t, home), text: sampleText}
	w.path = filepath.Join(w.folder(map[string]string{"notes.md": sampleBytes}), "notes.md")
	w.number = w.page()
	w.doc = ask[Document](w.window, "Documents.Open", w.path)
	await(w.window, "runner.changed", func(_ Envelope, r RunnerState) bool { return r.Status == string(host.Elsewhere) })
	if got := ask[AgentState](w.window, "Agent.Attach", 0); got.Runner.Status != string(host.Elsewhere) {
		t.Errorf("attached %+v", got)
	}
	req := w.message("c1", "Hello.")
	if got := w.refused(fault.Busy, "Agent.SubmitMessage", req); got.Detail != "elsewhere" {
		t.Errorf("told %+v", got)
	}
	w.refused(fault.Busy, "Agent.SubmitRewrite", w.selected("c2", passage, "shorten"))
	// What left is listed here as well, and read and cleared where it left.
	if log := ask[SendPage](w.window, "Settings.Sends", 0, 50); log.Sends == nil || log.KeptDays == 0 {
		t.Errorf("send log %+v", log)
	}
	w.refused(fault.Busy, "Settings.Send", 1, 0)
	w.refused(fault.Busy, "Settings.ClearSends", 0)
	w.refused(fault.Busy, "Settings.Model", settings.Mock().ID, "mock-1", false)
	w.typed(w.number, w.doc, insertion(0, "x"))
	w.doc.Version++
	c.end()
	w.ready()
	req.Place.Version++
	if end := w.ended(w.say(req).RunID); end.State != core.RunSucceeded {
		t.Errorf("ended %+v", end)
	}
}

// Files may be looked at for what became of earlier calls once all that a start
// opens is open, and not before a page is there.
//
// covers: F11
func TestSessions_SayWhenTheStartIsOver(t *testing.T) {
	w := makeWindow(t, newHome(t))
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.md"), "a\n")
	w.backend.OpenAtStart([]string{dir, filepath.Join(dir, "a.md")})
	w.backend.wg.Go(func() { w.backend.sessions.run(w.backend.ctx) })
	begun := w.backend.sessions.begun
	select {
	case <-begun:
		t.Fatal("before a page has attached")
	default:
	}
	w.page()
	<-begun
	if got := w.backend.grants.Workspace(); got != dir {
		t.Errorf("the folder is %q", got)
	}
	if paths := w.backend.set.Paths(); !slices.Contains(paths, filepath.Join(dir, "a.md")) {
		t.Errorf("open are %v", paths)
	}
}
