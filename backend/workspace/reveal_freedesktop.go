//go:build unix && !darwin

package workspace

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/godbus/dbus"
)

// showLimit is how long a file manager may take to answer: it may have to be
// started first.
const showLimit = 10 * time.Second

// show has the file manager of the session show the entry in its folder, and
// opens the folder where no manager knows how.
func show(ctx context.Context, path string, itself bool) error {
	limited, cancel := context.WithTimeout(ctx, showLimit)
	defer cancel()
	err := showItem(limited, path)
	if err == nil {
		return nil
	}
	folder := filepath.Dir(path)
	if itself {
		folder = path
	}
	return launch(ctx, "xdg-open", folder)
}

// showItem calls org.freedesktop.FileManager1 on the session bus, if there is a
// bus; none is started.
func showItem(ctx context.Context, path string) error {
	address := os.Getenv("DBUS_SESSION_BUS_ADDRESS")
	if address == "" || strings.HasPrefix(address, "autolaunch:") {
		socket := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "bus")
		if _, err := os.Stat(socket); err != nil || !filepath.IsAbs(socket) {
			return errNoManager
		}
		address = "unix:path=" + socket
	}
	conn, err := dbus.Dial(address)
	if err != nil {
		return err
	}
	defer letGo(conn)
	if err := conn.Auth(nil); err != nil {
		return err
	}
	if err := conn.Hello(); err != nil {
		return err
	}
	uri := (&url.URL{Scheme: "file", Path: path}).String()
	return conn.Object("org.freedesktop.FileManager1", "/org/freedesktop/FileManager1").
		CallWithContext(ctx, "org.freedesktop.FileManager1.ShowItems", 0, []string{uri}, "").Err
}
