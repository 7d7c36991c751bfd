//go:build crashtest && linux

package matrix

import (
	"context"
	"database/sql"
	"encoding/json"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite"

	"galley/backend/agent/core"
)

// told is the state of a run by its names: the run, its requests, its calls,
// its questions and its proposals.
func told(d core.RunDetail) string {
	with := func(state, reason string) string {
		if reason == "" {
			return state
		}
		return state + "(" + reason + ")"
	}
	run := with(string(d.Run.State), d.Run.Reason)
	if d.Run.Fault != nil {
		run = with(string(d.Run.State), d.Run.Fault.Code)
	}
	parts := []string{run}
	for _, c := range d.ModelCalls {
		if c.Phase != core.PhaseDone {
			parts = append(parts, "request "+with(string(c.Phase), c.Code))
		}
	}
	for _, c := range d.Calls {
		parts = append(parts, c.Name+" "+with(string(c.State), c.Reason))
	}
	for _, a := range d.Approvals {
		parts = append(parts, "question "+string(a.State))
	}
	for _, p := range d.Proposals {
		parts = append(parts, "proposal "+string(p.State))
	}
	for _, m := range d.Messages {
		if m.Status != "complete" {
			parts = append(parts, "words "+m.Status)
		}
	}
	return strings.Join(parts, ", ")
}

// galley runs a command of the program on the stage's home.
func (s *stage) galley(args ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append(args, "--home", s.home)...)
	cmd.Env = s.env
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("galley %v: %v: %s", args, err, out)
	}
	return string(out)
}

// finish ends a stage whose runs are final: the command line tells the same as
// the window, the window ends in order, and what is stored holds together. It
// returns the state of the run.
func (s *stage) finish(w *view, d core.RunDetail) string {
	s.t.Helper()
	id := string(d.Run.ID)
	var shown struct{ Detail core.RunDetail }
	try(s.t, json.Unmarshal([]byte(s.galley("runs", "show", "--json", id)), &shown))
	if got, want := told(shown.Detail), told(d); got != want {
		s.t.Errorf("galley runs show --json tells %s, the window %s", got, want)
	}
	words := s.galley("runs", "show", id)
	for _, want := range s.words(d) {
		if !strings.Contains(words, want) {
			s.t.Errorf("galley runs show does not say %q:\n%s", want, words)
		}
	}
	w.quit()
	s.audit()
	return told(d)
}

// words are what a person has to read of a run.
func (s *stage) words(d core.RunDetail) []string {
	say := func(state, reason string) string {
		if reason != "" {
			state += " (" + reason + ")"
		}
		return strings.ReplaceAll(state, "_", " ")
	}
	all := []string{"Run " + string(d.Run.ID) + ": " + say(string(d.Run.State), d.Run.Reason)}
	for _, c := range d.Calls {
		all = append(all, say(string(c.State), c.Reason))
		if c.State == core.CallUnknown {
			all = append(all, "It is not known whether this happened.")
		}
	}
	for _, a := range d.Approvals {
		if a.State == core.ApprovalExpired {
			all = append(all, "not answered, which is no consent")
		}
	}
	for _, c := range d.ModelCalls {
		if c.Phase == core.PhaseUnknown {
			all = append(all, "whether it was answered, and what it cost, is not known")
		}
	}
	if d.Run.State != core.RunSucceeded {
		all = append(all, "Nothing is repeated by itself.")
	}
	return all
}

// rowsOf reads a column of the stage's database, column one of another.
func (s *stage) rowsOf(query string) []string {
	s.t.Helper()
	return s.column(filepath.Join(s.home, "runs.db"), query)
}

func (s *stage) column(path, query string) (all []string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	try(s.t, err)
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(s.t.Context(), query)
	try(s.t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var v string
		try(s.t, rows.Scan(&v))
		all = append(all, v)
	}
	try(s.t, rows.Err())
	return all
}

// audit looks at the database and at the disk when nothing runs any more:
// nothing is left half, nothing is there twice.
func (s *stage) audit() {
	s.t.Helper()
	for query, want := range map[string]string{
		"PRAGMA integrity_check":   "ok",
		"PRAGMA foreign_key_check": "",
		"SELECT id FROM runs WHERE state NOT IN('cancelled','succeeded','failed','interrupted')":                                                                               "",
		"SELECT id FROM tool_calls WHERE state NOT IN('cancelled','succeeded','failed','unknown')":                                                                             "",
		"SELECT id FROM approvals WHERE state='pending'":                                                                                                                       "",
		"SELECT id FROM model_calls WHERE phase NOT IN('done','failed','unknown')":                                                                                             "",
		"SELECT id FROM artifacts WHERE state='writing'":                                                                                                                       "",
		"SELECT tool_call_id FROM proposals GROUP BY tool_call_id, doc_uri HAVING count(*)>1":                                                                                  "",
		"SELECT run_id||type FROM events WHERE type IN('run.cancelled','run.succeeded','run.failed','run.interrupted','run.accepted') GROUP BY run_id, type HAVING count(*)>1": "",
		"SELECT run_id FROM events WHERE type IN('run.cancelled','run.succeeded','run.failed','run.interrupted') GROUP BY run_id HAVING count(*)>1":                            "",
		"SELECT seq FROM events e WHERE seq>(SELECT min(seq) FROM events) AND NOT EXISTS(SELECT 1 FROM events WHERE seq=e.seq-1)":                                              "",
	} {
		if got := strings.Join(s.rowsOf(query), " "); got != want {
			s.t.Errorf("%s gives %q", query, got)
		}
	}
	// A file of the artifacts' folder belongs to a row, and the other way round.
	kept := s.rowsOf("SELECT path FROM artifacts WHERE state='published' ORDER BY path")
	files := s.files(filepath.Join(s.home, "artifacts"))
	slices.Sort(files)
	if !slices.Equal(kept, files) {
		s.t.Errorf("the artifacts are %v, their files %v", kept, files)
	}
	runs := s.rowsOf("SELECT id FROM runs WHERE id NOT LIKE 'run-%' ORDER BY created_at, rowid")
	want := []string{}
	for _, r := range s.runs {
		want = append(want, string(r))
	}
	slices.Sort(runs)
	slices.Sort(want)
	if !slices.Equal(runs, slices.Compact(want)) {
		s.t.Errorf("the database has the runs %v, begun were %v", runs, want)
	}
	for _, root := range []string{s.folder, filepath.Join(s.home, "recovery")} {
		for _, name := range s.files(root) {
			if strings.Contains(name, ".galley-") || root != s.folder {
				s.t.Errorf("%s is left in %s", name, filepath.Base(root))
			}
		}
	}
}

// files are the files under a folder, relative to it; none where it is not there.
func (s *stage) files(root string) (all []string) {
	s.t.Helper()
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, path)
			all = append(all, rel)
		}
		return nil
	})
	return all
}

// is checks what a file of the folder holds, "-" for none.
func (s *stage) is(name, want string) {
	s.t.Helper()
	if got := s.read(name); got != want {
		s.t.Errorf("%s holds %q, want %q", name, got, want)
	}
}

// create is a task that has the mock create a document, search one that has it
// search, patch one that has it propose.
func create(name, text string) string {
	b, _ := json.Marshal(map[string]string{"dir": "", "name": name, "text": text})
	return "/tool createDocument " + string(b)
}

const (
	search = `/tool searchWorkspace {"query":"old words"}`
	patch  = `/tool proposePatch {"oldText":"old words","newText":"new words","summary":"Newer words."}`
)
