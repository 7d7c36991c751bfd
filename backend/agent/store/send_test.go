package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// sending is a request of a run that is about to leave.
func sending() Send {
	return Send{
		ProviderID: "p", ProviderName: "P", Model: "m", Purpose: "conversation", SessionID: "s-1", RunID: "r-1",
		Method: "POST", URL: "https://example.org/v1/chat/completions", Proxy: "proxy.example.org:8080",
	}
}

func sent(t testing.TB, s *Store, n Send, body string) int64 {
	t.Helper()
	id, err := s.BeginSend(t.Context(), n, []byte(body))
	must(t, err)
	return id
}

func sends(t testing.TB, s *Store) SendLog {
	t.Helper()
	log, err := s.Sends(t.Context(), 0, 200)
	must(t, err)
	return log
}

// ids of what is in the log, the newest first.
func sendIDs(t testing.TB, s *Store) []int64 {
	t.Helper()
	list := []int64{}
	for _, n := range sends(t, s).Sends {
		list = append(list, n.ID)
	}
	return list
}

// covers: K9
func TestSends_AnEntryHoldsWhatLeftAndHowItWent(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	now := time.UnixMilli(1_000)
	s, _ := openNew(t, func(c *Config) { c.Now = func() time.Time { return now } })
	if log := sends(t, s); log.Sends == nil || len(log.Sends) != 0 || log.Count != 0 || log.Bytes != 0 {
		t.Errorf("a new log is %+v", log)
	}
	body := strings.Repeat(`{"say":"词 and words"}`, 50)
	id := sent(t, s, sending(), body)
	want := sending()
	want.ID, want.AtMs, want.SentBytes, want.HasBody = id, 1_000, int64(len(body)), true
	if diff := cmp.Diff([]Send{want}, sends(t, s).Sends); diff != "" {
		t.Errorf("begun (-want +got):\n%s", diff)
	}
	now = time.UnixMilli(2_500)
	must(t, s.EndSend(ctx, id, SendEnd{Status: 429, Code: fault.RateLimited, ReceivedBytes: 17}))
	must(t, s.EndSend(ctx, id, SendEnd{Status: 200})) // the first counts
	must(t, s.EndSend(ctx, id+1, SendEnd{Status: 200}))
	want.EndedAtMs, want.Status, want.Code, want.ReceivedBytes = 2_500, 429, fault.RateLimited, 17
	log := sends(t, s)
	if diff := cmp.Diff([]Send{want}, log.Sends); diff != "" {
		t.Errorf("ended (-want +got):\n%s", diff)
	}
	if log.Count != 1 || log.Bytes <= 0 || log.Bytes >= int64(len(body)) {
		t.Errorf("log is %d entries of %d bytes, body has %d", log.Count, log.Bytes, len(body))
	}
	for offset := 0; offset < len(body)+100; offset += 100 {
		n, piece, err := s.SendBody(ctx, id, int64(offset), 100)
		must(t, err)
		if got, whole := string(piece), body[min(offset, len(body)):min(offset+100, len(body))]; got != whole || n.ID != id {
			t.Errorf("from %d: got %q, want %q", offset, got, whole)
		}
	}
	_, _, err := s.SendBody(ctx, id+1, 0, 10)
	wantCode(t, err, fault.NotFound)

	// A request without a body, of no run.
	empty := sent(t, s, Send{ProviderID: "p", Purpose: "models", Method: "GET", URL: "u"}, "")
	n, piece, err := s.SendBody(ctx, empty, 0, 10)
	must(t, err)
	if n.HasBody || n.SentBytes != 0 || n.SessionID != "" || len(piece) != 0 {
		t.Errorf("got %+v with %q", n, piece)
	}
	if log, err := s.Sends(ctx, empty, 1); err != nil || len(log.Sends) != 1 || log.Sends[0].ID != id || log.Count != 2 {
		t.Errorf("before %d: %+v, %v", empty, log, err)
	}
}

