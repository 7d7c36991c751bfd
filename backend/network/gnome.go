package network

import (
	"net"
	"net/url"
	"strings"
)

// ofGNOME reads what "gsettings list-recursively org.gnome.system.proxy" prints:
// schema, key and value a line.
func ofGNOME(text string, target *url.URL) (Found, error) {
	const schema = "org.gnome.system.proxy"
	set := map[string]string{}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		key, value, ok := strings.Cut(rest, " ")
		if name = strings.TrimPrefix(strings.TrimPrefix(name, schema), "."); ok {
			set[strings.TrimPrefix(name+"."+key, ".")] = value
		}
	}
	switch quoted(set["mode"]) {
	case "manual":
	case "auto":
		return Found{}, errScript
	default:
		return found("", Desktop), nil
	}
	if bypassed(quotedList(set["ignore-hosts"]), target, bypassSuffix) {
		return found("", Desktop), nil
	}
	at := func(scheme, kind string) string {
		host, port := quoted(set[kind+".host"]), strings.TrimSpace(set[kind+".port"])
		if host == "" || port == "" || port == "0" {
			return ""
		}
		u := url.URL{Scheme: scheme, Host: net.JoinHostPort(strings.Trim(host, "[]"), port)}
		if set[kind+".use-authentication"] == "true" {
			u.User = url.UserPassword(quoted(set[kind+".authentication-user"]), quoted(set[kind+".authentication-password"]))
		}
		return u.String()
	}
	proxy := at("http", "https")
	if proxy == "" && set["use-same-proxy"] != "false" {
		proxy = at("http", "http")
	}
	if proxy == "" {
		proxy = at("socks5", "socks")
	}
	return found(proxy, Desktop), nil
}

// quoted is the string that a value in GVariant's text form is; "" for another
// kind of value.
func quoted(s string) string {
	s, _ = nextQuoted(s)
	return s
}

// quotedList is the array of strings that a value is.
func quotedList(s string) []string {
	var all []string
	for strings.ContainsAny(s, `'"`) {
		var one string
		one, s = nextQuoted(s)
		all = append(all, one)
	}
	return all
}

// nextQuoted returns the first string in s and what follows it.
func nextQuoted(s string) (one, rest string) {
	at := strings.IndexAny(s, `'"`)
	if at < 0 {
		return "", ""
	}
	end := s[at]
	var b strings.Builder
	for i := at + 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case s[i] == end:
			return b.String(), s[i+1:]
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), ""
}
