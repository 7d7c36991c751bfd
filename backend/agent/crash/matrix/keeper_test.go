//go:build crashtest && linux

package matrix

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"galley/backend/agent/core"
	"galley/backend/agent/crash"
	"galley/backend/agent/store"
	"galley/backend/proc"
)

// A keeper stands in for a Runner that has an external agent, or a server of
// tools, as its child: it keeps it by the supervisor that real ones will have,
// and records in the database that the Runner has.

// external is the tool of such a child; nobody can look at what it does.
const external = "mcp_remember"

// keeper is the process: what it does, and where.
func keeper(what string) int {
	if err := keep(what, os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "keeper:", err)
		return 1
	}
	return 0
}

func keep(what, dir string) error {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	role := map[string]string{"call": "server", "agent": "agent", "supervise": "stubborn"}[what]
	args := []string{"child", role, dir}
	if what == "host" {
		args = []string{"keeper", "supervise", dir}
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	c, err := proc.Start(proc.Config{Path: exe, Args: args, Env: []string{"PATH=" + os.Getenv("PATH")}, Logger: log})
	if err != nil {
		return err
	}
	defer c.Kill()
	said := bufio.NewReader(c.Stdout)
	switch what {
	case "call":
		return keepCall(dir, c, said)
	case "agent":
		return keepAgent(dir, c, said)
	case "host":
		fmt.Println("supervisor", c.PID())
		_, err = io.Copy(os.Stdout, said)
		return err
	}
	line, err := said.ReadString('\n')
	if err != nil {
		return err
	}
	fmt.Print(line)
	// The end of the host, or its word, ends the child: TERM, 2 s, KILL.
	word, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	c.Stop(ended)
	if word != "" {
		fmt.Println("ended", c.ExitCode())
	}
	return nil
}

// begin accepts a run and brings a call of an external tool as far as running.
func begin(home string) (*store.Store, core.RunID, core.ToolCallID, error) {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Config{Path: filepath.Join(home, "runs.db")})
	if err != nil {
		return nil, "", "", err
	}
	run, err := s.Submit(ctx, core.Submission{
		CommandID: "c1", InputDigest: sha256.Sum256([]byte("c1")), Kind: core.KindConversation, Runtime: "native",
		Session: core.Session{Title: "Remember"}, Model: core.ModelRef{ProviderID: "mock", Model: "mock-1"}, Budget: core.DefaultBudget(),
		Message: core.Message{Role: core.RoleUser, Parts: []core.Part{{Type: core.PartText, Text: "Remember this."}}},
	})
	if err != nil {
		return nil, "", "", err
	}
	if err := s.Start(ctx, run.ID); err != nil {
		return nil, "", "", err
	}
	in := json.RawMessage(`{"text":"this"}`)
	calls, err := s.CommitStep(ctx, run.ID, 1, core.Message{Role: core.RoleAssistant, Parts: []core.Part{
		{Type: core.PartToolCall, Name: external, Input: in},
	}}, []core.ToolCall{{Name: external, Kind: core.ToolWrite, Input: in}})
	if err != nil {
		return nil, "", "", err
	}
	c := calls[0]
	a, err := s.AskApproval(ctx, core.Approval{ToolCallID: c.ID, Rule: core.PermNotesWrite})
	if err != nil {
		return nil, "", "", err
	}
	if _, err := s.DecideApproval(ctx, "allow", a.ID, c.ID, c.InputDigest, core.AllowOnce); err != nil {
		return nil, "", "", err
	}
	intent := core.Intent{Tool: c.Name, Input: c.Input, InputDigest: c.InputDigest, Attempt: 1, IdemKey: string(c.ID)}
	if err := s.ReadyCall(ctx, c.ID, intent); err != nil {
		return nil, "", "", err
	}
	return s, run.ID, c.ID, s.StartCall(ctx, c.ID)
}

// keepCall sends a call, and dies when it is sent.
func keepCall(home string, c *proc.Child, said *bufio.Reader) error {
	s, run, _, err := begin(home)
	if err != nil {
		return err
	}
	fmt.Println("run", run, c.PID())
	if _, err := fmt.Fprintln(c.Stdin, "call"); err != nil {
		return err
	}
	if line, err := said.ReadString('\n'); line != "got\n" {
		return fmt.Errorf("the server said %q: %w", line, err)
	}
	crash.At("call_sent")
	return s.Close()
}

// keepAgent has an agent edit in its staging folder and records its crash.
func keepAgent(home string, c *proc.Child, said *bufio.Reader) error {
	ctx := context.Background()
	s, run, call, err := begin(home)
	if err != nil {
		return err
	}
	if line, err := said.ReadString('\n'); line != "edited\n" {
		return fmt.Errorf("the agent said %q: %w", line, err)
	}
	fmt.Println("run", run, c.PID())
	<-c.Done()
	const crashed = "agent_crashed"
	// What it did lies in the staging folder alone, which goes.
	if err := os.RemoveAll(filepath.Join(home, "staging")); err != nil {
		return err
	}
	if err := s.FinishCall(ctx, call, core.CallEnd{State: core.CallFailed, Reason: crashed, Result: crashed}); err != nil {
		return err
	}
	if _, err := s.End(ctx, run, core.RunEnd{State: core.RunFailed, Reason: crashed, Fault: &core.FaultInfo{Code: crashed}}); err != nil {
		return err
	}
	return s.Close()
}

// child is the scripted child of a keeper.
func child() int {
	role, dir := os.Args[2], os.Args[3]
	in := bufio.NewReader(os.Stdin)
	switch role {
	case "server": // carries out each call, and answers
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return 0
			}
			f, err := os.OpenFile(filepath.Join(dir, "remembered"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err == nil {
				_, err = f.WriteString(line)
				err = errors.Join(err, f.Close())
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			fmt.Println("got")
		}
	case "agent": // edits its copy, and works on
		staging := filepath.Join(dir, "staging")
		if err := errors.Join(os.MkdirAll(staging, 0o700), os.WriteFile(filepath.Join(staging, "plan.md"), []byte("half an ed"), 0o600)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println("edited")
		_, _ = in.ReadByte()
	case "stubborn", "leaf": // takes no hint, and has a child of its own
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		if role == "leaf" {
			fmt.Println("leaf", os.Getpid())
			select {}
		}
		leaf, err := os.StartProcess("/proc/self/exe", []string{"galley", "child", "leaf", dir}, &os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		_, _ = leaf.Wait()
	default:
		fmt.Fprintln(os.Stderr, "no child", strings.Join(os.Args, " "))
		return 1
	}
	return 0
}
