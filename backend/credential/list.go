package credential

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// maxList is how much of a list is read, in bytes.
const maxList = 1 << 20

// file is one of the files.
type file struct {
	path  string
	calls workspace.Calls
}

// list is the file that says which keys are in the keyring.
type list struct{ file }

type listing struct {
	// Scope keeps two homes of one person apart in the one keyring. It is a
	// random word and no secret.
	Scope string `json:"scope"`
	// Keys is by reference.
	Keys map[string]listed `json:"keys"`
	// Loose are items that were about to be put into the keyring, and of which it
	// is not known whether they got there, and those that another one took the
	// place of.
	Loose []string `json:"loose,omitempty"`
}

type listed struct {
	Keyring    string `json:"keyring"`
	StoredAtMs int64  `json:"storedAtMs"`
	// Item is the name of the key in the keyring; "" is the one that a version
	// before gave to all keys of a reference.
	Item string `json:"item,omitempty"`
}

// item is the name of a listed key in the keyring.
func (l listing) item(ref string) string {
	if item := l.Keys[ref].Item; item != "" {
		return item
	}
	return l.prefix(ref)
}

// newItem makes a name in the keyring, which other programs share.
func (l listing) newItem(ref string) string { return l.prefix(ref) + "/" + rand.Text() }

// isOf reports whether item is the name of a key of ref.
func (l listing) isOf(item, ref string) bool {
	return item == l.prefix(ref) || strings.HasPrefix(item, l.prefix(ref)+"/")
}

func (l listing) prefix(ref string) string { return "galley/" + l.Scope + "/" + ref }

// without returns l without a key, whose item is loose then.
func (l listing) without(ref string) listing {
	next := listing{Scope: l.Scope, Keys: maps.Clone(l.Keys), Loose: slices.Clone(l.Loose)}
	if _, ok := l.Keys[ref]; ok {
		next.loosen(l.item(ref))
	}
	delete(next.Keys, ref)
	return next
}

// with returns l with a key in place of the one before, whose item is loose then.
func (l listing) with(ref string, key listed) listing {
	next := l.without(ref)
	next.Keys[ref] = key
	next.tie(key.Item)
	return next
}

func (l *listing) loosen(item string) { l.Loose = append(slices.Clone(l.Loose), item) }

// tie lists an item as loose no more.
func (l *listing) tie(item string) {
	l.Loose = slices.DeleteFunc(slices.Clone(l.Loose), func(i string) bool { return i == item })
}

func (f list) read() (listing, error) {
	var l listing
	if err := readJSON(f.path, &l); err != nil {
		return listing{}, err
	}
	if l.Keys == nil {
		l.Keys = make(map[string]listed)
	}
	return l, nil
}

func (f list) write(l listing) error { return f.writeJSON(l) }

func (f list) remove(ref string) error {
	l, err := f.read()
	if err != nil {
		return err
	}
	if _, ok := l.Keys[ref]; !ok {
		return nil
	}
	delete(l.Keys, ref)
	return f.write(l)
}

// plain is the file that holds keys in plain text.
type plain struct{ file }

type plainKeys struct {
	Note string              `json:"note"`
	Keys map[string]plainKey `json:"keys"`
}

type plainKey struct {
	Key        string `json:"key"`
	StoredAtMs int64  `json:"storedAtMs"`
}

const plainNote = "These keys are in plain text. Whoever can read this file can use them."

func (f plain) read() (plainKeys, error) {
	var p plainKeys
	if err := readJSON(f.path, &p); err != nil {
		return plainKeys{}, err
	}
	if p.Keys == nil {
		p.Keys = make(map[string]plainKey)
	}
	return p, nil
}

func (f plain) get(ref string) (plainKey, bool, error) {
	p, err := f.read()
	if err != nil {
		return plainKey{}, false, err
	}
	k, ok := p.Keys[ref]
	return k, ok, nil
}

func (f plain) set(ref string, key Secret, atMs int64) error {
	p, err := f.read()
	if err != nil {
		return err
	}
	p.Note = plainNote
	p.Keys[ref] = plainKey{Key: key.Reveal(), StoredAtMs: atMs}
	return f.writeJSON(p)
}

// remove takes a key out; the file goes with the last.
func (f plain) remove(ref string) error {
	p, err := f.read()
	if err != nil {
		return err
	}
	if _, ok := p.Keys[ref]; !ok {
		return nil
	}
	delete(p.Keys, ref)
	if len(p.Keys) > 0 {
		return f.writeJSON(p)
	}
	return f.discard()
}

// readJSON fills v from a file of ours; one that is not there leaves it.
func readJSON(path string, v any) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxList) {
		err = errors.New("not a list of keys")
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return unreadable(path, err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		// The cause quotes a byte of the file, which may be of a key.
		return unreadable(path, errors.New("not JSON"))
	}
	return nil
}

func (f file) writeJSON(v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fault.New(fault.Internal, "write keys", errors.New("not encodable"))
	}
	return workspace.ReplaceFileOn(f.calls, f.path, append(data, '\n'), 0o600)
}

// discard removes the file; one that is not there is no error.
func (f file) discard() error {
	dir, err := f.calls.OpenDir(filepath.Dir(f.path))
	if err == nil {
		err = dir.Remove(filepath.Base(f.path))
		if err == nil {
			err = dir.Sync()
		}
		err = errors.Join(err, dir.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(f.path, err)
	}
	return nil
}

func unreadable(path string, err error) error {
	e := fault.New(fault.Internal, "keys", err)
	e.Detail = path
	return e
}
