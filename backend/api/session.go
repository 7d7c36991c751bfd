package api

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/settings"
	"galley/backend/workspace"
)

const (
	// earlyDeath is how long a start must live to be no part of a loop of
	// crashes.
	earlyDeath = 10 * time.Second
	// sessionRest is how long the window rests before its session is looked at.
	sessionRest = 200 * time.Millisecond
	// maxOpenings is how many requests to open something may wait.
	maxOpenings = 64
)

// sessions opens what a gesture or the stored session names, one thing after
// another, and keeps how the window stands for the next start. Nothing is
// opened before a page has attached (F11).
type sessions struct {
	set      *document.Set
	grants   *workspace.Grants
	gestures gestures
	store    *settings.Sessions
	emitter  *Emitter
	log      *slog.Logger
	// aim is called when something may have been opened or closed. It does not
	// wait.
	aim func()
	// entered is called when a folder is open, before its documents are.
	entered func(context.Context)
	// last is the session of the start before; looping says that the starts
	// before this one died early, so that nothing is restored by itself.
	last    settings.Session
	looping bool

	// first is closed when a page has attached.
	first func()
	ready chan struct{}
	// begun is closed when what this start opens is open.
	begun chan struct{}
	// openings are done in their order by run; changed has room for one.
	openings chan func(context.Context)
	changed  chan struct{}

	// mu guards what follows.
	mu sync.Mutex
	// page is the number of the page in charge.
	page int64
	// views are how the tabs stand, by the id of the document, and order their
	// ids as they were last reported.
	views   map[string]DocumentView
	order   []string
	layout  Layout
	current string
	// paused is above 0 while tabs are restored, and for good once the end has
	// been asked for: what is open is not the session then.
	paused int
	// named is set when the command line asked for something: then the last
	// session is not restored.
	named bool
	// hidden are the drafts that this start restores by itself, until it has.
	hidden map[string]bool
}

func newSessions(set *document.Set, grants *workspace.Grants, by gestures, store *settings.Sessions, emitter *Emitter, log *slog.Logger) *sessions {
	s := &sessions{
		set: set, grants: grants, gestures: by, store: store, emitter: emitter, log: log,
		ready: make(chan struct{}), begun: make(chan struct{}), openings: make(chan func(context.Context), maxOpenings), changed: make(chan struct{}, 1),
		views: map[string]DocumentView{}, hidden: map[string]bool{},
		layout: Layout{Sidebar: true}, entered: func(context.Context) {}, aim: func() {}, paused: 1, // until the start is over
	}
	s.first = sync.OnceFunc(func() { close(s.ready) })
	s.last, s.looping = store.Begin()
	if l, ok := store.Layout(); ok {
		s.layout = Layout(l)
	}
	return s
}

// run opens what there is to open, from the first page on, until ctx ends.
func (s *sessions) run(ctx context.Context) {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return
	}
	s.begin(ctx)
	for range len(s.openings) {
		// What the command line names.
		(<-s.openings)(ctx)
	}
	close(s.begun)
	alive := time.After(earlyDeath)
	var rest <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case open := <-s.openings:
			open(ctx)
		case <-alive:
			s.store.Survived()
		case <-s.changed:
			if rest == nil {
				rest = time.After(sessionRest)
			}
		case <-rest:
			rest = nil
			s.keep()
		}
	}
}

// begin restores the last session, unless the command line or a loop of crashes
// says otherwise.
func (s *sessions) begin(ctx context.Context) {
	s.mu.Lock()
	named := s.named
	s.mu.Unlock()
	if !named && !s.looping {
		if s.last.Workspace != "" {
			s.reopenFolder(s.last.Workspace)
			s.entered(ctx)
		}
		s.reopen(ctx, s.last)
		s.reopenUntitled(ctx)
	}
	s.revealDrafts(ctx)
	s.resume()
}

// attach says that a page attached and has the number.
func (s *sessions) attach(page int64) {
	s.mu.Lock()
	s.page = page
	s.mu.Unlock()
	s.first()
}

// pageNow is the number of the page in charge.
func (s *sessions) pageNow() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.page
}

