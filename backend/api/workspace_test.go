package api

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"galley/backend/fault"
	"galley/backend/settings"
)

// Only addresses of three schemes reach the system, which would start a
// program for many others.
//
// covers: X2
func TestOpenLink(t *testing.T) {
	w := newWindow(t)
	for _, c := range []struct{ address, want string }{
		{"https://example.invalid/a?b=c#d", "https://example.invalid/a?b=c#d"},
		{"http://127.0.0.1:8080/", "http://127.0.0.1:8080/"},
		{"HTTPS://Example.invalid", "https://Example.invalid"},
		{"mailto:somebody@example.invalid?subject=x", "mailto:somebody@example.invalid?subject=x"},
		{"https://example.invalid/茶 b", "https://example.invalid/%E8%8C%B6%20b"},
	} {
		w.tell("Workspace.OpenLink", c.address)
		if got := w.links[len(w.links)-1]; got != c.want {
			t.Errorf("%s: opened %s", c.address, got)
		}
	}
	opened := len(w.links)
	for _, address := range []string{
		"javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\nscript:alert(1)", "java\tscript:alert(1)", "\x01javascript:alert(1)", " javascript:alert(1)",
		"file:///etc/passwd", "file:/etc/passwd", "data:text/html,<script>x</script>", "vbscript:x", "smb://host/share", "blob:https://example.invalid/1",
		"//example.invalid/x", `\\host\share`, "/etc/passwd", "etc/passwd", "", " ", "https:", "https://", "https:///path", "http:example.invalid", "mailto:",
		"ftp://example.invalid", "ms-msdt:x", "vscode://x", "x-apple.systempreferences:x", "galley://x", "wails://wails/", "view-source:https://example.invalid",
		"https://exa mple.invalid/", "https://example.invalid/%zz", "https://[::1", "C:\\Windows\\notepad.exe", "c:/x", "about:blank",
		"https://example.invalid/\x00", "https://example.invalid/\r\nX: y", "-https://example.invalid", "--help",
	} {
		w.refused(fault.InvalidInput, "Workspace.OpenLink", address)
	}
	if len(w.links) != opened {
		t.Errorf("opened %q", w.links[opened:])
	}
}

func TestWorkspace_Open(t *testing.T) {
	w := newWindow(t)
	if got := ask[WorkspaceInfo](w, "Workspace.Current"); got != (WorkspaceInfo{}) {
		t.Errorf("at first %+v", got)
	}
	if got := ask[WorkspaceInfo](w, "Workspace.OpenDialog"); got != (WorkspaceInfo{}) {
		t.Errorf("cancelled: %+v", got)
	}
	dir := w.folder(map[string]string{"b10.md": "", "b9.md": "", ".hidden": "", "sub/x": ""})
	want := WorkspaceInfo{Path: dir, Name: filepath.Base(dir)}
	if got := ask[WorkspaceInfo](w, "Workspace.Current"); got != want {
		t.Errorf("got %+v", got)
	}
	w.chooseFolder = filepath.Join(dir, "b9.md")
	w.refused(fault.NotAFile, "Workspace.OpenDialog")
	w.chooseFolder = filepath.Join(dir, "gone")
	w.refused(fault.NotFound, "Workspace.OpenDialog")
	if got := ask[WorkspaceInfo](w, "Workspace.Current"); got != want {
		t.Errorf("after failures %+v", got)
	}
	var names []string
	for _, e := range ask[Listing](w, "Workspace.List", dir).Entries {
		name := e.Name
		if e.Ignored {
			name += " ignored"
		}
		names = append(names, name)
	}
	if !slices.Equal(names, []string{"sub", ".hidden ignored", "b9.md", "b10.md"}) {
		t.Errorf("listed %q", names)
	}
}

func TestWorkspace_ListIsBounded(t *testing.T) {
	w := newWindow(t)
	dir := w.folder(nil)
	for i := range maxListed + 3 {
		try(t, os.WriteFile(filepath.Join(dir, strings.Repeat("x", 1+i%5)+string(rune('a'+i%26))+strconv.Itoa(i)), nil, 0o600))
	}
	if got := ask[Listing](w, "Workspace.List", dir); len(got.Entries) != maxListed || got.More != 3 {
		t.Errorf("%d entries and %d more", len(got.Entries), got.More)
	}
}

// The sample is written once and is the person's from then on; it chooses the
// offline provider where none was chosen.
//
// covers: K1
func TestWorkspace_OpenSample(t *testing.T) {
	w := newWindow(t)
	got := ask[WorkspaceInfo](w, "Workspace.OpenSample")
	if got.Path != w.home.Sample() {
		t.Errorf("opened %+v", got)
	}
	if s := ask[SettingsState](w, "Settings.Get").Settings; s.Provider != settings.Mock().ID {
		t.Errorf("chosen %q", s.Provider)
	}
	entries := ask[Listing](w, "Workspace.List", got.Path).Entries
	if len(entries) < 2 || !slices.ContainsFunc(entries, func(e Entry) bool { return e.Name == "README.md" }) {
		t.Errorf("listed %+v", entries)
	}
	d := ask[Document](w, "Documents.Open", filepath.Join(got.Path, "README.md"))
	if d.ReadOnly != "" || d.Length == 0 {
		t.Errorf("opened %+v", d)
	}
	write(t, filepath.Join(got.Path, "README.md"), "mine\n")
	chosen := ask[SettingsState](w, "Settings.Get").Settings
	chosen.Provider = ""
	chosen.Theme = "dark"
	ask[SettingsState](w, "Settings.Update", chosen)
	ask[WorkspaceInfo](w, "Workspace.OpenSample")
	if got := content(t, filepath.Join(got.Path, "README.md")); got != "mine\n" {
		t.Errorf("written over: %q", got)
	}
	if s := ask[SettingsState](w, "Settings.Get").Settings; s.Theme != "dark" {
		t.Errorf("settings %+v", s)
	}
}
