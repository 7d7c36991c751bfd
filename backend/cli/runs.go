package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/host"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

const (
	// maxListed is how many runs are looked through for the beginning of an id.
	maxListed = 1000
	// checkTime is how long runs of an earlier start may take to be looked after.
	checkTime = 30 * time.Second
)

// runRuns lists, shows, cancels and continues runs.
func runRuns(args []string, s streams) int {
	var o options
	limit := 20
	var flags *flag.FlagSet
	rest, code, ok := parse("runs", runsHelp, args, s, func(f *flag.FlagSet) {
		flags = f
		f.StringVar(&o.home, "home", "", "")
		f.BoolVar(&o.json, "json", false, "")
		f.IntVar(&limit, "limit", limit, "")
		f.StringVar(&o.provider, "provider", "", "")
		f.StringVar(&o.model, "model", "", "")
		f.StringVar(&o.folder, "folder", "", "")
		f.StringVar(&o.file, "file", "", "")
	})
	if !ok {
		return code
	}
	verb := "list"
	if len(rest) > 0 {
		verb, rest = rest[0], rest[1:]
	}
	if !slices.Contains([]string{"list", "show", "cancel", "continue"}, verb) {
		return wrong(s, "there is no runs "+verb+": list, show, cancel and continue are what there is.")
	}
	takes := map[string][]string{"list": {"limit"}, "continue": {"provider", "model", "folder", "file"}}[verb]
	wrongFlag := ""
	flags.Visit(func(f *flag.Flag) {
		if !slices.Contains(append([]string{"home", "json"}, takes...), f.Name) {
			wrongFlag = f.Name
		}
	})
	switch {
	case wrongFlag != "":
		return wrong(s, "runs "+verb+" takes no --"+wrongFlag+".")
	case verb == "list" && len(rest) == 0 && limit >= 1 && limit <= maxListed:
		return withAgent(s, o, func(ctx context.Context, a *agent) error { return listRuns(ctx, s, o, a, limit) })
	case verb == "list":
		return wrong(s, "runs list takes no words, and a limit of 1 to 1000.")
	case len(rest) != 1:
		return wrong(s, "name one run: galley runs "+verb+" ID.")
	case verb == "show":
		return withAgent(s, o, func(ctx context.Context, a *agent) error { return showRun(ctx, s, o, a, rest[0]) })
	case verb == "cancel":
		return withAgent(s, o, func(ctx context.Context, a *agent) error { return cancelRun(ctx, s, o, a, rest[0]) })
	}
	return continueRun(s, o, rest[0])
}

// withAgent calls f with the agent of a home.
func withAgent(s streams, o options, f func(ctx context.Context, a *agent) error) int {
	home, err := resolveHome(o.home)
	if err != nil {
		return fails(s, o.json, err)
	}
	a, err := openAgent(context.Background(), home)
	if err != nil {
		return fails(s, o.json, err)
	}
	defer a.close(leaveTime)
	ctx, cancel := context.WithTimeout(context.Background(), checkTime+callTime)
	defer cancel()
	if err := f(ctx, a); err != nil {
		return fails(s, o.json, err)
	}
	return exitOK
}

// settled waits until the runs of an earlier start are looked after, so that
// what is told of them is final. With a holder there is nothing to wait for.
func (a *agent) settled(ctx context.Context) error {
	if a.elsewhere() != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	_, follow, err := a.sub.State(ctx, 0)
	if err != nil {
		return err
	}
	follow()
	for len(a.host.ActiveRuns()) > 0 {
		if _, ok := a.sub.Next(ctx); !ok {
			return nil // they are told as they are
		}
	}
	return nil
}

// findRun returns the id of the run whose id begins so.
func (a *agent) findRun(ctx context.Context, begin string) (core.RunID, error) {
	runs, err := a.host.Runs(ctx, maxListed)
	if err != nil {
		return "", err
	}
	var found []core.RunID
	for _, r := range runs {
		if string(r.ID) == begin {
			return r.ID, nil
		}
		if strings.HasPrefix(strings.ToLower(string(r.ID)), strings.ToLower(begin)) {
			found = append(found, r.ID)
		}
	}
	switch len(found) {
	case 0:
		return "", &fault.Error{Code: fault.NotFound, Op: "find run", Detail: "run " + begin}
	case 1:
		return found[0], nil
	}
	return "", &usageError{fmt.Sprintf("%d runs begin with %s. Give more of the id.", len(found), visible(begin))}
}

