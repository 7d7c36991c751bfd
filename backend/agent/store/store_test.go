package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/text"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(envChild); name != "" {
		os.Exit(child(name))
	}
	os.Exit(m.Run())
}

// recorder keeps what a store published.
type recorder struct {
	mu     sync.Mutex
	more   *sync.Cond
	events []core.Event
}

func newRecorder() *recorder {
	r := &recorder{}
	r.more = sync.NewCond(&r.mu)
	return r
}

func (r *recorder) add(e core.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	r.more.Broadcast()
}

// upTo waits until seq was published and returns everything until then.
func (r *recorder) upTo(seq int64) []core.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.events) == 0 || r.events[len(r.events)-1].Seq < seq {
		if seq == 0 {
			return nil
		}
		r.more.Wait()
	}
	return slices.Clone(r.events)
}

// types waits for everything committed and returns its types.
func (r *recorder) types(s *Store) []core.EventType {
	var list []core.EventType
	for _, e := range r.upTo(s.LastSeq()) {
		list = append(list, e.Type)
	}
	return list
}

// ids counts identifiers, so that a failure reads well.
func ids(prefix string) func() string {
	var mu sync.Mutex
	n := 0
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		n++
		return fmt.Sprintf("%s%d", prefix, n)
	}
}

// openAt opens a store at a path; the test closes it.
func openAt(t testing.TB, path, boot string, change ...func(*Config)) *Store {
	t.Helper()
	cfg := Config{Path: path, BootID: boot, NewID: ids(boot + "-"), Now: func() time.Time { return time.UnixMilli(1_000) }}
	for _, c := range change {
		c(&cfg)
	}
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// openNew opens a store in a folder of its own, with what it publishes.
func openNew(t testing.TB, change ...func(*Config)) (*Store, *recorder) {
	t.Helper()
	r := newRecorder()
	s := openAt(t, filepath.Join(t.TempDir(), "runs.db"), "boot", append([]func(*Config){func(c *Config) { c.OnEvent = r.add }}, change...)...)
	return s, r
}

func userMessage(words string) core.Message {
	return core.Message{Role: core.RoleUser, Parts: []core.Part{{Type: core.PartText, Text: words}}}
}

func assistantMessage(words string) core.Message {
	return core.Message{Role: core.RoleAssistant, Parts: []core.Part{{Type: core.PartText, Text: words}}}
}

// rewrite is a submission of a rewrite in a session of its own.
func rewrite(cmd core.CommandID) core.Submission {
	return core.Submission{
		CommandID: cmd, InputDigest: sha256.Sum256([]byte(cmd)), Kind: core.KindRewrite, Runtime: "native",
		Session: core.Session{Title: "Rewrite", WorkspaceID: "w"},
		Model:   core.ModelRef{ProviderID: "p", Model: "m"}, Budget: core.Budget{Steps: 3},
		DocURI: "file:///a.md", Message: userMessage("Make it shorter"),
	}
}

// in makes a submission a conversation of a session.
func in(session core.SessionID, sub core.Submission) core.Submission {
	sub.SessionID, sub.Kind = session, core.KindConversation
	return sub
}

func submit(t testing.TB, s *Store, sub core.Submission) core.Run {
	t.Helper()
	r, err := s.Submit(t.Context(), sub)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// started submits a rewrite and starts it.
func started(t testing.TB, s *Store, cmd core.CommandID) core.Run {
	t.Helper()
	r := submit(t, s, rewrite(cmd))
	must(t, s.Start(t.Context(), r.ID))
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, want fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if _, ok := errors.AsType[*fault.Error](err); err != nil && !ok {
		t.Errorf("error %v carries no fault", err)
	}
}

func wantState(t testing.TB, s *Store, id core.RunID, want core.RunState, reason string) {
	t.Helper()
	r, err := s.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if r.State != want || r.Reason != reason {
		t.Errorf("run is %s (%q), want %s (%q)", r.State, r.Reason, want, reason)
	}
}

func proposal(hunks int) *core.Proposal {
	d := sha256.Sum256([]byte("base"))
	p := &core.Proposal{
		Origin: core.OriginRewrite, DocURI: "file:///a.md", BaseDigest: fmt.Sprintf("%x", d),
		Patch: core.Patch{BaseVersion: 4, Summary: "Shorter"},
	}
	for i := range hunks {
		p.Patch.Edits = append(p.Patch.Edits, text.Edit{From: i * 10, To: i*10 + 1, Insert: "x"})
		p.Hunks = append(p.Hunks, core.Hunk{ID: fmt.Sprint(i + 1), First: i, Count: 1, Warnings: []core.Warning{core.WarnNumber}})
	}
	return p
}

// payload decodes an event's payload.
func payload[T any](t testing.TB, e core.Event) T {
	t.Helper()
	var v T
	must(t, json.Unmarshal(e.Payload, &v))
	return v
}

func TestOpen_MakesAPrivateFileWithTheWholeSchema(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	want := map[string]string{"journal_mode": "wal", "foreign_keys": "1", "synchronous": "2", "user_version": fmt.Sprint(len(migrations()))}
	for pragma, w := range want {
		var got string
		err := s.change(t.Context(), "test", func(ctx context.Context, x *tx) (err error) {
			got, _, err = one(ctx, x, scanString, "PRAGMA "+pragma)
			return err
		})
		if err != nil || got != w {
			t.Errorf("%s is %q, %v; want %q", pragma, got, err, w)
		}
	}
	tables, err := all(t.Context(), plain{s.reader}, scanString,
		`SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%' ORDER BY name`)
	must(t, err)
	if diff := cmp.Diff(strings.Fields("approvals artifacts commands contexts envelopes events grants messages meta model_calls model_facts proposals reconciliations runs sends sessions tool_calls"), tables); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	strict, _, err := one(t.Context(), plain{s.reader}, scanInt, `SELECT count(*) FROM pragma_table_list WHERE strict=1 AND schema='main'`)
	must(t, err)
	if int(strict) != len(tables) {
		t.Errorf("%d of %d tables are strict", strict, len(tables))
	}
	if runtime.GOOS != "windows" {
		for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
			st, err := os.Stat(s.cfg.Path + suffix)
			must(t, err)
			if st.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %o, want 600", suffix, st.Mode().Perm())
			}
		}
	}
}

