package network

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"galley/backend/fault"
)

// env is an environment of these variables.
func env(set map[string]string) func(string) string {
	return func(name string) string { return set[name] }
}

// nobody is a system that must not be asked.
func nobody(t *testing.T) func(context.Context, *url.URL) (Found, error) {
	return func(_ context.Context, target *url.URL) (Found, error) {
		t.Errorf("the system was asked for %s", target)
		return Found{}, errors.New("asked")
	}
}

func resolver(t *testing.T, cfg Config) *Resolver {
	t.Helper()
	if cfg.Getenv == nil {
		cfg.Getenv = env(nil)
	}
	if cfg.Lookup == nil {
		cfg.Lookup = nobody(t)
	}
	r := New(cfg)
	t.Cleanup(r.Close)
	return r
}

const far = "https://api.example.com/v1/secret-path?key=1"

// covers: K7
func TestProxy_Manual(t *testing.T) {
	r := resolver(t, Config{Getenv: env(map[string]string{"HTTPS_PROXY": "http://other:1"})})
	for name, c := range map[string]struct {
		set     Setting
		address string
		want    Proxy
		code    fault.Code
		detail  string
	}{
		"http":           {Setting{URL: "http://Proxy.corp:3128/", User: "ann"}, far, Proxy{URL: "http://proxy.corp:3128", Host: "proxy.corp:3128", User: "ann", Source: Manual}, "", ""},
		"https, no port": {Setting{URL: "https://proxy.corp"}, far, Proxy{URL: "https://proxy.corp:443", Host: "proxy.corp:443", Source: Manual}, "", ""},
		"socks5":         {Setting{URL: "socks5://[fd00::1]"}, far, Proxy{URL: "socks5://[fd00::1]:1080", Host: "[fd00::1]:1080", Source: Manual}, "", ""},
		"left out":       {Setting{URL: "http://p:1", Bypass: []string{"example.com"}}, far, Proxy{Source: None}, "", ""},
		"loopback":       {Setting{URL: "http://p:1"}, "https://127.0.0.1:8443/v1", Proxy{Source: None}, "", ""},
		"localhost":      {Setting{URL: "http://p:1"}, "https://me.localhost./v1", Proxy{Source: None}, "", ""},
		"loopback 6":     {Setting{URL: "http://p:1"}, "https://[::1]/v1", Proxy{Source: None}, "", ""},
		"mapped":         {Setting{URL: "http://p:1"}, "https://[::ffff:127.0.0.1]/v1", Proxy{Source: None}, "", ""},
		"plain http":     {Setting{URL: "http://p:1"}, "http://localhost:11434", Proxy{Source: None}, "", ""},
		"not set yet":    {Setting{URL: ""}, far, Proxy{}, fault.Proxy, ""},
		"socks4":         {Setting{URL: "socks4://p:1"}, far, Proxy{}, fault.Proxy, "socks4://p:1"},
		"a name in it":   {Setting{URL: "http://ann:hunter2@p:1"}, far, Proxy{}, fault.Proxy, "p:1"},
		"no address":     {Setting{URL: "http://p:1"}, "nothing", Proxy{}, fault.InvalidInput, "not a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			c.set.Mode = ModeManual
			got, err := r.Proxy(t.Context(), c.set, c.address)
			if fault.CodeOf(err) != c.code || err != nil && fault.From(err).Detail != c.detail {
				t.Fatalf("got %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the password is in %q", err)
			}
			if d := cmp.Diff(c.want, got); err == nil && d != "" {
				t.Error(d)
			}
		})
	}
	if got, err := r.Proxy(t.Context(), Setting{Mode: ModeNone}, far); err != nil || got != (Proxy{Source: None}) {
		t.Errorf("none: %+v, %v", got, err)
	}
}

