// Package cli owns the subcommands of the program. main asks it first, before
// anything of the window is touched; what it does not handle is the window's.
//
// It holds no logic of the agent: it reads arguments, builds the one thing that a
// subcommand is about, shows what happens, asks on the terminal, and turns the
// end into an exit code. The exit codes are those of galley run --help.
package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"galley/backend/agent/runner"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// Main handles the arguments, without the program's name, when they are those
// of a subcommand. Done is false when they are the window's; nothing has
// happened then. It blocks until the subcommand has ended.
func Main(args []string, stdin, stdout, stderr *os.File) (code int, done bool) {
	if len(args) == 0 {
		return exitOK, false
	}
	switch args[0] {
	case "runner":
		return runRunner(args[1:], stdin, stdout, stderr), true
	case "run":
		return runRun(args[1:], streams{stdin, stdout, stderr}), true
	case "runs":
		return runRuns(args[1:], streams{stdin, stdout, stderr}), true
	case "backup":
		return runBackup(args[1:], streams{stdin, stdout, stderr}), true
	case "--version", "-version":
		return say(stdout, "galley "+Version()+"\n"), true
	case "--help", "-help", "-h":
		return say(stdout, help), true
	}
	return exitOK, false
}

func say(w io.Writer, s string) int {
	if _, err := io.WriteString(w, s); err != nil {
		return exitError
	}
	return exitOK
}

// Version is the version of this program: that of a release, or the revision
// it was built from.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "devel"
}

// runRunner is the Runner's process. Its standard output is the protocol's
// alone.
func runRunner(args []string, stdin, stdout, stderr *os.File) int {
	log := slog.New(slog.NewTextHandler(stderr, nil))
	flags := flag.NewFlagSet("runner", flag.ContinueOnError)
	flags.SetOutput(stderr)
	home := flags.String("home", "", "the program's home folder")
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	if *home == "" || flags.NArg() > 0 {
		log.Error("usage: runner --home FOLDER")
		return exitUsage
	}
	// A host that is gone is seen as EOF and recorded; a signal for a write to
	// its pipe would take that away.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	in, out, err := pipes(stdin, stdout)
	if err != nil {
		log.Error("pipes", "err", err)
		return exitError
	}
	err = runner.Run(ctx, runner.Config{Home: *home, Stdin: in, Stdout: out, Logger: log})
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, &fault.Error{Code: fault.StoreFailed}):
		return wire.ExitStoreFailed
	case errors.Is(err, &fault.Error{Code: fault.DiskFull}):
		return wire.ExitDiskFull
	}
	log.Error("runner failed", "err", err)
	return exitError
}
