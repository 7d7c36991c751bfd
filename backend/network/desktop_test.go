package network

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
)

var errNothing = errors.New("nobody there")

const gnomeManual = `org.gnome.system.proxy autoconfig-url ''
org.gnome.system.proxy ignore-hosts ['localhost', '127.0.0.0/8', '::1', '*.intra.corp']
org.gnome.system.proxy mode 'manual'
org.gnome.system.proxy use-same-proxy true
org.gnome.system.proxy.ftp host ''
org.gnome.system.proxy.ftp port 0
org.gnome.system.proxy.http authentication-password ''
org.gnome.system.proxy.http host 'web.corp'
org.gnome.system.proxy.http port 8080
org.gnome.system.proxy.http use-authentication false
org.gnome.system.proxy.https host 'tls.corp'
org.gnome.system.proxy.https port 3128
org.gnome.system.proxy.socks host ''
org.gnome.system.proxy.socks port 0
`

// covers: K7
func TestDesktop_WhoIsAsked(t *testing.T) {
	type answer struct {
		proxies []string
		err     error
		late    bool
	}
	for name, c := range map[string]struct {
		current   string
		portal    answer
		gsettings string
		noProgram bool
		kde       string
		want      []string
		code      fault.Code
	}{
		"portal, a script there": {"GNOME", answer{proxies: []string{"http://pac.corp:1", "direct://"}}, gnomeManual, false, "", []string{"http://pac.corp:1", "direct://"}, ""},
		"portal, direct":         {"ubuntu:GNOME", answer{proxies: []string{"direct://"}}, gnomeManual, false, "", []string{"direct://"}, ""},
		"portal of another":      {"XFCE", answer{proxies: []string{"direct://"}}, gnomeManual, false, "", []string{"http://tls.corp:3128"}, ""},
		"no portal":              {"GNOME", answer{err: errNothing}, gnomeManual, false, "", []string{"http://tls.corp:3128"}, ""},
		"portal hangs":           {"", answer{late: true}, gnomeManual, false, "", []string{"http://tls.corp:3128"}, ""},
		"portal alone hangs":     {"", answer{late: true}, "", true, "", nil, fault.Timeout},
		"nobody there":           {"", answer{err: errNothing}, "", true, "", []string{"direct://"}, ""},
		"KDE":                    {"KDE", answer{proxies: []string{"direct://"}}, gnomeManual, false, "[Proxy Settings]\nProxyType=1\nhttpsProxy=http://kde.corp 3128\n", []string{"http://kde.corp:3128"}, ""},
		"a script, no portal":    {"", answer{err: errNothing}, "org.gnome.system.proxy mode 'auto'\n", false, "", nil, fault.Proxy},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := desktop{
					getenv: env(map[string]string{"XDG_CURRENT_DESKTOP": c.current}),
					portal: func(ctx context.Context, address string) ([]string, error) {
						if address != "https://api.example.com:443/" {
							t.Errorf("asked for %q", address)
						}
						if c.portal.late {
							<-ctx.Done()
							return nil, ctx.Err()
						}
						return c.portal.proxies, c.portal.err
					},
					gsettings: func(context.Context) (string, error) {
						if c.noProgram {
							return "", errNoProgram
						}
						return c.gsettings, nil
					},
					kioslaverc: func(func(string) string) []string { return []string{c.kde} },
				}
				got, err := d.find(t.Context(), &url.URL{Scheme: "https", Host: "api.example.com:443", Path: "/"})
				if fault.CodeOf(err) != c.code {
					t.Fatalf("got %v", err)
				}
				if d := cmp.Diff(c.want, got.Proxies); d != "" || err == nil && got.Source != Desktop {
					t.Errorf("%s %s", got.Source, d)
				}
			})
		})
	}
}

// one is the only proxy of an answer.
func one(t *testing.T, f Found, err error) string {
	t.Helper()
	must(t, err)
	if len(f.Proxies) != 1 {
		t.Fatalf("proxies %q", f.Proxies)
	}
	return f.Proxies[0]
}

func host(name string) *url.URL { return &url.URL{Scheme: "https", Host: name + ":443", Path: "/"} }

