package network

import (
	"net"
	"net/url"
	"strings"
)

// ofMacOS reads what "scutil --proxy" prints: a dictionary with a key and a
// value a line. A script is not run there.
func ofMacOS(text string, target *url.URL) (Found, error) {
	set, exceptions := map[string]string{}, []string(nil)
	var open []string // the dictionaries and arrays that a line stands in
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, " : ")
		switch {
		case line == "}":
			open = open[:max(0, len(open)-1)]
		case strings.HasSuffix(line, "{"):
			open = append(open, key)
		case !ok:
		case len(open) == 1:
			set[key] = value
		case len(open) == 2 && open[1] == "ExceptionsList":
			exceptions = append(exceptions, value)
		}
	}
	if set["ExcludeSimpleHostnames"] == "1" {
		exceptions = append(exceptions, "<local>")
	}
	if bypassed(exceptions, target, bypassExact) {
		return found("", System), nil
	}
	at := func(scheme, kind string) string {
		if set[kind+"Enable"] != "1" || set[kind+"Proxy"] == "" {
			return ""
		}
		port := set[kind+"Port"]
		if port == "" || port == "0" {
			port = defaultPort(scheme)
		}
		return scheme + "://" + net.JoinHostPort(strings.Trim(set[kind+"Proxy"], "[]"), port)
	}
	proxy := at("http", "HTTPS")
	if proxy == "" {
		proxy = at("socks5", "SOCKS")
	}
	if proxy == "" && (set["ProxyAutoConfigEnable"] == "1" || set["ProxyAutoDiscoveryEnable"] == "1") {
		return Found{}, errScript
	}
	return found(proxy, System), nil
}
