package document

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/backend/fault"
	"galley/backend/text"
)

// covers: F6
func TestHistory_KeepsWhatWasSaved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const disk = "\xEF\xBB\xBFone\r\n"
	b.file("n.md", disk)
	id := b.open("n.md").ID
	b.wantVersions(id)
	b.save(id)
	b.wantVersions(id)
	b.replace(id, "one", "two")
	b.save(id)
	b.wantVersions(id, "saved two\n", "opened one\n")
	b.save(id) // nothing to write, nothing to keep
	b.replace(id, "two", "one")
	b.save(id)
	b.wantVersions(id, "saved one\n", "saved two\n", "opened one\n")

	kept, err := b.History(t.Context(), id)
	if err != nil || kept.Folder != filepath.Join(b.home, "history") || kept.Broken != 0 {
		t.Fatalf("%+v, %v", kept, err)
	}
	v := kept.Versions[2]
	if v.Bytes != len(disk) || len(v.Endings) != 1 || v.Endings[0] != (text.EndingRun{Ending: text.CRLF, Count: 1}) || v.AtMs == 0 {
		t.Errorf("%+v", v)
	}
	// The bytes are kept once for both versions, with BOM and endings.
	if got, err := filepath.Glob(filepath.Join(kept.Folder, "*", "*"+contentExt)); len(got) != 2 || err != nil {
		t.Errorf("%d contents, %v", len(got), err)
	}
	data, err := b.history.withHash(t.Context(), subject{path: b.path("n.md"), hash: hashOf([]byte(disk))})
	if string(data) != disk || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	b = b.restart()
	b.wantVersions(b.open("n.md").ID, "saved one\n", "saved two\n", "opened one\n")

	for _, version := range []string{"", "x", "../" + v.ID, v.ID + "/..", "0000000000000-0123456789abcdef"} {
		_, err := b.VersionText(t.Context(), b.open("n.md").ID, version)
		wantCode(t, version, err, fault.NotFound)
	}
	id = b.NewUntitled().ID
	b.wantVersions(id)
	_, err = b.VersionText(t.Context(), id, v.ID)
	wantCode(t, "untitled", err, fault.NotFound)
}

// Saving as a file that is there keeps that file's text.
// A list made right after a save holds what was saved, although that is kept
// in the background.
//
// covers: F6
func TestHistory_ListsWhatWasJustSaved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "0\n")
	id := b.open("n.md").ID
	for i := range 20 {
		b.replace(id, strconv.Itoa(i), strconv.Itoa(i+1))
		b.save(id)
		kept, err := b.History(t.Context(), id)
		if err != nil || len(kept.Versions) == 0 || kept.Versions[0].Reason != VersionSaved {
			t.Fatalf("after save %d: %+v, %v", i+1, kept.Versions, err)
		}
		body, err := b.VersionText(t.Context(), id, kept.Versions[0].ID)
		if want := strconv.Itoa(i+1) + "\n"; body != want || err != nil {
			t.Fatalf("after save %d: got %q, %v", i+1, body, err)
		}
	}
}

func TestHistory_SaveAsKeepsWhatItReplaces(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("there.md", "there\n")
	id := b.NewUntitled().ID
	b.edit(id, text.Edit{Insert: "new\n"})
	if _, err := b.SaveAs(t.Context(), b.request(id), b.path("there.md")); err != nil {
		t.Fatal(err)
	}
	b.wantVersions(id, "saved new\n", "overwritten there\n")
}

// What cannot be kept is not written over, but the history never stands in the
// way of a plain save.
func TestHistory_ThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.file("n.md", "v1\n")
	b.outside(os.WriteFile(filepath.Join(b.home, "history"), nil, 0o600))
	id := b.open("n.md").ID
	b.replace(id, "v1", "mine")
	b.save(id)
	b.wantDisk("n.md", "mine\n")
	b.replace(id, "mine", "mine too")
	b.file("n.md", "theirs\n")
	r := b.request(id)
	r.Overwrite = true
	if _, err := b.Save(t.Context(), r); err == nil {
		t.Error("written over what could not be kept")
	}
	b.wantDisk("n.md", "theirs\n")
	if _, err := b.Reload(t.Context(), b.page, id); err == nil {
		t.Error("unsaved text given up that could not be kept")
	}
	if s, _, err := b.Text(id); s != "mine too\n" || err != nil {
		t.Errorf("the text is %q, %v", s, err)
	}
}

