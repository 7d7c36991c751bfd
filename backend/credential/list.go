package credential

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// maxList is how much of a list is read, in bytes.
const maxList = 1 << 20

// list is the file that says which keys are in the keyring.
type list struct{ path string }

type listing struct {
	// Scope keeps two homes of one person apart in the one keyring. It is a
	// random word and no secret.
	Scope string `json:"scope"`
	// Keys is by reference.
	Keys map[string]listed `json:"keys"`
}

type listed struct {
	Keyring    string `json:"keyring"`
	StoredAtMs int64  `json:"storedAtMs"`
}

// item is the name of a key in the keyring, which other programs share.
func (l listing) item(ref string) string { return "galley/" + l.Scope + "/" + ref }

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

func (f list) write(l listing) error { return writeJSON(f.path, l) }

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
type plain struct{ path string }

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
	return writeJSON(f.path, p)
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
		return writeJSON(f.path, p)
	}
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(f.path, err)
	}
	return nil
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

func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fault.New(fault.Internal, "write keys", errors.New("not encodable"))
	}
	return workspace.ReplaceFile(path, append(data, '\n'), 0o600)
}

func unreadable(path string, err error) error {
	e := fault.New(fault.Internal, "keys", err)
	e.Detail = path
	return e
}
