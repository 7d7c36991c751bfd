package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"galley/backend/agent/core"
	"galley/backend/agent/task"
	"galley/backend/credential"
	"galley/backend/fault"
	"galley/backend/network"
	"galley/backend/settings"
)

// ring is a keyring in memory.
type ring struct {
	mu    sync.Mutex
	items map[string][]byte
}

func (r *ring) Name(context.Context) (string, error) { return "Test Keyring", nil }

func (r *ring) Set(_ context.Context, item string, data []byte) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.items == nil {
		r.items = map[string][]byte{}
	}
	r.items[item] = bytes.Clone(data)
	return "Test Keyring", nil
}

func (r *ring) Get(_ context.Context, item string) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	data, ok := r.items[item]
	if !ok {
		return nil, credential.ErrNoItem
	}
	return bytes.Clone(data), nil
}

func (r *ring) Remove(_ context.Context, item string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.items, item)
	return nil
}

func (r *ring) Close() {}

// traces reports whether data holds the planted key or what gives it away.
func traces(data []byte) bool {
	for _, form := range []string{
		planted, planted[len(planted)-10:], planted[:12], strings.ToLower(planted), hex.EncodeToString([]byte(planted)),
		base64.StdEncoding.EncodeToString([]byte(planted))[:20],
	} {
		if bytes.Contains(data, []byte(form)) {
			return true
		}
	}
	return false
}

// keyState is what the page sees of a provider's key.
func keyState(t *testing.T, s SettingsState, id string) KeyState {
	t.Helper()
	for _, p := range s.Providers {
		if p.ID == id {
			return p.Key
		}
	}
	t.Fatalf("provider %q is not there", id)
	return KeyState{}
}

// A key is planted, used, quoted back by a provider that refuses it, passed in
// the wrong place and in a call that panics. It is then looked for in all that
// the page got, in the log, the database and every other file of the program,
// and in arguments and environment of the child.
//
// covers: K4 C15
func TestKey_IsInItsPlaceAlone(t *testing.T) {
	for _, place := range []credential.Place{credential.Memory, credential.File, credential.Keyring} {
		t.Run(string(place), func(t *testing.T) { plantKey(t, place) })
	}
}