// covers: F6
func TestKeepVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.file("n.md", "a\n")
	b.outside(
		b.KeepVersion(t.Context(), path, []byte("a\n"), VersionReplaced),
		b.KeepVersion(t.Context(), path, []byte("a\n"), VersionReplaced),
		b.KeepVersion(t.Context(), path, []byte("\xff\xfa"), VersionReplaced),
	)
	wantCode(t, "no reason", b.KeepVersion(t.Context(), path, nil, "because"), fault.InvalidInput)
	// Bytes that are no text are listed, and say why they are not restored.
	b.wantVersions(b.open("n.md").ID, "replaced unsupported_encoding", "replaced a\n")
}

// A workspace that was moved as a whole, while nothing looked, finds the
// history of its files.
//
// covers: F6
func TestHistory_SurvivesMovingTheWorkspace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.dir = filepath.Join(b.dir, "w")
	b.outside(os.Mkdir(b.dir, 0o755))
	b.file("n.md", "a\n")
	b.file("m.md", "m\n")
	for _, name := range []string{"n.md", "m.md"} {
		id := b.open(name).ID
		b.edit(id, text.Edit{Insert: "2 "})
		b.save(id)
		b.versions(id)
	}
	to := filepath.Join(filepath.Dir(b.dir), "v")
	b.outside(os.Rename(b.dir, to))
	b.dir = to
	b = b.restart()
	b.file("m.md", "changed by something else\n") // in place: the same file
	b.wantVersions(b.open("n.md").ID, "saved 2 a\n", "opened a\n")
	b.wantVersions(b.open("m.md").ID, "saved 2 m\n", "opened m\n")
	// A file that merely has the number of one that was removed gets nothing.
	b.outside(os.Remove(b.path("n.md")))
	other := b.file("other.md", "other\n")
	b.wantVersions(b.open("other.md").ID)
	_ = other
}

// crash-5: what is damaged costs itself only. It is said, with no text and no
// path.
//
// covers: F6
func TestHistory_Damaged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.file("secret-name.md", "secret zero\n")
	id := b.open("secret-name.md").ID
	for i := range 4 {
		b.edit(id, text.Edit{Insert: fmt.Sprintf("secret %d ", i)})
		b.save(id)
		b.versions(id)
	}
	before := b.versions(id)
	folder := filepath.Join(b.home, "history", pathKey(path))
	glob := func(ext string) []string {
		names, err := filepath.Glob(filepath.Join(folder, "*"+ext))
		b.outside(err)
		slices.Sort(names)
		return names
	}
	heads := glob(versionExt)
	if len(heads) != 5 {
		t.Fatalf("%d versions", len(heads))
	}
	damage := func(name string, do func([]byte) []byte) {
		data, err := os.ReadFile(name)
		b.outside(err, os.WriteFile(name, do(data), 0o600))
	}
	damage(heads[0], func(d []byte) []byte { return d[:len(d)/2] })
	damage(heads[1], func(d []byte) []byte { return make([]byte, len(d)) })
	contentOf := func(head string) string {
		hash := strings.TrimSuffix(filepath.Base(head), versionExt)[14:]
		for _, c := range glob(contentExt) {
			if strings.HasPrefix(filepath.Base(c), hash) {
				return c
			}
		}
		t.Fatal("no content")
		return ""
	}
	damage(contentOf(heads[2]), func(d []byte) []byte { return bytes.Repeat([]byte{7}, len(d)) })
	b.outside(os.WriteFile(filepath.Join(folder, "of-the-person.txt"), []byte("x"), 0o600))

	b = b.restart()
	id = b.open("secret-name.md").ID
	want := append(slices.Clone(before[:2]), "saved store_failed")
	b.wantVersions(id, want...)
	kept, err := b.History(t.Context(), id)
	if err != nil || kept.Broken != 2 {
		t.Errorf("%+v, %v", kept, err)
	}
	b.outside(b.TidyHistory(t.Context()))
	b.wantVersions(id, want...)
	b.edit(id, text.Edit{Insert: "more "})
	b.save(id)
	if got := b.versions(id); len(got) != 4 {
		t.Errorf("%q", got)
	}
	log := b.log.String()
	if !strings.Contains(log, string(fault.StoreFailed)) {
		t.Error("nothing is said")
	}
	if strings.Contains(log, "secret") {
		t.Errorf("the log has text or a path: %s", log)
	}
}

