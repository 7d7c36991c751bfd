//go:build crashtest

package crash

import "os"

// At kills this process when it is told to die at this point; see the package
// comment. It does not return then.
func At(name string) {
	if os.Getenv("CRASH_AT") != name {
		return
	}
	if in := os.Getenv("CRASH_IN"); in != "" && in != process() {
		return
	}
	// Kill is SIGKILL where there are signals, and as sudden elsewhere.
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill() // where it fails the test sees a process that goes on
	}
	select {} // nothing more happens until the kill arrives
}

// process names this process.
func process() string {
	if len(os.Args) > 1 && os.Args[1] == "runner" {
		return "runner"
	}
	return "host"
}
