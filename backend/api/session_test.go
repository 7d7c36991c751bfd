package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
	"galley/backend/settings"
	"galley/backend/text"
)

// again ends a window and starts the next one on its home. Nothing is attached.
func (w *window) again() *window {
	w.t.Helper()
	w.close()
	return makeWindow(w.t, w.home)
}

// started attaches a page to a window that was made, and starts it.
func (w *window) started() DocumentsState {
	w.t.Helper()
	state := ask[DocumentsState](w, "Documents.Attach")
	w.backend.Start()
	return state
}

// opens waits for the documents that the host opens, by their paths, in order.
func (w *window) opens(paths ...string) []DocumentOpened {
	w.t.Helper()
	var got []DocumentOpened
	for i, path := range paths {
		d := await(w, "document.opened", func(_ Envelope, d DocumentOpened) bool {
			return d.Document.Path == path && !slices.ContainsFunc(got, func(o DocumentOpened) bool { return o.Document.ID == d.Document.ID })
		})
		got = append(got, d)
		if i > 0 && w.position(d.Document.ID) < w.position(got[i-1].Document.ID) {
			w.t.Errorf("%s came too early", path)
		}
	}
	return got
}

// position is the place of the message that told of a document.
func (w *window) position(id string) int {
	list, _ := w.sent()
	return slices.IndexFunc(list, func(m message) bool {
		var d DocumentOpened
		return m.Type == "document.opened" && json.Unmarshal(m.Payload, &d) == nil && d.Document.ID == id
	})
}

// settle waits until everything that was to be opened is.
func (w *window) settle() {
	w.t.Helper()
	done := make(chan struct{})
	w.backend.sessions.openings <- func(context.Context) { close(done) }
	select {
	case <-done:
	case <-time.After(patience):
		w.t.Fatal("what is to be opened is not")
	}
	w.backend.sessions.keep()
}

// covers: F10 F7 F11
func TestSession_TabsComeBack(t *testing.T) {
	w := openWindow(t, newHome(t))
	page := w.page()
	dir := w.folder(map[string]string{"a.md": "one\ntwo\n", "sub/b.md": "b\n"})
	outside := filepath.Join(t.TempDir(), "c.md")
	write(t, outside, "outside\n")
	secret := filepath.Join(filepath.Dir(outside), "secret.md")
	write(t, secret, "secret\n")
	a, b := filepath.Join(dir, "a.md"), filepath.Join(dir, "sub", "b.md")
	docA, docB := ask[Document](w, "Documents.Open", a), ask[Document](w, "Documents.Open", b)
	w.chooseFiles = []string{outside}
	docC := ask[[]Document](w, "Documents.OpenDialog")[0]
	w.tell("Documents.SetCurrent", page, docB.ID)
	layout := Layout{Sidebar: true, SidebarWidth: 300, SidebarView: "outline", Panel: true, PanelWidth: 400, PanelView: "review"}
	w.tell("Documents.ReportView", ViewReport{Page: page, Layout: layout, Views: []DocumentView{
		{ID: docC.ID, Anchor: 2, Head: 1},
		{ID: docA.ID, Anchor: 4, Head: 6, Top: 4},
		{ID: docB.ID, Top: 99},
	}})
	w.settle()

	w = w.again()
	if got := w.backend.grants.Workspace(); got != "" {
		t.Errorf("%s is granted before there is a page", got)
	}
	state := w.started()
	if state.Layout != layout || len(state.Documents) != 0 {
		t.Errorf("attached: %+v", state)
	}
	if got := await[WorkspaceOpened](w, "workspace.opened", nil); got.Workspace.Path != dir || len(got.PutAway) > 0 {
		t.Errorf("opened %+v", got)
	}
	got := w.opens(outside, a, b)
	for i, want := range []struct {
		anchor, head, top int
		background        bool
	}{{2, 1, 0, true}, {4, 6, 4, true}, {0, 0, 2, false}} {
		d := got[i].Document
		if d.Anchor != want.anchor || d.Head != want.head || d.Top != want.top || got[i].Background != want.background || d.Dirty || d.RestoredAtMs != 0 {
			t.Errorf("tab %d is %+v", i, got[i])
		}
	}
	w.settle()
	ask[Listing](w, "Workspace.List", dir)
	w.refused(fault.OutsideWorkspace, "Documents.Open", secret)

	// A page that is loaded anew gets them in their order too, with their carets.
	again := ask[DocumentsState](w, "Documents.Attach")
	if len(again.Documents) != 3 || again.Documents[0].Path != outside || again.Documents[1].Path != a ||
		again.Documents[1].Top != 4 || again.Documents[1].Anchor != 4 || again.Documents[1].Head != 6 {
		t.Errorf("attached again: %+v", again.Documents)
	}
}

