package api

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"galley/backend/credential"
	"galley/backend/fault"
)

// sentences are what the page says of a keyring, by fault, in both languages.
func sentences(t *testing.T) map[string][2]string {
	t.Helper()
	said := map[string][2]string{"": {"", ""}}
	for i, language := range []string{"en", "zh"} {
		data, err := os.ReadFile("../../frontend/src/i18n/" + language + ".ts")
		try(t, err)
		kept := regexp.MustCompile(`"provider\.move\.kept":\s*"([^"]+)"`).FindStringSubmatch(string(data))
		if kept == nil {
			t.Fatal("nothing is said of keys that did not move")
		}
		moves := said["move"]
		moves[i] = kept[1]
		said["move"] = moves
		for _, m := range regexp.MustCompile(`"provider\.keyring\.(missing|locked|timeout)":\s*"([^"]+)"`).FindAllStringSubmatch(string(data), -1) {
			pair := said["keyring_"+m[1]]
			pair[i] = m[2]
			said["keyring_"+m[1]] = pair
		}
	}
	if len(said) != 5 {
		t.Fatalf("sentences: %v", said)
	}
	return said
}

// tells prints what a person saw in one state of a keyring, and holds what is true
// in all of them: a key is said to be stored exactly when nothing failed, and
// then it can be used; else it is in no file and no keyring.
func (p *person) tells(state string, s seen) {
	p.d.t.Helper()
	said, known := sentences(p.d.t)[s.Code]
	if !known || s.Code != "" && (said[0] == "" || said[1] == "") {
		p.d.t.Errorf("%s: nothing is said of %q", state, s.Code)
	}
	words := strings.Join(said[:], " / ")
	if s.Code == "" {
		words = "In " + s.Key.Keyring
	}
	holders := p.prints(state, s, words)
	if (s.Code == "") != (s.Key.Place == string(credential.Keyring)) || (s.Code != "") != (s.Key.Place == string(credential.None)) {
		p.d.t.Errorf("%s: %s, and it is said to be in %s", state, or(s.Code, "stored"), s.Key.Place)
	}
	if len(holders) > 0 {
		p.d.t.Errorf("%s: the key is in %q", state, holders)
	}
	if s.Ms > 8000 {
		p.d.t.Errorf("%s: it took %d ms", state, s.Ms)
	}
}

