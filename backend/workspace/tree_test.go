package workspace_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// picture is all that lies below root: folders, links and the bytes of files,
// by their path.
func picture(t testing.TB, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		switch mode := d.Type(); {
		case mode.IsDir():
			out[rel] = "folder"
		case mode&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			out[rel] = "-> " + to
			return err
		case mode.IsRegular():
			data, err := os.ReadFile(p)
			out[rel] = string(data)
			return err
		default:
			out[rel] = mode.String()
		}
		return nil
	}))
	return out
}

func wantPicture(t testing.TB, root string, want map[string]string) {
	t.Helper()
	if d := cmp.Diff(want, picture(t, root)); d != "" {
		t.Errorf("%s (-want +got):\n%s", filepath.Base(root), d)
	}
}

// deeds are the changes of the tree that take one path.
func deeds(g *workspace.Grants) map[string]func(path string) error {
	ctx := context.Background()
	return map[string]func(string) error{
		"create": func(p string) error {
			_, err := g.Create(filepath.Dir(p), "new.md", false)
			return err
		},
		"create folder": func(p string) error {
			_, err := g.Create(filepath.Dir(p), "new", true)
			return err
		},
		"move away": func(p string) error {
			_, err := g.Move(ctx, p, filepath.Join(g.Workspace(), "moved"))
			return err
		},
		"move there": func(p string) error {
			_, err := g.Move(ctx, filepath.Join(g.Workspace(), "mine.md"), p+"-new")
			return err
		},
		"duplicate": func(p string) error {
			_, err := g.Duplicate(ctx, p)
			return err
		},
		"trash": func(p string) error { return g.Trash(ctx, p) },
	}
}

// TestTree_D5 is row D5 for each change of the tree: whatever leads out of the
// folder that was opened is there, and stays as it is.
//
// covers: F7 F8
func TestTree_D5(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	root := tree(t, map[string]string{
		"w/notes/mine.md":        "mine",
		"w/notes/out":            "-> $ROOT/w",
		"w/notes/out-rel":        "-> ..",
		"w/notes/in":             "folder",
		"w/notes-private/a.md":   "private",
		"w/notes-private/sub/b":  "b",
		"w/b.md":                 "b",
		"elsewhere/single/c.md":  "c",
		"elsewhere/single/d.md":  "d",
		"elsewhere/single/e/f.x": "f",
	})
	notes := filepath.Join(root, "w/notes")
	g := openFolder(t, notes)
	if _, err := g.GrantFile(root + "/elsewhere/single/c.md"); err != nil {
		t.Fatal(err)
	}
	before := picture(t, root)
	for _, p := range []string{
		"../b.md",
		notes + "/../b.md",
		root + "/w/b.md",
		root + "/w/notes-private/a.md",
		root + "/w/notes-private/sub",
		notes + "/out/b.md",
		notes + "/out-rel/b.md",
		notes + "/out/notes/mine.md", // leaves and returns
		notes + "/out/notes-private/sub",
		root + "/elsewhere/single/c.md", // granted by itself: it has no tree
		root + "/elsewhere/single/d.md",
		root + "/elsewhere/single/e",
	} {
		for name, do := range deeds(g) {
			if err := do(p); fault.CodeOf(err) != fault.OutsideWorkspace {
				t.Errorf("%s %s: %v", name, p, err)
			}
		}
	}
	// The folder itself, and its name in the folder above.
	for _, name := range []string{"move away", "duplicate", "trash"} {
		for _, p := range []string{notes, notes + "/", notes + "/.", notes + "/in/.."} {
			if err := deeds(g)[name](p); fault.CodeOf(err) != fault.OutsideWorkspace {
				t.Errorf("%s %s: %v", name, p, err)
			}
		}
	}
	for _, name := range []string{"create", "move there"} {
		if err := deeds(g)[name](notes); fault.CodeOf(err) != fault.OutsideWorkspace {
			t.Errorf("%s beside the folder: %v", name, err)
		}
	}
	wantPicture(t, root, before)

	none := workspace.NewGrants()
	defer none.Close()
	for name, do := range deeds(none) {
		if err := do(notes + "/mine.md"); fault.CodeOf(err) != fault.NotGranted {
			t.Errorf("%s without a grant: %v", name, err)
		}
	}
	if _, err := g.Create(notes, "../w2.md", false); fault.CodeOf(err) != fault.ReservedName {
		t.Errorf("a name that is a path: %v", err)
	}
	wantPicture(t, root, before)
}

