package attach

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/feed"
	"galley/backend/agent/host"
	"galley/backend/agent/task"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/settings"
)

// station is one process's part in the agent of a home, with all that it heard.
type station struct {
	*host.Host
	t     *testing.T
	agent *Agent

	mu      sync.Mutex
	changed chan struct{}
	events  []core.Event
	texts   map[core.RunID]string
	runners []host.Runner
}

// planted is a key that no client may ever see.
const planted = "sk-planted-0123456789"

// settle starts a station; several of one home share this process.
func settle(t *testing.T, home string, kind wire.ClientKind, edit ...func(*host.Config)) *station {
	t.Helper()
	s := &station{t: t, changed: make(chan struct{}), texts: map[core.RunID]string{}}
	log := slog.New(slog.NewTextHandler(testLog{t}, nil))
	store, err := settings.Load(settings.Config{Home: settings.Home{Dir: home}})
	try(t, err)
	maker := task.New(task.Config{
		Settings: store, Log: log, Begin: func(core.CommandID, task.Reach) {}, End: func(core.CommandID) {},
	})
	t.Cleanup(maker.Close)
	s.agent = NewAgent(AgentConfig{Home: settings.Home{Dir: home}, Kind: kind, Version: "1", Log: log})
	cfg := host.Config{
		Home: home, Logger: log, Claim: s.agent.Claim, Dial: s.agent.Dial, Complete: maker.Complete, Abandon: maker.Drop,
		Env:        append(os.Environ(), "GORACE=atexit_sleep_ms=0"),
		Credential: func(context.Context, string) (string, error) { return planted, nil },
		OnEvent: func(e core.Event) {
			maker.OnEvent(e)
			s.change(func() { s.events = append(s.events, e) })
		},
		OnPreview: func(p core.Preview) { s.change(func() { s.texts[p.RunID] = feed.Apply(s.texts[p.RunID], p) }) },
		OnRunner:  func(r host.Runner) { s.change(func() { s.runners = append(s.runners, r) }) },
	}
	for _, e := range edit {
		e(&cfg)
	}
	s.Host, err = host.New(cfg)
	try(t, err)
	s.Start()
	t.Cleanup(s.leave)
	return s
}

// testLog writes to the log of a test while that runs.
type testLog struct{ t *testing.T }

func (l testLog) Write(b []byte) (int, error) {
	if l.t.Context().Err() == nil {
		l.t.Log(strings.TrimSpace(string(b)))
	}
	return len(b), nil
}

func (s *station) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s.Close(ctx)
}

func (s *station) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// until waits for a condition, which is called with mu held.
func (s *station) until(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.After(60 * time.Second)
	for {
		s.mu.Lock()
		done, changed := ok(), s.changed
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			s.t.Fatalf("never: %s", what)
		}
	}
}

// stands waits until the station's Runner stands so and can be used.
func (s *station) stands(status host.Status) host.Runner {
	s.t.Helper()
	var r host.Runner
	s.until(string(status), func() bool {
		if len(s.runners) == 0 {
			return false
		}
		r = s.runners[len(s.runners)-1]
		return r.Status == status && r.Code == ""
	})
	return r
}

// event waits for an event of a run.
func (s *station) event(run core.RunID, typ core.EventType) {
	s.t.Helper()
	s.until(fmt.Sprintf("%s of %s", typ, run), func() bool {
		for _, e := range s.events {
			if e.RunID == run && e.Type == typ {
				return true
			}
		}
		return false
	})
}

// gapless fails when an event is missing or came twice.
func (s *station) gapless() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, e := range s.events {
		if want := s.events[0].Seq + int64(i); e.Seq != want {
			s.t.Errorf("event %d has seq %d, want %d", i, e.Seq, want)
		}
	}
}

func talk(id, words string) wire.TaskParams {
	return wire.TaskParams{CommandID: core.CommandID(id), Input: words, ModelRef: core.ModelRef{ProviderID: "mock"}}
}