// A start that is followed by another without a change keeps what is kept.
func TestSession_StartWithoutAPageKeepsIt(t *testing.T) {
	w := openWindow(t, newHome(t))
	dir := w.folder(map[string]string{"a.md": "a\n"})
	ask[Document](w, "Documents.Open", filepath.Join(dir, "a.md"))
	w.settle()
	w = w.again() // no page ever attaches
	w = w.again()
	w.started()
	w.opens(filepath.Join(dir, "a.md"))
}

func TestSession_WhatIsGoneIsTold(t *testing.T) {
	w := openWindow(t, newHome(t))
	dir := w.folder(map[string]string{"a.md": "a\n", "b.md": "b\n"})
	a, b := filepath.Join(dir, "a.md"), filepath.Join(dir, "b.md")
	ask[Document](w, "Documents.Open", a)
	ask[Document](w, "Documents.Open", b)
	w.settle()
	w.close()
	try(t, os.Remove(a))
	w = w.again()
	w.started()
	if got := await[OpenFailed](w, "open.failed", nil); got.Path != a || got.Code != string(fault.NotFound) {
		t.Errorf("told %+v", got)
	}
	w.opens(b)
	w.settle()
	w.close()

	// The folder itself.
	try(t, os.RemoveAll(dir))
	w = w.again()
	w.started()
	if got := await[OpenFailed](w, "open.failed", nil); got.Path != dir || got.Code != string(fault.NotFound) {
		t.Errorf("told %+v", got)
	}
	w.settle()
	if got := ask[WorkspaceInfo](w, "Workspace.Current"); got.Path != "" {
		t.Errorf("the workspace is %+v", got)
	}
}

// unsaved leaves a window with unsaved text in a file and in no file, as a crash
// or an end without a question does.
func unsaved(t *testing.T) (w *window, path string) {
	t.Helper()
	w = openWindow(t, newHome(t))
	page := w.page()
	dir := w.folder(map[string]string{"a.md": "a\n"})
	path = filepath.Join(dir, "a.md")
	d := ask[Document](w, "Documents.Open", path)
	w.typed(page, d, insertion(0, "typed "))
	untitled := ask[Document](w, "Documents.New")
	w.typed(page, untitled, insertion(0, "no name"))
	w.settle()
	w.close()
	return w, path
}

// covers: F6 F10
func TestSession_DraftsComeBackByThemselves(t *testing.T) {
	w, path := unsaved(t)
	w = w.again()
	if state := w.started(); len(state.Drafts) != 0 {
		t.Errorf("offered beside: %+v", state.Drafts)
	}
	tab := w.opens(path)[0]
	if d := tab.Document; !d.Dirty || d.RestoredAtMs == 0 || d.Length != len("typed a\n") || tab.Background {
		t.Errorf("the tab is %+v", tab)
	}
	untitled := await(w, "document.opened", func(_ Envelope, d DocumentOpened) bool { return d.Document.Path == "" })
	if d := untitled.Document; !d.Dirty || d.RestoredAtMs == 0 || d.Length != len("no name") || !untitled.Background {
		t.Errorf("the untitled one is %+v", untitled)
	}
	w.settle()
	if left := ask[DocumentsState](w, "Documents.Attach").Drafts; len(left) > 0 {
		t.Errorf("left over: %+v", left)
	}
	page := w.page()
	ask[SaveResult](w, "Documents.Save", saving(page, tab.Document.ID, tab.Document.Version, "typed a\n"))
	if got := content(t, path); got != "typed a\n" {
		t.Errorf("saved %q", got)
	}
}

