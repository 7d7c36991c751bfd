//go:build !crashtest

// Package crash marks the points of the crash matrix, so that a test can have a
// process killed exactly there. It knows nothing of what happens at a point.
//
// In every build but one with the tag crashtest a point does nothing. With the
// tag the process kills itself at the point that CRASH_AT names, as kill -9
// does; CRASH_IN narrows that to the process "runner" or "host".
package crash

// At marks a point by its name, such as "after_ready".
func At(string) {}
