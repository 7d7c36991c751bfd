package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"galley/backend/agent/wire"
)

// call runs Main with files in place of the standard streams.
func call(t *testing.T, args ...string) (code int, done bool, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	in, out, errs := file("in"), file("out"), file("err")
	code, done = Main(args, in, out, errs)
	text := func(f *os.File) string {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return code, done, text(out), text(errs)
}

func TestMain_LeavesTheWindowItsArguments(t *testing.T) {
	for _, args := range [][]string{{}, {"file.md"}, {"--home", "/x"}, {"--sample"}, {"-"}, {"runner.md"}} {
		if code, done, out, errs := call(t, args...); done || code != 0 || out+errs != "" {
			t.Errorf("%v: %d %t %q %q", args, code, done, out, errs)
		}
	}
}

func TestMain_VersionAndHelp(t *testing.T) {
	if code, done, out, _ := call(t, "--version"); code != 0 || !done || !strings.HasPrefix(out, "galley ") || strings.TrimSpace(out) == "galley" {
		t.Errorf("%d %t %q", code, done, out)
	}
	if code, done, out, _ := call(t, "--help"); code != 0 || !done || !strings.Contains(out, "--home") {
		t.Errorf("%d %t %q", code, done, out)
	}
}

func TestMain_RunnerNeedsAHome(t *testing.T) {
	for _, args := range [][]string{{"runner"}, {"runner", "--home", "/x", "more"}, {"runner", "--nothing"}} {
		if code, done, out, errs := call(t, args...); code != exitUsage || !done || out != "" || errs == "" {
			t.Errorf("%v: %d %t %q %q", args, code, done, out, errs)
		}
	}
}

// With an empty standard input the Runner ends at once and in order; with a
// home that cannot be used it says so by its code.
// covers: R2
func TestMain_Runner(t *testing.T) {
	home := t.TempDir()
	if code, _, out, errs := call(t, "runner", "--home", home); code != 0 || out != "" {
		t.Errorf("%d %q %q", code, out, errs)
	}
	blocked := filepath.Join(home, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	out, err := os.Create(filepath.Join(home, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := w.WriteString(`{"jsonrpc":"2.0","id":1,"method":"runner.initialize","params":{"protocol":1}}` + "\n"); err != nil {
		t.Fatal(err)
	}
	if code, _ := Main([]string{"runner", "--home", filepath.Join(blocked, "home")}, r, out, out); code != wire.ExitStoreFailed {
		t.Errorf("code %d", code)
	}
}
