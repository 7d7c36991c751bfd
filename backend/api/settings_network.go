package api

import (
	"context"
	"errors"

	"galley/backend/agent/task"
	"galley/backend/agent/wire"
	"galley/backend/credential"
	"galley/backend/fault"
	"galley/backend/network"
	"galley/backend/settings"
)

// reached is a provider as the Runner gets it.
func (s *Settings) reached(p settings.Provider) (wire.ProviderConfig, error) {
	return task.ProviderConfig(s.ctx(), s.store, s.network, p)
}

// Network says how a provider is reached; "" as id asks for no provider: then
// the proxy is the one set by hand or in the environment, and no desktop is
// asked.
func (s *Settings) Network(id string) (NetworkState, error) {
	const op = "network"
	return call(s.log, op, func() (NetworkState, error) {
		set := s.store.Get().Network
		out := NetworkState{Source: string(network.None), Certificates: []string{}, Password: s.passwordState(s.ctx())}
		way, err := s.way(op, id, set)
		switch {
		case fault.CodeOf(err) == fault.NoProvider, s.ctx().Err() != nil:
			return NetworkState{}, err
		case err == nil && way.Problem != nil:
			err = way.Problem
		case err == nil:
			out.Proxy, out.Source = way.Host, string(way.Source)
		}
		if set.CAFile != "" {
			certs, caErr := s.network.Certificates(s.ctx(), set.CAFile)
			if caErr == nil {
				out.Certificates = certs.Subjects
			} else if err == nil {
				err = caErr
			}
		}
		if err != nil {
			f := fault.From(err)
			out.Problem, out.ProblemDetail = string(f.Code), f.Detail
		}
		return out, nil
	})
}

// way is how a provider is reached. One whose address is none yet, the mock and
// a server on this machine have no proxy.
func (s *Settings) way(op, id string, set settings.Network) (network.Proxy, error) {
	if id == "" {
		return s.network.Standing(task.NetworkSetting(set))
	}
	p, ok := s.store.Provider(id)
	if !ok {
		return network.Proxy{}, fault.New(fault.NoProvider, op, nil)
	}
	way, err := s.network.Proxy(s.ctx(), task.NetworkSetting(set), p.BaseURL)
	if fault.CodeOf(err) == fault.InvalidInput {
		return network.Proxy{Source: network.None}, nil
	}
	return way, err
}

// passwordState says whether a password is kept for the proxy set by hand.
func (s *Settings) passwordState(ctx context.Context) KeyState {
	d, err := s.keys.Describe(ctx, settings.ProxyRef)
	if err != nil && !errors.Is(err, context.Canceled) {
		s.log.Info("password not described", "code", fault.CodeOf(err))
	}
	return KeyState{Place: string(d.Place), Keyring: d.Keyring, StoredAtMs: d.StoredAtMs, Path: s.home.Credentials()}
}

// SetProxyPassword stores the password of the proxy that is set by hand, as
// SetKey stores a key; the ProviderID of the request is not looked at. Without
// an address of that proxy it is invalid_input: a password is given for one
// place only.
func (s *Settings) SetProxyPassword(req SetKeyRequest) (SettingsState, error) {
	const op = "set proxy password"
	return s.changed(op, func(ctx context.Context) error {
		if network.ProxyHost(s.store.Get().Network.ProxyURL) == "" {
			return &fault.Error{Code: fault.InvalidInput, Op: op, Detail: "network.proxyUrl"}
		}
		secret, err := task.ProxyPassword(req.Key)
		if err != nil {
			return err
		}
		return s.keys.Set(ctx, settings.ProxyRef, secret, credential.Place(req.Place))
	})
}

// DeleteProxyPassword deletes it wherever it is.
func (s *Settings) DeleteProxyPassword() (SettingsState, error) {
	return s.changed("delete proxy password", func(ctx context.Context) error {
		return s.keys.Delete(ctx, settings.ProxyRef)
	})
}

// ChooseCAFile asks for a file of certificates and makes it the extra one;
// cancelled when the person chose none, invalid_input when the file holds none
// or what belongs nowhere here, with a constant of package network as detail.
func (s *Settings) ChooseCAFile() (SettingsState, error) {
	const op = "choose certificates"
	return s.changed(op, func(ctx context.Context) error {
		path, err := s.chooseCAFile(ctx)
		if err != nil {
			return fault.New(fault.Internal, op, err)
		}
		if path == "" {
			return fault.New(fault.Cancelled, op, nil)
		}
		if _, err := s.network.Certificates(ctx, path); err != nil {
			return err
		}
		next := s.store.Get()
		next.Network.CAFile = path
		return s.store.Update(next)
	})
}

// leaveNetwork comes before a change of the network's settings. A file of
// certificates is chosen in a dialog, so that the page can name none (X5). A
// proxy at another place loses its password first: it was given for one place
// only.
func (s *Settings) leaveNetwork(ctx context.Context, next settings.Network) error {
	old := s.store.Get().Network
	if next.CAFile != "" && next.CAFile != old.CAFile {
		return &fault.Error{Code: fault.InvalidInput, Op: "update settings", Detail: "network.caFile"}
	}
	was, will := network.ProxyHost(old.ProxyURL), network.ProxyHost(next.ProxyURL)
	if was == will || was == "" || will == "" && next.ProxyURL != "" {
		return nil
	}
	return s.dropKey(ctx, settings.ProxyRef)
}
