//go:build unix

package attach

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A folder that others can enter, a link in its place, or one of another user
// gets no socket: the next folder does.
//
// covers: F7
func TestListen_OnlyWhereNobodyElseCanCome(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, run string){
		"group may enter": func(t *testing.T, run string) { try(t, os.Chmod(run, 0o710)) },
		"all may enter":   func(t *testing.T, run string) { try(t, os.Chmod(run, 0o777)) },
		"a link": func(t *testing.T, run string) {
			try(t, os.Rename(run, run+"2"))
			try(t, os.Symlink(run+"2", run))
		},
		"foreign": func(t *testing.T, run string) { give(t, run) },
		"gone":    func(t *testing.T, run string) { try(t, os.Remove(run)) },
		"too long": func(t *testing.T, run string) {
			long := filepath.Join(run, strings.Repeat("x", 90))
			try(t, os.Mkdir(long, 0o700))
			t.Setenv("XDG_RUNTIME_DIR", long)
		},
		"relative": func(t *testing.T, _ string) { t.Setenv("XDG_RUNTIME_DIR", "run") },
	} {
		t.Run(name, func(t *testing.T) {
			home := roots(t)
			// t.TempDir's own paths can be too long.
			tmp, err := os.MkdirTemp("/tmp", "galley") //nolint:usetesting // see above
			try(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(tmp) })
			t.Setenv("TMPDIR", tmp)
			spoil(t, os.Getenv("XDG_RUNTIME_DIR"))
			l, err := listen(home, windowSocket)
			try(t, err)
			defer l.Close()
			if got := l.Addr().String(); filepath.Dir(filepath.Dir(got)) != tmp {
				t.Errorf("the socket is %s", got)
			}
		})
	}
	t.Run("own folder", func(t *testing.T) {
		roots(t)
		dir := filepath.Join(t.TempDir(), "own")
		try(t, os.Mkdir(dir, 0o700))
		try(t, os.Chmod(dir, 0o777))
		if _, err := listenIn(folder{path: dir, own: true}, "s"); !errors.Is(err, errOpen) {
			t.Errorf("an open folder: %v", err)
		}
	})
}

// give makes a file another user's, which only root can.
func give(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	try(t, os.Lchown(path, 12345, 12345))
}

// A socket that belongs to somebody else is neither used nor removed.
func TestListen_ForeignSocketStays(t *testing.T) {
	home := roots(t)
	at := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), socketName(home, windowSocket))
	foreign, err := net.Listen("unix", at)
	try(t, err)
	defer foreign.Close()
	give(t, at)
	if err := checkSocket(at); !errors.Is(err, errForeign) {
		t.Errorf("%v", err)
	}
	if _, err := listenIn(folder{path: filepath.Dir(at)}, filepath.Base(at)); !errors.Is(err, errForeign) {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(at); err != nil {
		t.Errorf("it was removed: %v", err)
	}

	// A lock that names it is a window that does not answer.
	held, err := tryLock(config(home, 0).Home.Lock())
	try(t, err)
	defer held.release()
	try(t, held.write(at))
	if seat, err := Take(t.Context(), config(home, 100*time.Millisecond), nil); seat != nil || !errors.Is(err, ErrNoAnswer) {
		t.Errorf("%v, %v", seat, err)
	}
	// A file that is no socket is not removed either.
	file := filepath.Join(filepath.Dir(at), "file")
	try(t, os.WriteFile(file, nil, 0o600))
	if _, err := listenIn(folder{path: filepath.Dir(at)}, "file"); !errors.Is(err, errKind) {
		t.Errorf("%v", err)
	}
}

// The socket is this user's alone, and the other end is seen to be.
func TestListen_SocketIsPrivate(t *testing.T) {
	home := roots(t)
	l, err := listen(home, windowSocket)
	try(t, err)
	defer l.Close()
	at := l.Addr().String()
	if info, err := os.Lstat(at); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if strings.HasPrefix(at, home) {
		t.Error("the socket lies in the home")
	}
	c, err := net.Dial("unix", at)
	try(t, err)
	defer c.Close()
	try(t, sameUser(c))
	server, err := l.Accept()
	try(t, err)
	defer server.Close()
	try(t, sameUser(server))
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if err := sameUser(a); err == nil {
		t.Error("a pipe has no user")
	}
}

// A lock is given once, and again when it was released.
func TestTryLock_OneAtATime(t *testing.T) {
	home := roots(t)
	first := mustLock(t, home)
	if other, err := tryLock(config(home, 0).Home.Lock()); other != nil || err != nil {
		t.Errorf("locked twice: %v, %v", other, err)
	}
	first.release()
	mustLock(t, home).release()
}

func mustLock(t *testing.T, home string) *lock {
	t.Helper()
	l, err := tryLock(config(home, 0).Home.Lock())
	try(t, err)
	if l == nil {
		t.Fatal("the lock is taken")
	}
	return l
}
