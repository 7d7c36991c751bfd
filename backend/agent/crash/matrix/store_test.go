//go:build crashtest && linux

package matrix

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/api"
	"galley/backend/attach"
	"galley/backend/fault"
	"galley/backend/rpc"
	"galley/backend/settings"
	"galley/backend/text"
)

// storeRows are rows 23 to 25: the database and its files.
func storeRows() []row {
	rows := []row{
		{"23", "during_artifact_rename", "runner", "interrupted(runner_lost), searchWorkspace failed(interrupted_read), artifact missing", artifactCut},
		{"25", "result commit refused", "runner", happened, func(s *stage) string { return full(s, refuse, nil) }},
		{"25", "result commit refused, edited since", "runner", nobody, func(s *stage) string {
			return full(s, refuse, func() { s.write("new.md", "mine\n") })
		}},
		{"25", "result commit on a full disk", "runner", happened, func(s *stage) string { return full(s, s.disk(), nil) }},
	}
	for v := 1; ; v++ {
		dump, err := os.ReadFile(fmt.Sprintf("../../store/testdata/v%d.sql", v))
		if errors.Is(err, os.ErrNotExist) {
			return rows
		}
		rows = append(rows, row{
			"24", fmt.Sprintf("during_migration of schema %d", v), "runner", "old schema and backup whole; started again: succeeded(end_turn), proposal proposed",
			func(s *stage) string { return migrated(s, v, string(dump), err) },
		})
	}
}

// client speaks to the window over its socket, as another program would.
func (s *stage) client() *rpc.Conn {
	s.t.Helper()
	a := attach.NewAgent(attach.AgentConfig{Home: settings.Home{Dir: s.home}, Kind: wire.ClientOther, Log: slog.New(slog.DiscardHandler)})
	conn, _, err := a.Dial(s.t.Context(), rpc.Handler{})
	try(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// artifactCut is row 23: a result is so long that all of it becomes a file.
func artifactCut(s *stage) string {
	s.write("long.md", strings.Repeat("The old words again.\n", 200))
	w := s.open(s.dies("runner", "during_artifact_rename")...)
	old := w.ready(0)
	var res wire.SubmitResult
	try(s.t, s.client().Call(s.t.Context(), wire.MethodRunSubmit, wire.TaskParams{
		CommandID: "c1", Input: search, ModelRef: core.ModelRef{ProviderID: "mock"},
		Budget: core.Budget{ToolResultsBytes: 600}, Folder: s.folder,
	}, &res))
	s.runs = append(s.runs, res.RunID)
	w.ready(old)
	s.died("runner")
	d := w.ended(res.RunID)
	state := s.finish(w, d)
	return state + ", artifact " + strings.Join(s.rowsOf("SELECT state FROM artifacts"), " ")
}

// migrated is row 24. The Runner is started alone, so that nothing starts it
// again before the file was looked at.
func migrated(s *stage, v int, dump string, err error) string {
	try(s.t, err)
	try(s.t, settings.Home{Dir: s.home}.Make())
	path := filepath.Join(s.home, "runs.db")
	db, err := sql.Open("sqlite", "file:"+path)
	try(s.t, err)
	_, err = db.ExecContext(s.t.Context(), dump)
	try(s.t, errors.Join(err, db.Close()))

	cmd := exec.Command("/proc/self/exe", "runner", "--home", s.home)
	cmd.Env = append(append([]string{}, s.env...), s.dies("runner", "during_migration")...)
	in, err := cmd.StdinPipe() // stays open: the host lives
	try(s.t, err)
	out, err := cmd.CombinedOutput()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
		s.t.Fatalf("the Runner ended with %v: %s", err, out)
	}
	_ = in.Close()
	s.died("runner")
	state := "old schema and backup whole"
	for _, at := range []string{path, fmt.Sprintf("%s.v%d.bak", path, v)} {
		for query, want := range map[string]string{
			"PRAGMA user_version": fmt.Sprint(v), "PRAGMA integrity_check": "ok", "SELECT state FROM runs WHERE id='run-1'": "succeeded",
		} {
			if got := s.column(at, query); strings.Join(got, " ") != want {
				state = fmt.Sprintf("%s of %s gives %v", query, filepath.Base(at), got)
			}
		}
	}
	w := s.open()
	d := w.ended("run-1")
	if got := s.rowsOf("PRAGMA user_version"); got[0] <= fmt.Sprint(v) {
		s.t.Errorf("the schema is %s after the next start", got[0])
	}
	return state + "; started again: " + s.finish(w, d)
}

// shortage makes commits of a Runner fail from now on; over ends it.
type shortage func(s *stage, runner int) (over func())

// refuse has the system refuse every write that would make a file grow.
func refuse(s *stage, runner int) (over func()) {
	s.t.Helper()
	try(s.t, unix.Prlimit(runner, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 0, Max: 0}, nil))
	return func() {} // the next Runner may write
}

