package workspace_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// tree makes files (path → content), folders (path ending in a slash) and
// links (path → "-> where") under a new folder free of links, and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	return treeIn(t, t.TempDir(), files)
}

// treeIn is tree in a folder that is there.
func treeIn(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(dir)
	must(t, err)
	for name, content := range files {
		p := filepath.Join(root, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(p, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		if to, ok := strings.CutPrefix(content, "-> "); ok {
			must(t, os.Symlink(strings.ReplaceAll(to, "$ROOT", root), p))
			continue
		}
		must(t, os.WriteFile(p, []byte(content), 0o644))
	}
	return root
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, want fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

// openFolder grants root and closes the grants with the test.
func openFolder(t *testing.T, root string) *workspace.Grants {
	t.Helper()
	g := workspace.NewGrants()
	t.Cleanup(g.Close)
	if _, err := g.GrantFolder(root); err != nil {
		t.Fatal(err)
	}
	return g
}

// TestPermit_D5 is row D5: every refused path leads to a file that exists.
//
// covers: F7 X5 X6
func TestPermit_D5(t *testing.T) {
	root := tree(t, map[string]string{
		"w/notes/a.md":         "a",
		"w/notes/..hello/c.md": "c",
		"w/notes/out":          "-> $ROOT/w",
		"w/notes/out-rel":      "-> ..",
		"w/notes/leaf.md":      "-> ../b.md",
		"w/notes-private/a.md": "private",
		"w/b.md":               "b",
	})
	notes := filepath.Join(root, "w/notes")
	g := openFolder(t, notes)

	refused := []string{
		"../b.md", // the surface takes no relative path
		notes + "/../b.md",
		root + "/w/b.md",
		notes + "/out/b.md",
		notes + "/out-rel/b.md",
		notes + "/leaf.md",
		root + "/w/notes-private/a.md",
		notes + "/out/notes-private/a.md",
		notes + "/out/notes/a.md", // leaves and returns
	}
	t.Chdir(notes)
	for _, p := range refused {
		if _, err := os.ReadFile(p); err != nil {
			t.Fatalf("%s must exist to be refused: %v", p, err)
		}
		_, err := g.PermitRead(p)
		wantCode(t, err, fault.OutsideWorkspace)
		_, err = g.PermitWrite(p)
		wantCode(t, err, fault.OutsideWorkspace)
		_, err = g.PermitList(filepath.Dir(p))
		if filepath.Dir(p) != notes { // the link itself lies in the workspace
			wantCode(t, err, fault.OutsideWorkspace)
		}
	}
	for _, p := range []string{"/..hello/c.md", "/a.md", "//a.md", "/./a.md", "/..hello/../a.md"} {
		f, err := g.PermitRead(notes + p)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		if _, _, err := f.Read(10); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// TestPermit_Escapes tries the ways out of FILES.md A.5 that need real links.
//
// covers: F7 X6
func TestPermit_Escapes(t *testing.T) {
	root := tree(t, map[string]string{
		"secret.md":       "SECRET",
		"secrets/":        "",
		"secrets/in.md":   "SECRET",
		"w/ok.md":         "ok",
		"w/sub/deep.md":   "deep",
		"w/chain1":        "-> chain2",
		"w/chain2":        "-> ../secret.md",
		"w/loop1":         "-> loop2",
		"w/loop2":         "-> loop1",
		"w/abs-inside":    "-> $ROOT/w/ok.md",
		"w/dir":           "-> ../secrets",
		"w/proc-root":     "-> /proc/self/root",
		"w/proc-cwd":      "-> /proc/self/cwd",
		"w/dangling":      "-> ../created.md",
		"w-evil/a.md":     "SECRET",
		"w/sub/up":        "-> ../..",
		"w/sub/up-inside": "-> ..",
	})
	w := filepath.Join(root, "w")
	g := openFolder(t, w)
	for _, p := range []string{
		"chain1", "chain2", "loop1", "abs-inside", "dir/in.md", "dir//in.md", "dir/./in.md",
		"proc-root" + root + "/secret.md", "proc-root/proc/self/root" + root + "/secret.md",
		"sub/up/secret.md", "sub/up/w/ok.md", "../w-evil/a.md", "../secret.md", "sub/../../secret.md",
	} {
		_, err := g.PermitRead(w + "/" + p)
		wantCode(t, err, fault.OutsideWorkspace)
		_, err = g.PermitWrite(w + "/" + p)
		wantCode(t, err, fault.OutsideWorkspace)
	}
	for _, p := range []string{"dir", "sub/up", "dir/", "proc-root", "proc-cwd"} {
		_, err := g.PermitList(w + "/" + p)
		wantCode(t, err, fault.OutsideWorkspace)
	}

	_, err := g.PermitWrite(w + "/dangling")
	wantCode(t, err, fault.OutsideWorkspace)
	if _, err := os.Lstat(filepath.Join(root, "created.md")); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file appeared outside")
	}

	for _, p := range []string{"", "a\x00.md"} {
		_, err := g.PermitRead(p)
		wantCode(t, err, fault.InvalidInput)
	}
	_, err = g.PermitRead(w + "/sub/up-inside/ok.md")
	if err != nil {
		t.Errorf("a link that stays inside: %v", err)
	}
}

// covers: F7
func TestPermit_NothingGranted(t *testing.T) {
	root := tree(t, map[string]string{"a.md": "a"})
	g := workspace.NewGrants()
	_, err := g.PermitRead(root + "/a.md")
	wantCode(t, err, fault.NotGranted)
	_, err = g.PermitWrite(root + "/a.md")
	wantCode(t, err, fault.NotGranted)
	_, err = g.PermitList(root)
	wantCode(t, err, fault.NotGranted)
}

// covers: F7
func TestPermit_FileGrantReachesThatFileOnly(t *testing.T) {
	root := tree(t, map[string]string{
		"real/a.md": "a", "real/b.md": "b", "link.md": "-> real/a.md",
	})
	g := workspace.NewGrants()
	t.Cleanup(g.Close)
	given, err := g.GrantFile(root + "/real/../link.md")
	must(t, err)
	if want := filepath.Join(root, "link.md"); given != want {
		t.Errorf("given: got %q, want %q", given, want)
	}
	for _, p := range []string{given, filepath.Join(root, "real/a.md")} {
		f, err := g.PermitRead(p)
		must(t, err)
		data, _, err := f.Read(10)
		must(t, err)
		if string(data) != "a" {
			t.Errorf("%s: got %q", p, data)
		}
		_, err = g.PermitWrite(p)
		must(t, err)
		_, err = g.PermitList(p)
		wantCode(t, err, fault.NotAFile)
	}
	_, err = g.PermitRead(filepath.Join(root, "real/b.md"))
	wantCode(t, err, fault.NotGranted)
	_, err = g.PermitList(filepath.Join(root, "real"))
	wantCode(t, err, fault.NotGranted)

	// The link leads elsewhere later: the grant stays with the file chosen.
	must(t, os.Remove(given))
	must(t, os.Symlink("real/b.md", given))
	f, err := g.PermitRead(given)
	must(t, err)
	data, _, err := f.Read(10)
	must(t, err)
	if string(data) != "a" {
		t.Errorf("after the link moved: got %q", data)
	}

	// A link in place of the granted file itself is refused.
	real := filepath.Join(root, "real/a.md")
	must(t, os.Remove(real))
	must(t, os.Symlink("b.md", real))
	_, err = g.PermitRead(real)
	wantCode(t, err, fault.OutsideWorkspace)
	_, err = g.PermitWrite(real)
	wantCode(t, err, fault.OutsideWorkspace)
}

// covers: F7
func TestPermit_RevokeEndsPermitsGivenOut(t *testing.T) {
	root := tree(t, map[string]string{"w/a.md": "a", "c.md": "c"})
	g := openFolder(t, root+"/w")
	file, err := g.GrantFile(root + "/c.md")
	must(t, err)
	inside, err := g.PermitRead(root + "/w/a.md")
	must(t, err)
	single, err := g.PermitRead(file)
	must(t, err)
	target, err := g.PermitWrite(root + "/w/a.md")
	must(t, err)
	folder, err := g.PermitList(root + "/w")
	must(t, err)

	g.Revoke(root + "/w")
	g.Revoke(file)
	if got := g.Workspace(); got != "" {
		t.Errorf("workspace: got %q", got)
	}
	_, _, err = inside.Read(10)
	wantCode(t, err, fault.NotGranted)
	_, _, err = single.Read(10)
	wantCode(t, err, fault.NotGranted)
	_, _, err = folder.List(10)
	wantCode(t, err, fault.NotGranted)
	_, err = target.Write([]byte("x"), workspace.WriteOptions{Overwrite: true, RecoveryDir: root + "/rec"})
	wantCode(t, err, fault.NotGranted)
	_, err = g.PermitRead(file)
	wantCode(t, err, fault.NotGranted)
}

// covers: F7
func TestPermit_WriteRefusesTheWorkspaceItselfAndFolders(t *testing.T) {
	root := tree(t, map[string]string{"w/sub/a.md": "a"})
	g := openFolder(t, root+"/w")
	for _, p := range []string{"/w", "/w/", "/w/.", "/w/sub/..", "/w/sub"} {
		_, err := g.PermitWrite(root + p)
		wantCode(t, err, fault.NotAFile)
	}
	_, err := g.PermitWrite(root + "/w/none/a.md")
	wantCode(t, err, fault.NotFound)
	_, err = g.PermitRead(root + "/w/sub")
	wantCode(t, err, fault.NotAFile)
	_, err = g.PermitList(root + "/w/sub/a.md")
	wantCode(t, err, fault.NotAFile)
	_, err = g.PermitRead(root + "/w/none.md")
	wantCode(t, err, fault.NotFound)
}

// covers: F7
func TestPermit_FolderOpenedThroughALink(t *testing.T) {
	root := tree(t, map[string]string{"data/notes/a.md": "a", "notes": "-> data/notes", "data/notes/sub/b.md": "b"})
	g := openFolder(t, root+"/notes")
	if got, want := g.Workspace(), root+"/notes"; got != want {
		t.Errorf("workspace: got %q, want %q", got, want)
	}
	for _, p := range []string{"/notes/a.md", "/data/notes/a.md", "/notes/sub/b.md"} {
		if _, err := g.PermitRead(root + p); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	f, err := g.PermitList(root + "/notes")
	must(t, err)
	entries, _, err := f.List(10)
	must(t, err)
	if len(entries) != 2 || entries[1].Path != root+"/notes/a.md" {
		t.Errorf("entries: %+v", entries)
	}
}

// A branch is switched: the folder goes and another comes in its place.
func TestPermit_FollowsAFolderThatWasReplaced(t *testing.T) {
	root := tree(t, map[string]string{"w/sub/a.md": "old"})
	g := openFolder(t, root+"/w/sub")
	single := workspace.NewGrants()
	t.Cleanup(single.Close)
	_, err := single.GrantFile(root + "/w/sub/a.md")
	must(t, err)

	must(t, os.RemoveAll(root+"/w"))
	must(t, os.MkdirAll(root+"/w/sub", 0o755))
	must(t, os.WriteFile(root+"/w/sub/a.md", []byte("new"), 0o644))
	for _, grants := range []*workspace.Grants{g, single} {
		f, err := grants.PermitRead(root + "/w/sub/a.md")
		must(t, err)
		data, _, err := f.Read(10)
		must(t, err)
		if string(data) != "new" {
			t.Errorf("got %q", data)
		}
	}
	target, err := g.PermitWrite(root + "/w/sub/new.md")
	must(t, err)
	_, err = target.Write([]byte("n"), workspace.WriteOptions{RecoveryDir: root + "/rec"})
	must(t, err)
	if data, err := os.ReadFile(root + "/w/sub/new.md"); err != nil || string(data) != "n" {
		t.Errorf("got %q, %v", data, err)
	}
}

// A link in its place is not followed.
//
// covers: F7
func TestPermit_DoesNotFollowAFolderReplacedByALink(t *testing.T) {
	root := tree(t, map[string]string{"w/sub/a.md": "old", "evil/a.md": "SECRET", "evil/sub/a.md": "SECRET"})
	for _, swapped := range []string{"/w/sub", "/w"} {
		g := openFolder(t, root+"/w/sub")
		must(t, os.Rename(root+swapped, root+"/moved"))
		must(t, os.Symlink(root+"/evil", root+swapped))
		f, err := g.PermitRead(root + "/w/sub/a.md")
		must(t, err)
		data, _, err := f.Read(10)
		must(t, err)
		if string(data) != "old" {
			t.Errorf("%s: got %q", swapped, data)
		}
		must(t, os.RemoveAll(root+"/moved/sub/a.md"))
		must(t, os.RemoveAll(root+"/moved/a.md"))
		_, err = g.PermitRead(root + "/w/sub/a.md")
		wantCode(t, err, fault.NotFound)
		must(t, os.Remove(root+swapped))
		must(t, os.Rename(root+"/moved", root+swapped))
		must(t, os.WriteFile(root+"/w/sub/a.md", []byte("old"), 0o644))
	}
}

// covers: F7
func TestGrant_Refusals(t *testing.T) {
	root := tree(t, map[string]string{
		"a.md": "a", "d/": "", "gone": "-> nowhere/x", "broken.md": "-> d/made.md", "loop": "-> loop", "to-dir": "-> d",
	})
	g := workspace.NewGrants()
	t.Cleanup(g.Close)
	_, err := g.GrantFile(root + "/none.md")
	wantCode(t, err, fault.NotFound)
	_, err = g.GrantFile(root + "/d")
	wantCode(t, err, fault.NotAFile)
	_, err = g.GrantFile(root + "/gone")
	wantCode(t, err, fault.NotFound)
	_, err = g.GrantFolder(root + "/a.md")
	wantCode(t, err, fault.NotAFile)
	_, err = g.GrantFolder(root + "/none")
	wantCode(t, err, fault.NotFound)
	_, err = g.GrantSave(root + "/d")
	wantCode(t, err, fault.NotAFile)
	_, err = g.GrantSave(root + "/to-dir")
	wantCode(t, err, fault.NotAFile)
	_, err = g.GrantSave(root + "/none/a.md")
	wantCode(t, err, fault.NotFound)
	_, err = g.GrantSave(root + "/gone")
	wantCode(t, err, fault.NotFound)
	_, err = g.GrantSave(root + "/loop")
	wantCode(t, err, fault.NotAFile)
	_, err = g.GrantSave(root + "/nul.md")
	wantCode(t, err, fault.ReservedName)
	_, err = g.GrantFile("")
	wantCode(t, err, fault.InvalidInput)

	// A broken link: what it leads to is made, and the link stays.
	given, err := g.GrantSave(root + "/broken.md")
	must(t, err)
	target, err := g.PermitWrite(given)
	must(t, err)
	_, err = target.Write([]byte("made"), workspace.WriteOptions{RecoveryDir: root + "/rec"})
	must(t, err)
	if data, err := os.ReadFile(root + "/d/made.md"); err != nil || string(data) != "made" {
		t.Errorf("got %q, %v", data, err)
	}
	if info, err := os.Lstat(given); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
}

func TestGrant_LastFolderIsTheWorkspace(t *testing.T) {
	root := tree(t, map[string]string{"a/x.md": "x", "b/y.md": "y"})
	g := openFolder(t, root+"/a")
	_, err := g.GrantFolder(root + "/b")
	must(t, err)
	if got := g.Workspace(); got != root+"/b" {
		t.Errorf("got %q", got)
	}
	_, err = g.PermitRead(root + "/a/x.md")
	must(t, err)
	_, err = g.GrantFolder(root + "/a")
	must(t, err)
	if got := g.Workspace(); got != root+"/a" {
		t.Errorf("got %q", got)
	}
	g.Revoke(root + "/a")
	if got := g.Workspace(); got != root+"/b" {
		t.Errorf("got %q", got)
	}
	_, err = g.PermitRead(root + "/a/x.md")
	wantCode(t, err, fault.OutsideWorkspace)
}

func TestFile_Read(t *testing.T) {
	root := tree(t, map[string]string{"a.md": "hello", "alias.md": "-> a.md", "other.md": "hello", "empty.md": ""})
	must(t, os.Link(root+"/a.md", root+"/hard.md"))
	g := openFolder(t, root)
	f, err := g.PermitRead(root + "/a.md")
	must(t, err)
	data, st, err := f.Read(5)
	must(t, err)
	if string(data) != "hello" || st.Size != 5 || st.ModTimeNs == 0 ||
		st.Hash != "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
		t.Errorf("got %q, %+v", data, st)
	}
	_, _, err = f.Read(4)
	wantCode(t, err, fault.TooLarge)
	if st2, err := f.Stat(); err != nil || st2.Hash != "" || st2.Size != 5 || st2.Inode != st.Inode {
		t.Errorf("stat: %+v, %v", st2, err)
	}
	empty, err := g.PermitRead(root + "/empty.md")
	must(t, err)
	if data, _, err := empty.Read(0); err != nil || len(data) != 0 {
		t.Errorf("empty: %q, %v", data, err)
	}

	identity := func(name string) workspace.Identity {
		t.Helper()
		f, err := g.PermitRead(root + "/" + name)
		must(t, err)
		id, err := f.Identity()
		must(t, err)
		return id
	}
	a := identity("a.md")
	if a == (workspace.Identity{}) || identity("alias.md") != a || identity("hard.md") != a {
		t.Error("one file under three names is not one")
	}
	if identity("other.md") == a {
		t.Error("two files are one")
	}
}

// A big file is read whole, at any limit that it fits.
func TestFile_ReadsBigFiles(t *testing.T) {
	root := tree(t, map[string]string{})
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	must(t, os.WriteFile(root+"/big", want, 0o644))
	g := openFolder(t, root)
	f, err := g.PermitRead(root + "/big")
	must(t, err)
	got, _, err := f.Read(int64(len(want)))
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Error("bytes differ")
	}
	_, _, err = f.Read(int64(len(want)) - 1)
	wantCode(t, err, fault.TooLarge)
}
