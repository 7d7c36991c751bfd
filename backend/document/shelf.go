package document

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// The bounds of the history, in stored bytes. The newest version of a file is
// never removed, whatever they say.
const (
	maxOfFile = 20 << 20
	maxOfAll  = 500 << 20
	// safeOfFile is how many of the newest versions of a file no bound of size
	// takes: the one that was saved and the one that gave way to it.
	safeOfFile = 2
)

// How long versions stay: all of the last day, the last of each hour of a
// week, the last of each day of 90 days. What gave way to another text is not
// thinned out, since it may be nowhere else.
const (
	keepAll    = 24 * time.Hour
	keepHourly = 7 * keepAll
	keepDaily  = 90 * keepAll
)

// find returns the folder of a file's versions: the one of its path, or else
// the one of a file that has the same identity and is no more where it was,
// which is then the folder of this path. The turn must be held.
func (h *history) find(of subject) (key string, err error) {
	key = pathKey(of.path)
	_, err = h.calls.Lstat(filepath.Join(h.dir, key))
	if err == nil || of.id == (workspace.Identity{}) {
		return key, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", historyFault("find history", err)
	}
	if err := h.learn(); err != nil {
		return "", err
	}
	for old, o := range h.known {
		// A number alone can be given to another file.
		same := o.id == of.id && (o.hash == of.hash || filepath.Base(o.path) == filepath.Base(of.path))
		if same && o.path != of.path && h.gone(o.path) {
			return key, h.carry(old, of.path)
		}
	}
	return key, nil
}

// learn looks once at which files there are versions of. What cannot be read is
// left out. The turn must be held.
func (h *history) learn() error {
	if h.known != nil {
		return nil
	}
	keys, err := h.keys()
	if err != nil {
		return err
	}
	h.known = map[string]origin{}
	for _, key := range keys {
		s, err := h.look(key)
		if err != nil {
			continue
		}
		for _, m := range slices.Backward(s.marks) {
			if hd, err := h.readHead(key, m.id); err == nil {
				h.known[key] = origin{path: string(hd.Path), hash: hd.Hash, id: workspace.Identity{Volume: hd.Volume, File: hd.File}}
				break
			}
		}
	}
	return nil
}

// keys names the folders of versions.
func (h *history) keys() ([]string, error) {
	dir, err := h.calls.OpenDir(h.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, historyFault("list history", err)
	}
	defer closeDir(dir)
	entries, err := dir.List()
	if err != nil {
		return nil, historyFault("list history", err)
	}
	var keys []string
	for _, e := range entries {
		if e.IsDir() && len(e.Name()) == len(pathKey("")) {
			keys = append(keys, e.Name())
		}
	}
	slices.Sort(keys)
	return keys, nil
}

// carry makes the versions in the folder old those of path. Where path has
// versions of its own they come together. The turn must be held.
func (h *history) carry(old, path string) error {
	key := pathKey(path)
	if key == old {
		return nil
	}
	dir, err := h.calls.OpenDir(h.dir)
	if err != nil {
		return historyFault("move history", err)
	}
	defer closeDir(dir)
	if _, err = dir.Lstat(key); errors.Is(err, fs.ErrNotExist) {
		err = dir.Rename(old, key)
	} else if err == nil {
		err = h.merge(dir, old, key)
	}
	if err == nil {
		err = dir.Sync()
	}
	if err != nil {
		return historyFault("move history", err)
	}
	o := h.known[old]
	delete(h.known, old)
	o.path = path
	if h.known != nil {
		h.known[key] = o
	}
	// The newest version says where the file is now.
	s, err := h.look(key)
	if err != nil || len(s.marks) == 0 {
		return err
	}
	newest := s.marks[len(s.marks)-1].id
	hd, err := h.readHead(key, newest)
	if err != nil {
		return nil //nolint:nilerr // a damaged version is met when it is read
	}
	hd.Path = workspace.StoredPath(path)
	return h.putHead(key, newest, hd)
}