func plantKey(t *testing.T, place credential.Place) {
	// A key that a person keeps for other programs is not the child's either.
	t.Setenv("OPENAI_API_KEY", planted)
	keyring := &ring{}
	var chosen credential.Ring = keyring
	if place == credential.File {
		chosen = noRing{} // with a keyring it would be offered to move there
	}
	home := newHome(t)
	panics := false
	w := &writing{text: sampleText, window: makeWindow(t, home, func(c *Config) {
		c.Ring = chosen
		relabel := c.Relabel
		c.Relabel = func(l []MenuLabel) {
			if panics {
				panic("no menu for " + l[0].Label)
			}
			relabel(l)
		}
	})}
	w.path = filepath.Join(w.folder(map[string]string{"notes.md": sampleBytes}), "notes.md")
	w.number = w.page()
	w.backend.Start()
	w.doc = ask[Document](w.window, "Documents.Open", w.path)
	child := w.ready()
	e := newEndpoint(t, says(passage+" Once more."))
	id := e.configured(w.window)

	// Stored, and told without it.
	w.mark()
	got := ask[SettingsState](w.window, "Settings.SetKey", SetKeyRequest{ProviderID: id, Key: " " + planted + "\n", Place: string(place)})
	if key := keyState(t, got, id); key.Place != string(place) || key.StoredAtMs == 0 || (key.Keyring != "") != (place == credential.Keyring) {
		t.Errorf("stored: %+v", key)
	}
	if d := cmp.Diff(got, await[SettingsState](w.window, "settings.changed", nil)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(got, ask[SettingsState](w.window, "Settings.Get")); d != "" {
		t.Error(d)
	}

	// Used.
	if res := ask[TestResult](w.window, "Settings.TestProvider", id); len(res.Models) != 2 || res.Models[0].ID != "small" || res.Models[1].ID != "large" {
		t.Errorf("tested: %+v", res)
	}
	req := w.selected("c1", passage, "say it once more")
	req.ProviderID = id
	if end := w.ended(w.submit(req).RunID); end.State != core.RunSucceeded {
		t.Errorf("ended %+v", end)
	}
	used := e.seen()
	if len(used) < 3 || slices.ContainsFunc(used, func(k string) bool { return k != "Bearer "+planted }) {
		t.Errorf("the provider got %q", used)
	}

	// Quoted back by the provider.
	for i, f := range []struct {
		status int
		body   string
		want   fault.Code
	}{
		{http.StatusUnauthorized, `{"error":{"message":"Incorrect API key provided: KEY. Find yours.","code":"invalid_api_key"}}`, fault.BadKey},
		{http.StatusBadRequest, `{"error":{"message":"header Authorization: Bearer KEY is odd"}}`, fault.BadRequest},
		{http.StatusForbidden, `{"error":{"message":"KEY may not"}}`, fault.NoPermission},
		{http.StatusForbidden, "<html>KEY</html>", fault.NotAnAPI},
	} {
		e.answers(fails(f.status, f.body))
		w.refused(f.want, "Settings.TestProvider", id)
		req.CommandID = "f" + string(rune('0'+i))
		if end := w.ended(w.submit(req).RunID); end.Fault == nil || end.Fault.Code != string(f.want) {
			t.Errorf("%d: ended %+v", f.status, end)
		}
	}

	// In the wrong place.
	misplace(w.window)
	w.refused(fault.KeyMalformed, "Settings.SetKey", SetKeyRequest{ProviderID: id, Key: planted + "\u00a0x", Place: string(place)})
	w.refused(fault.KeyMalformed, "Settings.SetKey", SetKeyRequest{ProviderID: id, Key: planted + "é", Place: string(place)})
	w.refused(fault.InvalidInput, "Settings.SetKey", SetKeyRequest{ProviderID: id, Key: "x", Place: planted})
	w.refused(fault.NoProvider, "Settings.SetKey", SetKeyRequest{ProviderID: planted, Key: planted, Place: string(place)})
	w.refused(fault.InvalidInput, "Settings.SetKey", SetKeyRequest{ProviderID: settings.Mock().ID, Key: planted, Place: string(place)})
	for _, address := range []string{"https://a.invalid/v1?key=" + planted, "https://" + planted + "@a.invalid/", planted} {
		w.refused(fault.InvalidInput, "Settings.SaveProvider", settings.Provider{Name: "x", Kind: settings.KindOpenAIChat, BaseURL: address})
	}
	w.refused(fault.InvalidInput, "Settings.Update", settings.Settings{Theme: planted})
	w.refused(fault.InvalidInput, "Workspace.OpenLink", "javascript:"+planted)
	w.refused(fault.InvalidInput, "Agent.SubmitRewrite", RewriteRequest{CommandID: "k", Preset: planted, ProviderID: id, DocumentID: w.doc.ID})
	panics = true
	w.refused(fault.Internal, "Settings.SetMenu", []MenuLabel{{ID: "x", Label: planted}})
	panics = false
	if key := keyState(t, ask[SettingsState](w.window, "Settings.Get"), id); key.Place != string(place) {
		t.Errorf("after all that: %+v", key)
	}

	// In the send log, whose bodies lie compressed in the database.
	log := ask[SendPage](w.window, "Settings.Sends", 0, 200)
	if log.Count != len(log.Sends) || log.Count < 12 {
		t.Errorf("%d of %d entries of the send log", len(log.Sends), log.Count)
	}
	for _, n := range log.Sends {
		ask[SendBody](w.window, "Settings.Send", n.ID, 0) // the page's wire is looked at below
	}

	noKeyInProcess(t, child.PID)
	w.close()
	w.note(func() {
		for _, s := range w.wire {
			if traces([]byte(s)) {
				t.Errorf("the page got %s", s)
			}
		}
	})
	holders := keyHolders(t, home.Dir)
	want := []string(nil)
	if place == credential.File {
		want = []string{"credentials.json"}
		if info, err := os.Stat(home.Credentials()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if !slices.Equal(holders, want) {
		t.Errorf("the key is in %q", holders)
	}
	if log := w.logged(); !strings.Contains(log, "bound call panicked") || !strings.Contains(log, "runner ready") {
		t.Error("the log was not looked at")
	}

	// The next start finds it where it outlives the program.
	next := makeWindow(t, home, func(c *Config) { c.Ring = chosen })
	after := place
	if place == credential.Memory {
		after = credential.None
	}
	if key := keyState(t, ask[SettingsState](next, "Settings.Get"), id); key.Place != string(after) {
		t.Errorf("at the next start: %+v", key)
	}
	ask[SettingsState](next, "Settings.DeleteProvider", id)
	if holders := keyHolders(t, home.Dir); len(holders) > 0 || len(keyring.items) > 0 {
		t.Errorf("deleted and still in %q, %d in the keyring", holders, len(keyring.items))
	}
}

// misplace puts the planted key where another type is wanted, into every
// parameter of every method, as the page's JSON.
func misplace(w *window) {
	w.t.Helper()
	wrong := 0
	for _, s := range bound() {
		for m := range s.Methods() {
			for i := 1; i < m.Type.NumIn(); i++ {
				for _, arg := range misfits(m.Type.In(i)) {
					err := json.Unmarshal(arg, reflect.New(m.Type.In(i)).Interface())
					if err == nil {
						w.t.Errorf("%s.%s took %s", s, m.Name, arg)
						continue
					}
					wrong++
					w.note(func() { w.wire = append(w.wire, err.Error()) })
				}
			}
		}
	}
	if wrong < 40 {
		w.t.Errorf("only %d arguments were wrong", wrong)
	}
}

// misfits returns JSON that holds the key and does not fit a type.
func misfits(typ reflect.Type) []json.RawMessage {
	key := json.RawMessage(`"` + planted + `"`)
	switch typ.Kind() {
	case reflect.String:
		return []json.RawMessage{json.RawMessage(`["` + planted + `"]`), json.RawMessage(`{"key":"` + planted + `"}`), json.RawMessage(planted)}
	case reflect.Struct:
		list := []json.RawMessage{key}
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			for _, inner := range misfits(f.Type) {
				list = append(list, json.RawMessage(`{"`+name+`":`+string(inner)+`}`))
			}
		}
		return list
	case reflect.Slice:
		list := []json.RawMessage{key}
		for _, inner := range misfits(typ.Elem()) {
			list = append(list, json.RawMessage(`[`+string(inner)+`]`))
		}
		return list
	}
	return []json.RawMessage{key}
}

// keyHolders lists the files in a folder that hold the planted key.
func keyHolders(t *testing.T, dir string) []string {
	t.Helper()
	var holders []string
	files := 0
	try(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if traces(data) || traces([]byte(rel)) {
			holders = append(holders, filepath.ToSlash(rel))
		}
		return err
	}))
	if files < 2 {
		t.Errorf("only %d files were looked at", files)
	}
	return holders
}

