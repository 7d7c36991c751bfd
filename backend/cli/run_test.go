package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/host"
	"galley/backend/agent/wire"
	"galley/backend/attach"
	"galley/backend/rpc"
	"galley/backend/settings"
)

// The whole of a run: the answer on standard output and nothing else, what
// happened on the other, and both in the record.
//
// covers: H2 T7
func TestRun_ATaskInAFolder(t *testing.T) {
	p := newPlace(t)
	q := p.start("run", "--provider", "mock", p.folder, `/tool searchWorkspace {"query":"old words"}`)
	if code := q.ends(); code != exitOK {
		t.Fatalf("ended with %d", code)
	}
	if out := q.out.String(); !strings.HasPrefix(out, "The tool answered") || strings.Count(out, "\n") != 1 {
		t.Errorf("answered %q", out)
	}
	for _, want := range []string{"Searched for “old words”, 1 hit in 1 file", "Done."} {
		if !strings.Contains(q.err.String(), want) {
			t.Errorf("%q was not said", want)
		}
	}
	if strings.Contains(q.err.String(), "\x1b") {
		t.Error("colours without a terminal")
	}
	id, d, words := p.shown()
	if d.Run.State != core.RunSucceeded || len(d.Calls) != 1 || d.Session.WorkspaceID != p.folder {
		t.Errorf("detail %+v", d)
	}
	for _, want := range []string{id + ": succeeded", p.folder, "Searched for “old words”", "Answered\n    The tool answered"} {
		if !strings.Contains(words, want) {
			t.Errorf("runs show does not say %q:\n%s", want, words)
		}
	}
	if list := p.do(exitOK, "runs"); !strings.Contains(list, id) || strings.Count(list, "\n") != 1 {
		t.Errorf("runs: %s", list)
	}
	// A second message goes on in the same session.
	all := lines(t, p.do(exitOK, "run", "--json", "--provider", "mock", "--session", string(d.Session.ID), p.folder, "and now?"))
	if all[0].Type != "begun" || all[0].SessionID != d.Session.ID || all[0].By != "self" {
		t.Errorf("begun %+v", all[0])
	}
	last, seq := all[len(all)-1], int64(0)
	if last.Type != "ended" || last.State != core.RunSucceeded || last.ExitCode == nil || *last.ExitCode != exitOK {
		t.Errorf("ended %+v", last)
	}
	for _, l := range all {
		if l.Event != nil {
			if l.Event.Seq <= seq {
				t.Errorf("event %d after %d", l.Event.Seq, seq)
			}
			seq = l.Event.Seq
		}
	}
}

// Where nobody can be asked the answer is no, and that is said.
//
// covers: H2 T4
func TestRun_NobodyToAsk(t *testing.T) {
	p := newPlace(t)
	q := p.start("run", "--provider", "mock", p.folder, create("new.md", "text"))
	if code := q.ends(); code != exitOK {
		t.Fatalf("ended with %d", code)
	}
	if !strings.Contains(q.err.String(), "Denied, since there is no terminal to ask on: new.md") || p.has("new.md") {
		t.Errorf("said %s", q.err)
	}
	all := lines(t, p.do(exitOK, "run", "--json", "--provider", "mock", p.folder, create("new.md", "text")))
	refused := 0
	for _, l := range all {
		if l.Type == "approval.refused" && l.ApprovalID != "" {
			refused++
		}
	}
	if refused != 1 || p.has("new.md") {
		t.Errorf("%d refused: %+v", refused, all)
	}
}

