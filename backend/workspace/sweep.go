package workspace

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Leftover is a save that its process did not live to finish.
type Leftover struct {
	ID string
	// Path is the file that was being saved.
	Path string
	// AtMs is when the save began, in ms since 1970.
	AtMs int64
	// State is how the file stands now.
	State LeftoverState
	// New is the path of a copy of the bytes that were being saved.
	New string
	// NewHash is their hex SHA-256.
	NewHash string
	// Old is the path of a copy of the bytes from before; "" unless the file
	// was written in place.
	Old string
}

// LeftoverState says how the file of an unfinished save stands.
type LeftoverState string

// The states of an unfinished save.
const (
	// Unwritten: the file is as it was before the save.
	Unwritten LeftoverState = "unwritten"
	// Torn: a write in place was cut; the file may hold a mixture, and New
	// and Old are both there.
	Torn LeftoverState = "torn"
	// Changed: the file was written by something else since.
	Changed LeftoverState = "changed"
	// Missing: the file cannot be read.
	Missing LeftoverState = "missing"
)

// Valid reports whether s is one of the states.
func (s LeftoverState) Valid() bool {
	switch s {
	case Unwritten, Torn, Changed, Missing:
		return true
	}
	return false
}

// Sweep clears up behind processes that died while saving: temporary files go,
// entries of saves that were complete go, and the others are returned, newest
// first, for the person to decide on; nothing is put back by itself. It reads
// the files that were being saved, so it belongs after the window is usable.
// A recovery folder that is not there has no leftovers.
func Sweep(recoveryDir string) ([]Leftover, error) {
	return SweepOn(OSCalls(), recoveryDir, alive)
}

// SweepOn is Sweep over other calls and another way to tell living processes.
func SweepOn(calls Calls, recoveryDir string, alive func(pid int) bool) ([]Leftover, error) {
	dir, err := calls.OpenDir(recoveryDir)
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, classify("sweep", recoveryDir, err)
	}
	defer letGo(dir)
	found, err := dir.List()
	if err != nil {
		return nil, classify("sweep", recoveryDir, err)
	}
	names := make(map[string][]string) // by id
	for _, f := range found {
		id, _, _ := strings.Cut(f.Name(), ".")
		if _, pid, ok := splitID(id); ok && !alive(pid) {
			names[id] = append(names[id], f.Name())
		}
	}
	var left []Leftover
	for id, files := range names {
		if l, ok := sweepEntry(calls, dir, recoveryDir, id, files); ok {
			left = append(left, l)
		}
	}
	slices.SortFunc(left, func(a, b Leftover) int {
		if a.AtMs != b.AtMs {
			return int(b.AtMs - a.AtMs)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return left, nil
}

// sweepEntry clears up one entry and tells whether it needs a decision.
func sweepEntry(calls Calls, dir Dir, recoveryDir, id string, files []string) (Leftover, bool) {
	var newName, oldName string
	for _, f := range files {
		switch ending := f[len(id):]; {
		case strings.HasPrefix(ending, newMark):
			newName = f
		case strings.HasPrefix(ending, oldMark):
			oldName = f
		}
	}
	e, ok := readEntry(dir, id)
	if !ok {
		// Died before the entry was complete, so before the target was
		// touched, or after it was done: only an old copy means anything.
		removeAll(dir, newName, id+".json")
		return Leftover{}, false
	}
	hash, exists, err := hashFile(calls, e.Path)
	inPlace := err == nil && exists && hash == e.Hash
	theirs := ""
	if inPlace && e.BaseHash != e.Hash {
		theirs = rescue(calls, dir, e, id, oldName)
	}
	sweepTemp(calls, e, theirs)
	l := Leftover{ID: id, Path: e.Path, AtMs: e.AtMs, NewHash: e.Hash, State: Missing}
	if newName != "" {
		if hash, _, err := hashIn(dir, newName); err == nil && hash != e.Hash {
			// Cut while it was copied, so the target is untouched.
			removeAll(dir, newName)
			newName = ""
		}
	}
	if newName != "" {
		l.New = filepath.Join(recoveryDir, newName)
	}
	if theirs != "" {
		l.State, l.Old = Changed, filepath.Join(recoveryDir, theirs)
		if theirs == unrescued {
			l.Old = filepath.Join(e.Folder, e.Temp)
		}
		return l, true
	}
	if oldName != "" {
		if hash, _, err := hashIn(dir, oldName); err == nil && hash != e.BaseHash {
			// Cut while it was copied, so the target is untouched.
			removeAll(dir, oldName)
			oldName = ""
		} else {
			l.Old = filepath.Join(recoveryDir, oldName)
		}
	}
	switch {
	case inPlace, l.New == "" && l.Old == "":
		// Done, or never begun; without a copy there is nothing to decide on.
		removeAll(dir, id+".json", newName)
		return Leftover{}, false
	case err != nil:
	case hash == e.BaseHash:
		l.State = Unwritten
	case !exists:
	case oldName != "":
		l.State = Torn
	default:
		l.State = Changed
	}
	return l, true
}

// DropLeftover removes an unfinished save that the person decided on. An id
// that is not there is no error.
func DropLeftover(recoveryDir, id string) error {
	const op = "drop leftover"
	dir, err := OSCalls().OpenDir(recoveryDir)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return classify(op, recoveryDir, err)
	}
	defer letGo(dir)
	found, err := dir.List()
	if err != nil {
		return classify(op, recoveryDir, err)
	}
	for _, f := range found {
		if name, _, _ := strings.Cut(f.Name(), "."); name == id {
			if err := dir.Remove(f.Name()); err != nil && !isGone(err) {
				return classify(op, recoveryDir, err)
			}
		}
	}
	return nil
}

// SweepFolder removes the temporary files that dead processes left in one
// folder of the program's own.
func SweepFolder(path string) error {
	dir, err := OSCalls().OpenDir(path)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return classify("sweep folder", path, err)
	}
	defer letGo(dir)
	found, err := dir.List()
	if err != nil {
		return classify("sweep folder", path, err)
	}
	for _, f := range found {
		pid, ok := tempOwner(f.Name())
		if !ok || pid == os.Getpid() || alive(pid) || !f.Type().IsRegular() {
			continue
		}
		if err := dir.Remove(f.Name()); err != nil && !isGone(err) {
			return classify("sweep folder", path, err)
		}
	}
	return nil
}

