package api

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
	"galley/backend/settings"
	"galley/backend/text"
)

// A page that a newer one replaced is told, and changes nothing any more.
//
// covers: X5
func TestDocuments_OlderPageIsInert(t *testing.T) {
	w := newWindow(t)
	path := filepath.Join(w.folder(map[string]string{"a.md": "old\n"}), "a.md")
	first := w.page()
	d := ask[Document](w, "Documents.Open", path)
	w.typed(first, d, insertion(0, "new "))
	w.mark()
	second := ask[DocumentsState](w, "Documents.Attach")
	if second.Page <= first || len(second.Documents) != 1 || second.Current != d.ID || !second.Documents[0].Dirty || second.Documents[0].Version != 2 {
		t.Errorf("attached: %+v", second)
	}
	if got := await[PageAttached](w, "page.attached", nil); got.Page != second.Page {
		t.Errorf("told of page %d", got.Page)
	}
	w.chooseSave = filepath.Join(filepath.Dir(path), "b.md")
	for method, args := range map[string][]any{
		"Documents.Sync":         {SyncRequest{Page: first, ID: d.ID, FromVersion: 2, Changes: []Change{insertion(0, "x")}}},
		"Documents.Save":         {saving(first, d.ID, 2, "new old\n")},
		"Documents.SaveAs":       {saving(first, d.ID, 2, "new old\n")},
		"Documents.Reload":       {first, d.ID},
		"Documents.Close":        {first, d.ID, true},
		"Documents.SetCurrent":   {first, d.ID},
		"Documents.RestoreDraft": {first, "none"},
		"Documents.DiscardDraft": {first, "none"},
		"Documents.Quit":         {first, true},
	} {
		w.refused(fault.Busy, method, args...)
	}
	if w.quits > 0 || len(w.suggested) > 0 {
		t.Errorf("an older page quit %d times and asked %v", w.quits, w.suggested)
	}
	if got := content(t, path); got != "old\n" {
		t.Errorf("the file holds %q", got)
	}
	w.typed(second.Page, second.Documents[0], insertion(0, "still "))
}

