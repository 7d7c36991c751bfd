package api

import (
	"net/http"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
	"galley/backend/settings"
)

// A new home shows every default, the offline provider, and where things are.
//
// covers: K1
func TestSettings_Get(t *testing.T) {
	w := newWindow(t)
	want := SettingsState{
		Settings:  settings.Default(),
		Providers: []ProviderState{{Provider: settings.Mock(), Key: KeyState{Place: "none", Path: w.home.Credentials()}}},
		Problems:  []string{}, File: w.home.Settings(), Version: "1.2.3", OS: runtime.GOOS,
	}
	if d := cmp.Diff(want, ask[SettingsState](w, "Settings.Get")); d != "" {
		t.Error(d)
	}
}

// Every change is answered and told with the state after it, and a refused one
// is neither.
func TestSettings_ChangesAreTold(t *testing.T) {
	w := newWindow(t)
	next := settings.Default()
	next.Theme, next.TextSize = "sepia", 20
	p := settings.Provider{Name: "Mine", Kind: settings.KindOpenAIChat, BaseURL: "https://api.example.invalid", Model: "m"}
	told := func(got SettingsState) {
		t.Helper()
		if d := cmp.Diff(got, await[SettingsState](w, "settings.changed", nil)); d != "" {
			t.Error(d)
		}
		w.mark()
	}
	w.mark()
	told(ask[SettingsState](w, "Settings.Update", next))
	told(ask[SettingsState](w, "Settings.SaveProvider", p))
	state := ask[SettingsState](w, "Settings.Get")
	if got := state.Providers[1]; !cmp.Equal(state.Settings, next) || got.ID != "mine" || !got.NeedsKey || got.Problem != "" || got.URL == "" {
		t.Errorf("state %+v", state)
	}
	next.Theme = "plaid"
	if body := w.refused(fault.InvalidInput, "Settings.Update", next); body.Detail != "theme" {
		t.Errorf("told %+v", body)
	}
	next.Theme, next.Provider = "dark", "none"
	w.refused(fault.InvalidInput, "Settings.Update", next)
	w.refused(fault.InvalidInput, "Settings.SaveProvider", settings.Provider{ID: "mock", Name: "Mine", Kind: settings.KindOpenAIChat, BaseURL: p.BaseURL})
	w.refused(fault.InvalidInput, "Settings.SaveProvider", settings.Provider{Name: "x", Kind: settings.KindOpenAIChat, BaseURL: "http://api.example.invalid"})
	w.refused(fault.InvalidInput, "Settings.DeleteProvider", "mock")
	w.refused(fault.NotFound, "Settings.DeleteProvider", "none")
	w.refused(fault.InvalidInput, "Settings.DeleteProvider", "../mine")
	w.mark()
	list, _ := w.sent()
	if len(list) != 0 {
		t.Errorf("told of refused changes: %v", list)
	}
	told(ask[SettingsState](w, "Settings.DeleteProvider", "mine"))
}

func TestSettings_TestMock(t *testing.T) {
	w := openWindow(t, newHome(t))
	w.ready()
	got := ask[TestResult](w, "Settings.TestProvider", settings.Mock().ID)
	if got.URL != "" || len(got.Models) == 0 || got.Models[0].ID != settings.Mock().Model {
		t.Errorf("got %+v", got)
	}
}

func TestSettings_SetMenu(t *testing.T) {
	w := newWindow(t)
	labels := []MenuLabel{{ID: "file.save", Label: "保存", Key: "<Control>s"}}
	w.tell("Settings.SetMenu", labels)
	if d := cmp.Diff([][]MenuLabel{labels}, w.labels); d != "" {
		t.Error(d)
	}
	w.refused(fault.InvalidInput, "Settings.SetMenu", make([]MenuLabel, 201))
	if len(w.labels) != 1 {
		t.Error("more were shown")
	}
}

// The native menu has each command once, and names that the page can label.
func TestMenuBar(t *testing.T) {
	seen := map[string]bool{}
	for _, group := range MenuBar() {
		if group.ID == "" || group.Label == "" || len(group.Items) == 0 || seen[group.ID] {
			t.Errorf("menu %+v", group)
		}
		seen[group.ID] = true
		for i, item := range group.Items {
			separator := item == MenuItem{}
			if separator && (i == 0 || i == len(group.Items)-1 || group.Items[i-1] == MenuItem{}) {
				t.Errorf("%s: nothing is separated at %d", group.ID, i)
			}
			if !separator && (item.Command == "" || item.Label == "" || seen[item.Command]) {
				t.Errorf("%s: item %+v", group.ID, item)
			}
			seen[item.Command] = !separator
		}
	}
}

