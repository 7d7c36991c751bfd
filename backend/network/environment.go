package network

import (
	"net/url"

	"galley/backend/fault"
)

// fromEnvironment looks at the variables that programs of a terminal share. They
// are read each time: nothing else can tell that they changed. decided is false
// where they name no proxy. A name and a password in a variable are taken out of
// the address.
func fromEnvironment(getenv func(string) string, target *url.URL) (p Proxy, secret *string, decided bool, err error) {
	name, raw := firstSet(getenv, "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
	if raw == "" {
		return Proxy{}, nil, false, nil
	}
	_, list := firstSet(getenv, "NO_PROXY", "no_proxy")
	if bypassed(splitList(list), target, bypassSuffix) {
		return Proxy{Source: None}, nil, true, nil
	}
	u, user, secret, err := parseProxy(raw)
	if err != nil {
		return Proxy{}, nil, false, &fault.Error{Code: fault.Proxy, Op: "find proxy", Detail: name}
	}
	return Proxy{URL: u.String(), Host: u.Host, User: user, Source: Environment}, secret, true, nil
}

// firstSet returns the first variable that is not empty.
func firstSet(getenv func(string) string, names ...string) (name, value string) {
	for _, n := range names {
		if v := getenv(n); v != "" {
			return n, v
		}
	}
	return "", ""
}
