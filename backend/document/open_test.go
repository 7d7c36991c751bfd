package document

import (
	"os"
	"strings"
	"testing"

	"galley/backend/fault"
	"galley/backend/text"
)

func TestOpen_TwiceIsOneDocument(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("real.md", "a\n")
	for _, link := range []string{"link.md", "second.md"} {
		if err := os.Symlink("real.md", b.path(link)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	first := b.open("link.md")
	b.replace(first.ID, "a", "b")
	for _, name := range []string{"link.md", "real.md", "second.md"} {
		if again := b.open(name); again.ID != first.ID || again.Version != 2 {
			t.Errorf("%s: opened as %+v", name, again)
		}
	}
	// A save gives the file another inode; it is one document all the same.
	b.save(first.ID)
	for _, name := range []string{"real.md", "second.md"} {
		if again := b.open(name); again.ID != first.ID {
			t.Errorf("%s: opened as another document after a save", name)
		}
	}
	if n := len(b.List()); n != 1 {
		t.Errorf("%d documents", n)
	}
}

// covers: F2
func TestOpen_ShowsWhatItCannotWriteBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const disk = "caf\xE9\r\n\x00\n"
	b.file("latin1.txt", disk)
	i := b.open("latin1.txt")
	if i.ReadOnly != fault.UnsupportedEncoding || i.Dirty {
		t.Errorf("opened as %+v", i)
	}
	if s, _, err := b.Text(i.ID); s != "caf\\xe9\n\\x00\n" || err != nil {
		t.Errorf("view %q, %v", s, err)
	}
	_, err := b.Sync(SyncRequest{Page: b.page, ID: i.ID, FromVersion: 1, Changes: []Change{{[]text.Edit{{Insert: "x"}}, nil}}})
	wantCode(t, "sync", err, fault.ReadOnly)
	if done, err := b.Sync(SyncRequest{Page: b.page, ID: i.ID, FromVersion: 1, Anchor: 1}); err != nil || done != (Synced{Version: 1}) {
		t.Errorf("a moved selection: %+v, %v", done, err)
	}
	_, err = b.ReplaceText(Replacement{Page: b.page, ID: i.ID, Version: 2, Text: "x"})
	wantCode(t, "replace", err, fault.ReadOnly)
	r := b.request(i.ID)
	r.Overwrite = true
	_, err = b.Save(t.Context(), r)
	wantCode(t, "save", err, fault.ReadOnly)
	_, err = b.SaveAs(t.Context(), r, b.path("other.txt"))
	wantCode(t, "save as", err, fault.ReadOnly)
	b.wantDisk("latin1.txt", disk)
}

func TestOpen_LargeFileIsReadOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("large.md", strings.Repeat("a line of text\n", MaxEditable/15+1))
	i := b.open("large.md")
	if i.ReadOnly != fault.TooLarge || i.Length <= MaxEditable || i.Format.Encoding != text.UTF8 {
		t.Errorf("opened read-only for %q at length %d", i.ReadOnly, i.Length)
	}
	b.file("huge.md", "")
	if err := os.Truncate(b.path("huge.md"), maxShown+1); err != nil {
		t.Fatal(err)
	}
	_, err := b.Open(t.Context(), b.path("huge.md"))
	wantCode(t, "huge", err, fault.TooLarge)
}

func TestOpen_Refuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := os.Mkdir(b.path("folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fault.Code{
		b.path("folder"):     fault.NotAFile,
		b.path("missing.md"): fault.NotFound,
		b.home:               fault.OutsideWorkspace,
		"":                   fault.InvalidInput,
	} {
		_, err := b.Open(t.Context(), name)
		wantCode(t, name, err, want)
	}
	if n := len(b.List()); n != 0 {
		t.Errorf("%d documents", n)
	}
}

func TestReload_TakesTheirs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "mine\n")
	id := b.open("n.md").ID
	b.replace(id, "mine", "mine, edited")
	if err := b.FlushDrafts(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.file("n.md", "\xEF\xBB\xBFtheirs\r\n")
	i, err := b.Reload(t.Context(), b.page, id)
	if err != nil {
		t.Fatal(err)
	}
	if i.Dirty || i.Version != 3 || !i.Format.BOM || i.Majority != text.CRLF {
		t.Errorf("reloaded: %+v", i)
	}
	if len(b.draftFiles()) != 0 {
		t.Errorf("drafts left: %v", b.draftFiles())
	}
	b.replace(id, "theirs", "both")
	b.save(id)
	b.wantDisk("n.md", "\xEF\xBB\xBFboth\r\n")
	_, err = b.Reload(t.Context(), b.page, b.NewUntitled().ID)
	wantCode(t, "untitled", err, fault.InvalidInput)
}
