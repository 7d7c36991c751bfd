package attach

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// maxSocket is the longest path of a socket in bytes that every system takes.
const maxSocket = 100

// The endings of a home's sockets: the window's, and that of its agent.
const (
	windowSocket = ".sock"
	agentSocket  = "-agent.sock"
)

// socketName is the name of a home's socket with an ending.
func socketName(home, ending string) string {
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	sum := sha256.Sum256([]byte(home))
	return "galley-" + hex.EncodeToString(sum[:8]) + ending
}

// listen makes a socket of a home in the first folder that will do. The lock
// that goes with it must be held: what an ended process left there is removed.
func listen(home, ending string) (net.Listener, error) {
	var why error
	for _, folder := range socketFolders() {
		l, err := listenIn(folder, socketName(home, ending))
		if err == nil {
			return l, nil
		}
		why = errors.Join(why, err)
	}
	return nil, why
}

func listenIn(f folder, name string) (net.Listener, error) {
	at := filepath.Join(f.path, name)
	if len(at) > maxSocket {
		return nil, fmt.Errorf("a path of %d bytes is too long for a socket", len(at))
	}
	if f.own {
		if err := os.Mkdir(f.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	if err := checkFolder(f.path); err != nil {
		return nil, err
	}
	switch err := checkSocket(at); {
	case err == nil:
		if err := os.Remove(at); err != nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	l, err := net.Listen("unix", at)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(at, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// folder is where sockets may lie; own ones are made.
type folder struct {
	path string
	own  bool
}
