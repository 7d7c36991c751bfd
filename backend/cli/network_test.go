package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"galley/backend/credential"
	"galley/backend/network/proxytest"
	"galley/backend/settings"
)

const (
	plantedKey      = "sk-TESTKEY-far"
	plantedPassword = "hunter2-PLANTED"
)

// behindProxy puts a provider into the settings that only a proxy leads to, with
// a certificate of an authority of its own, and its key and the proxy's password
// into the file for those. It returns the proxy.
func (p *place) behindProxy() *proxytest.Proxy {
	p.t.Helper()
	authority := proxytest.NewAuthority(p.t, "ACME Proxy CA")
	far := authority.Serve(p.t, proxytest.Issue{Names: []string{"provider.example"}}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Header.Get("Authorization") != "Bearer "+plantedKey || r.Header.Get("Proxy-Authorization") != "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"A far answer."}}]}`+"\n\n")
		fmt.Fprint(w, `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	proxy := proxytest.New(p.t, proxytest.Config{
		User: "ann", Password: plantedPassword, Leads: map[string]string{"provider.example:443": far.Listener.Addr().String()},
	})
	home := settings.Home{Dir: p.home}
	store, err := settings.Load(settings.Config{Home: home})
	try(p.t, err)
	_, err = store.SaveProvider(settings.Provider{
		Name: "Far", Kind: settings.KindOpenAIChat, Profile: "compatible", BaseURL: "https://provider.example/v1", Model: "m",
	})
	try(p.t, err)
	set := store.Get()
	set.Network.CAFile = authority.File(p.t)
	try(p.t, store.Update(set))
	keys := credential.New(credential.Config{KeysFile: home.Keys(), PlainFile: home.Credentials()})
	defer keys.Close()
	for ref, text := range map[string]string{"far": plantedKey, settings.ProxyRef: plantedPassword} {
		secret, err := credential.NewSecret(text)
		try(p.t, err)
		try(p.t, keys.Set(p.t.Context(), ref, secret, credential.File))
	}
	return proxy
}

// The command line reaches a provider as the window does: the proxy set by hand
// with the stored password, the proxy of the environment with the password that
// stands there, and through a window, which then says how.
//
// covers: H2 K4 K7
func TestRun_ThroughAProxy(t *testing.T) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy", "DBUS_SESSION_BUS_ADDRESS"} {
		t.Setenv(name, "")
	}
	p := newPlace(t)
	proxy := p.behindProxy()
	works := func() {
		t.Helper()
		if out := p.do(exitOK, "run", "--provider", "far", p.folder, "hello"); !strings.HasPrefix(out, "A far answer.") {
			t.Errorf("answered %q", out)
		}
	}
	env := func(user, password string) {
		t.Helper()
		u, err := url.Parse(proxy.URL)
		try(t, err)
		u.User = url.UserPassword(user, password)
		t.Setenv("HTTPS_PROXY", u.String())
	}
	env("ann", plantedPassword)
	works()
	q := p.holder()
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:9") // what the window has counts
	works()
	try(t, q.in.Close())
	q.ends()

	env("ann", "wrong")
	q = p.start("run", "--provider", "far", p.folder, "hello")
	if code := q.ends(); code == exitOK || !strings.Contains(q.err.String(), proxy.Host) {
		t.Errorf("a wrong password: ended with %d, said %s", code, q.err)
	}
	store, err := settings.Load(settings.Config{Home: settings.Home{Dir: p.home}})
	try(t, err)
	set := store.Get()
	set.Network.Proxy, set.Network.ProxyURL, set.Network.ProxyUser = settings.ProxyManual, proxy.URL, "ann"
	try(t, store.Update(set))
	works()
	// Neither is anywhere but where it was put.
	try(t, filepath.WalkDir(p.home, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path == (settings.Home{Dir: p.home}).Credentials() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), plantedKey) || strings.Contains(string(data), plantedPassword) {
			t.Errorf("a secret is in %s", path)
		}
		return err
	}))
	for _, c := range proxy.Seen() {
		if c.Target != "provider.example:443" || strings.Contains(fmt.Sprint(c.Header), plantedKey) {
			t.Errorf("the proxy saw %+v", c)
		}
	}
}