// crash-4: never over a newer file. A9's kind.
//
// covers: F6 F5
func TestSession_DraftAgainstANewerFileIsOffered(t *testing.T) {
	w, path := unsaved(t)
	write(t, path, "newer\n")
	w = w.again()
	if state := w.started(); len(state.Drafts) != 0 {
		t.Errorf("offered before it is known: %+v", state.Drafts)
	}
	if d := w.opens(path)[0].Document; d.Dirty || d.RestoredAtMs != 0 || d.Length != len("newer\n") {
		t.Errorf("the tab is %+v", d)
	}
	found := await[DraftFound](w, "draft.found", nil).Draft
	if found.Path != path || !found.Conflict {
		t.Errorf("offered %+v", found)
	}
	w.settle()
	state := ask[DocumentsState](w, "Documents.Attach")
	if len(state.Drafts) != 1 || state.Drafts[0].ID != found.ID {
		t.Errorf("the next page is offered %+v", state.Drafts)
	}
	if got := content(t, path); got != "newer\n" {
		t.Errorf("the file holds %q", got)
	}
}

// The file of a tab is gone: the text is offered.
func TestSession_DraftOfAMissingFileIsOffered(t *testing.T) {
	w, path := unsaved(t)
	try(t, os.Remove(path))
	w = w.again()
	w.started()
	if got := await[OpenFailed](w, "open.failed", nil); got.Path != path {
		t.Errorf("told %+v", got)
	}
	if found := await[DraftFound](w, "draft.found", nil).Draft; found.Path != path {
		t.Errorf("offered %+v", found)
	}
}

// covers: F6
func TestSession_LoopOfCrashesRestoresNothingByItself(t *testing.T) {
	w, path := unsaved(t)
	stored := settings.OpenSessions(settings.SessionConfig{Home: w.home, Log: slog.New(slog.DiscardHandler)})
	for range 2 {
		stored.Begin() // a start that nothing more is heard of
	}
	w = w.again()
	state := w.started()
	if len(state.Drafts) != 2 {
		t.Errorf("offered %+v", state.Drafts)
	}
	w.settle()
	state = ask[DocumentsState](w, "Documents.Attach")
	if len(state.Documents) != 0 || len(state.Drafts) != 2 {
		t.Errorf("by itself: %+v", state)
	}
	// What was not restored is restored by the next start, since this one ends
	// well.
	w = w.again()
	w.started()
	w.opens(path)
}

// covers: F10
func TestSession_EachFolderHasItsOwn(t *testing.T) {
	w := openWindow(t, newHome(t))
	page := w.page()
	one := w.folder(map[string]string{"a.md": "a\n", "b.md": "b\n", "README.md": "read me\n"})
	readme := w.opens(filepath.Join(one, "README.md"))[0].Document
	a := ask[Document](w, "Documents.Open", filepath.Join(one, "a.md"))
	b := ask[Document](w, "Documents.Open", filepath.Join(one, "b.md"))
	outside := filepath.Join(t.TempDir(), "c.md")
	write(t, outside, "c\n")
	w.chooseFiles = []string{outside}
	c := ask[[]Document](w, "Documents.OpenDialog")[0]
	w.typed(page, b, insertion(0, "x"))
	w.settle()

	w.mark()
	two := w.folder(map[string]string{"d.md": "d\n"})
	got := await(w, "workspace.opened", func(_ Envelope, o WorkspaceOpened) bool { return o.Workspace.Path == two })
	slices.Sort(got.PutAway)
	want := []string{a.ID, readme.ID}
	slices.Sort(want)
	if diff := cmp.Diff(want, got.PutAway); diff != "" {
		t.Errorf("put away (-want +got): %s (unsaved %s, outside %s)", diff, b.ID, c.ID)
	}
	w.settle()
	for _, id := range got.PutAway { // as the page does
		w.tell("Documents.Close", page, id, false)
	}
	ask[Document](w, "Documents.Open", filepath.Join(two, "d.md"))
	w.settle()

	// Back again, by the list of what was open of late.
	w.mark()
	if info := ask[WorkspaceInfo](w, "Workspace.OpenRecent", one); info.Path != one {
		t.Errorf("opened %+v", info)
	}
	w.opens(filepath.Join(one, "README.md"), filepath.Join(one, "a.md"), filepath.Join(one, "b.md"), outside)
	w.settle()
	// The same folder again puts nothing away.
	w.mark()
	ask[WorkspaceInfo](w, "Workspace.OpenRecent", one)
	if got := await[WorkspaceOpened](w, "workspace.opened", nil); len(got.PutAway) > 0 {
		t.Errorf("put away %v", got.PutAway)
	}
	// What the sessions do is not what grants: the folder that was left can be
	// listed no more than it could be before.
	w.settle()
	w = w.again()
	w.started()
	if got := await[WorkspaceOpened](w, "workspace.opened", nil); got.Workspace.Path != one {
		t.Errorf("the last folder is %+v", got)
	}
}

