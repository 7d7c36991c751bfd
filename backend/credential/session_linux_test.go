package credential

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"galley/backend/fault"
)

// sessionEnv makes the test program play one session on the bus that it was
// started on, and end.
const sessionEnv = "GALLEY_CREDENTIAL_SESSION"

func TestMain(m *testing.M) {
	if what := os.Getenv(killedEnv); what != "" {
		calls, err := playKilled(what, os.Getenv("HOME"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(strings.Join(calls, "\n"))
		os.Exit(0)
	}
	name := os.Getenv(sessionEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	err := sessions()[name](ctx, os.Getenv("HOME"))
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestSystemRing plays each session on a message bus of its own. A machine
// without dbus-run-session and gnome-keyring-daemon fails: the packages belong
// to what the tests need.
//
// covers: K4 K5
func TestSystemRing(t *testing.T) {
	for name := range sessions() {
		t.Run(name, func(t *testing.T) {
			if name == "no bus" {
				out, err := inNewHome(t, name).CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				return
			}
			cmd := inNewHome(t, name, "dbus-run-session", "--config-file="+busConfig(t, name == "not set up"), "--")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}

// inNewHome runs this program as a session, in an environment that holds
// nothing of whoever runs the tests, behind the command before.
func inNewHome(t *testing.T, session string, before ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	home := t.TempDir()
	runtime, err := os.MkdirTemp("", "g") //nolint:usetesting // the path of a socket must be short
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(runtime) })
	tools := filepath.Join(home, "tools")
	must(t, os.Mkdir(tools, 0o755))
	// A dbus-launch that leaves a trace when somebody starts it.
	launched := "#!/bin/sh\ntouch \"$HOME/launched\"\nexit 1\n"
	must(t, os.WriteFile(filepath.Join(tools, "dbus-launch"), []byte(launched), 0o755))
	args := append(before, program)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = []string{
		sessionEnv + "=" + session, "HOME=" + home, "XDG_DATA_HOME=" + home + "/data", "XDG_RUNTIME_DIR=" + runtime,
		"PATH=" + tools + ":" + os.Getenv("PATH"), "LANG=C.UTF-8",
	}
	cmd.Dir = home
	return cmd
}

// busConfig writes the configuration of a session bus, with the services of
// the machine that can be started or with none.
func busConfig(t *testing.T, startable bool) string {
	t.Helper()
	services := ""
	if startable {
		services = "<standard_session_servicedirs/>"
	}
	path := filepath.Join(t.TempDir(), "bus.conf")
	must(t, os.WriteFile(path, []byte(`<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <auth>EXTERNAL</auth>
  `+services+`
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`), 0o600))
	return path
}

// sessions are what can stand on a session bus. Each gets a folder of its own
// and returns what is wrong.
func sessions() map[string]func(ctx context.Context, dir string) error {
	return map[string]func(context.Context, string) error{
		"gnome-keyring":      realSession,
		"not set up":         notSetUpSession,
		"locked for real":    lockedSession,
		"no bus":             noBusSession,
		"nobody there":       missingSession,
		"mute":               muteSession,
		"mute later":         muteLaterSession,
		"dismissed":          dismissedSession,
		"unlocked":           unlockedSession,
		"another collection": collectionSession,
		"no collection":      noCollectionSession,
	}
}

// storeIn is a Store on the system's keyring with its files in dir/home.
func storeIn(dir string, limit time.Duration) *Store {
	home := filepath.Join(dir, "home")
	return New(Config{
		KeysFile: filepath.Join(home, "keys.json"), PlainFile: filepath.Join(home, "credentials.json"), Limit: limit,
	})
}

// nothingWritten checks that neither a file nor a claim is left of a key.
func nothingWritten(ctx context.Context, s *Store, dir string) error {
	left, err := filesIn(dir)
	if err != nil || len(left) > 0 {
		return fmt.Errorf("files were written: %v (%w)", left, err)
	}
	return notStored(ctx, s)
}

// filesIn are the files of the home in dir.
func filesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, "home"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// notStored checks that nobody is told that there is a key.
func notStored(ctx context.Context, s *Store) error {
	if d, err := s.Describe(ctx, "openai"); err != nil || d.Place != None {
		return fmt.Errorf("described as %+v (%w)", d, err)
	}
	if _, err := s.Get(ctx, "openai"); fault.CodeOf(err) != fault.NoKey {
		return fmt.Errorf("got %w", err)
	}
	return nil
}

// noTrace looks for the planted key in everything of this process and under
// dir.
func noTrace(dir string) error {
	var where []string
	look := func(name string, data []byte) {
		if strings.Contains(string(data), "TESTKEY") {
			where = append(where, name)
		}
	}
	for _, name := range []string{"cmdline", "environ"} {
		data, err := os.ReadFile("/proc/self/" + name)
		if err != nil {
			return err
		}
		look(name, data)
	}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(p)
		look(p, data)
		return err
	})
	if err == nil && len(where) > 0 {
		err = fmt.Errorf("the key is in %v", where)
	}
	return err
}
