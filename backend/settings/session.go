package settings

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// What is kept at most.
const (
	maxRecentFiles   = 50
	maxRecentFolders = 20
	maxSessions      = 20
	maxTabs          = 200
	// maxSessionPath is the longest path that is kept, in bytes.
	maxSessionPath = 32 << 10
)

const (
	// sessionDelay is how long after the first change that is not in the file
	// one is written.
	sessionDelay = 500 * time.Millisecond
	// sessionFormat is the version of the file.
	sessionFormat = 1
	// loopingStarts is how many starts in a row that died early make a loop of
	// crashes.
	loopingStarts = 2
)

// Session is how the window stood with one workspace.
type Session struct {
	// Workspace is the absolute path of the folder; "" for none.
	Workspace string `json:"workspace"`
	// Tabs are the open files in their order; never nil.
	Tabs []SessionTab `json:"tabs"`
	// Current is the path of the tab in front; "" for none.
	Current string        `json:"current"`
	Layout  SessionLayout `json:"layout"`
}

// SessionTab is how one tab stood, in UTF-16 units.
type SessionTab struct {
	// Path is absolute.
	Path   string `json:"path"`
	Anchor int    `json:"anchor"`
	Head   int    `json:"head"`
	// Top is the start of the first line that was seen.
	Top int `json:"top"`
}

// SessionLayout is what of the window's parts was open and how wide, in CSS
// pixels; a width of 0 is the default.
type SessionLayout struct {
	Sidebar      bool   `json:"sidebar"`
	SidebarWidth int    `json:"sidebarWidth"`
	SidebarView  string `json:"sidebarView"`
	Panel        bool   `json:"panel"`
	PanelWidth   int    `json:"panelWidth"`
	PanelView    string `json:"panelView"`
}

// RecentPath is a file or folder that was opened, and when.
type RecentPath struct {
	// Path is absolute.
	Path string `json:"path"`
	AtMs int64  `json:"atMs"`
}

// sessionFile is session.json.
type sessionFile struct {
	Format int `json:"format"`
	// Starts counts the starts in a row that did not live long.
	Starts int `json:"starts"`
	// Workspace is that of the last session; "" for none.
	Workspace workspace.StoredPath `json:"workspace"`
	// Sessions, Files and Folders have the newest first.
	Sessions []Session    `json:"sessions"`
	Files    []RecentPath `json:"files"`
	Folders  []RecentPath `json:"folders"`
}

// SessionConfig is what [Sessions] are made of.
type SessionConfig struct {
	Home Home
	// Log gets no path. Required.
	Log *slog.Logger
	// Now is the clock; nil for time.Now.
	Now func() time.Time
}

// Sessions is the file session.json: the last session of each workspace, and
// what was opened of late. Changes are written a moment after they are made,
// from one goroutine. Its methods may be called from any.
type Sessions struct {
	path string
	now  func() time.Time
	log  *slog.Logger

	// wake has room for one: something changed.
	wake chan struct{}
	// saving is held for a whole write.
	saving sync.Mutex

	// mu guards what follows.
	mu    sync.Mutex
	state sessionFile
	// changes counts changes of state; written is that of the file.
	changes, written int64
	keptAside        string
	// stuck is set when a broken file could not be kept aside: nothing is
	// written over it.
	stuck bool
}

// OpenSessions reads the sessions of a home. A file that is not there means
// none. One that cannot be used is kept aside as session.broken-<time>.json
// and named by KeptAside; it does not stop the start.
func OpenSessions(cfg SessionConfig) *Sessions {
	s := &Sessions{
		path: cfg.Home.Session(), now: cfg.Now, log: cfg.Log, wake: make(chan struct{}, 1),
		state: sessionFile{Format: sessionFormat},
	}
	if s.now == nil {
		s.now = time.Now
	}
	data, err := readFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s
	}
	if err == nil {
		var state sessionFile
		if err = json.Unmarshal(data, &state); err == nil && state.Format != sessionFormat {
			err = errors.New("another format")
		}
		if err == nil {
			state.clean()
			s.state = state
			return s
		}
	}
	s.setAside(err)
	return s
}

