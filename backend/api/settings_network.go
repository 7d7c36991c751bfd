package api

import (
	"galley/backend/agent/task"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/settings"
)

// Network says how a provider is reached; "" as id asks for no provider.
func (s *Settings) Network(id string) (NetworkState, error) {
	return NetworkState{}, fault.New(fault.Internal, "network", nil)
}

// SetProxyPassword stores the password of the proxy as SetKey stores a key; the
// ProviderID of the request is not looked at.
func (s *Settings) SetProxyPassword(req SetKeyRequest) (SettingsState, error) {
	return SettingsState{}, fault.New(fault.Internal, "set proxy password", nil)
}

// DeleteProxyPassword deletes it wherever it is.
func (s *Settings) DeleteProxyPassword() (SettingsState, error) {
	return SettingsState{}, fault.New(fault.Internal, "delete proxy password", nil)
}

// ChooseCAFile asks for a file of certificates and makes it the extra one;
// cancelled when the person chose none, invalid_input when the file holds none.
func (s *Settings) ChooseCAFile() (SettingsState, error) {
	return SettingsState{}, fault.New(fault.Internal, "choose certificates", nil)
}

// reached is a provider as the Runner gets it.
func (s *Settings) reached(p settings.Provider) (wire.ProviderConfig, error) {
	return task.ProviderConfig(s.ctx(), s.store, s.network, p)
}
