// Package nolaunch keeps the keyring library from starting a message bus, and
// from waiting for one that does not answer.
//
// On Linux that library connects to the session bus while the program is being
// initialised, and where there is no bus it runs dbus-launch, which leaves a
// daemon behind for every start of the program, of its Runner and of each
// command. Where there is one that hangs, none of them would ever start. The language initialises packages by import path as soon as what
// they import is ready; this one imports almost nothing and sorts before the
// library, so it comes first and names a bus that cannot be reached. Package
// credential, which comes after the library, puts the environment back.
// Nothing here is changed after it was initialised.
package nolaunch

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Variable is the environment variable that names the session bus.
const Variable = "DBUS_SESSION_BUS_ADDRESS"

// unreachable is an address of a transport that does not exist.
const unreachable = "none:"

// start is what was found when the process started.
type start struct {
	noBus bool
	mute  bool
	// was and named are the variable before it was changed.
	was   string
	named bool
}

var found = prevent()

// NoBus reports whether this process was started without a session bus.
func NoBus() bool { return found.noBus }

// Mute reports whether the session bus did not answer when this process was
// started. The keyring cannot be used by it then.
func Mute() bool { return found.mute }

// Restore puts the environment back as it was. It reports whether it could.
func Restore() bool {
	switch {
	case !found.noBus && !found.mute:
		return true
	case found.named:
		return os.Setenv(Variable, found.was) == nil
	default:
		return os.Unsetenv(Variable) == nil
	}
}

// answerLimit is how long the session bus may take to answer at the start.
const answerLimit = 2 * time.Second

// prevent looks where the library looks.
func prevent() start {
	if runtime.GOOS != "linux" {
		return start{}
	}
	was, named := os.LookupEnv(Variable)
	address := was
	if was == "" || was == "autolaunch:" {
		address = discovered()
	}
	s := start{noBus: address == "", mute: address != "" && mute(address), was: was, named: named}
	if (s.noBus || s.mute) && os.Setenv(Variable, unreachable) != nil {
		return start{}
	}
	return s
}

// discovered is the address of a bus that the environment does not name; "" for
// none.
func discovered() string {
	folder := filepath.Join("/run/user", strconv.Itoa(os.Getuid()))
	if _, err := os.Stat(filepath.Join(folder, "bus")); err == nil {
		return "unix:path=" + filepath.Join(folder, "bus")
	}
	data, err := os.ReadFile(filepath.Join(folder, "dbus-session"))
	if err != nil {
		return ""
	}
	address, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), Variable+"=")
	if !ok {
		return ""
	}
	return address
}

// mute reports whether the first place of address that can be connected to takes
// no notice of a greeting. Only sockets of this machine are tried: others are
// rare, and have a limit of their own.
func mute(address string) bool {
	for place := range strings.SplitSeq(address, ";") {
		socket, ok := socketOf(place)
		if !ok {
			return false
		}
		conn, err := net.DialTimeout("unix", socket, answerLimit)
		if err != nil {
			if timedOut(err) {
				return true
			}
			continue
		}
		silent := conn.SetDeadline(time.Now().Add(answerLimit)) == nil && !answers(conn)
		_ = conn.Close() // it was there to be asked
		return silent
	}
	return false
}

// answers greets a bus as every client does. One that hangs up is not mute.
func answers(conn net.Conn) bool {
	if _, err := conn.Write([]byte("\x00AUTH\r\n")); err != nil {
		return !timedOut(err)
	}
	_, err := conn.Read(make([]byte, 1))
	return !timedOut(err)
}

func timedOut(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// socketOf returns the socket of one place of an address as package net names it.
func socketOf(place string) (string, bool) {
	rest, ok := strings.CutPrefix(place, "unix:")
	if !ok {
		return "", false
	}
	for pair := range strings.SplitSeq(rest, ",") {
		key, value, _ := strings.Cut(pair, "=")
		switch key {
		case "path":
			return unescaped(value), true
		case "abstract":
			return "@" + unescaped(value), true
		}
	}
	return "", false
}

// unescaped undoes the escapes of an address (%2f).
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
