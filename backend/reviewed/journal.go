package reviewed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// A journal is a folder of the program's own with two files: the bytes that
// files hold before a change, one behind the other, and the manifest, written
// after them, that says what is to change. With the state done the change is
// complete; until then all of it is taken back.
const (
	packName     = "before.bin"
	manifestName = "manifest.json"
)

// journalState says how far a change has come.
type journalState string

const (
	writing journalState = "writing"
	done    journalState = "done"
)

// manifest is a change of several files and perhaps a move.
type manifest struct {
	State journalState `json:"state"`
	AtMs  int64        `json:"atMs"`
	// From and To are the absolute paths of the move; "" for none.
	From string `json:"from"`
	To   string `json:"to"`
	// MoveFirst moves before the files are written; their paths are those from
	// after it.
	MoveFirst bool           `json:"moveFirst"`
	Files     []manifestFile `json:"files"`
}

// manifestFile is one file that is written.
type manifestFile struct {
	// Path is where the file is when it is written.
	Path string `json:"path"`
	// Offset and Size are where its bytes from before are.
	Offset int64 `json:"offset"`
	Size   int64 `json:"size"`
	// Old and New are hex SHA-256 of the bytes before and after.
	Old string `json:"old"`
	New string `json:"new"`
}

// journal is a change under way, or one that was made.
type journal struct {
	id string
	manifest
}

// change is one file to write.
type change struct {
	path     string
	old, new []byte
	stat     workspace.Stat
}

// openJournal makes durable what a change takes to be taken back.
func (m *Manager) openJournal(id string, mf manifest, files []change) (*journal, error) {
	j := &journal{id: id, manifest: mf}
	j.State, j.AtMs = writing, nowMs()
	m.mu.Lock()
	m.made[id] = true
	m.mu.Unlock()
	var pack []byte
	for _, f := range files {
		j.Files = append(j.Files, manifestFile{
			Path: f.path, Offset: int64(len(pack)), Size: int64(len(f.old)), Old: hashOf(f.old), New: hashOf(f.new),
		})
		pack = append(pack, f.old...)
	}
	err := workspace.ReplaceFileOn(m.calls, filepath.Join(m.setsFolder(), id, packName), pack, 0o600)
	if err == nil {
		err = m.writeManifest(j)
	}
	if err != nil {
		m.removeJournal(j)
		return nil, err
	}
	return j, nil
}

func (m *Manager) writeManifest(j *journal) error {
	data, err := json.MarshalIndent(j.manifest, "", "  ")
	if err != nil {
		return fault.New(fault.Internal, "keep reviewed set", err)
	}
	return workspace.ReplaceFileOn(m.calls, filepath.Join(m.setsFolder(), j.id, manifestName), append(data, '\n'), 0o600)
}

// finish marks the change as complete: from here on it stays. A failure whose
// mark stands all the same is none.
func (m *Manager) finish(j *journal) error {
	j.State = done
	err := m.writeManifest(j)
	if err == nil {
		return nil
	}
	if read, readErr := readManifest(filepath.Join(m.setsFolder(), j.id)); readErr == nil && read.State == done {
		return nil
	}
	j.State = writing
	return err
}

// removeJournal removes a journal, the manifest first: without it the rest
// means nothing. What stays is met again by Recover.
func (m *Manager) removeJournal(j *journal) {
	dir := filepath.Join(m.setsFolder(), j.id)
	if err := os.Remove(filepath.Join(dir, manifestName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.cfg.Log.Warn("journal of a reviewed set not removed", "err", err)
		return
	}
	if err := os.RemoveAll(dir); err != nil {
		m.cfg.Log.Warn("journal of a reviewed set not removed", "err", err)
	}
}

func readManifest(dir string) (manifest, error) {
	data, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		return manifest{}, err
	}
	var mf manifest
	if err := json.Unmarshal(data, &mf); err != nil || mf.State != writing && mf.State != done {
		return manifest{}, fault.New(fault.StoreFailed, "read reviewed set", err)
	}
	return mf, nil
}