// covers: K7
func TestProxy_EnvironmentIsReadEachTime(t *testing.T) {
	set := map[string]string{}
	asked := 0
	r := resolver(t, Config{Getenv: env(set), Lookup: func(context.Context, *url.URL) (Found, error) {
		asked++
		return found("", Desktop), nil
	}})
	system := Setting{Mode: ModeSystem}
	proxy := func() Proxy {
		t.Helper()
		got, err := r.Proxy(t.Context(), system, far)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := proxy(); got != (Proxy{Source: None}) || asked != 1 {
		t.Errorf("nothing set: %+v, asked %d times", got, asked)
	}
	set["ALL_PROXY"] = "socks5h://all.corp"
	if got := proxy(); got.URL != "socks5h://all.corp:1080" || got.Source != Environment {
		t.Errorf("ALL_PROXY: %+v", got)
	}
	set["https_proxy"] = "lower.corp:8080"
	if got := proxy(); got.URL != "http://lower.corp:8080" {
		t.Errorf("https_proxy: %+v", got)
	}
	set["HTTPS_PROXY"] = "http://ann:hun%20ter2@upper.corp:8080/"
	if got := proxy(); got != (Proxy{URL: "http://upper.corp:8080", Host: "upper.corp:8080", User: "ann", Source: Environment}) {
		t.Errorf("HTTPS_PROXY: %+v", got)
	}
	if secret, ok := r.Password("upper.corp:8080"); secret != "hun ter2" || !ok {
		t.Errorf("password %q, %v", secret, ok)
	}
	if secret, ok := r.Password("lower.corp:8080"); secret != "" || ok {
		t.Errorf("of another proxy: %q, %v", secret, ok)
	}
	if s := fmt.Sprintf("%+v %#v", r, r); strings.Contains(s, "hun ter2") {
		t.Error("a printed resolver shows the password")
	}
	if got, err := r.Standing(system); err != nil || got.Host != "upper.corp:8080" {
		t.Errorf("standing: %+v, %v", got, err)
	}
	set["NO_PROXY"] = "other.com, .example.com"
	if got := proxy(); got != (Proxy{Source: None}) {
		t.Errorf("NO_PROXY: %+v", got)
	}
	if asked != 1 {
		t.Errorf("the system was asked %d times", asked)
	}
	set["NO_PROXY"] = ""
	set["HTTPS_PROXY"] = "http://ann:hunter2@:x:y"
	_, err := r.Proxy(t.Context(), system, far)
	if f := fault.From(err); f == nil || f.Code != fault.Proxy || f.Detail != "HTTPS_PROXY" || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("no address: %v", err)
	}
	// Another setting forgets what was for this one.
	set["HTTPS_PROXY"] = "http://ann:hunter2@upper.corp:8080"
	proxy()
	if _, err := r.Proxy(t.Context(), Setting{Mode: ModeManual, URL: "http://p:1"}, far); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Password("upper.corp:8080"); ok {
		t.Error("the password was kept")
	}
}

// The system is asked for scheme, host and port and nothing else of an address.
//
// covers: K7
func TestProxy_AsksTheSystemAndRemembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		answer := Found{Proxies: []string{"socks4://old:1", "http://eve:pw@desk.corp:8080", "direct://"}, Source: Desktop}
		r := New(Config{Getenv: env(nil), Lookup: func(_ context.Context, target *url.URL) (Found, error) {
			asked = append(asked, target.String())
			return answer, nil
		}})
		defer r.Close()
		system := Setting{Mode: ModeSystem}
		get := func(address string) Proxy {
			t.Helper()
			p, err := r.Proxy(t.Context(), system, address)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		want := Proxy{URL: "http://desk.corp:8080", Host: "desk.corp:8080", User: "eve", Source: Desktop}
		if got := get(far); got != want {
			t.Errorf("got %+v", got)
		}
		if secret, ok := r.Password(want.Host); secret != "pw" || !ok {
			t.Errorf("password %q, %v", secret, ok)
		}
		time.Sleep(keep - time.Second)
		get("https://API.example.com/other")
		time.Sleep(time.Second)
		get(far)
		get("https://api.example.com:8443/")
		// Another setting and back: asked anew.
		system.Bypass = []string{"x"}
		get(far)
		r.Forget()
		answer = found("", Desktop)
		if got := get(far); got != (Proxy{Source: None}) {
			t.Errorf("got %+v", got)
		}
		host, other := "https://api.example.com:443/", "https://api.example.com:8443/"
		if d := cmp.Diff([]string{host, host, other, host, host}, asked); d != "" {
			t.Error(d)
		}
	})
}