// What exists and was not opened by the person cannot be reached by naming it.
//
// covers: F7 X5
func TestDocuments_OnlyWhatWasGranted(t *testing.T) {
	w := newWindow(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.md")
	write(t, secret, "secret\n")
	write(t, filepath.Join(outside, "folder", "b.md"), "b\n")
	page := w.page()

	w.refused(fault.NotGranted, "Documents.Open", secret)
	w.refused(fault.NotGranted, "Workspace.List", outside)
	w.refused(fault.NotGranted, "Documents.Open", w.home.Settings())

	dir := w.folder(map[string]string{"a.md": "a\n", "sub/c.md": "c\n"})
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		secret, filepath.Join(dir, "..", filepath.Base(outside), "secret.md"), dir + "/../" + filepath.Base(outside) + "/secret.md",
		filepath.Join(dir, "out", "secret.md"), "secret.md", "file://" + secret, w.home.Settings(),
	} {
		body := w.refused(fault.OutsideWorkspace, "Documents.Open", path)
		if strings.Contains(body.Detail, "secret\n") {
			t.Errorf("%s: %+v", path, body)
		}
	}
	for _, path := range []string{outside, filepath.Join(dir, ".."), filepath.Join(dir, "out"), "/", "."} {
		w.refused(fault.OutsideWorkspace, "Workspace.List", path)
	}
	for _, path := range []string{"", filepath.Join(dir, "a.md") + "\x00"} {
		w.refused(fault.InvalidInput, "Documents.Open", path)
		w.refused(fault.InvalidInput, "Workspace.List", path)
	}
	w.refused(fault.NotAFile, "Documents.Open", dir)
	w.refused(fault.NotAFile, "Workspace.List", filepath.Join(dir, "a.md"))
	w.refused(fault.NotFound, "Documents.Open", filepath.Join(dir, "gone.md"))

	got := ask[Listing](w, "Workspace.List", dir)
	want := Listing{Path: dir, Entries: []Entry{
		{Name: "sub", Path: filepath.Join(dir, "sub"), Folder: true},
		{Name: "a.md", Path: filepath.Join(dir, "a.md")},
		{Name: "out", Path: filepath.Join(dir, "out")},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	ask[Document](w, "Documents.Open", filepath.Join(dir, "sub", "c.md"))

	// One file from the dialog is that file and not its folder.
	w.chooseFiles = []string{secret}
	if got := ask[[]Document](w, "Documents.OpenDialog"); len(got) != 1 || got[0].Path != secret {
		t.Errorf("opened %+v", got)
	}
	ask[Document](w, "Documents.Open", secret)
	w.refused(fault.OutsideWorkspace, "Documents.Open", filepath.Join(outside, "folder", "b.md"))
	w.tell("Documents.SetCurrent", page, ask[Document](w, "Documents.Open", secret).ID)
}

func TestDocuments_OpenDialog(t *testing.T) {
	w := newWindow(t)
	dir := t.TempDir()
	w.page()
	for _, name := range []string{"a.md", "b.md", "c.md"} {
		write(t, filepath.Join(dir, name), name+"\n")
	}
	if got := ask[[]Document](w, "Documents.OpenDialog"); len(got) != 0 {
		t.Errorf("cancelled and opened %v", got)
	}
	w.chooseFiles = []string{filepath.Join(dir, "a.md"), filepath.Join(dir, "b.md")}
	got := ask[[]Document](w, "Documents.OpenDialog")
	if len(got) != 2 || got[0].Name != "a.md" || got[1].Name != "b.md" || got[0].Length != 5 || got[0].TextURL != "/document/"+got[0].ID+"/text" {
		t.Errorf("opened %+v", got)
	}
	if again := ask[[]Document](w, "Documents.OpenDialog"); again[0].ID != got[0].ID {
		t.Error("the same file is open twice")
	}
	// One that cannot be opened is told, and what was opened before it comes
	// too.
	w.mark()
	big := filepath.Join(dir, "big.md")
	write(t, big, "")
	try(t, os.Truncate(big, 300<<20))
	w.chooseFiles = []string{filepath.Join(dir, "c.md"), big}
	if body := w.refused(fault.TooLarge, "Documents.OpenDialog"); body.Detail == "" {
		t.Error("it is not said which")
	}
	if opened := await[DocumentOpened](w, "document.opened", nil); opened.Document.Name != "c.md" {
		t.Errorf("told of %+v", opened)
	}
	w.dialogErr = errors.New("no display")
	w.refused(fault.Internal, "Documents.OpenDialog")
	w.refused(fault.Internal, "Workspace.OpenDialog")
}

// Open, type, save: the file holds what was typed and every other byte as it
// was.
//
// covers: F1 F3
func TestDocuments_SaveWritesWhatWasTyped(t *testing.T) {
	w := newWindow(t)
	path := filepath.Join(w.folder(map[string]string{"a.md": "\xef\xbb\xbfone\r\ntwo 😀\nthree\rfour  "}), "a.md")
	page := w.page()
	d := ask[Document](w, "Documents.Open", path)
	want := Document{
		ID: d.ID, URI: "file://" + filepath.ToSlash(path), Path: path, Name: "a.md", Version: 1, Encoding: "utf-8", BOM: true,
		Endings:  []text.EndingRun{{Ending: text.CRLF, Count: 1}, {Ending: text.LF, Count: 1}, {Ending: text.CR, Count: 1}},
		Majority: text.LF, TextURL: "/document/" + d.ID + "/text", Length: 23, Disk: "same",
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	untouched := ask[SaveResult](w, "Documents.Save", saving(page, d.ID, 1, "one\ntwo 😀\nthree\nfour  "))
	if untouched.Written || untouched.Document.Dirty {
		t.Errorf("saved untouched: %+v", untouched)
	}
	got := ask[SyncResult](w, "Documents.Sync", SyncRequest{
		Page: page, ID: d.ID, FromVersion: 1, Anchor: 8, Head: 8,
		Changes: []Change{
			{Edits: []text.Edit{{From: 8, To: 10, Insert: "🦊\n"}}, Endings: []text.EndingRun{{Ending: text.LF, Count: 1}}},
			insertion(0, "# "),
		},
	})
	if got != (SyncResult{Version: 3, Dirty: true}) {
		t.Errorf("synced %+v", got)
	}
	saved := ask[SaveResult](w, "Documents.Save", saving(page, d.ID, 3, "# one\ntwo 🦊\n\nthree\nfour  "))
	if !saved.Written || saved.Document.Dirty || saved.Document.Version != 3 || saved.SavedAtMs == 0 || saved.Fallback || saved.RecoveryPath != "" {
		t.Errorf("saved %+v", saved)
	}
	after := "\xef\xbb\xbf# one\r\ntwo 🦊\n\nthree\rfour  "
	if on := content(t, path); on != after || saved.Bytes != len(after) {
		t.Errorf("the file holds %q, %d bytes said", on, saved.Bytes)
	}
}

// A page whose text is not the mirror's writes nothing, whatever differs.
func TestDocuments_SaveOfAnotherTextIsRefused(t *testing.T) {
	w := newWindow(t)
	path := filepath.Join(w.folder(map[string]string{"a.md": "a\n"}), "a.md")
	page := w.page()
	d := ask[Document](w, "Documents.Open", path)
	w.typed(page, d, insertion(0, "x"))
	for name, change := range map[string]func(*SaveRequest){
		"digest":        func(r *SaveRequest) { r.Digest = text.Digest("xa!") },
		"no digest":     func(r *SaveRequest) { r.Digest = "" },
		"upper case":    func(r *SaveRequest) { r.Digest = strings.ToUpper(r.Digest) },
		"length":        func(r *SaveRequest) { r.Length++ },
		"older version": func(r *SaveRequest) { r.Version-- },
		"newer version": func(r *SaveRequest) { r.Version++ },
	} {
		for _, method := range []string{"Documents.Save", "Documents.SaveAs"} {
			r := saving(page, d.ID, 2, "xa\n")
			r.Overwrite = true
			change(&r)
			w.chooseSave = path
			w.refused(fault.UnknownBase, method, r)
			if got := content(t, path); got != "a\n" {
				t.Fatalf("%s, %s: the file holds %q", method, name, got)
			}
		}
	}
	w.refused(fault.UnknownBase, "Documents.Sync", SyncRequest{Page: page, ID: d.ID, FromVersion: 1, Changes: []Change{insertion(0, "y")}})
	for name, c := range map[string]Change{
		"past the end":   insertion(9, "y"),
		"below 0":        insertion(-1, "y"),
		"break unnamed":  insertion(0, "\n"),
		"carriage":       insertion(0, "\r"),
		"break of none":  {Edits: []text.Edit{}, Endings: []text.EndingRun{{Ending: text.LF, Count: 1}}},
		"ending unknown": {Edits: []text.Edit{{Insert: "\n"}}, Endings: []text.EndingRun{{Ending: "nel", Count: 1}}},
		"backwards":      {Edits: []text.Edit{{From: 2, To: 1}}},
	} {
		w.refused(fault.InvalidInput, "Documents.Sync", SyncRequest{Page: page, ID: d.ID, FromVersion: 2, Changes: []Change{insertion(0, "ok"), c}})
		if info := ask[DocumentsState](w, "Documents.Attach"); info.Documents[0].Version != 2 {
			t.Fatalf("%s: half of it was taken", name)
		} else {
			page = info.Page
		}
	}
	w.refused(fault.NotFound, "Documents.Sync", SyncRequest{Page: page, ID: "none", FromVersion: 1})
	ask[SaveResult](w, "Documents.Save", saving(page, d.ID, 2, "xa\n"))
}

// A file that changed outside is not written over unless the person says so.
//
// covers: F5
func TestDocuments_ChangedOutside(t *testing.T) {
	w := newWindow(t)
	path := filepath.Join(w.folder(map[string]string{"a.md": "v1\n"}), "a.md")
	page := w.page()
	d := ask[Document](w, "Documents.Open", path)
	w.typed(page, d, insertion(2, "x"))
	write(t, path, "v2\n")
	w.refused(fault.ChangedOnDisk, "Documents.Save", saving(page, d.ID, 2, "v1x\n"))
	if got := content(t, path); got != "v2\n" {
		t.Fatalf("the file holds %q", got)
	}
	theirs := ask[Document](w, "Documents.Reload", page, d.ID)
	if theirs.Version != 3 || theirs.Dirty || theirs.Length != 3 {
		t.Errorf("reloaded %+v", theirs)
	}
	w.typed(page, theirs, insertion(2, "y"))
	write(t, path, "v3\n")
	mine := saving(page, d.ID, 4, "v2y\n")
	w.refused(fault.ChangedOnDisk, "Documents.Save", mine)
	mine.Overwrite = true
	ask[SaveResult](w, "Documents.Save", mine)
	if got := content(t, path); got != "v2y\n" {
		t.Errorf("the file holds %q", got)
	}
}

func TestDocuments_SaveAs(t *testing.T) {
	w := newWindow(t)
	dir := t.TempDir() // nothing in it is granted but by the dialog
	page := w.page()
	d := ask[Document](w, "Documents.New")
	if d.Path != "" || d.Name != "" || d.URI != "untitled:"+d.ID {
		t.Errorf("new: %+v", d)
	}
	w.typed(page, d, insertion(0, "hello"))
	r := saving(page, d.ID, 2, "hello")
	w.refused(fault.InvalidInput, "Documents.Save", r)
	w.refused(fault.Cancelled, "Documents.SaveAs", r)
	w.dialogErr = errors.New("no display")
	w.refused(fault.Internal, "Documents.SaveAs", r)
	w.dialogErr = nil
	w.chooseSave = filepath.Join(dir, "gone", "a.md")
	w.refused(fault.NotFound, "Documents.SaveAs", r)
	w.chooseSave = filepath.Join(dir, "a.md")
	saved := ask[SaveResult](w, "Documents.SaveAs", r)
	if saved.Document.Path != w.chooseSave || saved.Document.Name != "a.md" || saved.Document.Dirty || saved.Document.ID != d.ID {
		t.Errorf("saved %+v", saved)
	}
	if got := content(t, w.chooseSave); got != "hello" {
		t.Errorf("the file holds %q", got)
	}
	// It is the document's file from here on.
	w.typed(page, saved.Document, insertion(5, "!"))
	ask[SaveResult](w, "Documents.Save", saving(page, d.ID, 3, "hello!"))

	other := ask[Document](w, "Documents.New")
	w.typed(page, other, insertion(0, "other"))
	w.refused(fault.Exists, "Documents.SaveAs", saving(page, other.ID, 2, "other"))
	if got := content(t, w.chooseSave); got != "hello!" {
		t.Errorf("the file of another document holds %q", got)
	}
	w.refused(fault.NotFound, "Documents.SaveAs", saving(page, "none", 1, ""))
	if want := []string{"Untitled.md", "Untitled.md", "Untitled.md", "Untitled.md", "Untitled.md"}; !slices.Equal(w.suggested, want) {
		t.Errorf("suggested %v", w.suggested)
	}
	w.chooseSave = ""
	w.refused(fault.Cancelled, "Documents.SaveAs", saving(page, d.ID, 3, "hello!"))
	if last := w.suggested[len(w.suggested)-1]; last != "a.md" {
		t.Errorf("suggested %q", last)
	}
}

// What was typed before a kill -9 comes back, and can be saved, since the
// program's own record names the file that the person had opened. A file that
// changed meanwhile is still a conflict.
//
// covers: F6
func TestDocuments_RestoreAfterACrash(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(t *testing.T, path string)
		conflict bool
		save     fault.Code
		want     string
	}{
		{"file as it was", func(*testing.T, string) {}, false, "", "typed old\n"},
		{"file changed", func(t *testing.T, path string) { write(t, path, "newer\n") }, true, fault.ChangedOnDisk, "newer\n"},
		{"file gone", func(t *testing.T, path string) { try(t, os.Remove(path)) }, true, fault.ChangedOnDisk, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.md")
			write(t, path, "old\n")
			home := crashed(t, path)
			c.change(t, path)

			w := openWithoutRunner(t, home)
			state := ask[DocumentsState](w, "Documents.Attach")
			if len(state.Documents) != 0 || len(state.Drafts) != 1 {
				t.Fatalf("attached: %+v", state)
			}
			draft := state.Drafts[0]
			if draft.Path != path || draft.Name != "a.md" || draft.Preview != "typed old\n" || draft.Length != 10 || draft.SavedAtMs == 0 {
				t.Errorf("draft %+v", draft)
			}
			// Nothing is granted before the person decides, and not by a page
			// that is not in charge.
			w.refused(fault.NotGranted, "Documents.Open", path)
			w.refused(fault.InvalidInput, "Documents.RestoreDraft", state.Page+1, draft.ID)
			w.refused(fault.NotFound, "Documents.RestoreDraft", state.Page, "none")
			w.refused(fault.NotGranted, "Documents.Open", path)

			d := ask[Document](w, "Documents.RestoreDraft", state.Page, draft.ID)
			if d.Path != path || !d.Dirty || d.RestoredAtMs != draft.SavedAtMs || d.Anchor != 6 {
				t.Errorf("restored %+v", d)
			}
			r := saving(state.Page, d.ID, d.Version, "typed old\n")
			if c.save != "" {
				w.refused(c.save, "Documents.Save", r)
				if _, err := os.Stat(path); (err != nil) != (c.want == "") {
					t.Errorf("after a refusal: %v", err)
				}
				r.Overwrite = true
				ask[SaveResult](w, "Documents.Save", r)
			} else {
				ask[SaveResult](w, "Documents.Save", r)
			}
			if got := content(t, path); got != "typed old\n" {
				t.Errorf("the file holds %q", got)
			}
			if left := ask[DocumentsState](w, "Documents.Attach").Drafts; len(left) != 0 {
				t.Errorf("left: %+v", left)
			}
		})
	}
}

// crashed runs the program on a new home until it has typed into the file, and
// kills it.
func crashed(t *testing.T, path string) settings.Home {
	t.Helper()
	home := newHome(t)
	try(t, home.Make())
	exe, err := os.Executable()
	try(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), envTyping+"="+home.Dir, envFile+"="+path)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	try(t, err)
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	try(t, err)
	try(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if line != "kept\n" {
		t.Errorf("it said %q (%v)", line, err)
	}
	try(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Error("it ended by itself")
	}
	return home
}

// A draft is the person's until they decide; discarding it is for good.
func TestDocuments_DiscardDraft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.md")
	write(t, path, "old\n")
	home := crashed(t, path)
	w := openWithoutRunner(t, home)
	state := ask[DocumentsState](w, "Documents.Attach")
	w.tell("Documents.DiscardDraft", state.Page, state.Drafts[0].ID)
	w.refused(fault.NotFound, "Documents.RestoreDraft", state.Page, state.Drafts[0].ID)
	w.close()
	if left := ask[DocumentsState](openWithoutRunner(t, home), "Documents.Attach").Drafts; len(left) != 0 {
		t.Errorf("left: %+v", left)
	}
	if got := content(t, path); got != "old\n" {
		t.Errorf("the file holds %q", got)
	}
}

