package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/settings"
)

// TestMain makes this binary the program: asked for a subcommand it is that, and
// its Runner too. Asked to hold it stands in for a window: it holds the agent of
// a home until its standard input ends.
func TestMain(m *testing.M) {
	soaked()
	if code, done := Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); done {
		os.Exit(code)
	}
	if len(os.Args) == 3 && os.Args[1] == "hold" {
		if err := hold(settings.Home{Dir: os.Args[2]}); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func hold(home settings.Home) error {
	a, err := newAgent(home, wire.ClientWindow)
	if err != nil {
		return err
	}
	a.host.Start()
	if err := a.ready(context.Background()); err != nil {
		return err
	}
	fmt.Println("holds", a.host.Runner().Status)
	_, _ = io.Copy(io.Discard, os.Stdin)
	a.close(leaveTime)
	return nil
}

func try(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a home and a folder of documents.
type place struct {
	t            *testing.T
	home, folder string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	run, err := os.MkdirTemp("/tmp", "galley") //nolint:usetesting // a socket's path must be short
	try(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	t.Setenv("XDG_RUNTIME_DIR", run)
	t.Setenv("NO_COLOR", "1")
	t.Setenv("LC_ALL", "C")
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	p := &place{t: t, home: t.TempDir(), folder: t.TempDir()}
	t.Setenv("GALLEY_HOME", p.home)
	p.write("plan.md", "# Plan\n\nThe old words stay here.\n")
	return p
}

func (p *place) write(name, text string) string {
	p.t.Helper()
	at := filepath.Join(p.folder, name)
	try(p.t, os.WriteFile(at, []byte(text), 0o600))
	return at
}

func (p *place) has(name string) bool {
	_, err := os.Stat(filepath.Join(p.folder, name))
	return err == nil
}

// endless puts a provider into the settings that begins an answer and never ends
// it. The channel tells of each request.
func (p *place) endless() (asked chan struct{}) {
	p.t.Helper()
	stop := make(chan struct{})
	asked = make(chan struct{}, 16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"Some words of an answer. "}}]}`+"\n\n")
		w.(http.Flusher).Flush()
		asked <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	}))
	p.t.Cleanup(func() { close(stop); s.Close() })
	store, err := settings.Load(settings.Config{Home: settings.Home{Dir: p.home}})
	try(p.t, err)
	_, err = store.SaveProvider(settings.Provider{
		Name: "Endless", Kind: settings.KindOpenAIChat, Profile: "compatible", BaseURL: s.URL + "/v1", Model: "m",
	})
	try(p.t, err)
	return asked
}

// output is what a process said so far.
type output struct {
	mu      sync.Mutex
	b       bytes.Buffer
	changed chan struct{}
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// program is a started process.
type program struct {
	t        *testing.T
	cmd      *exec.Cmd
	in       io.WriteCloser
	out, err *output
}

// start starts the program, without a terminal.
func (p *place) start(args ...string) *program {
	p.t.Helper()
	q := &program{t: p.t, cmd: exec.Command(os.Args[0], args...), out: newOutput(), err: newOutput()}
	q.cmd.Stdout, q.cmd.Stderr = q.out, q.err
	var err error
	q.in, err = q.cmd.StdinPipe()
	try(p.t, err)
	try(p.t, q.cmd.Start())
	p.t.Cleanup(func() {
		_ = q.in.Close()
		_ = q.cmd.Process.Kill()
		_ = q.cmd.Wait()
		if p.t.Failed() {
			p.t.Logf("%s\nout: %s\nerr: %s", strings.Join(args, " "), q.out, q.err)
		}
	})
	return q
}

// says waits until the program has said something.
func (q *program) says(o *output, words string) {
	q.t.Helper()
	deadline := time.After(60 * time.Second)
	for {
		o.mu.Lock()
		done, changed := strings.Contains(o.b.String(), words), o.changed
		o.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			q.t.Fatalf("never said %q", words)
		}
	}
}

// ends waits for the end and returns the exit code; -1 for a signal.
func (q *program) ends() int {
	q.t.Helper()
	kill := time.AfterFunc(60*time.Second, func() { _ = q.cmd.Process.Kill() })
	defer kill.Stop()
	err := q.cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		q.t.Fatal(err)
	}
	return q.cmd.ProcessState.ExitCode()
}

func (q *program) signal(sig syscall.Signal) { try(q.t, q.cmd.Process.Signal(sig)) }

// holder starts a stand-in for a window.
func (p *place) holder() *program {
	p.t.Helper()
	q := p.start("hold", p.home)
	q.says(q.out, "holds ready")
	return q
}

// do runs the program and returns what it said on standard output; it fails
// unless it ends with code.
func (p *place) do(code int, args ...string) string {
	p.t.Helper()
	q := p.start(args...)
	if got := q.ends(); got != code {
		p.t.Fatalf("%v ended with %d, want %d\nout: %s\nerr: %s", args, got, code, q.out, q.err)
	}
	return q.out.String()
}

// lines decodes JSON lines.
func lines(t *testing.T, s string) (all []line) {
	t.Helper()
	for row := range strings.Lines(s) {
		var l line
		try(t, json.Unmarshal([]byte(row), &l))
		all = append(all, l)
	}
	return all
}

// shown is what runs show tells of the newest run.
func (p *place) shown() (id string, d core.RunDetail, words string) {
	p.t.Helper()
	runs := lines(p.t, p.do(exitOK, "runs", "list", "--limit", "1", "--json"))
	if len(runs) != 1 || runs[0].Run == nil {
		p.t.Fatalf("runs: %+v", runs)
	}
	id = string(runs[0].Run.ID)
	detail := lines(p.t, p.do(exitOK, "runs", "show", "--json", id))
	if len(detail) != 1 || detail[0].Detail == nil {
		p.t.Fatalf("detail: %+v", detail)
	}
	return id, *detail[0].Detail, p.do(exitOK, "runs", "show", id[:8])
}

// create is a task that has the mock create a document.
func create(name, text string) string {
	b, _ := json.Marshal(map[string]string{"dir": "", "name": name, "text": text})
	return "/tool createDocument " + string(b)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
