package task

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/network"
	"galley/backend/settings"
	"galley/backend/text"
)

func try(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// maker returns a Maker, what its runs may reach, and a folder with a document.
func maker(t *testing.T, open func(string) (string, core.Snapshot, bool)) (*Maker, map[core.CommandID]Reach, string) {
	t.Helper()
	store, err := settings.Load(settings.Config{Home: settings.Home{Dir: t.TempDir()}})
	try(t, err)
	reached := map[core.CommandID]Reach{}
	net := network.New(network.Config{})
	t.Cleanup(net.Close)
	m := New(Config{
		Settings: store, Network: net, Log: slog.New(slog.DiscardHandler), Open: open,
		Begin: func(cmd core.CommandID, r Reach) { reached[cmd] = r },
		End:   func(cmd core.CommandID) { delete(reached, cmd) },
	})
	t.Cleanup(m.Close)
	dir := t.TempDir()
	try(t, os.WriteFile(filepath.Join(dir, "a.md"), []byte("\uFEFF---\r\nx: 1\r\n---\r\n\r\nText\r\n"), 0o600))
	return m, reached, dir
}

func named(dir string) wire.TaskParams {
	return wire.TaskParams{
		CommandID: "c", Input: "do", ModelRef: core.ModelRef{ProviderID: "mock"}, Folder: dir, File: filepath.Join(dir, "a.md"),
	}
}

// covers: H2 F7
func TestMaker_GrantsWhatIsNamedToOneRun(t *testing.T) {
	m, reached, dir := maker(t, nil)
	p, err := m.Complete(t.Context(), named(dir))
	try(t, err)
	want := "---\nx: 1\n---\n\nText\n"
	s := p.Snapshot
	if s == nil || s.Text != want || s.Digest != text.Digest(want) || s.BaseVersion != 1 || s.FrontMatter != "---\nx: 1\n---" {
		t.Errorf("snapshot %+v", s)
	}
	if p.Provider.Kind != "mock" || p.Provider.CredentialRef != "" || p.ModelRef.Model != "mock-1" || p.WorkspaceID != dir || p.Language != "en" {
		t.Errorf("submission %+v", p)
	}
	r := reached["c"]
	if r.Workspace != dir || r.File != filepath.Join(dir, "a.md") || r.DocumentID != "" {
		t.Fatalf("reach %+v", r)
	}
	if _, err := r.Grants.PermitRead(filepath.Join(dir, "a.md")); err != nil {
		t.Error(err)
	}
	if _, err := r.Grants.PermitRead(filepath.Join(filepath.Dir(dir), "other.md")); fault.CodeOf(err) != fault.OutsideWorkspace {
		t.Errorf("beside the folder: %v", err)
	}
	// They go with the run, and with no other's end.
	tell := func(typ core.EventType, run core.RunID, payload any) {
		b, err := json.Marshal(payload)
		try(t, err)
		m.OnEvent(core.Event{Type: typ, RunID: run, Payload: b})
	}
	tell(core.EventRunAccepted, "r", core.Run{ID: "r", CommandID: "c"})
	tell(core.EventRunSucceeded, "other", core.RunChanged{})
	if _, err := r.Grants.PermitRead(filepath.Join(dir, "a.md")); err != nil {
		t.Errorf("gone with another run: %v", err)
	}
	tell(core.EventRunSucceeded, "r", core.RunChanged{})
	if _, err := r.Grants.PermitRead(filepath.Join(dir, "a.md")); fault.CodeOf(err) != fault.NotGranted {
		t.Errorf("after the run: %v", err)
	}
	// And with a command that came to nothing.
	_, err = m.Complete(t.Context(), named(dir))
	try(t, err)
	r = reached["c"]
	m.Drop("c")
	if _, err := r.Grants.PermitList(dir); fault.CodeOf(err) != fault.NotGranted || len(reached) != 0 {
		t.Errorf("after a drop: %v", err)
	}
}

func TestMaker_TakesTheOpenDocument(t *testing.T) {
	var asked string
	m, reached, dir := maker(t, func(path string) (string, core.Snapshot, bool) {
		asked = path
		return "d1", core.Snapshot{Text: "unsaved", BaseVersion: 7}, true
	})
	p, err := m.Complete(t.Context(), named(dir))
	try(t, err)
	if r := reached["c"]; r.DocumentID != "d1" || r.File != "" || p.Snapshot.Text != "unsaved" || p.Snapshot.BaseVersion != 7 {
		t.Errorf("reach %+v, snapshot %+v", r, p.Snapshot)
	}
	if asked != filepath.Join(dir, "a.md") {
		t.Errorf("looked for %s", asked)
	}
}

// covers: X5 T4 T8
func TestMaker_NothingBecomesMilder(t *testing.T) {
	m, _, dir := maker(t, nil)
	ask := named(dir)
	ask.Policy = core.Policy{core.PermWorkspaceRead: core.VerdictConfirm, core.PermNotesWrite: core.VerdictAllow}
	ask.Budget = core.Budget{Steps: 3, Tokens: 1 << 40}
	ask.AllowedTools = []string{core.ToolReadDocument, core.ToolMathAdd, core.ToolGetOutline}
	p, err := m.Complete(t.Context(), ask)
	try(t, err)
	if v := p.Policy.Verdict(core.ToolWrite, core.PermNotesWrite, false); v != core.VerdictConfirm {
		t.Errorf("writing: %s", v)
	}
	if v := p.Policy.Verdict(core.ToolRead, core.PermWorkspaceRead, false); v != core.VerdictConfirm {
		t.Errorf("reading: %s", v)
	}
	if p.Budget.Steps != 3 || p.Budget.Tokens != 200_000 || p.Budget.ToolMs != core.DefaultBudget().ToolMs {
		t.Errorf("budget %+v", p.Budget)
	}
	if len(p.AllowedTools) != 3 || p.AllowedTools[0] != core.ToolGetOutline {
		t.Errorf("tools %v", p.AllowedTools)
	}
	ask.AllowedTools = []string{}
	if p, err = m.Complete(t.Context(), ask); err != nil || len(p.AllowedTools) != 0 {
		t.Errorf("none: %v, %v", p.AllowedTools, err)
	}
}

func TestMaker_SaysWhatIsNotThere(t *testing.T) {
	m, reached, dir := maker(t, nil)
	try(t, os.WriteFile(filepath.Join(dir, "binary.md"), []byte{0, 1, 2, 0xff, 0xfe, 0}, 0o600))
	for name, c := range map[string]struct {
		edit func(*wire.TaskParams)
		code fault.Code
	}{
		"provider":    {func(p *wire.TaskParams) { p.ModelRef.ProviderID = "nobody" }, fault.NoProvider},
		"no provider": {func(p *wire.TaskParams) { p.ModelRef.ProviderID = "" }, fault.NoProvider},
		"folder":      {func(p *wire.TaskParams) { p.Folder = filepath.Join(dir, "none") }, fault.NotFound},
		"no folder":   {func(p *wire.TaskParams) { p.Folder = p.File }, fault.NotAFile},
		"file":        {func(p *wire.TaskParams) { p.File = filepath.Join(dir, "none.md") }, fault.NotFound},
		"encoding":    {func(p *wire.TaskParams) { p.File = filepath.Join(dir, "binary.md") }, fault.UnsupportedEncoding},
	} {
		p := named(dir)
		c.edit(&p)
		if _, err := m.Complete(t.Context(), p); fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	if len(reached) != 0 || len(m.kept) != 0 {
		t.Errorf("something is kept: %v", reached)
	}
}

func TestRecorded_ReachesTheFolderOfACall(t *testing.T) {
	_, _, dir := maker(t, nil)
	g, err := Recorded(core.Intent{Target: filepath.Join(dir, "new.md")})
	try(t, err)
	defer g.Close()
	if _, err := g.PermitList(dir); err != nil {
		t.Error(err)
	}
	if _, err := Recorded(core.Intent{Target: filepath.Join(dir, "gone", "new.md")}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a folder that went: %v", err)
	}
}

// Whoever may begin a run cannot have the keys read by it, whatever the path is
// called. The samples are documents like others.
//
// covers: H2 K3
func TestMaker_KeepsOutOfTheHome(t *testing.T) {
	m, reached, _ := maker(t, nil)
	home := m.cfg.Settings.Home()
	try(t, os.MkdirAll(home.Sample(), 0o700))
	try(t, os.WriteFile(home.Credentials(), []byte("sk-secret"), 0o600))
	link := filepath.Join(t.TempDir(), "link")
	try(t, os.Symlink(home.Dir, link))
	for _, p := range []wire.TaskParams{
		{File: home.Credentials()}, {Folder: home.Dir}, {File: filepath.Join(link, "credentials.json")}, {Folder: home.Drafts()},
	} {
		p.CommandID, p.ModelRef.ProviderID = "c", "mock"
		if _, err := m.Complete(t.Context(), p); fault.CodeOf(err) != fault.NotGranted || len(reached) != 0 {
			t.Errorf("%s%s: %v", p.Folder, p.File, err)
		}
	}
	p := wire.TaskParams{CommandID: "c", ModelRef: core.ModelRef{ProviderID: "mock"}, Folder: home.Sample()}
	_, err := m.Complete(t.Context(), p)
	try(t, err)
}

// A command that is sent again takes nothing from the run that it began.
//
// covers: R4 H2
func TestMaker_ASecondTimeTakesNothingAway(t *testing.T) {
	m, reached, dir := maker(t, nil)
	_, err := m.Complete(t.Context(), named(dir))
	try(t, err)
	first := reached["c"]
	b, err := json.Marshal(core.Run{ID: "r", CommandID: "c"})
	try(t, err)
	m.OnEvent(core.Event{Type: core.EventRunAccepted, RunID: "r", Payload: b})
	_, err = m.Complete(t.Context(), named(dir))
	try(t, err)
	m.Drop("c") // the document has changed since: the Runner says command_conflict
	if _, err := first.Grants.PermitList(dir); err != nil || len(reached) != 1 {
		t.Errorf("the run may reach %d, %v", len(reached), err)
	}
	m.OnEvent(core.Event{Type: core.EventRunSucceeded, RunID: "r"})
	if _, err := first.Grants.PermitList(dir); fault.CodeOf(err) != fault.NotGranted {
		t.Errorf("after the run: %v", err)
	}
}
