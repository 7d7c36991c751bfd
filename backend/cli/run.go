package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/settings"
)

// streams are the standard streams of a command.
type streams struct{ in, out, err *os.File }

// options are the flags that several commands have.
type options struct {
	home, provider, model, session, file, folder string
	json                                         bool
}

func newCommand() core.CommandID { return core.CommandID("cli-" + strings.ToLower(rand.Text())) }

// parse reads flags, which may stand before, between and behind the words; what
// follows "--" are words. An argument with a space in its name is none of the
// flags, whatever it begins with: a task may begin with a dash.
func parse(name, help string, args []string, s streams, declare func(*flag.FlagSet)) (words []string, code int, ok bool) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	declare(flags)
	for len(args) > 0 {
		if args[0] == "--" {
			words = append(words, args[1:]...)
			break
		}
		n, isFlag := flagLength(flags, args)
		if !isFlag {
			words, args = append(words, args[0]), args[1:]
			continue
		}
		err := flags.Parse(args[:n])
		switch {
		case errors.Is(err, flag.ErrHelp):
			return nil, say(s.out, help), false
		case err != nil:
			// The words of package flag name the flag.
			return nil, wrong(s, err.Error()+"."), false
		}
		args = args[n:]
	}
	return words, exitOK, true
}

// flagLength says whether the first argument is a flag, and how many arguments
// it has with its value.
func flagLength(flags *flag.FlagSet, args []string) (n int, isFlag bool) {
	name, _, withValue := strings.Cut(args[0], "=")
	if len(name) < 2 || name[0] != '-' || strings.ContainsFunc(name, unicode.IsSpace) {
		return 0, false
	}
	declared := flags.Lookup(strings.TrimPrefix(name[1:], "-"))
	if declared == nil || withValue || len(args) == 1 {
		return 1, true
	}
	if b, ok := declared.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
		return 1, true
	}
	return 2, true
}

// wrong says what is wrong with a command line.
func wrong(s streams, words string) int {
	_, _ = io.WriteString(s.err, "galley: "+visible(words)+"\n")
	return exitUsage
}

// fails says why a command failed.
func fails(s streams, asJSON bool, err error) int {
	code := exitOf(err)
	if asJSON {
		jsonl{s.out}.failed(err, code)
		return code
	}
	_, _ = io.WriteString(s.err, "galley: "+sayError(err)+"\n")
	return code
}

func resolveHome(flagged string) (settings.Home, error) {
	return settings.ResolveHome(flagged, os.Getenv("GALLEY_HOME"), os.UserConfigDir)
}

// runRun carries a task out.
func runRun(args []string, s streams) int {
	var o options
	rest, code, ok := parse("run", runHelp, args, s, func(f *flag.FlagSet) {
		f.StringVar(&o.home, "home", "", "")
		f.StringVar(&o.provider, "provider", "", "")
		f.StringVar(&o.model, "model", "", "")
		f.StringVar(&o.file, "file", "", "")
		f.StringVar(&o.session, "session", "", "")
		f.BoolVar(&o.json, "json", false, "")
	})
	if !ok {
		return code
	}
	if len(rest) < 2 {
		return wrong(s, "name a folder and a task: galley run FOLDER TASK.")
	}
	words := strings.Join(rest[1:], " ")
	if strings.TrimSpace(words) == "" || !utf8.ValidString(words) {
		return wrong(s, "the task is empty, or no text.")
	}
	dir, doc, err := folderAndFile(rest[0], o.file)
	if err != nil {
		return fails(s, o.json, err)
	}
	if !utf8.ValidString(dir + doc) {
		return wrong(s, "the names of the folder and the file have to be UTF-8.")
	}
	t := wire.TaskParams{
		CommandID: newCommand(), SessionID: core.SessionID(o.session), Input: words,
		ModelRef: core.ModelRef{ProviderID: o.provider, Model: o.model}, Folder: dir, File: doc,
	}
	return carryOut(s, o, dir, func(_ context.Context, a *agent) (wire.TaskParams, error) { return t, nil })
}

// carryOut has a task carried out and stays until its run has ended.
func carryOut(s streams, o options, dir string, make func(context.Context, *agent) (wire.TaskParams, error)) int {
	home, err := resolveHome(o.home)
	if err != nil {
		return fails(s, o.json, err)
	}
	a, err := openAgent(context.Background(), home)
	if err != nil {
		return fails(s, o.json, err)
	}
	limit := leaveTime
	defer func() { a.close(limit) }()
	f := newFollower(a, viewOf(s, o.json), askerOf(s, o.json), dir)
	defer f.close()
	ctx, cancel := f.ctx()
	t, err := make(ctx, a)
	cancel()
	if err != nil {
		return fails(s, o.json, err)
	}
	f.folder = t.Folder
	err = f.begin(func(ctx context.Context) (wire.SubmitResult, error) {
		if t.FromRunID != "" {
			return a.host.ContinueTask(ctx, t)
		}
		return a.host.SubmitTask(ctx, t)
	})
	if err != nil {
		return fails(s, o.json, err)
	}
	code := f.follow()
	if f.hard.Err() != nil {
		limit = 0
		return code
	}
	f.settle()
	return code
}

// viewOf shows a run to whoever reads the streams.
func viewOf(s streams, asJSON bool) view {
	if asJSON {
		return jsonl{s.out}
	}
	colour := isTerminal(s.err) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return newScreen(s.out, s.err, isTerminal(s.out), colour)
}

// askerOf asks on the terminal where there is one: never while a program reads.
func askerOf(s streams, asJSON bool) *asker {
	return newAsker(s.in, s.err, !asJSON && isTerminal(s.in) && isTerminal(s.err))
}
