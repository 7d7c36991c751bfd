package cli

import (
	"os"
	"testing"
)

// TestMain makes this binary the program: asked for a subcommand it is that, and
// its Runner too.
func TestMain(m *testing.M) {
	if code, done := Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); done {
		os.Exit(code)
	}
	os.Exit(m.Run())
}