// A proposal is kept, written where it is said, and applied by nobody; the patch
// is one that others can read.
//
// covers: H2 T4
func TestRun_AProposalIsAPatchFile(t *testing.T) {
	for name, c := range map[string]struct{ before, old, after string }{
		"lf":             {"# Plan\n\nThe old words stay here.\n", "The old words", "# Plan\n\nThe fresh words stay here.\n"},
		"crlf":           {"# Plan\r\n\r\nThe old words stay here.\r\nEnd.\r\n", "The old words", "# Plan\r\n\r\nThe fresh words stay here.\r\nEnd.\r\n"},
		"no break, mark": {"\uFEFFThe old words", "The old words", "\uFEFFThe fresh words"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			at := p.write("plan.md", c.before)
			in, err := json.Marshal(map[string]string{"oldText": c.old, "newText": "The fresh words", "summary": "Freshen it."})
			try(t, err)
			all := lines(t, p.do(exitOK, "run", "--json", "--provider", "mock", "--file", at, p.folder, "/tool proposePatch "+string(in)))
			patch := ""
			for _, l := range all {
				if l.Type == "proposal" {
					patch = l.Path
				}
			}
			if filepath.Dir(patch) != filepath.Join(p.home, "proposals") {
				t.Fatalf("patch file %q: %+v", patch, all)
			}
			if b, err := os.ReadFile(at); err != nil || string(b) != c.before {
				t.Errorf("the document is %q, %v", b, err)
			}
			cmd := exec.Command("git", "apply", "--whitespace=nowarn", patch)
			cmd.Dir = p.folder
			cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(p.folder))
			if out, err := cmd.CombinedOutput(); err != nil {
				b, _ := os.ReadFile(patch)
				t.Fatalf("git apply: %v\n%s\n%q", err, out, b)
			}
			if b, err := os.ReadFile(at); err != nil || string(b) != c.after {
				t.Errorf("applied: %q, %v", b, err)
			}
			if _, _, words := p.shown(); !strings.Contains(words, patch) || !strings.Contains(words, "proposed: plan.md, Freshen it.") {
				t.Errorf("runs show:\n%s", words)
			}
		})
	}
}

// Killed while it answers, the record tells what came and what is not known.
//
// covers: H2 R6 R13
func TestRuns_TellTheTruthAfterAKill(t *testing.T) {
	p := newPlace(t)
	asked := p.endless()
	q := p.start("run", "--json", "--provider", "endless", p.folder, "tell me")
	<-asked
	q.says(q.out, `"type":"preview"`)
	q.signal(syscall.SIGKILL)
	q.ends()
	id, d, words := p.shown()
	// The Runner sees the end of its host and may have time to record it.
	if d.Run.State != core.RunInterrupted && d.Run.State != core.RunCancelled {
		t.Errorf("run %+v", d.Run)
	}
	if d.Run.Usage.Kind == core.UsageExact {
		t.Errorf("usage %+v was made up", d.Run.Usage)
	}
	for _, want := range []string{"Some words of an answer.", "here it broke off", "galley runs continue " + id} {
		if !strings.Contains(words, want) {
			t.Errorf("runs show does not say %q:\n%s", want, words)
		}
	}
	// It goes on in the folder it was in, with the mock now.
	all := lines(t, p.do(exitOK, "runs", "continue", "--provider", "mock", "--json", id[:10]))
	if all[0].Type != "begun" || all[0].SessionID != d.Session.ID {
		t.Errorf("continued %+v", all[0])
	}
	if _, d, _ := p.shown(); string(d.Run.ParentRunID) != id {
		t.Errorf("continues %q, not %s", d.Run.ParentRunID, id)
	}
	if out := p.do(exitOK, "runs", "cancel", id); !strings.Contains(out, "ended already") {
		t.Errorf("cancel of what ended: %s", out)
	}
}

// A stop is asked for once and waited for.
//
// covers: H2 R7
func TestRun_SignalsStopIt(t *testing.T) {
	for name, sig := range map[string]syscall.Signal{"interrupt": syscall.SIGINT, "terminate": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			asked := p.endless()
			q := p.start("run", "--json", "--provider", "endless", p.folder, "tell me")
			<-asked
			q.signal(sig)
			if code := q.ends(); code != exitCancelled {
				t.Errorf("ended with %d", code)
			}
			var types []string
			for _, l := range lines(t, q.out.String()) {
				if l.Type == "receipt" || l.Type == "ended" {
					types = append(types, l.Type+" "+string(l.State))
				}
			}
			if got := strings.Join(types, ", "); got != "receipt cancelling, ended cancelled" {
				t.Errorf("told %s", got)
			}
		})
	}
}

