package network

import (
	"net/url"
	"strings"
)

// ofKDE reads the group "Proxy Settings" of kioslaverc; what comes later in
// texts wins.
func ofKDE(texts []string, target *url.URL, getenv func(string) string) (Found, error) {
	set := map[string]string{}
	for _, text := range texts {
		readGroup(text, "Proxy Settings", set)
	}
	proxy, exceptions := set["httpsProxy"], set["NoProxyFor"]
	switch set["ProxyType"] {
	case "1":
	case "2", "3":
		return Found{}, errScript
	case "4": // the names of variables of the environment
		proxy, exceptions = getenv(proxy), getenv(exceptions)
	default:
		return found("", Desktop), nil
	}
	if strings.TrimSpace(proxy) == "" && set["ProxyType"] == "1" {
		proxy = set["socksProxy"]
	}
	// "http://proxy.example 3128" is how the settings program writes it.
	proxy = strings.Join(strings.Fields(proxy), ":")
	if bypassed(splitList(exceptions), target, bypassSuffix) != (set["ReversedException"] == "true") {
		proxy = ""
	}
	return found(proxy, Desktop), nil
}

// readGroup puts the entries of one group of a desktop's ini file into set.
func readGroup(text, group string, set map[string]string) {
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			inside = line == "["+group+"]"
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !inside || !ok || strings.HasPrefix(line, "#") {
			continue
		}
		name, _, _ = strings.Cut(name, "[") // "key[$e]"
		set[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
}