// endless puts a provider into the settings of a home that begins an answer and
// never ends it, and returns a task for it.
func endless(t *testing.T, home string) func(id string) wire.TaskParams {
	t.Helper()
	stop := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"Some words "}}]}`+"\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	}))
	t.Cleanup(func() { close(stop); s.Close() })
	store, err := settings.Load(settings.Config{Home: settings.Home{Dir: home}})
	try(t, err)
	p, err := store.SaveProvider(settings.Provider{
		Name: "Endless", Kind: settings.KindOpenAIChat, Profile: "compatible", BaseURL: s.URL + "/v1", Model: "m",
	})
	try(t, err)
	return func(id string) wire.TaskParams {
		return wire.TaskParams{CommandID: core.CommandID(id), Input: "go on", ModelRef: core.ModelRef{ProviderID: p.ID}}
	}
}

// One process holds the agent of a home, the others follow it and can do what
// does not begin anything; when it ends the next takes over.
//
// covers: R2 R5 K8
func TestAgent_OneHoldsTheOthersFollow(t *testing.T) {
	home := roots(t)
	endless := endless(t, home)
	window := settle(t, home, wire.ClientWindow)
	window.stands(host.Ready)
	other := settle(t, home, wire.ClientCommand)
	r := other.stands(host.Elsewhere)
	if r.Holder != wire.ClientWindow || r.PID != os.Getpid() {
		t.Errorf("held by %+v", r)
	}
	ctx := t.Context()
	_, err := other.Submit(ctx, wire.SubmitParams{CommandID: "c0"})
	if f := fault.From(err); f == nil || f.Code != fault.Busy || f.Detail != "elsewhere" {
		t.Errorf("submit: %v", err)
	}
	if _, err := other.Continue(ctx, wire.ContinueParams{}); fault.CodeOf(err) != fault.Busy {
		t.Errorf("continue: %v", err)
	}

	res, err := other.SubmitTask(ctx, endless("c1"))
	try(t, err)
	again, err := other.SubmitTask(ctx, endless("c1"))
	if err != nil || again.RunID != res.RunID {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := other.SubmitTask(ctx, talk("c1", "other words")); fault.CodeOf(err) != fault.CommandConflict {
		t.Errorf("the same command for something else: %v", err)
	}
	for _, s := range []*station{window, other} {
		s.until("streamed words", func() bool { return s.texts[res.RunID] != "" })
	}
	if n := len(other.ActiveRuns()); n != 0 {
		t.Errorf("%d runs would stop with a process that only watches", n)
	}
	if n := len(window.ActiveRuns()); n != 1 {
		t.Errorf("%d runs are active with the holder", n)
	}
	receipt, err := other.Cancel(ctx, "stop", res.RunID)
	if err != nil || receipt.Receipt != "accepted" {
		t.Errorf("receipt %+v, %v", receipt, err)
	}
	for _, s := range []*station{window, other} {
		s.event(res.RunID, core.EventRunCancelled)
		s.gapless()
	}
	d, err := other.RunDetail(ctx, res.RunID)
	if err != nil || d.Run.State != core.RunCancelled {
		t.Errorf("detail %+v, %v", d.Run, err)
	}

	// The holder ends with a run: the one that watches hears the end, and then
	// is the holder.
	run, err := other.SubmitTask(ctx, endless("c2"))
	try(t, err)
	other.event(run.RunID, core.EventRunStarted)
	window.leave()
	other.event(run.RunID, core.EventRunCancelled)
	other.stands(host.Ready)
	done, err := other.SubmitTask(ctx, talk("c3", "hello"))
	try(t, err)
	other.event(done.RunID, core.EventRunSucceeded)
	other.gapless()

	// And the other way round.
	late := settle(t, home, wire.ClientWindow)
	if r := late.stands(host.Elsewhere); r.Holder != wire.ClientCommand {
		t.Errorf("held by %+v", r)
	}
	state, err := late.State(ctx)
	if err != nil || len(state.Runs) != 3 {
		t.Errorf("state of %d runs, %v", len(state.Runs), err)
	}
}

// The holder's Runner dies and is started again: those who follow are told, and
// what became of the run reaches them without a new beginning.
//
// covers: R2 R5
func TestAgent_TheHoldersRunnerDies(t *testing.T) {
	home := roots(t)
	endless := endless(t, home)
	window := settle(t, home, wire.ClientWindow)
	first := window.stands(host.Ready)
	other := settle(t, home, wire.ClientCommand)
	other.stands(host.Elsewhere)
	res, err := other.SubmitTask(t.Context(), endless("c1"))
	try(t, err)
	other.until("streamed words", func() bool { return other.texts[res.RunID] != "" })
	died, err := os.FindProcess(first.PID)
	try(t, err)
	try(t, died.Kill())
	other.until("told that there is no Runner", func() bool {
		for _, r := range other.runners {
			if r.Status == host.Elsewhere && r.Code == fault.RunnerGone && r.Holder == wire.ClientWindow {
				return true
			}
		}
		return false
	})
	other.event(res.RunID, core.EventRunInterrupted)
	other.gapless()
	other.stands(host.Elsewhere)
	done, err := other.SubmitTask(t.Context(), talk("c2", "hello"))
	try(t, err)
	other.event(done.RunID, core.EventRunSucceeded)
	other.gapless()
	if window.Runner().PID == first.PID {
		t.Error("it is the same Runner")
	}
}

// A holder that answers nobody is never joined by a second.
func TestAgent_AHolderThatDoesNotAnswer(t *testing.T) {
	home := roots(t)
	held, err := tryLock(settings.Home{Dir: home}.AgentLock())
	try(t, err)
	s := settle(t, home, wire.ClientWindow)
	s.until("told", func() bool {
		return len(s.runners) > 0 && s.runners[len(s.runners)-1] == host.Runner{Status: host.Elsewhere, Code: fault.RunnerGone}
	})
	if _, err := s.State(t.Context()); fault.CodeOf(err) != fault.RunnerGone {
		t.Errorf("state: %v", err)
	}
	held.release()
	s.stands(host.Ready)
}

// wirecut is a client that writes lines by hand.
type wirecut struct {
	t *testing.T
	net.Conn
	r *bufio.Scanner
	n int
}

func cut(t *testing.T, home string) *wirecut {
	t.Helper()
	c, err := dial(t.Context(), settings.Home{Dir: home}.AgentLock())
	try(t, err)
	t.Cleanup(func() { _ = c.Close() })
	try(t, c.SetDeadline(time.Now().Add(60*time.Second)))
	r := bufio.NewScanner(c)
	r.Buffer(nil, 16<<20)
	return &wirecut{t: t, Conn: c, r: r}
}

// call sends a request and returns its reply.
func (w *wirecut) call(method, params string) (result json.RawMessage, code int, faultCode string) {
	w.t.Helper()
	w.n++
	_, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", w.n, method, params)
	try(w.t, err)
	for w.r.Scan() {
		var m struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Code int `json:"code"`
				Data struct {
					Code string `json:"code"`
				} `json:"data"`
			} `json:"error"`
		}
		try(w.t, json.Unmarshal(w.r.Bytes(), &m))
		switch {
		case m.ID != w.n:
		case m.Error != nil:
			return nil, m.Error.Code, m.Error.Data.Code
		default:
			return m.Result, 0, ""
		}
	}
	w.t.Fatalf("%s: the connection ended: %v", method, w.r.Err())
	return nil, 0, ""
}

const greeting = `{"protocol":1,"kind":"other","version":"test"}`

// What a client says is looked at whole; what would show a key, say where one
// goes, or carry out a tool does not exist for it.
//
// covers: X5 K4
func TestServer_RefusesWhatAClientMayNot(t *testing.T) {
	home := roots(t)
	s := settle(t, home, wire.ClientWindow)
	s.stands(host.Ready)

	w := cut(t, home)
	if _, code, f := w.call("run.list", `{"limit":5}`); code != wire.ErrFault || f != "invalid_input" {
		t.Errorf("before the greeting: %d %s", code, f)
	}
	if _, _, f := w.call("hello", `{"protocol":2,"kind":"other","version":""}`); f != "protocol_error" {
		t.Errorf("another protocol: %s", f)
	}
	if _, _, f := w.call("hello", `{"protocol":1,"kind":"root","version":""}`); f != "invalid_input" {
		t.Errorf("another kind: %s", f)
	}
	if _, code, _ := w.call("hello", greeting); code != 0 {
		t.Fatalf("greeting: %d", code)
	}
	for _, method := range []string{
		wire.MethodCredentialGet, wire.MethodToolExecute, wire.MethodToolPrepare, wire.MethodToolProbe, wire.MethodToolCancel,
		wire.MethodInitialize, wire.MethodShutdown, wire.MethodModelChat, wire.MethodProviderTest, wire.MethodProviderModels,
		wire.MethodModelDescribe, wire.MethodModelForget, wire.MethodSendLogGet, wire.MethodSendLogClear,
		"window.open", "nonsense",
	} {
		if _, code, _ := w.call(method, `{}`); code != -32601 {
			t.Errorf("%s: %d, want no such method", method, code)
		}
	}
	for name, params := range map[string]string{
		"a provider":        `{"commandId":"a","input":"x","providerConfig":{"kind":"openai_chat","baseUrl":"https://example.org"}}`,
		"a snapshot":        `{"commandId":"a","input":"x","snapshot":{}}`,
		"no command":        `{"input":"x"}`,
		"no task":           `{"commandId":"a"}`,
		"a relative folder": `{"commandId":"a","input":"x","folder":"notes"}`,
		"a tool of its own": `{"commandId":"a","input":"x","allowedTools":["shell"]}`,
		"a verdict":         `{"commandId":"a","input":"x","policy":{"notes.write":"always"}}`,
		"no object":         `[]`,
	} {
		if _, _, f := w.call(wire.MethodRunSubmit, params); f != "invalid_input" {
			t.Errorf("%s: %q, want invalid_input", name, f)
		}
	}
	for name, c := range map[string]struct{ params, fault string }{
		"a provider that is not there": {`{"commandId":"a","input":"x","modelRef":{"providerId":"nobody","model":"m"}}`, "no_provider"},
		"a folder that is not there":   {`{"commandId":"a","input":"x","modelRef":{"providerId":"mock","model":""},"folder":"/nowhere/at/all"}`, "not_found"},
	} {
		if _, _, f := w.call(wire.MethodRunSubmit, c.params); f != c.fault {
			t.Errorf("%s: %q, want %s", name, f, c.fault)
		}
	}
	inside, err := json.Marshal(filepath.Join(home, "runs.db"))
	try(t, err)
	if _, _, f := w.call(wire.MethodStoreBackup, `{"path":`+string(inside)+`}`); f != "invalid_input" {
		t.Errorf("a backup over the database: %q", f)
	}
	if _, _, f := w.call(wire.MethodEventsSubscribe, `{"afterSeq":-1}`); f != "invalid_input" {
		t.Errorf("a cursor below 0: %q", f)
	}
	if got, _, f := w.call(wire.MethodSendLogList, `{"beforeId":0,"limit":5}`); f != "" || !strings.HasPrefix(string(got), `{"sends":[],"count":0,`) {
		t.Errorf("send log %s, %q", got, f)
	}
	if _, _, f := w.call(wire.MethodSendLogList, `{"beforeId":0,"limit":5,"bodies":true}`); f != "invalid_input" {
		t.Errorf("send log with bodies: %q", f)
	}
	// Nothing of all that was accepted.
	if got, _, _ := w.call(wire.MethodRunList, `{"limit":5}`); string(got) != "[]" {
		t.Errorf("runs %s", got)
	}
	// Not a key, in all that was said.
	if strings.Contains(string(w.r.Bytes()), planted) {
		t.Error("a key was said")
	}
	// A line past the limit is refused and the connection goes on.
	_, err = io.WriteString(w, strings.Repeat("x", wire.MaxLine+1)+"\n")
	try(t, err)
	if _, code, _ := w.call(wire.MethodPing, `{}`); code != 0 {
		t.Errorf("after a long line: %d", code)
	}
}

// So many clients and no more; one that leaves makes room.
//
// covers: R10
func TestServer_BoundsItsClients(t *testing.T) {
	home := roots(t)
	s := settle(t, home, wire.ClientWindow)
	s.stands(host.Ready)
	var all []*wirecut
	for range maxClients {
		w := cut(t, home)
		if _, code, _ := w.call("hello", greeting); code != 0 {
			t.Fatal(code)
		}
		all = append(all, w)
	}
	over := cut(t, home)
	if over.r.Scan() {
		t.Errorf("one more is told %s", over.r.Bytes())
	}
	try(t, all[0].Close())
	for tries := 0; ; tries++ {
		w := cut(t, home)
		_, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"method":"hello","params":%s}`+"\n", greeting)
		if err == nil && w.r.Scan() {
			break
		}
		if tries > 1000 {
			t.Fatal("no room after one left")
		}
	}
}