// disk puts the home on a small disk of its own, which is filled; where none
// can be mounted writes are refused.
func (s *stage) disk() shortage {
	s.t.Helper()
	try(s.t, os.MkdirAll(s.home, 0o700))
	if err := unix.Mount("galley", s.home, "tmpfs", 0, "size=8m,mode=0700"); err != nil {
		s.t.Logf("no disk of its own (%v): writes are refused", err)
		return refuse
	}
	s.t.Cleanup(func() { _ = unix.Unmount(s.home, unix.MNT_DETACH) })
	return func(s *stage, _ int) (over func()) {
		s.t.Helper()
		ballast := filepath.Join(s.home, "ballast")
		f, err := os.Create(ballast)
		try(s.t, err)
		for block := make([]byte, 4096); err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, unix.ENOSPC) {
			s.t.Errorf("the disk is not full: %v", err)
		}
		_ = f.Close() // it holds nothing
		return func() { try(s.t, os.Remove(ballast)) }
	}
}

// full is row 25: the effect happened, and its result cannot be committed.
func full(s *stage, short shortage, between func()) string {
	s.t.Helper()
	w := s.open(s.holds("host", "after_effect")...)
	runner := w.ready(0)
	run := w.submit("c1", create("new.md", newText))
	w.allow(w.asked(run))()
	_, release := s.held()
	over := short(s, runner)
	release()
	r := w.runner("failed")
	if r.Code != string(fault.StoreFailed) && r.Code != string(fault.DiskFull) {
		s.t.Errorf("the Runner failed with %s", r.Code)
	}
	s.gone(runner)
	// What was not committed was not told (tx-7), and the editor goes on.
	w.mu.Lock()
	for _, m := range w.messages {
		var c core.ToolCall
		if m.Type == string(core.EventToolChanged) && decode(m, &c) && c.State.Final() {
			s.t.Errorf("told of a call that is %s", c.State)
		}
	}
	w.mu.Unlock()
	w.codeOf(w.send("Agent.SubmitMessage", asking("c2", "Hello."))(), fault.Code(r.Code))
	doc := w.document("plan.md")
	w.synced(doc, []text.Edit{{Insert: "Typed. "}})
	before := inode(s.t, s.path("new.md"))
	over()
	if between != nil {
		between()
	}
	ask[api.RunnerState](w, "Agent.RestartRunner")
	w.ready(runner)
	d := w.ended(run)
	if between == nil {
		s.is("new.md", newText)
		// It goes on without doing it again (S3, a result that was not kept).
		e := w.ended(s.note(ask[api.RunRef](w, "Agent.ContinueRun", api.ContinueRequest{CommandID: "c3", RunID: string(run), ProviderID: "mock", Language: "en"})))
		if len(e.Calls) != 0 || inode(s.t, s.path("new.md")) != before {
			s.t.Errorf("it was done again: %s", told(e))
		}
	} else {
		s.is("new.md", "mine\n")
	}
	return s.finish(w, d)
}

func inode(t testing.TB, path string) uint64 {
	t.Helper()
	var st unix.Stat_t
	try(t, unix.Stat(path, &st))
	return st.Ino
}
