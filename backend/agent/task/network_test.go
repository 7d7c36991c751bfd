package task

import (
	"context"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/network"
	"galley/backend/network/proxytest"
	"galley/backend/settings"
)

// covers: K7 K9
func TestProviderConfig(t *testing.T) {
	store, err := settings.Load(settings.Config{Home: settings.Home{Dir: t.TempDir()}})
	try(t, err)
	asked := 0
	net := network.New(network.Config{
		Getenv: func(string) string { return "" },
		Lookup: func(_ context.Context, target *url.URL) (network.Found, error) {
			asked++
			return network.Found{Proxies: []string{"http://ann:pw@desk.corp:8080"}, Source: network.Desktop}, nil
		},
	})
	t.Cleanup(net.Close)
	far := settings.Provider{
		ID: "far", Name: "Far", Kind: settings.KindAnthropic, Profile: "compatible", BaseURL: "https://far.example/v1",
		Model: "m", MaxOutputTokens: 4000, Temperature: "0.7", Effort: "low",
	}
	local := far
	local.BaseURL, local.Temperature = "http://127.0.0.1:11434", ""
	set := store.Get()
	set.SendLog = false
	set.Network.CAFile = proxytest.NewAuthority(t, "ACME").File(t)
	try(t, store.Update(set))
	certs, err := net.Certificates(t.Context(), set.Network.CAFile)
	try(t, err)
	warm := 0.7
	want := wire.ProviderConfig{
		ID: "far", Name: "Far", Kind: settings.KindAnthropic, Profile: "compatible", BaseURL: far.BaseURL, CredentialRef: "far@https://far.example",
		ProxyURL: "http://desk.corp:8080", ProxyUser: "ann", ProxyCredentialRef: "network-proxy@desk.corp:8080",
		ExtraCA: string(certs.PEM), Temperature: &warm, MaxOutputTokens: 4000, Effort: "low",
	}
	got, err := ProviderConfig(t.Context(), store, net, far)
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("far: %v %s", err, d)
	}
	set.SendLog = true
	try(t, store.Update(set))
	got, err = ProviderConfig(t.Context(), store, net, local)
	want.CredentialRef = "far@http://127.0.0.1:11434"
	want.BaseURL, want.ProxyURL, want.ProxyUser, want.ProxyCredentialRef, want.ExtraCA, want.Temperature, want.Record = local.BaseURL, "", "", "", "", nil, true
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("local: %v %s", err, d)
	}
	got, err = ProviderConfig(t.Context(), store, net, settings.Mock())
	if d := cmp.Diff(wire.ProviderConfig{ID: "mock", Name: "Mock", Kind: settings.KindMock, Record: true}, got); err != nil || d != "" {
		t.Errorf("mock: %v %s", err, d)
	}
	// What is no address yet is the Runner's to refuse.
	far.BaseURL = "https://"
	if got, err = ProviderConfig(t.Context(), store, net, far); err != nil || got.ProxyURL != "" {
		t.Errorf("no address: %+v, %v", got, err)
	}
	if asked != 1 {
		t.Errorf("the system was asked %d times", asked)
	}
	// A proxy that is to be used and cannot be is no reason to go without.
	set.Network.Proxy = settings.ProxyManual
	try(t, store.Update(set))
	far.BaseURL = "https://far.example/v1"
	if _, err = ProviderConfig(t.Context(), store, net, far); fault.CodeOf(err) != fault.Proxy {
		t.Errorf("no proxy yet: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	set.Network.Proxy = settings.ProxySystem
	try(t, store.Update(set))
	if _, err = ProviderConfig(ctx, store, net, far); fault.CodeOf(err) != fault.Cancelled {
		t.Errorf("cancelled: %v", err)
	}
}

// A task of another program is reached as the settings say.
func TestMaker_SaysHowAProviderIsReached(t *testing.T) {
	m, _, dir := maker(t, nil)
	set := m.cfg.Settings.Get()
	set.Network.Proxy, set.Network.ProxyURL = settings.ProxyManual, "http://proxy.corp:3128"
	try(t, m.cfg.Settings.Update(set))
	_, err := m.cfg.Settings.SaveProvider(settings.Provider{Name: "Far", Kind: settings.KindOpenAIChat, BaseURL: "https://far.example/v1", Model: "m"})
	try(t, err)
	task := named(dir)
	task.ModelRef = core.ModelRef{ProviderID: "far"}
	p, err := m.Complete(t.Context(), task)
	if err != nil || p.Provider.ProxyURL != "http://proxy.corp:3128" || !p.Provider.Record {
		t.Errorf("%+v, %v", p.Provider, err)
	}
	set.Network.ProxyURL = ""
	try(t, m.cfg.Settings.Update(set))
	if _, err := m.Complete(t.Context(), task); fault.CodeOf(err) != fault.Proxy {
		t.Errorf("got %v", err)
	}
}