// merge moves the files of one folder into another.
func (h *history) merge(dir workspace.Dir, old, key string) error {
	from, err := dir.OpenDir(old)
	if err != nil {
		return err
	}
	defer closeDir(from)
	entries, err := from.List()
	if err != nil {
		return err
	}
	// The bytes first, and what names them then.
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		return strings.Compare(filepath.Ext(a.Name()), filepath.Ext(b.Name()))
	})
	for _, e := range entries {
		if err := dir.Rename(filepath.Join(old, e.Name()), filepath.Join(key, e.Name())); err != nil {
			return err
		}
	}
	return dir.Remove(old)
}

// moved follows a file or folder that was moved.
func (h *history) moved(ctx context.Context, from, to string) error {
	if err := h.turn.take(ctx); err != nil {
		return err
	}
	defer h.turn.release()
	if err := h.learn(); err != nil {
		return err
	}
	var errs []error
	for key, o := range h.known {
		path, ok := movedPath(o.path, from, to)
		if !ok || key != pathKey(o.path) {
			continue
		}
		errs = append(errs, h.carry(key, path))
	}
	return errors.Join(errs...)
}

// movedPath is where path lies after from was moved to to.
func movedPath(path, from, to string) (string, bool) {
	if path == from {
		return to, true
	}
	rest, ok := strings.CutPrefix(path, from+string(filepath.Separator))
	return filepath.Join(to, rest), ok
}

// kept is a version as the bounds see it.
type kept struct {
	mark
	// whole is the content's hash, size its stored bytes.
	whole  string
	size   int64
	reason Reason
}

// thin returns the versions of one file, oldest first, that are to go.
func thin(versions []kept, nowMs, maxBytes int64) []kept {
	if len(versions) == 0 {
		return nil
	}
	var drop, stay []kept
	taken := map[int64]bool{}
	for i, v := range slices.Backward(versions) {
		age := time.Duration(nowMs-v.atMs) * time.Millisecond
		var slot time.Duration
		switch {
		case age <= keepAll:
		case age <= keepHourly:
			slot = time.Hour
		default:
			slot = 24 * time.Hour
		}
		bucket := int64(0)
		if slot > 0 {
			// Hours and days are told apart by their sign.
			bucket = v.atMs/slot.Milliseconds() + 1
			if slot > time.Hour {
				bucket = -bucket
			}
		}
		newest := i == len(versions)-1
		gone := age > keepDaily || slot > 0 && taken[bucket] && !v.reason.lost()
		if gone && !newest {
			drop = append(drop, v)
			continue
		}
		taken[bucket] = true
		stay = append(stay, v)
	}
	return append(drop, overSize(stay, maxBytes, safeOfFile)...)
}

// overSize returns which of the versions, newest first, are to go so that their
// contents take maxBytes at most: the oldest, and last of all what gave way to
// another text. The first safe ones stay.
func overSize(versions []kept, maxBytes int64, safe int) []kept {
	users := map[string]int{}
	total := int64(0)
	for _, v := range versions {
		if users[v.whole]++; users[v.whole] == 1 {
			total += v.size
		}
	}
	var drop []kept
	for _, lost := range []bool{false, true} {
		for i := len(versions) - 1; i >= safe && total > maxBytes; i-- {
			v := versions[i]
			if v.reason.lost() != lost {
				continue
			}
			drop = append(drop, v)
			if users[v.whole]--; users[v.whole] == 0 {
				total -= v.size
			}
		}
	}
	return drop
}

// trim keeps the folder of one file within its bound right after a version
// came; time is for tidy. The turn must be held.
func (h *history) trim(key string, s shelf) error {
	total := int64(0)
	for _, size := range s.sizes {
		total += size
	}
	if total <= h.ofFile {
		return nil
	}
	versions, _ := h.weigh(key, s)
	slices.Reverse(versions)
	return h.drop(key, s, overSize(versions, h.ofFile, safeOfFile))
}

// weigh describes all versions of a folder. One whose head is damaged counts as
// one that may be nowhere else, and is counted.
func (h *history) weigh(key string, s shelf) (versions []kept, broken int) {
	versions = make([]kept, 0, len(s.marks))
	for _, m := range s.marks {
		v := kept{mark: m, reason: VersionDiscarded}
		v.whole, v.size = s.size(m)
		hd, err := h.readHead(key, m.id)
		if err == nil {
			v.reason = hd.Reason
		}
		if err != nil || v.whole == "" {
			broken++
		}
		versions = append(versions, v)
	}
	return versions, broken
}