// Where a window holds the agent it carries the run out; who answers a question
// there answers it for both.
//
// covers: H2 R5 T5
func TestRun_AttachesToAWindow(t *testing.T) {
	p := newPlace(t)
	window := p.holder()
	q := p.start("run", "--provider", "mock", p.folder, create("new.md", "text\n"))
	q.says(q.err, "carried out by the window")
	q.says(q.err, "Waiting for an answer in the window: Create new.md")

	// The window's own way to answer.
	agent := attach.NewAgent(attach.AgentConfig{Home: settings.Home{Dir: p.home}, Kind: wire.ClientOther, Log: quiet()})
	conn, hello, err := agent.Dial(t.Context(), rpc.Handler{})
	try(t, err)
	defer func() { _ = conn.Close() }()
	if hello.Kind != wire.ClientWindow || hello.PID != window.cmd.Process.Pid {
		t.Errorf("held by %+v", hello)
	}
	var state wire.SubscribeResult
	try(t, conn.Call(t.Context(), wire.MethodEventsSubscribe, wire.SubscribeParams{}, &state))
	if len(state.Snapshot.Approvals) != 1 {
		t.Fatalf("approvals %+v", state.Snapshot.Approvals)
	}
	a := state.Snapshot.Approvals[0]
	decide := wire.ApprovalDecideParams{
		CommandID: "d1", ApprovalID: a.ID, ToolCallID: a.ToolCallID, InputDigest: a.InputDigest, Decision: core.AllowOnce,
	}
	try(t, conn.Call(t.Context(), wire.MethodApprovalDecide, decide, nil))
	if code := q.ends(); code != exitOK || !p.has("new.md") {
		t.Errorf("ended with %d", code)
	}
	// The window lists it, and a second command sees the same.
	if _, d, _ := p.shown(); d.Run.State != core.RunSucceeded || len(d.Approvals) != 1 {
		t.Errorf("detail %+v", d)
	}
	to := filepath.Join(t.TempDir(), "copy.db")
	p.do(exitOK, "backup", to)
	if info, err := os.Stat(to); err != nil || info.Size() == 0 {
		t.Errorf("backup: %v", err)
	}
	try(t, window.in.Close())
	if code := window.ends(); code != 0 {
		t.Errorf("the window ended with %d", code)
	}
}

// Two commands at once share one agent; the one that holds it stays for the
// other's run.
//
// covers: H2 R8
func TestRun_TwoCommandsAtOnce(t *testing.T) {
	p := newPlace(t)
	asked := p.endless()
	first := p.start("run", "--json", "--provider", "endless", p.folder, "tell me")
	<-asked
	second := p.start("run", "--json", "--provider", "endless", p.folder, "tell me too")
	second.says(second.out, `"by":"command"`)
	first.signal(syscall.SIGINT)
	<-asked // the second one's turn
	first.says(first.out, "Waiting for 1 run that another command began")
	second.signal(syscall.SIGINT)
	if code := second.ends(); code != exitCancelled {
		t.Errorf("the second ended with %d", code)
	}
	if code := first.ends(); code != exitCancelled {
		t.Errorf("the first ended with %d", code)
	}
}

// The holder is killed: who was attached is told, takes over, and tells what is
// known.
//
// covers: H2 R2 R6
func TestRun_TheHolderIsKilled(t *testing.T) {
	p := newPlace(t)
	asked := p.endless()
	window := p.holder()
	q := p.start("run", "--provider", "endless", p.folder, "tell me")
	<-asked
	q.says(q.err, "carried out by the window")
	begun := time.Now()
	window.signal(syscall.SIGKILL)
	code := q.ends()
	t.Logf("from the kill to the truth: %s", time.Since(begun))
	// The Runner of the killed holder may have had time to record a stop.
	if code != exitInterrupted && code != exitCancelled {
		t.Errorf("ended with %d", code)
	}
	if !strings.Contains(q.err.String(), "Looking what is known") {
		t.Errorf("said %s", q.err)
	}
	if _, d, _ := p.shown(); !d.Run.State.Final() {
		t.Errorf("run %+v", d.Run)
	}
}

