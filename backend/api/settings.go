package api

import "galley/backend/settings"

// Settings is the bound service.
type Settings struct{}

// Get is not wired yet.
func (s *Settings) Get() (SettingsState, error) {
	var r SettingsState
	return r, nil
}

// Update is not wired yet.
func (s *Settings) Update(next settings.Settings) (SettingsState, error) {
	var r SettingsState
	return r, nil
}

// SaveProvider is not wired yet.
func (s *Settings) SaveProvider(p settings.Provider) (SettingsState, error) {
	var r SettingsState
	return r, nil
}

// DeleteProvider is not wired yet.
func (s *Settings) DeleteProvider(id string) (SettingsState, error) {
	var r SettingsState
	return r, nil
}

// SetKey is not wired yet.
func (s *Settings) SetKey(req SetKeyRequest) (SettingsState, error) {
	var r SettingsState
	return r, nil
}

// DeleteKey is not wired yet.
func (s *Settings) DeleteKey(providerID string) (SettingsState, error) {
	var r SettingsState
	return r, nil
}

// TestProvider is not wired yet.
func (s *Settings) TestProvider(id string) (TestResult, error) {
	var r TestResult
	return r, nil
}
