package api

import (
	"sync"

	"galley/backend/fault"
)

// keyringName is what the last look for a keyring found.
type keyringName struct {
	// mu guards what follows.
	mu sync.Mutex
	// looking says that a look is under way.
	looking bool
	name    string
}

// MoveKeys moves the keys that lie in plain text into the keyring. A key leaves
// the file only after it was read back. The page is told of each that moved, even
// where another could not. Faults: keyring_missing, keyring_locked,
// keyring_timeout, key_malformed for what is no key in the file, disk_full,
// read_only.
func (s *Settings) MoveKeys() (SettingsState, error) {
	return call(s.log, "move keys", func() (SettingsState, error) {
		moved, err := s.keys.MoveToKeyring(s.ctx())
		s.log.Info("keys moved into the keyring", "moved", moved, "code", fault.CodeOf(err))
		if err != nil && moved == 0 {
			return SettingsState{}, err
		}
		return s.told(), err
	})
}

// canMoveKeys is the name of a keyring into which keys that lie in plain text can
// move, as far as is known. It asks no keyring.
func (s *Settings) canMoveKeys() string {
	if plain, err := s.keys.InPlainText(); err != nil || !plain {
		return ""
	}
	s.keyring.mu.Lock()
	defer s.keyring.mu.Unlock()
	return s.keyring.name
}

// lookForKeyring looks for a keyring while keys lie in plain text. The page does
// not wait for it: it is told when there is another answer than before. At most
// one look is under way.
func (s *Settings) lookForKeyring() {
	if plain, err := s.keys.InPlainText(); err != nil || !plain {
		return
	}
	k := &s.keyring
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.looking {
		return
	}
	k.looking = true
	s.background(func() {
		name, err := s.keys.KeyringName(s.ctx())
		if err != nil {
			s.log.Debug("no keyring for the keys in plain text", "code", fault.CodeOf(err))
			name = ""
		}
		k.mu.Lock()
		other := name != k.name
		k.looking, k.name = false, name
		k.mu.Unlock()
		if other && s.ctx().Err() == nil {
			s.told()
		}
	})
}
