package provider

import (
	"net"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"galley/backend/fault"
)

// RequestURL returns the address that a request for an answer of model goes to.
// Test and chat both use it, and it is what the person is shown (C10). Only
// Gemini's holds the model; without one a placeholder stands there.
//
// An address with a path is taken as it stands, without its last slash, and what
// the dialect needs ("/chat/completions", "/messages") is added unless it is
// there. An address without a path gets the one its host is known to need
// (OpenAI, Anthropic, Google, OpenRouter, Mistral, xAI, Azure), and "/v1" on
// loopback, where every local server has it. Any other bare host gets none,
// since nobody can know: https://api.deepseek.com is
// https://api.deepseek.com/chat/completions. A query is kept, as Azure's
// api-version. The fault is invalid_input: no URL, a user name, password or key in
// it, or http to a host that is not this machine (K7).
func RequestURL(d Dialect, base, model string) (string, error) {
	u, root, err := baseURL(d, base)
	if err != nil {
		return "", err
	}
	switch d {
	case Responses:
		u.Path = root + "/responses"
	case Messages:
		u.Path = root + "/messages"
	case Gemini:
		model = strings.TrimPrefix(strings.TrimSpace(model), "models/")
		if model == "" {
			model = "MODEL"
		}
		u.Path = root + "/models/" + model + ":streamGenerateContent"
		u.RawPath = root + "/models/" + url.PathEscape(model) + ":streamGenerateContent"
		q := u.Query()
		q.Set("alt", "sse")
		u.RawQuery = q.Encode()
	default:
		u.Path = root + "/chat/completions"
	}
	return u.String(), nil
}

// ModelsURL returns the address that lists the models of base. It is built on
// the same root as [RequestURL].
func ModelsURL(d Dialect, base string) (string, error) {
	u, root, err := baseURL(d, base)
	if err != nil {
		return "", err
	}
	// Azure lists models beside its deployments, not below one.
	if i := strings.Index(root, "/deployments/"); i >= 0 {
		root = root[:i]
	}
	u.Path = root + "/models"
	return u.String(), nil
}

// tails are what a person may have copied along with the root of an address.
func tails(d Dialect) []string {
	switch d {
	case Responses:
		return []string{"/responses", "/chat/completions", "/models"}
	case Messages:
		return []string{"/messages", "/models"}
	case Gemini:
		return []string{"/models"}
	default:
		return []string{"/chat/completions", "/models"}
	}
}

// baseURL returns the URL of base with an empty path, and the path that the
// resources of the dialect stand under, without a slash at its end.
func baseURL(d Dialect, base string) (*url.URL, string, error) {
	bad := func(detail string) (*url.URL, string, error) {
		return nil, "", &fault.Error{Code: fault.InvalidInput, Op: "address", Detail: detail}
	}
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil || u.Hostname() == "" {
		// The error of url.Parse quotes the address, which may hold a key.
		return bad("not a URL")
	}
	switch {
	case u.User != nil, d == Gemini && u.Query().Has("key"): // where Google's examples have it
		return bad("a key or password does not belong in the address")
	case u.Scheme != "https" && u.Scheme != "http":
		return bad("not an http address: " + u.Scheme)
	case u.Scheme == "http" && !IsLoopback(u.Hostname()):
		return bad("https is required for " + u.Hostname())
	}
	root := strings.TrimSuffix(path.Clean("/"+u.Path), "/")
	if i := strings.Index(root, "/models/"); d == Gemini && i >= 0 && strings.Contains(root[i:], ":") {
		root = root[:i] // a whole address, model and method too
	}
	for _, tail := range tails(d) {
		root = strings.TrimSuffix(root, tail)
	}
	if strings.Trim(u.Path, "/") == "" {
		root = knownRoot(d, strings.ToLower(u.Hostname()))
	}
	u.Path, u.RawPath, u.Fragment, u.RawFragment = "", "", "", ""
	return u, root, nil
}

// knownRoot is the path that a host needs when the person typed none.
func knownRoot(d Dialect, host string) string {
	switch {
	case d == Gemini:
		return "/v1beta"
	case IsLoopback(host):
		return "/v1"
	case host == "api.openai.com", host == "api.mistral.ai", host == "api.x.ai", host == "api.anthropic.com":
		return "/v1"
	case host == "openrouter.ai":
		return "/api/v1"
	case strings.HasSuffix(host, ".openai.azure.com"):
		return "/openai/v1"
	default:
		return ""
	}
}

// SameHost reports whether two addresses, as a person typed them, lead to the
// same scheme, host and port, so that a key given for one may go to the other.
func SameHost(a, b string) bool {
	u, err := url.Parse(strings.TrimSpace(a))
	v, err2 := url.Parse(strings.TrimSpace(b))
	return err == nil && err2 == nil && strings.EqualFold(u.Scheme, v.Scheme) && strings.EqualFold(u.Host, v.Host)
}

// IsLocalURL reports whether base, as the person typed it, leads to this
// machine; false for what is no address.
func IsLocalURL(base string) bool {
	u, err := url.Parse(strings.TrimSpace(base))
	return err == nil && IsLoopback(u.Hostname())
}

// IsLoopback reports whether host, a name or an address without a port, is this
// machine.
func IsLoopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// isLoopbackAddr reports whether a connection leads to this machine.
func isLoopbackAddr(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
