//go:build dev

package main

import (
	"flag"
	"io"
)

// declareDevFlags declares the flags that Wails' development server reads from
// the same command line.
func declareDevFlags(flags *flag.FlagSet) {
	for _, name := range []string{"assetdir", "devserver", "frontenddevserverurl", "loglevel"} {
		flags.String(name, "", "development server")
	}
}

// pageOrigin is where the page lives, with a slash at its end: the window of
// this build shows the development server's.
func pageOrigin(args []string) string {
	flags := flag.NewFlagSet("galley", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.String("home", "", "")
	flags.Bool("sample", false, "")
	declareDevFlags(flags)
	if err := flags.Parse(args); err != nil {
		return "wails://wails/"
	}
	if at := flags.Lookup("frontenddevserverurl").Value.String(); at != "" {
		return at + "/"
	}
	return "wails://wails/"
}
