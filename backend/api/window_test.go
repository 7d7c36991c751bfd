package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/backend/agent/host"
	"galley/backend/cli"
	"galley/backend/fault"
	"galley/backend/settings"
	"galley/backend/text"
)

var update = flag.Bool("update", false, "write testdata/surface.golden")

func TestMain(m *testing.M) {
	// The Runner is this same program, here as in the window.
	if code, done := cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); done {
		os.Exit(code)
	}
	if played(os.Getenv) {
		return
	}
	if home := os.Getenv(envTyping); home != "" {
		os.Exit(typeUntilKilled(home))
	}
	os.Exit(m.Run())
}

// patience is how long a message is waited for; what comes late on a busy
// machine still comes.
const patience = 60 * time.Second

// window is everything round a Backend: the page with its wire, the person at
// the dialogs, the system.
type window struct {
	t       *testing.T
	home    settings.Home
	backend *Backend
	log     *os.File
	closed  bool

	// What the person answers in the dialogs.
	chooseFiles  []string
	chooseFolder string
	chooseSave   string
	chooseCA     string
	dialogErr    error
	marks        int

	// mu guards what follows.
	mu       sync.Mutex
	messages []message
	// more is closed, and made anew, with each message.
	more chan struct{}
	// since is the first message that await looks at.
	since int
	// wire holds all that the page got, answers and failures, as it got them.
	wire []string
	// suggested are the names that the save dialog was opened with.
	suggested []string
	links     []string
	labels    [][]MenuLabel
	quits     int
}

// message is a message as the page gets it.
type message struct {
	Envelope
	Payload json.RawMessage `json:"payload"`
}

func newHome(t *testing.T) settings.Home {
	t.Helper()
	return settings.Home{Dir: filepath.Join(t.TempDir(), "home")}
}

// newWindow is a window on a new home, without a Runner: most of the program
// needs none. A page has attached, so that every message comes.
func newWindow(t *testing.T) *window {
	t.Helper()
	return openWithoutRunner(t, newHome(t))
}

// openWithoutRunner is newWindow on a home that may be there.
func openWithoutRunner(t *testing.T, home settings.Home) *window {
	t.Helper()
	w := makeWindow(t, home)
	w.page()
	w.backend.wg.Go(func() { w.backend.emitter.Run(w.backend.ctx) })
	return w
}

// openWindow starts a back end on a home, as the program does.
func openWindow(t *testing.T, home settings.Home) *window {
	t.Helper()
	w := makeWindow(t, home)
	w.page()
	w.backend.Start()
	return w
}