// What the command line, a second start and a drop name is opened, and what
// cannot be is told. It takes the place of the last session at the start.
//
// covers: F7 F10 F11
func TestSession_NamedPaths(t *testing.T) {
	w, draft := unsaved(t)
	dir := t.TempDir()
	file, folder, gone := filepath.Join(dir, "a b%20.md"), filepath.Join(dir, "folder"), filepath.Join(dir, "gone.md")
	write(t, file, "a\n")
	write(t, filepath.Join(folder, "readme.md"), "r\n")
	w = w.again()
	w.backend.OpenAtStart([]string{file, gone})
	if len(w.backend.set.List()) > 0 {
		t.Error("read before there is a page")
	}
	if state := w.started(); len(state.Drafts) != 2 {
		t.Errorf("offered %+v", state.Drafts)
	}
	w.opens(file)
	if got := await[OpenFailed](w, "open.failed", nil); got.Path != gone || got.Code != string(fault.NotFound) {
		t.Errorf("told %+v", got)
	}
	w.settle()
	if open := w.backend.set.List(); len(open) != 1 {
		t.Errorf("open: %+v", open)
	}
	w.mark()
	w.backend.Open([]string{folder, file})
	if got := await[WorkspaceOpened](w, "workspace.opened", nil); got.Workspace.Path != folder {
		t.Errorf("opened %+v", got)
	}
	w.opens(filepath.Join(folder, "readme.md"), file)
	if !w.backend.Reaches(filepath.Join(folder, "readme.md")) || !w.backend.Reaches(folder) || w.backend.Reaches(draft) {
		t.Error("what is reached is not what was opened")
	}
	// No page can name a path of its own.
	w.refused(fault.OutsideWorkspace, "Documents.Open", draft)
}

