package workspace_test

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// trashed reads what a trash folder says of an entry.
func trashed(t *testing.T, bin, name string) (path string, at time.Time) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(bin, "info", name+".trashinfo"))
	must(t, err)
	lines := strings.Split(string(data), "\n")
	if len(lines) != 4 || lines[0] != "[Trash Info]" || lines[3] != "" {
		t.Fatalf("%q", data)
	}
	coded, ok := strings.CutPrefix(lines[1], "Path=")
	date, ok2 := strings.CutPrefix(lines[2], "DeletionDate=")
	if !ok || !ok2 {
		t.Fatalf("%q", data)
	}
	path, err = url.PathUnescape(coded)
	must(t, err)
	at, err = time.ParseInLocation("2006-01-02T15:04:05", date, time.Local)
	must(t, err)
	return path, at
}

// covers: F8
func TestTrash_Home(t *testing.T) {
	data := t.TempDir()
	t.Setenv("XDG_DATA_HOME", data)
	long := strings.Repeat("é", 126) + ".md"
	root := tree(t, map[string]string{
		"a.md": "1", "s/a.md": "2", "t/a.md/x": "3", "50% ü?#\n.md": "4", long: "5", "l.md": "-> s/a.md", "bad.md": "-> /etc/hostname",
	})
	g := openFolder(t, root)
	bin := data + "/Trash"
	before := time.Now().Add(-time.Second)
	for _, c := range []struct{ path, in, want string }{
		{"a.md", "a.md", "1"},
		{"s/a.md", "a.2.md", "2"},
		{"t/a.md", "a.3.md/x", "3"},
		{"50% ü?#\n.md", "50% ü?#\n.md", "4"},
		{long, strings.Repeat("é", 121) + ".md", "5"},
	} {
		must(t, g.Trash(t.Context(), filepath.Join(root, c.path)))
		if got, err := os.ReadFile(filepath.Join(bin, "files", c.in)); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", c.path, got, err)
		}
		name, _, _ := strings.Cut(c.in, "/")
		path, at := trashed(t, bin, name)
		if path != filepath.Join(root, c.path) || at.Before(before) || at.After(time.Now()) {
			t.Errorf("%s: from %q at %v", c.path, path, at)
		}
		if _, err := os.Lstat(filepath.Join(root, c.path)); !os.IsNotExist(err) {
			t.Errorf("%s is still there", c.path)
		}
	}
	for _, l := range []string{"l.md", "bad.md"} {
		must(t, g.Trash(t.Context(), root+"/"+l))
		if _, err := os.Readlink(bin + "/files/" + l); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat("/etc/hostname"); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(bin)
	must(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the trash has the mode %v", info.Mode())
	}
	wantCode(t, g.Trash(t.Context(), root+"/a.md"), fault.NotFound)
	if got := len(names(t, bin+"/info")); got != len(names(t, bin+"/files")) {
		t.Errorf("%d infos", got)
	}
}

// mountCalls says that everything above top is another device.
type mountCalls struct {
	workspace.Calls
	top string
}

func (m mountCalls) Lstat(path string) (fs.FileInfo, error) {
	info, err := m.Calls.Lstat(path)
	if err != nil || path == m.top || strings.HasPrefix(path, m.top+"/") {
		return info, err
	}
	st := *info.Sys().(*syscall.Stat_t)
	st.Dev++
	return otherDevice{info, &st}, nil
}

type otherDevice struct {
	fs.FileInfo
	st *syscall.Stat_t
}

func (o otherDevice) Sys() any { return o.st }

// TestTrash_OtherDisk trashes what lies on another device than the home, with
// every state that its own trash folders can be in.
//
// covers: F8
func TestTrash_OtherDisk(t *testing.T) {
	if _, err := os.Stat("/dev/shm"); err != nil {
		t.Skip("there is only one device")
	}
	uid := strconv.Itoa(os.Getuid())
	for _, c := range []struct {
		name  string
		files map[string]string
		mode  fs.FileMode // of .Trash
		bin   string
		want  fault.Code
	}{
		{name: "none yet", bin: ".Trash-" + uid},
		{name: "shared", files: map[string]string{".Trash/": ""}, mode: 0o777 | fs.ModeSticky, bin: ".Trash/" + uid},
		{name: "shared without the sticky bit", files: map[string]string{".Trash/": ""}, mode: 0o777, bin: ".Trash-" + uid},
		{name: "shared is a link", files: map[string]string{".Trash": "-> $ROOT/shared", "shared/": ""}, bin: ".Trash-" + uid},
		{name: "the person's in the shared one is a link", files: map[string]string{".Trash/" + uid: "-> $ROOT/shared", "shared/": ""}, mode: 0o777 | fs.ModeSticky, bin: ".Trash-" + uid},
		{name: "own is a link", files: map[string]string{".Trash-" + uid: "-> $ROOT/shared", "shared/": ""}, want: fault.ReadOnly},
		{name: "own is a file", files: map[string]string{".Trash-" + uid: "x"}, want: fault.ReadOnly},
		{name: "a part is a link", files: map[string]string{".Trash-" + uid + "/files": "-> $ROOT/shared", "shared/": ""}, want: fault.ReadOnly},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("XDG_DATA_HOME", t.TempDir())
			files := map[string]string{"w/sub/a.md": "a"}
			for k, v := range c.files {
				files[k] = v
			}
			top := treeIn(t, memoryDir(t), files)
			if c.mode != 0 {
				must(t, os.Chmod(top+"/.Trash", c.mode))
			}
			g := workspace.NewGrantsOn(mountCalls{workspace.OSCalls(), top})
			defer g.Close()
			_, err := g.GrantFolder(top + "/w")
			must(t, err)
			err = g.Trash(t.Context(), top+"/w/sub/a.md")
			wantCode(t, err, c.want)
			if c.want != "" {
				if got, err := os.ReadFile(top + "/w/sub/a.md"); err != nil || string(got) != "a" {
					t.Errorf("the file: %q, %v", got, err)
				}
			} else {
				if got, err := os.ReadFile(filepath.Join(top, c.bin, "files/a.md")); err != nil || string(got) != "a" {
					t.Errorf("in the trash: %q, %v", got, err)
				}
				if path, _ := trashed(t, filepath.Join(top, c.bin), "a.md"); path != "w/sub/a.md" {
					t.Errorf("from %q", path)
				}
			}
			if got := names(t, top+"/shared"); len(got) != 0 {
				t.Errorf("a link was followed: %v", got)
			}
		})
	}
}
