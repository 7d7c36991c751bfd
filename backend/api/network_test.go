package api

import (
	"context"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/agent/task"
	"galley/backend/credential"
	"galley/backend/fault"
	"galley/backend/network"
	"galley/backend/network/proxytest"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
	"galley/backend/provider/endpoint"
	"galley/backend/settings"
)

const (
	farHost         = "provider.example:443"
	farURL          = "https://provider.example/v1"
	plantedPassword = "hunter2-PLANTED-ü"
)

// company is a provider far away behind a company's proxy: the certificate of
// the provider is of the company's own authority.
type company struct {
	*window
	served    *served
	proxy     *proxytest.Proxy
	authority *proxytest.Authority
	id        string
}

// newCompany opens a window with that provider configured; nothing is set of the
// network.
func newCompany(t *testing.T, cfg proxytest.Config, net network.Config) *company {
	t.Helper()
	c := &company{served: newEndpoint(t, says("A far answer.")), authority: proxytest.NewAuthority(t, "ACME Proxy CA")}
	far := c.authority.Serve(t, proxytest.Issue{Names: []string{"provider.example"}}, c.served.Config.Handler)
	cfg.Leads = map[string]string{farHost: far.Listener.Addr().String()}
	c.proxy = proxytest.New(t, cfg)
	if net.Getenv == nil {
		net.Getenv = func(string) string { return "" }
	}
	if net.Lookup == nil {
		net.Lookup = func(context.Context, *url.URL) (network.Found, error) {
			return network.Found{Proxies: []string{""}, Source: network.Desktop}, nil
		}
	}
	c.window = makeWindow(t, newHome(t), func(cfg *Config) { cfg.Network = net })
	c.page()
	c.backend.Start()
	c.ready()
	c.id = c.provider(farURL)
	return c
}

// provider saves a provider at an address and gives it a key.
func (c *company) provider(base string) string {
	c.t.Helper()
	list := ask[SettingsState](c.window, "Settings.SaveProvider", settings.Provider{
		Name: "Far", Kind: settings.KindOpenAIChat, Profile: "compatible", BaseURL: base, Model: "small",
	}).Providers
	id := list[len(list)-1].ID
	ask[SettingsState](c.window, "Settings.SetKey", SetKeyRequest{ProviderID: id, Key: planted, Place: "memory"})
	return id
}

// change updates the settings of the network.
func (c *company) change(f func(*settings.Network)) {
	c.t.Helper()
	next := ask[SettingsState](c.window, "Settings.Get").Settings
	f(&next.Network)
	ask[SettingsState](c.window, "Settings.Update", next)
}

// manual sets the proxy by hand.
func (c *company) manual(user string) {
	c.t.Helper()
	c.change(func(n *settings.Network) { n.Proxy, n.ProxyURL, n.ProxyUser = settings.ProxyManual, c.proxy.URL, user })
}

// trust makes the company's certificate the extra one.
func (c *company) trust() {
	c.t.Helper()
	c.chooseCA = c.authority.File(c.t)
	ask[SettingsState](c.window, "Settings.ChooseCAFile")
}

// fails tests the provider, which must not work.
func (c *company) fails(code fault.Code, detail string) {
	c.t.Helper()
	if got := c.refused(code, "Settings.TestProvider", c.id); got.Detail != detail {
		c.t.Errorf("%s: %q, want %q", code, got.Detail, detail)
	}
}

// unreached tests the provider, to whose name nothing leads without the proxy.
func (c *company) unreached() {
	c.t.Helper()
	_, err := c.invoke("Settings.TestProvider", encode(c.t, []any{c.id}))
	// A machine without a network says so.
	if code := fault.CodeOf(err); code != fault.DNS && code != fault.Offline {
		c.t.Errorf("got %v", err)
	}
}

// works tests the provider, which must answer.
func (c *company) works() {
	c.t.Helper()
	got := ask[TestResult](c.window, "Settings.TestProvider", c.id)
	if got.Answer != "A far answer." || len(got.Models) != 2 {
		c.t.Errorf("answered %+v", got)
	}
}