// A purpose that there is not is a mistake of ours, and nothing is written.
func TestSends_PurposesAreFew(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	n := sending()
	n.Purpose = "other"
	_, err := s.BeginSend(t.Context(), n, nil)
	wantCode(t, err, fault.Internal)
	for _, n.Purpose = range []string{"conversation", "rewrite", "chat", "test", "models", "describe"} {
		sent(t, s, n, "x")
	}
	if len(sends(t, s).Sends) != 6 {
		t.Errorf("got %v", sendIDs(t, s))
	}
}

// covers: R11 K9
func TestSends_TheOldestGo(t *testing.T) {
	t.Parallel()
	noise := func(n int) string { // which does not compress
		b := make([]byte, n/2)
		_, _ = rand.Read(b)
		return hex.EncodeToString(b)
	}
	t.Run("by number", func(t *testing.T) {
		t.Parallel()
		s, _ := openNew(t, func(c *Config) { c.MaxSends = 3 })
		for range 5 {
			sent(t, s, sending(), "x")
		}
		if diff := cmp.Diff([]int64{5, 4, 3}, sendIDs(t, s)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("by bytes", func(t *testing.T) {
		t.Parallel()
		s, _ := openNew(t, func(c *Config) { c.SendBytes = 8_000 })
		for range 5 {
			sent(t, s, sending(), noise(6_000)) // about 3,100 each
		}
		log := sends(t, s)
		if diff := cmp.Diff([]int64{5, 4}, sendIDs(t, s)); diff != "" || log.Bytes > 8_000 {
			t.Errorf("%d bytes, %s", log.Bytes, diff)
		}
		// One that alone is too large is still the record of what leaves.
		sent(t, s, sending(), noise(60_000))
		if diff := cmp.Diff([]int64{6}, sendIDs(t, s)); diff != "" {
			t.Error(diff)
		}
		sent(t, s, sending(), "x")
		if diff := cmp.Diff([]int64{7}, sendIDs(t, s)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("by age", func(t *testing.T) {
		t.Parallel()
		at := time.UnixMilli(1_000)
		path := filepath.Join(t.TempDir(), "runs.db")
		clock := func(c *Config) { c.Now = func() time.Time { return at } }
		s := openAt(t, path, "one", clock)
		sent(t, s, sending(), "x")
		at = at.Add(DefaultKeepSends)
		sent(t, s, sending(), "x")
		at = at.Add(time.Millisecond)
		sent(t, s, sending(), "x")
		if diff := cmp.Diff([]int64{3, 2}, sendIDs(t, s)); diff != "" {
			t.Error(diff)
		}
		must(t, s.Close())
		// And at a start.
		at = at.Add(DefaultKeepSends)
		s = openAt(t, path, "two", clock)
		recovered(t, s)
		if diff := cmp.Diff([]int64{3}, sendIDs(t, s)); diff != "" {
			t.Error(diff)
		}
	})
}

// covers: K9 R11
func TestSends_ClearedAreGone(t *testing.T) {
	t.Parallel()
	s, _ := openNew(t)
	for i := range 4 {
		sent(t, s, sending(), fmt.Sprint("body", i))
	}
	must(t, s.ClearSends(t.Context(), 2))
	if diff := cmp.Diff([]int64{4, 3}, sendIDs(t, s)); diff != "" {
		t.Error(diff)
	}
	must(t, s.ClearSends(t.Context(), 0))
	if log := sends(t, s); log.Count != 0 || log.Bytes != 0 || len(log.Sends) != 0 {
		t.Errorf("left: %+v", log)
	}
	// The end of a request that was cleared while it ran is nobody's, and an id
	// that a person saw is never another's.
	must(t, s.EndSend(t.Context(), 4, SendEnd{Status: 200}))
	if id := sent(t, s, sending(), "x"); id != 5 {
		t.Errorf("id %d", id)
	}
}

// What was cleared, or went with its session, is nowhere in the files.
//
// covers: R11 K9
func TestSends_RemovedBodiesAreOverwritten(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, _ := openNew(t)
	run := started(t, s, "c")
	n := sending()
	n.SessionID, n.RunID = run.SessionID, run.ID
	other := n
	other.SessionID, other.RunID = "", ""
	bodies := []string{rand.Text() + "1", rand.Text() + "2", rand.Text() + "3"}
	first, second, third := sent(t, s, n, bodies[0]), sent(t, s, n, bodies[1]), sent(t, s, other, bodies[2])
	// found says which of the bodies stand in the files, as they are stored.
	found := func() (list []bool) {
		for _, body := range bodies {
			packed, err := pack([]byte(body))
			must(t, err)
			there := false
			for _, suffix := range []string{"", "-wal"} {
				b, err := os.ReadFile(s.cfg.Path + suffix)
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				there = there || bytes.Contains(b, packed)
			}
			list = append(list, there)
		}
		return list
	}
	if diff := cmp.Diff([]bool{true, true, true}, found()); diff != "" {
		t.Fatalf("in the files (-want +got):\n%s", diff)
	}
	_, err := s.End(ctx, run.ID, core.RunEnd{State: core.RunSucceeded})
	must(t, err)
	must(t, s.DeleteSession(ctx, "x", run.SessionID))
	log := sends(t, s)
	if len(log.Sends) != 3 || log.Sends[0].ID != third || !log.Sends[0].HasBody || log.Sends[1].HasBody || log.Sends[2].HasBody ||
		log.Sends[1].SentBytes != int64(len(bodies[1])) || log.Sends[2].ID != first {
		t.Errorf("after the session went: %+v", log.Sends)
	}
	if got, piece, err := s.SendBody(ctx, second, 0, 100); err != nil || got.HasBody || len(piece) != 0 {
		t.Errorf("body of a session that is gone: %+v, %q, %v", got, piece, err)
	}
	if diff := cmp.Diff([]bool{false, false, true}, found()); diff != "" {
		t.Errorf("in the files without the session (-want +got):\n%s", diff)
	}
	must(t, s.ClearSends(ctx, 0))
	if diff := cmp.Diff([]bool{false, false, false}, found()); diff != "" {
		t.Errorf("in the files after clearing (-want +got):\n%s", diff)
	}
}

// An end that was never seen is told so by the next start, and stays.
//
// covers: K9 R6 R13
func TestSends_AnEndThatWasNotSeen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	crashed(t, "sending", path, 0)
	for _, boot := range []string{"two", "three"} {
		s := openAt(t, path, boot)
		recovered(t, s)
		// This start's own is on its way.
		mine := sent(t, s, sending(), "y")
		must(t, s.EndSend(t.Context(), mine, SendEnd{Status: 200}))
		list := sends(t, s).Sends
		lost, ended := list[len(list)-2], list[len(list)-1]
		if lost.EndedAtMs != 0 || lost.Code != fault.Interrupted || lost.Status != 0 || !lost.HasBody {
			t.Errorf("%s: the lost one is %+v", boot, lost)
		}
		if ended.EndedAtMs == 0 || ended.Code != "" || ended.Status != 200 {
			t.Errorf("%s: the other is %+v", boot, ended)
		}
		if list[0].Code != "" || list[0].EndedAtMs == 0 {
			t.Errorf("%s: this start's is %+v", boot, list[0])
		}
		must(t, s.Close())
	}
}

// childSending dies with a request on its way, after one that has ended.
func childSending(ctx context.Context, s *Store) error {
	id, err := s.BeginSend(ctx, sending(), []byte("x"))
	if err != nil {
		return err
	}
	if err := s.EndSend(ctx, id, SendEnd{Status: 200}); err != nil {
		return err
	}
	_, err = s.BeginSend(ctx, sending(), []byte("x"))
	return err
}
