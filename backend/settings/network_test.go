package settings_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/settings"
)

// covers: K7
func TestStore_ProxyAddress(t *testing.T) {
	s := load(t, home(t, ""))
	for _, ok := range []string{
		"", "http://10.0.0.1:3128", "https://proxy.example.invalid:8443/", "socks5://127.0.0.1", "socks5://[::1]:1080", "HTTP://Proxy_1",
		" http://proxy:3128 ", "http://прокси.invalid:1",
	} {
		next := s.Get()
		next.Network.Proxy, next.Network.ProxyURL = settings.ProxyManual, ok
		if err := s.Update(next); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
		if got := s.Get().Network; got.ProxyURL != strings.TrimSpace(ok) || got.Proxy != settings.ProxyManual {
			t.Errorf("%q: stored %+v", ok, got)
		}
	}
	for _, bad := range []string{
		"proxy:3128", "10.0.0.1:3128", "//proxy", "ftp://proxy", "socks4://proxy", "socks5h://proxy", "file:///etc", "http://", "http:///x", "http:proxy",
		"http://me:hunter2@proxy:3128", "http://hunter2@proxy", "http://proxy/pac?x", "http://proxy?", "http://proxy/path", "http://proxy#hunter2", "http://proxy#",
		"http://proxy:", "http://proxy:0", "http://proxy:65536", "http://proxy:x", "http://pro xy", "http://pro\nxy", "http://a..b", "http://a,b", "http://[::1",
		"http://" + strings.Repeat("a.", 1000) + "invalid",
	} {
		next := s.Get()
		next.Network.ProxyURL = bad
		err := s.Update(next)
		wantInvalid(t, err, "network.proxyUrl")
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Error("the error quotes what was typed")
		}
	}
}

// covers: K7
func TestStore_Bypass(t *testing.T) {
	s := load(t, home(t, ""))
	set := func(list []string) error {
		next := s.Get()
		next.Network.Bypass = list
		return s.Update(next)
	}
	good := []string{
		"*", "localhost", ".example.invalid", "*.example.invalid", "api.example.invalid:8443", "10.0.0.0/8", "fd00::/8", "127.0.0.1", "::1", "[::1]:80", "127.0.0.1:80",
		"例子.invalid",
	}
	must(t, set(append([]string{" ", " spaced.invalid "}, good...)))
	if d := cmp.Diff(append([]string{"spaced.invalid"}, good...), s.Get().Network.Bypass); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{
		"http://a", "a,b", "a b", "a/b", "10.0.0.0/33", "a:b", "a:", ":80", "[::1]", "[a]:80", "[127.0.0.1]:80", "a..b", "**.a", "a*", "user@a", ".", "*.", "a\x00",
		strings.Repeat("a", 256),
	} {
		wantInvalid(t, set([]string{"a", bad}), "network.bypass")
	}
	wantInvalid(t, set(nil), "network.bypass")
	list := make([]string, settings.MaxBypass+1)
	for i := range list {
		list[i] = "a"
	}
	wantInvalid(t, set(list), "network.bypass")
	must(t, set([]string{}))
}

// covers: K7
func TestStore_CertificatesFileAndProxyUser(t *testing.T) {
	h := home(t, "")
	s := load(t, h)
	abs := filepath.Join(h.Dir, "our CA.pem ")
	next := s.Get()
	next.Network.CAFile, next.Network.ProxyUser = abs, ` DOMAIN\me `
	must(t, s.Update(next))
	if got := load(t, h).Get().Network; got.CAFile != abs || got.ProxyUser != `DOMAIN\me` {
		t.Errorf("stored %+v", got)
	}
	for _, bad := range []string{"ca.pem", "./ca.pem", "~/ca.pem", " " + abs, abs + "\x00", filepath.Join(h.Dir, "\xff"), filepath.Join(h.Dir, strings.Repeat("x", 5000))} {
		next := s.Get()
		next.Network.CAFile = bad
		wantInvalid(t, s.Update(next), "network.caFile")
	}
	for _, bad := range []string{"me:hunter2", "a\nb", strings.Repeat("u", 201)} {
		next := s.Get()
		next.Network.ProxyUser = bad
		wantInvalid(t, s.Update(next), "network.proxyUser")
	}
	next = s.Get()
	next.Network.Proxy = "auto"
	wantInvalid(t, s.Update(next), "network.proxy")
}

