package network

import (
	"net/url"
	"strings"
)

// winConfig is what WinHttpGetIEProxyConfigForCurrentUser tells.
type winConfig struct {
	// detect: scripts are to be looked for in the network. script is the address
	// of one.
	detect bool
	script string
	// proxies and bypass are those that were set by hand.
	proxies, bypass string
}

// winCalls are the calls to Windows that a lookup makes.
type winCalls interface {
	config() (winConfig, error)
	// auto has the system run a script, or look for one, for an address. No
	// proxies mean the direct way.
	auto(address, script string, detect bool) (proxies, bypass string, err error)
}

// ofWindows asks Windows: a script first, where one is set or to be looked for,
// then what was set by hand.
func ofWindows(calls winCalls, target *url.URL) (Found, error) {
	c, err := calls.config()
	if err != nil {
		return Found{}, err
	}
	if c.detect || c.script != "" {
		proxies, bypass, err := calls.auto(target.String(), c.script, c.detect)
		if err == nil {
			return winList(proxies, bypass, target), nil
		}
		if c.script != "" && c.proxies == "" {
			// It was named, and could not be had or run. That none was found
			// in the network is the usual case.
			return Found{}, err
		}
	}
	return winList(c.proxies, c.bypass, target), nil
}

// winList reads a list of proxies of Windows: "proxy:80", or "https=proxy:80"
// for addresses of a kind, with more after a semicolon or a blank.
func winList(proxies, bypass string, target *url.URL) Found {
	if bypassed(splitList(bypass), target, bypassExact) {
		return found("", System)
	}
	var forAll, forHTTPS, socks []string
	for _, entry := range splitList(proxies) {
		kind, address, ok := strings.Cut(entry, "=")
		switch {
		case !ok:
			forAll = append(forAll, entry)
		case strings.EqualFold(kind, "https"):
			forHTTPS = append(forHTTPS, address)
		case strings.EqualFold(kind, "socks"):
			_, bare, ok := strings.Cut(address, "://")
			if !ok {
				bare = address
			}
			socks = append(socks, "socks5://"+bare)
		}
	}
	all := append(append(forHTTPS, forAll...), socks...)
	if len(all) == 0 {
		return found("", System)
	}
	return Found{Proxies: all, Source: System}
}
