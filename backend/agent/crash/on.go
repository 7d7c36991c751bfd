//go:build crashtest

package crash

import (
	"fmt"
	"io"
	"os"
)

// At kills this process when it is told to die at this point; see the package
// comment. It does not return then.
func At(name string) {
	if told("HOLD", name) {
		hold(os.Getenv("HOLD_PIPE"))
	}
	if !told("CRASH", name) || !first(os.Getenv("CRASH_ONCE")) {
		return
	}
	// Kill is SIGKILL where there are signals, and as sudden elsewhere.
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill() // where it fails the test sees a process that goes on
	}
	select {} // nothing more happens until the kill arrives
}

// told reports whether this process has to do something at a point.
func told(what, name string) bool {
	if os.Getenv(what+"_AT") != name {
		return false
	}
	in := os.Getenv(what + "_IN")
	return in == "" || in == process()
}

// first reports whether this process is the first at its point: the one that
// makes the file, which then says who it was. Without a file each is.
func first(path string) bool {
	if path == "" {
		return true
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	_, err = fmt.Fprintln(f, process(), os.Getpid())
	return err == nil && f.Close() == nil
}

// hold tells the reader of a named pipe that this process, by its id, stands at
// its point, and waits until somebody has opened the pipe ".go" and closed it.
// The pipe is taken away, so that a point holds once.
func hold(pipe string) {
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader
	if err != nil {
		return
	}
	_ = os.Remove(pipe) // a second one waits for nobody
	_, _ = fmt.Fprintln(w, os.Getpid())
	_ = w.Close()
	if r, err := os.Open(pipe + ".go"); err == nil {
		_, _ = io.Copy(io.Discard, r)
		_ = r.Close()
	}
}

// process names this process.
func process() string {
	if len(os.Args) > 1 && os.Args[1] == "runner" {
		return "runner"
	}
	return "host"
}
