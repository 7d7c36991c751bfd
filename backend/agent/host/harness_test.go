package host_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/feed"
	"galley/backend/agent/host"
	"galley/backend/agent/wire"
	"galley/backend/cli"
	"galley/backend/fault"
)

// TestMain makes this binary the program: asked to be a Runner it is the real
// one, and asked to be a host it is one that only waits to be killed.
func TestMain(m *testing.M) {
	if code, done := cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); done {
		os.Exit(code)
	}
	if len(os.Args) > 1 && os.Args[1] == "lonely-host" {
		lonelyHost(os.Args[2], os.Args[3])
		return
	}
	os.Exit(m.Run())
}

// plantedKey is searched for everywhere.
const plantedKey = "sk-planted-0123456789abcdef"

// buffer is a concurrent bytes.Buffer.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// program is a host with everything it said.
type program struct {
	*host.Host
	t    *testing.T
	home string
	log  *buffer

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at every change
	events   []core.Event
	texts    map[core.RunID]string
	previews int
	runners  []host.Runner
	resyncs  int
	asked    int
	// slow, when set, is called with every preview.
	slow func()
}

// start starts a host. edit changes its configuration.
func start(t *testing.T, home string, edit ...func(*host.Config)) *program {
	t.Helper()
	p := &program{t: t, home: home, log: &buffer{}, changed: make(chan struct{}), texts: map[core.RunID]string{}}
	cfg := host.Config{
		Home: home, Logger: slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Credential: func(_ context.Context, ref string) (string, error) {
			p.change(func() { p.asked++ })
			if ref != "provider/test" {
				return "", &fault.Error{Code: fault.NoKey, Detail: ref}
			}
			return plantedKey, nil
		},
		OnEvent: func(e core.Event) { p.change(func() { p.events = append(p.events, e) }) },
		OnPreview: func(v core.Preview) {
			p.mu.Lock()
			slow := p.slow
			p.mu.Unlock()
			p.change(func() { p.previews++; p.texts[v.RunID] = feed.Apply(p.texts[v.RunID], v) })
			if slow != nil {
				slow()
			}
		},
		OnResync: func() { p.change(func() { p.resyncs++ }) },
		OnRunner: func(r host.Runner) { p.change(func() { p.runners = append(p.runners, r) }) },
		Pauses:   []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond},
		// A Runner under the race detector beside many others is slow, not hung.
		PingTimeout: time.Minute,
		// A program under the race detector waits for a second before it ends.
		Env: []string{"GORACE=atexit_sleep_ms=0", "TMPDIR=" + os.TempDir()},
	}
	for _, e := range edit {
		e(&cfg)
	}
	h, err := host.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p.Host = h
	h.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		h.Close(ctx)
		if t.Failed() {
			t.Logf("log:\n%s", p.log)
		}
	})
	return p
}

func (p *program) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

// until waits for a condition, which is called with mu held.
func (p *program) until(what string, ok func() bool) {
	p.t.Helper()
	deadline := time.After(60 * time.Second)
	for {
		p.mu.Lock()
		done, changed := ok(), p.changed
		p.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			p.t.Fatalf("never: %s", what)
		}
	}
}

// ready waits for a Runner other than the one with this pid.
func (p *program) ready(than int) host.Runner {
	p.t.Helper()
	var r host.Runner
	p.until("runner ready", func() bool {
		if len(p.runners) == 0 {
			return false
		}
		r = p.runners[len(p.runners)-1]
		return r.Status == host.Ready && r.PID != than
	})
	return r
}

// event waits for an event of a run and returns its payload.
func event[T any](p *program, run core.RunID, typ core.EventType) T {
	p.t.Helper()
	var v T
	p.until(fmt.Sprintf("%s of %s", typ, run), func() bool {
		for _, e := range p.events {
			if e.RunID == run && e.Type == typ {
				if err := json.Unmarshal(e.Payload, &v); err != nil {
					p.t.Error(err)
				}
				return true
			}
		}
		return false
	})
	return v
}

// shown waits until the previews of a run give a text that starts so.
func (p *program) shown(run core.RunID, prefix string) {
	p.t.Helper()
	p.until("shown "+prefix, func() bool { return strings.HasPrefix(p.texts[run], prefix) })
}

