package workspace_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/godbus/dbus"

	"galley/backend/fault"
)

// session starts a bus of its own and returns a connection to it; the test's
// environment names it.
func session(t *testing.T) *dbus.Conn {
	t.Helper()
	cmd := exec.Command("dbus-daemon", "--session", "--nofork", "--print-address=1")
	out, err := cmd.StdoutPipe()
	must(t, err)
	if err := cmd.Start(); err != nil {
		t.Skipf("no dbus-daemon: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", strings.TrimSpace(address))
	conn, err := dbus.Dial(strings.TrimSpace(address))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.Auth(nil))
	must(t, conn.Hello())
	return conn
}

// manager is a file manager.
type manager struct {
	shown chan string
	err   atomic.Pointer[dbus.Error]
}

func (m *manager) ShowItems(uris []string, _ string) *dbus.Error {
	m.shown <- strings.Join(uris, " ")
	return m.err.Load()
}

// opener puts an xdg-open on the path that tells what it was asked to open.
func opener(t *testing.T) (asked func() string) {
	t.Helper()
	dir := t.TempDir()
	pipe := dir + "/pipe"
	must(t, syscall.Mkfifo(pipe, 0o600))
	must(t, os.WriteFile(dir+"/xdg-open", []byte("#!/bin/sh\nprintf %s \"$1\" > "+pipe+"\n"), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() string {
		got, err := os.ReadFile(pipe)
		must(t, err)
		return string(got)
	}
}

// covers: F8
func TestReveal(t *testing.T) {
	conn := session(t)
	asked := opener(t)
	root := tree(t, map[string]string{
		"w/a b#.md": "a", "w/sub/c.md": "c", "w/out": "-> $ROOT/private", "private/p.md": "p", "single.md": "s",
	})
	w := root + "/w"
	g := openFolder(t, w)
	_, err := g.GrantFile(root + "/single.md")
	must(t, err)

	// Nobody knows how to show an item: its folder is opened.
	must(t, g.Reveal(t.Context(), w+"/sub/c.md"))
	if got := asked(); got != w+"/sub" {
		t.Errorf("opened %q", got)
	}
	must(t, g.Reveal(t.Context(), w))
	if got := asked(); got != w {
		t.Errorf("opened %q", got)
	}

	m := &manager{shown: make(chan string, 1)}
	must(t, conn.Export(m, "/org/freedesktop/FileManager1", "org.freedesktop.FileManager1"))
	_, err = conn.RequestName("org.freedesktop.FileManager1", dbus.NameFlagDoNotQueue)
	must(t, err)
	for path, want := range map[string]string{
		w + "/a b#.md":        "file://" + w + "/a%20b%23.md",
		w + "/sub":            "file://" + w + "/sub",
		root + "/single.md":   "file://" + root + "/single.md",
		w + "/out":            "file://" + w + "/out", // the link, not where it leads
		w + "/sub/../a b#.md": "file://" + w + "/a%20b%23.md",
	} {
		must(t, g.Reveal(t.Context(), path))
		if got := <-m.shown; got != want {
			t.Errorf("shown %q, want %q", got, want)
		}
	}
	for _, p := range []string{root + "/private/p.md", w + "/out/p.md", root + "/private", root, "a b#.md"} {
		wantCode(t, g.Reveal(t.Context(), p), fault.OutsideWorkspace)
	}
	wantCode(t, g.Reveal(t.Context(), w+"/none.md"), fault.NotFound)

	// A manager that fails is as none.
	m.err.Store(dbus.MakeFailedError(os.ErrInvalid))
	must(t, g.Reveal(t.Context(), w+"/sub/c.md"))
	<-m.shown
	if got := asked(); got != w+"/sub" {
		t.Errorf("opened %q", got)
	}
	// Neither a bus nor a program.
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "none"))
	t.Setenv("PATH", t.TempDir())
	wantCode(t, g.Reveal(t.Context(), w+"/sub/c.md"), fault.Internal)
}
