//go:build !dev

package main

import "flag"

// declareDevFlags declares nothing: only the development server has flags of
// its own.
func declareDevFlags(*flag.FlagSet) {}

// pageOrigin is where the page lives, with a slash at its end.
func pageOrigin([]string) string { return "wails://wails/" }
