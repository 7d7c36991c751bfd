//go:build e2e

package main

// closeInspector leaves the inspector open: the window tests read the page's
// state through it.
func closeInspector() {}