// Without a keyring nothing is stored, and nothing is written before the person
// chose another place, whose path they are told.
//
// covers: K5 C14
func TestKey_WithoutAKeyring(t *testing.T) {
	w := newWindow(t) // has none
	e := newEndpoint(t, says("OK"))
	id := e.configured(w)
	before := files(t, w.home.Dir)
	w.mark()
	if body := w.refused(fault.KeyringMissing, "Settings.SetKey", SetKeyRequest{ProviderID: id, Key: planted, Place: "keyring"}); body.Detail == "" {
		t.Error("it is not said what was looked for")
	}
	got := keyState(t, ask[SettingsState](w, "Settings.Get"), id)
	if got.Place != "none" || got.StoredAtMs != 0 || got.Path != w.home.Credentials() {
		t.Errorf("told %+v", got)
	}
	if after := files(t, w.home.Dir); !slices.Equal(before, after) {
		t.Errorf("files before %q, after %q", before, after)
	}
	for _, place := range []string{"", "none", "File", "cloud"} {
		w.refused(fault.InvalidInput, "Settings.SetKey", SetKeyRequest{ProviderID: id, Key: planted, Place: place})
	}
	w.refused(fault.KeyMalformed, "Settings.SetKey", SetKeyRequest{ProviderID: id, Key: " ", Place: "file"})
	if holders := keyHolders(t, w.home.Dir); len(holders) > 0 {
		t.Errorf("the key is in %q", holders)
	}
	w.mark()
	list, _ := w.sent()
	if i := slices.IndexFunc(list, func(m message) bool { return m.Type == "settings.changed" }); i >= 0 {
		t.Errorf("told of a change: %s", list[i].Payload)
	}

	ask[SettingsState](w, "Settings.SetKey", SetKeyRequest{ProviderID: id, Key: planted, Place: "file"})
	if holders := keyHolders(t, w.home.Dir); !slices.Equal(holders, []string{"credentials.json"}) {
		t.Errorf("the key is in %q", holders)
	}
	// Moved to another place, it is in that one alone.
	ask[SettingsState](w, "Settings.SetKey", SetKeyRequest{ProviderID: id, Key: planted, Place: "memory"})
	if holders := keyHolders(t, w.home.Dir); len(holders) > 0 {
		t.Errorf("the key is in %q", holders)
	}
	if got := keyState(t, ask[SettingsState](w, "Settings.DeleteKey", id), id); got.Place != "none" {
		t.Errorf("deleted: %+v", got)
	}
}

