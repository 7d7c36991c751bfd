//go:build unix

package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const nobody = 65534

// asNobody runs child as a user without rights when the tests have all, else
// as the user they run as.
func asNobody(t *testing.T, what string, args ...string) string {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	if os.Getuid() == 0 {
		program = copyForNobody(t, program)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	cmd.Dir = "/"
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// copyForNobody puts the test program where anybody may run it.
func copyForNobody(t *testing.T, program string) string {
	t.Helper()
	data, err := os.ReadFile(program)
	must(t, err)
	folder := t.TempDir()
	openForNobody(t, folder)
	at := filepath.Join(folder, "child")
	must(t, os.WriteFile(at, data, 0o755))
	return at
}

// openForNobody lets anybody pass through the folders above path that this
// test made.
func openForNobody(t *testing.T, path string) {
	t.Helper()
	for p := path; len(p) > len(os.TempDir()); p = filepath.Dir(p) {
		info, err := os.Stat(p)
		must(t, err)
		must(t, os.Chmod(p, info.Mode().Perm()|0o055))
	}
}
