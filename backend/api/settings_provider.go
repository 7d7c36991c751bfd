package api

import "galley/backend/fault"

// MoveProvider puts a provider at another place in the order, counted from 0
// among those that are not the mock.
func (s *Settings) MoveProvider(id string, to int) (SettingsState, error) {
	return SettingsState{}, fault.New(fault.Internal, "move provider", nil)
}

// DuplicateProvider adds a copy of a provider, named by name, right after it. Its
// key is not copied: it was given for one provider.
func (s *Settings) DuplicateProvider(id, name string) (SettingsState, error) {
	return SettingsState{}, fault.New(fault.Internal, "duplicate provider", nil)
}

// MoveKeys moves the keys that lie in plain text into the keyring. A key leaves
// the file only after it was read back.
func (s *Settings) MoveKeys() (SettingsState, error) {
	return SettingsState{}, fault.New(fault.Internal, "move keys", nil)
}

// Models lists the models of a provider, with what it tells of each.
func (s *Settings) Models(id string) (ModelsResult, error) {
	return ModelsResult{}, fault.New(fault.Internal, "list models", nil)
}

// Model says what is known of one model of a provider.
func (s *Settings) Model(id, model string) (ModelDetail, error) {
	return ModelDetail{}, fault.New(fault.Internal, "describe model", nil)
}

// ForgetModel forgets what was learned or asked of one model of a provider.
func (s *Settings) ForgetModel(id, model string) (ModelDetail, error) {
	return ModelDetail{}, fault.New(fault.Internal, "forget model", nil)
}
