package credential

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/99designs/keyring"
	"github.com/godbus/dbus"

	"galley/backend/credential/nolaunch"
	"galley/backend/fault"
)

// Names of the Secret Service and of KWallet on the session bus.
const (
	secretsName    = "org.freedesktop.secrets"
	secretsPath    = dbus.ObjectPath("/org/freedesktop/secrets")
	secretsService = "org.freedesktop.Secret.Service"
	kwalletName    = "org.kde.kwalletd5"

	collectionPrefix = string(secretsPath) + "/collection/"
	noObject         = dbus.ObjectPath("/")

	// loginCollection is the one that is unlocked with the session.
	loginCollection = "login"

	// lookedFor names what find looks for, for the person.
	lookedFor = "Secret Service, KWallet"
)

// environmentRestored is set when this package is initialised, and so after
// the keyring library.
var environmentRestored = nolaunch.Restore()

// finder looks for a keyring on the session bus before the library is asked,
// which cannot tell a keyring that is missing, locked or mute from one that
// does not hold a key.
type finder struct {
	// mu guards asking, closed and stop.
	mu     sync.Mutex
	asking bool
	closed bool
	stop   func()

	prompts sync.WaitGroup
}

func newFinder() *finder { return &finder{stop: func() {}} }

// close ends a question that is on the screen.
func (f *finder) close() {
	f.mu.Lock()
	f.closed = true
	stop := f.stop
	f.mu.Unlock()
	stop()
	f.prompts.Wait()
}

// find returns the keyring that can be used. With unlock, the person is asked
// to unlock a locked one; the answer is not waited for.
func (f *finder) find(ctx context.Context, unlock bool) (found, error) {
	const op = "find keyring"
	if !environmentRestored {
		return found{}, missing(errors.New("the environment cannot be changed"))
	}
	if nolaunch.Mute() {
		return found{}, fault.New(fault.KeyringTimeout, op, errors.New("the session bus did not answer at the start"))
	}
	if nolaunch.NoBus() || os.Getenv(nolaunch.Variable) == "" {
		return found{}, missing(nil)
	}
	conn, err := dial(ctx)
	if err != nil && ctx.Err() != nil {
		return found{}, classify(op, ctx.Err())
	}
	if err != nil {
		return found{}, missing(err)
	}
	keep := false
	defer func() {
		if !keep {
			hangUp(conn)
		}
	}()
	if present(ctx, conn, secretsName) {
		collection, err := pickCollection(ctx, conn)
		switch {
		case isUnknown(err):
			// Named as startable and did not start.
		case err != nil:
			return found{}, classify(op, err)
		case collection == noObject:
			return found{}, missing(errors.New("no collection"))
		default:
			locked, err := isLocked(ctx, conn, collection)
			if err != nil {
				return found{}, classify(op, err)
			}
			if locked && unlock {
				locked, keep = f.ask(ctx, conn, collection)
			}
			if locked {
				return found{}, fault.New(fault.KeyringLocked, op, nil)
			}
			return found{
				name: "Secret Service", backend: keyring.SecretServiceBackend,
				collection: decodePath(strings.TrimPrefix(string(collection), collectionPrefix)),
			}, nil
		}
	}
	if present(ctx, conn, kwalletName) {
		return found{name: "KWallet", backend: keyring.KWalletBackend}, nil
	}
	if err := ctx.Err(); err != nil {
		return found{}, classify(op, err)
	}
	return found{}, missing(nil)
}

func missing(err error) error {
	e := fault.New(fault.KeyringMissing, "find keyring", err)
	e.Detail = lookedFor
	return e
}

// dial connects to the session bus without the library's shared connection,
// which stays dead once it broke. A bus that has come to hang is not waited for
// when ctx has ended: the call that met it would take up one of few for ever.
func dial(ctx context.Context) (*dbus.Conn, error) {
	conn, err := dbus.Dial(os.Getenv(nolaunch.Variable))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { hangUp(conn) })
	if err = conn.Auth(nil); err == nil {
		err = conn.Hello()
	}
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		hangUp(conn)
		return nil, err
	}
	return conn, nil
}

// hangUp ends a connection. Every call on it had its answer or is given up, so
// that an error of Close tells nothing.
func hangUp(conn *dbus.Conn) { _ = conn.Close() }

