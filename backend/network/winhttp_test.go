package network

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeWindows answers as winhttp.dll would.
type fakeWindows struct {
	set                    winConfig
	setErr, autoErr        error
	autoProxies, autoLeave string
	asked                  []any
}

func (f *fakeWindows) config() (winConfig, error) { return f.set, f.setErr }

func (f *fakeWindows) auto(address, script string, detect bool) (string, string, error) {
	f.asked = append(f.asked, address, script, detect)
	return f.autoProxies, f.autoLeave, f.autoErr
}

// covers: K7
func TestWindows(t *testing.T) {
	errAuto := errors.New("no script")
	static := winConfig{proxies: "http=web.corp:80;https=tls.corp:3128 socks=socks.corp:1080", bypass: "<local>;*.intra.corp;10.*"}
	script := winConfig{script: "http://wpad.corp/proxy.pac"}
	both := static
	both.script, both.detect = script.script, true
	const at = "https://api.example.com:443/"
	for name, c := range map[string]struct {
		calls fakeWindows
		host  string
		want  []string
		asked []any
		err   error
	}{
		"nothing set":          {fakeWindows{}, "a.b", []string{"direct://"}, nil, nil},
		"by kind":              {fakeWindows{set: static}, "api.example.com", []string{"tls.corp:3128", "socks5://socks.corp:1080"}, nil, nil},
		"one for all":          {fakeWindows{set: winConfig{proxies: "one.corp:8080"}}, "a.b", []string{"one.corp:8080"}, nil, nil},
		"only for http":        {fakeWindows{set: winConfig{proxies: "http=web.corp:80"}}, "a.b", []string{"direct://"}, nil, nil},
		"socks with a scheme":  {fakeWindows{set: winConfig{proxies: "socks=socks://s.corp:1"}}, "a.b", []string{"socks5://s.corp:1"}, nil, nil},
		"left out":             {fakeWindows{set: static}, "wiki.intra.corp", []string{"direct://"}, nil, nil},
		"left out, a pattern":  {fakeWindows{set: static}, "10.1.2.3", []string{"direct://"}, nil, nil},
		"left out, no dot":     {fakeWindows{set: static}, "intranet", []string{"direct://"}, nil, nil},
		"a script":             {fakeWindows{set: script, autoProxies: "pac.corp:1;pac2.corp:2"}, "api.example.com", []string{"pac.corp:1", "pac2.corp:2"}, []any{at, script.script, false}, nil},
		"a script says direct": {fakeWindows{set: both}, "api.example.com", []string{"direct://"}, []any{at, script.script, true}, nil},
		"a script fails":       {fakeWindows{set: script, autoErr: errAuto}, "api.example.com", nil, []any{at, script.script, false}, errAuto},
		"fails, set by hand":   {fakeWindows{set: both, autoErr: errAuto}, "api.example.com", []string{"tls.corp:3128", "socks5://socks.corp:1080"}, []any{at, script.script, true}, nil},
		"none found":           {fakeWindows{set: winConfig{detect: true}, autoErr: errAuto}, "api.example.com", []string{"direct://"}, []any{at, "", true}, nil},
		"no settings":          {fakeWindows{setErr: errAuto}, "a.b", nil, nil, errAuto},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ofWindows(&c.calls, host(c.host))
			if !errors.Is(err, c.err) {
				t.Fatalf("got %v", err)
			}
			if d := cmp.Diff(c.want, got.Proxies); d != "" || err == nil && got.Source != System {
				t.Errorf("%s %s", got.Source, d)
			}
			if d := cmp.Diff(c.asked, c.calls.asked); d != "" {
				t.Error(d)
			}
			if _, _, err := choose(got); err != nil {
				t.Errorf("cannot be used: %v", err)
			}
		})
	}
}