// holdsNo looks for words in all that the page got and in every file of the
// home, the log and the database among them.
func (c *company) holdsNo(words string) {
	c.t.Helper()
	c.note(func() {
		for _, line := range c.wire {
			if strings.Contains(line, words) {
				c.t.Errorf("the page got it: %.200s", line)
			}
		}
	})
	err := filepath.WalkDir(c.home.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), words) {
			c.t.Errorf("it is in %s", path)
		}
		return nil
	})
	try(c.t, err)
}

// The whole way: settings, host, a Runner of its own process, a proxy that asks
// for a password, TLS through its tunnel to a server of a private authority. The
// proxy learns the host and nothing else; the provider nothing of the proxy.
//
// covers: K4 K6 K7
func TestNetwork_ProxyWithPasswordAndPrivateAuthority(t *testing.T) {
	c := newCompany(t, proxytest.Config{User: "ann", Password: plantedPassword}, network.Config{})
	c.manual("")
	c.trust()
	login := c.proxy.Host + ", asks for Basic"
	c.fails(fault.ProxyAuth, login) // no name
	c.manual("ann")
	c.fails(fault.ProxyAuth, login) // no password
	set := func(password string) SettingsState {
		t.Helper()
		return ask[SettingsState](c.window, "Settings.SetProxyPassword", SetKeyRequest{Key: password, Place: "memory"})
	}
	set("wrong")
	c.fails(fault.ProxyAuth, login)
	if n := len(c.served.seen()); n != 0 {
		t.Fatalf("%d requests came through", n)
	}
	set(plantedPassword)
	c.works()

	if d := cmp.Diff([]string{"Bearer " + planted, "Bearer " + planted}, c.served.seen()); d != "" {
		t.Error(d)
	}
	all := c.proxy.Seen()
	for _, s := range all {
		if s.Target != farHost || strings.Contains(strings.Join(s.Header.Values("Authorization"), ""), "Bearer") {
			t.Errorf("the proxy saw %+v", s)
		}
	}
	if last := all[len(all)-1]; last.User != "ann" || last.Password != plantedPassword || len(c.proxy.Other()) != 0 {
		t.Errorf("the proxy saw %+v, %v", last, c.proxy.Other())
	}
	state := ask[NetworkState](c.window, "Settings.Network", c.id)
	want := NetworkState{
		Proxy: c.proxy.Host, Source: "manual", Certificates: []string{"ACME Proxy CA"},
		Password: KeyState{Place: "memory", Path: c.home.Credentials(), StoredAtMs: state.Password.StoredAtMs},
	}
	if d := cmp.Diff(want, state); d != "" || state.Password.StoredAtMs == 0 {
		t.Error(d)
	}
	for _, id := range []string{settings.Mock().ID, c.served.configured(c.window)} {
		if got := ask[NetworkState](c.window, "Settings.Network", id); got.Proxy != "" || got.Source != "none" {
			t.Errorf("%s is reached by %+v", id, got)
		}
	}
	if got := ask[NetworkState](c.window, "Settings.Network", ""); got.Proxy != c.proxy.Host {
		t.Errorf("nobody is reached by %+v", got)
	}
	c.refused(fault.NoProvider, "Settings.Network", "none")

	// Left out of the proxy, and no proxy at all: the name leads nowhere.
	before := len(c.proxy.Seen())
	c.change(func(n *settings.Network) { n.Bypass = []string{".example"} })
	c.unreached()
	c.change(func(n *settings.Network) { n.Bypass, n.Proxy = []string{}, settings.ProxyNone })
	c.unreached()
	if n := len(c.proxy.Seen()); n != before {
		t.Errorf("the proxy was asked %d times more", n-before)
	}
	c.manual("ann")
	c.works()
	c.holdsNo(plantedPassword)

	// The password was given for that proxy.
	c.change(func(n *settings.Network) { n.ProxyURL = "http://127.0.0.1:9" })
	if got := ask[NetworkState](c.window, "Settings.Network", "").Password.Place; got != "none" {
		t.Errorf("the password is in %q", got)
	}
	c.fails(fault.Proxy, "127.0.0.1:9")
}

