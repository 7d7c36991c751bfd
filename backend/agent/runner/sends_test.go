package runner

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// Every kind of request is in the log, with exactly what left, and no key is
// anywhere.
//
// covers: K9 K4
func TestSendLog_HoldsWhatLeft(t *testing.T) {
	s := newRemote(t)
	r := ready(t, func(r *rig) { r.secret = plantedKey })
	talk := r.submit(s.talk("c1", "large", "Hello, 词 and 😀."))
	r.endsAs(talk.RunID, core.RunSucceeded)
	rewrite := r.submit(s.rewriteOf("c2", "small"))
	r.endsAs(rewrite.RunID, core.RunSucceeded)
	r.must(wire.MethodModelChat, wire.ChatParams{
		ModelRef: core.ModelRef{Model: "small"}, Provider: s.provider(), Messages: []core.Message{personSays("Hi.")},
	}, nil)
	r.must(wire.MethodProviderTest, wire.ProviderTestParams{Provider: s.provider(), Model: "small"}, nil)
	r.must(wire.MethodProviderModels, wire.ProviderTestParams{Provider: s.provider()}, nil)
	s.chat = func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":{"message":"no such key: %s"}}`, plantedKey)
	}
	r.refused(fault.BadKey, wire.MethodProviderTest, wire.ProviderTestParams{Provider: s.provider(), Model: "small"})

	var got []string
	answers := 0
	for _, n := range r.sends() {
		got = append(got, fmt.Sprintf("%s %s %s %d %s %v", n.Purpose, n.Method, n.Model, n.Status, n.Code, n.HasBody))
		if n.AtMs == 0 || n.EndedAtMs < n.AtMs || n.ReceivedBytes == 0 || n.ProviderID != "near" || n.ProviderName != "Near" || n.Proxy != "" {
			t.Errorf("entry %+v", n)
		}
		want := s.URL + "/v1/models"
		body := r.body(n.ID, 1<<20)
		if n.Method == http.MethodPost {
			want = s.URL + "/v1/chat/completions"
			if body != s.asked[answers] {
				t.Errorf("kept %q, the provider got %q", body, s.asked[answers])
			}
			answers++
		}
		if n.URL != want || n.SentBytes != int64(len(body)) || n.HasBody != (body != "") {
			t.Errorf("entry %+v with a body of %d bytes, want %s", n, len(body), want)
		}
		if small := r.body(n.ID, 1); small != body { // a whole character at least
			t.Errorf("in pieces: %q", small)
		}
		run := map[string]wire.SubmitResult{"conversation": talk, "rewrite": rewrite}[n.Purpose]
		if n.Purpose == "describe" {
			run = map[string]wire.SubmitResult{"large": talk, "small": rewrite}[n.Model]
		}
		if n.RunID != run.RunID || n.SessionID != run.SessionID {
			t.Errorf("entry of run %q, session %q: %+v", run.RunID, run.SessionID, n)
		}
		if strings.Contains(body, plantedKey) || strings.Contains(fmt.Sprintf("%+v", n), plantedKey) {
			t.Errorf("the key is in the entry %+v", n)
		}
	}
	want := []string{
		"describe GET large 200  false", "conversation POST large 200  true",
		"describe GET small 200  false", "rewrite POST small 200  true",
		"chat POST small 200  true",
		"test POST small 200  true", "models GET  200  false",
		"models GET  200  false",
		"test POST small 401 bad_key true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if !s.keys["Bearer "+plantedKey] || len(s.keys) != 1 {
		t.Errorf("the provider was shown %v", s.keys)
	}
	// Neither in the database and its log, nor in a copy without holes.
	r.must(wire.MethodStoreBackup, wire.BackupParams{Path: filepath.Join(r.home, "copy.db")}, nil)
	seen := 0
	err := filepath.WalkDir(r.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		seen++
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), plantedKey) || strings.Contains(string(b), "Bearer ") {
			t.Errorf("the key is in %s", filepath.Base(path))
		}
		return err
	})
	if err != nil || seen < 3 {
		t.Errorf("looked at %d files, %v", seen, err)
	}
}

// The entry is there before the provider has seen anything.
//
// covers: K9
func TestSendLog_IsWrittenFirst(t *testing.T) {
	s := newRemote(t)
	r := ready(t, nil)
	var seen []wire.Send
	s.chat = func(w http.ResponseWriter, _ *http.Request, _ string) {
		seen = r.sends()
		speak(w, "All done.")
	}
	r.must(wire.MethodProviderTest, wire.ProviderTestParams{Provider: s.provider(), Model: "small"}, nil)
	if len(seen) != 1 || seen[0].EndedAtMs != 0 || seen[0].Code != "" || !seen[0].HasBody || seen[0].Purpose != "test" {
		t.Errorf("while it was on its way: %+v", seen)
	}
	if now := r.sends(); now[0].EndedAtMs == 0 || now[0].Status != 200 {
		t.Errorf("after it: %+v", now)
	}
}

