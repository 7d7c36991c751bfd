package api

import (
	"os"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// covers: F7
func TestDroppedPaths(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the list is of systems with slashes")
	}
	host, err := os.Hostname()
	try(t, err)
	list := "# a comment\r\n" +
		"file:///w/plain.md\r\n" +
		"file:///w/a%20b%25c%23d%3Fe.md\r\n" +
		"file://localhost/w/%E8%8C%B6/%F0%9F%A6%8A.md\n" +
		"FILE:///w/new%0Aline.md\n" +
		"file://" + host + "/w/here.md\n" +
		"file:///w/sub/../up.md\n" +
		"file:///w/latin%E9.md\n" +
		"\n" +
		"https://example.invalid/a.md\r\n" +
		"file://elsewhere.invalid/w/a.md\r\n" +
		"file:relative.md\r\n" +
		"file:///w/zero%00.md\r\n" +
		"file:///w/bad%zz.md\r\n" +
		"file://user@localhost/w/a.md\r\n" +
		"/w/no-uri.md\r\n" +
		"javascript:alert(1)\r\n"
	want := []string{
		"/w/plain.md", "/w/a b%c#d?e.md", "/w/\u8336/\U0001F98A.md", "/w/new\nline.md", "/w/here.md", "/w/up.md", "/w/latin\xe9.md",
	}
	if d := cmp.Diff(want, DroppedPaths(list)); d != "" {
		t.Error(d)
	}
	if got := DroppedPaths(""); got == nil || len(got) > 0 {
		t.Errorf("nothing gave %v", got)
	}
	many := ""
	for range maxDropped + 10 {
		many += "file:///a\n"
	}
	if got := len(DroppedPaths(many)); got != maxDropped {
		t.Errorf("%d paths", got)
	}
}