// before returns the bytes that a file held before the change. Fault:
// store_failed when they are damaged.
func (m *Manager) before(j *journal, f manifestFile) ([]byte, error) {
	const op = "read reviewed set"
	h, err := os.Open(filepath.Join(m.setsFolder(), j.id, packName))
	if err != nil {
		return nil, fault.New(fault.StoreFailed, op, err)
	}
	defer h.Close() //nolint:errcheck // it was only read
	info, err := h.Stat()
	if err != nil || f.Offset < 0 || f.Size < 0 || f.Offset > info.Size() || f.Size > info.Size()-f.Offset {
		return nil, fault.New(fault.StoreFailed, op, err)
	}
	data := make([]byte, f.Size)
	if _, err := h.ReadAt(data, f.Offset); err != nil {
		return nil, fault.New(fault.StoreFailed, op, err)
	}
	if hashOf(data) != f.Old {
		return nil, fault.New(fault.StoreFailed, op, nil)
	}
	return data, nil
}

// run makes a change: the move and the files in their order, all or nothing.
// After an error everything is as it was, or the journal still there, which
// Recover goes by.
func (m *Manager) run(ctx context.Context, id string, mf manifest, files []change) (*journal, error) {
	j, err := m.openJournal(id, mf, files)
	if err != nil {
		return nil, err
	}
	err = m.make(ctx, j, files)
	if err == nil {
		err = m.finish(j)
	}
	if err == nil {
		return j, nil
	}
	// What was begun is taken back whatever became of the caller.
	left, back := m.takeBack(context.WithoutCancel(ctx), j)
	switch {
	case back != nil:
		m.cfg.Log.Error("a reviewed set is half made and will be taken back", "err", back)
	case len(left) > 0:
		m.cfg.Log.Error("files of a reviewed set were changed meanwhile and stay", "count", len(left))
	default:
		m.removeJournal(j)
	}
	return nil, err
}

func (m *Manager) make(ctx context.Context, j *journal, files []change) error {
	if j.From != "" && j.MoveFirst {
		if err := m.cfg.Move(ctx, j.From, j.To); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return fault.New(fault.Cancelled, "write reviewed set", err)
		}
		target, err := m.cfg.Grants.PermitWrite(f.path)
		if err != nil {
			return err
		}
		if _, err := target.Write(f.new, workspace.WriteOptions{Base: f.stat, RecoveryDir: m.recoveryFolder()}); err != nil {
			return fmt.Errorf("write reviewed set: %w", err)
		}
	}
	if j.From != "" && !j.MoveFirst {
		return m.cfg.Move(ctx, j.From, j.To)
	}
	return nil
}

// takeBack makes everything what it was before the change. left are files that
// hold what nobody here wrote; they stay as they are. The error says that it
// could not be done now, and can be tried again.
func (m *Manager) takeBack(ctx context.Context, j *journal) (left []string, err error) {
	if j.From != "" {
		happened, err := m.happened(j)
		switch {
		case err != nil:
			return nil, err
		case j.MoveFirst && !happened:
			// The files were not reached.
			return nil, nil
		case !j.MoveFirst && happened:
			if err := m.cfg.Move(ctx, j.To, j.From); err != nil {
				return nil, err
			}
		}
	}
	torn := m.torn()
	for _, f := range j.Files {
		ok, err := m.restore(j, f, torn)
		if err != nil {
			return nil, err
		}
		if !ok {
			left = append(left, f.Path)
		}
	}
	if j.From != "" && j.MoveFirst {
		return left, m.cfg.Move(ctx, j.To, j.From)
	}
	return left, nil
}

// happened reports whether the move of a change happened.
func (m *Manager) happened(j *journal) (bool, error) {
	from, err := m.stands(j.From)
	if err != nil || from {
		return false, err
	}
	return m.stands(j.To)
}

// stands reports whether the folder of path has an entry spelt as its name is.
func (m *Manager) stands(path string) (bool, error) {
	folder, err := m.cfg.Grants.PermitList(filepath.Dir(path))
	if fault.CodeOf(err) == fault.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	entries, _, err := folder.List(math.MaxInt)
	if err != nil {
		return false, err
	}
	name := filepath.Base(path)
	return slices.ContainsFunc(entries, func(e workspace.Entry) bool { return e.Name == name }), nil
}