// A provider is stored before its address is typed. It says what is missing,
// and cannot be used.
//
// covers: K3 K8
func TestSettings_UnfinishedProvider(t *testing.T) {
	w := openWindow(t, newHome(t))
	w.ready()
	state := ask[SettingsState](w, "Settings.SaveProvider", settings.Provider{Name: "Mine", Kind: settings.KindOpenAIChat})
	got := state.Providers[1]
	if got.URL != "" || got.Problem != string(fault.InvalidInput) || !got.NeedsKey {
		t.Errorf("state %+v", got)
	}
	w.refused(fault.InvalidInput, "Settings.TestProvider", got.ID)
}

// A key was given for one host: an address on another loses it before it is
// stored, so that a page which was made to change it cannot have it sent there.
//
// covers: K4
func TestSettings_AnotherHostLosesTheKey(t *testing.T) {
	w := newWindow(t)
	p := settings.Provider{Name: "Mine", Kind: settings.KindOpenAIChat, BaseURL: "https://api.example.invalid/v1", Model: "m"}
	p.ID = ask[SettingsState](w, "Settings.SaveProvider", p).Providers[1].ID
	ask[SettingsState](w, "Settings.SetKey", SetKeyRequest{ProviderID: p.ID, Key: "sk-for-one-host", Place: "memory"})
	for _, same := range []string{"https://api.example.invalid/v2", "https://API.example.invalid"} {
		p.BaseURL = same
		if got := ask[SettingsState](w, "Settings.SaveProvider", p).Providers[1].Key.Place; got != "memory" {
			t.Errorf("%s: the key is in %s", same, got)
		}
	}
	for _, other := range []string{"https://evil.invalid/v1", "https://api.example.invalid:8443", "http://127.0.0.1:9/v1", ""} {
		ask[SettingsState](w, "Settings.SetKey", SetKeyRequest{ProviderID: p.ID, Key: "sk-for-one-host", Place: "memory"})
		p.BaseURL = other
		if got := ask[SettingsState](w, "Settings.SaveProvider", p).Providers[1].Key.Place; got != "none" {
			t.Errorf("%s: the key is in %s", other, got)
		}
	}
}

// A change that is refused takes neither a key nor the proxy's password along.
//
// covers: K4 K5
func TestSettings_ARefusedChangeLosesNothing(t *testing.T) {
	w := newWindow(t)
	p := settings.Provider{Name: "Mine", Kind: settings.KindOpenAIChat, BaseURL: "https://api.example.invalid/v1", Model: "m"}
	p.ID = ask[SettingsState](w, "Settings.SaveProvider", p).Providers[1].ID
	ask[SettingsState](w, "Settings.SetKey", SetKeyRequest{ProviderID: p.ID, Key: "sk-for-one-host", Place: "memory"})
	set := settings.Default()
	set.Network.Proxy, set.Network.ProxyURL = settings.ProxyManual, "http://proxy.example:3128"
	ask[SettingsState](w, "Settings.Update", set)
	ask[SettingsState](w, "Settings.SetProxyPassword", SetKeyRequest{Key: "for one proxy", Place: "memory"})

	p.BaseURL, p.Temperature = "https://other.example.invalid", "hot"
	w.refused(fault.InvalidInput, "Settings.SaveProvider", p)
	p.Temperature, p.BaseURL = "", "https://other.example.invalid/?key=x"
	w.refused(fault.InvalidInput, "Settings.SaveProvider", p)
	for _, url := range []string{"http://other.example:3128/path", "http://me@other.example:3128"} {
		set.Network.ProxyURL = url
		w.refused(fault.InvalidInput, "Settings.Update", set)
	}
	set.Network.ProxyURL, set.Theme = "http://other.example:3128", "plaid"
	w.refused(fault.InvalidInput, "Settings.Update", set)
	set.Theme, set.Provider = "dark", "none"
	w.refused(fault.InvalidInput, "Settings.Update", set)
	if got := keyState(t, ask[SettingsState](w, "Settings.Get"), p.ID).Place; got != "memory" {
		t.Errorf("the key is in %s", got)
	}
	if got := ask[NetworkState](w, "Settings.Network", "").Password.Place; got != "memory" {
		t.Errorf("the password is in %s", got)
	}
}

// TestSettings_StopTest: a server that loads its model first may take any time,
// and a person may not.
//
// covers: K3
func TestSettings_StopTest(t *testing.T) {
	gone := make(chan struct{})
	e := newEndpoint(t, func(_ *served, w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		close(gone)
	})
	w := openWindow(t, newHome(t))
	w.ready()
	id := e.configured(w)
	failed := make(chan error, 1)
	go func() {
		_, err := w.invoke("Settings.TestProvider", encode(t, []any{id}))
		failed <- err
	}()
	<-e.arrived
	w.tell("Settings.StopTest", "another")
	w.tell("Settings.StopTest", id)
	if err := <-failed; fault.CodeOf(err) != fault.Cancelled {
		t.Errorf("got %v", err)
	}
	<-gone // the server too
	w.tell("Settings.StopTest", id)
}