// covers: K9
func TestSendLog_IsOff(t *testing.T) {
	s := newRemote(t)
	r := ready(t, nil)
	p := s.talk("c1", "large", "Hello.")
	p.Provider.Record = false
	r.endsAs(r.submit(p).RunID, core.RunSucceeded)
	r.must(wire.MethodProviderTest, wire.ProviderTestParams{Provider: p.Provider, Model: "small"}, nil)
	r.must(wire.MethodModelDescribe, wire.ModelParams{Provider: p.Provider, Model: "small"}, nil)
	if asked, lists := s.counts(); asked != 2 || lists < 2 {
		t.Errorf("the provider was asked %d and %d times", asked, lists)
	}
	if log := r.sends(); len(log) != 0 {
		t.Errorf("recorded %+v", log)
	}
	// The person's switch is no part of what a command asks for.
	p.Provider.Record = true
	if again := r.submit(p); again.State != core.RunSucceeded {
		t.Errorf("the same command again: %+v", again)
	}
}

// covers: K9 R11
func TestSendLog_GoesWithItsSessionAndWhenItIsCleared(t *testing.T) {
	s := newRemote(t)
	r := ready(t, nil)
	first := r.submit(s.talk("c1", "small", "One."))
	r.endsAs(first.RunID, core.RunSucceeded)
	second := r.submit(s.talk("c2", "small", "Two."))
	r.endsAs(second.RunID, core.RunSucceeded)
	r.must(wire.MethodSessionDelete, wire.SessionDeleteParams{CommandID: "d", SessionID: first.SessionID}, nil)
	log := r.sends() // the description, and the two
	if len(log) != 3 || log[1].SessionID != first.SessionID || log[1].HasBody || log[1].SentBytes == 0 || !log[2].HasBody {
		t.Fatalf("after the session went: %+v", log)
	}
	if body := r.body(log[1].ID, 100); body != "" {
		t.Errorf("its body is %q", body)
	}
	if body := r.body(log[2].ID, 100); !strings.Contains(body, "Two.") {
		t.Errorf("the other body is %q", body)
	}
	var left wire.SendListResult
	r.must(wire.MethodSendLogClear, wire.SendClearParams{UpToID: log[1].ID}, &left)
	if left.Count != 1 || len(left.Sends) != 1 || left.Sends[0].ID != log[2].ID || left.Bytes == 0 {
		t.Errorf("left is %+v", left)
	}
	r.must(wire.MethodSendLogClear, wire.SendClearParams{}, &left)
	if left.Sends == nil || left.Count != 0 || len(left.Sends) != 0 || left.Bytes != 0 {
		t.Errorf("left is %+v", left)
	}
	r.refused(fault.NotFound, wire.MethodSendLogGet, wire.SendGetParams{ID: log[2].ID, Limit: 1})
}

// covers: X5
func TestSendLog_ChecksWhatItIsAsked(t *testing.T) {
	r := ready(t, nil)
	for _, p := range []wire.SendListParams{{}, {Limit: 201}, {Limit: -1}, {BeforeID: -1, Limit: 1}} {
		r.refused(fault.InvalidInput, wire.MethodSendLogList, p)
	}
	for _, p := range []wire.SendGetParams{{Limit: 1}, {ID: 1}, {ID: 1, Limit: 1<<20 + 1}, {ID: 1, Limit: 1, Offset: -1}} {
		r.refused(fault.InvalidInput, wire.MethodSendLogGet, p)
	}
	r.refused(fault.InvalidInput, wire.MethodSendLogClear, wire.SendClearParams{UpToID: -1})
	good := newRemote(t).provider()
	other := good
	other.Kind = "other"
	for _, method := range []string{wire.MethodModelDescribe, wire.MethodModelForget} {
		for _, p := range []wire.ModelParams{
			{Provider: good},
			{Provider: good, Model: "a\nb"},
			{Provider: good, Model: " "},
			{Provider: other, Model: "m"},
			{Provider: good, Model: "m", ContextTokens: -1},
			{Provider: good, Model: "m", ContextTokens: maxTokens + 1},
		} {
			r.refused(fault.InvalidInput, method, p)
		}
	}
}
