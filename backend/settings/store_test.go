package settings_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
	"galley/backend/settings"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// home returns a home whose settings file holds text; "" makes none.
func home(t *testing.T, text string) settings.Home {
	t.Helper()
	h := settings.Home{Dir: t.TempDir()}
	if text != "" {
		must(t, os.WriteFile(h.Settings(), []byte(text), 0o600))
	}
	return h
}

func load(t *testing.T, h settings.Home) *settings.Store {
	t.Helper()
	s, err := settings.Load(settings.Config{
		Home: h, Now: func() time.Time { return time.Date(2026, 11, 30, 9, 8, 7, 6e6, time.UTC) },
	})
	must(t, err)
	return s
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

func openAI() settings.Provider {
	return settings.Provider{
		Name: "OpenAI", Kind: "openai_chat", BaseURL: "https://api.openai.invalid/v1", Model: "gpt-x",
	}
}

func TestLoad_NothingThere(t *testing.T) {
	h := home(t, "")
	s := load(t, h)
	if got := s.Get(); !reflect.DeepEqual(got, settings.Default()) {
		t.Errorf("got %+v", got)
	}
	if got := s.Providers(); len(got) != 1 || !reflect.DeepEqual(got[0], settings.Mock()) || got[0].Model != "mock-1" || got[0].ContextTokens != 32_768 {
		t.Errorf("providers: %+v", got)
	}
	if got := s.Problems(); got == nil || len(got) != 0 {
		t.Errorf("problems: %#v", got)
	}
	if entries, err := os.ReadDir(h.Dir); err != nil || len(entries) != 0 {
		t.Errorf("loading made %v, %v", entries, err)
	}
}

// covers: E10
func TestStore_WritesWhatAPersonCanRead(t *testing.T) {
	h := home(t, "")
	s := load(t, h)
	next := s.Get()
	next.Theme, next.TextSize = "dark", 20
	must(t, s.Update(next))
	p, err := s.SaveProvider(openAI())
	must(t, err)
	next.Provider = p.ID
	must(t, s.Update(next))
	want := `{
  "theme": "dark",
  "language": "system",
  "face": "sans",
  "textSize": 20,
  "provider": "openai",
  "showHidden": false,
  "ignored": [
    ".git",
    ".hg",
    ".svn",
    "node_modules",
    "bower_components",
    "__pycache__",
    "$RECYCLE.BIN",
    "System Volume Information",
    "Thumbs.db",
    "desktop.ini"
  ],
  "permissions": {
    "workspaceRead": "allow",
    "notesWrite": "confirm"
  },
  "limits": {
    "minutes": 10,
    "steps": 25,
    "tokens": 200000
  },
  "presets": [],
  "network": {
    "proxy": "system",
    "proxyUrl": "",
    "proxyUser": "",
    "bypass": [],
    "caFile": ""
  },
  "sendLog": true,
  "providers": [
    {
      "id": "openai",
      "name": "OpenAI",
      "kind": "openai_chat",
      "profile": "",
      "baseUrl": "https://api.openai.invalid/v1",
      "model": "gpt-x",
      "contextTokens": 0,
      "maxOutputTokens": 0,
      "temperature": "",
      "effort": "",
      "favourites": [],
      "prices": []
    }
  ]
}
`
	if d := cmp.Diff(want, content(t, h.Settings())); d != "" {
		t.Error(d)
	}
	if info, err := os.Stat(h.Settings()); err != nil || (os.PathSeparator == '/' && info.Mode() != 0o600) {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	again := load(t, h)
	if !reflect.DeepEqual(again.Get(), next) {
		t.Errorf("read back: %+v", again.Get())
	}
	if got, ok := again.Provider("openai"); !ok || !reflect.DeepEqual(got, p) {
		t.Errorf("read back: %+v", got)
	}
}

// TestLoad_C16 is row C16: a bad value in a file that cannot be parsed, and a
// file of NULs; and their neighbours.
//
// covers: E10
func TestLoad_C16(t *testing.T) {
	for _, c := range []struct {
		name, text string
		theme      string
	}{
		{"trailing comma", `{"theme":"dark","textSize":"x",}`, "dark"},
		{"NULs", strings.Repeat("\x00", 512), "system"},
		{"cut", `{"theme":"dark","language":"z`, "dark"},
		{"cut after the first value", `{"theme":"dark"`, "dark"},
		{"a comment", "{\"theme\":\"dark\", // mine\n\"face\":\"mono\"}", "dark"},
		{"empty", " ", "system"},
		{"a list", `["dark"]`, "system"},
		{"two objects", `{"theme":"dark"}{"theme":"light"}`, "dark"},
		{"not UTF-8", "\xff\xfe{\x00", "system"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := home(t, c.text)
			s := load(t, h)
			if got := s.Get().Theme; got != c.theme {
				t.Errorf("theme: got %q, want %q", got, c.theme)
			}
			if got := s.Get().TextSize; got != settings.Default().TextSize {
				t.Errorf("text size: %d", got)
			}
			kept := filepath.Join(h.Dir, "settings.broken-20261130T090807.006.json")
			if got := s.KeptAside(); got != kept {
				t.Fatalf("kept aside: %q", got)
			}
			if got := content(t, kept); got != c.text {
				t.Errorf("kept: %q", got)
			}
			// The next start finds a file that works and says the same.
			again := load(t, h)
			if again.KeptAside() != "" || again.Get().Theme != c.theme {
				t.Errorf("next start: %q, %+v", again.KeptAside(), again.Get())
			}
		})
	}
}

// A broken file that cannot be kept is not written over, and the program
// starts all the same.
//
// covers: E10
func TestLoad_BrokenFileThatCannotBeKept(t *testing.T) {
	const text = `{"theme":"dark",`
	h := home(t, text)
	// A folder stands where the copy would go.
	must(t, os.MkdirAll(filepath.Join(h.Dir, "settings.broken-20261130T090807.006.json", "x"), 0o755))
	s, err := settings.Load(settings.Config{
		Home: h, Now: func() time.Time { return time.Date(2026, 11, 30, 9, 8, 7, 6e6, time.UTC) },
	})
	if err == nil {
		t.Fatal("no error")
	}
	if s.Get().Theme != "dark" || s.Get().Face != "sans" {
		t.Errorf("got %+v", s.Get())
	}
	if d := cmp.Diff([]string{"settings.json"}, s.Problems()); d != "" {
		t.Error(d)
	}
	next := s.Get()
	next.Face = "mono"
	if err := s.Update(next); err == nil {
		t.Error("written over a file that is not kept")
	}
	if got := content(t, h.Settings()); got != text {
		t.Errorf("the file holds %q", got)
	}
}

func TestLoad_NoFileButAFolder(t *testing.T) {
	h := home(t, "")
	must(t, os.Mkdir(h.Settings(), 0o755))
	s, err := settings.Load(settings.Config{Home: h})
	if err == nil || !reflect.DeepEqual(s.Get(), settings.Default()) || len(s.Problems()) != 1 {
		t.Errorf("%v, %+v, %v", err, s.Get(), s.Problems())
	}
}

// covers: E10
func TestLoad_ABadValueVoidsOnlyItself(t *testing.T) {
	h := home(t, `{
  "theme": "plaid",
  "language": null,
  "textSize": 99,
  "face": "mono",
  "provider": "gone",
  "later": {"b": [1, 2.50], "a": "<&>"},
  "providers": [
    {"id": "good", "name": "Good", "kind": "openai_chat", "baseUrl": "https://a.invalid/v1", "model": "m", "note": 7},
    {"id": "plain", "name": "Plain", "kind": "openai_chat", "baseUrl": "http://a.invalid/v1"},
    {"id": "good", "name": "Twice", "kind": "openai_chat", "baseUrl": "https://a.invalid/v1"},
    {"id": "mock", "name": "Fake", "kind": "openai_chat", "baseUrl": "https://a.invalid/v1"},
    {"id": "typed", "name": 3, "kind": "openai_chat", "baseUrl": "https://a.invalid/v1"},
    17
  ]
}`)
	s := load(t, h)
	want := settings.Default()
	want.Face = "mono"
	if got := s.Get(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	problems := []string{
		"providers[1].baseUrl", "providers[2].id", "providers[3].id", "providers[4].name", "providers[5].id",
		"theme", "language", "textSize", "provider",
	}
	if d := cmp.Diff(problems, s.Problems()); d != "" {
		t.Error(d)
	}
	if got := s.Providers(); len(got) != 2 || got[1].ID != "good" {
		t.Errorf("providers: %+v", got)
	}
	if s.KeptAside() != "" {
		t.Error("kept aside")
	}

	// A change of one value leaves everything else as it was written.
	next := s.Get()
	next.TextSize = 15
	must(t, s.Update(next))
	p, _ := s.Provider("good")
	p.Model = "m2"
	_, err := s.SaveProvider(p)
	must(t, err)
	var got map[string]any
	d := json.NewDecoder(strings.NewReader(content(t, h.Settings())))
	d.UseNumber()
	must(t, d.Decode(&got))
	if got["theme"] != "plaid" || got["language"] != nil || got["textSize"] != json.Number("15") || got["provider"] != "gone" {
		t.Errorf("got %v", got)
	}
	text := content(t, h.Settings())
	for _, kept := range []string{`2.50`, `"<&>"`, `"note": 7`, `"m2"`, "http://a.invalid/v1", "Twice", "    17\n"} {
		if !strings.Contains(text, kept) {
			t.Errorf("%s is gone:\n%s", kept, text)
		}
	}
	if strings.Index(text, `"later"`) > strings.Index(text, `"providers"`) {
		t.Error("the order changed")
	}
	must(t, s.DeleteProvider("good"))
	if text := content(t, h.Settings()); strings.Contains(text, `"Good"`) || !strings.Contains(text, "Twice") {
		t.Errorf("after deleting:\n%s", text)
	}
}

// What a person edits by hand while the program runs is not lost.
//
// covers: E10
func TestStore_KeepsWhatWasEditedMeanwhile(t *testing.T) {
	h := home(t, `{"theme":"light","textSize":14}`)
	s := load(t, h)
	must(t, os.WriteFile(h.Settings(), []byte(`{"theme":"sepia","textSize":14,"mine":1}`), 0o600))
	next := s.Get()
	next.Language = "zh"
	must(t, s.Update(next))
	want := settings.Default()
	want.Theme, want.Language, want.TextSize = "sepia", "zh", 14
	if got := s.Get(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	if text := content(t, h.Settings()); !strings.Contains(text, `"mine": 1`) {
		t.Errorf("file: %s", text)
	}
	must(t, os.WriteFile(h.Settings(), []byte(`{"theme":"contrast"}`), 0o600))
	must(t, s.Reload())
	if got := s.Get().Theme; got != "contrast" {
		t.Errorf("reloaded: %q", got)
	}
}

func TestStore_UpdateRefuses(t *testing.T) {
	h := home(t, "")
	s := load(t, h)
	for field, change := range map[string]func(*settings.Settings){
		"theme":    func(x *settings.Settings) { x.Theme = "" },
		"language": func(x *settings.Settings) { x.Language = "fr" },
		"face":     func(x *settings.Settings) { x.Face = "comic" },
		"textSize": func(x *settings.Settings) { x.TextSize = 29 },
		"provider": func(x *settings.Settings) { x.Provider = "none" },
		"ignored":  func(x *settings.Settings) { x.Ignored = []string{"a/b"} },
	} {
		next := s.Get()
		change(&next)
		wantInvalid(t, s.Update(next), field)
	}
	small := s.Get()
	small.TextSize = 12
	wantInvalid(t, s.Update(small), "textSize")
	if !reflect.DeepEqual(s.Get(), settings.Default()) {
		t.Errorf("got %+v", s.Get())
	}
	if _, err := os.Stat(h.Settings()); err == nil {
		t.Error("a file was written")
	}
	mock := s.Get()
	mock.Provider = "mock"
	must(t, s.Update(mock))
}

func wantInvalid(t *testing.T, err error, field string) {
	t.Helper()
	f := fault.From(err)
	if f == nil || f.Code != fault.InvalidInput || f.Detail != field {
		t.Errorf("got %v, want invalid_input of %s", err, field)
	}
}

// covers: K3
func TestStore_Providers(t *testing.T) {
	h := home(t, "")
	s := load(t, h)
	first, err := s.SaveProvider(openAI())
	must(t, err)
	second, err := s.SaveProvider(openAI())
	must(t, err)
	han := openAI()
	han.Name = " 我的服务 "
	third, err := s.SaveProvider(han)
	must(t, err)
	if first.ID != "openai" || second.ID != "openai-2" || third.ID != "provider" || third.Name != "我的服务" {
		t.Errorf("ids: %q %q %q", first.ID, second.ID, third.ID)
	}
	second.Name, second.Profile = "Other", "azure"
	_, err = s.SaveProvider(second)
	must(t, err)
	var names []string
	for _, p := range load(t, h).Providers() {
		names = append(names, p.Name)
	}
	if d := cmp.Diff([]string{"Mock", "OpenAI", "Other", "我的服务"}, names); d != "" {
		t.Error(d)
	}

	chosen := s.Get()
	chosen.Provider = "openai-2"
	must(t, s.Update(chosen))
	must(t, s.DeleteProvider("openai-2"))
	if got := s.Get().Provider; got != "" {
		t.Errorf("chosen after deleting: %q", got)
	}
	for _, id := range []string{"openai-2", ""} {
		if got := fault.CodeOf(s.DeleteProvider(id)); got != fault.NotFound {
			t.Errorf("%q: %q", id, got)
		}
	}
	wantInvalid(t, s.DeleteProvider("mock"), "id")
	mock := settings.Mock()
	mock.Name = "Mine"
	_, err = s.SaveProvider(mock)
	wantInvalid(t, err, "id")
}

// covers: K7
func TestStore_ProviderAddress(t *testing.T) {
	s := load(t, home(t, ""))
	for _, ok := range []string{
		"", "https://api.invalid/v1", "https://api.invalid:8443/v1/chat/completions", "HTTPS://api.invalid", "https://h.invalid/p?api-version=2024",
		"http://localhost:11434", "http://LOCALHOST/v1", "http://127.0.0.1:1234/v1", "http://127.9.9.9", "http://[::1]:8080", "http://[::ffff:127.0.0.1]/",
	} {
		p := openAI()
		p.ID, p.BaseURL = "p", ok
		if _, err := s.SaveProvider(p); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for _, bad := range []string{
		"api.invalid/v1", "http://api.invalid/v1", "http://192.168.1.2/v1", "http://10.0.0.1", "http://0.0.0.0:1", "http://localhost.evil.invalid",
		"http://127.0.0.1.evil.invalid", "http://2130706433/", "ftp://api.invalid", "file:///etc/passwd", "https://", "https:///v1", "https:api.invalid",
		"https://user:sk-secret@api.invalid/v1", "https://sk-secret@api.invalid", "https://api.invalid/v1#k", "https://api.invalid/v1?key=sk-secret",
		"https://api.invalid/v1?api_key=x", "https://api.invalid/?Access-Token=x", "https://api.invalid/\x00", "https://[::1", "javascript:alert(1)",
		"https://a.invalid/" + strings.Repeat("x", 3000),
	} {
		p := openAI()
		p.BaseURL = bad
		_, err := s.SaveProvider(p)
		wantInvalid(t, err, "baseUrl")
		if err != nil && strings.Contains(err.Error(), "sk-secret") {
			t.Error("the error quotes what was typed")
		}
	}
}

func TestStore_ProviderFields(t *testing.T) {
	s := load(t, home(t, ""))
	for field, change := range map[string]func(*settings.Provider){
		"id":      func(p *settings.Provider) { p.ID = "Bad ID" },
		"name":    func(p *settings.Provider) { p.Name = "  " },
		"kind":    func(p *settings.Provider) { p.Kind = "mock" },
		"profile": func(p *settings.Provider) { p.Profile = "other" },
		"model":   func(p *settings.Provider) { p.Model = "a\nb" },
	} {
		p := openAI()
		change(&p)
		_, err := s.SaveProvider(p)
		wantInvalid(t, err, field)
	}
	for _, id := range []string{"-a", "a-", "a_b", "ä", strings.Repeat("a", 65), "../x"} {
		p := openAI()
		p.ID = id
		_, err := s.SaveProvider(p)
		wantInvalid(t, err, "id")
	}
	long := openAI()
	long.Name = strings.Repeat("n", 201)
	_, err := s.SaveProvider(long)
	wantInvalid(t, err, "name")
}

// A write that fails changes nothing, in memory neither.
func TestStore_WriteThatFails(t *testing.T) {
	h := home(t, "")
	s := load(t, h)
	must(t, os.RemoveAll(h.Dir))
	must(t, os.WriteFile(h.Dir, nil, 0o600))
	next := s.Get()
	next.Theme = "dark"
	if err := s.Update(next); err == nil {
		t.Error("no error")
	}
	if !reflect.DeepEqual(s.Get(), settings.Default()) {
		t.Errorf("got %+v", s.Get())
	}
}

func TestStore_ManyAtOnce(t *testing.T) {
	h := home(t, "")
	s := load(t, h)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := s.SaveProvider(openAI())
			if err != nil {
				t.Error(err)
			}
			_ = s.Get()
			_ = s.Providers()
		})
	}
	all.Wait()
	if got := len(load(t, h).Providers()); got != 9 {
		t.Errorf("%d providers", got)
	}
}

// FuzzLoad: whatever the file holds, the program starts, and nothing of the
// file is lost.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		`{"theme":"dark","textSize":"x",}`, `{}`, "\x00\x00", `{"providers":[{"id":"a"}],"x":{"y":[1]}}`, `{"theme":"dark","theme":"light"}`, `{"a":1} x`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h := settings.Home{Dir: t.TempDir()}
		must(t, os.WriteFile(h.Settings(), data, 0o600))
		s, err := settings.Load(settings.Config{Home: h})
		must(t, err)
		if kept := s.KeptAside(); kept != "" {
			if got, err := os.ReadFile(kept); err != nil || !bytes.Equal(got, data) {
				t.Errorf("kept %q (%v)", got, err)
			}
		} else if got, err := os.ReadFile(h.Settings()); err != nil || !bytes.Equal(got, data) {
			t.Errorf("the file was rewritten: %q (%v)", got, err)
		}
		next := s.Get()
		next.Theme = "sepia"
		must(t, s.Update(next))
		again, err := settings.Load(settings.Config{Home: h})
		must(t, err)
		if again.KeptAside() != "" || !reflect.DeepEqual(again.Get(), next) {
			t.Errorf("after an update: %q, %+v, want %+v", again.KeptAside(), again.Get(), next)
		}
	})
}