// A client that asks and never reads does not hold up the others, nor the end.
//
// covers: R10
func TestServer_AClientThatDoesNotRead(t *testing.T) {
	home := roots(t)
	endless := endless(t, home)
	s := settle(t, home, wire.ClientWindow)
	s.stands(host.Ready)
	deaf := cut(t, home)
	if _, code, _ := deaf.call("hello", greeting); code != 0 {
		t.Fatal(code)
	}
	if _, code, _ := deaf.call(wire.MethodEventsSubscribe, `{"afterSeq":0}`); code != 0 {
		t.Fatal(code)
	}
	res, err := s.SubmitTask(t.Context(), endless("c"))
	try(t, err)
	s.until("streamed words", func() bool { return s.texts[res.RunID] != "" })
	// From here on it asks and asks, and reads nothing.
	try(t, deaf.SetWriteDeadline(time.Now().Add(2*time.Second)))
	for i := 0; ; i++ {
		_, err := fmt.Fprintf(deaf, `{"jsonrpc":"2.0","id":%d,"method":"run.detail","params":{"runId":%q}}`+"\n", 1000+i, res.RunID)
		if err != nil {
			break // the pipe is full
		}
		if i > 200_000 {
			t.Fatal("everything is taken in")
		}
	}
	if n := runtime.NumGoroutine(); n > 300 {
		t.Errorf("%d goroutines serve one client", n)
	}
	quick := cut(t, home)
	if _, code, _ := quick.call("hello", greeting); code != 0 {
		t.Fatal(code)
	}
	begun := time.Now()
	if _, code, f := quick.call(wire.MethodRunCancel, fmt.Sprintf(`{"commandId":"stop","runId":%q}`, res.RunID)); code != 0 {
		t.Fatalf("cancel: %d %s", code, f)
	}
	t.Logf("beside a client that does not read, a cancel is answered in %s", time.Since(begun))
	s.event(res.RunID, core.EventRunCancelled)
	begun = time.Now()
	s.leave()
	if d := time.Since(begun); d > 4*time.Second {
		t.Errorf("the end took %s", d)
	}
}
