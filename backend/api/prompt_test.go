package api

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"galley/backend/fault"
)

// covers: U1
func TestPrompt_EachPresetHasOne(t *testing.T) {
	dir := t.TempDir()
	for _, id := range presets() {
		got, err := promptOf(dir, id)
		if err != nil || strings.TrimSpace(got) == "" {
			t.Errorf("%s: %q, %v", id, got, err)
		}
	}
	files, err := promptFiles.ReadDir("prompt")
	try(t, err)
	for _, f := range files {
		if id, ok := strings.CutSuffix(f.Name(), ".md"); !ok || !slices.Contains(presets(), id) {
			t.Errorf("%s is no preset's", f.Name())
		}
	}
	if got, err := promptOf(dir, ""); got != "" || err != nil {
		t.Errorf("none: %q, %v", got, err)
	}
}

// The person's own prompt stands in for ours, also when its folder is not
// there yet.
//
// covers: U1
func TestPrompt_OwnOneComesFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "prompts")
	ours, err := promptOf(dir, "improve")
	try(t, err)
	write(t, filepath.Join(dir, "improve.md"), "Make it sing.")
	if got, err := promptOf(dir, "improve"); got != "Make it sing." || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	try(t, os.Remove(filepath.Join(dir, "improve.md")))
	if got, err := promptOf(dir, "improve"); got != ours || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for name, put := range map[string]func(path string) error{
		"a folder": func(p string) error { return os.Mkdir(p, 0o755) },
		"too long": func(p string) error { return os.WriteFile(p, make([]byte, maxPrompt+1), 0o600) },
	} {
		path := filepath.Join(dir, "tone.md")
		try(t, put(path))
		if got, err := promptOf(dir, "tone"); fault.CodeOf(err) != fault.TooLarge || got != "" {
			t.Errorf("%s: %v", name, err)
		}
		try(t, os.RemoveAll(path))
	}
}

// An id is one of the list, so that no file beside the prompts can be read.
//
// covers: X5
func TestPrompt_IdIsNoPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "prompts")
	write(t, filepath.Join(dir, "own.md"), "x")
	write(t, filepath.Join(filepath.Dir(dir), "secret.md"), planted)
	for _, id := range []string{
		"own", "../secret", "..", ".", "/etc/passwd", "improve.md", "improve/../../secret", "./improve", "improve\x00", "Improve", " improve", "improve ",
		`..\secret`, "%2e%2e/secret", strings.Repeat("a", 1000),
	} {
		if got, err := promptOf(dir, id); fault.CodeOf(err) != fault.InvalidInput || got != "" {
			t.Errorf("%q: %q, %v", id, got, err)
		}
	}
}