func readEntry(dir Dir, id string) (entry, bool) {
	h, info, err := openFile(dir, id+".json", os.O_RDONLY, true)
	if err != nil {
		return entry{}, false
	}
	defer letGo(h)
	data, err := readAll(h, info, 1<<20)
	if err != nil {
		return entry{}, false
	}
	var e entry
	if json.Unmarshal(data, &e) != nil || e.Path == "" || e.Hash == "" {
		return entry{}, false
	}
	return e, true
}

// sweepTemp removes the temporary file that an entry names, except when theirs
// could not be copied from it. The folder may have become another since: only a
// file with a name of ours is touched, and one that cannot be removed is no
// reason to bother the person.
func sweepTemp(calls Calls, e entry, theirs string) {
	dir, ok := tempFolder(calls, e)
	if !ok {
		return
	}
	defer letGo(dir)
	if info, err := dir.Lstat(e.Temp); err == nil && info.Mode().IsRegular() && theirs != unrescued {
		_ = dir.Remove(e.Temp)
	}
}

// unrescued stands for a copy that could not be made.
const unrescued = "."

// rescue looks at what lies under the temporary name after the exchange: when
// it is not the file that was compared, something else wrote it in the very
// moment of the save, and the process died before it could give it back. Its
// copy becomes the old one of the entry, whose name is returned; "" for none.
func rescue(calls Calls, dir Dir, e entry, id, oldName string) string {
	from, ok := tempFolder(calls, e)
	if !ok {
		return ""
	}
	defer letGo(from)
	h, info, err := openFile(from, e.Temp, os.O_RDONLY, true)
	if isGone(err) && oldName != "" {
		// It was copied by an earlier sweep.
		if hash, _, err := hashIn(dir, oldName); err == nil && hash != e.BaseHash {
			return oldName
		}
		return ""
	}
	if err != nil {
		return ""
	}
	defer letGo(h)
	data, err := readAll(h, info, math.MaxInt64)
	if err != nil {
		return unrescued
	}
	if hash := hashOf(data); hash == e.BaseHash || hash == e.Hash {
		return ""
	}
	name := id + oldMark + shortExt(e.Path)
	removeAll(dir, oldName)
	if create(dir, name, data) != nil || dir.Sync() != nil {
		return unrescued
	}
	return name
}

// tempFolder opens the folder of an entry's temporary file.
func tempFolder(calls Calls, e entry) (Dir, bool) {
	if _, ours := tempOwner(e.Temp); !ours {
		return nil, false
	}
	dir, err := calls.OpenDir(e.Folder)
	return dir, err == nil
}

// hashFile hashes the file that a path leads to; "" when there is none.
func hashFile(calls Calls, path string) (hash string, exists bool, err error) {
	real, err := calls.EvalSymlinks(path)
	if isGone(err) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	dir, err := calls.OpenDir(filepath.Dir(real))
	if err != nil {
		return "", false, err
	}
	defer letGo(dir)
	return hashIn(dir, filepath.Base(real))
}

func hashIn(dir Dir, name string) (hash string, exists bool, err error) {
	h, info, err := openFile(dir, name, os.O_RDONLY, true)
	if err != nil {
		return "", !errors.Is(err, fs.ErrNotExist), err
	}
	defer letGo(h)
	data, err := readAll(h, info, math.MaxInt64)
	if err != nil {
		return "", true, err
	}
	return hashOf(data), true, nil
}

// removeAll takes files away. One that stays is met again by the next Sweep.
func removeAll(dir Dir, names ...string) {
	for _, n := range names {
		if n != "" {
			_ = dir.Remove(n)
		}
	}
}