// present reports whether somebody answers to name, or would be started.
func present(ctx context.Context, conn *dbus.Conn, name string) bool {
	bus := conn.BusObject()
	var owned bool
	if bus.CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, name).Store(&owned) == nil && owned {
		return true
	}
	var startable []string
	err := bus.CallWithContext(ctx, "org.freedesktop.DBus.ListActivatableNames", 0).Store(&startable)
	return err == nil && slices.Contains(startable, name)
}

// pickCollection returns the login collection, else the default one, else
// noObject. Making one would ask for a new password.
func pickCollection(ctx context.Context, conn *dbus.Conn) (dbus.ObjectPath, error) {
	v, err := property(ctx, conn, secretsPath, secretsService, "Collections")
	if err != nil {
		return noObject, err
	}
	all, _ := v.Value().([]dbus.ObjectPath)
	if login := dbus.ObjectPath(collectionPrefix + loginCollection); slices.Contains(all, login) {
		return login, nil
	}
	var path dbus.ObjectPath
	err = conn.Object(secretsName, secretsPath).CallWithContext(ctx, secretsService+".ReadAlias", 0, "default").Store(&path)
	if err != nil {
		return noObject, err
	}
	if !strings.HasPrefix(string(path), collectionPrefix) {
		return noObject, nil
	}
	return path, nil
}

func isLocked(ctx context.Context, conn *dbus.Conn, collection dbus.ObjectPath) (bool, error) {
	v, err := property(ctx, conn, collection, "org.freedesktop.Secret.Collection", "Locked")
	if err != nil {
		return false, err
	}
	locked, ok := v.Value().(bool)
	return locked || !ok, nil
}

func property(ctx context.Context, conn *dbus.Conn, path dbus.ObjectPath, of, name string) (dbus.Variant, error) {
	var v dbus.Variant
	err := conn.Object(secretsName, path).CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0, of, name).Store(&v)
	return v, err
}

// askFor is how long the question for a password stays.
const askFor = 2 * time.Minute

// ask has the keyring ask the person to unlock a collection, once at a time.
// The keyring takes its question back when the connection ends, so keep is
// true while it is there.
func (f *finder) ask(ctx context.Context, conn *dbus.Conn, collection dbus.ObjectPath) (locked, keep bool) {
	f.mu.Lock()
	if f.asking || f.closed {
		f.mu.Unlock()
		return true, false
	}
	f.asking = true
	f.mu.Unlock()
	done := func() {
		f.mu.Lock()
		f.asking = false
		f.stop = func() {}
		f.mu.Unlock()
	}

	var unlocked []dbus.ObjectPath
	var prompt dbus.ObjectPath
	err := conn.Object(secretsName, secretsPath).
		CallWithContext(ctx, secretsService+".Unlock", 0, []dbus.ObjectPath{collection}).Store(&unlocked, &prompt)
	if err != nil || prompt == noObject {
		done()
		return !slices.Contains(unlocked, collection), false
	}
	answers := make(chan *dbus.Signal, 8)
	conn.Signal(answers)
	const promptInterface = "org.freedesktop.Secret.Prompt"
	err = conn.AddMatchSignal(dbus.WithMatchObjectPath(prompt), dbus.WithMatchInterface(promptInterface))
	if err == nil {
		err = conn.Object(secretsName, prompt).CallWithContext(ctx, promptInterface+".Prompt", 0, "").Err
	}
	if err != nil {
		done()
		return true, false
	}
	wait, stop := context.WithTimeout(context.WithoutCancel(ctx), askFor)
	f.mu.Lock()
	f.stop = stop
	f.mu.Unlock()
	f.prompts.Go(func() {
		defer stop()
		defer done()
		defer hangUp(conn)
		for {
			select {
			case <-wait.Done():
				return
			case s, ok := <-answers:
				if !ok || s.Path == prompt {
					return
				}
			}
		}
	})
	return true, true
}

// isUnknown reports whether err says that nobody answers to a name.
func isUnknown(err error) bool {
	e, ok := errors.AsType[dbus.Error](err)
	if !ok {
		return false
	}
	return e.Name == "org.freedesktop.DBus.Error.ServiceUnknown" || e.Name == "org.freedesktop.DBus.Error.NameHasNoOwner" ||
		strings.HasPrefix(e.Name, "org.freedesktop.DBus.Error.Spawn.")
}

// decodePath undoes the escapes of an object path's last element (`_2d`).
func decodePath(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '_' && i+2 < len(s) {
			if raw, err := hex.DecodeString(s[i+1 : i+3]); err == nil {
				b.Write(raw)
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