// kinds lists the types of a run's events.
func (p *program) kinds(run core.RunID) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var kinds []string
	for _, e := range p.events {
		if e.RunID == run {
			kinds = append(kinds, string(e.Type))
		}
	}
	return strings.Join(kinds, " ")
}

// contiguous fails when an event is missing, doubled or out of order.
func (p *program) contiguous() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, e := range p.events {
		if want := p.events[0].Seq + int64(i); e.Seq != want {
			p.t.Errorf("event %d has seq %d, want %d", i, e.Seq, want)
		}
	}
}

func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

const document = "Intro.\n\nThe old words stay here.\n\nEnd.\n"

// rewrite asks for the second paragraph of document.
func rewrite(id string, provider wire.ProviderConfig) host.Rewrite {
	sum := sha256.Sum256([]byte(document))
	from := strings.Index(document, "The old")
	return host.Rewrite{
		CommandID: core.CommandID(id),
		Snapshot: core.Snapshot{
			DocURI: "file:///a.md", BaseVersion: 1, Digest: hex.EncodeToString(sum[:]), Text: document,
			Selection: core.Range{From: from, To: from + len("The old words stay here.")},
		},
		Input:    wire.RewriteInput{Instruction: "make it new", Language: "en"},
		Model:    core.ModelRef{ProviderID: provider.ID, Model: "mock-1"},
		Provider: provider,
	}
}

func (p *program) submit(r host.Rewrite) wire.SubmitResult {
	p.t.Helper()
	res, err := p.SubmitRewrite(within(p.t), r)
	if err != nil {
		p.t.Fatal(err)
	}
	return res
}

func mock() wire.ProviderConfig { return wire.ProviderConfig{ID: "mock", Name: "Mock", Kind: "mock"} }

// server is a provider on loopback whose answers the test writes.
type server struct {
	*httptest.Server
	calls chan *call
}

// call is one chat request.
type call struct {
	// Key is what it was authorised with; Body the request.
	key, body string
	words     chan string
	gone      <-chan struct{}
}

// say sends a piece of the answer.
func (c *call) say(s string) { c.words <- s }

// finish ends the answer.
func (c *call) finish() { close(c.words) }

func serve(t *testing.T) *server {
	t.Helper()
	s := &server{calls: make(chan *call, 64)}
	stop := make(chan struct{})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			_, _ = w.Write([]byte(`{"data":[{"id":"m-1"},{"id":"m-2"}]}`))
			return
		}
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		c := &call{key: r.Header.Get("Authorization"), body: body.String(), words: make(chan string), gone: r.Context().Done()}
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		s.calls <- c
		for {
			select {
			case word, ok := <-c.words:
				if !ok {
					fmt.Fprint(w, `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
					return
				}
				b, _ := json.Marshal(word)
				fmt.Fprintf(w, `data: {"choices":[{"delta":{"content":%s}}]}`+"\n\n", b)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			case <-stop:
				return
			}
		}
	}))
	t.Cleanup(func() { close(stop); s.Close() })
	return s
}

func (s *server) provider() wire.ProviderConfig {
	return wire.ProviderConfig{
		ID: "test", Name: "Test", Kind: "openai_chat", Profile: "compatible", BaseURL: s.URL + "/v1",
		CredentialRef: "provider/test",
	}
}

// next waits for a request.
func (s *server) next(t *testing.T) *call {
	t.Helper()
	select {
	case c := <-s.calls:
		return c
	case <-time.After(60 * time.Second):
		t.Fatal("no request came")
		return nil
	}
}

func decode[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// lonelyHost starts a rewrite, says so, and waits to be killed.
func lonelyHost(home, url string) {
	said := make(chan struct{}, 1)
	ready := make(chan int, 8)
	h, err := host.New(host.Config{
		Home: home, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Credential: func(context.Context, string) (string, error) { return plantedKey, nil },
		OnPreview: func(core.Preview) {
			select {
			case said <- struct{}{}:
			default:
			}
		},
		OnRunner: func(r host.Runner) {
			if r.Status == host.Ready {
				ready <- r.PID
			}
		},
	})
	if err != nil {
		panic(err)
	}
	h.Start()
	pid := <-ready
	_, err = h.SubmitRewrite(context.Background(), rewrite("c1", wire.ProviderConfig{
		ID: "test", Kind: "openai_chat", BaseURL: url + "/v1", CredentialRef: "provider/test",
	}))
	if err != nil {
		panic(err)
	}
	<-said
	fmt.Println(pid)
	select {}
}