// covers: K6 K7
func TestNetwork_ProxyThatAsksForAnotherLogin(t *testing.T) {
	c := newCompany(t, proxytest.Config{User: "ann", Password: "x", Scheme: "NTLM"}, network.Config{})
	c.trust()
	c.manual("ann")
	ask[SettingsState](c.window, "Settings.SetProxyPassword", SetKeyRequest{Key: "x", Place: "memory"})
	c.fails(fault.ProxyAuth, c.proxy.Host+", asks for NTLM")
}

// A proxy that takes a connection and says nothing: cancelling does not wait for
// it, and without that the time to connect ends it.
//
// covers: K6 K7
func TestNetwork_ProxyThatHangs(t *testing.T) {
	c := newCompany(t, proxytest.Config{Hang: true}, network.Config{})
	c.trust()
	c.manual("")
	ref := ask[RunRef](c.window, "Agent.SubmitMessage", MessageRequest{CommandID: "c1", Text: "hello", Language: "en", ProviderID: c.id})
	if target := <-c.proxy.Arrived; target != farHost {
		t.Errorf("asked for %s", target)
	}
	ask[CancelReceipt](c.window, "Agent.Cancel", CancelRequest{CommandID: "c2", RunID: ref.RunID})
	await(c.window, "run.cancelled", func(e Envelope, _ core.Run) bool { return e.RunID == ref.RunID })
	<-c.proxy.Left

	e, err := endpoint.New(settings.KindOpenAIChat, dialect.Config{
		BaseURL: farURL, ProxyURL: c.proxy.URL, Timers: provider.Timers{Connect: 50 * time.Millisecond},
		Key: func(context.Context) (string, error) { return planted, nil },
	})
	try(t, err)
	defer e.Close()
	_, err = e.Stream(t.Context(), endpoint.Test("small"), func(core.Delta) {})
	if f := fault.From(err); f == nil || f.Code != fault.Proxy || f.Detail != c.proxy.Host {
		t.Errorf("got %v", err)
	}
}

// A proxy of the environment: the password goes from there to the proxy and is
// stored nowhere.
//
// covers: K4 K7
func TestNetwork_ProxyOfTheEnvironment(t *testing.T) {
	vars := map[string]string{}
	c := newCompany(t, proxytest.Config{User: "ann", Password: plantedPassword}, network.Config{Getenv: func(name string) string { return vars[name] }})
	c.trust()
	u, err := url.Parse(c.proxy.URL)
	try(t, err)
	u.User = url.UserPassword("ann", plantedPassword)
	vars["https_proxy"] = u.String()
	c.works()
	got := ask[NetworkState](c.window, "Settings.Network", c.id)
	if got.Proxy != c.proxy.Host || got.Source != "environment" || got.Password.Place != "none" {
		t.Errorf("reached by %+v", got)
	}
	u.User = url.UserPassword("ann", "wrong")
	vars["https_proxy"] = u.String()
	c.fails(fault.ProxyAuth, c.proxy.Host+", asks for Basic")
	vars["https_proxy"] = "socks4://old:1"
	c.fails(fault.Proxy, "https_proxy")
	if got := ask[NetworkState](c.window, "Settings.Network", c.id); got.Problem != string(fault.Proxy) || got.ProblemDetail != "https_proxy" {
		t.Errorf("reached by %+v", got)
	}
	c.holdsNo(plantedPassword)
	c.holdsNo("hunter2")
}

// covers: K7
func TestNetwork_ProxyOfTheDesktop(t *testing.T) {
	var at string
	c := newCompany(t, proxytest.Config{}, network.Config{Lookup: func(_ context.Context, target *url.URL) (network.Found, error) {
		if target.Host != farHost {
			return network.Found{}, &fault.Error{Code: fault.Proxy, Detail: network.Script}
		}
		return network.Found{Proxies: []string{at}, Source: network.Desktop}, nil
	}})
	at = c.proxy.URL
	c.trust()
	c.works()
	if got := ask[NetworkState](c.window, "Settings.Network", c.id); got.Proxy != c.proxy.Host || got.Source != "desktop" {
		t.Errorf("reached by %+v", got)
	}
	other := c.provider("https://other.example/v1")
	if got := ask[NetworkState](c.window, "Settings.Network", other); got.Source != "none" || got.Problem != string(fault.Proxy) || got.ProblemDetail != network.Script {
		t.Errorf("reached by %+v", got)
	}
}