// A window that opens while a command holds the agent watches, can stop the run,
// and takes over when the command ends.
//
// covers: H2 R2 R7
func TestRun_AWindowWatches(t *testing.T) {
	p := newPlace(t)
	asked := p.endless()
	q := p.start("run", "--provider", "endless", p.folder, "tell me")
	<-asked
	window, err := newAgent(settings.Home{Dir: p.home}, wire.ClientWindow)
	try(t, err)
	window.host.Start()
	defer window.close(leaveTime)
	try(t, window.ready(t.Context()))
	r := window.host.Runner()
	if r.Status != host.Elsewhere || r.Holder != wire.ClientCommand || r.PID != q.cmd.Process.Pid {
		t.Errorf("runner %+v", r)
	}
	res, follow, err := window.sub.State(t.Context(), 0)
	try(t, err)
	follow()
	if len(res.Snapshot.Runs) != 1 {
		t.Fatalf("runs %+v", res.Snapshot.Runs)
	}
	run := res.Snapshot.Runs[0].ID
	// The words that stream there are shown here, from their start.
	for {
		it, ok := window.sub.Next(t.Context())
		if !ok {
			t.Fatal("nothing is shown")
		}
		if it.Preview != nil && it.Preview.RunID == run && it.Preview.Keep == 0 && strings.HasPrefix(it.Preview.Text, "Some words") {
			break
		}
	}
	_, err = window.host.Cancel(t.Context(), "stop", run)
	try(t, err)
	if code := q.ends(); code != exitCancelled {
		t.Errorf("the command ended with %d", code)
	}
	for window.host.Runner().Status != host.Ready {
		select {
		case <-window.sub.RunnerChanged():
		case <-time.After(60 * time.Second):
			t.Fatalf("never took over: %+v", window.host.Runner())
		}
	}
	if d, err := window.host.RunDetail(t.Context(), run); err != nil || d.Run.State != core.RunCancelled {
		t.Errorf("detail %+v, %v", d.Run, err)
	}
}

// A client written from docs/PROTOCOL.md alone: submits, asks again after a lost
// connection, approves, cancels, and is refused a key.
//
// covers: R4 R5 R7 T5 X5
func TestProtocol_AClientFromThePaperAlone(t *testing.T) {
	p := newPlace(t)
	p.holder()
	cmd := exec.Command("node", "../attach/testdata/client.mjs", p.home, p.folder)
	out, err := cmd.CombinedOutput()
	want := "holder window ready\nasked by-script.md\nholder window ready\nsame run true\nended succeeded\n" +
		"receipt accepted\nended cancelled\nno key -32601\n"
	if err != nil || string(out) != want {
		t.Errorf("%v: said\n%s\nwant\n%s", err, out, want)
	}
	if b, err := os.ReadFile(filepath.Join(p.folder, "by-script.md")); err != nil || string(b) != "# Made\n" || p.has("never.md") {
		t.Errorf("made %q, %v", b, err)
	}
}