// makeWindow is openWindow before the window is there.
func makeWindow(t *testing.T, home settings.Home, change ...func(*Config)) *window {
	t.Helper()
	try(t, home.Make())
	log, err := os.OpenFile(home.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	try(t, err)
	w := &window{t: t, home: home, log: log, more: make(chan struct{})}
	cfg := Config{
		Home: home, Version: "1.2.3", Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Send: w.take,
		Dialogs: Dialogs{
			OpenFolder:       func(context.Context) (string, error) { return w.chooseFolder, w.dialogErr },
			OpenFiles:        func(context.Context) ([]string, error) { return w.chooseFiles, w.dialogErr },
			OpenCertificates: func(context.Context) (string, error) { return w.chooseCA, w.dialogErr },
			SaveFile: func(_ context.Context, name string) (string, error) {
				w.note(func() { w.suggested = append(w.suggested, name) })
				return w.chooseSave, w.dialogErr
			},
		},
		OpenURL: func(url string) { w.note(func() { w.links = append(w.links, url) }) },
		Relabel: func(l []MenuLabel) { w.note(func() { w.labels = append(w.labels, l) }) },
		Quit:    func() { w.note(func() { w.quits++ }) },
		Ring:    noRing{},
	}
	for _, c := range change {
		c(&cfg)
	}
	w.backend, err = New(cfg)
	try(t, err)
	t.Cleanup(w.close)
	return w
}

// close ends the back end as quitting does.
func (w *window) close() {
	if w.closed {
		return
	}
	w.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := w.backend.Close(ctx); err != nil {
		w.t.Errorf("close: %v", err)
	}
	try(w.t, w.log.Close())
}

func (w *window) note(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// take is the window's end of the event channel, which passes JSON on.
func (w *window) take(m Message) {
	data, err := json.Marshal(m)
	if err != nil {
		w.t.Errorf("message %s: %v", m.Type, err)
		return
	}
	noNull(w.t, "event "+m.Type, data)
	var got message
	if err := json.Unmarshal(data, &got); err != nil {
		w.t.Errorf("message %s: %v", m.Type, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.messages = append(w.messages, got)
	w.wire = append(w.wire, string(data))
	close(w.more)
	w.more = make(chan struct{})
}

// mark makes await look only at messages that are queued from now on.
func (w *window) mark() {
	w.t.Helper()
	w.marks++
	name := fmt.Sprintf("mark %d", w.marks)
	w.backend.MenuInvoked(name)
	await(w, "menu.invoked", func(_ Envelope, m MenuInvoked) bool { return m.Command == name })
	w.note(func() { w.since = len(w.messages) })
}

// sent returns the messages since the mark, and what is closed with the next.
func (w *window) sent() ([]message, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.messages[w.since:]), w.more
}

// find waits for a message since the mark.
func (w *window) find(what string, fits func(message) bool) message {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for {
		list, more := w.sent()
		if i := slices.IndexFunc(list, fits); i >= 0 {
			return list[i]
		}
		select {
		case <-more:
		case <-ctx.Done():
			var types []string
			for _, m := range list {
				types = append(types, m.Type)
			}
			w.t.Fatalf("%s did not come; what came: %v", what, types)
		}
	}
}

// await waits for an event since the mark whose payload fits; nil fits any.
func await[T any](w *window, typ string, fits func(Envelope, T) bool) T {
	w.t.Helper()
	var got T
	w.find(typ, func(m message) bool {
		if m.Type != typ {
			return false
		}
		var v T
		if err := json.Unmarshal(m.Payload, &v); err != nil {
			w.t.Fatalf("%s: %v", typ, err)
		}
		if fits != nil && !fits(m.Envelope, v) {
			return false
		}
		got = v
		return true
	})
	return got
}

// ready waits for the Runner.
func (w *window) ready() RunnerState {
	w.t.Helper()
	return await(w, "runner.changed", func(_ Envelope, r RunnerState) bool {
		if r.Status == string(host.Failed) {
			w.t.Fatalf("the runner failed: %s\n%s", r.Code, w.logged())
		}
		return r.Status == string(host.Ready)
	})
}

// logged is what is in the log.
func (w *window) logged() string {
	data, err := os.ReadFile(w.home.Log())
	try(w.t, err)
	return string(data)
}

// page attaches and returns the number to call with.
func (w *window) page() int64 {
	w.t.Helper()
	return ask[DocumentsState](w, "Documents.Attach").Page
}

// folder makes a folder outside of the home with files and opens it in the
// dialog.
func (w *window) folder(files map[string]string) string {
	w.t.Helper()
	dir := w.t.TempDir()
	for name, content := range files {
		write(w.t, filepath.Join(dir, name), content)
	}
	w.chooseFolder = dir
	if got := ask[WorkspaceInfo](w, "Workspace.OpenDialog"); got.Path != dir {
		w.t.Fatalf("opened %q", got.Path)
	}
	return dir
}

// errArguments stands for arguments that Wails could not decode.
var errArguments = errors.New("error parsing arguments")

// invoke makes a bound call as Wails does: it decodes each argument into the
// type of its parameter, calls, and encodes what comes back.
func (w *window) invoke(method string, args []json.RawMessage) (json.RawMessage, error) {
	w.t.Helper()
	f := w.bound(method)
	if f.Type().NumIn() != len(args) {
		w.t.Fatalf("%s takes %d arguments", method, f.Type().NumIn())
	}
	in := make([]reflect.Value, len(args))
	for i, arg := range args {
		v := reflect.New(f.Type().In(i))
		if err := json.Unmarshal(arg, v.Interface()); err != nil {
			w.note(func() { w.wire = append(w.wire, err.Error()) })
			return nil, fmt.Errorf("%w: %w", errArguments, err)
		}
		in[i] = v.Elem()
	}
	out := f.Call(in)
	if err, _ := out[len(out)-1].Interface().(error); err != nil {
		text, ok := FormatError(err).(string)
		if !ok {
			w.t.Errorf("%s: the failure is no text", method)
		}
		// The error itself is what a log would get.
		w.note(func() { w.wire = append(w.wire, text, err.Error()) })
		return nil, err
	}
	answer := json.RawMessage("{}")
	if len(out) == 2 {
		var err error
		answer, err = json.Marshal(out[0].Interface())
		try(w.t, err)
	}
	noNull(w.t, method, answer)
	w.note(func() { w.wire = append(w.wire, string(answer)) })
	return answer, nil
}

// bound finds "Service.Method" among what is bound.
func (w *window) bound(method string) reflect.Value {
	w.t.Helper()
	service, name, _ := strings.Cut(method, ".")
	for _, s := range w.backend.Bound() {
		if v := reflect.ValueOf(s); v.Elem().Type().Name() == service {
			if f := v.MethodByName(name); f.IsValid() {
				return f
			}
		}
	}
	w.t.Fatalf("%s is not bound", method)
	return reflect.Value{}
}

func encode(t testing.TB, args []any) []json.RawMessage {
	t.Helper()
	out := make([]json.RawMessage, len(args))
	for i, a := range args {
		var err error
		out[i], err = json.Marshal(a)
		try(t, err)
	}
	return out
}

// ask makes a call of the page that must be answered.
func ask[T any](w *window, method string, args ...any) T {
	w.t.Helper()
	answer, err := w.invoke(method, encode(w.t, args))
	if err != nil {
		w.t.Fatalf("%s: %v", method, err)
	}
	var v T
	try(w.t, json.Unmarshal(answer, &v))
	return v
}

// tell is ask for a method without a result.
func (w *window) tell(method string, args ...any) {
	w.t.Helper()
	ask[struct{}](w, method, args...)
}

// refused makes a call of the page that must be refused with a code, and
// returns the failure as the page gets it.
func (w *window) refused(code fault.Code, method string, args ...any) FaultBody {
	w.t.Helper()
	answer, err := w.invoke(method, encode(w.t, args))
	if err == nil {
		w.t.Errorf("%s was answered with %s, want %s", method, answer, code)
		return FaultBody{}
	}
	var body FaultBody
	text, ok := FormatError(err).(string)
	if !ok || json.Unmarshal([]byte(text), &body) != nil || body.Code != code {
		w.t.Errorf("%s: got %v, want %s", method, err, code)
	}
	return body
}

// noNull fails when JSON holds a null: the page's types know none.
func noNull(t testing.TB, what string, data []byte) {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	walkNull(t, what, v)
}

func walkNull(t testing.TB, at string, v any) {
	t.Helper()
	switch v := v.(type) {
	case nil:
		t.Errorf("%s is null", at)
	case []any:
		for i, e := range v {
			walkNull(t, fmt.Sprintf("%s[%d]", at, i), e)
		}
	case map[string]any:
		for k, e := range v {
			walkNull(t, at+"."+k, e)
		}
	}
}

func try(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	try(t, os.MkdirAll(filepath.Dir(path), 0o755))
	try(t, os.WriteFile(path, []byte(content), 0o644))
}

func content(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	try(t, err)
	return string(data)
}

// insertion is one change that inserts a text without breaks.
func insertion(at int, s string) Change {
	return Change{Edits: []text.Edit{{From: at, To: at, Insert: s}}, Endings: []text.EndingRun{}}
}

// typed syncs changes of the page.
func (w *window) typed(page int64, d Document, changes ...Change) SyncResult {
	w.t.Helper()
	return ask[SyncResult](w, "Documents.Sync", SyncRequest{
		Page: page, ID: d.ID, FromVersion: d.Version, Changes: changes,
	})
}

// saving is the request of a page that holds a text at a version.
func saving(page int64, id string, version int, s string) SaveRequest {
	return SaveRequest{Page: page, ID: id, Version: version, Length: text.Length(s), Digest: text.Digest(s)}
}

// envTyping makes this program one that types into a document and waits for
// its end; it names the home. envFile is the document's path.
const (
	envTyping = "GALLEY_TEST_TYPING"
	envFile   = "GALLEY_TEST_FILE"
)

// typeUntilKilled opens a file as the command line would, types, says on
// standard output that the draft is kept, and waits.
func typeUntilKilled(dir string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	b, err := New(Config{
		Home: settings.Home{Dir: dir}, Log: slog.New(slog.DiscardHandler), Send: func(Message) {}, Ring: noRing{},
	})
	if err != nil {
		return fail(err)
	}
	path := os.Getenv(envFile)
	if _, err := b.grants.GrantFile(path); err != nil {
		return fail(err)
	}
	d, err := b.documents.Open(path)
	if err != nil {
		return fail(err)
	}
	a, err := b.documents.Attach()
	if err != nil {
		return fail(err)
	}
	_, err = b.documents.Sync(SyncRequest{
		Page: a.Page, ID: d.ID, FromVersion: d.Version, Changes: []Change{insertion(0, "typed ")}, Anchor: 6, Head: 6,
	})
	if err != nil {
		return fail(err)
	}
	if err := b.set.FlushDrafts(context.Background()); err != nil {
		return fail(err)
	}
	fmt.Println("kept")
	// Whoever started this kills it, or goes away.
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	return 0
}

// noRing is a system without a keyring.
type noRing struct{}

var errNoRing = &fault.Error{Code: fault.KeyringMissing, Op: "find keyring", Detail: "Secret Service, KWallet"}

func (noRing) Name(context.Context) (string, error)                { return "", errNoRing }
func (noRing) Set(context.Context, string, []byte) (string, error) { return "", errNoRing }
func (noRing) Get(context.Context, string) ([]byte, error)         { return nil, errNoRing }
func (noRing) Remove(context.Context, string) error                { return errNoRing }
func (noRing) Close()                                              {}