// setAside keeps a file that cannot be used. It is renamed, since it may be
// none that can be read.
func (s *Sessions) setAside(cause error) {
	kept := filepath.Join(filepath.Dir(s.path), "session.broken-"+s.now().UTC().Format("20060102T150405.000")+".json")
	if err := os.Rename(s.path, kept); err != nil {
		s.stuck = true
		s.log.Error("session file not usable and not kept aside", "err", err)
		return
	}
	s.keptAside = kept
	// An error of json may quote what it read: only its kind is told.
	s.log.Warn("session file set aside", "code", fault.CodeOf(cause))
}

// KeptAside is the path to which a broken file was moved; "" for none.
func (s *Sessions) KeptAside() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keptAside
}

// Run writes changes until ctx ends, and then what is left.
func (s *Sessions) Run(ctx context.Context) {
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			s.report(s.Flush())
			return
		case <-s.wake:
			if due == nil {
				due = time.After(sessionDelay)
			}
		case <-due:
			due = nil
			// What could not be written is tried again with the next change.
			s.report(s.Flush())
		}
	}
}

func (s *Sessions) report(err error) {
	if err != nil {
		s.log.Error("session not written", "code", fault.CodeOf(err))
	}
}

// Flush writes what changed, durably, and waits for it. Faults: disk_full,
// read_only.
func (s *Sessions) Flush() error {
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	changes := s.changes
	if changes == s.written || s.stuck {
		s.mu.Unlock()
		return nil
	}
	data, err := s.state.encode()
	s.mu.Unlock()
	if err != nil {
		return fault.New(fault.Internal, "write session", err)
	}
	if err := workspace.ReplaceFile(s.path, data, 0o600); err != nil {
		return err
	}
	s.mu.Lock()
	s.written = changes
	s.mu.Unlock()
	return nil
}

// encode returns the file; of one that would not be read again the oldest
// sessions are left out.
func (f *sessionFile) encode() ([]byte, error) {
	for {
		data, err := json.MarshalIndent(f, "", " ")
		if err != nil || len(data) <= maxFile || len(f.Sessions) == 0 {
			return data, err
		}
		f.Sessions = f.Sessions[:len(f.Sessions)-1]
	}
}

// change applies edit to the state and has it written.
func (s *Sessions) change(edit func(*sessionFile)) {
	s.mu.Lock()
	edit(&s.state)
	s.state.clean()
	s.changes++
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Begin counts a start and returns the last session; none is a Session without
// workspace and tabs. looping is true when the starts before it died early, so
// that nothing should be restored by itself. The count is on the disk when it
// returns.
func (s *Sessions) Begin() (last Session, looping bool) {
	s.change(func(f *sessionFile) {
		looping = f.Starts >= loopingStarts
		f.Starts++
	})
	s.report(s.Flush())
	s.mu.Lock()
	folder := string(s.state.Workspace)
	s.mu.Unlock()
	last, _ = s.Session(folder)
	return last, looping
}

// Survived says that this start has lived long enough, or ends well.
func (s *Sessions) Survived() {
	s.mu.Lock()
	none := s.state.Starts == 0
	s.mu.Unlock()
	if !none {
		s.change(func(f *sessionFile) { f.Starts = 0 })
	}
}

// Session returns the kept session of a workspace ("" for none) and whether
// there is one. Its Tabs are the caller's.
func (s *Sessions) Session(workspace string) (Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kept := range s.state.Sessions {
		if kept.Workspace == workspace {
			kept.Tabs = append([]SessionTab{}, kept.Tabs...)
			return kept, true
		}
	}
	return Session{Workspace: workspace, Tabs: []SessionTab{}}, false
}

// Layout returns that of the last session.
func (s *Sessions) Layout() (SessionLayout, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.state.Sessions) == 0 {
		return SessionLayout{}, false
	}
	return s.state.Sessions[0].Layout, true
}

// Keep keeps a session as the last one. It takes the Tabs over.
func (s *Sessions) Keep(session Session) {
	if had, ok := s.Session(session.Workspace); ok && s.isLast(session.Workspace) && had.equal(session) {
		return
	}
	s.change(func(f *sessionFile) {
		f.Workspace = workspace.StoredPath(session.Workspace)
		f.Sessions = slices.Insert(slices.DeleteFunc(f.Sessions, func(old Session) bool {
			return old.Workspace == session.Workspace
		}), 0, session)
	})
}