// covers: F8 E10
func TestStore_Ignored(t *testing.T) {
	h := home(t, `{"showHidden":true,"ignored":["build","node_modules"]}`)
	s := load(t, h)
	if got := s.Get(); !got.ShowHidden || !reflect.DeepEqual(got.Ignored, []string{"build", "node_modules"}) {
		t.Errorf("got %+v", got)
	}
	// What Get gives is the caller's.
	s.Get().Ignored[0] = "changed"
	next := s.Get()
	next.Ignored = []string{}
	must(t, s.Update(next))
	if got := load(t, h).Get(); got.Ignored == nil || len(got.Ignored) != 0 || !got.ShowHidden {
		t.Errorf("stored %+v", got)
	}
	for _, names := range [][]string{nil, {""}, {".."}, {`a\b`}, {"a\x00"}, {strings.Repeat("n", 256)}, make([]string, 201)} {
		next.Ignored = names
		wantInvalid(t, s.Update(next), "ignored")
	}
	for _, text := range []string{`{"ignored":"build"}`, `{"ignored":null}`, `{"ignored":["a/b"]}`, `{"ignored":[3]}`} {
		s := load(t, home(t, text))
		if got := s.Get(); !reflect.DeepEqual(got, settings.Default()) || !reflect.DeepEqual(s.Problems(), []string{"ignored"}) {
			t.Errorf("%s: %+v, %v", text, got, s.Problems())
		}
	}
}
