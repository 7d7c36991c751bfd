package settings

import (
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of Network.
const (
	// MaxBypass is how many hosts may be left out, and MaxBypassEntry how long
	// each may be, in bytes.
	MaxBypass      = 200
	MaxBypassEntry = 255

	maxNetworkText = 2000 // bytes of an address
	maxPath        = 4096 // bytes of a path
)

// check returns the JSON name of the first field that cannot be used, or "". A
// manual proxy without an address is one that is still being set up.
func (n Network) check() string {
	switch {
	case !slices.Contains([]string{ProxySystem, ProxyNone, ProxyManual}, n.Proxy):
		return "network.proxy"
	case n.ProxyURL != "" && !validProxyURL(n.ProxyURL):
		return "network.proxyUrl"
	case !printable(n.ProxyUser) || strings.Contains(n.ProxyUser, ":"):
		// A colon would end the name where it is sent.
		return "network.proxyUser"
	case n.Bypass == nil || len(n.Bypass) > MaxBypass || slices.ContainsFunc(n.Bypass, noBypass):
		return "network.bypass"
	case n.CAFile != "" && !validFile(n.CAFile):
		return "network.caFile"
	}
	return ""
}

// trimmed is n without blanks round what a person typed and without empty
// entries. A path stays: its blanks may be its own.
func (n Network) trimmed() Network {
	n.ProxyURL, n.ProxyUser = strings.TrimSpace(n.ProxyURL), strings.TrimSpace(n.ProxyUser)
	if n.Bypass == nil {
		return n
	}
	bypass := make([]string, 0, len(n.Bypass))
	for _, entry := range n.Bypass {
		if entry = strings.TrimSpace(entry); entry != "" {
			bypass = append(bypass, entry)
		}
	}
	n.Bypass = bypass
	return n
}

// validProxyURL holds for a scheme, a host and perhaps a port, and nothing that
// could be a secret.
func validProxyURL(raw string) bool {
	if len(raw) > maxNetworkText || strings.ContainsFunc(raw, unicode.IsSpace) {
		return false
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(raw, "#") {
		return false
	}
	if !slices.Contains([]string{"http", "https", "socks5"}, u.Scheme) || u.Path != "" && u.Path != "/" {
		return false
	}
	return validHost(u.Hostname()) && (u.Port() == "" || validPort(u.Port())) && !strings.HasSuffix(u.Host, ":")
}

// noBypass reports whether entry can be none of NO_PROXY: "*", a host with or
// without what stands before it (".example.org", "*.example.org"), an address, a
// range of addresses ("10.0.0.0/8"), and each but the range with or without a
// port.
func noBypass(entry string) bool {
	if entry == "*" {
		return false
	}
	if len(entry) > MaxBypassEntry {
		return true
	}
	if _, err := netip.ParsePrefix(entry); err == nil {
		return false
	}
	if _, err := netip.ParseAddr(entry); err == nil {
		return false
	}
	host := entry
	if i := strings.LastIndexByte(entry, ':'); i >= 0 {
		if !validPort(entry[i+1:]) {
			return true
		}
		host = entry[:i]
		if in, ok := strings.CutPrefix(host, "["); ok {
			in, ok = strings.CutSuffix(in, "]")
			addr, err := netip.ParseAddr(in)
			return !ok || err != nil || !addr.Is6()
		}
	}
	return !validHost(strings.TrimPrefix(strings.TrimPrefix(host, "*"), "."))
}

// validHost holds for what can be the name or the address of a host.
func validHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	if len(host) > MaxBypassEntry {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		if label == "" || strings.ContainsFunc(label, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '-' && r != '_'
		}) {
			return false
		}
	}
	return true
}

func validPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// validFile holds for what can be the path of a file wherever the program stands.
func validFile(path string) bool {
	return filepath.IsAbs(path) && len(path) <= maxPath && utf8.ValidString(path) && !strings.ContainsFunc(path, unicode.IsControl)
}
