package credential

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"galley/backend/fault"
)

// Ring is a keyring. Its methods may block longer than their context lasts:
// the libraries of some systems cannot be interrupted. Their errors carry the
// fault keyring_missing, keyring_locked or keyring_timeout.
type Ring interface {
	// Name finds the keyring and asks nobody anything.
	Name(ctx context.Context) (string, error)
	// Set stores data under item, over what is there, and returns the
	// keyring's name.
	Set(ctx context.Context, item string, data []byte) (string, error)
	// Get returns ErrNoItem when there is none.
	Get(ctx context.Context, item string) ([]byte, error)
	// Remove takes item out; none there is no error.
	Remove(ctx context.Context, item string) error
	// Close ends what waits for a person.
	Close()
}

// ErrNoItem says that the keyring does not hold an item.
var ErrNoItem = errors.New("no such item in the keyring")

// limited ends every call of a Ring after a limit. A call that does not end
// goes on alone; few can, and further ones then fail at once.
type limited struct {
	ring  Ring
	limit time.Duration
	slots chan struct{}
	calls sync.WaitGroup
}

// maxCalls is how many calls may be under way, hanging ones among them.
const maxCalls = 4

func newLimited(ring Ring, limit time.Duration) *limited {
	return &limited{ring: ring, limit: limit, slots: make(chan struct{}, maxCalls)}
}

func (l *limited) name(ctx context.Context) (string, error) {
	return call(ctx, l, "find keyring", l.ring.Name, nil)
}

// set takes back what is stored after the limit: the person was told that it was
// not. So an item must be nobody else's.
func (l *limited) set(ctx context.Context, item string, data []byte) (string, error) {
	late := func(string) { _ = l.remove(context.Background(), item) }
	return call(ctx, l, "set key", func(ctx context.Context) (string, error) {
		return l.ring.Set(ctx, item, data)
	}, late)
}

func (l *limited) get(ctx context.Context, item string) ([]byte, error) {
	return call(ctx, l, "get key", func(ctx context.Context) ([]byte, error) {
		return l.ring.Get(ctx, item)
	}, nil)
}

func (l *limited) remove(ctx context.Context, item string) error {
	_, err := call(ctx, l, "delete key", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, l.ring.Remove(ctx, item)
	}, nil)
	return err
}

// close waits for calls under way, at most for the limit.
func (l *limited) close() {
	l.ring.Close()
	done := make(chan struct{})
	var waiter sync.WaitGroup
	waiter.Go(func() {
		l.calls.Wait()
		close(done)
	})
	t := time.NewTimer(l.limit)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// call runs do and waits for it no longer than the limit. late gets the
// result of a call that succeeded when nobody waited any more.
func call[T any](ctx context.Context, l *limited, op string, do func(context.Context) (T, error), late func(T)) (T, error) {
	var none T
	inner, cancel := context.WithTimeout(ctx, l.limit)
	defer cancel()
	gaveUp := func() error {
		if ctx.Err() != nil {
			return fault.New(fault.Cancelled, op, context.Cause(ctx))
		}
		return fault.New(fault.KeyringTimeout, op, nil)
	}
	select {
	case l.slots <- struct{}{}:
	case <-inner.Done():
		return none, gaveUp()
	}

	type result struct {
		value T
		err   error
	}
	// Whoever takes token decides: the call, that its result is waited for,
	// or the waiter, that it is not.
	token := make(chan struct{}, 1)
	token <- struct{}{}
	done := make(chan result, 1)
	l.calls.Go(func() {
		var r result
		func() {
			defer func() {
				if p := recover(); p != nil {
					r.err = fault.New(fault.Internal, op, fmt.Errorf("keyring panicked: %T", p))
				}
			}()
			r.value, r.err = do(inner)
		}()
		<-l.slots
		select {
		case <-token:
			done <- r
		default:
			if r.err == nil && late != nil {
				late(r.value)
			}
		}
	})
	select {
	case r := <-done:
		return r.value, r.err
	case <-inner.Done():
	}
	select {
	case <-token:
		return none, gaveUp()
	default: // it ended at the same moment
		r := <-done
		return r.value, r.err
	}
}
