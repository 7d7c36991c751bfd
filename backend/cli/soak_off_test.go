//go:build !soak || !linux

package cli

// soaked does nothing: only a build for the soak is looked into from outside.
func soaked() {}