// Quitting ends the program; what is unsaved is kept as a draft unless the
// person discarded it.
//
// covers: F6
func TestDocuments_Quit(t *testing.T) {
	for _, discard := range []bool{false, true} {
		home := newHome(t)
		w := openWithoutRunner(t, home)
		path := filepath.Join(w.folder(map[string]string{"a.md": "a\n"}), "a.md")
		page := w.page()
		d := ask[Document](w, "Documents.Open", path)
		w.typed(page, d, insertion(0, "unsaved "))
		w.typed(page, ask[Document](w, "Documents.New"), insertion(0, "untitled"))
		w.refused(fault.InvalidInput, "Documents.Quit", page+1, discard)
		if w.quits != 0 {
			t.Fatal("a page that does not exist quit")
		}
		w.tell("Documents.Quit", page, discard)
		if w.quits != 1 {
			t.Errorf("asked to end %d times", w.quits)
		}
		w.close()
		if got := content(t, path); got != "a\n" {
			t.Errorf("quitting saved %q", got)
		}
		var left []string
		kept, err := makeWindow(t, home).backend.set.Drafts(t.Context())
		try(t, err)
		for _, d := range kept {
			left = append(left, d.Preview)
		}
		slices.Sort(left)
		want := []string{"unsaved a\n", "untitled"}
		if discard {
			want = nil
		}
		if !slices.Equal(left, want) {
			t.Errorf("discard %v: left %q", discard, left)
		}
	}
}

