package workspace

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReservedName(t *testing.T) {
	for _, name := range []string{
		"", ".", "..", "CON", "con", "con.md", "nul.tar.gz", "NUL .md", "COM1", "com9.md", "COM0", "COM¹", "lpt³.md", "aux", "PRN.txt",
		"CONIN$", "a.md.", "a.md ", "a:b.md", "a.md:ads", "a/b", `a\b`, "a\tb", "a\x00", "x\u0085",
	} {
		if !reservedName(name) {
			t.Errorf("%q is not refused", name)
		}
	}
	for _, name := range []string{
		"a.md", ".env", "..hello", "console.md", "com.md", "COM10.md", "company", "lpt", "nullable.md", "a con.md", "what?.md", " lead.md", "日记.md",
	} {
		if reservedName(name) {
			t.Errorf("%q is refused", name)
		}
	}
}

func TestCompareNames(t *testing.T) {
	want := []string{
		"1.md", "01.md.x", "2.md", "9", "10.md", "99999999999999999999998", "99999999999999999999999", "a", "A1", "a2", "a10", "B", "b.md", "ä", "中",
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, compareNames)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if compareNames("a", "A") == 0 || compareNames("a01", "a1") == 0 {
		t.Error("two names are one")
	}
	if compareNames("A", "a") != -compareNames("a", "A") {
		t.Error("not antisymmetric")
	}
}

func TestInTrash(t *testing.T) {
	for path, want := range map[string]bool{
		"/home/a/.local/share/Trash/files/n.md": true,
		"/media/stick/.Trash-1000/files/n.md":   true,
		"/media/stick/.Trash/1000/files/s/n.md": true,
		"/Users/a/.Trash/n.md":                  true,
		"/Volumes/stick/.Trashes/501/n.md":      true,
		"/c/$RECYCLE.BIN/S-1/n.md":              true,
		"/w/Trash/n.md":                         false,
		"/w/files/n.md":                         false,
		"/w/.Trash.md":                          false,
	} {
		if got := InTrash(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