// A server of a private authority is refused without the extra file, by the name
// of who issued it, and accepted with it; the file excuses no wrong name and no
// date, and no other authority.
//
// covers: K6 K7
func TestNetwork_PrivateAuthority(t *testing.T) {
	c := newCompany(t, proxytest.Config{}, network.Config{})
	serve := func(a *proxytest.Authority, i proxytest.Issue) string {
		t.Helper()
		return a.Serve(t, i, c.served.Config.Handler).URL + "/v1"
	}
	good, wrongName, expired := serve(c.authority, proxytest.Issue{}), serve(c.authority, proxytest.Issue{Names: []string{"elsewhere.example"}}), serve(c.authority, proxytest.Issue{Expired: true})
	foreign := serve(proxytest.NewAuthority(t, "Other CA"), proxytest.Issue{})
	test := func(base string, code fault.Code, issuer string) {
		t.Helper()
		c.id = c.provider(base)
		if code == "" {
			c.works()
			return
		}
		host, err := url.Parse(base)
		try(t, err)
		c.fails(code, host.Host+", issued by "+issuer)
	}
	const acme = "ACME Proxy CA"
	test(good, fault.TLS, acme)
	c.trust()
	test(good, "", "")
	test(wrongName, fault.TLS, acme)
	test(expired, fault.TLS, acme)
	test(foreign, fault.TLS, "Other CA")
	if n := len(c.served.seen()); n != 2 {
		t.Errorf("%d requests came through", n)
	}
	// A file that is gone takes its trust along and stops nothing else.
	try(t, os.Remove(c.chooseCA))
	test(good, fault.TLS, acme)
	if got := ask[NetworkState](c.window, "Settings.Network", ""); got.Problem != string(fault.NotFound) || got.ProblemDetail != c.chooseCA || len(got.Certificates) != 0 {
		t.Errorf("told %+v", got)
	}
	ask[TestResult](c.window, "Settings.TestProvider", c.served.configured(c.window))
}

// covers: K7 X5
func TestSettings_ChooseCAFile(t *testing.T) {
	w := newWindow(t)
	authority := proxytest.NewAuthority(t, "ACME Proxy CA")
	good, key, text := authority.File(t), filepath.Join(t.TempDir(), "key.pem"), filepath.Join(t.TempDir(), "text.pem")
	write(t, key, string(authority.PEM)+"-----BEGIN PRIVATE KEY-----\nsecret\n")
	write(t, text, "nothing")
	for path, want := range map[string]FaultBody{
		"":          {Code: fault.Cancelled},
		key:         {Code: fault.InvalidInput, Detail: network.PrivateKey},
		text:        {Code: fault.InvalidInput, Detail: network.NoCertificate},
		good + "no": {Code: fault.NotFound, Detail: good + "no"},
	} {
		w.chooseCA = path
		if got := w.refused(want.Code, "Settings.ChooseCAFile"); got != want {
			t.Errorf("%q: %+v", path, got)
		}
		if got := ask[SettingsState](w, "Settings.Get").Settings.Network.CAFile; got != "" {
			t.Errorf("%q: chose %q", path, got)
		}
	}
	w.chooseCA = good
	set := ask[SettingsState](w, "Settings.ChooseCAFile").Settings
	if set.Network.CAFile != good {
		t.Errorf("chose %q", set.Network.CAFile)
	}
	// The page can take it away and name no other.
	ask[SettingsState](w, "Settings.Update", set)
	set.Network.CAFile = text
	if got := w.refused(fault.InvalidInput, "Settings.Update", set); got.Detail != "network.caFile" {
		t.Errorf("got %+v", got)
	}
	set.Network.CAFile = ""
	if got := ask[SettingsState](w, "Settings.Update", set).Settings.Network.CAFile; got != "" {
		t.Errorf("still %q", got)
	}
}

