package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus"

	"galley/backend/fault"
)

// sessionEnv makes the test program play one session on the bus that it was
// started on, and end.
const sessionEnv = "GALLEY_NETWORK_SESSION"

func TestMain(m *testing.M) {
	name := os.Getenv(sessionEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	err := sessions()[name].play(ctx)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// session is what can stand on a session bus.
type session struct {
	// play returns what is wrong.
	play func(context.Context) error
	// bus is false where there is none.
	bus bool
	env []string
}

func sessions() map[string]session {
	gnome := []string{"XDG_CURRENT_DESKTOP=GNOME"}
	return map[string]session{
		"portal":           {portalSession, true, gnome},
		"portal, direct":   {directSession, true, gnome},
		"mute, settings":   {muteSession, true, nil},
		"mute, none":       {muteAloneSession, true, nil},
		"refusing portal":  {refusingSession, true, nil},
		"no portal":        {settingsSession, true, nil},
		"no bus":           {settingsSession, false, nil},
		"no bus, nothing":  {nothingSession, false, nil},
		"bus that is mute": {muteBusSession, false, nil},
		"KDE":              {kdeSession, true, []string{"XDG_CURRENT_DESKTOP=KDE"}},
		"environment":      {environmentSession, true, []string{"HTTPS_PROXY=http://env.corp:1"}},
	}
}

// TestSystem asks the real system of the machine, each time as a desktop of its
// own: a message bus, a portal, the program that reads GNOME's settings and the
// files of KDE. A machine without dbus-run-session and gsettings fails: the
// packages belong to what the tests need.
//
// covers: K7
func TestSystem(t *testing.T) {
	program, err := os.Executable()
	must(t, err)
	for name, s := range sessions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			runtime, err := os.MkdirTemp("", "g") //nolint:usetesting // the path of a socket must be short
			must(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(runtime) })
			args := []string{program}
			if s.bus {
				args = []string{"dbus-run-session", "--config-file=" + busConfig(t), "--", program}
			}
			cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
			// It sees nothing of whoever runs the tests.
			cmd.Env = append([]string{
				sessionEnv + "=" + name, "HOME=" + home, "XDG_CONFIG_HOME=" + home + "/config", "XDG_RUNTIME_DIR=" + runtime,
				"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "GSETTINGS_BACKEND=keyfile",
			}, s.env...)
			cmd.Dir = home
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// busConfig writes the configuration of a session bus on which nothing can be
// started.
func busConfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bus.conf")
	must(t, os.WriteFile(path, []byte(`<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`), 0o600))
	return path
}

// fakePortal is org.freedesktop.portal.ProxyResolver.
type fakePortal struct {
	proxies []string
	refuses bool
	mute    chan struct{}
	asked   chan string
}

// Lookup implements org.freedesktop.portal.ProxyResolver.
func (p *fakePortal) Lookup(uri string) ([]string, *dbus.Error) {
	p.asked <- uri
	if p.mute != nil {
		<-p.mute
	}
	if p.refuses {
		return nil, dbus.NewError("org.freedesktop.portal.Error.NotAllowed", nil)
	}
	return p.proxies, nil
}

func (p *fakePortal) serve() error {
	p.asked = make(chan string, 8)
	conn, err := dbus.Dial(os.Getenv("DBUS_SESSION_BUS_ADDRESS"))
	if err != nil {
		return err
	}
	if err := errors.Join(conn.Auth(nil), conn.Hello()); err != nil {
		return err
	}
	if err := conn.Export(p, "/org/freedesktop/portal/desktop", "org.freedesktop.portal.ProxyResolver"); err != nil {
		return err
	}
	reply, err := conn.RequestName("org.freedesktop.portal.Desktop", dbus.NameFlagDoNotQueue)
	if err == nil && reply != dbus.RequestNameReplyPrimaryOwner {
		err = errors.New("the name is taken")
	}
	return err
}

// expect asks for the proxy as the program does, but for the limit: a busy machine
// may be slow to start a program.
func expect(ctx context.Context, host string, source Source, problem fault.Code) error {
	r := New(Config{Limit: 30 * time.Second})
	defer r.Close()
	got, err := r.Proxy(ctx, Setting{Mode: ModeSystem}, far)
	if err != nil {
		return err
	}
	code := fault.Code("")
	if got.Problem != nil {
		code = got.Problem.Code
	}
	if got.Host != host || got.Source != source || code != problem {
		return fmt.Errorf("got %+v, want %q from %s, %q", got, host, source, problem)
	}
	return nil
}

func portalSession(ctx context.Context) error {
	p := &fakePortal{proxies: []string{"http://pac.corp:8080", "direct://"}}
	if err := p.serve(); err != nil {
		return err
	}
	if err := expect(ctx, "pac.corp:8080", Desktop, ""); err != nil {
		return err
	}
	if asked := <-p.asked; asked != "https://api.example.com:443/" {
		return fmt.Errorf("asked for %q", asked)
	}
	return nil
}

func directSession(ctx context.Context) error {
	p := &fakePortal{proxies: []string{"direct://"}}
	if err := errors.Join(set("mode", "'manual'"), p.serve()); err != nil {
		return err
	}
	return expect(ctx, "", None, "")
}

// set changes a setting of GNOME, below org.gnome.system.proxy.
func set(key, value string) error {
	schema := "org.gnome.system.proxy"
	if child, name, ok := strings.Cut(key, "."); ok {
		schema, key = schema+"."+child, name
	}
	out, err := exec.Command("gsettings", "set", schema, key, value).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// manualSettings are what a person set in GNOME.
func manualSettings() error {
	return errors.Join(
		set("mode", "'manual'"), set("https.host", "'desk.corp'"), set("https.port", "3128"),
		set("ignore-hosts", "['localhost', '*.intra.corp']"),
	)
}

func settingsSession(ctx context.Context) error {
	// As they are by default.
	if err := expect(ctx, "", None, ""); err != nil {
		return err
	}
	if err := manualSettings(); err != nil {
		return err
	}
	if err := expect(ctx, "desk.corp:3128", Desktop, ""); err != nil {
		return err
	}
	if err := set("ignore-hosts", "['*.example.com']"); err != nil {
		return err
	}
	if err := expect(ctx, "", None, ""); err != nil {
		return err
	}
	if err := set("mode", "'auto'"); err != nil {
		return err
	}
	return expect(ctx, "", None, fault.Proxy)
}

func muteSession(ctx context.Context) error {
	p := &fakePortal{mute: make(chan struct{})}
	if err := errors.Join(p.serve(), manualSettings()); err != nil {
		return err
	}
	defer close(p.mute)
	return expect(ctx, "desk.corp:3128", Desktop, "")
}

func muteAloneSession(ctx context.Context) error {
	p := &fakePortal{mute: make(chan struct{})}
	if err := errors.Join(p.serve(), os.Setenv("PATH", "/nowhere")); err != nil {
		return err
	}
	defer close(p.mute)
	return expect(ctx, "", None, fault.Timeout)
}

func refusingSession(ctx context.Context) error {
	p := &fakePortal{refuses: true}
	if err := errors.Join(p.serve(), manualSettings()); err != nil {
		return err
	}
	return expect(ctx, "desk.corp:3128", Desktop, "")
}

// nothingSession is a machine without a desktop.
func nothingSession(ctx context.Context) error {
	if err := os.Setenv("PATH", "/nowhere"); err != nil {
		return err
	}
	return expect(ctx, "", None, "")
}

// muteBusSession is a bus that takes a connection and never greets it.
func muteBusSession(ctx context.Context) error {
	socket := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bus")
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := manualSettings(); err != nil {
		return err
	}
	return expect(ctx, "desk.corp:3128", Desktop, "")
}

func kdeSession(ctx context.Context) error {
	p := &fakePortal{proxies: []string{"direct://"}}
	if err := errors.Join(p.serve(), manualSettings()); err != nil {
		return err
	}
	dir := os.Getenv("XDG_CONFIG_HOME")
	text := "[Proxy Settings]\nProxyType=1\nhttpsProxy=http://kde.corp 3128\n"
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "kioslaverc"), []byte(text), 0o600)); err != nil {
		return err
	}
	return expect(ctx, "kde.corp:3128", Desktop, "")
}

// environmentSession: no desktop is asked.
func environmentSession(ctx context.Context) error {
	p := &fakePortal{proxies: []string{"http://pac.corp:8080"}}
	if err := p.serve(); err != nil {
		return err
	}
	if err := expect(ctx, "env.corp:1", Environment, ""); err != nil {
		return err
	}
	if len(p.asked) > 0 {
		return errors.New("the portal was asked")
	}
	return nil
}