// A file that cannot be written is no key stored.
//
// covers: K5
func TestKey_FileThatCannotBeWritten(t *testing.T) {
	w := newWindow(t)
	id := newEndpoint(t, says("OK")).configured(w)
	try(t, os.MkdirAll(filepath.Join(w.home.Credentials(), "x"), 0o700))
	answer, err := w.invoke("Settings.SetKey", encode(t, []any{SetKeyRequest{ProviderID: id, Key: planted, Place: "file"}}))
	if err == nil {
		t.Errorf("answered %s", answer)
	}
	if got := keyState(t, ask[SettingsState](w, "Settings.Get"), id); got.Place != "none" {
		t.Errorf("told %+v", got)
	}
	if holders := keyHolders(t, w.home.Dir); len(holders) > 0 {
		t.Errorf("the key is in %q", holders)
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	try(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		// The Runner's database makes and removes files as it runs.
		if !strings.HasPrefix(d.Name(), "runs.db") {
			all = append(all, path)
		}
		return err
	}))
	return all
}

// The host's callback gives a key to nobody who names no provider.
func TestKey_ForTheRunner(t *testing.T) {
	home := settings.Home{Dir: t.TempDir()}
	store, err := settings.Load(settings.Config{Home: home})
	try(t, err)
	keys := credential.New(credential.Config{KeysFile: home.Keys(), PlainFile: home.Credentials(), Ring: noRing{}})
	t.Cleanup(keys.Close)
	save := func(name, url string) string {
		p, err := store.SaveProvider(settings.Provider{Name: name, Kind: settings.KindOpenAIChat, BaseURL: url, Profile: "compatible"})
		try(t, err)
		return p.ID
	}
	local, far, cut := save("local", "http://127.0.0.1:1/v1"), save("far", "https://a.example.invalid/v1"), save("cut", "https://b.example.invalid/v1")
	secret, err := credential.NewSecret(planted)
	try(t, err)
	try(t, keys.Set(t.Context(), far, secret, credential.Memory))
	for _, c := range []struct {
		ref  string
		want string
		code fault.Code
	}{
		{far, planted, ""},
		{local, "", ""},
		{cut, "", fault.NoKey},
		{"none", "", fault.NoProvider},
		{"", "", fault.NoProvider},
		{"../far", "", fault.NoProvider},
	} {
		got, err := task.Key(t.Context(), store, network.New(network.Config{}), keys, c.ref)
		if got != c.want || fault.CodeOf(err) != c.code {
			t.Errorf("%q: %q, %v", c.ref, got, err)
		}
	}
	// A key that cannot be read is not taken for none.
	try(t, os.WriteFile(home.Credentials(), []byte("broken "+planted), 0o600))
	_, err = task.Key(t.Context(), store, network.New(network.Config{}), keys, local)
	if fault.CodeOf(err) != fault.Internal || strings.Contains(err.Error(), planted) {
		t.Errorf("got %v", err)
	}
	if errors.Is(err, &fault.Error{Code: fault.NoKey}) {
		t.Error("told that there is none")
	}
}