// covers: K7
func TestGNOME(t *testing.T) {
	for name, c := range map[string]struct{ text, host, want string }{
		"manual":   {gnomeManual, "api.example.com", "http://tls.corp:3128"},
		"ignored":  {gnomeManual, "wiki.intra.corp", "direct://"},
		"none":     {"org.gnome.system.proxy mode 'none'\norg.gnome.system.proxy.https host 'x'\norg.gnome.system.proxy.https port 1\n", "a", "direct://"},
		"nothing":  {"", "a", "direct://"},
		"same":     {"org.gnome.system.proxy mode 'manual'\norg.gnome.system.proxy ignore-hosts @as []\norg.gnome.system.proxy.http host 'web.corp'\norg.gnome.system.proxy.http port 8080\n", "a", "http://web.corp:8080"},
		"not same": {"org.gnome.system.proxy mode 'manual'\norg.gnome.system.proxy use-same-proxy false\norg.gnome.system.proxy.http host 'web.corp'\norg.gnome.system.proxy.http port 8080\norg.gnome.system.proxy.socks host 'fd00::1'\norg.gnome.system.proxy.socks port 1080\n", "a", "socks5://[fd00::1]:1080"},
		"a person": {"org.gnome.system.proxy mode 'manual'\norg.gnome.system.proxy.http host 'web.corp'\norg.gnome.system.proxy.http port 8080\norg.gnome.system.proxy.http use-authentication true\norg.gnome.system.proxy.http authentication-user 'a b'\norg.gnome.system.proxy.http authentication-password \"it's\\\\\"\n", "a", "http://a%20b:it%27s%5C@web.corp:8080"},
	} {
		f, err := ofGNOME(c.text, host(c.host))
		if got := one(t, f, err); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := ofGNOME("org.gnome.system.proxy mode 'auto'", host("a")); !errors.Is(err, errScript) {
		t.Errorf("auto: %v", err)
	}
	_, user, secret, err := parseProxy("http://a%20b:it%27s%5C@web.corp:8080")
	if err != nil || user != "a b" || *secret != `it's\` {
		t.Errorf("%q, %v", user, err)
	}
}

// covers: K7
func TestKDE(t *testing.T) {
	const system = "[Other]\nReversedException=true\n[Proxy Settings]\nProxyType=1\nhttpsProxy[$e]=http://site.corp:1\nNoProxyFor=.intra.corp,10.0.0.0/8\n"
	vars := env(map[string]string{"MY_PROXY": "http://var.corp:2", "MY_NO": "example.com"})
	for name, c := range map[string]struct {
		texts      []string
		host, want string
	}{
		"of the site":    {[]string{system}, "a", "http://site.corp:1"},
		"left out":       {[]string{system}, "x.intra.corp", "direct://"},
		"of the person":  {[]string{system, "[Proxy Settings]\nhttpsProxy=http://own.corp 3128\n"}, "a", "http://own.corp:3128"},
		"switched off":   {[]string{system, "[Proxy Settings]\nProxyType=0\n"}, "a", "direct://"},
		"reversed":       {[]string{system, "[Proxy Settings]\nReversedException=true\n"}, "a", "direct://"},
		"reversed, hit":  {[]string{system, "[Proxy Settings]\nReversedException=true\n"}, "x.intra.corp", "http://site.corp:1"},
		"socks":          {[]string{"[Proxy Settings]\nProxyType=1\nhttpsProxy=\nsocksProxy=socks://s.corp 1080\n"}, "a", "socks://s.corp:1080"},
		"variables":      {[]string{"[Proxy Settings]\nProxyType=4\nhttpsProxy=MY_PROXY\nNoProxyFor=MY_NO\n"}, "a", "http://var.corp:2"},
		"variables, out": {[]string{"[Proxy Settings]\nProxyType=4\nhttpsProxy=MY_PROXY\nNoProxyFor=MY_NO\n"}, "example.com", "direct://"},
		"no file":        {nil, "a", "direct://"},
	} {
		f, err := ofKDE(c.texts, host(c.host), vars)
		if got := one(t, f, err); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, kind := range []string{"2", "3"} {
		if _, err := ofKDE([]string{"[Proxy Settings]\nProxyType=" + kind + "\n"}, host("a"), vars); !errors.Is(err, errScript) {
			t.Errorf("type %s: %v", kind, err)
		}
	}
}