func (s *Sessions) isLast(folder string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.state.Workspace) == folder && len(s.state.Sessions) > 0 && s.state.Sessions[0].Workspace == folder
}

func (s Session) equal(t Session) bool {
	return s.Workspace == t.Workspace && s.Current == t.Current && s.Layout == t.Layout && slices.Equal(s.Tabs, t.Tabs)
}

// OpenedFile puts a file in front of the recent ones; path is absolute.
func (s *Sessions) OpenedFile(path string) {
	s.change(func(f *sessionFile) { f.Files = inFront(f.Files, path, s.now().UnixMilli()) })
}

// OpenedFolder puts a folder in front of the recent ones; path is absolute.
func (s *Sessions) OpenedFolder(path string) {
	s.change(func(f *sessionFile) { f.Folders = inFront(f.Folders, path, s.now().UnixMilli()) })
}

func inFront(list []RecentPath, path string, atMs int64) []RecentPath {
	list = slices.DeleteFunc(list, func(r RecentPath) bool { return r.Path == path })
	return slices.Insert(list, 0, RecentPath{Path: path, AtMs: atMs})
}

// Recent returns what was opened of late, newest first. The slices are the
// caller's, never nil.
func (s *Sessions) Recent() (files, folders []RecentPath) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]RecentPath{}, s.state.Files...), append([]RecentPath{}, s.state.Folders...)
}

// Forget empties the recent files and folders, and drops the sessions of all
// workspaces but the given one.
func (s *Sessions) Forget(workspace string) {
	s.change(func(f *sessionFile) {
		f.Files, f.Folders = nil, nil
		f.Sessions = slices.DeleteFunc(f.Sessions, func(old Session) bool { return old.Workspace != workspace })
	})
}

// clean brings the state within its bounds: what cannot be meant is left out.
func (f *sessionFile) clean() {
	f.Starts = max(0, f.Starts)
	if !usable(string(f.Workspace)) {
		f.Workspace = ""
	}
	seen := map[string]bool{}
	f.Sessions = slices.DeleteFunc(f.Sessions, func(s Session) bool {
		twice := seen[s.Workspace]
		seen[s.Workspace] = true
		return twice || s.Workspace != "" && !usable(s.Workspace)
	})
	f.Sessions = head(f.Sessions, maxSessions)
	for i := range f.Sessions {
		f.Sessions[i].clean()
	}
	f.Files = head(cleanRecent(f.Files), maxRecentFiles)
	f.Folders = head(cleanRecent(f.Folders), maxRecentFolders)
}

func (s *Session) clean() {
	seen := map[string]bool{}
	s.Tabs = slices.DeleteFunc(s.Tabs, func(t SessionTab) bool {
		twice := seen[t.Path]
		seen[t.Path] = true
		return twice || !usable(t.Path)
	})
	s.Tabs = head(s.Tabs, maxTabs)
	for i, t := range s.Tabs {
		s.Tabs[i] = SessionTab{Path: t.Path, Anchor: max(0, t.Anchor), Head: max(0, t.Head), Top: max(0, t.Top)}
	}
	if !slices.ContainsFunc(s.Tabs, func(t SessionTab) bool { return t.Path == s.Current }) {
		s.Current = ""
	}
	l := &s.Layout
	l.SidebarWidth, l.PanelWidth = min(max(0, l.SidebarWidth), maxWidth), min(max(0, l.PanelWidth), maxWidth)
	l.SidebarView, l.PanelView = cut(l.SidebarView), cut(l.PanelView)
}

// maxWidth is the widest that a part can be, in CSS pixels; maxName the longest
// name of a view, in bytes.
const (
	maxWidth = 10000
	maxName  = 64
)

// cut drops a name that is none of ours.
func cut(name string) string {
	if len(name) > maxName {
		return ""
	}
	return name
}

func cleanRecent(list []RecentPath) []RecentPath {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(r RecentPath) bool {
		twice := seen[r.Path]
		seen[r.Path] = true
		return twice || !usable(r.Path)
	})
}

func usable(path string) bool {
	return filepath.IsAbs(path) && len(path) <= maxSessionPath
}

// head returns the first n of a list, never nil.
func head[T any](list []T, n int) []T {
	if list == nil {
		return []T{}
	}
	return list[:min(n, len(list))]
}
