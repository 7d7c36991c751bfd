package task

import (
	"context"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"galley/backend/agent/wire"
	"galley/backend/credential"
	"galley/backend/fault"
	"galley/backend/network"
	"galley/backend/settings"
)

// ProviderConfig is a provider as the Runner gets it: how it is reached, and
// without its secrets, which the Runner asks for by reference when a request is
// about to be made. It waits for the system's proxy for some seconds at most. A
// file of certificates that cannot be used is left out: without it less is
// trusted, and the settings say what is wrong with it. Faults: proxy with its
// host as detail when the proxy that is set cannot be used, cancelled.
func ProviderConfig(ctx context.Context, s *settings.Store, net *network.Resolver, p settings.Provider) (wire.ProviderConfig, error) {
	now := s.Get()
	c := Named(p)
	c.Record, c.MaxOutputTokens, c.Effort = now.SendLog, p.MaxOutputTokens, p.Effort
	if t, err := strconv.ParseFloat(p.Temperature, 64); err == nil {
		c.Temperature = &t
	}
	if p.Kind == settings.KindMock {
		return c, nil
	}
	c.CredentialRef = keyRef(p)
	if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(p.BaseURL)), "https:") {
		// This machine, or no address: then the Runner says what is wrong.
		return c, nil
	}
	way, err := net.Proxy(ctx, NetworkSetting(now.Network), p.BaseURL)
	if err != nil && fault.CodeOf(err) != fault.InvalidInput {
		return wire.ProviderConfig{}, err
	}
	c.ProxyURL, c.ProxyUser = way.URL, way.User
	if way.User != "" {
		c.ProxyCredentialRef = proxyRef(way.Host)
	}
	if now.Network.CAFile != "" {
		certs, err := net.Certificates(ctx, now.Network.CAFile)
		if ctx.Err() != nil {
			return wire.ProviderConfig{}, err
		}
		c.ExtraCA = string(certs.PEM)
	}
	return c, nil
}

// Named is a provider for what the Runner knows of it without a request: it has
// neither a key nor the way there.
func Named(p settings.Provider) wire.ProviderConfig {
	return wire.ProviderConfig{ID: p.ID, Name: p.Name, Kind: p.Kind, Profile: p.Profile, BaseURL: p.BaseURL}
}

// NetworkSetting is what the person set, for package network.
func NetworkSetting(n settings.Network) network.Setting {
	return network.Setting{Mode: n.Proxy, URL: n.ProxyURL, User: n.ProxyUser, Bypass: n.Bypass}
}

// keyRef names the key of a provider. The host of its address is part of it, so
// that a run that began before the provider moved cannot have the key that was
// given since then sent to the old place.
func keyRef(p settings.Provider) string {
	u, err := url.Parse(strings.TrimSpace(p.BaseURL))
	if err != nil {
		return p.ID
	}
	return p.ID + "@" + strings.ToLower(u.Scheme+"://"+u.Host)
}

// proxyRef names the password of the proxy at host. The host is part of it, so
// that a run that began before another proxy was set cannot have the password of
// the new one sent to the old.
func proxyRef(host string) string { return settings.ProxyRef + "@" + host }

// proxyPassword returns the password of the proxy at host: the stored one where
// that proxy is the one set by hand, else the one that came with its address.
// Without any it is empty: the proxy then says that it wants one.
func proxyPassword(ctx context.Context, s *settings.Store, net *network.Resolver, keys *credential.Store, host string) (string, error) {
	set := s.Get().Network
	if set.Proxy != settings.ProxyManual {
		secret, _ := net.Password(host)
		return secret, nil
	}
	if network.ProxyHost(set.ProxyURL) != host {
		return "", nil
	}
	secret, err := keys.Get(ctx, settings.ProxyRef)
	if fault.CodeOf(err) == fault.NoKey {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return openPassword(secret.Reveal()), nil
}

// encoded begins a password that is kept in base64.
const encoded = "base64:"

// ProxyPassword makes the secret that is stored of a proxy's password. Unlike a
// key it may hold any character but control characters and begin with a blank;
// such a one is stored in another writing. Fault key_malformed as that of
// [credential.NewSecret].
func ProxyPassword(typed string) (credential.Secret, error) {
	malformed := func(detail string) (credential.Secret, error) {
		return credential.Secret{}, &fault.Error{Code: fault.KeyMalformed, Op: "read password", Detail: detail}
	}
	if typed == "" {
		return malformed("empty")
	}
	if !utf8.ValidString(typed) {
		return malformed("not UTF-8")
	}
	plain := strings.TrimSpace(typed) == typed && !strings.HasPrefix(typed, encoded)
	for _, r := range typed {
		if unicode.IsControl(r) {
			return malformed("U+" + strings.ToUpper(strconv.FormatInt(0x10000+int64(r), 16))[1:])
		}
		plain = plain && r <= unicode.MaxASCII
	}
	if !plain {
		typed = encoded + base64.StdEncoding.EncodeToString([]byte(typed))
	}
	return credential.NewSecret(typed)
}

// openPassword undoes what ProxyPassword did to it.
func openPassword(stored string) string {
	rest, ok := strings.CutPrefix(stored, encoded)
	if !ok {
		return stored
	}
	raw, err := base64.StdEncoding.DecodeString(rest)
	if err != nil {
		return stored
	}
	return string(raw)
}
