package api

import "context"

// MoveProvider puts a provider at another place in the order, counted from 0
// among those that are not the mock.
func (s *Settings) MoveProvider(id string, to int) (SettingsState, error) {
	return s.changed("move provider", func(context.Context) error { return s.store.MoveProvider(id, to) })
}

// DuplicateProvider adds a copy of a provider, named by name, right after it. Its
// key is not copied: it was given for one provider.
func (s *Settings) DuplicateProvider(id, name string) (SettingsState, error) {
	return s.changed("duplicate provider", func(context.Context) error {
		_, err := s.store.DuplicateProvider(id, name)
		return err
	})
}
