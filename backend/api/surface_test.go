package api

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/agent/host"
	"galley/backend/credential"
	"galley/backend/fault"
	"galley/backend/settings"
	"galley/backend/text"
)

// bound lists the services, as Wails sees them.
func bound() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[*Documents](), reflect.TypeFor[*Workspace](), reflect.TypeFor[*Agent](), reflect.TypeFor[*Settings](),
	}
}

// signature is a method without its receiver.
func signature(service reflect.Type, m reflect.Method) string {
	var in, out []string
	for i := 1; i < m.Type.NumIn(); i++ {
		in = append(in, m.Type.In(i).String())
	}
	for o := range m.Type.Outs() {
		out = append(out, o.String())
	}
	ret := strings.Join(out, ", ")
	if len(out) > 1 {
		ret = "(" + ret + ")"
	}
	return fmt.Sprintf("%s.%s(%s) %s", service.Elem().Name(), m.Name, strings.Join(in, ", "), ret)
}

// TestSurface compares all that the page can call with testdata/surface.golden,
// so that the surface never grows unseen.
//
// covers: X5
func TestSurface(t *testing.T) {
	var b strings.Builder
	for _, s := range bound() {
		for m := range s.Methods() {
			b.WriteString(signature(s, m) + "\n")
			if n := m.Type.NumOut(); n == 0 || n > 2 || m.Type.Out(n-1) != reflect.TypeFor[error]() {
				t.Errorf("%s.%s cannot be told apart from its failure", s, m.Name)
			}
		}
	}
	golden := filepath.Join("testdata", "surface.golden")
	if *update {
		try(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	if d := cmp.Diff(content(t, golden), b.String()); d != "" {
		t.Errorf("the surface changed; if that is meant: go test ./backend/api -run Surface -update\n%s", d)
	}
}

// The window binds what Bound returns, and nothing else has methods for the
// page.
func TestSurface_IsWhatIsBound(t *testing.T) {
	var got []reflect.Type
	for _, s := range newWindow(t).backend.Bound() {
		got = append(got, reflect.TypeOf(s))
	}
	if !slices.Equal(got, bound()) {
		t.Errorf("bound: %v", got)
	}
}

// crossing returns every type that crosses the boundary, with the way it is
// reached.
func crossing(t *testing.T) map[reflect.Type]string {
	t.Helper()
	found := map[reflect.Type]string{}
	var visit func(at string, typ reflect.Type)
	visit = func(at string, typ reflect.Type) {
		if _, seen := found[typ]; seen {
			return
		}
		found[typ] = at
		if typ == reflect.TypeFor[json.RawMessage]() {
			return
		}
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
			visit(at+"[]", typ.Elem())
		case reflect.Struct:
			for f := range typ.Fields() {
				if f.Tag.Get("json") != "-" {
					visit(typ.String()+"."+f.Name, f.Type)
				}
			}
		}
	}
	for _, s := range bound() {
		for m := range s.Methods() {
			at := s.Elem().Name() + "." + m.Name
			for i := 1; i < m.Type.NumIn(); i++ {
				visit(at, m.Type.In(i))
			}
			if m.Type.NumOut() == 2 {
				visit(at, m.Type.Out(0))
			}
		}
	}
	for _, row := range Events() {
		visit("event "+row.Type, row.Payload)
	}
	visit("events", reflect.TypeFor[Envelope]())
	visit("failures", reflect.TypeFor[FaultBody]())
	if len(found) < 30 {
		t.Fatalf("only %d types found", len(found))
	}
	return found
}

// Everything that crosses is plain data: JSON names in camelCase, times in ms
// as int64 …AtMs, nothing whose shape the page cannot know.
func TestSurface_IsPlainData(t *testing.T) {
	camel := regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)
	counters := []string{
		"n", "seq", "page", "cursor", "bytes", "next",
		"id", "sentBytes", "receivedBytes", "keptBytes", "nextOffset", // of the send log, whose ids are counted
	}
	// The page decodes these by the type beside them: the tool, the event.
	shapeless := []string{"core.Part.Input", "core.ToolCall.Input", "api.EventRecord.Payload"}
	for typ, at := range crossing(t) {
		switch typ.Kind() {
		case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64, reflect.Slice, reflect.Struct:
		case reflect.Pointer:
			if typ.Elem().Kind() != reflect.Struct {
				t.Errorf("%s: %s", at, typ)
			}
		default:
			t.Errorf("%s: a %s cannot cross", at, typ)
		}
		if typ.PkgPath() == "time" {
			t.Errorf("%s: %s", at, typ)
		}
		if typ.Kind() != reflect.Struct {
			continue
		}
		for f := range typ.Fields() {
			where := typ.String() + "." + f.Name
			if f.Anonymous || f.Tag.Get("json") == "-" {
				continue
			}
			name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case !f.IsExported():
				t.Errorf("%s is not exported", where)
			case !camel.MatchString(name):
				t.Errorf("%s is called %q", where, name)
			case strings.HasSuffix(name, "At"), strings.HasSuffix(name, "Time"):
				t.Errorf("%s: a time is …AtMs", where)
			case strings.HasSuffix(name, "AtMs") && f.Type.Kind() != reflect.Int64:
				t.Errorf("%s is a time and no int64", where)
			case f.Type.Kind() == reflect.Int64 && !strings.HasSuffix(name, "Ms") && !slices.Contains(counters, name):
				t.Errorf("%s is an int64 and neither a time nor a counter", where)
			case f.Type.Kind() == reflect.Pointer && option != "omitempty":
				t.Errorf("%s can be null", where)
			}
			if f.Type == reflect.TypeFor[json.RawMessage]() && !slices.Contains(shapeless, where) {
				t.Errorf("%s has no shape", where)
			}
		}
	}
}