// covers: F10 F7
func TestRecent(t *testing.T) {
	w := openWindow(t, newHome(t))
	page := w.page()
	dir := w.folder(map[string]string{"a.md": "a\n", "b.md": "b\n", "c.md": "c\n"})
	other := filepath.Join(t.TempDir(), "never.md")
	write(t, other, "never\n")
	for _, name := range []string{"a.md", "b.md", "a.md"} {
		ask[Document](w, "Documents.Open", filepath.Join(dir, name))
	}
	d := ask[Document](w, "Documents.New")
	w.chooseSave = filepath.Join(dir, "saved.md")
	ask[SaveResult](w, "Documents.SaveAs", saving(page, d.ID, 1, ""))
	w.settle()
	w = w.again() // as the session has it, nothing more
	w.started()
	w.settle()
	paths := func() (files, folders []string) {
		got := ask[Recent](w, "Workspace.Recent")
		for _, f := range got.Files {
			files = append(files, f.Name)
			if f.AtMs == 0 || filepath.Base(f.Path) != f.Name {
				t.Errorf("%+v", f)
			}
		}
		for _, f := range got.Workspaces {
			folders = append(folders, f.Path)
		}
		return files, folders
	}
	files, folders := paths()
	if diff := cmp.Diff([]string{"saved.md", "a.md", "b.md"}, files) + cmp.Diff([]string{dir}, folders); diff != "" {
		t.Error(diff)
	}
	if got := w.backend.sessions.recentFiles(); len(got) != 3 || got[1] != filepath.Join(dir, "a.md") {
		t.Errorf("%v", got)
	}

	// Only what is in the list, by the name that it has there.
	for _, path := range []string{other, filepath.Join(dir, "c.md"), dir + "/x/../a.md", dir, ""} {
		w.refused(fault.NotGranted, "Documents.OpenRecent", path)
	}
	for _, path := range []string{filepath.Dir(other), filepath.Join(dir, "a.md"), dir + "/", ""} {
		w.refused(fault.NotGranted, "Workspace.OpenRecent", path)
	}
	if got := ask[Document](w, "Documents.OpenRecent", filepath.Join(dir, "b.md")); got.Name != "b.md" {
		t.Errorf("opened %+v", got)
	}
	if files, _ := paths(); files[0] != "b.md" {
		t.Errorf("%v", files)
	}
	try(t, os.Remove(filepath.Join(dir, "saved.md")))
	w.refused(fault.NotFound, "Documents.OpenRecent", filepath.Join(dir, "saved.md"))

	w.tell("Workspace.ForgetRecent")
	if files, folders := paths(); len(files)+len(folders) > 0 {
		t.Errorf("after forgetting: %v, %v", files, folders)
	}
	w.refused(fault.NotGranted, "Documents.OpenRecent", filepath.Join(dir, "b.md"))
}

// Throwing unsaved text away at the end does not throw the tabs away.
//
// covers: F10
func TestSession_QuitKeepsTheTabs(t *testing.T) {
	w := openWindow(t, newHome(t))
	page := w.page()
	dir := w.folder(map[string]string{"a.md": "a\n"})
	path := filepath.Join(dir, "a.md")
	d := ask[Document](w, "Documents.Open", path)
	w.typed(page, d, insertion(0, "x"))
	w.settle()
	w.tell("Documents.Quit", page, true)
	w = w.again()
	w.started()
	if d := w.opens(path)[0].Document; d.Dirty || d.Length != 2 {
		t.Errorf("the tab is %+v", d)
	}
}

func TestSession_OlderPageReportsNothing(t *testing.T) {
	w := openWindow(t, newHome(t))
	first := w.page()
	w.page()
	w.refused(fault.Busy, "Documents.ReportView", ViewReport{Page: first, Views: []DocumentView{}})
	w.refused(fault.Busy, "Documents.AcknowledgeClose", first)
}

// A page that takes no note of the question holds the window for ten seconds
// and no longer; one that does gives the person all the time.
//
// covers: F6
func TestClosing_APageThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ends atomic.Int32
		c := closing{end: func() { ends.Add(1) }}
		c.asked()
		time.Sleep(closeWait / 2)
		c.asked() // asking again gives no more time
		time.Sleep(closeWait/2 - time.Nanosecond)
		synctest.Wait()
		if ends.Load() != 0 {
			t.Error("ended too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if ends.Load() != 1 {
			t.Errorf("ended %d times", ends.Load())
		}

		c.heard() // it ended; the next question is another
		c.asked()
		c.heard()
		time.Sleep(time.Hour)
		synctest.Wait()
		if ends.Load() != 1 {
			t.Error("ended while the person thinks")
		}
		c.asked()
		time.Sleep(closeWait)
		synctest.Wait()
		if ends.Load() != 2 {
			t.Error("a page that hangs at the second question holds the window")
		}
	})
}

// The question of the window is taken back by the note, and by the end.
func TestClosing_IsWired(t *testing.T) {
	w := newWindow(t)
	page := w.page()
	d := ask[Document](w, "Documents.New")
	w.typed(page, d, Change{Edits: []text.Edit{{Insert: "x"}}, Endings: []text.EndingRun{}})
	if !w.backend.AskToClose() || w.backend.closing.timer == nil {
		t.Error("nothing waits for the page")
	}
	w.tell("Documents.AcknowledgeClose", page)
	if w.backend.closing.timer != nil {
		t.Error("the note is not taken")
	}
}
