package settings_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/settings"
)

// withOption returns a file with one provider that has one more member.
func withOption(key, value string) string {
	return fmt.Sprintf(
		`{"providers":[{"id":"a","name":"A","kind":"gemini","baseUrl":"https://a.invalid","model":"m","contextTokens":5000,%q:%s}],"provider":"a"}`,
		key, value)
}

// What a provider can do without voids only itself when it cannot be used, and
// stays in the file as it was written until another value is set.
//
// covers: E10 K3
func TestProvider_ABadOptionVoidsOnlyItself(t *testing.T) {
	fine := settings.Provider{
		ID: "a", Name: "A", Kind: "gemini", BaseURL: "https://a.invalid", Model: "m", ContextTokens: 5000,
		Favourites: []string{}, Prices: []settings.Price{},
	}
	price := settings.Price{Model: "m", Currency: "¥", Input: 1.5, Output: 8, Cached: 0.3}
	for _, c := range []struct {
		key   string
		good  map[string]func(*settings.Provider)
		wrong []string
	}{
		{
			"maxOutputTokens",
			map[string]func(*settings.Provider){
				"0":        func(*settings.Provider) {},
				"1":        func(p *settings.Provider) { p.MaxOutputTokens = 1 },
				"10000000": func(p *settings.Provider) { p.MaxOutputTokens = settings.MaxContextTokens },
			},
			[]string{"-1", "10000001", "2.5", `"5"`, "null", "[]"},
		},
		{
			"temperature",
			map[string]func(*settings.Provider){
				`""`:      func(*settings.Provider) {},
				`"0"`:     func(p *settings.Provider) { p.Temperature = "0" },
				`"0.7"`:   func(p *settings.Provider) { p.Temperature = "0.7" },
				`" 1.25"`: func(p *settings.Provider) { p.Temperature = "1.25" },
				`"2"`:     func(p *settings.Provider) { p.Temperature = "2" },
				`"2.00"`:  func(p *settings.Provider) { p.Temperature = "2.00" },
			},
			[]string{`"2.01"`, `"3"`, `"-0.1"`, `"0.123"`, `"1e0"`, `".5"`, `"1."`, `"0,7"`, `"01"`, `"NaN"`, `"warm"`, "0.7", "null"},
		},
		{
			"effort",
			map[string]func(*settings.Provider){
				`""`:     func(*settings.Provider) {},
				`"none"`: func(p *settings.Provider) { p.Effort = "none" },
				`"low"`:  func(p *settings.Provider) { p.Effort = "low" },
				`"high"`: func(p *settings.Provider) { p.Effort = "high" },
			},
			[]string{`"High"`, `"xhigh"`, "3", "null"},
		},
		{
			"favourites",
			map[string]func(*settings.Provider){
				`[]`:              func(*settings.Provider) {},
				`["b"," a/b:1 "]`: func(p *settings.Provider) { p.Favourites = []string{"b", "a/b:1"} },
			},
			[]string{`[""]`, `["a","a"]`, `["a"," a"]`, `["a\nb"]`, `[3]`, `[null]`, `"a"`, "null", `{}`, many(`"m%d"`, settings.MaxFavourites+1)},
		},
		{
			"prices",
			map[string]func(*settings.Provider){
				`[]`: func(*settings.Provider) {},
				`[{"model":"m","currency":"¥","input":1.5,"output":8,"cached":0.3}]`: func(p *settings.Provider) {
					p.Prices = []settings.Price{price}
				},
				`[{"model":"free","currency":"EUR"}]`: func(p *settings.Provider) {
					p.Prices = []settings.Price{{Model: "free", Currency: "EUR"}}
				},
			},
			[]string{
				`[{"model":"m","input":1}]`, `[{"currency":"$"}]`, `[{"model":"m","currency":"$","input":-1}]`,
				`[{"model":"m","currency":"$","output":1000001}]`, `[{"model":"m","currency":"$","cached":"1"}]`,
				`[{"model":"m","currency":"12"}]`, `[{"model":"m","currency":"much too long"}]`, `[{"model":"m","currency":"$","input":1e999}]`,
				`[{"model":"m","currency":"$"},{"model":"m","currency":"$"}]`, `[7]`, `[null]`, "null", `{}`,
				many(`{"model":"m%d","currency":"$"}`, settings.MaxPrices+1),
			},
		},
	} {
		for value, change := range c.good {
			s := load(t, home(t, withOption(c.key, value)))
			want := fine
			change(&want)
			got, _ := s.Provider("a")
			if d := cmp.Diff(want, got); d != "" || len(s.Problems()) > 0 {
				t.Errorf("%s %s: %s%v", c.key, value, d, s.Problems())
			}
		}
		for _, value := range c.wrong {
			h := home(t, withOption(c.key, value))
			s := load(t, h)
			got, _ := s.Provider("a")
			if d := cmp.Diff(fine, got); d != "" || s.Get().Provider != "a" {
				t.Errorf("%s %s: %s", c.key, value, d)
			}
			if d := cmp.Diff([]string{"providers[0]." + c.key}, s.Problems()); d != "" {
				t.Errorf("%s %s: %s", c.key, value, d)
			}
			// Another field is changed.
			got.Model = "n"
			_, err := s.SaveProvider(got)
			must(t, err)
			if got := strings.Join(strings.Fields(content(t, h.Settings())), ""); !strings.Contains(got, `"`+c.key+`":`+strings.ReplaceAll(value, " ", "")) || !strings.Contains(got, `"model":"n"`) {
				t.Errorf("%s %s: the file holds %s", c.key, value, got)
			}
		}
	}
}