// covers: K7
func TestProxy_ASystemThatHangsIsNotWaitedForTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		release := make(chan struct{})
		r := New(Config{Getenv: env(nil), Lookup: func(context.Context, *url.URL) (Found, error) {
			asked.Add(1)
			<-release // whatever the context says
			return found("http://late.corp:1", System), nil
		}})
		begun := time.Now()
		get := func() Proxy {
			t.Helper()
			p, err := r.Proxy(t.Context(), Setting{}, far)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		got := get()
		if took := time.Since(begun); took != 3*time.Second || got.URL != "" || got.Source != None || fault.CodeOf(got.Problem) != fault.Timeout {
			t.Errorf("%+v after %v", got, took)
		}
		begun = time.Now()
		if got = get(); time.Since(begun) != 0 || fault.CodeOf(got.Problem) != fault.Timeout {
			t.Errorf("%+v after %v", got, time.Since(begun))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Proxy(ctx, Setting{}, "https://other.example.com"); fault.CodeOf(err) != fault.Cancelled {
			t.Errorf("cancelled: %v", err)
		}
		close(release)
		synctest.Wait()
		if got = get(); got.Host != "late.corp:1" || got.Problem != nil {
			t.Errorf("when it answered at last: %+v", got)
		}
		if n := asked.Load(); n != 2 {
			t.Errorf("asked %d times", n)
		}
		r.Close()
		if got = get(); got.Host != "late.corp:1" { // what is remembered stays
			t.Errorf("closed: %+v", got)
		}
	})
}

// Who asks after the cache was emptied gets no answer to an earlier question.
func TestProxy_ForgetsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, asked := make(chan struct{}), 0
		r := New(Config{Getenv: env(nil), Lookup: func(context.Context, *url.URL) (Found, error) {
			if asked++; asked == 1 {
				<-first
				return found("http://old.corp:1", Desktop), nil
			}
			return found("http://new.corp:1", Desktop), nil
		}})
		defer r.Close()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = r.Proxy(ctx, Setting{}, far)
		}()
		synctest.Wait()
		r.Forget()
		get := func() {
			t.Helper()
			if got, err := r.Proxy(t.Context(), Setting{}, far); err != nil || got.Host != "new.corp:1" {
				t.Errorf("%+v, %v", got, err)
			}
		}
		get()
		close(first)
		cancel()
		<-done
		synctest.Wait()
		get()
		if asked != 2 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// covers: K7
func TestProxy_FewLookupsHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var running atomic.Int32
		r := New(Config{Getenv: env(nil), Lookup: func(context.Context, *url.URL) (Found, error) {
			running.Add(1)
			<-release
			return Found{}, errors.New("gone")
		}})
		for i := range 10 {
			p, err := r.Proxy(t.Context(), Setting{}, fmt.Sprintf("https://h%d.example.com", i))
			if err != nil || fault.CodeOf(p.Problem) != fault.Timeout {
				t.Errorf("%d: %+v, %v", i, p, err)
			}
		}
		if n := running.Load(); n != maxLookups {
			t.Errorf("%d lookups", n)
		}
		begun := time.Now()
		r.Close() // it does not wait for ever
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("closed after %v", took)
		}
		close(release)
	})
}

