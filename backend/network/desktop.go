package network

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"galley/backend/fault"
)

// Script is the Detail of the fault proxy where a script (PAC) chooses the proxy
// and nobody there can run it.
const Script = "pac"

// errScript is that of a script that nobody can run.
var errScript = &fault.Error{Code: fault.Proxy, Op: "find proxy", Detail: Script}

// desktop is how the desktops of Linux and its like say which proxy to use: the
// portal, which runs scripts too and speaks for whatever desktop there is; the
// settings of GNOME, which others share; those of KDE.
type desktop struct {
	getenv func(string) string
	// portal asks the portal for the proxies of an address. It fails where there
	// is none.
	portal func(ctx context.Context, address string) ([]string, error)
	// gsettings lists the settings of GNOME as the program of that name prints
	// them. errNoProgram where there is none.
	gsettings func(ctx context.Context) (string, error)
	// kioslaverc returns the texts of KDE's file, that of the person last.
	kioslaverc func(getenv func(string) string) []string
}

// errNoProgram says that a program is not installed.
var errNoProgram = errors.New("no such program")

// portalLimit is how long the portal may take, so that something is left of the
// whole limit for the others.
const portalLimit = 2 * time.Second

// find asks the portal, and the settings themselves where the portal does not
// know: it is built on a library that, outside of GNOME, may look at nothing and
// call everything direct.
func (d desktop) find(ctx context.Context, target *url.URL) (Found, error) {
	limited, cancel := context.WithTimeout(ctx, portalLimit)
	proxies, portalErr := d.portal(limited, target.String())
	late := limited.Err() != nil
	cancel()
	if portalErr == nil && slices.ContainsFunc(proxies, func(p string) bool { return p != directProxy && p != "" }) {
		return Found{Proxies: proxies, Source: Desktop}, nil
	}
	current := strings.Split(strings.ToUpper(d.getenv("XDG_CURRENT_DESKTOP")), ":")
	direct := Found{Source: Desktop, Proxies: []string{directProxy}}
	if portalErr == nil && slices.Contains(current, "GNOME") {
		return direct, nil
	}
	if slices.Contains(current, "KDE") {
		return ofKDE(d.kioslaverc(d.getenv), target, d.getenv)
	}
	text, err := d.gsettings(ctx)
	switch {
	case err == nil:
		return ofGNOME(text, target)
	case !errors.Is(err, errNoProgram):
		return Found{}, err
	case late:
		return Found{}, errLate
	}
	return direct, nil
}

// found makes an answer of one proxy; "" is none.
func found(proxy string, source Source) Found {
	if proxy == "" {
		proxy = directProxy
	}
	return Found{Proxies: []string{proxy}, Source: source}
}
