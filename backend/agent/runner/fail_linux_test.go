package runner

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

// TestMain makes this binary a Runner when it is asked to be one. A line on its
// standard error says what its end was.
func TestMain(m *testing.M) {
	home := os.Getenv("RUNNER_TEST_HOME")
	if home == "" {
		os.Exit(m.Run())
	}
	if size := os.Getenv("RUNNER_TEST_DISK"); size != "" {
		if err := mountHome(home, size); err != nil {
			fmt.Fprintln(os.Stderr, "mount", err)
			os.Exit(1)
		}
	}
	signal.Ignore(unix.SIGXFSZ)
	err := Run(context.Background(), Config{Home: home, Stdin: os.Stdin, Stdout: os.Stdout, Logger: slog.New(slog.DiscardHandler)})
	fmt.Fprintln(os.Stderr, "end", fault.CodeOf(err))
}

// A database that can take no more (a full disk, an I/O error) ends the Runner,
// with that fault: nothing more is started or accepted, but the effect that
// runs is not told to stop and its answer is waited for. The next start asks
// the host what came of it.
// covers: R6 R13
func TestStoreFails_EffectsFinishAndTheRunnerEnds(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	r := &rig{
		t: t, home: home, changed: make(chan struct{}), ended: make(chan error, 1),
		texts: map[core.RunID]string{}, cancels: map[core.ToolCallID]chan struct{}{},
		prepare: func(context.Context, wire.ToolPrepareParams) (core.Prepared, error) { return core.Prepared{}, nil },
	}
	finish, finished := make(chan struct{}), make(chan error, 1)
	r.execute = func(ctx context.Context, _ wire.ToolExecuteParams) (core.ToolResult, error) {
		select {
		case <-finish:
		case <-ctx.Done():
		}
		finished <- ctx.Err() // nil: nobody gave the call up
		return core.ToolResult{Text: "made"}, nil
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RUNNER_TEST_HOME="+home)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w := pipe(t)
	cmd.Stdout = w
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	r.conn = rpc.New(rpc.Config{Read: out, Write: in, Logger: quiet(), Handler: rpc.Handler{Request: r.serve, Notify: r.notify}})
	r.greet()
	res := r.submit(message("c1", create, core.ToolCreateDocument))
	queued := r.submit(message("c2", "later"))
	r.must(wire.MethodApprovalDecide, decision(r.waits(res.RunID), "a1", core.AllowOnce), nil)
	r.executing(core.ToolCreateDocument, 1)

	// From here on no file of the child may grow past a little more.
	st, err := os.Stat(home + "/runs.db-wal")
	if err != nil {
		t.Fatal(err)
	}
	limit := unix.Rlimit{Cur: uint64(st.Size()) + 100_000, Max: uint64(st.Size()) + 100_000}
	if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	for i := 0; err == nil; i++ {
		err = r.call(wire.MethodSessionCreate, wire.SessionCreateParams{
			CommandID: core.CommandID(fmt.Sprint("s", i)), Title: strings.Repeat("x", 400),
		}, nil)
	}
	if code := fault.CodeOf(err); code != fault.StoreFailed && code != fault.DiskFull {
		t.Errorf("got %v", err)
	}
	// It refuses everything now, and says why, and the effect goes on.
	for {
		err := r.call(wire.MethodRunList, wire.RunListParams{Limit: 1}, nil)
		if err != nil {
			if code := fault.CodeOf(err); code != fault.StoreFailed && code != fault.DiskFull {
				t.Errorf("while it ends: %v", err)
			}
			break
		}
	}
	begun := time.Now()
	close(finish)
	if err := <-finished; err != nil {
		t.Errorf("the call was given up: %v", err)
	}
	line, _ := bufio.NewReader(said).ReadString('\n')
	if !strings.Contains(line, string(fault.StoreFailed)) && !strings.Contains(line, string(fault.DiskFull)) {
		t.Errorf("its end was %q", line)
	}
	if took := time.Since(begun); took > DrainTime {
		t.Errorf("it took %v to end", took)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	_ = r.conn.Close()
	for _, a := range r.asked {
		if a == wire.MethodToolCancel {
			t.Error("the effect was told to stop")
		}
	}

	again := boot(t, home, func(r *rig) {
		r.probe = func(context.Context, wire.ToolProbeParams) (wire.ToolProbeResult, error) {
			return wire.ToolProbeResult{Verdict: core.VerdictApplied}, nil
		}
	})
	again.greet()
	again.endsOrHas(res.RunID, core.RunInterrupted)
	if got := states(again.detail(res.RunID)); got != "createDocument:succeeded:reconciled " {
		t.Errorf("calls %s", got)
	}
	if got := again.detail(queued.RunID).Run; got.State != core.RunInterrupted || got.Reason != "never_started" {
		t.Errorf("the run that waited is %s (%s)", got.State, got.Reason)
	}
}