func TestCommands_WrongLinesAndFailures(t *testing.T) {
	p := newPlace(t)
	for _, c := range []struct {
		code int
		args []string
		says string
	}{
		{exitUsage, []string{"run"}, "name a folder and a task"},
		{exitUsage, []string{"run", p.folder}, "name a folder and a task"},
		{exitUsage, []string{"run", p.folder, " "}, "the task is empty"},
		{exitUsage, []string{"run", "--yes", p.folder, "x"}, "flag provided but not defined: -yes"},
		{exitUsage, []string{"run", filepath.Join(p.folder, "none"), "x"}, "is not a folder that can be opened"},
		{exitUsage, []string{"run", "--file", p.folder, p.folder, "x"}, "is not a file that can be opened"},
		{exitUsage, []string{"runs", "show"}, "name one run"},
		{exitUsage, []string{"runs", "delete", "x"}, "there is no runs delete"},
		{exitUsage, []string{"runs", "list", "x"}, "runs list takes no words"},
		{exitUsage, []string{"runs", "--limit", "0"}, "a limit of 1 to 1000"},
		{exitUsage, []string{"runs", "--limit", "3", "show", "x"}, "runs show takes no --limit"},
		{exitUsage, []string{"runs", "list", "--file", "x"}, "runs list takes no --file"},
		{exitUsage, []string{"runs", "list", "--home"}, "flag needs an argument: -home"},
		{exitUsage, []string{"backup"}, "name one file"},
		{exitError, []string{"runs", "show", "nothing"}, "run nothing was not found"},
		{exitError, []string{"run", p.folder, "x"}, "No provider is chosen"},
		{exitError, []string{"run", "--provider", "nobody", p.folder, "x"}, `There is no provider "nobody"`},
		{exitError, []string{"run", "--provider", "mock", "--session", "gone", p.folder, "x"}, "was not found"},
		{exitError, []string{"backup", filepath.Join(p.home, "runs.db")}, "Not understood: path"},
	} {
		q := p.start(c.args...)
		if code := q.ends(); code != c.code || !strings.Contains(q.err.String(), c.says) || q.out.String() != "" {
			t.Errorf("%v ended with %d, want %d: %s%s", c.args, code, c.code, q.out, q.err)
		}
	}
	for _, args := range [][]string{{"run", "--help"}, {"runs", "--help"}, {"backup", "--help"}} {
		if out := p.do(exitOK, args...); !strings.HasPrefix(out, "galley "+args[0]) {
			t.Errorf("%v: %s", args, out)
		}
	}
	if out := p.do(exitOK, "runs"); out != "No run so far.\n" {
		t.Errorf("runs: %s", out)
	}
}

// Flags may stand before, between and behind the words of a command.
func TestCommands_FlagsBeforeAndBehindTheWords(t *testing.T) {
	p := newPlace(t)
	other := filepath.Join(t.TempDir(), "home")
	for _, args := range [][]string{
		{"run", "--home", other, "--provider", "mock", p.folder, "Hello there."},
		{"run", p.folder, "--provider=mock", "Hello", "there.", "--home", other},
		{"run", p.folder, "--home", other, "--provider", "mock", "- Hello there."},
		{"run", "--home", other, "--provider", "mock", p.folder, "--", "--yes", "there."},
	} {
		p.do(exitOK, args...)
	}
	var listed []string
	for _, args := range [][]string{
		{"runs", "--home", other, "--json", "list"},
		{"runs", "list", "--home", other, "--json"},
		{"runs", "--json", "list", "--limit", "9", "--home=" + other},
		{"runs", "--home", other, "--limit", "9", "--json"},
	} {
		out := p.do(exitOK, args...)
		if all := lines(t, out); len(all) != 4 {
			t.Errorf("%v lists %d runs: %s", args, len(all), out)
		}
		listed = append(listed, out)
	}
	if len(slices.Compact(slices.Clone(listed))) != 1 {
		t.Errorf("listed %q", listed)
	}
	id := string(lines(t, listed[0])[0].Run.ID)
	for _, args := range [][]string{
		{"runs", "show", id, "--home", other}, {"runs", "show", "--home", other, id}, {"runs", "--home", other, "show", id},
	} {
		if out := p.do(exitOK, args...); !strings.Contains(out, id) {
			t.Errorf("%v: %s", args, out)
		}
	}
	for i, args := range [][]string{{"backup", "--home", other, "?"}, {"backup", "?", "--home", other}} {
		to := filepath.Join(p.folder, strconv.Itoa(i)+".db")
		args[slices.Index(args, "?")] = to
		if out := p.do(exitOK, args...); !strings.Contains(out, to) || !p.has(filepath.Base(to)) {
			t.Errorf("%v: %s", args, out)
		}
	}
}

// A database that cannot be used has an exit code of its own.
//
// covers: H2 R12
func TestCommands_TheDatabaseFails(t *testing.T) {
	p := newPlace(t)
	try(t, os.WriteFile(filepath.Join(p.home, "runs.db"), []byte("no database at all, but long enough to be read as one, with words in it"), 0o600))
	q := p.start("runs")
	if code := q.ends(); code != exitStoreFailed || !strings.Contains(q.err.String(), "run database cannot be used") {
		t.Errorf("ended with %d: %s", code, q.err)
	}
}
