// Package nolaunch keeps the keyring library from starting a message bus.
//
// On Linux that library connects to the session bus while the program is being
// initialised, and where there is no bus it runs dbus-launch, which leaves a
// daemon behind for every start of the program, of its Runner and of each
// command. The language initialises packages by import path as soon as what
// they import is ready; this one imports almost nothing and sorts before the
// library, so it comes first and names a bus that cannot be reached. Package
// credential, which comes after the library, puts the environment back.
// Nothing here is changed after it was initialised.
package nolaunch

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// Variable is the environment variable that names the session bus.
const Variable = "DBUS_SESSION_BUS_ADDRESS"

// unreachable is an address of a transport that does not exist.
const unreachable = "none:"

// start is what was found when the process started.
type start struct {
	noBus bool
	// was and named are the variable before it was changed.
	was   string
	named bool
}

var found = prevent()

// NoBus reports whether this process was started without a session bus.
func NoBus() bool { return found.noBus }

// Restore puts the environment back as it was. It reports whether it could.
func Restore() bool {
	switch {
	case !found.noBus:
		return true
	case found.named:
		return os.Setenv(Variable, found.was) == nil
	default:
		return os.Unsetenv(Variable) == nil
	}
}

// prevent looks where the library looks.
func prevent() start {
	if runtime.GOOS != "linux" {
		return start{}
	}
	was, named := os.LookupEnv(Variable)
	if was != "" && was != "autolaunch:" {
		return start{}
	}
	folder := filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	for _, name := range []string{"bus", "dbus-session"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return start{}
		}
	}
	return start{noBus: os.Setenv(Variable, unreachable) == nil, was: was, named: named}
}