// Some hours of one file, as the bounds see them.
func made(nowMs int64, size int64, ages ...time.Duration) []kept {
	var out []kept
	for i, age := range ages {
		at := nowMs - age.Milliseconds()
		hash := fmt.Sprintf("%016x", i)
		out = append(out, kept{mark: mark{id: fmt.Sprintf("%013d-%s", at, hash), atMs: at, hash: hash}, whole: hash, size: size, reason: VersionSaved})
	}
	return out
}

// left returns the indexes of what stays.
func left(all, drop []kept) []int {
	out := []int{}
	for i, v := range all {
		if !slices.ContainsFunc(drop, func(d kept) bool { return d.id == v.id }) {
			out = append(out, i)
		}
	}
	return out
}

// covers: F6
func TestThin(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 30, 0, 0, time.UTC).UnixMilli()
	const day = 24 * time.Hour
	for name, tt := range map[string]struct {
		versions []kept
		lost     []int
		max      int64
		want     []int
	}{
		"none":                   {nil, nil, 100, []int{}},
		"all of a day":           {made(now, 1, 3*time.Hour, 3*time.Hour-time.Minute, time.Minute, 0), nil, 100, []int{0, 1, 2, 3}},
		"one an hour":            {made(now, 1, 2*day+20*time.Minute, 2*day+10*time.Minute, 2*day, 2*day-40*time.Minute, 0), nil, 100, []int{2, 3, 4}},
		"one a day":              {made(now, 1, 10*day+3*time.Hour, 10*day, 9*day, 0), nil, 100, []int{1, 2, 3}},
		"nothing older":          {made(now, 1, 100*day, 91*day, 89*day, 0), nil, 100, []int{2, 3}},
		"the newest stays":       {made(now, 1, 400*day, 300*day), nil, 100, []int{1}},
		"what gave way stays":    {made(now, 1, 10*day+3*time.Hour, 10*day+time.Hour, 10*day, 0), []int{0}, 100, []int{0, 2, 3}},
		"too large":              {made(now, 40, 4*time.Hour, 3*time.Hour, 2*time.Hour, 0), nil, 100, []int{2, 3}},
		"too large, gave way":    {made(now, 40, 4*time.Hour, 3*time.Hour, 2*time.Hour, time.Hour, 0), []int{0, 1}, 130, []int{1, 3, 4}},
		"two are larger than it": {made(now, 400, 2*time.Hour, time.Hour, 0), nil, 100, []int{1, 2}},
	} {
		for _, i := range tt.lost {
			tt.versions[i].reason = VersionOverwritten
		}
		if got := left(tt.versions, thin(slices.Clone(tt.versions), now, tt.max)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v stay, want %v", name, got, tt.want)
		}
	}
}

// All files together have a bound too; the newest of each stays.
//
// covers: F6
func TestOverAll(t *testing.T) {
	t.Parallel()
	var all []held
	for f := range 3 {
		for i, v := range made(1e12, 10, time.Duration(30-f)*time.Hour, time.Duration(20-f)*time.Hour, time.Duration(f)*time.Minute) {
			h := held{kept: v, key: fmt.Sprint(f), newest: i == 2}
			if f == 0 && i == 0 {
				h.reason = VersionDiscarded
			}
			all = append(all, h)
		}
	}
	for limit, want := range map[int64]int{1000: 0, 90: 0, 89: 1, 50: 4, 10: 6, 0: 6} {
		drop := overAll(slices.Clone(all), limit)
		if len(drop) != want {
			t.Errorf("limit %d: %d go, want %d", limit, len(drop), want)
		}
		for i, v := range drop {
			if v.newest || v.reason.lost() && i < 5 {
				t.Errorf("limit %d: the wrong one goes at %d", limit, i)
			}
		}
	}
}

