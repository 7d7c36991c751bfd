package settings_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
	"galley/backend/settings"
)

// threeAndABroken is a file with a provider that cannot be used among others.
const threeAndABroken = `{"providers":[
  {"id":"a","name":"A","kind":"openai_chat","baseUrl":"https://a.invalid","note":1},
  {"id":"x","name":"X","kind":"openai_chat","baseUrl":"http://x.invalid"},
  {"id":"b","name":"B","kind":"gemini","model":"m","favourites":["m","n"],"prices":[{"model":"m","currency":"$","input":1}],"note":2,"temperature":"hot"},
  {"id":"c","name":"C","kind":"anthropic_messages"}
]}`

func order(s *settings.Store) string {
	var ids []string
	for _, p := range s.Providers()[1:] {
		ids = append(ids, p.ID)
	}
	return strings.Join(ids, " ")
}

// The order is the person's, outlives the program and a change of one of them,
// and nothing of the file is lost by it.
//
// covers: K3 E10
func TestStore_MoveProvider(t *testing.T) {
	for _, c := range []struct {
		id   string
		to   int
		want string
	}{
		{"a", 0, "a b c"},
		{"a", 1, "b a c"},
		{"a", 2, "b c a"},
		{"b", 0, "b a c"},
		{"b", 1, "a b c"},
		{"b", 2, "a c b"},
		{"c", 0, "c a b"},
		{"c", 1, "a c b"},
	} {
		h := home(t, threeAndABroken)
		s := load(t, h)
		must(t, s.MoveProvider(c.id, c.to))
		if got := order(s); got != c.want {
			t.Errorf("%s to %d: %s", c.id, c.to, got)
		}
		p := provider(t, s, c.id)
		p.Name = "Changed"
		_, err := s.SaveProvider(p)
		must(t, err)
		if got := order(load(t, h)); got != c.want {
			t.Errorf("%s to %d: read back %s", c.id, c.to, got)
		}
		for _, kept := range []string{`"note": 1`, `"note": 2`, "http://x.invalid", `"hot"`} {
			if !strings.Contains(content(t, h.Settings()), kept) {
				t.Errorf("%s to %d: %s is gone", c.id, c.to, kept)
			}
		}
	}
}

func TestStore_MoveProviderRefuses(t *testing.T) {
	h := home(t, threeAndABroken)
	s := load(t, h)
	for _, to := range []int{-1, 3, 99} {
		wantInvalid(t, s.MoveProvider("a", to), "to")
	}
	wantInvalid(t, s.MoveProvider("mock", 0), "id")
	for _, id := range []string{"", "none", "x"} {
		if got := fault.CodeOf(s.MoveProvider(id, 0)); got != fault.NotFound {
			t.Errorf("%q: %q", id, got)
		}
	}
	if got := content(t, h.Settings()); got != threeAndABroken {
		t.Errorf("the file holds %s", got)
	}
}

// covers: K3
func TestStore_DuplicateProvider(t *testing.T) {
	h := home(t, threeAndABroken)
	s := load(t, h)
	got, err := s.DuplicateProvider("b", " A ")
	must(t, err)
	want := provider(t, s, "b")
	want.ID, want.Name = "a-2", "A"
	if d := cmp.Diff(want, got); d != "" || len(got.Favourites) != 2 || len(got.Prices) != 1 {
		t.Error(d)
	}
	again := load(t, h)
	if got := order(again); got != "a b a-2 c" {
		t.Errorf("order: %s", got)
	}
	if d := cmp.Diff(want, provider(t, again, "a-2")); d != "" {
		t.Error(d)
	}
	// The broken value and what we do not know stand where they stood, once.
	for _, kept := range []string{`"note": 2`, `"hot"`} {
		if n := strings.Count(content(t, h.Settings()), kept); n != 1 {
			t.Errorf("%s: %d times", kept, n)
		}
	}
	// The two are apart from now on.
	got.Favourites = []string{}
	_, err = s.SaveProvider(got)
	must(t, err)
	if got := provider(t, s, "b").Favourites; len(got) != 2 {
		t.Errorf("the favourites of the first are %q", got)
	}

	_, err = s.DuplicateProvider("mock", "Mock")
	wantInvalid(t, err, "id")
	_, err = s.DuplicateProvider("b", " ")
	wantInvalid(t, err, "name")
	_, err = s.DuplicateProvider("none", "N")
	if got := fault.CodeOf(err); got != fault.NotFound {
		t.Errorf("got %q", got)
	}
}

// The name under which the proxy's password is kept is nobody's id: a provider
// that had it would be given that password.
//
// covers: K4
func TestStore_TheProxysNameIsNobodysID(t *testing.T) {
	s := load(t, home(t, `{"providers":[{"id":"network-proxy","name":"P","kind":"openai_chat"}],"provider":"network-proxy"}`))
	if d := cmp.Diff([]string{"providers[0].id", "provider"}, s.Problems()); d != "" {
		t.Error(d)
	}
	p := openAI()
	p.ID = settings.ProxyRef
	_, err := s.SaveProvider(p)
	wantInvalid(t, err, "id")
	p.ID, p.Name = "", "Network proxy"
	p, err = s.SaveProvider(p)
	must(t, err)
	if p.ID != "network-proxy-2" {
		t.Errorf("id %q", p.ID)
	}
	twin, err := s.DuplicateProvider(p.ID, "network PROXY")
	must(t, err)
	if twin.ID != "network-proxy-3" {
		t.Errorf("id %q", twin.ID)
	}
}
