package workspace

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A journal entry is a few plain files in the recovery folder, named
// <target>-<pid>-<nonce> with an ending: .json is the entry, so that the
// temporary file is found again; .new<ext> the bytes being saved and .old<ext>
// those from before, made durable before a write in place. A write that renames
// needs neither: the old file is whole until the new one is.
type entry struct {
	// Path is the target as the person knows it.
	Path string `json:"path"`
	// Folder and Temp name the temporary file.
	Folder string `json:"folder"`
	Temp   string `json:"temp"`
	// BaseHash is that of the file when the write began; "" for a new one.
	BaseHash string `json:"baseHash"`
	// Hash is that of the bytes being saved.
	Hash string `json:"hash"`
	AtMs int64  `json:"atMs"`
}

// keptCopies is how many old copies of one file writes in place leave.
const keptCopies = 5

type journal struct {
	dir  Dir
	path string // of dir
	id   string
	ext  string
	torn bool
	// hasNew says that the copy of the new bytes is there.
	hasNew bool
}

// openJournal notes a write in the recovery folder before the target is
// touched. The note survives a kill, not a power cut, which costs no more than
// a temporary file that stays: making it durable would double the time of a
// save.
func openJournal(calls Calls, folder string, e entry) (*journal, error) {
	if err := calls.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	dir, err := calls.OpenDir(folder)
	if err != nil {
		return nil, err
	}
	j := &journal{
		dir: dir, path: folder, ext: shortExt(e.Path),
		id: targetKey(e.Path) + "-" + strconv.Itoa(os.Getpid()) + "-" + rand.Text(),
	}
	e.AtMs = time.Now().UnixMilli()
	head, err := json.MarshalIndent(e, "", "  ")
	if err == nil {
		err = write(dir, j.id+".json", append(head, '\n'), false)
	}
	if err != nil {
		j.discard()
		j.close()
		return nil, err
	}
	return j, nil
}

const (
	newMark = ".new"
	oldMark = ".old"
)

// create writes a new private file and makes its bytes durable.
func create(dir Dir, name string, data []byte) error { return write(dir, name, data, true) }

func write(dir Dir, name string, data []byte, durable bool) error {
	h, err := dir.Open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = h.WriteAt(data, 0)
	if err == nil && durable {
		err = h.Sync()
	}
	return errors.Join(err, h.Close())
}

func (j *journal) close() { letGo(j.dir) }

// harden makes the entry durable, with the bytes being saved and those from
// before, and returns the path of the copy of the latter.
func (j *journal) harden(data, old []byte) (string, error) {
	if err := create(j.dir, j.id+newMark+j.ext, data); err != nil {
		return "", err
	}
	j.hasNew = true
	name := j.id + oldMark + j.ext
	if err := create(j.dir, name, old); err != nil {
		return "", err
	}
	h, err := j.dir.Open(j.id+".json", os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	if err := errors.Join(h.Sync(), h.Close()); err != nil {
		return "", err
	}
	return filepath.Join(j.path, name), j.dir.Sync()
}

// drop ends the entry of a write that is durable: it goes, with the copies
// that earlier failures of this process left for the same file, and of the old
// copies only the last few stay. Nothing here can undo the write, so nothing
// here fails it; what stays is for Sweep.
func (j *journal) drop() {
	j.remove(".json", newMark+j.ext)
	found, err := j.dir.List()
	if err != nil {
		return
	}
	key, pid, _ := splitID(j.id)
	var old []fs.DirEntry
	for _, f := range found {
		id, mark, _ := strings.Cut(f.Name(), ".")
		k, p, ok := splitID(id)
		if !ok || k != key {
			continue
		}
		switch {
		case strings.HasPrefix("."+mark, oldMark):
			old = append(old, f)
		case p == pid:
			_ = j.dir.Remove(f.Name())
		}
	}
	if len(old) > keptCopies {
		slices.SortFunc(old, func(a, b fs.DirEntry) int { return modTime(a).Compare(modTime(b)) })
		for _, f := range old[:len(old)-keptCopies] {
			_ = j.dir.Remove(f.Name())
		}
	}
}

// discard removes the entry of a write that was refused.
func (j *journal) discard() { j.remove(".json", newMark+j.ext, oldMark+j.ext) }

// keep ends the entry of a write that failed and returns the path of a durable
// copy of the new bytes; "" when that cannot be made either. The old file is
// whole unless torn, so only then does its copy stay.
func (j *journal) keep(data []byte) string {
	if !j.torn {
		j.remove(oldMark + j.ext)
	}
	if !j.hasNew {
		j.remove(newMark + j.ext) // one that was cut
		if create(j.dir, j.id+newMark+j.ext, data) != nil || j.dir.Sync() != nil {
			j.remove(newMark + j.ext)
			return ""
		}
	}
	return filepath.Join(j.path, j.id+newMark+j.ext)
}

// remove takes files of the entry away. One that stays is for Sweep.
func (j *journal) remove(endings ...string) {
	for _, e := range endings {
		_ = j.dir.Remove(j.id + e)
	}
}

func modTime(e fs.DirEntry) time.Time {
	info, err := e.Info()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// targetKey is the same for every write of one path and tells nothing of it.
func targetKey(path string) string { return hashOf([]byte(path))[:16] }

func splitID(id string) (key string, pid int, ok bool) {
	parts := strings.Split(id, "-")
	if len(parts) != 3 {
		return "", 0, false
	}
	pid, err := strconv.Atoi(parts[1])
	return parts[0], pid, err == nil && pid > 0
}

// shortExt is the extension a copy gets, so that the person's programs open
// it.
func shortExt(path string) string {
	ext := filepath.Ext(path)
	if len(ext) > 12 || reservedName("a"+ext) || strings.Count(ext, ".") > 1 {
		return ""
	}
	return ext
}

// tempName is hidden, cannot be guessed and names its writer.
func tempName() string {
	return fmt.Sprintf("%s%d-%s%s", tempPrefix, os.Getpid(), rand.Text(), tempSuffix)
}

// tempOwner is the process that made a temporary file.
func tempOwner(name string) (pid int, ok bool) {
	if !isTemp(name) {
		return 0, false
	}
	middle := name[len(tempPrefix) : len(name)-len(tempSuffix)]
	digits, nonce, found := strings.Cut(middle, "-")
	pid, err := strconv.Atoi(digits)
	return pid, found && nonce != "" && err == nil && pid > 0
}