// covers: F8
func TestCreate(t *testing.T) {
	root := tree(t, map[string]string{
		"a.md": "a", "sub/": "", "dangling": "-> nowhere", "file/": "",
	})
	g := openFolder(t, root)
	e, err := g.Create(root, "New note.md", false)
	must(t, err)
	if d := cmp.Diff(workspace.Entry{Name: "New note.md", Path: root + "/New note.md"}, e); d != "" {
		t.Error(d)
	}
	e, err = g.Create(root+"/sub", "Ordner ✎", true)
	must(t, err)
	if !e.Folder || e.Path != root+"/sub/Ordner ✎" {
		t.Errorf("%+v", e)
	}
	before := picture(t, root)
	if before["New note.md"] != "" || before["sub/Ordner ✎"] != "folder" {
		t.Errorf("%v", before)
	}
	for _, c := range []struct {
		folder, name string
		want         fault.Code
	}{
		{"", "a.md", fault.Exists},
		{"", "sub", fault.Exists},
		{"", "dangling", fault.Exists},
		{"", "nul.md", fault.ReservedName},
		{"", "a\nb.md", fault.ReservedName},
		{"", "a:stream", fault.ReservedName},
		{"", "end.", fault.ReservedName},
		{"", "end ", fault.ReservedName},
		{"", "", fault.ReservedName},
		{"", "..", fault.ReservedName},
		{"", "x/y", fault.ReservedName},
		{"", `x\y`, fault.ReservedName},
		{"", ".galley-1-x.tmp", fault.ReservedName},
		{"", strings.Repeat("n", 300) + ".md", fault.ReservedName},
		{"none", "x.md", fault.NotFound},
		{"a.md", "x.md", fault.NotFound},
	} {
		for _, folder := range []bool{false, true} {
			if _, err := g.Create(filepath.Join(root, c.folder), c.name, folder); fault.CodeOf(err) != c.want {
				t.Errorf("%q in %q: %v, want %s", c.name, c.folder, err, c.want)
			}
		}
	}
	wantPicture(t, root, before)
}

