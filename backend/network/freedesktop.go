//go:build unix && !darwin

package network

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/godbus/dbus"
)

// lookup is how this system is asked.
func lookup(getenv func(string) string) func(context.Context, *url.URL) (Found, error) {
	return desktop{
		getenv: getenv, gsettings: listGSettings, kioslaverc: readKioslaverc,
		portal: func(ctx context.Context, address string) ([]string, error) { return askPortal(ctx, getenv, address) },
	}.find
}

var errNoBus = errors.New("no session bus")

// askPortal calls org.freedesktop.portal.ProxyResolver on the session bus, if
// there is a bus; none is started.
func askPortal(ctx context.Context, getenv func(string) string, address string) ([]string, error) {
	bus := getenv("DBUS_SESSION_BUS_ADDRESS")
	if bus == "" || strings.HasPrefix(bus, "autolaunch:") {
		socket := filepath.Join(getenv("XDG_RUNTIME_DIR"), "bus")
		if _, err := os.Stat(socket); err != nil || !filepath.IsAbs(socket) {
			return nil, errNoBus
		}
		bus = "unix:path=" + socket
	}
	conn, err := dbus.Dial(bus)
	if err != nil {
		return nil, err
	}
	// A bus that greets nobody is not waited for: closing ends the reading.
	stop := context.AfterFunc(ctx, func() { hangUp(conn) })
	defer func() {
		if stop() {
			hangUp(conn)
		}
	}()
	if err := conn.Auth(nil); err != nil {
		return nil, err
	}
	if err := conn.Hello(); err != nil {
		return nil, err
	}
	var proxies []string
	err = conn.Object("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop").
		CallWithContext(ctx, "org.freedesktop.portal.ProxyResolver.Lookup", 0, address).Store(&proxies)
	return proxies, err
}

// hangUp ends a connection. Every call on it had its answer or is given up, so
// that an error of Close tells nothing.
func hangUp(conn *dbus.Conn) { _ = conn.Close() }

// maxText bounds what is read of a program or a file of the desktop, in bytes.
const maxText = 256 << 10

// listGSettings runs the program that reads GNOME's settings, in whatever
// database they are.
func listGSettings(ctx context.Context) (string, error) {
	program, err := exec.LookPath("gsettings")
	if err != nil {
		return "", errNoProgram
	}
	cmd := exec.CommandContext(ctx, program, "list-recursively", "org.gnome.system.proxy")
	var out bytes.Buffer
	cmd.Stdout = &limitedWriter{to: &out, left: maxText}
	// What it started may keep the pipe open when it has ended.
	cmd.WaitDelay = 100 * time.Millisecond
	if err = cmd.Run(); errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well, and has printed all
	}
	if _, ended := errors.AsType[*exec.ExitError](err); ended && ctx.Err() == nil {
		return "", errNoProgram // it knows no such settings
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return out.String(), err
}

// limitedWriter takes no more than so many bytes and drops the rest.
type limitedWriter struct {
	to   io.Writer
	left int
}

// Write implements io.Writer.
func (w *limitedWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.left)
	w.left -= n
	if _, err := w.to.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// readKioslaverc reads KDE's file wherever it can be.
func readKioslaverc(getenv func(string) string) []string {
	folders := strings.Split(getenv("XDG_CONFIG_DIRS"), ":")
	if getenv("XDG_CONFIG_DIRS") == "" {
		folders = []string{"/etc/xdg"}
	}
	slices.Reverse(folders) // the first counts most
	own := getenv("XDG_CONFIG_HOME")
	if own == "" {
		own = filepath.Join(getenv("HOME"), ".config")
	}
	var texts []string
	for _, folder := range append(folders, own) {
		path := filepath.Join(folder, "kioslaverc")
		info, err := os.Stat(path)
		if err != nil || !filepath.IsAbs(path) || !info.Mode().IsRegular() || info.Size() > maxText {
			continue
		}
		if data, err := os.ReadFile(path); err == nil {
			texts = append(texts, string(data))
		}
	}
	return texts
}
