package api

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/credential"
	"galley/backend/fault"
	"galley/backend/settings"
)

// lateRing is a keyring whose first look for it takes until the test lets it go
// on.
type lateRing struct {
	ring
	asked, answer chan struct{}
}

func newLateRing() *lateRing {
	return &lateRing{asked: make(chan struct{}, 8), answer: make(chan struct{}, 8)}
}

func (r *lateRing) Name(ctx context.Context) (string, error) {
	r.asked <- struct{}{}
	select {
	case <-r.answer:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	return "Late Keyring", nil
}

// withRing is newWindow with a keyring.
func withRing(t *testing.T, home settings.Home, r credential.Ring) *window {
	t.Helper()
	w := makeWindow(t, home, func(c *Config) { c.Ring = r })
	w.page()
	w.backend.wg.Go(func() { w.backend.emitter.Run(w.backend.ctx) })
	return w
}

// plainKeys is a home with two providers whose keys lie in plain text, since
// there was no keyring.
func plainKeys(t *testing.T) (home settings.Home, ids []string) {
	t.Helper()
	home = newHome(t)
	w := openWithoutRunner(t, home)
	for _, name := range []string{"One", "Two"} {
		p := settings.Provider{Name: name, Kind: settings.KindGemini, BaseURL: "https://" + name + ".invalid"}
		list := ask[SettingsState](w, "Settings.SaveProvider", p).Providers
		id := list[len(list)-1].ID
		got := ask[SettingsState](w, "Settings.SetKey", SetKeyRequest{ProviderID: id, Key: planted + name, Place: "file"})
		if got.CanMoveKeys != "" {
			t.Errorf("offered %q without a keyring", got.CanMoveKeys)
		}
		ids = append(ids, id)
	}
	w.close()
	return home, ids
}

// A keyring that appears is looked for while keys lie in plain text, and nothing
// waits for its answer; the page is told of it, and one call moves the keys.
//
// covers: K5
func TestSettings_PlainKeysMoveIntoAKeyringThatAppears(t *testing.T) {
	home, ids := plainKeys(t)
	r := newLateRing()
	w := withRing(t, home, r)
	for range 3 { // however often it is asked, there is one look
		if got := ask[SettingsState](w, "Settings.Get"); got.CanMoveKeys != "" {
			t.Errorf("offered %q before it answered", got.CanMoveKeys)
		}
	}
	<-r.asked
	w.mark()
	r.answer <- struct{}{}
	told := await(w, "settings.changed", func(_ Envelope, s SettingsState) bool { return s.CanMoveKeys == "Late Keyring" })
	w.mark()
	if len(r.asked) > 0 {
		t.Errorf("looked for %d more times", len(r.asked))
	}
	r.answer <- struct{}{}
	if d := cmp.Diff(told, ask[SettingsState](w, "Settings.Get")); d != "" {
		t.Error(d)
	}
	<-r.asked // the same answer is not told again

	close(r.answer)
	got := ask[SettingsState](w, "Settings.MoveKeys")
	if d := cmp.Diff(got, await[SettingsState](w, "settings.changed", nil)); d != "" {
		t.Error(d)
	}
	if got.CanMoveKeys != "" || len(r.items) != 2 {
		t.Errorf("offered %q, %d in the keyring", got.CanMoveKeys, len(r.items))
	}
	for _, id := range ids {
		if key := keyState(t, got, id); key.Place != "keyring" || key.Keyring == "" {
			t.Errorf("%s is told to be in %+v", id, key)
		}
	}
	if holders := keyHolders(t, home.Dir); len(holders) > 0 {
		t.Errorf("the keys are in %q", holders)
	}
	if again := ask[SettingsState](w, "Settings.MoveKeys"); !cmp.Equal(again, got) {
		t.Error(cmp.Diff(got, again))
	}
}

// A keyring that fails while keys are moved: they stay where they were, are told
// to be there, and nothing is told to be stored.
//
// covers: K5
func TestSettings_MoveKeysThatFails(t *testing.T) {
	for _, code := range []fault.Code{fault.KeyringMissing, fault.KeyringLocked, fault.KeyringTimeout} {
		t.Run(string(code), func(t *testing.T) {
			home, ids := plainKeys(t)
			r := &failingRing{code: code}
			w := withRing(t, home, r)
			w.refused(code, "Settings.MoveKeys")
			got := ask[SettingsState](w, "Settings.Get")
			for _, id := range ids {
				if key := keyState(t, got, id); key.Place != "file" {
					t.Errorf("%s is told to be in %+v", id, key)
				}
			}
			if holders := keyHolders(t, home.Dir); !slices.Equal(holders, []string{"credentials.json"}) {
				t.Errorf("the keys are in %q", holders)
			}
			// The first moves and the second does not: the page is told of the first.
			r.after = 1
			w.mark()
			w.refused(code, "Settings.MoveKeys")
			told := await(w, "settings.changed", func(_ Envelope, s SettingsState) bool { return keyState(t, s, ids[0]).Place == "keyring" })
			if key := keyState(t, told, ids[1]); key.Place != "file" {
				t.Errorf("%s is told to be in %+v", ids[1], key)
			}
		})
	}
}

// failingRing stores as many items as after says and fails then.
type failingRing struct {
	ring
	code  fault.Code
	after int
}

func (r *failingRing) Set(ctx context.Context, item string, data []byte) (string, error) {
	if r.after == 0 {
		return "", fault.New(r.code, "set key", nil)
	}
	r.after--
	return r.ring.Set(ctx, item, data)
}

// The order and the copies are the person's; a copy has no key.
//
// covers: K3 K4
func TestSettings_OrderAndCopies(t *testing.T) {
	w := newWindow(t)
	for _, name := range []string{"a", "b"} {
		ask[SettingsState](w, "Settings.SaveProvider", settings.Provider{
			Name: name, Kind: settings.KindAnthropic, BaseURL: "https://a.invalid", Model: "m", Favourites: []string{"m"},
		})
		ask[SettingsState](w, "Settings.SetKey", SetKeyRequest{ProviderID: name, Key: "sk-" + name, Place: "memory"})
	}
	w.mark()
	got := ask[SettingsState](w, "Settings.DuplicateProvider", "a", "a copy")
	if d := cmp.Diff(got, await[SettingsState](w, "settings.changed", nil)); d != "" {
		t.Error(d)
	}
	if order := providerIDs(got); order != "mock a a-copy b" || keyState(t, got, "a-copy").Place != "none" || keyState(t, got, "a").Place != "memory" {
		t.Errorf("%s: %+v", order, got.Providers)
	}
	if p := got.Providers[2]; p.Name != "a copy" || !slices.Equal(p.Favourites, []string{"m"}) || p.ModelsURL != got.Providers[1].ModelsURL {
		t.Errorf("copied %+v", p)
	}
	if got := providerIDs(ask[SettingsState](w, "Settings.MoveProvider", "b", 0)); got != "mock b a a-copy" {
		t.Errorf("moved: %s", got)
	}
	w.refused(fault.InvalidInput, "Settings.MoveProvider", "b", 3)
	w.refused(fault.NotFound, "Settings.MoveProvider", "none", 0)
	w.refused(fault.InvalidInput, "Settings.MoveProvider", "mock", 1)
	w.refused(fault.InvalidInput, "Settings.DuplicateProvider", "a", "")
	w.refused(fault.InvalidInput, "Settings.DuplicateProvider", "mock", "x")
	w.close()
	if got := providerIDs(ask[SettingsState](openWithoutRunner(t, w.home), "Settings.Get")); got != "mock b a a-copy" {
		t.Errorf("at the next start: %s", got)
	}
}

func providerIDs(s SettingsState) string {
	var ids []string
	for _, p := range s.Providers {
		ids = append(ids, p.ID)
	}
	return strings.Join(ids, " ")
}

// Where a request goes and where the models are listed is built on one root, for
// every kind, and said.
//
// covers: K1 K3
func TestSettings_Addresses(t *testing.T) {
	w := newWindow(t)
	for _, c := range []struct {
		kind, profile, base string
		url, models         string
		needsKey            bool
	}{
		{settings.KindOpenAIChat, "", "https://api.openai.com", "https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1/models", true},
		{settings.KindOpenAIResponses, "", "https://api.openai.com/v1/responses", "https://api.openai.com/v1/responses", "https://api.openai.com/v1/models", true},
		{settings.KindAnthropic, "", "https://api.anthropic.com", "https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1/models", true},
		{settings.KindGemini, "", "https://generativelanguage.googleapis.com", "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse", "https://generativelanguage.googleapis.com/v1beta/models", true},
		{settings.KindOpenAIChat, "ollama", "http://localhost:11434", "http://localhost:11434/v1/chat/completions", "http://localhost:11434/v1/models", false},
		{settings.KindOpenAIChat, "ollama", "https://ollama.example.invalid/v1", "https://ollama.example.invalid/v1/chat/completions", "https://ollama.example.invalid/v1/models", false},
		{settings.KindOpenAIChat, "compatible", "https://h.invalid/api/paas/v4", "https://h.invalid/api/paas/v4/chat/completions", "https://h.invalid/api/paas/v4/models", true},
		{settings.KindAnthropic, "", "http://127.0.0.1:9", "http://127.0.0.1:9/v1/messages", "http://127.0.0.1:9/v1/models", false},
	} {
		list := ask[SettingsState](w, "Settings.SaveProvider", settings.Provider{
			Name: c.kind, Kind: c.kind, Profile: c.profile, BaseURL: c.base, Model: "m",
		}).Providers
		got := list[len(list)-1]
		if got.URL != c.url || got.ModelsURL != c.models || got.NeedsKey != c.needsKey || got.Problem != "" {
			t.Errorf("%s %s: %q, %q, needs a key: %v, problem %q", c.kind, c.base, got.URL, got.ModelsURL, got.NeedsKey, got.Problem)
		}
	}
	if mock := ask[SettingsState](w, "Settings.Get").Providers[0]; mock.URL != "" || mock.ModelsURL != "" || mock.NeedsKey {
		t.Errorf("the mock: %+v", mock)
	}
}