// covers: K4 K5
func TestSettings_ProxyPassword(t *testing.T) {
	w := newWindow(t)
	req := SetKeyRequest{Key: plantedPassword, Place: "keyring"}
	if got := w.refused(fault.InvalidInput, "Settings.SetProxyPassword", req); got.Detail != "network.proxyUrl" {
		t.Errorf("without a proxy: %+v", got)
	}
	set := settings.Default()
	set.Network.Proxy, set.Network.ProxyURL, set.Network.ProxyUser = settings.ProxyManual, "http://proxy.corp:3128", "ann"
	ask[SettingsState](w, "Settings.Update", set)
	w.refused(fault.KeyringMissing, "Settings.SetProxyPassword", req)
	place := func() string {
		t.Helper()
		return ask[NetworkState](w, "Settings.Network", "").Password.Place
	}
	if got := place(); got != "none" {
		t.Errorf("kept in %q", got)
	}
	req.Place = "file"
	ask[SettingsState](w, "Settings.SetProxyPassword", req)
	if got := place(); got != "file" {
		t.Errorf("kept in %q", got)
	}
	password := func(ref string) string {
		t.Helper()
		got, err := task.Key(t.Context(), w.backend.store, w.backend.network, w.backend.keys, ref)
		try(t, err)
		return got
	}
	at := settings.ProxyRef + "@proxy.corp:3128"
	if got := password(at); got != plantedPassword {
		t.Errorf("gave %q", got)
	}
	// A run that began with another proxy does not get it.
	if got := password(settings.ProxyRef + "@other.corp:3128"); got != "" {
		t.Errorf("gave %q to another", got)
	}
	// The same proxy under another way of writing keeps it, another port not.
	set.Network.ProxyURL = "http://PROXY.corp:3128/"
	ask[SettingsState](w, "Settings.Update", set)
	if got := password(at); got != plantedPassword {
		t.Errorf("gave %q", got)
	}
	set.Network.ProxyURL = "http://proxy.corp:3129"
	ask[SettingsState](w, "Settings.Update", set)
	if got := place(); got != "none" {
		t.Errorf("kept in %q", got)
	}
	ask[SettingsState](w, "Settings.SetProxyPassword", req)
	ask[SettingsState](w, "Settings.DeleteProxyPassword")
	if got := place(); got != "none" {
		t.Errorf("kept in %q", got)
	}
	req.Key = "a\tb"
	if got := w.refused(fault.KeyMalformed, "Settings.SetProxyPassword", req); got.Detail != "U+0009" {
		t.Errorf("got %+v", got)
	}
	w.note(func() {
		for _, line := range w.wire {
			if strings.Contains(line, plantedPassword) {
				t.Errorf("the page got it: %s", line)
			}
		}
	})
}

// What cannot stand in a header as it is stays what it is.
func TestProxyPassword(t *testing.T) {
	home := newHome(t)
	try(t, home.Make())
	store, err := settings.Load(settings.Config{Home: home})
	try(t, err)
	set := settings.Default()
	set.Network.Proxy, set.Network.ProxyURL = settings.ProxyManual, "http://p:1"
	try(t, store.Update(set))
	keys := credential.New(credential.Config{KeysFile: home.Keys(), PlainFile: home.Credentials(), Ring: noRing{}})
	net := network.New(network.Config{})
	t.Cleanup(net.Close)
	for _, typed := range []string{"plain", " with blanks ", "密码 ü", "base64:eA==", "a:b@c/%"} {
		secret, err := task.ProxyPassword(typed)
		try(t, err)
		try(t, keys.Set(t.Context(), settings.ProxyRef, secret, credential.File))
		got, err := task.Key(t.Context(), store, net, keys, settings.ProxyRef+"@p:1")
		if err != nil || got != typed {
			t.Errorf("%q came back as %q, %v", typed, got, err)
		}
	}
	for typed, detail := range map[string]string{"": "empty", "\xff": "not UTF-8", "a\nb": "U+000A", "\u0085": "U+0085"} {
		_, err := task.ProxyPassword(typed)
		if f := fault.From(err); f == nil || f.Code != fault.KeyMalformed || f.Detail != detail {
			t.Errorf("%q: %v", typed, err)
		}
	}
}