// covers: R12
func TestOpen_LeavesAFileItCannotUseAlone(t *testing.T) {
	t.Parallel()
	spoil := func(f func(b []byte)) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			b, err := os.ReadFile(path)
			must(t, err)
			f(b)
			must(t, os.WriteFile(path, b, 0o600))
		}
	}
	exec := func(sql string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			db, err := openDB(path, nil)
			must(t, err)
			_, err = db.ExecContext(t.Context(), sql)
			must(t, errors.Join(err, db.Close()))
		}
	}
	tests := map[string]struct {
		spoil func(t *testing.T, path string)
		cause error
	}{
		"no database":  {spoil(func(b []byte) { copy(b, "Dear diary, this is a text.") }), ErrDamaged},
		"zeros":        {spoil(func(b []byte) { clear(b) }), ErrDamaged},
		"broken pages": {spoil(func(b []byte) { clear(b[8192:]) }), ErrDamaged},
		"cut off": {func(t *testing.T, path string) {
			must(t, os.Truncate(path, 5000))
		}, ErrDamaged},
		"a page nobody owns": {exec("PRAGMA writable_schema=1; DELETE FROM sqlite_schema WHERE name='events_run'"), ErrDamaged},
		"newer":              {exec("PRAGMA user_version=99"), ErrNewer},
		"somebody else's":    {exec("PRAGMA user_version=0"), ErrDamaged},
		"newer, in its log":  {func(t *testing.T, path string) { leaveInLog(t, path, "PRAGMA user_version=99") }, ErrNewer},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "runs.db")
			s := openAt(t, path, "first")
			submit(t, s, rewrite("c"))
			must(t, s.Close())
			tt.spoil(t, path)
			before, err := os.ReadFile(path)
			must(t, err)
			_, err = Open(t.Context(), Config{Path: path})
			wantCode(t, err, fault.StoreFailed)
			if !errors.Is(err, tt.cause) {
				t.Errorf("error is %v, want %v", err, tt.cause)
			}
			after, err := os.ReadFile(path)
			must(t, err)
			if sha256.Sum256(before) != sha256.Sum256(after) {
				t.Error("the file was touched")
			}
		})
	}
}

// leaveInLog runs a statement whose effect is left in the write-ahead log, as
// after a crash: it puts back the files as they were before the close.
func leaveInLog(t *testing.T, path, sql string) {
	t.Helper()
	db, err := openDB(path, []string{"journal_mode(WAL)"})
	must(t, err)
	_, err = db.ExecContext(t.Context(), sql)
	must(t, err)
	main, err := os.ReadFile(path)
	must(t, err)
	log, err := os.ReadFile(path + "-wal")
	must(t, err)
	must(t, db.Close())
	must(t, os.WriteFile(path, main, 0o600))
	must(t, os.WriteFile(path+"-wal", log, 0o600))
}

func TestOpen_ASecondOneIsBusyUntilTheFirstCloses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	first := openAt(t, path, "first")
	_, err := Open(t.Context(), Config{Path: path, LockWait: time.Millisecond})
	wantCode(t, err, fault.Busy)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Open(ctx, Config{Path: path})
	wantCode(t, err, fault.Cancelled)

	second := make(chan error, 1)
	go func() {
		s, err := Open(t.Context(), Config{Path: path, LockWait: time.Minute})
		if err == nil {
			err = s.Close()
		}
		second <- err
	}()
	must(t, first.Close())
	must(t, <-second)
}

func TestOpen_WithoutAFolder(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "none", "runs.db")})
	wantCode(t, err, fault.StoreFailed)
}

func TestOpen_PathsThatLookLikeAddresses(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b", "100%", "what#", "中文", "a&b=c"} {
		dir := filepath.Join(t.TempDir(), name)
		must(t, os.Mkdir(dir, 0o700))
		s := openAt(t, filepath.Join(dir, "runs.db"), "b")
		submit(t, s, rewrite("c"))
		if _, err := os.Stat(filepath.Join(dir, "runs.db")); err != nil {
			t.Error(err)
		}
	}
}

func TestClose_RefusesWhatComesAfter(t *testing.T) {
	t.Parallel()
	s, r := openNew(t)
	run := submit(t, s, rewrite("c"))
	last := s.LastSeq()
	must(t, s.Close())
	must(t, s.Close())
	if got := len(r.upTo(last)); got != int(last) {
		t.Errorf("%d events were published before the close returned, want %d", got, last)
	}
	err := s.Start(t.Context(), run.ID)
	wantCode(t, err, fault.StoreFailed)
	if !errors.Is(err, ErrClosed) {
		t.Errorf("error is %v, want ErrClosed", err)
	}
	if _, err := s.Run(t.Context(), run.ID); err == nil {
		t.Error("a closed store still reads")
	}
}
