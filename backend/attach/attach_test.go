package attach

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/backend/agent/runner"
	"galley/backend/fault"
	"galley/backend/settings"
	"galley/backend/workspace"
)

// envHome makes this program one that starts on a home, as the window does:
// it says what became of it on standard output, and with a seat it serves until
// its standard input ends.
const (
	envHome     = "GALLEY_TEST_HOME"
	envPatience = "GALLEY_TEST_PATIENCE"
	envDeaf     = "GALLEY_TEST_DEAF"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "runner" { // a host started it
		err := runner.Run(context.Background(), runner.Config{
			Home: os.Args[3], Stdin: os.Stdin, Stdout: os.Stdout, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
		if err != nil {
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "flood" {
		flood()
		return
	}
	if home := os.Getenv(envHome); home != "" {
		os.Exit(start(home, os.Args[1:]))
	}
	os.Exit(m.Run())
}

func start(home string, paths []string) int {
	patience, err := time.ParseDuration(os.Getenv(envPatience))
	if err != nil {
		fmt.Println("failed:", err)
		return 2
	}
	seat, err := Take(context.Background(), config(home, patience), paths)
	switch {
	case errors.Is(err, ErrNoAnswer):
		fmt.Println("no answer")
		return 1
	case err != nil:
		fmt.Println("failed:", err)
		return 2
	case seat == nil:
		fmt.Println("handed over")
		return 0
	}
	out := bufio.NewWriter(os.Stdout)
	var mu sync.Mutex
	say := func(v ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(out, v...)
		_ = out.Flush()
	}
	if os.Getenv(envDeaf) == "" {
		seat.Serve(func(paths []string) { say("opened", strings.Join(paths, "|")) })
	}
	say("seated")
	_, _ = io.Copy(io.Discard, os.Stdin)
	seat.Close()
	return 0
}

func config(home string, patience time.Duration) Config {
	return Config{Home: settings.Home{Dir: home}, Version: "1", Log: slog.New(slog.DiscardHandler), Patience: patience}
}

// process is one start.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

// launch starts a process on a home; patience is long unless a test is about it.
func launch(t *testing.T, home, patience string, env []string, paths ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], paths...)
	cmd.Env = append(append(os.Environ(), envHome+"="+home, envPatience+"="+patience), env...)
	stdin, err := cmd.StdinPipe()
	try(t, err)
	stdout, err := cmd.StdoutPipe()
	try(t, err)
	cmd.Stderr = os.Stderr
	try(t, cmd.Start())
	p := &process{t: t, cmd: cmd, stdin: stdin, lines: bufio.NewScanner(stdout)}
	t.Cleanup(func() {
		_ = p.stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return p
}

// line is the next line that the process says; "" at its end.
func (p *process) line() string {
	p.lines.Scan()
	return p.lines.Text()
}

func (p *process) want(line string) {
	p.t.Helper()
	if got := p.line(); got != line {
		p.t.Fatalf("said %q, want %q", got, line)
	}
}

// wait returns the exit code.
func (p *process) wait() int {
	_ = p.cmd.Wait()
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) kill() {
	try(p.t, p.cmd.Process.Kill())
	_ = p.cmd.Wait()
}

func try(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// roots gives this test and what it starts folders of their own, and a home.
func roots(t *testing.T) (home string) {
	t.Helper()
	run, tmp := t.TempDir(), t.TempDir()
	try(t, os.Chmod(run, 0o700))
	t.Setenv("XDG_RUNTIME_DIR", run)
	t.Setenv("TMPDIR", tmp)
	return t.TempDir()
}

// covers: F10
func TestTake_SecondStartHandsItsFilesOver(t *testing.T) {
	home := roots(t)
	first := launch(t, home, "1m", nil)
	first.want("seated")
	paths := []string{filepath.Join(home, "a b.md"), filepath.Join(home, "c\n\u8336.md")}
	if runtime.GOOS != "windows" {
		paths = append(paths, filepath.Join(home, "caf\xe9.md")) // a name that is not UTF-8
	}
	second := launch(t, home, "1m", nil, paths...)
	second.want("handed over")
	if code := second.wait(); code != 0 {
		t.Errorf("ended with %d", code)
	}
	if got := first.line() + "\n" + first.line(); got != "opened "+strings.Join(paths, "|") {
		t.Errorf("opened %q", got)
	}
	// None is a request to come to the front.
	launch(t, home, "1m", nil).want("handed over")
	first.want("opened ")

	// Another home is another window.
	other := launch(t, t.TempDir(), "1m", nil)
	other.want("seated")

	// A window that ends gives the home free, and no socket stays.
	try(t, first.stdin.Close())
	if code := first.wait(); code != 0 {
		t.Errorf("ended with %d", code)
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), socketName(home, windowSocket))); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	launch(t, home, "1m", nil).want("seated")
}

// Of starts at the same moment one wins and opens what the others name.
//
// covers: F10
func TestTake_OneOfTwoWins(t *testing.T) {
	rounds := 50
	if testing.Short() {
		rounds = 5
	}
	home := roots(t)
	for round := range rounds {
		path := func(i int) string { return filepath.Join(home, fmt.Sprint(i)) }
		both := []*process{launch(t, home, "1m", nil, path(0)), launch(t, home, "1m", nil, path(1))}
		said := []string{both[0].line(), both[1].line()}
		winner := slices.Index(said, "seated")
		if winner < 0 || said[1-winner] == "seated" {
			t.Fatalf("round %d: %v", round, said)
		}
		if said[1-winner] != "handed over" {
			t.Fatalf("round %d: the other said %q", round, said[1-winner])
		}
		both[winner].want("opened " + path(1-winner))
		if round%2 == 0 {
			both[winner].kill() // its socket stays, and the next round takes it over
		} else {
			try(t, both[winner].stdin.Close())
			both[winner].wait()
		}
	}
}

// What a killed window leaves stops nobody.
//
// covers: F10
func TestTake_StaleSocketOfTheDead(t *testing.T) {
	home := roots(t)
	first := launch(t, home, "1m", nil)
	first.want("seated")
	first.kill()
	socket := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), socketName(home, windowSocket))
	if _, err := os.Lstat(socket); err != nil {
		t.Fatalf("the dead window left no socket, which this test is about: %v", err)
	}
	second := launch(t, home, "1m", nil)
	second.want("seated")
	launch(t, home, "1m", nil, filepath.Join(home, "a")).want("handed over")
	second.want("opened " + filepath.Join(home, "a"))
}

// A window that does not answer is waited for, and never joined by a second.
//
// covers: F10
func TestTake_HungHolderIsTold(t *testing.T) {
	home := roots(t)
	first := launch(t, home, "1m", []string{envDeaf + "=1"})
	first.want("seated")
	second := launch(t, home, "300ms", nil, filepath.Join(home, "a"))
	second.want("no answer")
	if code := second.wait(); code != 1 {
		t.Errorf("ended with %d", code)
	}
}

// Two names of one home are one home, and its path may be longer than a
// socket's.
func TestTake_LongHomeAndALinkToIt(t *testing.T) {
	base := roots(t)
	home := filepath.Join(base, strings.Repeat("long/", 40), "home")
	try(t, os.MkdirAll(home, 0o700))
	link := filepath.Join(base, "link")
	try(t, os.Symlink(home, link))
	first := launch(t, home, "1m", nil)
	first.want("seated")
	launch(t, link, "1m", nil, filepath.Join(home, "a")).want("handed over")
	first.want("opened " + filepath.Join(home, "a"))
}

// The environment of a start decides nothing: the home's own lock does.
func TestTake_AnotherEnvironmentIsTheSameHome(t *testing.T) {
	home := roots(t)
	first := launch(t, home, "1m", nil)
	first.want("seated")
	other := t.TempDir()
	try(t, os.Chmod(other, 0o700))
	launch(t, home, "1m", []string{"XDG_RUNTIME_DIR=" + other, "TMPDIR=" + other}, filepath.Join(home, "a")).want("handed over")
	first.want("opened " + filepath.Join(home, "a"))
}

// What is sent over the socket is bounded, and only opening is understood.
func TestSeat_RefusesWhatItDoesNotKnow(t *testing.T) {
	home := roots(t)
	seat, err := Take(t.Context(), config(home, time.Minute), nil)
	try(t, err)
	defer seat.Close()
	var opens int
	seat.Serve(func([]string) { opens++ })
	say := func(line string) string {
		c, err := net.Dial("unix", seat.listener.Addr().String())
		try(t, err)
		defer c.Close()
		_, err = io.WriteString(c, line+"\n")
		try(t, err)
		answer, _ := bufio.NewReader(c).ReadString('\n')
		return answer
	}
	request := func(method string, params any) string {
		data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
		try(t, err)
		return say(string(data))
	}
	for name, answer := range map[string]string{
		"another method":  request("window.close", OpenRequest{}),
		"a relative path": request(methodOpen, OpenRequest{Paths: []workspace.StoredPath{"a.md"}}),
		"a zero byte":     request(methodOpen, OpenRequest{Paths: []workspace.StoredPath{workspace.StoredPath(filepath.Join(home, "a\x00"))}}),
		"too many":        request(methodOpen, OpenRequest{Paths: slices.Repeat([]workspace.StoredPath{workspace.StoredPath(home)}, maxPaths+1)}),
		"another type":    request(methodOpen, 7),
	} {
		if !strings.Contains(answer, `"error"`) {
			t.Errorf("%s: %q", name, answer)
		}
	}
	if answer := say(strings.Repeat("x\n", 5)); answer != "" {
		t.Errorf("noise was answered with %q", answer)
	}
	if opens != 0 {
		t.Errorf("opened %d times", opens)
	}
	if answer := request(methodOpen, OpenRequest{Paths: []workspace.StoredPath{workspace.StoredPath(home)}}); !strings.Contains(answer, `"ok":true`) {
		t.Errorf("answered %q", answer)
	}
	if _, err := Take(t.Context(), config(home, time.Minute), []string{"relative"}); fault.CodeOf(err) != fault.InvalidInput {
		t.Errorf("a relative path: %v", err)
	}
}

// Connections past the limit wait outside; the seat goes on.
func TestSeat_ManyIdleConnections(t *testing.T) {
	home := roots(t)
	seat, err := Take(t.Context(), config(home, time.Minute), nil)
	try(t, err)
	opened := make(chan []string, 1)
	seat.Serve(func(paths []string) { opened <- paths })
	var idle []net.Conn
	for range maxTalks * 3 {
		c, err := net.Dial("unix", seat.listener.Addr().String())
		try(t, err)
		idle = append(idle, c)
	}
	for _, c := range idle {
		try(t, c.Close())
	}
	if seat, err := Take(t.Context(), config(home, time.Minute), []string{home}); seat != nil || err != nil {
		t.Fatalf("%v, %v", seat, err)
	}
	if got := <-opened; !slices.Equal(got, []string{home}) {
		t.Errorf("opened %v", got)
	}
	// It ends while somebody is connected.
	c, err := net.Dial("unix", seat.listener.Addr().String())
	try(t, err)
	defer c.Close()
	seat.Close()
}

// A home whose lock cannot be had at all is no window.
func TestTake_HomeIsGone(t *testing.T) {
	roots(t)
	var log bytes.Buffer
	cfg := config(filepath.Join(t.TempDir(), "gone"), time.Minute)
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	if seat, err := Take(t.Context(), cfg, nil); seat != nil || err == nil || errors.Is(err, ErrNoAnswer) {
		t.Errorf("%v, %v", seat, err)
	}
}
