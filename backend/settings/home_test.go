package settings_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"galley/backend/fault"
	"galley/backend/settings"
)

func TestResolveHome(t *testing.T) {
	here, err := os.Getwd()
	must(t, err)
	system := func() (string, error) { return "/sys", nil }
	for _, c := range []struct{ name, flag, env, want string }{
		{"flag first", "/a", "/b", "/a"},
		{"then the environment", "", "/b", "/b"},
		{"relative", "x/../y", "", filepath.Join(here, "y")},
		{"relative environment", "", "z", filepath.Join(here, "z")},
		{"else the system's", "", "", "/sys/galley"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := settings.ResolveHome(c.flag, c.env, system)
			must(t, err)
			if !strings.EqualFold(got.Dir, filepath.FromSlash(c.want)) {
				t.Errorf("got %q, want %q", got.Dir, c.want)
			}
		})
	}
	_, err = settings.ResolveHome("", "", func() (string, error) { return "", errors.New("no HOME") })
	if got := fault.CodeOf(err); got != fault.InvalidInput {
		t.Errorf("got %q", got)
	}
}

func TestHome_MakesWhatIsNotThere(t *testing.T) {
	h := settings.Home{Dir: filepath.Join(t.TempDir(), "deep", "home")}
	must(t, h.Make())
	must(t, h.Make())
	for _, dir := range []string{h.Dir, h.Drafts(), h.Recovery(), filepath.Dir(h.Log())} {
		info, err := os.Stat(dir)
		must(t, err)
		if os.PathSeparator == '/' && info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v", dir, info.Mode())
		}
	}
	for _, p := range []string{h.Settings(), h.Credentials(), h.Keys(), h.Drafts(), h.Recovery(), h.Runs(), h.Log(), h.Sample()} {
		if !strings.HasPrefix(p, h.Dir+string(filepath.Separator)) {
			t.Errorf("%s lies outside of the home", p)
		}
	}
	blocked := settings.Home{Dir: filepath.Join(h.Settings(), "x")}
	must(t, os.WriteFile(h.Settings(), nil, 0o600))
	if got := fault.CodeOf(blocked.Make()); got != fault.ReadOnly {
		t.Errorf("got %q", got)
	}
}