// Every failure of the system has a fault, a panic too.
func TestProxy_SaysWhyTheSystemCouldNotBeAsked(t *testing.T) {
	for name, c := range map[string]struct {
		lookup func() (Found, error)
		code   fault.Code
		detail string
	}{
		"script":  {func() (Found, error) { return Found{}, errScript }, fault.Proxy, Script},
		"error":   {func() (Found, error) { return Found{}, errors.New("no") }, fault.Proxy, ""},
		"panic":   {func() (Found, error) { panic("no") }, fault.Internal, ""},
		"late":    {func() (Found, error) { return Found{}, fmt.Errorf("x: %w", context.DeadlineExceeded) }, fault.Timeout, ""},
		"unusual": {func() (Found, error) { return found("socks4://a:1", System), nil }, fault.Proxy, "socks4://a:1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := resolver(t, Config{Lookup: func(context.Context, *url.URL) (Found, error) { return c.lookup() }})
			p, err := r.Proxy(t.Context(), Setting{}, far)
			if err != nil || p.Source != None || p.URL != "" {
				t.Fatalf("%+v, %v", p, err)
			}
			if p.Problem == nil || p.Problem.Code != c.code || p.Problem.Detail != c.detail {
				t.Errorf("problem %v", p.Problem)
			}
		})
	}
}

// covers: K7
func TestBypass(t *testing.T) {
	for _, c := range []struct {
		rule, target string
		suffix       bool
		exact        bool
	}{
		{"example.com", "https://example.com:443", true, true},
		{"example.com", "https://api.example.com:443", true, false},
		{"EXAMPLE.com.", "https://example.com.:443", true, true},
		{"example.com", "https://badexample.com:443", false, false},
		{".example.com", "https://api.example.com:443", true, true},
		{".example.com", "https://example.com:443", false, false},
		{"*.example.com", "https://a.b.example.com:443", true, true},
		{"*.example.com", "https://example.com:443", false, false},
		{"*", "https://anything:443", true, true},
		{"example.com:8443", "https://example.com:8443", true, true},
		{"example.com:8443", "https://example.com:443", false, false},
		{"10.0.0.0/8", "https://10.1.2.3:443", true, true},
		{"10.0.0.0/8", "https://11.1.2.3:443", false, false},
		{"10.0.0.0/8", "https://ten.example.com:443", false, false},
		{"169.254/16", "https://169.254.3.4:443", true, true},
		{"fd00::/8", "https://[fd12::1]:443", true, true},
		{"fd12::1", "https://[fd12::1]:443", true, true},
		{"[fd12::1]", "https://[fd12::1]:443", true, true},
		{"[fd12::1]:443", "https://[fd12::1]:443", true, true},
		{"10.1.2.3", "https://10.1.2.3:443", true, true},
		{"1.2.3", "https://10.1.2.3:443", false, false},
		{"10.*", "https://10.1.2.3:443", true, true},
		{"<local>", "https://intranet:443", true, true},
		{"<local>", "https://intra.net:443", false, false},
		{"<local>", "https://[fd12::1]:443", false, false},
		{"https://example.com", "https://example.com:443", true, true},
		{"", "https://example.com:443", false, false},
		{"[", "https://example.com:443", false, false},
	} {
		u, err := url.Parse(c.target)
		if err != nil {
			t.Fatal(err)
		}
		if got := bypassed([]string{" " + c.rule}, u, bypassSuffix); got != c.suffix {
			t.Errorf("%q for %s: %v", c.rule, c.target, got)
		}
		if got := bypassed([]string{c.rule}, u, bypassExact); got != c.exact {
			t.Errorf("%q alone for %s: %v", c.rule, c.target, got)
		}
	}
}

func TestStanding(t *testing.T) {
	r := resolver(t, Config{Getenv: env(map[string]string{"https_proxy": "env.corp:1", "no_proxy": "*"})})
	for name, c := range map[string]struct {
		set  Setting
		want Proxy
	}{
		"manual": {Setting{Mode: ModeManual, URL: "http://p:1", Bypass: []string{"*"}}, Proxy{Host: "p:1", Source: Manual}},
		"none":   {Setting{Mode: ModeNone}, Proxy{Source: None}},
		"system": {Setting{Mode: ModeSystem}, Proxy{Host: "env.corp:1", Source: Environment}},
	} {
		got, err := r.Standing(c.set)
		if d := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Proxy{}, "URL")); err != nil || d != "" {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
	if got, err := resolver(t, Config{}).Standing(Setting{}); err != nil || got != (Proxy{Source: None}) {
		t.Errorf("nothing: %+v, %v", got, err)
	}
}