// startNamed says that the command line asks for something.
func (s *sessions) startNamed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.named = true
}

// openNamed opens files and folders that the person named outside of the page:
// on the command line, by a second start, by a drop. What cannot be opened is
// told to the page. It never blocks.
func (s *sessions) openNamed(paths []string) {
	s.enqueue(func(ctx context.Context) {
		for _, path := range paths {
			s.keep()
			before := s.grants.Workspace()
			given, isFolder, err := s.gestures.named(path)
			switch {
			case err != nil:
			case isFolder:
				s.enter(ctx, before, given, true)
			default:
				err = s.openFile(ctx, given)
			}
			if err != nil {
				s.tellFailed(path, err)
			}
		}
	})
}

// enqueue has something done when what came before is.
func (s *sessions) enqueue(open func(context.Context)) {
	select {
	case s.openings <- open:
	default:
		s.log.Error("too much to open at once, left out")
	}
}

func (s *sessions) openFile(ctx context.Context, path string) error {
	info, err := s.set.Open(ctx, path)
	if err != nil {
		return err
	}
	s.opened(info.Path)
	s.emitter.Emit("document.opened", DocumentOpened{Document: documentOf(info)})
	return nil
}

func (s *sessions) tellFailed(path string, err error) {
	code := asFault(err).Code
	s.log.Warn("not opened", "code", code)
	s.emitter.Emit("open.failed", OpenFailed{Path: path, Code: string(code)})
}

// opened puts a file that the person opened among the recent ones.
func (s *sessions) opened(path string) {
	if path != "" {
		s.store.OpenedFile(path)
	}
	s.poke()
}

