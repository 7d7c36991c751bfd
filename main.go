// Galley is a native Markdown editor in which AI only ever proposes.
//
// Package main is the composition root and the only importer of Wails: main.go
// looks at the arguments, app.go builds and wires the program, window_*.go
// holds the native code of ours.
package main

import (
	"embed"
	"os"

	"galley/backend/cli"
)

//go:embed all:frontend/dist
var dist embed.FS

func main() {
	// Before any GTK is touched: the Runner is this same program.
	if code, done := cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); done {
		os.Exit(code)
	}
	closeInspector()
	prepareWindow()
	os.Exit(runWindow(os.Args[1:]))
}
