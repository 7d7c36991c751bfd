package credential

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"slices"

	"galley/backend/fault"
)

// MoveToKeyring moves every key that lies in plain text into the keyring, and
// returns how many it moved. A key leaves the file only once it was read back
// from the keyring and is listed there: until then it is said to be in the file,
// and it is. The first key that cannot be moved ends it, except one that is no
// key, which stays and is told at the end. Faults: keyring_missing,
// keyring_locked, keyring_timeout, key_malformed, disk_full, read_only.
func (s *Store) MoveToKeyring(ctx context.Context) (moved int, err error) {
	if err := s.begin(ctx, "move keys"); err != nil {
		return 0, err
	}
	defer s.end()
	p, err := s.plain.read()
	if err != nil {
		return 0, err
	}
	var odd error
	for _, ref := range slices.Sorted(maps.Keys(p.Keys)) {
		key, err := NewSecret(p.Keys[ref].Key)
		if err != nil || !validRef(ref) {
			odd = errors.Join(odd, malformed("in the file"))
			continue
		}
		if err := s.setInRing(ctx, ref, key, s.now().UnixMilli()); err != nil {
			return moved, err
		}
		if err := s.plain.remove(ref); err != nil {
			return moved, err
		}
		moved++
	}
	return moved, odd
}

// InPlainText reports whether a key lies in plain text. It calls no keyring.
func (s *Store) InPlainText() (bool, error) {
	p, err := s.plain.read()
	return len(p.Keys) > 0, err
}

// setInRing stores a key in the keyring, reads it back and lists it. Each time
// it is an item of its own: one that comes late, from a keyring that was given
// up, is in nobody's way. The item is listed as loose before it is made, so that
// what a process that died left in the keyring is removed later; the key is said
// to be there only when all was done.
func (s *Store) setInRing(ctx context.Context, ref string, key Secret, atMs int64) error {
	const op = "set key"
	l, err := s.list.read()
	if err != nil {
		return err
	}
	// A keyring that is not there, or does not answer, fails before anything is
	// written.
	if _, err := s.ring.name(ctx); err != nil && fault.CodeOf(err) != fault.KeyringLocked {
		return err
	}
	if l.Scope == "" {
		l.Scope = rand.Text()
	}
	item := l.newItem(ref)
	l.loosen(item)
	if err := s.list.write(l); err != nil {
		return err
	}
	name, err := s.ring.set(ctx, item, []byte(key.Reveal()))
	if err != nil {
		return s.undone(l, item, err)
	}
	back, err := s.ring.get(ctx, item)
	if err == nil && string(back) != key.Reveal() {
		err = fault.New(fault.KeyringMissing, op, errors.New("the keyring gave back something else"))
	}
	if errors.Is(err, ErrNoItem) {
		err = fault.New(fault.KeyringMissing, op, err)
	}
	next := l.with(ref, listed{Keyring: name, StoredAtMs: atMs, Item: item})
	if err == nil {
		err = s.list.write(next)
	}
	if err != nil {
		// Not stored is what the person is told, so it must not be.
		if s.ring.remove(context.WithoutCancel(ctx), item) == nil {
			return s.undone(l, item, err)
		}
		return err
	}
	s.tidyRing(ctx, next)
	return nil
}

// undone lists an item no more that came to nothing, unless the keyring may make
// it yet. It returns err.
func (s *Store) undone(l listing, item string, err error) error {
	if code := fault.CodeOf(err); code == fault.KeyringTimeout || code == fault.Cancelled {
		return err
	}
	l.tie(item)
	if len(l.Keys)+len(l.Loose) == 0 {
		_ = s.list.discard() // a list of nothing is none
		return err
	}
	_ = s.list.write(l) // what stays listed is looked for once more
	return err
}

// tidyRing removes loose items from the keyring. What cannot be removed stays
// listed for the next time.
func (s *Store) tidyRing(ctx context.Context, l listing) {
	if len(l.Loose) == 0 {
		return
	}
	for _, item := range slices.Clone(l.Loose) {
		if s.ring.remove(ctx, item) != nil {
			break
		}
		l.tie(item)
	}
	_ = s.list.write(l)
}

// Disown is Delete where the keyring is not there to remove the key from: the key
// is no longer of ref, whatever comes back with the keyring, and is removed from
// it when it is used next. Faults: invalid_input, disk_full, read_only.
func (s *Store) Disown(ctx context.Context, ref string) error {
	return s.remove(ctx, "disown key", ref, func() error {
		l, err := s.list.read()
		if err != nil {
			return err
		}
		if _, ok := l.Keys[ref]; !ok {
			return nil
		}
		return s.list.write(l.without(ref))
	})
}

// leaveRing removes a key from the keyring when it is listed there, and tries to
// remove what else of its name may be there. A key that is about to be removed is
// not said to be there any more, unless it cannot be.
func (s *Store) leaveRing(ctx context.Context, ref string) error {
	l, err := s.list.read()
	if err != nil {
		return err
	}
	if _, ok := l.Keys[ref]; ok {
		next := l.without(ref)
		if err := s.list.write(next); err != nil {
			return err
		}
		if err := s.ring.remove(ctx, l.item(ref)); err != nil {
			return errors.Join(err, s.list.write(l))
		}
		next.tie(l.item(ref))
		if err := s.list.write(next); err != nil {
			return err
		}
		l = next
	}
	if slices.ContainsFunc(l.Loose, func(item string) bool { return l.isOf(item, ref) }) {
		s.tidyRing(ctx, l)
	}
	return nil
}