// poke says that something about the session changed. It never blocks.
func (s *sessions) poke() {
	s.aim()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// changeFolder is to be called round a gesture that may grant a folder: it
// keeps the session of the folder that is left, and enters the new one, where
// readme says whether a folder that was never open opens its README. The path
// is empty where the person cancelled.
func (s *sessions) changeFolder(readme bool, gesture func() (string, error)) (string, error) {
	s.keep()
	before := s.grants.Workspace()
	path, err := gesture()
	if err != nil || path == "" {
		return "", err
	}
	s.aim()
	s.enqueue(func(ctx context.Context) { s.enter(ctx, before, path, readme) })
	return path, nil
}

// enter makes a granted folder the workspace: what belongs to the one before
// and has nothing unsaved is put away, and what was open here comes back. A
// folder that is new opens its README if it is to.
func (s *sessions) enter(ctx context.Context, before, path string, readme bool) {
	s.pause()
	defer s.resume()
	s.entered(ctx)
	s.store.OpenedFolder(path)
	session, known := s.store.Session(path)
	if before == path {
		s.emitter.Emit("workspace.opened", WorkspaceOpened{Workspace: workspaceOf(path), PutAway: []string{}})
		return
	}
	s.emitter.Emit("workspace.opened", WorkspaceOpened{Workspace: workspaceOf(path), PutAway: s.putAway(before, session)})
	if known {
		s.reopen(ctx, session)
		s.revealDrafts(ctx)
		return
	}
	if !readme {
		return
	}
	for _, name := range []string{"README.md", "readme.md", "Readme.md"} {
		if info, err := s.set.Open(ctx, filepath.Join(path, name)); err == nil {
			s.emitter.Emit("document.opened", DocumentOpened{Document: documentOf(info)})
			return
		}
	}
}

// putAway lists the documents that leave with a folder.
func (s *sessions) putAway(before string, next settings.Session) []string {
	ids := []string{}
	if before == "" {
		return ids
	}
	for _, info := range s.set.List() {
		stays := info.Dirty || !within(before, info.Path) || within(next.Workspace, info.Path) ||
			slices.ContainsFunc(next.Tabs, func(t settings.SessionTab) bool { return t.Path == info.Path })
		if !stays {
			ids = append(ids, info.ID)
		}
	}
	return ids
}

// within reports whether path is named as a place inside of folder.
func within(folder, path string) bool {
	return path != "" && strings.HasPrefix(path, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
}

// reopenFolder grants the folder of the last session again.
func (s *sessions) reopenFolder(path string) {
	given, err := s.gestures.storedFolder(path)
	if err != nil {
		s.tellFailed(path, err)
		return
	}
	s.emitter.Emit("workspace.opened", WorkspaceOpened{Workspace: workspaceOf(given), PutAway: []string{}})
}

// reopen opens the tabs of a stored session, each with the draft that an earlier
// start left of it, if its file is still what the draft was made from.
func (s *sessions) reopen(ctx context.Context, session settings.Session) {
	tabs := slices.DeleteFunc(session.Tabs, func(t settings.SessionTab) bool {
		err := s.gestures.storedFile(t.Path)
		if err != nil {
			s.tellFailed(t.Path, err)
		}
		return err != nil
	})
	drafts, err := s.set.Drafts(ctx)
	if err != nil {
		return // the program ends
	}
	front := session.Current
	if front == "" && len(tabs) > 0 {
		front = tabs[len(tabs)-1].Path
	}
	for _, tab := range tabs {
		info, err := s.reopenTab(ctx, tab, drafts)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.tellFailed(tab.Path, err)
			continue
		}
		d := documentOf(info)
		if d.RestoredAtMs == 0 && info.Version == 1 {
			d.Anchor, d.Head = min(tab.Anchor, d.Length), min(tab.Head, d.Length)
		}
		d.Top = min(tab.Top, d.Length)
		s.mu.Lock()
		s.views[d.ID] = DocumentView{ID: d.ID, Anchor: d.Anchor, Head: d.Head, Top: d.Top}
		if !slices.Contains(s.order, d.ID) {
			s.order = append(s.order, d.ID)
		}
		if tab.Path == front {
			s.current = d.ID
		}
		s.mu.Unlock()
		s.emitter.Emit("document.opened", DocumentOpened{Document: d, Background: tab.Path != front})
	}
}

func (s *sessions) reopenTab(ctx context.Context, tab settings.SessionTab, drafts []document.Draft) (document.Info, error) {
	own := slices.DeleteFunc(slices.Clone(drafts), func(d document.Draft) bool { return d.Path != tab.Path })
	// Of two drafts the person decides, and of one that a newer file stands
	// against.
	if len(own) == 1 && !own[0].Conflict && !s.looping {
		info, err := s.set.RestoreDraft(ctx, s.pageNow(), own[0].ID)
		if err == nil {
			return info, nil
		}
		s.log.Warn("draft not restored by itself", "code", fault.CodeOf(err))
	}
	return s.set.Open(ctx, tab.Path)
}

// reopenUntitled restores the drafts of documents without a file.
func (s *sessions) reopenUntitled(ctx context.Context) {
	drafts, err := s.set.Drafts(ctx)
	if err != nil {
		return // the program ends
	}
	slices.Reverse(drafts) // the oldest first, as they were made
	for _, d := range drafts {
		if d.Path != "" {
			continue
		}
		info, err := s.set.RestoreDraft(ctx, s.pageNow(), d.ID)
		if err != nil {
			s.log.Warn("draft not restored by itself", "code", fault.CodeOf(err))
			continue
		}
		s.mu.Lock()
		background := s.current != ""
		if !background {
			s.current = info.ID
		}
		s.mu.Unlock()
		s.emitter.Emit("document.opened", DocumentOpened{Document: documentOf(info), Background: background})
	}
}

// offered lists the drafts that wait for a decision now. Those that this start
// restores by itself are told of later, where it did not.
func (s *sessions) offered(ctx context.Context) ([]Draft, error) {
	left, err := s.set.Drafts(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	restoring := s.page == 0 && !s.named && !s.looping
	out := make([]Draft, 0, len(left))
	for _, d := range left {
		if restoring && (d.Path == "" || slices.ContainsFunc(s.last.Tabs, func(t settings.SessionTab) bool { return t.Path == d.Path })) {
			s.hidden[d.ID] = true
		}
		if !s.hidden[d.ID] {
			out = append(out, Draft(d))
		}
	}
	return out, nil
}

// revealDrafts tells of the drafts that were held back and are still there.
func (s *sessions) revealDrafts(ctx context.Context) {
	left, err := s.set.Drafts(ctx)
	if err != nil {
		return // the program ends
	}
	s.mu.Lock()
	hidden := s.hidden
	s.hidden = map[string]bool{}
	s.mu.Unlock()
	for _, d := range left {
		if hidden[d.ID] {
			s.emitter.Emit("draft.found", DraftFound{Draft: Draft(d)})
		}
	}
}

// report takes how the window's tabs stand.
func (s *sessions) report(r ViewReport) error {
	if err := s.set.CheckPage(r.Page); err != nil {
		return err
	}
	s.mu.Lock()
	s.layout = r.Layout
	s.views, s.order = map[string]DocumentView{}, nil
	for _, v := range r.Views {
		s.views[v.ID] = v
		s.order = append(s.order, v.ID)
	}
	s.mu.Unlock()
	s.poke()
	return nil
}

// layoutNow is how the window's parts stood when that was last reported.
func (s *sessions) layoutNow() Layout {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.layout
}

// front says which document is in front.
func (s *sessions) front(id string) {
	s.mu.Lock()
	s.current = id
	s.mu.Unlock()
	s.poke()
}

// arranged puts documents into the order of their tabs, with their views.
func (s *sessions) arranged(docs []Document) []Document {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, d := range docs {
		v, ok := s.views[d.ID]
		if !ok {
			continue
		}
		// A caret that moved without typing is told here only; what the mirror
		// has of it came with the last change.
		docs[i].Anchor, docs[i].Head = min(v.Anchor, d.Length), min(v.Head, d.Length)
		docs[i].Top = min(v.Top, d.Length)
	}
	slices.SortStableFunc(docs, func(a, b Document) int { return s.place(a.ID) - s.place(b.ID) })
	return docs
}

// place is where a tab stands; new ones are at the end. mu must be held.
func (s *sessions) place(id string) int {
	if at := slices.Index(s.order, id); at >= 0 {
		return at
	}
	return len(s.order)
}

// pause and resume enclose what opens and closes tabs without changing the
// session.
func (s *sessions) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused++
}

func (s *sessions) resume() {
	s.mu.Lock()
	s.paused--
	s.mu.Unlock()
	s.poke()
}

// freeze keeps the session as it is now, for good: what closes from here on
// closes with the program.
func (s *sessions) freeze() {
	s.keep()
	s.pause()
}

// keep hands the session as it is to the store.
func (s *sessions) keep() {
	docs := s.set.List()
	workspace := s.grants.Workspace()
	if s.looping && len(docs) == 0 && workspace == "" {
		return // the session that was not restored is still the last one
	}
	s.mu.Lock()
	if s.paused > 0 {
		s.mu.Unlock()
		return
	}
	slices.SortStableFunc(docs, func(a, b document.Info) int { return s.place(a.ID) - s.place(b.ID) })
	session := settings.Session{Workspace: workspace, Tabs: []settings.SessionTab{}, Layout: settings.SessionLayout(s.layout)}
	for _, info := range docs {
		if info.Path == "" {
			continue // its draft brings it back
		}
		tab := settings.SessionTab{Path: info.Path, Anchor: info.Anchor, Head: info.Head}
		if v, ok := s.views[info.ID]; ok {
			tab.Anchor, tab.Head, tab.Top = v.Anchor, v.Head, v.Top
		}
		session.Tabs = append(session.Tabs, tab)
		if info.ID == s.current {
			session.Current = info.Path
		}
	}
	s.mu.Unlock()
	s.store.Keep(session)
}

// recentFiles are the paths of the files that were opened of late, newest
// first.
func (s *sessions) recentFiles() []string {
	files, _ := s.store.Recent()
	paths := make([]string, 0, len(files))
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	return paths
}

// holdsFile and holdsFolder report whether the person opened a path of late.
func (s *sessions) holdsFile(path string) bool {
	files, _ := s.store.Recent()
	return slices.ContainsFunc(files, func(r settings.RecentPath) bool { return r.Path == path })
}

func (s *sessions) holdsFolder(path string) bool {
	_, folders := s.store.Recent()
	return slices.ContainsFunc(folders, func(r settings.RecentPath) bool { return r.Path == path })
}