// covers: F8
func TestMove(t *testing.T) {
	nfc, nfd := norm.NFC.String("é.md"), norm.NFD.String("é.md")
	for _, c := range []struct {
		name     string
		files    map[string]string
		from, to string
		want     fault.Code
		after    map[string]string
	}{
		{"rename", map[string]string{"a.md": "a"}, "a.md", "b 🦊.md", "", map[string]string{"b 🦊.md": "a"}},
		{"into a folder", map[string]string{"a.md": "a", "s/": ""}, "a.md", "s/a.md", "", map[string]string{"s": "folder", "s/a.md": "a"}},
		{"folder", map[string]string{"s/t/a.md": "a", "u/": ""}, "s", "u/v", "", map[string]string{"u": "folder", "u/v": "folder", "u/v/t": "folder", "u/v/t/a.md": "a"}},
		{"same name", map[string]string{"a.md": "a"}, "a.md", "a.md", "", map[string]string{"a.md": "a"}},
		{"two names that differ in case", map[string]string{"a.md": "a", "A.md": "A"}, "a.md", "A.md", fault.Exists, nil},
		{"another case", map[string]string{"a.md": "a"}, "a.md", "A.md", "", map[string]string{"A.md": "a"}},
		{"another composition", map[string]string{nfc: "a"}, nfc, nfd, "", map[string]string{nfd: "a"}},
		{"two compositions", map[string]string{nfc: "a", nfd: "b"}, nfc, nfd, fault.Exists, nil},
		{"over a file", map[string]string{"a.md": "a", "b.md": "b"}, "a.md", "b.md", fault.Exists, nil},
		{"over an empty folder", map[string]string{"a.md": "a", "b/": ""}, "a.md", "b", fault.Exists, nil},
		{"folder over an empty one", map[string]string{"a/x": "x", "b/": ""}, "a", "b", fault.Exists, nil},
		{"folder over a file", map[string]string{"a/x": "x", "b": "b"}, "a", "b", fault.Exists, nil},
		{"over a link that leads nowhere", map[string]string{"a.md": "a", "l": "-> nowhere"}, "a.md", "l", fault.Exists, nil},
		{"over a link to itself", map[string]string{"a.md": "a", "l.md": "-> a.md"}, "a.md", "l.md", fault.Exists, nil},
		{"folder into itself", map[string]string{"s/x": "x"}, "s", "s/t", fault.InvalidInput, nil},
		{"folder far into itself", map[string]string{"s/t/x": "x"}, "s", "s/t/u", fault.InvalidInput, nil},
		{"folder into itself by a link", map[string]string{"s/t/x": "x", "l": "-> s/t"}, "s", "l/u", fault.InvalidInput, nil},
		{"prefix of a name", map[string]string{"s/x": "x", "s2/": ""}, "s", "s2/s", "", map[string]string{"s2": "folder", "s2/s": "folder", "s2/s/x": "x"}},
		{"the link, not the file", map[string]string{"a.md": "a", "l.md": "-> a.md"}, "l.md", "k.md", "", map[string]string{"a.md": "a", "k.md": "-> a.md"}},
		{"a link that leads out", map[string]string{"l.md": "-> /etc/hostname"}, "l.md", "k.md", "", map[string]string{"k.md": "-> /etc/hostname"}},
		{"through a link to a folder", map[string]string{"a.md": "a", "s/": "", "l": "-> s"}, "a.md", "l/a.md", "", map[string]string{"s": "folder", "l": "-> s", "s/a.md": "a"}},
		{"reserved", map[string]string{"a.md": "a"}, "a.md", "con.md", fault.ReservedName, nil},
		{"newline", map[string]string{"a.md": "a"}, "a.md", "a\nb.md", fault.ReservedName, nil},
		{"a name of ours", map[string]string{"a.md": "a"}, "a.md", ".galley-1-x.tmp", fault.ReservedName, nil},
		{"too long", map[string]string{"a.md": "a"}, "a.md", strings.Repeat("é", 200), fault.ReservedName, nil},
		{"a name that others gave", map[string]string{"a:\nb.md": "a", "s/": ""}, "a:\nb.md", "s/a:\nb.md", "", map[string]string{"s": "folder", "s/a:\nb.md": "a"}},
		{"to no folder", map[string]string{"a.md": "a"}, "a.md", "none/a.md", fault.NotFound, nil},
		{"nothing", map[string]string{"a.md": "a"}, "b.md", "c.md", fault.NotFound, nil},
		{"half a save", map[string]string{".galley-1-x.tmp": "a"}, ".galley-1-x.tmp", "c.md", fault.NotFound, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := tree(t, c.files)
			g := openFolder(t, root)
			before := picture(t, root)
			if c.name != "too long" { // only the system knows
				wantCode(t, g.CheckMove(filepath.Join(root, c.from), filepath.Join(root, c.to)), c.want)
				wantPicture(t, root, before)
			}
			e, err := g.Move(t.Context(), filepath.Join(root, c.from), filepath.Join(root, c.to))
			wantCode(t, err, c.want)
			if c.want != "" {
				wantPicture(t, root, before)
				return
			}
			wantPicture(t, root, c.after)
			if e.Path != filepath.Join(root, c.to) || e.Name != filepath.Base(c.to) {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestMove_NotASecondNameOfTheSameFile(t *testing.T) {
	root := tree(t, map[string]string{"a.md": "a"})
	must(t, os.Link(root+"/a.md", root+"/A.md"))
	g := openFolder(t, root)
	_, err := g.Move(t.Context(), root+"/a.md", root+"/A.md")
	wantCode(t, err, fault.Exists)
	wantPicture(t, root, map[string]string{"a.md": "a", "A.md": "a"})
}

// foldCalls is a medium that does not tell the case of letters, nor their
// composition, apart, as on Windows and macOS.
type foldCalls struct{ workspace.Calls }

func (f foldCalls) OpenDir(path string) (workspace.Dir, error) {
	d, err := f.Calls.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return foldDir{d}, nil
}

type foldDir struct{ workspace.Dir }

// spelt returns the name under which an entry of the folder is kept.
func (d foldDir) spelt(name string) string {
	key := func(s string) string { return strings.ToLower(norm.NFC.String(s)) }
	found, err := d.List()
	if err != nil {
		return name
	}
	for _, e := range found {
		if key(e.Name()) == key(name) {
			return e.Name()
		}
	}
	return name
}

func (d foldDir) OpenDir(name string) (workspace.Dir, error) {
	in, err := d.Dir.OpenDir(d.spelt(name))
	if err != nil {
		return nil, err
	}
	return foldDir{in}, nil
}

func (d foldDir) Lstat(name string) (fs.FileInfo, error) { return d.Dir.Lstat(d.spelt(name)) }
func (d foldDir) Stat(name string) (fs.FileInfo, error)  { return d.Dir.Stat(d.spelt(name)) }
func (d foldDir) Rename(from, to string) error           { return d.Dir.Rename(d.spelt(from), to) }

func (d foldDir) Move(from string, to workspace.Dir, name string) error {
	other := to.(foldDir)
	if _, err := other.Lstat(name); err == nil {
		return fs.ErrExist
	}
	return d.Dir.Move(d.spelt(from), other.Dir, name)
}

// covers: F8
func TestMove_AnotherSpelling(t *testing.T) {
	nfc, nfd := norm.NFC.String("é.md"), norm.NFD.String("é.md")
	for _, c := range []struct{ from, to string }{{"a.md", "A.md"}, {nfc, nfd}, {nfd, nfc}, {"sub", "Sub"}} {
		files := map[string]string{c.from: "a"}
		if c.from == "sub" {
			files = map[string]string{"sub/x": "x"}
		}
		root := tree(t, files)
		g := workspace.NewGrantsOn(foldCalls{workspace.OSCalls()})
		_, err := g.GrantFolder(root)
		must(t, err)
		_, err = g.Move(t.Context(), root+"/"+c.from, root+"/"+c.to)
		must(t, err)
		if got := names(t, root); len(got) != 1 || got[0] != c.to {
			t.Errorf("%q → %q: %q", c.from, c.to, got)
		}
		// Another file in that spelling is one that exists.
		must(t, os.WriteFile(root+"/other", []byte("o"), 0o644))
		_, err = g.Move(t.Context(), root+"/other", root+"/"+c.from)
		wantCode(t, err, fault.Exists)
		g.Close()
	}
}

// TestMove_GrantsFollow moves files that were granted by themselves, and the
// folders above them.
//
// covers: F7 F8
func TestMove_GrantsFollow(t *testing.T) {
	root := tree(t, map[string]string{
		"w/s/a.md": "a", "w/s/b.md": "b", "w/t/": "", "w/inner/deep/c.md": "c", "link.md": "-> $ROOT/w/s/a.md",
	})
	w := root + "/w"
	g := openFolder(t, w)
	for _, p := range []string{w + "/s/a.md", root + "/link.md"} {
		_, err := g.GrantFile(p)
		must(t, err)
	}
	_, err := g.GrantFolder(w + "/inner/deep")
	must(t, err)
	old, err := g.PermitRead(w + "/inner/deep/c.md")
	must(t, err)

	_, err = g.Move(t.Context(), w+"/s/a.md", w+"/t/new.md")
	must(t, err)
	_, err = g.Move(t.Context(), w+"/t", w+"/u")
	must(t, err)
	_, err = g.Move(t.Context(), w+"/inner", w+"/outer")
	must(t, err)
	if got := g.Workspace(); got != w+"/outer/deep" {
		t.Errorf("workspace: %s", got)
	}
	// A permit from before reaches the file where it is now.
	if data, _, err := old.Read(10); err != nil || string(data) != "c" {
		t.Errorf("old permit: %q, %v", data, err)
	}

	// What was granted by itself still is when its folders are not.
	g.Revoke(w + "/outer/deep")
	g.Revoke(w)
	f, err := g.PermitRead(w + "/u/new.md")
	must(t, err)
	if data, _, err := f.Read(10); err != nil || string(data) != "a" {
		t.Errorf("got %q, %v", data, err)
	}
	target, err := g.PermitWrite(w + "/u/new.md")
	must(t, err)
	_, err = target.Write([]byte("a2"), workspace.WriteOptions{Overwrite: true, RecoveryDir: root + "/recovery"})
	must(t, err)
	if data, err := os.ReadFile(w + "/u/new.md"); err != nil || string(data) != "a2" {
		t.Errorf("written: %q, %v", data, err)
	}
	// And nothing else is.
	must(t, os.WriteFile(w+"/s/a.md", []byte("another"), 0o644))
	must(t, os.Mkdir(w+"/t", 0o755))
	must(t, os.WriteFile(w+"/t/new.md", []byte("another"), 0o644))
	must(t, os.WriteFile(w+"/u/beside.md", []byte("beside"), 0o644))
	for _, p := range []string{w + "/s/a.md", w + "/s/b.md", w + "/t/new.md", w + "/u/beside.md", w + "/u", w + "/outer/deep/c.md"} {
		_, err := g.PermitRead(p)
		wantCode(t, err, fault.NotGranted)
	}
	g.Revoke(w + "/u/new.md")
	_, err = g.PermitRead(w + "/u/new.md")
	wantCode(t, err, fault.NotGranted)
}

// TestMove_Races lets 200 pairs of moves run for one name: one of each wins
// and no text is lost.
//
// covers: F8
func TestMove_Races(t *testing.T) {
	const rounds = 200
	root := tree(t, nil)
	g := openFolder(t, root)
	for round := range rounds {
		var group sync.WaitGroup
		var errs [2]error
		for i := range errs {
			from := fmt.Sprintf("%s/%d-%d", root, round, i)
			must(t, os.WriteFile(from, []byte(from), 0o644))
			group.Go(func() { _, errs[i] = g.Move(context.Background(), from, fmt.Sprintf("%s/%d", root, round)) })
		}
		group.Wait()
		won := 0
		for _, err := range errs {
			switch fault.CodeOf(err) {
			case "":
				won++
			case fault.Exists:
			default:
				t.Fatal(err)
			}
		}
		if won != 1 {
			t.Fatalf("round %d: %d won", round, won)
		}
	}
	texts := map[string]bool{}
	for _, content := range picture(t, root) {
		texts[content] = true
	}
	if len(texts) != 2*rounds {
		t.Errorf("%d texts of %d are left", len(texts), 2*rounds)
	}
}

// covers: F8
func TestDuplicate(t *testing.T) {
	root := tree(t, map[string]string{
		"Notes.md": "n", ".env": "e", "a.tar.gz": "z", "copy": "c", "My copy notes.md": "m",
		"sub/x.md": "x", "sub/deep/y.md": "y", "sub/l": "-> x.md", "sub/out": "-> /etc/hostname", "sub/.galley-1-x.tmp": "t",
		"l.md": "-> sub/x.md", "ld": "-> sub/deep", "bad.md": "-> /etc/hostname", "sub/up.md": "-> ../Notes.md",
		strings.Repeat("é", 126) + ".md": "long",
	})
	must(t, os.Chmod(root+"/Notes.md", 0o440))
	must(t, os.Chmod(root+"/sub/deep", 0o555))
	t.Cleanup(func() {
		_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, _ error) error { _ = os.Chmod(p, 0o755); return nil })
	})
	g := openFolder(t, root)
	for _, c := range []struct{ of, want string }{
		{"Notes.md", "Notes copy.md"},
		{"Notes.md", "Notes copy 2.md"},
		{"Notes copy.md", "Notes copy 3.md"},
		{"Notes copy 2.md", "Notes copy 4.md"},
		{".env", ".env copy"},
		{"a.tar.gz", "a.tar copy.gz"},
		{"copy", "copy copy"},
		{"My copy notes.md", "My copy notes copy.md"},
		{"sub", "sub copy"},
		{"sub", "sub copy 2"},
		{"l.md", "l copy.md"},
		{"ld", "ld copy"},
		{"sub/up.md", "sub/up copy.md"},
		{strings.Repeat("é", 126) + ".md", strings.Repeat("é", 123) + " copy.md"},
	} {
		e, err := g.Duplicate(t.Context(), filepath.Join(root, c.of))
		must(t, err)
		if e.Path != filepath.Join(root, c.want) {
			t.Errorf("copy of %s: %s", c.of, e.Path)
		}
	}
	got := picture(t, root)
	for name, want := range map[string]string{
		"Notes copy 4.md": "n", "sub copy/x.md": "x", "sub copy/deep/y.md": "y", "sub copy/l": "-> x.md", "sub copy/out": "-> /etc/hostname",
		"sub copy/.galley-1-x.tmp": "", "l copy.md": "x", "ld copy/y.md": "y", "sub/up copy.md": "n",
	} {
		if got[name] != want {
			t.Errorf("%s holds %q, want %q", name, got[name], want)
		}
	}
	for name, want := range map[string]fs.FileMode{"Notes copy.md": 0o440, "sub copy/deep": 0o555} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	for name := range got {
		if strings.Contains(name, "-copy-") {
			t.Errorf("%s is left", name)
		}
	}
	_, err := g.Duplicate(t.Context(), root+"/bad.md")
	wantCode(t, err, fault.OutsideWorkspace)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	before := picture(t, root)
	_, err = g.Duplicate(gone, root+"/sub")
	wantCode(t, err, fault.Cancelled)
	wantPicture(t, root, before)
}
