package credential

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/godbus/dbus"

	"galley/backend/fault"
)

// fakeService is a Secret Service that does what a test wants. It has one
// collection and one prompt.
type fakeService struct {
	conn       *dbus.Conn
	collection dbus.ObjectPath // noObject for none
	dismisses  bool            // the person closes the question
	prompted   chan struct{}   // gets one for each question

	// mu guards what follows.
	mu     sync.Mutex
	locked bool
	mute   chan struct{} // while set, no call is answered before it closes
}

const fakePrompt = dbus.ObjectPath("/org/freedesktop/secrets/prompt/p1")

func serve(f *fakeService) error {
	conn, err := dial(context.Background())
	if err != nil {
		return err
	}
	f.conn = conn
	f.prompted = make(chan struct{}, 8)
	for path, as := range map[dbus.ObjectPath][]string{
		secretsPath:  {"org.freedesktop.DBus.Properties", secretsService},
		f.collection: {"org.freedesktop.DBus.Properties"},
		fakePrompt:   {"org.freedesktop.Secret.Prompt"},
	} {
		for _, name := range as {
			if err := conn.Export(f, path, name); err != nil {
				return err
			}
		}
	}
	reply, err := conn.RequestName(secretsName, dbus.NameFlagDoNotQueue)
	if err == nil && reply != dbus.RequestNameReplyPrimaryOwner {
		err = errors.New("the name is taken")
	}
	return err
}

