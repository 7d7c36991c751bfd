package credential

import (
	"context"
	"errors"

	"github.com/99designs/keyring"
	"github.com/godbus/dbus"

	"galley/backend/fault"
)

// SystemRing returns the keyring of this system: Keychain, Credential Manager,
// Secret Service or KWallet. No other place is ever fallen back to.
func SystemRing() Ring { return &systemRing{finder: newFinder()} }

type systemRing struct{ finder *finder }

// found is a keyring that can be used now.
type found struct {
	name    string
	backend keyring.BackendType
	// collection is for a Secret Service.
	collection string
}

const serviceName = "galley"

func (r *systemRing) Name(ctx context.Context) (string, error) {
	f, err := r.finder.find(ctx, false)
	return f.name, err
}

func (r *systemRing) Set(ctx context.Context, item string, data []byte) (string, error) {
	const op = "set key"
	f, ring, err := r.open(ctx, op)
	if err != nil {
		return "", err
	}
	return f.name, classify(op, ring.Set(keyring.Item{Key: item, Data: data, Label: item, Description: "API key"}))
}

func (r *systemRing) Get(ctx context.Context, item string) ([]byte, error) {
	const op = "get key"
	_, ring, err := r.open(ctx, op)
	if err != nil {
		return nil, err
	}
	got, err := ring.Get(item)
	if err != nil {
		return nil, classify(op, err)
	}
	return got.Data, nil
}

func (r *systemRing) Remove(ctx context.Context, item string) error {
	const op = "delete key"
	_, ring, err := r.open(ctx, op)
	if err != nil {
		return err
	}
	err = ring.Remove(item)
	if errors.Is(err, keyring.ErrKeyNotFound) {
		return nil
	}
	return classify(op, err)
}

func (r *systemRing) Close() { r.finder.close() }

// open opens the keyring that find found. It is looked at anew each time: a
// keyring may come, go or be locked while the program runs.
func (r *systemRing) open(ctx context.Context, op string) (found, keyring.Keyring, error) {
	f, err := r.finder.find(ctx, true)
	if err != nil {
		return found{}, nil, err
	}
	ring, err := keyring.Open(keyring.Config{
		AllowedBackends: []keyring.BackendType{f.backend},
		ServiceName:     serviceName,

		LibSecretCollectionName: f.collection,

		KWalletAppID: serviceName, KWalletFolder: serviceName,

		WinCredPrefix: serviceName,

		KeychainTrustApplication: true, KeychainAccessibleWhenUnlocked: true,
	})
	return f, ring, classify(op, err)
}

// classify gives an error of the library its fault. What cannot be told is a
// keyring that cannot be used, for which the person has a choice.
func classify(op string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, keyring.ErrKeyNotFound) {
		return ErrNoItem
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	code := fault.KeyringMissing
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		code = fault.KeyringTimeout
	}
	if e, ok := errors.AsType[dbus.Error](err); ok {
		switch e.Name {
		case "org.freedesktop.Secret.Error.IsLocked":
			code = fault.KeyringLocked
		case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.TimedOut":
			code = fault.KeyringTimeout
		}
	}
	return fault.New(code, op, err)
}