// No call returns a key, and no event has one: nothing of package credential
// crosses the boundary (K4).
//
// covers: K4
func TestSurface_HoldsNoSecret(t *testing.T) {
	home := reflect.TypeFor[credential.Secret]().PkgPath()
	for typ, at := range crossing(t) {
		if typ.PkgPath() == home {
			t.Errorf("%s: %s", at, typ)
		}
	}
	// The one field for a key is on the way in.
	for typ, at := range crossing(t) {
		if typ.Kind() != reflect.Struct {
			continue
		}
		for f := range typ.Fields() {
			name := strings.ToLower(f.Name)
			if (name == "key" || strings.Contains(name, "secret") || strings.Contains(name, "token") && f.Type.Kind() == reflect.String) &&
				f.Type.Kind() == reflect.String && typ != reflect.TypeFor[SetKeyRequest]() && typ != reflect.TypeFor[MenuLabel]() {
				t.Errorf("%s: %s.%s", at, typ, f.Name)
			}
		}
	}
	for _, s := range bound() {
		for m := range s.Methods() {
			if m.Type.NumOut() == 2 && m.Type.Out(0) == reflect.TypeFor[SetKeyRequest]() {
				t.Errorf("%s gives back what it takes", m.Name)
			}
		}
	}
}

func TestEvents_AreWhole(t *testing.T) {
	rows := map[string]EventRow{}
	for _, row := range Events() {
		if _, twice := rows[row.Type]; twice {
			t.Errorf("%s is there twice", row.Type)
		}
		rows[row.Type] = row
		if !regexp.MustCompile(`^[a-z_]+(\.[a-z_]+)?$`).MatchString(row.Type) {
			t.Errorf("%q is no name", row.Type)
		}
		if row.Payload == nil || row.Payload.Kind() != reflect.Struct {
			t.Errorf("%s has the payload %v", row.Type, row.Payload)
		}
		if row.Audience == (Audience{}) || !row.Audience.Page {
			t.Errorf("%s reaches nobody here: %+v", row.Type, row.Audience)
		}
		if row.Audience.Model && !row.Audience.Archive {
			t.Errorf("%s is told to a model and not kept", row.Type)
		}
	}
	published := publishable(t)
	for name, payload := range published {
		row, ok := rows[name]
		if !ok {
			t.Errorf("%s can be published and has no row", name)
			continue
		}
		if got := row.Payload.Name(); got != payload {
			t.Errorf("%s: the payload is %s here and %s in core", name, got, payload)
		}
		if !row.Audience.Archive {
			t.Errorf("%s is committed and not for the archive", name)
		}
	}
	for name, row := range rows {
		if _, ok := published[name]; !ok && row.Audience.Archive {
			t.Errorf("%s is for the archive and nobody commits it", name)
		}
	}
}

