package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"galley/backend/fault"
)

// TestMain makes this binary a peer when it is asked to be one.
func TestMain(m *testing.M) {
	switch os.Getenv("RPC_TEST_PEER") {
	case "":
		os.Exit(m.Run())
	case "echo":
		c := New(Config{Read: os.Stdin, Write: os.Stdout, Logger: slog.New(slog.DiscardHandler), Handler: Handler{
			Request: func(_ context.Context, method string, params json.RawMessage) (any, error) {
				return map[string]any{"method": method, "params": params, "pid": os.Getpid()}, nil
			},
		}})
		<-c.Done()
	}
}

// limit ends a test that hangs; nothing waits for it otherwise.
func limit(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func pipe(t testing.TB) (*os.File, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
	return r, w
}

// pair connects two Conns by two pipes. near and far are changed by edit.
func pair(t testing.TB, near, far Config) (*Conn, *Conn) {
	t.Helper()
	r1, w1 := pipe(t)
	r2, w2 := pipe(t)
	near.Read, near.Write, far.Read, far.Write = r1, w2, r2, w1
	for _, c := range []*Config{&near, &far} {
		if c.Logger == nil {
			c.Logger = quiet()
		}
	}
	a, b := New(near), New(far)
	t.Cleanup(func() { _ = a.Close(); _ = b.Close() })
	return a, b
}

// raw connects a Conn to two plain pipe ends.
func raw(t testing.TB, cfg Config) (c *Conn, in *os.File, out *bufio.Reader) {
	t.Helper()
	r1, w1 := pipe(t)
	r2, w2 := pipe(t)
	cfg.Read, cfg.Write = r1, w2
	if cfg.Logger == nil {
		cfg.Logger = quiet()
	}
	c = New(cfg)
	t.Cleanup(func() { _ = c.Close() })
	return c, w1, bufio.NewReader(r2)
}

func write(t testing.TB, w io.Writer, s string) {
	t.Helper()
	if _, err := io.WriteString(w, s); err != nil {
		t.Fatal(err)
	}
}

// covers: R2
func TestConn_CallsARealChild(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{"RPC_TEST_PEER=echo"}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w := pipe(t)
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	c := New(Config{Read: r, Write: in, Logger: quiet()})
	text := "line\u2028sep\u2029 \r\n世界😀 \"q\""
	var got struct {
		Method string
		PID    int
		Params struct{ Text string }
	}
	if err := c.Call(limit(t), "say", map[string]string{"text": text}, &got); err != nil {
		t.Fatal(err)
	}
	if got.Method != "say" || got.Params.Text != text || got.PID != cmd.Process.Pid {
		t.Errorf("got %+v", got)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil { // EOF ends it
		t.Error(err)
	}
}

func TestConn_KilledChildFailsAllCalls(t *testing.T) {
	cmd := exec.Command("cat") // reads, never answers: what it echoes are requests
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w := pipe(t)
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	arrived := make(chan struct{}, 8)
	c := New(Config{Read: r, Write: in, Logger: quiet(), Handler: Handler{
		Request: func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
			arrived <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}})
	errs := make(chan error, 8)
	for range 8 {
		go func() { errs <- c.Call(limit(t), "wait", nil, nil) }()
	}
	for range 8 {
		<-arrived
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for range 8 {
		if err := <-errs; !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
	if err := c.Call(limit(t), "again", nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: got %v, want ErrClosed", err)
	}
	_ = c.Close()
}

// Notifications and the starts of requests keep the order of the wire, and a
// handler may call back while the peer's call waits.
func TestConn_KeepsOrder(t *testing.T) {
	var (
		mu    sync.Mutex
		order []string
		far   *Conn
	)
	note := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, s)
	}
	ready := make(chan struct{})
	near, far0 := pair(t,
		Config{Handler: Handler{Request: func(_ context.Context, m string, _ json.RawMessage) (any, error) { return m, nil }}},
		Config{Handler: Handler{
			Notify: func(_ context.Context, m string, _ json.RawMessage) { note(m) },
			Request: func(ctx context.Context, m string, _ json.RawMessage) (any, error) {
				<-ready
				note("request " + m)
				var back string
				err := far.Call(ctx, "back", nil, &back)
				return back, err
			},
		}})
	far = far0
	close(ready)
	var want []string
	for i := range 200 {
		for j := range 5 {
			m := fmt.Sprintf("n%d.%d", i, j)
			if err := near.Notify(m, nil); err != nil {
				t.Fatal(err)
			}
			want = append(want, m)
		}
		var got string
		if err := near.Call(limit(t), fmt.Sprint(i), nil, &got); err != nil || got != "back" {
			t.Fatal(got, err)
		}
		want = append(want, fmt.Sprintf("request %d", i))
	}
	if got := strings.Join(order, " "); got != strings.Join(want, " ") {
		t.Errorf("order differs:\n%s", got)
	}
}

// A reply is seen after the notifications that were sent before it.
// covers: R5
func TestConn_ReplyStandsBehindNotifications(t *testing.T) {
	const n = 500
	var seen atomic.Int32
	var far *Conn
	start := make(chan struct{})
	near, far0 := pair(t,
		Config{Handler: Handler{Notify: func(context.Context, string, json.RawMessage) { seen.Add(1) }}},
		Config{Handler: Handler{Request: func(context.Context, string, json.RawMessage) (any, error) {
			<-start
			for range n {
				if err := far.Notify("n", nil); err != nil {
					return nil, err
				}
			}
			return "done", nil
		}}})
	far = far0
	close(start)
	for i := 1; i <= 20; i++ {
		if err := near.Call(limit(t), "go", nil, nil); err != nil {
			t.Fatal(err)
		}
		if got := seen.Load(); got != int32(i*n) {
			t.Fatalf("call %d: %d notifications handled, want %d", i, got, i*n)
		}
	}
}

func TestConn_CancelReachesTheHandler(t *testing.T) {
	started, ended := make(chan struct{}), make(chan error, 1)
	near, _ := pair(t, Config{}, Config{Handler: Handler{Request: func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
		close(started)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}}})
	ctx, cancel := context.WithCancel(limit(t))
	errs := make(chan error, 1)
	go func() { errs <- near.Call(ctx, "wait", nil, nil) }()
	<-started
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := <-ended; !errors.Is(err, errGivenUp) {
		t.Errorf("handler ended by %v", err)
	}
}

// A call that was given up counts until the peer answered it, so that a peer
// that never answers cannot make the table grow.
func TestConn_CapsOutstandingCalls(t *testing.T) {
	c, _, out := raw(t, Config{MaxCalls: 3})
	for range 3 {
		ctx, cancel := context.WithCancel(limit(t))
		errs := make(chan error, 1)
		go func() { errs <- c.Call(ctx, "x", nil, nil) }()
		if _, err := out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		cancel()
		<-errs
		if s, err := out.ReadString('\n'); err != nil || !strings.Contains(s, cancelMethod) {
			t.Fatal(s, err)
		}
	}
	if err := c.Call(limit(t), "x", nil, nil); fault.CodeOf(err) != fault.Busy {
		t.Errorf("got %v, want busy", err)
	}
}

func TestConn_RefusesTooManyRequests(t *testing.T) {
	release := make(chan struct{})
	var once sync.Once
	defer once.Do(func() { close(release) })
	near, _ := pair(t, Config{}, Config{MaxRequests: 2, Handler: Handler{
		Request: func(context.Context, string, json.RawMessage) (any, error) { <-release; return 1, nil },
	}})
	errs := make(chan error, 3)
	for range 3 {
		go func() { errs <- near.Call(limit(t), "x", nil, nil) }()
	}
	if err := <-errs; fault.CodeOf(err) != fault.Busy {
		t.Errorf("got %v, want busy", err)
	}
	once.Do(func() { close(release) })
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// covers: K6
func TestConn_FaultsCross(t *testing.T) {
	var sent error
	near, _ := pair(t, Config{}, Config{
		ErrorCode: func(c fault.Code) int { return map[fault.Code]int{fault.Busy: -32013}[c] },
		Handler: Handler{Request: func(_ context.Context, m string, _ json.RawMessage) (any, error) {
			switch m {
			case "panic":
				panic("secret words")
			case "none":
				return nil, ErrNoMethod
			}
			return nil, sent
		}},
	})
	for _, code := range fault.Codes() {
		sent = fmt.Errorf("run: %w", &fault.Error{
			Code: code, Op: "op", Detail: "api.example.com", RetryAfter: 1500 * time.Millisecond, Err: errors.New("cause"),
		})
		err := near.Call(limit(t), "fail", nil, nil)
		got, ok := errors.AsType[*fault.Error](err)
		if !ok || got.Code != code || got.Detail != "api.example.com" || got.RetryAfter != 1500*time.Millisecond {
			t.Errorf("%s: got %#v", code, err)
		}
		if strings.Contains(err.Error(), "cause") {
			t.Errorf("%s: the cause crossed", code)
		}
	}
	for m, want := range map[string]fault.Code{"panic": fault.Internal, "none": fault.NotFound} {
		err := near.Call(limit(t), m, nil, nil)
		if fault.CodeOf(err) != want || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", m, err)
		}
	}
	sent = errors.New("plain words")
	if err := near.Call(limit(t), "fail", nil, nil); fault.CodeOf(err) != fault.Internal || strings.Contains(err.Error(), "plain") {
		t.Errorf("got %v", err)
	}
}

func TestConn_SkipsTwoBadLinesAndClosesAtTheThird(t *testing.T) {
	var log lines
	c, in, out := raw(t, Config{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Handler: Handler{Request: func(_ context.Context, m string, _ json.RawMessage) (any, error) {
			return m, nil
		}},
	})
	ask := func(id int) {
		t.Helper()
		write(t, in, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m"}`+"\n", id))
		if s, err := out.ReadString('\n'); err != nil || !strings.Contains(s, fmt.Sprintf(`"id":%d`, id)) {
			t.Fatal(s, err)
		}
	}
	ask(1)
	write(t, in, "private words, no JSON\n\n")
	ask(2)
	write(t, in, `{"jsonrpc":"2.0"}`+"\n")
	ask(3)
	if got := c.BadLines(); got != 2 {
		t.Errorf("%d bad lines, want 2", got)
	}
	write(t, in, "[]\n")
	<-c.Done()
	if s := log.String(); strings.Contains(s, "private") || strings.Count(s, "bad line") != 3 {
		t.Errorf("log: %s", s)
	}
}

func TestConn_DropsALineOverTheLimit(t *testing.T) {
	c, in, out := raw(t, Config{MaxLine: 1 << 10, Handler: Handler{
		Request: func(context.Context, string, json.RawMessage) (any, error) { return strings.Repeat("x", 2<<10), nil },
	}})
	go func() {
		write(t, in, `{"id":1,"method":"`+strings.Repeat("m", 1<<20)+"\"}\n"+`{"jsonrpc":"2.0","id":2,"method":"m"}`+"\n")
	}()
	// Our own answer is too long as well, and is refused by name.
	s, err := out.ReadString('\n')
	if err != nil || !strings.Contains(s, `"too_large"`) || !strings.Contains(s, `"id":2`) {
		t.Fatal(s, err)
	}
	if c.BadLines() != 1 {
		t.Errorf("%d bad lines, want 1", c.BadLines())
	}
	if err := c.Notify("n", strings.Repeat("y", 2<<10)); fault.CodeOf(err) != fault.TooLarge {
		t.Errorf("got %v, want too_large", err)
	}
	if err := c.Notify("n", "y"); err != nil {
		t.Error(err)
	}
}

// A peer that does not read blocks writes, but a call still ends with its ctx
// and Close ends the write.
func TestConn_PeerThatDoesNotRead(t *testing.T) {
	c, _, _ := raw(t, Config{})
	ctx, cancel := context.WithTimeout(limit(t), 50*time.Millisecond)
	defer cancel()
	if err := c.Call(ctx, "big", strings.Repeat("x", 4<<20), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// What came before the peer went away is handled before Close returns.
func TestConn_HandlesWhatCameBeforeTheEnd(t *testing.T) {
	var got int
	release := make(chan struct{})
	c, in, _ := raw(t, Config{Handler: Handler{Notify: func(context.Context, string, json.RawMessage) {
		<-release
		got++
	}}})
	for range 100 {
		write(t, in, `{"jsonrpc":"2.0","method":"n"}`+"\n")
	}
	write(t, in, `{"jsonrpc":"2.0","method":"cut off`)
	_ = in.Close()
	<-c.Done()
	close(release)
	_ = c.Close()
	if got != 100 {
		t.Errorf("handled %d, want 100", got)
	}
}

// An answer, and a call of ours, wait behind the notification that is being
// written and behind none that waits.
// covers: R10
func TestConn_ControlGoesBeforeData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, in := io.Pipe()
		out, w := io.Pipe()
		c := New(Config{Read: r, Write: w, Logger: quiet(), Handler: Handler{
			Request: func(context.Context, string, json.RawMessage) (any, error) { return "answer", nil },
		}})
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { _ = c.Notify("data", strings.Repeat("x", 1000)) })
		}
		synctest.Wait() // one is being written, the others wait
		write(t, in, `{"jsonrpc":"2.0","id":1,"method":"m"}`+"\n")
		wg.Go(func() { _ = c.Call(t.Context(), "call", nil, nil) })
		synctest.Wait()
		lines := bufio.NewReader(out)
		var got []string
		for range 52 {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range []string{"data", "answer", "call"} {
				if strings.Contains(line, `"`+kind+`"`) {
					got = append(got, kind)
				}
			}
		}
		if got[0] != "data" || slices.Index(got, "answer") > 2 || slices.Index(got, "call") > 2 {
			t.Errorf("order of lines: %v", got[:6])
		}
		_ = in.Close()
		_ = c.Close()
		wg.Wait()
	})
}

