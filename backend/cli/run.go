package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"io"
	"os"
	"strings"
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

// parse reads flags that may stand before and, for rest, behind other words. ok
// is false when help was asked for, or the line is wrong: that was said then.
func parse(name, help string, args []string, s streams, declare func(*flag.FlagSet)) (rest []string, code int, ok bool) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	declare(flags)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil, say(s.out, help), false
	case err != nil:
		// The words of package flag name the flag.
		return nil, wrong(s, err.Error()+"."), false
	}
	return flags.Args(), exitOK, true
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