// publishable returns the committed events that there are, with the names of
// their payloads.
func publishable(t *testing.T) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../agent/core/event.go", nil, parser.ParseComments)
	try(t, err)
	found := map[string]string{}
	for _, d := range f.Decls {
		consts, ok := d.(*ast.GenDecl)
		if !ok || consts.Tok != token.CONST {
			continue
		}
		for _, s := range consts.Specs {
			v := s.(*ast.ValueSpec)
			if id, ok := v.Type.(*ast.Ident); !ok || id.Name != "EventType" {
				continue
			}
			name := strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`)
			found[name] = strings.TrimSpace(v.Comment.Text())
		}
	}
	if len(found) < 20 {
		t.Fatalf("only %d events found in core", len(found))
	}
	return found
}

// Every call is made once on a new home, where there is least to answer with.
// invoke fails on a null.
func TestSurface_AnswersHoldNoNull(t *testing.T) {
	w := openWindow(t, newHome(t))
	w.ready()
	called := map[string]bool{}
	call := func(method string, args ...any) json.RawMessage {
		t.Helper()
		called[method] = true
		answer, err := w.invoke(method, encode(t, args))
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		return answer
	}
	refuse := func(code fault.Code, method string, args ...any) {
		t.Helper()
		called[method] = true
		w.refused(code, method, args...)
	}

	call("Workspace.Current")
	call("Workspace.OpenDialog") // cancelled
	call("Documents.OpenDialog") // cancelled
	call("Agent.Attach", 0)
	call("Agent.RestartRunner")
	await(w, "runner.changed", func(_ Envelope, r RunnerState) bool { return r.Status == string(host.Ready) && r.Restarts == 1 })
	call("Settings.Get")
	call("Settings.Update", settings.Default())
	call("Settings.SetMenu", []MenuLabel{})
	call("Documents.Attach")
	page := w.page()

	var d Document
	try(t, json.Unmarshal(call("Documents.New"), &d))
	call("Documents.SetCurrent", page, d.ID)
	call("Documents.Sync", SyncRequest{Page: page, ID: d.ID, FromVersion: 1})
	refuse(fault.Cancelled, "Documents.SaveAs", saving(page, d.ID, 1, ""))
	refuse(fault.InvalidInput, "Documents.Save", saving(page, d.ID, 1, ""))
	refuse(fault.InvalidInput, "Documents.Reload", page, d.ID)
	call("Documents.Close", page, d.ID, false)

	dir := t.TempDir()
	w.chooseFolder = dir
	call("Workspace.OpenDialog")
	call("Workspace.List", dir)
	write(t, filepath.Join(dir, "empty.md"), "")
	try(t, json.Unmarshal(call("Documents.Open", filepath.Join(dir, "empty.md")), &d))
	call("Documents.Save", saving(page, d.ID, 1, ""))
	call("Documents.Reload", page, d.ID)
	call("Documents.Compare", page, d.ID)
	call("Documents.History", d.ID)
	w.chooseSave = filepath.Join(dir, "other.md")
	call("Documents.SaveAs", saving(page, d.ID, 2, ""))
	call("Documents.Attach")
	page = w.page()
	refuse(fault.NotFound, "Documents.RestoreDraft", page, "none")
	refuse(fault.NotFound, "Documents.DiscardDraft", page, "none")
	call("Workspace.OpenLink", "https://example.invalid/")
	call("Workspace.OpenSample")

	p := settings.Provider{Name: "Local", Kind: settings.KindOpenAIChat, BaseURL: "http://127.0.0.1:9/v1"}
	call("Settings.SaveProvider", p)
	call("Settings.SetKey", SetKeyRequest{ProviderID: "local", Key: "k", Place: "memory"})
	call("Settings.DuplicateProvider", "local", "Twin")
	call("Settings.MoveProvider", "twin", 0)
	call("Settings.MoveKeys") // none lies in plain text
	call("Settings.DeleteKey", "local")
	call("Settings.DeleteProvider", "local")
	call("Settings.TestProvider", settings.Mock().ID)
	call("Settings.Models", settings.Mock().ID)
	call("Settings.Model", settings.Mock().ID, "mock-1", true)
	call("Settings.StopTest", settings.Mock().ID)
	call("Settings.ForgetModel", settings.Mock().ID, "mock-1")
	call("Settings.Sends", 0, 50)
	refuse(fault.NotFound, "Settings.Send", 1, 0)
	call("Settings.ClearSends", 0)
	call("Settings.Network", "")
	call("Settings.Network", settings.Mock().ID)
	refuse(fault.Cancelled, "Settings.ChooseCAFile")
	refuse(fault.InvalidInput, "Settings.SetProxyPassword", SetKeyRequest{Key: "k", Place: "memory"})
	call("Settings.DeleteProxyPassword")

	refuse(fault.InvalidInput, "Agent.SubmitRewrite", RewriteRequest{})
	refuse(fault.NotFound, "Agent.Cancel", CancelRequest{CommandID: "c", RunID: "none"})
	refuse(fault.NotFound, "Agent.Decide", DecideRequest{
		CommandID: "c2", ProposalID: "none", Hunks: []core.HunkDecision{{ID: "1", Outcome: core.HunkAccepted}},
	})
	refuse(fault.NotFound, "Agent.Proposal", "none")
	refuse(fault.InvalidInput, "Agent.SubmitMessage", MessageRequest{})
	refuse(fault.NotFound, "Agent.ContinueRun", ContinueRequest{CommandID: "c3", RunID: "none", ProviderID: settings.Mock().ID})
	refuse(fault.NotFound, "Agent.DecideApproval", ApprovalRequest{CommandID: "c4", ApprovalID: "none", ToolCallID: "none", InputDigest: text.Digest(""), Decision: "deny"})
	refuse(fault.NotFound, "Agent.ReconcileCall", ReconcileRequest{CommandID: "c5", ToolCallID: "none", Verdict: "absent"})
	refuse(fault.NotFound, "Agent.ChangeSession", SessionChange{CommandID: "c6", SessionID: "none", Title: "x"})
	refuse(fault.NotFound, "Agent.DeleteSession", SessionRemoval{CommandID: "c7", SessionID: "none"})
	call("Agent.ArchivedSessions")
	refuse(fault.NotFound, "Agent.SessionEvents", "none", 0)
	refuse(fault.NotFound, "Agent.RunDetail", "none")
	refuse(fault.NotFound, "Agent.ToolCall", "none")
	refuse(fault.NotFound, "Agent.MessageText", "none", "none")
	refuse(fault.NotFound, "Agent.ExplainContext", "none")
	refuse(fault.NotFound, "Agent.ArtifactText", "none", 0)
	call("Documents.AcknowledgeClose", page)
	call("Documents.ReportView", ViewReport{Page: page, Views: []DocumentView{}})
	call("Documents.OpenRecent", filepath.Join(dir, "other.md"))
	call("Workspace.QuickOpen", QuickOpenRequest{})
	call("Workspace.Search", SearchRequest{ID: "1", Query: "x"})
	await(w, "search.ended", func(_ Envelope, e SearchEnded) bool { return e.ID == "1" })
	call("Workspace.CancelSearch", "1")
	var set ReviewedSet
	try(t, json.Unmarshal(call("Workspace.PreviewReplace", ReplaceRequest{Search: SearchRequest{ID: "2", Query: "x"}}), &set))
	refuse(fault.NoChange, "Workspace.ApplySet", ApplySetRequest{Page: page, ID: set.ID})
	refuse(fault.InvalidInput, "Workspace.UndoSet", page, set.ID)
	call("Workspace.DropSet", set.ID)
	call("Workspace.Recent")
	call("Workspace.OpenRecent", dir)
	call("Workspace.Create", CreateRequest{Folder: dir, Name: "made.md"})
	call("Workspace.Move", MoveRequest{From: filepath.Join(dir, "made.md"), To: filepath.Join(dir, "moved.md")})
	call("Workspace.Duplicate", filepath.Join(dir, "moved.md"))
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	call("Workspace.Trash", filepath.Join(dir, "moved.md"))
	refuse(fault.NotFound, "Workspace.Reveal", filepath.Join(dir, "moved.md"))
	call("Workspace.Refresh")
	call("Workspace.ForgetRecent")
	call("Documents.Quit", page, true)

	for _, s := range bound() {
		for m := range s.Methods() {
			if name := s.Elem().Name() + "." + m.Name; !called[name] {
				t.Errorf("%s was not called", name)
			}
		}
	}
}