// A value of the network that cannot be used voids itself alone.
//
// covers: E10 K7
func TestLoad_ABadNetworkValueVoidsOnlyItself(t *testing.T) {
	fine := settings.Network{Proxy: "manual", ProxyURL: "http://p:1", ProxyUser: "me", Bypass: []string{"a"}, CAFile: "/ca.pem"}
	if filepath.Separator != '/' {
		fine.CAFile = `C:\ca.pem`
	}
	usual := settings.Default().Network
	for _, c := range []struct {
		key, value string
		change     func(*settings.Network)
	}{
		{"proxy", `"auto"`, func(n *settings.Network) { n.Proxy = usual.Proxy }},
		{"proxy", `null`, func(n *settings.Network) { n.Proxy = usual.Proxy }},
		{"proxyUrl", `"http://me:pw@p:1"`, func(n *settings.Network) { n.ProxyURL = "" }},
		{"proxyUrl", `7`, func(n *settings.Network) { n.ProxyURL = "" }},
		{"proxyUser", `"a:b"`, func(n *settings.Network) { n.ProxyUser = "" }},
		{"bypass", `["a","http://b"]`, func(n *settings.Network) { n.Bypass = []string{} }},
		{"bypass", `null`, func(n *settings.Network) { n.Bypass = []string{} }},
		{"bypass", `"a"`, func(n *settings.Network) { n.Bypass = []string{} }},
		{"caFile", `"ca.pem"`, func(n *settings.Network) { n.CAFile = "" }},
	} {
		file := map[string]json.RawMessage{}
		data, err := json.Marshal(fine)
		must(t, err)
		must(t, json.Unmarshal(data, &file))
		file[c.key] = json.RawMessage(c.value)
		data, err = json.Marshal(map[string]any{"network": file, "sendLog": false})
		must(t, err)
		s := load(t, home(t, string(data)))
		want := fine
		c.change(&want)
		if d := cmp.Diff(want, s.Get().Network); d != "" || s.Get().SendLog {
			t.Errorf("%s %s: %s", c.key, c.value, d)
		}
		if d := cmp.Diff([]string{"network." + c.key}, s.Problems()); d != "" {
			t.Error(d)
		}
	}
	s := load(t, home(t, `{"network":"direct","sendLog":"no"}`))
	if d := cmp.Diff(settings.Default(), s.Get()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"network", "sendLog"}, s.Problems()); d != "" {
		t.Error(d)
	}
}

// The send log is on until the person turns it off, and then stays off.
//
// covers: K9
func TestStore_SendLog(t *testing.T) {
	h := home(t, `{"theme":"dark"}`)
	s := load(t, h)
	next := s.Get()
	if !next.SendLog {
		t.Error("it is off")
	}
	next.SendLog = false
	must(t, s.Update(next))
	if load(t, h).Get().SendLog {
		t.Error("it is on again")
	}
}

const threeWithPresets = `{"provider":"b","presets":[
  {"preset":"tone","provider":"a","model":"m1"},
  {"preset":"expand","provider":"b","model":""},
  {"preset":"shorten","provider":"mock","model":"mock-1"},
  {"preset":"grammar","provider":"gone","model":"m"},
  {"preset":"tone","provider":"b","model":"m2"},
  {"preset":"A b","provider":"a","model":"m"},
  {"preset":"improve","provider":"a","model":7},
  null
],"providers":[{"id":"a","name":"A","kind":"openai_chat"},{"id":"b","name":"B","kind":"gemini","favourites":["m2"]}]}`

// An entry of the presets that cannot be used voids only itself; a provider that
// is deleted takes its own with it.
//
// covers: E10 K3
func TestStore_Presets(t *testing.T) {
	h := home(t, threeWithPresets)
	s := load(t, h)
	want := []settings.PresetModel{{Preset: "tone", Provider: "a", Model: "m1"}, {Preset: "expand", Provider: "b"}, {Preset: "shorten", Provider: "mock", Model: "mock-1"}}
	if d := cmp.Diff(want, s.Get().Presets); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"presets[3]", "presets[4]", "presets[5]", "presets[6]", "presets[7]"}, s.Problems()); d != "" {
		t.Error(d)
	}
	s.Get().Presets[0].Model = "changed"
	must(t, s.DeleteProvider("b"))
	for _, s := range []*settings.Store{s, load(t, h)} {
		if d := cmp.Diff([]settings.PresetModel{want[0], want[2]}, s.Get().Presets); d != "" {
			t.Error(d)
		}
		if s.Get().Provider != "" {
			t.Error("it is still chosen")
		}
	}
	text := content(t, h.Settings())
	if strings.Contains(text, `"m2"`) || strings.Contains(text, "expand") || !strings.Contains(text, `"gone"`) || !strings.Contains(text, "improve") {
		t.Errorf("the file holds %s", text)
	}

	next := s.Get()
	for _, list := range [][]settings.PresetModel{
		nil,
		{{Preset: "tone", Provider: "b", Model: "m"}},
		{{Preset: "tone", Provider: "", Model: "m"}},
		{{Preset: "", Provider: "a", Model: "m"}},
		{{Preset: "tone", Provider: "a", Model: "a\nb"}},
		{{Preset: "tone", Provider: "a"}, {Preset: "tone", Provider: "mock"}},
	} {
		next.Presets = list
		wantInvalid(t, s.Update(next), "presets")
	}
	next.Presets = []settings.PresetModel{{Preset: "translate", Provider: "a", Model: " m3 "}}
	must(t, s.Update(next))
	if d := cmp.Diff([]settings.PresetModel{{Preset: "translate", Provider: "a", Model: "m3"}}, load(t, h).Get().Presets); d != "" {
		t.Error(d)
	}
	s = load(t, home(t, `{"presets":{"tone":"a"}}`))
	if d := cmp.Diff([]string{"presets"}, s.Problems()); d != "" || s.Get().Presets == nil {
		t.Error(d)
	}
}
