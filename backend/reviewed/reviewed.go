// Package reviewed owns sets of changes to several files that a person reviews
// before anything is written: the replacement of what a search finds, and the
// links that a move would break. It makes them, applies what was ticked, all of
// it or nothing, and takes an applied set back the same way.
//
// Files are read and written through the permits of workspace. The text of an
// open document is the page's, so that a set reads the mirror and hands back
// the edits instead of writing its file. The package knows no page. A [Manager]
// may be used by several goroutines.
//
// The invariant that matters: a file holds its bytes from before a set or those
// from after it, and the files of one set agree on which, also after a crash:
// what they held is durable before the first of them is touched, and
// [Manager.Recover] puts it back where a set was cut short.
package reviewed

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/search"
	"galley/backend/workspace"
)

// Limits of a set and of what is looked at for it.
const (
	// MaxEdits is how many edits a set has at most.
	MaxEdits = 10_000
	// MaxFiles is how many files are looked at, MaxDepth how many folders deep
	// and MaxFileBytes up to which size.
	MaxFiles     = 20_000
	MaxDepth     = 12
	MaxFileBytes = 4 << 20
	// maxBytes bounds the files that one application writes, together.
	maxBytes = 512 << 20
	// maxSets is how many sets are kept.
	maxSets = 8
	// snippetUnits is how much of a line is shown beside an edit, in UTF-16
	// units.
	snippetUnits = 80
)

// Kind says what a set is for.
type Kind string

// The kinds.
const (
	Replace Kind = "replace"
	Move    Kind = "move"
)

// Valid reports whether k is one of the kinds.
func (k Kind) Valid() bool { return k == Replace || k == Move }

// State is how far a set has come.
type State string

// The states. An undone set is done with.
const (
	Open    State = "open"
	Applied State = "applied"
	Undone  State = "undone"
)

// Valid reports whether s is one of the states.
func (s State) Valid() bool { return s == Open || s == Applied || s == Undone }

// Set is changes to several files.
type Set struct {
	ID   string
	Kind Kind
	// From and To are what is replaced and with what, or the absolute paths of
	// the move.
	From, To string
	State    State
	Files    []File
	// Cut is true when there was more than [MaxEdits] edits, or more files than
	// are looked at.
	Cut bool
}

// File is the edits to one file.
type File struct {
	// Path is absolute; for a set that moves it, the path before.
	Path string
	// Name is relative to the workspace, with slashes.
	Name string
	// DocumentID is that of the open document that the edits refer to, at
	// Version; "" for a file that is not open.
	DocumentID string
	Version    int
	// Edits are sorted and do not overlap. Positions are those of LF text.
	Edits []search.Edit
	// Problem is why the edits cannot be made; "" when they can.
	Problem fault.Code
	// Left counts the links that the move breaks and that stay as they are: a
	// name that several files have, or one that a link cannot be written with.
	Left int

	base base
}

// base is what the edits of a file were made from.
type base struct {
	// hash is that of the bytes, for a file that is not open.
	hash string
	// digest is that of the text.
	digest string
}

// Config says what a [Manager] works with.
type Config struct {
	// Grants says which files may be reached. Required.
	Grants *workspace.Grants
	// Documents are the open ones. Required.
	Documents *document.Set
	// Home is the program's own folder; sets under way are kept in
	// recovery/sets. Required.
	Home string
	// Log gets no text and no path. Required.
	Log *slog.Logger
	// Move moves a file or folder and whatever has to follow it. Both paths are
	// absolute. After an error nothing has moved. Required.
	Move func(ctx context.Context, from, to string) error
	// Find searches the workspace and hands on the files with matches; see
	// [search.Engine.Run]. Required.
	Find func(ctx context.Context, id string, q search.Query, found func([]search.File)) (search.Summary, error)
	// Calls are those by which the program's own files are written; nil is the
	// real file system.
	Calls workspace.Calls
	// FoldNames says that names which differ in case only are the same, as on
	// Windows and macOS, where it need not be set.
	FoldNames bool
}

// Manager keeps the sets of one window.
type Manager struct {
	cfg   Config
	calls workspace.Calls
	fold  bool
	// sweep is workspace.Sweep.
	sweep func(dir string) ([]workspace.Leftover, error)
	// turn lets one application, undoing or recovery run at a time.
	turn chan struct{}

	// mu guards what follows. No file is touched while it is held.
	mu   sync.Mutex
	sets []*kept
	// made names the journals that this process began.
	made map[string]bool
}

// kept is a set and what undoing it takes.
type kept struct {
	Set
	root    string
	applied *application
}

// New returns a manager without sets. It touches no file.
func New(cfg Config) (*Manager, error) {
	if cfg.Grants == nil || cfg.Documents == nil || cfg.Home == "" || cfg.Log == nil || cfg.Move == nil || cfg.Find == nil {
		return nil, fault.New(fault.Internal, "new reviewed sets", errors.New("incomplete configuration"))
	}
	m := &Manager{
		cfg: cfg, calls: cfg.Calls, sweep: workspace.Sweep, turn: make(chan struct{}, 1), made: map[string]bool{},
		fold: cfg.FoldNames || runtime.GOOS == "windows" || runtime.GOOS == "darwin",
	}
	if m.calls == nil {
		m.calls = workspace.OSCalls()
	}
	return m, nil
}

// Drop ends a set that is open. One that is not there, or no longer open, is no
// error: there is nothing to end.
func (m *Manager) Drop(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sets = slices.DeleteFunc(m.sets, func(k *kept) bool { return k.ID == id && k.State == Open })
}

// Get returns a set. Fault: not_found.
func (m *Manager) Get(id string) (Set, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(id)
	if err != nil {
		return Set{}, err
	}
	return k.Set, nil
}

// find returns a set; mu must be held.
func (m *Manager) find(id string) (*kept, error) {
	for _, k := range m.sets {
		if k.ID == id {
			return k, nil
		}
	}
	return nil, fault.New(fault.NotFound, "reviewed set", nil)
}

// add keeps a new set. Of too many the oldest goes, one that was not applied
// first.
func (m *Manager) add(k *kept) Set {
	k.ID, k.State = strings.ToLower(rand.Text()), Open
	m.mu.Lock()
	m.sets = append(m.sets, k)
	var gone *kept
	if len(m.sets) > maxSets {
		at := slices.IndexFunc(m.sets[:len(m.sets)-1], func(k *kept) bool { return k.State != Applied })
		at = max(at, 0)
		gone = m.sets[at]
		m.sets = slices.Delete(m.sets, at, at+1)
	}
	set := k.Set
	m.mu.Unlock()
	if gone != nil && gone.applied != nil {
		m.removeJournal(gone.applied.journal)
	}
	return set
}

// take waits for the turn of what writes.
func (m *Manager) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fault.New(fault.Cancelled, "reviewed set", err)
	}
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fault.New(fault.Cancelled, "reviewed set", ctx.Err())
	}
}

func (m *Manager) release() { <-m.turn }

// setsFolder is where the journals of sets are.
func (m *Manager) setsFolder() string { return filepath.Join(m.cfg.Home, "recovery", "sets") }

// recoveryFolder is where single writes keep their copies.
func (m *Manager) recoveryFolder() string { return filepath.Join(m.cfg.Home, "recovery") }

// named is a fault that names the file.
func named(code fault.Code, op, path string) error {
	return &fault.Error{Code: code, Op: op, Detail: path}
}

func nowMs() int64 { return time.Now().UnixMilli() }