// many is a list of n entries.
func many(form string, n int) string {
	list := make([]string, 0, n)
	for i := range n {
		list = append(list, fmt.Sprintf(form, i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// What the page sends is held to the same bounds.
//
// covers: K3
func TestStore_ProviderOptions(t *testing.T) {
	h := home(t, "")
	s := load(t, h)
	for _, c := range []struct {
		field  string
		change func(*settings.Provider)
	}{
		{"maxOutputTokens", func(p *settings.Provider) { p.MaxOutputTokens = -1 }},
		{"temperature", func(p *settings.Provider) { p.Temperature = "2.5" }},
		{"effort", func(p *settings.Provider) { p.Effort = "all" }},
		{"favourites", func(p *settings.Provider) { p.Favourites = []string{"a", ""} }},
		{"favourites", func(p *settings.Provider) { p.Favourites = []string{strings.Repeat("m", 201)} }},
		{"prices", func(p *settings.Provider) {
			p.Prices = []settings.Price{{Model: "m", Currency: "$", Input: math.NaN()}}
		}},
		{"prices", func(p *settings.Provider) {
			p.Prices = []settings.Price{{Model: "m", Currency: "$", Output: math.Inf(1)}}
		}},
		{"prices", func(p *settings.Provider) { p.Prices = []settings.Price{{Model: "m"}} }},
	} {
		p := openAI()
		c.change(&p)
		_, err := s.SaveProvider(p)
		wantInvalid(t, err, c.field)
	}
	p := openAI()
	p.MaxOutputTokens, p.Temperature, p.Effort = 4096, " 0.7 ", " high"
	p.Favourites = []string{" gpt-x ", "gpt-y"}
	p.Prices = []settings.Price{{Model: " gpt-x", Currency: "US$ ", Input: 2.5, Output: 10, Cached: 1.25}}
	got, err := s.SaveProvider(p)
	must(t, err)
	want := openAI()
	want.ID, want.MaxOutputTokens, want.Temperature, want.Effort = "openai", 4096, "0.7", "high"
	want.Favourites = []string{"gpt-x", "gpt-y"}
	want.Prices = []settings.Price{{Model: "gpt-x", Currency: "US$", Input: 2.5, Output: 10, Cached: 1.25}}
	for name, got := range map[string]settings.Provider{"answered": got, "held": provider(t, s, "openai"), "read back": provider(t, load(t, h), "openai")} {
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	// Neither what was given nor what is got is the store's.
	p.Favourites[0], got.Favourites[0] = "changed", "changed"
	provider(t, s, "openai").Prices[0].Currency = "changed"
	if d := cmp.Diff(want, provider(t, s, "openai")); d != "" {
		t.Error(d)
	}
	// Lists that were not sent are empty ones.
	want.Favourites, want.Prices = []string{}, []settings.Price{}
	p = want
	p.Favourites, p.Prices = nil, nil
	_, err = s.SaveProvider(p)
	must(t, err)
	if d := cmp.Diff(want, provider(t, load(t, h), "openai")); d != "" {
		t.Error(d)
	}
}

func provider(t *testing.T, s *settings.Store, id string) settings.Provider {
	t.Helper()
	p, ok := s.Provider(id)
	if !ok {
		t.Fatalf("%q is not there", id)
	}
	return p
}

// A file of a version before these members says what it said.
//
// covers: E10
func TestLoad_AnOlderFile(t *testing.T) {
	s := load(t, home(t, `{
  "theme": "dark", "textSize": 18, "provider": "openai",
  "limits": {"minutes": 5, "steps": 25, "tokens": 200000},
  "providers": [{"id": "openai", "name": "OpenAI", "kind": "openai_chat", "profile": "", "baseUrl": "https://api.openai.invalid/v1", "model": "gpt-x", "contextTokens": 0}]
}`))
	want := settings.Default()
	want.Theme, want.TextSize, want.Provider, want.Limits.Minutes = "dark", 18, "openai", 5
	if d := cmp.Diff(want, s.Get()); d != "" || len(s.Problems()) > 0 {
		t.Errorf("%s%v", d, s.Problems())
	}
	p := openAI()
	p.ID, p.Favourites, p.Prices = "openai", []string{}, []settings.Price{}
	if d := cmp.Diff(p, provider(t, s, "openai")); d != "" {
		t.Error(d)
	}
	if !want.SendLog || want.Network.Proxy != settings.ProxySystem {
		t.Errorf("defaults %+v", want)
	}
}