func TestDocuments_Close(t *testing.T) {
	w := newWindow(t)
	path := filepath.Join(w.folder(map[string]string{"a.md": "a\n"}), "a.md")
	page := w.page()
	d := ask[Document](w, "Documents.Open", path)
	w.typed(page, d, insertion(0, "x"))
	if body := w.refused(fault.Busy, "Documents.Close", page, d.ID, false); body.Detail != "unsaved" {
		t.Errorf("told %+v", body)
	}
	w.tell("Documents.Close", page, d.ID, true)
	w.refused(fault.NotFound, "Documents.Close", page, d.ID, true)
	w.refused(fault.NotFound, "Documents.SetCurrent", page, d.ID)
	if got := ask[Document](w, "Documents.Open", path); got.ID == d.ID || got.Dirty || got.Version != 1 {
		t.Errorf("opened again: %+v", got)
	}
}

// The window asks before it closes when something is unsaved.
func TestBackend_AskToClose(t *testing.T) {
	w := newWindow(t)
	path := filepath.Join(w.folder(map[string]string{"a.md": "a\n"}), "a.md")
	page := w.page()
	clean := ask[Document](w, "Documents.Open", path)
	if w.backend.AskToClose() {
		t.Error("asks although all is saved")
	}
	d := ask[Document](w, "Documents.New")
	if w.backend.AskToClose() {
		t.Error("asks about an empty new document")
	}
	w.typed(page, d, insertion(0, "x"))
	w.mark()
	if !w.backend.AskToClose() {
		t.Fatal("does not ask")
	}
	got := await[CloseRequested](w, "window.close_requested", nil)
	if diff := cmp.Diff(CloseRequested{Unsaved: []string{d.ID}, Runs: []string{}}, got); diff != "" {
		t.Error(diff)
	}
	w.typed(page, clean, insertion(0, "x"))
	w.mark()
	w.backend.AskToClose()
	if got := await[CloseRequested](w, "window.close_requested", nil); len(got.Unsaved) != 2 {
		t.Errorf("asked about %+v", got)
	}
}

// What the window's own parts tell reaches the page.
func TestBackend_MenuInvoked(t *testing.T) {
	w := newWindow(t)
	w.backend.MenuInvoked("file.save")
	if got := await[MenuInvoked](w, "menu.invoked", nil); got.Command != "file.save" {
		t.Errorf("told of %+v", got)
	}
}

// A home of an earlier start that cannot be used is told at the start, and
// nothing is left running.
func TestBackend_NewOnABrokenHome(t *testing.T) {
	home := newHome(t)
	write(t, home.Settings(), `{"theme":"dark","textSize":"x",}`)
	w := openWithoutRunner(t, home)
	got := ask[SettingsState](w, "Settings.Get")
	if got.Settings.Theme != "dark" || got.KeptAside == "" || got.File != home.Settings() {
		t.Errorf("got %+v", got)
	}
	if kept := content(t, got.KeptAside); kept != `{"theme":"dark","textSize":"x",}` {
		t.Errorf("kept %q", kept)
	}
}