// prints says what was seen, on one line, and returns the files that hold the key.
func (p *person) prints(state string, s seen, words string) []string {
	p.d.t.Helper()
	holders := keyHolders(p.d.t, p.home.Dir)
	p.d.t.Logf("keyring: %-28s %-16s said to be in: %-8s in files: %d  %5d ms  %s", state, or(s.Code, "stored"), s.Key.Place, len(holders), s.Ms, words)
	return holders
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// TestKeyring_States puts a person in front of each state that a keyring can be
// in, with a real message bus and the real gnome-keyring.
//
// covers: K4 K5 C14
func TestKeyring_States(t *testing.T) {
	t.Run("unlocked", func(t *testing.T) {
		d := newDesktop(t).withBus().withKeyring()
		p := d.sitsDown("home")
		p.tells("unlocked", p.does("set keyring"))
		if s := p.does("use"); s.Used != "" {
			t.Errorf("used: %q", s.Used)
		}
		p.leaves()
		again := d.sitsDown("home")
		if s := again.does("use"); s.Used != "" || s.Key.Place != "keyring" {
			t.Errorf("at the next start: %+v", s)
		}
		if n := d.inKeyring(); n != 1 {
			t.Errorf("%d items hold the key", n)
		}
		if s := again.does("delete"); s.Code != "" || s.Key.Place != "none" || d.inKeyring() != 0 {
			t.Errorf("deleted: %+v, %d items", s, d.inKeyring())
		}
	})
	t.Run("locked", func(t *testing.T) {
		d := newDesktop(t).withBus().withKeyring()
		before := d.sitsDown("before")
		before.does("set keyring")
		d.lock()
		p := d.sitsDown("home")
		p.tells("locked", p.wants(fault.KeyringLocked, "set keyring"))
		if s := before.does("use"); s.Used != string(fault.KeyringLocked) || s.Key.Place != "keyring" {
			t.Errorf("a key that is in it: %+v", s)
		}
		p.keepsUntilQuit()
	})
	t.Run("no service", func(t *testing.T) {
		p := newDesktop(t).withBus().sitsDown("home")
		s := p.wants(fault.KeyringMissing, "set keyring")
		p.tells("no service", s)
		if s.Detail == "" {
			t.Error("it is not said what was looked for")
		}
		p.keepsUntilQuit()
	})
	t.Run("no bus", func(t *testing.T) {
		p := newDesktop(t).sitsDown("home")
		p.tells("no bus", p.wants(fault.KeyringMissing, "set keyring"))
		p.keepsUntilQuit()
	})
	t.Run("dies in mid-call", func(t *testing.T) {
		d := newDesktop(t).withBus().withKeyring()
		p := d.sitsDown("home")
		// It is held, so that the call is under way when it dies.
		d.signal(d.keyring, syscall.SIGSTOP)
		heard := d.heard("Get")
		p.begin("set keyring")
		d.wait(heard)
		d.signal(d.keyring, syscall.SIGKILL)
		s := p.sees()
		p.tells("dies in mid-call", s)
		if s.Code != string(fault.KeyringTimeout) {
			t.Errorf("got %q", s.Code)
		}
		p.keepsUntilQuit()
		d.owned(false)
		d.withKeyring()
		p.tells("and is started again", p.does("set keyring"))
		if n := d.inKeyring(); n != 1 {
			t.Errorf("%d items hold the key", n)
		}
	})
	// Later in the storing it may have answered before it dies; what it then kept
	// is not said to be stored unless it was read back, and is removed later.
	for _, member := range []string{"OpenSession", "CreateItem", "GetSecret"} {
		t.Run("dies at "+member, func(t *testing.T) {
			d := newDesktop(t).withBus().withKeyring()
			p := d.sitsDown("home")
			heard := d.heard(member)
			p.begin("set keyring")
			d.wait(heard)
			d.signal(d.keyring, syscall.SIGKILL)
			s := p.sees()
			p.tells("dies at "+member, s)
			if s.Code != "" && !slices.Contains([]fault.Code{fault.KeyringTimeout, fault.KeyringMissing}, fault.Code(s.Code)) {
				t.Errorf("got %q", s.Code)
			}
			d.owned(false)
			d.withKeyring()
			if s := p.does("use"); s.Used != "" && s.Used != string(fault.NoKey) {
				t.Errorf("used: %+v", s)
			}
			if s := p.does("set keyring"); s.Code != "" || d.inKeyring() != 1 {
				t.Errorf("stored again: %+v, %d items", s, d.inKeyring())
			}
		})
	}
	t.Run("the bus hangs", func(t *testing.T) {
		d := newDesktop(t).withBus().withKeyring()
		p := d.sitsDown("home")
		p.does("state")
		d.signal(d.bus, syscall.SIGSTOP)
		p.tells("the bus hangs", p.wants(fault.KeyringTimeout, "set keyring"))
		p.keepsUntilQuit()
		d.signal(d.bus, syscall.SIGCONT)
		p.tells("and wakes up", p.does("set keyring"))
		if n := d.inKeyring(); n != 1 {
			t.Errorf("%d items hold the key", n)
		}
	})
	t.Run("the bus hangs from the start", func(t *testing.T) {
		d := newDesktop(t).withBus().withKeyring()
		d.signal(d.bus, syscall.SIGSTOP)
		p := d.sitsDown("home")
		p.tells("the bus hangs from the start", p.wants(fault.KeyringTimeout, "set keyring"))
		p.keepsUntilQuit()
		d.signal(d.bus, syscall.SIGCONT)
		p.leaves()
		again := d.sitsDown("home")
		p.tells("and the next start finds it", again.does("set keyring"))
	})
	t.Run("dies while keys move", func(t *testing.T) {
		d := newDesktop(t).withBus()
		p := d.sitsDown("home")
		if s := p.does("set file"); s.Key.Place != "file" || s.CanMove != "" {
			t.Errorf("told %+v", s)
		}
		d.withKeyring()
		d.signal(d.keyring, syscall.SIGSTOP)
		heard := d.heard("Get")
		p.begin("move")
		d.wait(heard)
		d.signal(d.keyring, syscall.SIGKILL)
		s := p.sees()
		said := sentences(t)["move"]
		holders := p.prints("dies while keys move", s, strings.Join(said[:], " / "))
		if s.Code != string(fault.KeyringTimeout) || s.Key.Place != "file" || !slices.Equal(holders, []string{"credentials.json"}) {
			t.Errorf("told %+v, it is in %q", s, holders)
		}
		d.owned(false)
		d.withKeyring()
		p.tells("and moves once it is back", p.does("move"))
		if n := d.inKeyring(); n != 1 {
			t.Errorf("%d items hold the key", n)
		}
	})
}

// wants does something that must fail.
func (p *person) wants(code fault.Code, what string) seen {
	p.d.t.Helper()
	s := p.does(what)
	if s.Code != string(code) {
		p.d.t.Errorf("%s: got %q, want %q", what, s.Code, code)
	}
	return s
}

// keepsUntilQuit takes the choice that is always there.
func (p *person) keepsUntilQuit() {
	p.d.t.Helper()
	if s := p.does("set memory"); s.Code != "" || s.Key.Place != string(credential.Memory) {
		p.d.t.Errorf("until quit: %+v", s)
	}
	if s := p.does("use"); s.Used != "" {
		p.d.t.Errorf("until quit, used: %q", s.Used)
	}
	if holders := keyHolders(p.d.t, p.home.Dir); len(holders) > 0 {
		p.d.t.Errorf("until quit: the key is in %q", holders)
	}
}