// A flood is held in the pipe, not in memory.
// covers: R10
func TestConn_BoundsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		handled := 0
		r, in := io.Pipe()
		_, out := io.Pipe()
		c := New(Config{Read: r, Write: out, Logger: quiet(), Handler: Handler{
			Notify: func(context.Context, string, json.RawMessage) { <-release; handled++ },
		}})
		const n = 5000
		wrote := 0
		go func() {
			for range n {
				_, _ = io.WriteString(in, `{"jsonrpc":"2.0","method":"n","params":"`+strings.Repeat("p", 1000)+`"}`+"\n")
				wrote++
			}
			_ = in.Close()
		}()
		synctest.Wait() // everybody blocks
		if wrote < defaultQueueItems || wrote > defaultQueueItems+100 {
			t.Errorf("%d messages were taken without anybody handling them", wrote)
		}
		close(release)
		<-c.Done()
		_ = c.Close()
		if handled != n {
			t.Errorf("handled %d of %d", handled, n)
		}
	})
}

// covers: R5
func TestAfterReply_RunsBehindTheReply(t *testing.T) {
	var c *Conn
	set := make(chan struct{})
	c0, in, out := raw(t, Config{Handler: Handler{
		Request: func(ctx context.Context, _ string, _ json.RawMessage) (any, error) {
			<-set
			AfterReply(ctx, func() { _ = c.Notify("after", nil) })
			return 1, nil
		},
	}})
	c = c0
	close(set)
	for i := range 200 {
		write(t, in, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m"}`+"\n", i+1))
		for _, want := range []string{`"result":1`, `"method":"after"`} {
			if s, err := out.ReadString('\n'); err != nil || !strings.Contains(s, want) {
				t.Fatalf("%d: got %s, %v; want %s", i, s, err, want)
			}
		}
	}
	ran := false
	AfterReply(context.Background(), func() { ran = true })
	if !ran {
		t.Error("outside of a request it did not run")
	}
}

// lines is a concurrent buffer.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
