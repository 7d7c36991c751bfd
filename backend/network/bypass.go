package network

import (
	"net"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// bypassKind says what a bare name in a list of exceptions means.
type bypassKind int

const (
	// bypassSuffix: a name and all below it, as NO_PROXY, GNOME and KDE mean it.
	bypassSuffix bypassKind = iota
	// bypassExact: the name alone, as Windows and macOS mean it.
	bypassExact
)

// bypassed reports whether one of rules names the host of target, which carries
// a port. A rule is a name, ".name" or "*.name" (what is below it), an address,
// a range ("10.0.0.0/8", "169.254/16"), a pattern ("10.*", "*"), or "<local>"
// for names without a dot; any of them may end with a port.
func bypassed(rules []string, target *url.URL, kind bypassKind) bool {
	host := strings.TrimSuffix(strings.ToLower(target.Hostname()), ".")
	addr, err := netip.ParseAddr(host)
	isAddr := err == nil
	for _, rule := range rules {
		rule = strings.ToLower(strings.TrimSpace(rule))
		if _, after, ok := strings.Cut(rule, "://"); ok {
			rule = after // Windows and KDE allow a scheme
		}
		name, port := splitRule(rule)
		if name == "" || port != "" && port != target.Port() {
			continue
		}
		if matches(strings.TrimSuffix(name, "."), host, addr.Unmap(), isAddr, kind) {
			return true
		}
	}
	return false
}

func matches(rule, host string, addr netip.Addr, isAddr bool, kind bypassKind) bool {
	if rule == "*" {
		return true
	}
	if rule == "<local>" {
		return !isAddr && !strings.Contains(host, ".")
	}
	if r, err := netip.ParseAddr(rule); err == nil {
		return isAddr && r.Unmap() == addr
	}
	if prefix, ok := parseRange(rule); ok {
		return isAddr && prefix.Contains(addr)
	}
	if strings.HasPrefix(rule, "*.") {
		rule = rule[1:]
	}
	switch {
	case strings.ContainsAny(rule, "*?"):
		ok, err := path.Match(rule, host)
		return err == nil && ok
	case isAddr:
		return false
	case strings.HasPrefix(rule, "."):
		return strings.HasSuffix(host, rule)
	default:
		return host == rule || kind == bypassSuffix && strings.HasSuffix(host, "."+rule)
	}
}

// splitRule takes a port off a rule, where there is one.
func splitRule(rule string) (name, port string) {
	if _, err := netip.ParseAddr(rule); err == nil {
		return rule, "" // an address of version 6 has colons of its own
	}
	if h, p, err := net.SplitHostPort(rule); err == nil {
		if _, err := strconv.ParseUint(p, 10, 16); err == nil {
			return h, p
		}
	}
	return strings.Trim(rule, "[]"), ""
}

// parseRange reads a range of addresses, also one whose last numbers are left
// out, as macOS has them.
func parseRange(s string) (netip.Prefix, bool) {
	base, bits, ok := strings.Cut(s, "/")
	if !ok {
		return netip.Prefix{}, false
	}
	if n := strings.Count(base, "."); n < 3 && !strings.Contains(base, ":") {
		base += strings.Repeat(".0", 3-n)
	}
	p, err := netip.ParsePrefix(base + "/" + bits)
	return p, err == nil
}

// splitList splits a list at commas, semicolons and blanks.
func splitList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' || r == ' ' || r == '\t' || r == '\n' })
}
