package credential

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/godbus/dbus"

	"galley/backend/credential/nolaunch"
	"galley/backend/fault"
)

// startKeyring starts gnome-keyring with the login keyring unlocked, and waits
// until it answers on the bus.
func startKeyring(ctx context.Context, conn *dbus.Conn) (stop func(), err error) {
	owned := make(chan *dbus.Signal, 8)
	conn.Signal(owned)
	err = conn.AddMatchSignal(dbus.WithMatchInterface("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets")
	cmd.Stdin = strings.NewReader("a password")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	for {
		select {
		case s := <-owned:
			if len(s.Body) == 3 && s.Body[0] == secretsName && s.Body[2] != "" {
				return stop, nil
			}
		case <-ctx.Done():
			stop()
			return nil, errors.New("gnome-keyring does not answer")
		}
	}
}

// realSession is a desktop as it should be.
func realSession(ctx context.Context, dir string) error {
	conn, err := dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop, err := startKeyring(ctx, conn)
	if err != nil {
		return err
	}
	defer stop()

	r := SystemRing()
	defer r.Close()
	if err := conform(ctx, r); err != nil {
		return fmt.Errorf("conform: %w", err)
	}

	s := storeIn(dir, 0)
	defer s.Close()
	key, err := NewSecret(planted)
	if err != nil {
		return err
	}
	if err := s.Set(ctx, "openai", key, Keyring); err != nil {
		return err
	}
	d, err := s.Describe(ctx, "openai")
	if err != nil || d.Place != Keyring || d.Keyring != "Secret Service" || d.StoredAtMs == 0 {
		return fmt.Errorf("described as %+v (%w)", d, err)
	}
	// Another start of the program.
	again := storeIn(dir, 0)
	defer again.Close()
	got, err := again.Get(ctx, "openai")
	if err != nil || got.Reveal() != planted {
		return fmt.Errorf("read back: %w", err)
	}
	// The keyring's own files are encrypted.
	if err := noTrace(dir); err != nil {
		return err
	}
	if files, err := filepath.Glob(dir + "/data/keyrings/*"); err != nil || len(files) == 0 {
		return fmt.Errorf("the keyring wrote no file: %w", err)
	}
	if err := again.Delete(ctx, "openai"); err != nil {
		return err
	}
	_, err = s.Get(ctx, "openai")
	return expect(err, fault.NoKey)
}

// notSetUpSession is gnome-keyring as the bus starts it, with no keyring made
// yet: making one would ask for a new password.
func notSetUpSession(ctx context.Context, dir string) error {
	return refusal(ctx, dir, fault.KeyringMissing)
}

// lockedSession is a keyring that locked after the key was stored, with nobody
// who could ask for the password.
func lockedSession(ctx context.Context, dir string) error {
	conn, err := dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop, err := startKeyring(ctx, conn)
	if err != nil {
		return err
	}
	defer stop()
	s := storeIn(dir, 0)
	defer s.Close()
	key, err := NewSecret(planted)
	if err != nil {
		return err
	}
	if err := s.Set(ctx, "openai", key, Keyring); err != nil {
		return err
	}
	var locked []dbus.ObjectPath
	var prompt dbus.ObjectPath
	login := dbus.ObjectPath(collectionPrefix + loginCollection)
	err = conn.Object(secretsName, secretsPath).
		CallWithContext(ctx, secretsService+".Lock", 0, []dbus.ObjectPath{login}).Store(&locked, &prompt)
	if err != nil || len(locked) != 1 {
		return fmt.Errorf("lock: %v: %w", locked, err)
	}
	_, err = s.Get(ctx, "openai")
	if err := expect(err, fault.KeyringLocked); err != nil {
		return err
	}
	if err := expect(s.Set(ctx, "other", key, Keyring), fault.KeyringLocked); err != nil {
		return err
	}
	if err := expect(s.Delete(ctx, "openai"), fault.KeyringLocked); err != nil {
		return err
	}
	if d, err := s.Describe(ctx, "openai"); err != nil || d.Place != Keyring {
		return fmt.Errorf("described as %+v (%w)", d, err)
	}
	return noTrace(dir)
}

// noBusSession is a system without a session bus. Nothing may start one.
func noBusSession(ctx context.Context, dir string) error {
	if err := refusal(ctx, dir, fault.KeyringMissing); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "launched")); !errors.Is(err, os.ErrNotExist) {
		return errors.New("dbus-launch was started")
	}
	if _, named := os.LookupEnv(nolaunch.Variable); named {
		return errors.New("the environment is not as it was")
	}
	return nil
}

// missingSession is a bus with no keyring on it.
func missingSession(ctx context.Context, dir string) error {
	return refusal(ctx, dir, fault.KeyringMissing)
}

// refusal checks that every call fails with code, quickly, and leaves nothing;
// and that the person's other choice works.
func refusal(ctx context.Context, dir string, code fault.Code) error {
	limit := 3 * time.Second
	if code == fault.KeyringTimeout {
		limit = 300 * time.Millisecond
	}
	s := storeIn(dir, limit)
	defer s.Close()
	key, err := NewSecret(planted)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := expect(s.Set(ctx, "openai", key, Keyring), code); err != nil {
		return err
	}
	if d := time.Since(start); d > limit+2*time.Second {
		return fmt.Errorf("took %v", d)
	}
	_, err = s.KeyringName(ctx)
	if err := expect(err, code); err != nil {
		return err
	}
	if f := fault.From(err); code == fault.KeyringMissing && f.Detail != lookedFor {
		return fmt.Errorf("it does not say what was looked for: %q", f.Detail)
	}
	if err := nothingWritten(ctx, s, dir); err != nil {
		return err
	}
	if err := noTrace(dir); err != nil {
		return err
	}
	if err := s.Set(ctx, "openai", key, Memory); err != nil {
		return err
	}
	got, err := s.Get(ctx, "openai")
	if err != nil || got.Reveal() != planted {
		return fmt.Errorf("kept until quit: %w", err)
	}
	return noTrace(dir)
}

func expect(err error, want fault.Code) error {
	if got := fault.CodeOf(err); got != want {
		return fmt.Errorf("got %q (%w), want %q", got, err, want)
	}
	return nil
}