func listRuns(ctx context.Context, s streams, o options, a *agent, limit int) error {
	if err := a.settled(ctx); err != nil {
		return err
	}
	runs, err := a.host.Runs(ctx, limit)
	if err != nil {
		return err
	}
	sessions, err := a.host.Sessions(ctx)
	if err != nil {
		return err
	}
	titles := map[core.SessionID]string{}
	for _, session := range sessions {
		titles[session.ID] = session.Title
	}
	if o.json {
		for _, r := range runs {
			jsonl{s.out}.put(line{Type: "run", Run: &r, Title: titles[r.SessionID]})
		}
		return nil
	}
	if len(runs) == 0 {
		show(s.out, "No run so far.\n")
		return nil
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, r := range runs {
		show(w, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\n", r.ID, when(r.CreatedAtMs), sayRunState(r), visible(r.Model.Model), firstLine(titles[r.SessionID])))
	}
	return w.Flush()
}

func firstLine(title string) string {
	title, _, _ = strings.Cut(title, "\n")
	if r := []rune(title); len(r) > 50 {
		title = string(r[:50]) + "…"
	}
	return visible(title)
}

// when is a time as a person reads it; "-" for none.
func when(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04:05")
}

func sayRunState(r core.Run) string { return strings.ReplaceAll(string(r.State), "_", " ") }

func cancelRun(ctx context.Context, s streams, o options, a *agent, begin string) error {
	id, err := a.findRun(ctx, begin)
	if err != nil {
		return err
	}
	r, err := a.host.Cancel(ctx, newCommand(), id)
	if err != nil {
		return err
	}
	if o.json {
		jsonl{s.out}.receipt(r)
		return nil
	}
	words := "The wish to stop is recorded."
	if r.Receipt == "already_terminal" {
		words = "It had ended already: " + strings.ReplaceAll(string(r.State), "_", " ") + "."
	}
	show(s.out, words+"\n")
	return nil
}

// continueRun goes on where a run ended, in its folder and with its document
// unless others are named.
func continueRun(s streams, o options, begin string) int {
	dir, doc, err := folderAndFile(o.folder, o.file)
	if err != nil {
		return fails(s, o.json, err)
	}
	return carryOut(s, o, dir, func(ctx context.Context, a *agent) (wire.TaskParams, error) {
		if err := a.settled(ctx); err != nil {
			return wire.TaskParams{}, err
		}
		id, err := a.findRun(ctx, begin)
		if err != nil {
			return wire.TaskParams{}, err
		}
		d, err := a.host.RunDetail(ctx, id)
		if err != nil {
			return wire.TaskParams{}, err
		}
		t := wire.TaskParams{
			CommandID: newCommand(), FromRunID: id, Folder: dir, File: doc,
			ModelRef: core.ModelRef{ProviderID: o.provider, Model: o.model},
		}
		if o.provider == "" {
			t.ModelRef.ProviderID = d.Run.Model.ProviderID
			if o.model == "" {
				t.ModelRef.Model = d.Run.Model.Model
			}
		}
		if t.Folder == "" && filepath.IsAbs(d.Session.WorkspaceID) {
			t.Folder = d.Session.WorkspaceID
		}
		if t.File == "" {
			t.File = pathOf(d.Run.DocURI)
		}
		if !o.json {
			show(s.err, fmt.Sprintf("Goes on in %s.\n", visible(orNone(t.Folder))))
		}
		return t, nil
	})
}

func orNone(s string) string {
	if s == "" {
		return "no folder"
	}
	return s
}

func showRun(ctx context.Context, s streams, o options, a *agent, begin string) error {
	if err := a.settled(ctx); err != nil {
		return err
	}
	id, err := a.findRun(ctx, begin)
	if err != nil {
		return err
	}
	d, err := a.host.RunDetail(ctx, id)
	if err != nil {
		return err
	}
	artifacts := []core.Artifact{}
	for _, c := range d.Calls {
		if c.ArtifactID == "" {
			continue
		}
		got, err := a.host.Artifact(ctx, wire.ArtifactGetParams{ArtifactID: c.ArtifactID, Limit: 1})
		switch fault.CodeOf(err) {
		case "":
			artifacts = append(artifacts, got.Artifact)
		case fault.NotFound:
			artifacts = append(artifacts, core.Artifact{ID: c.ArtifactID, RunID: id, ToolCallID: c.ID, State: core.ArtifactMissing})
		default:
			return err
		}
	}
	patches := map[string]string{}
	for _, p := range d.Proposals {
		if at := patchPath(a.home, p.ID); exists(at) {
			patches[string(p.ID)] = at
		}
	}
	if o.json {
		jsonl{s.out}.put(line{Type: "detail", Detail: &d, Artifacts: artifacts, Patches: patches})
		return nil
	}
	r := &report{w: s.out, d: d, artifacts: artifacts, patches: patches}
	r.write(a.host.Runner().Status == host.Elsewhere)
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// report tells of one run.
type report struct {
	w         io.Writer
	d         core.RunDetail
	artifacts []core.Artifact
	patches   map[string]string
}

func (r *report) line(format string, v ...any) { show(r.w, fmt.Sprintf(format+"\n", v...)) }

func (r *report) write(elsewhere bool) {
	run := r.d.Run
	state := sayRunState(run) + because(run.Reason)
	if !run.State.Final() && !elsewhere {
		state += ", being checked"
	}
	r.line("Run %s: %s", run.ID, state)
	if run.Fault != nil {
		r.line("  %s", sayFault(*run.Fault))
	}
	r.line("  Session   %s  %s", run.SessionID, firstLine(r.d.Session.Title))
	r.line("  Model     %s of %s", visible(run.Model.Model), visible(run.Model.ProviderID))
	if r.d.Session.WorkspaceID != "" {
		r.line("  Folder    %s", visible(r.d.Session.WorkspaceID))
	}
	if run.DocURI != "" {
		r.line("  Document  %s", visible(orURI(run.DocURI)))
	}
	if run.ParentRunID != "" {
		r.line("  Continues %s", run.ParentRunID)
	}
	r.line("  Accepted  %s, begun %s, ended %s", when(run.CreatedAtMs), when(run.StartedAtMs), when(run.EndedAtMs))
	r.line("  Tokens    %s", sayUsage(run.Usage))
	r.requests()
	r.messages()
	r.calls()
	r.approvals()
	r.proposals()
	if len(r.artifacts) > 0 {
		r.line("\nLong outputs")
		for _, a := range r.artifacts {
			r.line("  %s  %s, %s", a.ID, count(int(a.Bytes), "byte"), a.State)
		}
	}
	switch run.State {
	case core.RunInterrupted, core.RunFailed, core.RunCancelled:
		r.line("\nNothing is repeated by itself. galley runs continue %s goes on from here.", run.ID)
	default:
	}
}

func orURI(uri string) string {
	if p := pathOf(uri); p != "" {
		return p
	}
	return uri
}

func (r *report) requests() {
	if len(r.d.ModelCalls) == 0 {
		return
	}
	r.line("\nRequests to the model")
	for _, c := range r.d.ModelCalls {
		words := string(c.Phase)
		switch c.Phase {
		case core.PhaseDone:
			words = "answered. " + sayUsage(c.Usage)
		case core.PhaseUnknown:
			words = "sent; whether it was answered, and what it cost, is not known"
		case core.PhaseFailed:
			words = "failed"
			if c.Code != "" {
				words += ": " + c.Code
			}
		default:
		}
		r.line("  step %d, attempt %d: %s", c.Step, c.Attempt, words)
	}
}

func (r *report) messages() {
	for _, m := range r.d.Messages {
		words := ""
		for _, p := range m.Message.Parts {
			if p.Type == core.PartText {
				words += p.Text
			}
		}
		if words == "" {
			continue
		}
		who := "Asked"
		if m.Message.Role == core.RoleAssistant {
			who = "Answered"
		}
		r.line("\n%s", who)
		show(r.w, excerpt(words, -1))
		if m.Status == "partial" {
			r.line("    … here it broke off.")
		}
	}
}

func (r *report) calls() {
	if len(r.d.Calls) == 0 {
		return
	}
	r.line("\nTools")
	for _, c := range r.d.Calls {
		r.line("  %d %s: %s%s", c.Ord, sayTool(c, c.State == core.CallSucceeded), strings.ReplaceAll(string(c.State), "_", " "), because(c.Reason))
		for _, found := range r.d.Reconciled {
			if found.Call.ID == c.ID {
				r.line("    Looked after by %s: %s.", found.By, sayVerdict(found.Verdict))
			}
		}
		if c.State == core.CallUnknown {
			r.line("    It is not known whether this happened. Look at %s; it is not repeated by itself.", visible(strings.Join(r.places(c), " and ")))
		}
	}
}

// places are what a person can look at to see what a call did.
func (r *report) places(c core.ToolCall) []string {
	at := func(rel string) string {
		if r.d.Session.WorkspaceID == "" {
			return rel
		}
		return filepath.Join(r.d.Session.WorkspaceID, filepath.FromSlash(rel))
	}
	switch c.Name {
	case core.ToolCreateDocument:
		return []string{at(joined(field(c, "dir"), field(c, "name")))}
	case core.ToolRenameDocument:
		from := field(c, "path")
		dir, _ := filepath.Split(filepath.FromSlash(from))
		return []string{at(from), at(filepath.Join(dir, field(c, "newName")))}
	}
	return []string{"what " + c.Name + " works on"}
}

func (r *report) approvals() {
	if len(r.d.Approvals) == 0 {
		return
	}
	r.line("\nQuestions")
	for _, a := range r.d.Approvals {
		i := slices.IndexFunc(r.d.Calls, func(c core.ToolCall) bool { return c.ID == a.ToolCallID })
		call := core.ToolCall{}
		if i >= 0 {
			call = r.d.Calls[i]
		}
		words := map[core.ApprovalState]string{
			core.ApprovalPending: "waits for an answer", core.ApprovalAllowedOnce: "allowed once",
			core.ApprovalAllowedSession: "allowed for the session", core.ApprovalDenied: "denied",
			core.ApprovalExpired: "not answered, which is no consent", core.ApprovalCancelled: "taken back",
		}[a.State]
		r.line("  %s %s", sayAsk(a, call), words)
	}
}

func (r *report) proposals() {
	if len(r.d.Proposals) == 0 {
		return
	}
	r.line("\nProposals")
	for _, p := range r.d.Proposals {
		r.line("  %s  %s: %s", p.ID, strings.ReplaceAll(string(p.State), "_", " "), visible(nameOf(p.DocURI)+", "+p.Patch.Summary))
		if at := r.patches[string(p.ID)]; at != "" {
			r.line("    %s", visible(at))
		}
	}
}

// runBackup writes a copy of the run database.
func runBackup(args []string, s streams) int {
	var o options
	rest, code, ok := parse("backup", backupHelp, args, s, func(f *flag.FlagSet) {
		f.StringVar(&o.home, "home", "", "")
		f.BoolVar(&o.json, "json", false, "")
	})
	if !ok {
		return code
	}
	if len(rest) != 1 {
		return wrong(s, "name one file: galley backup FILE.")
	}
	to, err := filepath.Abs(rest[0])
	if err != nil {
		return fails(s, o.json, err)
	}
	return withAgent(s, o, func(ctx context.Context, a *agent) error {
		if err := a.host.Backup(ctx, to); err != nil {
			return err
		}
		if o.json {
			return json.NewEncoder(s.out).Encode(line{Type: "backup", Path: to})
		}
		_, err := fmt.Fprintf(s.out, "The run database is copied to %s.\n", visible(to))
		return err
	})
}