// drop removes versions, and then the contents that none names any more.
func (h *history) drop(key string, s shelf, versions []kept) error {
	dir, err := h.calls.OpenDir(filepath.Join(h.dir, key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return historyFault("tidy history", err)
	}
	defer closeDir(dir)
	var errs []error
	remove := func(name string) {
		if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, historyFault("tidy history", err))
		}
	}
	going := map[string]bool{}
	for _, v := range versions {
		going[v.id] = true
		remove(v.id + versionExt)
	}
	used := map[string]bool{}
	for _, m := range s.marks {
		if !going[m.id] {
			used[m.hash] = true
		}
	}
	for hash := range s.sizes {
		if !used[hash[:16]] {
			remove(hash + contentExt)
		}
	}
	return errors.Join(errs...)
}

// tidy keeps the whole history within its bounds and clears up behind writes
// that were cut. It returns how many versions are damaged.
func (h *history) tidy(ctx context.Context) (broken int, err error) {
	if err := h.turn.take(ctx); err != nil {
		return 0, err
	}
	keys, err := h.keys()
	h.turn.release()
	if err != nil {
		return 0, err
	}
	var all []held
	var errs []error
	for _, key := range keys {
		// One folder at a time, so that a save never waits for long.
		if err := h.turn.take(ctx); err != nil {
			return broken, err
		}
		versions, bad, err := h.tidyFolder(key)
		h.turn.release()
		errs = append(errs, err)
		broken += bad
		for i, v := range versions {
			all = append(all, held{kept: v, key: key, newest: i == len(versions)-1})
		}
	}
	for _, v := range overAll(all, maxOfAll) {
		if err := h.turn.take(ctx); err != nil {
			return broken, err
		}
		s, err := h.look(v.key)
		if err == nil {
			err = h.drop(v.key, s, []kept{v.kept})
		}
		h.turn.release()
		errs = append(errs, err)
	}
	return broken, errors.Join(errs...)
}

// held is a version of one of all files.
type held struct {
	kept
	key    string
	newest bool
}

// overAll is overSize for the versions of all files, of each of which the
// newest stays.
func overAll(all []held, maxBytes int64) []held {
	type stored struct{ key, whole string }
	users := map[stored]int{}
	total := int64(0)
	for _, v := range all {
		at := stored{v.key, v.whole}
		if users[at]++; users[at] == 1 {
			total += v.size
		}
	}
	slices.SortStableFunc(all, func(a, b held) int {
		if a.reason.lost() != b.reason.lost() {
			if a.reason.lost() {
				return 1
			}
			return -1
		}
		return strings.Compare(a.id, b.id)
	})
	var drop []held
	for _, v := range all {
		if total <= maxBytes {
			break
		}
		if v.newest {
			continue
		}
		drop = append(drop, v)
		at := stored{v.key, v.whole}
		if users[at]--; users[at] == 0 {
			total -= v.size
		}
	}
	return drop
}

// tidyFolder thins out one folder and returns what stays, oldest first.
func (h *history) tidyFolder(key string) (stay []kept, broken int, err error) {
	if err := workspace.SweepFolder(filepath.Join(h.dir, key)); err != nil {
		h.log.Warn("history not swept", slog.String("code", string(fault.CodeOf(err))))
	}
	s, err := h.look(key)
	if err != nil {
		return nil, 0, err
	}
	versions, broken := h.weigh(key, s)
	drop := thin(versions, h.now().UnixMilli(), h.ofFile)
	going := map[string]bool{}
	for _, v := range drop {
		going[v.id] = true
	}
	for _, v := range versions {
		if !going[v.id] {
			stay = append(stay, v)
		}
	}
	if len(versions) == 0 && len(s.sizes) == 0 {
		return nil, 0, h.removeEmpty(key)
	}
	return stay, broken, h.drop(key, s, drop)
}

// removeEmpty removes a folder without versions; one with other things stays.
func (h *history) removeEmpty(key string) error {
	dir, err := h.calls.OpenDir(h.dir)
	if err != nil {
		return historyFault("tidy history", err)
	}
	defer closeDir(dir)
	_ = dir.Remove(key) // it holds what is not ours
	return nil
}