func (f *fakeService) wait() (locked bool) {
	f.mu.Lock()
	mute := f.mute
	f.mu.Unlock()
	if mute != nil {
		<-mute
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.locked
}

// Get implements org.freedesktop.DBus.Properties.
func (f *fakeService) Get(_, name string) (dbus.Variant, *dbus.Error) {
	locked := f.wait()
	switch name {
	case "Collections":
		if f.collection == noObject {
			return dbus.MakeVariant([]dbus.ObjectPath{}), nil
		}
		return dbus.MakeVariant([]dbus.ObjectPath{f.collection}), nil
	case "Locked":
		return dbus.MakeVariant(locked), nil
	}
	return dbus.Variant{}, dbus.NewError("org.freedesktop.DBus.Error.UnknownProperty", nil)
}

// ReadAlias implements org.freedesktop.Secret.Service.
func (f *fakeService) ReadAlias(string) (dbus.ObjectPath, *dbus.Error) {
	f.wait()
	return f.collection, nil
}

// OpenSession implements org.freedesktop.Secret.Service.
func (f *fakeService) OpenSession(string, dbus.Variant) (dbus.Variant, dbus.ObjectPath, *dbus.Error) {
	f.wait()
	return dbus.MakeVariant(""), secretsPath + "/session/s1", nil
}

// Unlock implements org.freedesktop.Secret.Service.
func (f *fakeService) Unlock([]dbus.ObjectPath) ([]dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	if f.wait() {
		return []dbus.ObjectPath{}, fakePrompt, nil
	}
	return []dbus.ObjectPath{f.collection}, noObject, nil
}

// Prompt implements org.freedesktop.Secret.Prompt: the person answers at once.
func (f *fakeService) Prompt(string) *dbus.Error {
	f.mu.Lock()
	if !f.dismisses {
		f.locked = false
	}
	f.mu.Unlock()
	f.prompted <- struct{}{}
	err := f.conn.Emit(fakePrompt, "org.freedesktop.Secret.Prompt.Completed", f.dismisses, dbus.MakeVariant([]dbus.ObjectPath{}))
	if err != nil {
		return dbus.MakeFailedError(err)
	}
	return nil
}

func (f *fakeService) silence() (end func()) {
	mute := make(chan struct{})
	f.mu.Lock()
	f.mute = mute
	f.mu.Unlock()
	return func() { close(mute) }
}

func login() dbus.ObjectPath { return dbus.ObjectPath(collectionPrefix + loginCollection) }

// muteSession is a service that has the name and never answers.
func muteSession(ctx context.Context, dir string) error {
	f := &fakeService{collection: login()}
	if err := serve(f); err != nil {
		return err
	}
	defer f.silence()()
	return refusal(ctx, dir, fault.KeyringTimeout)
}

// muteLaterSession is one that answers to what we ask and not to the library:
// sessions cannot be opened.
func muteLaterSession(ctx context.Context, dir string) error {
	f := &lateMute{fakeService{collection: login()}, make(chan struct{})}
	if err := serve(&f.fakeService); err != nil {
		return err
	}
	if err := f.conn.Export(f, secretsPath, secretsService); err != nil {
		return err
	}
	defer close(f.never)
	s := storeIn(dir, 500*time.Millisecond)
	defer s.Close()
	if name, err := s.KeyringName(ctx); err != nil || name != "Secret Service" {
		return fmt.Errorf("name %q: %w", name, err)
	}
	key, err := NewSecret(planted)
	if err != nil {
		return err
	}
	if err := expect(s.Set(ctx, "openai", key, Keyring), fault.KeyringTimeout); err != nil {
		return err
	}
	// The keyring may store it yet, so that where to look for it is written down.
	if left, err := filesIn(dir); err != nil || !slices.Equal(left, []string{"keys.json"}) {
		return fmt.Errorf("files were written: %v (%w)", left, err)
	}
	return errors.Join(notStored(ctx, s), noTrace(dir))
}

type lateMute struct {
	fakeService
	never chan struct{}
}

func (f *lateMute) OpenSession(string, dbus.Variant) (dbus.Variant, dbus.ObjectPath, *dbus.Error) {
	<-f.never
	return dbus.MakeVariant(""), noObject, nil
}

// dismissedSession is a locked keyring whose question the person closes.
func dismissedSession(ctx context.Context, dir string) error {
	f := &fakeService{collection: login(), locked: true, dismisses: true}
	if err := serve(f); err != nil {
		return err
	}
	if err := refusal(ctx, dir, fault.KeyringLocked); err != nil {
		return err
	}
	// Storing asked once; looking for a keyring asks nobody.
	if n := len(f.prompted); n != 1 {
		return fmt.Errorf("asked %d times", n)
	}
	return nil
}

// unlockedSession is a locked keyring that the person unlocks when asked.
func unlockedSession(ctx context.Context, dir string) error {
	f := &fakeService{collection: login(), locked: true}
	if err := serve(f); err != nil {
		return err
	}
	s := storeIn(dir, 0)
	defer s.Close()
	key, err := NewSecret(planted)
	if err != nil {
		return err
	}
	if err := expect(s.Set(ctx, "openai", key, Keyring), fault.KeyringLocked); err != nil {
		return err
	}
	select {
	case <-f.prompted:
	case <-ctx.Done():
		return errors.New("nobody was asked")
	}
	if name, err := s.KeyringName(ctx); err != nil || name != "Secret Service" {
		return fmt.Errorf("name %q: %w", name, err)
	}
	return nothingWritten(ctx, s, dir)
}

// collectionSession is a service whose keyring is not called login, as
// KWallet's and KeePassXC's are not.
func collectionSession(ctx context.Context, _ string) error {
	f := &fakeService{collection: dbus.ObjectPath(collectionPrefix + "my_20wallet_2dnew")}
	if err := serve(f); err != nil {
		return err
	}
	finder := newFinder()
	defer finder.close()
	got, err := finder.find(ctx, true)
	if err != nil || got.collection != "my wallet-new" {
		return fmt.Errorf("found %+v: %w", got, err)
	}
	return nil
}

// noCollectionSession is a service with no keyring in it.
func noCollectionSession(ctx context.Context, dir string) error {
	f := &fakeService{collection: noObject}
	if err := serve(f); err != nil {
		return err
	}
	return refusal(ctx, dir, fault.KeyringMissing)
}
