//go:build !crashtest

// Package crash marks the points of the crash matrix, so that a test can have a
// process killed exactly there. It knows nothing of what happens at a point.
//
// In every build but one with the tag crashtest a point does nothing. With the
// tag the process kills itself at the point that CRASH_AT names, as kill -9
// does; CRASH_IN narrows that to the process "runner" or "host", and CRASH_ONCE
// names a file that the process makes before it dies: where the file is there
// the point does nothing, so that a process which is started again passes.
// HOLD_AT and HOLD_IN have a process wait at a point, once, in place of dying;
// HOLD_PIPE is the named pipe on which it says so.
package crash

// At marks a point by its name, such as "after_ready".
func At(string) {}