// Tidying removes versions, the contents that no version has any more, folders
// that are empty and what a dead process left, and nothing else.
func TestTidyHistory(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.file("n.md", "0")
	h := b.history
	now := time.Now()
	for i, age := range []time.Duration{200 * 24 * time.Hour, 50 * time.Hour, 49*time.Hour + 59*time.Minute, time.Hour} {
		at := now.Add(-age).Truncate(time.Hour).Add(time.Duration(i) * time.Minute)
		b.outside(h.keep(t.Context(), subject{path: path}, contentOf([]byte(fmt.Sprint(i))), VersionSaved, at.UnixMilli()))
	}
	folder := filepath.Join(h.dir, pathKey(path))
	empty := filepath.Join(h.dir, pathKey("empty"))
	orphan := filepath.Join(folder, strings.Repeat("0", 64)+contentExt)
	b.outside(os.Mkdir(empty, 0o700), os.WriteFile(orphan, nil, 0o600))
	b.outside(os.WriteFile(filepath.Join(folder, ".galley-999999999-x.tmp"), nil, 0o600))
	b.outside(os.WriteFile(filepath.Join(h.dir, "note.txt"), nil, 0o600))
	b.outside(b.TidyHistory(t.Context()))
	if got := b.versions(b.open("n.md").ID); len(got) < 2 || len(got) > 3 || got[0] != "saved 3" {
		t.Errorf("%q", got)
	}
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	b.outside(err)
	if n := len(b.versions(b.open("n.md").ID)); len(names) != 2*n {
		t.Errorf("%d versions in %d files", n, len(names))
	}
	if _, err := os.Stat(empty); err == nil {
		t.Error("an empty folder stays")
	}
	if _, err := os.Stat(filepath.Join(h.dir, "note.txt")); err != nil {
		t.Error(err)
	}
	if hidden, _ := filepath.Glob(filepath.Join(folder, ".galley*")); len(hidden) != 0 {
		t.Errorf("left: %v", hidden)
	}
}

// One file has a bound of its own, which holds right after each save.
func TestHistory_BoundOfAFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.path("n.md")
	h := b.history
	h.ofFile = 20 << 10
	noise := make([]byte, 9<<10)
	x := uint32(1)
	for i := range noise {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	for i := range 4 {
		noise[0] = byte(i)
		b.outside(h.keep(t.Context(), subject{path: path}, contentOf(noise), VersionSaved, int64(i)))
	}
	s, err := h.look(pathKey(path))
	total := int64(0)
	for _, size := range s.sizes {
		total += size
	}
	if err != nil || total > h.ofFile || len(s.marks) != 2 || len(s.sizes) != 2 {
		t.Errorf("%d versions in %d bytes, %v", len(s.marks), total, err)
	}
}

// Many saves of many files at once, while it is tidied: every version is there.
func TestHistory_ManyAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const files, saves = 4, 15
	var all sync.WaitGroup
	for f := range files {
		name := fmt.Sprintf("%d.md", f)
		b.file(name, "")
		id := b.open(name).ID
		all.Go(func() {
			for range saves {
				b.edit(id, text.Edit{Insert: "x"})
				b.save(id)
			}
		})
	}
	all.Go(func() {
		for range 10 {
			if err := b.TidyHistory(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	for _, i := range b.List() {
		got := b.versions(i.ID)
		if len(got) != saves+1 {
			t.Errorf("%d versions", len(got))
		}
		for n, v := range got {
			want := "saved " + strings.Repeat("x", saves-n)
			if n == saves {
				want = "opened "
			}
			if v != want {
				t.Errorf("version %d is %q, want %q", n, v, want)
			}
		}
	}
}

func TestMovedPath(t *testing.T) {
	t.Parallel()
	sep := string(filepath.Separator)
	for path, want := range map[string]string{"/a": "/z", "/a/b": "/z/b", "/ab": "", "/b": ""} {
		got, ok := movedPath(strings.ReplaceAll(path, "/", sep), sep+"a", sep+"z")
		if ok != (want != "") || ok && got != strings.ReplaceAll(want, "/", sep) {
			t.Errorf("%s: %q, %v", path, got, ok)
		}
	}
}
