// Package nolaunch keeps the keyring library from starting a message bus.
//
// On Linux that library connects to the session bus while the program is being
// initialised, and where there is no bus it runs dbus-launch, which leaves a
// daemon behind for every start of the program, of its Runner and of each
// command. The language initialises packages by import path as soon as what
// they import is ready; this one imports almost nothing and sorts before the
// library, so it comes first and names a bus that cannot be reached. Nothing
// here is ever changed after that.
package nolaunch

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// NoBus is true when this process was started without a session bus.
var NoBus = prevent()

// Variable is the environment variable that names the session bus.
const Variable = "DBUS_SESSION_BUS_ADDRESS"

// unreachable is an address of a transport that does not exist.
const unreachable = "none:"

// prevent looks where the library looks.
func prevent() bool {
	if runtime.GOOS != "linux" {
		return false
	}
	if a := os.Getenv(Variable); a != "" && a != "autolaunch:" {
		return a == unreachable // a parent was without one
	}
	folder := filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	for _, name := range []string{"bus", "dbus-session"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return false
		}
	}
	return os.Setenv(Variable, unreachable) == nil
}