// restore puts the bytes from before back. ok is false when the file holds
// neither them nor those that were written.
func (m *Manager) restore(j *journal, f manifestFile, torn map[string]workspace.Leftover) (ok bool, err error) {
	read, err := m.cfg.Grants.PermitRead(f.Path)
	switch fault.CodeOf(err) {
	case "":
	case fault.NotFound, fault.NotAFile:
		return false, nil
	default:
		return false, err
	}
	_, stat, err := read.Read(math.MaxInt64)
	if err != nil {
		return false, err
	}
	cut, half := torn[f.Path]
	half = half && cut.NewHash == f.New
	switch {
	case stat.Hash == f.Old:
		return true, nil
	case stat.Hash != f.New && !half:
		return false, nil
	}
	old, err := m.before(j, f)
	if err != nil {
		return false, err
	}
	target, err := m.cfg.Grants.PermitWrite(f.Path)
	if err != nil {
		return false, err
	}
	if _, err = target.Write(old, workspace.WriteOptions{Base: stat, RecoveryDir: m.recoveryFolder()}); err != nil {
		return false, err
	}
	if half {
		return true, workspace.DropLeftover(m.recoveryFolder(), cut.ID)
	}
	return true, nil
}

// torn lists the files that a write in place left half written, by their paths.
func (m *Manager) torn() map[string]workspace.Leftover {
	found, err := m.sweep(m.recoveryFolder())
	if err != nil {
		m.cfg.Log.Warn("recovery folder not swept", "err", err)
		return nil
	}
	out := map[string]workspace.Leftover{}
	for _, l := range found {
		if l.State == workspace.Torn {
			out[l.Path] = l
		}
	}
	return out
}

// Recovery is what became of sets that an earlier start did not live to finish.
type Recovery struct {
	// TakenBack counts the sets of which everything is as it was.
	TakenBack int
	// Left are the files of such sets that something else wrote since, and
	// that stay as they are. Their bytes from before are kept in Kept.
	Left []string
	Kept []string
	// Waiting counts the sets whose files are not granted now.
	Waiting int
}

// Recover takes back what earlier starts left half made in folders that are
// granted by now. It belongs after the window is usable, and after each opening
// of a folder; with nothing to do it looks into one folder. Faults: cancelled;
// store_failed when the journals cannot be listed.
func (m *Manager) Recover(ctx context.Context) (Recovery, error) {
	if err := m.take(ctx); err != nil {
		return Recovery{}, err
	}
	defer m.release()
	var r Recovery
	entries, err := os.ReadDir(m.setsFolder())
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, fault.New(fault.StoreFailed, "recover reviewed sets", err)
	}
	own := m.own()
	// A change that undoes another one is newer than that.
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return len(b.Name()) - len(a.Name()) })
	for _, e := range entries {
		if e.IsDir() && !own[e.Name()] {
			m.recoverOne(ctx, e.Name(), &r)
		}
	}
	return r, nil
}

// own are the journals that this manager still needs.
func (m *Manager) own() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]bool{}
	for _, k := range m.sets {
		if k.applied != nil {
			out[k.applied.journal.id] = true
		}
	}
	return out
}

func (m *Manager) recoverOne(ctx context.Context, id string, r *Recovery) {
	dir := filepath.Join(m.setsFolder(), id)
	if _, err := os.Stat(filepath.Join(dir, keptName)); err == nil {
		return // decided on before
	}
	mf, err := readManifest(dir)
	j := &journal{id: id, manifest: mf}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// It died before anything was touched.
		m.removeJournal(j)
		return
	case err != nil:
		// It is replaced whole, so that something else damaged it.
		m.cfg.Log.Error("journal of a reviewed set not readable", "err", err)
		return
	case mf.State == done:
		m.removeJournal(j)
		return
	}
	left, err := m.takeBack(ctx, j)
	m.mu.Lock()
	made := m.made[id]
	m.mu.Unlock()
	switch code := fault.CodeOf(err); {
	case code == fault.NotGranted || code == fault.OutsideWorkspace:
		r.Waiting++
	case err != nil:
		r.Waiting++
		m.cfg.Log.Error("a reviewed set is half made", "err", err)
	case len(left) > 0 && made:
		// A write that this very process could not end looks like one of
		// something else. The next start can tell the two apart.
		r.Waiting++
	case len(left) > 0:
		m.cfg.Log.Error("files of a reviewed set were changed meanwhile and stay", "count", len(left))
		r.Left = append(r.Left, left...)
		r.Kept = append(r.Kept, dir)
		if err := workspace.ReplaceFileOn(m.calls, filepath.Join(dir, keptName), nil, 0o600); err != nil {
			m.cfg.Log.Warn("journal of a reviewed set not closed", "err", err)
		}
	default:
		r.TakenBack++
		m.cfg.Log.Warn("a reviewed set that was cut short is taken back", "files", len(mf.Files))
		m.removeJournal(j)
	}
}

// keptName marks a journal whose files something else wrote: its bytes stay for
// the person, and nobody acts by it again.
const keptName = "kept"

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
