package api

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/task"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/network"
	"galley/backend/settings"
)

// envPlanted says that this test runs in a desktop of its own, with a keyring.
const envPlanted = "GALLEY_API_PLANTED"

// TestKeyring_PlantedSecrets plants a key and a proxy's password into a real
// keyring and has them used through every door of the program, by providers and
// a proxy that quote them in every failure. They are then looked for in all that
// came out of any door, in every file that was written, and in the arguments and
// environments of the processes: they are in the keyring alone.
//
// covers: K4 K9 C15
func TestKeyring_PlantedSecrets(t *testing.T) {
	if os.Getenv(envPlanted) != "" {
		plantEverywhere(t)
		return
	}
	d := newDesktop(t).withBus().withKeyring()
	tmp := filepath.Join(d.dir, "tmp")
	try(t, os.Mkdir(tmp, 0o700))
	program, err := os.Executable()
	try(t, err)
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestKeyring_PlantedSecrets$", "-test.v", "-test.timeout=10m")
	cmd.Env = append(d.env, envPlanted+"=1", "TMPDIR="+tmp)
	cmd.Dir, err = os.Getwd()
	try(t, err)
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if _, said, ok := strings.Cut(line, "planted: "); ok {
			t.Log("planted: " + strings.TrimSpace(said))
		}
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for what := range secretForms() {
		if strings.Contains(string(out), what) {
			t.Errorf("the output of the test holds it")
		}
	}
	// Nothing of it is left anywhere in the session but in the keyring, which
	// is encrypted where it lies.
	files := 0
	for _, dir := range []string{d.dir, runtimeOf(d)} {
		n, holders := secretHolders(t, dir)
		files += n
		if len(holders) > 0 {
			t.Errorf("in files of the session: %q", holders)
		}
	}
	password, err := task.ProxyPassword(plantedPassword)
	try(t, err)
	keys, passwords, all := d.inKeyring(), d.itemsWith(password.Reveal()), len(d.items())
	if keys != 4 || passwords != 1 || all != 5 {
		t.Errorf("of %d items of the keyring %d hold the key and %d the password", all, keys, passwords)
	}
	t.Logf("planted: %d files of the session hold neither; of %d items of the keyring %d hold the key and %d the password", files, all, keys, passwords)
}

func runtimeOf(d *desktop) string {
	for _, kv := range d.env {
		if dir, ok := strings.CutPrefix(kv, "XDG_RUNTIME_DIR="); ok {
			return dir
		}
	}
	d.t.Fatal("no runtime folder")
	return ""
}

// secretForms are what gives the planted key or password away, by form.
func secretForms() map[string]string {
	forms := map[string]string{}
	for name, s := range map[string]string{"key": planted, "password": plantedPassword, "login": leakyUser + ":" + plantedPassword} {
		for form, text := range map[string]string{
			"plain": s, "lower case": strings.ToLower(s), "hex": hex.EncodeToString([]byte(s)), "query": url.QueryEscape(s), "path": url.PathEscape(s),
			"ascii": strings.Trim(strconv.QuoteToASCII(s), `"`), "end": s[len(s)-10:], "begin": s[:12],
		} {
			forms[text] = name + " " + form
		}
		for off := range 3 {
			padded := append(make([]byte, off), s...)
			body := base64.RawStdEncoding.EncodeToString(padded)
			forms[body[(off*8+5)/6:len(padded)*8/6]] = name + " base64"
		}
	}
	return forms
}

// betrays names the form in which data holds a planted secret; "" for none.
func betrays(data []byte) string {
	for form, name := range secretForms() {
		if bytes.Contains(data, []byte(form)) {
			return name
		}
	}
	return ""
}

// secretHolders counts the files of a folder and lists those that hold a planted
// secret, in their content or their name.
func secretHolders(t *testing.T, dir string) (files int, holders []string) {
	t.Helper()
	try(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // it was temporary
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil
		}
		files++
		if form := betrays(append(data, path...)); form != "" {
			holders = append(holders, path+": "+form)
		}
		return err
	}))
	return files, holders
}

// planting is the test in its desktop.
type planting struct {
	*writing
	l   *leaky
	ids []string
	// heard is what came out of doors other than the page, by door.
	heard map[string][]byte
}

func plantEverywhere(t *testing.T) {
	p := &planting{l: newLeaky(t), heard: map[string][]byte{}}
	home := settings.Home{Dir: filepath.Join(os.Getenv("HOME"), "home")}
	w := makeWindow(t, home, func(c *Config) {
		c.Ring = nil // the system's
		c.Network = network.Config{Getenv: func(string) string { return "" }}
		c.Relabel = func(l []MenuLabel) { panic("no menu for " + l[0].Label) }
	})
	p.writing = &writing{window: w, text: sampleText}
	p.path = filepath.Join(p.folder(map[string]string{"notes.md": sampleBytes}), "notes.md")
	p.number = p.page()
	w.backend.Start()
	p.doc = ask[Document](w, "Documents.Open", p.path)
	child := w.ready()

	p.configure()
	p.use()
	p.failInEveryWay()
	p.misplaceAll()
	p.socket(home)
	p.commandThroughWindow(home)
	p.crash(child)
	p.look()
	w.close()
	p.commandAlone(home)
	p.judge(home)
}

// configure stores the key for each dialect and the proxy's password, in the
// keyring.
func (p *planting) configure() {
	t := p.t
	for _, provider := range p.l.kinds() {
		list := ask[SettingsState](p.window, "Settings.SaveProvider", provider).Providers
		p.ids = append(p.ids, list[len(list)-1].ID)
	}
	p.chooseCA = p.l.ca
	set := ask[SettingsState](p.window, "Settings.ChooseCAFile").Settings
	set.Network.Proxy, set.Network.ProxyURL, set.Network.ProxyUser = settings.ProxyManual, p.l.proxy.URL, leakyUser
	set.Provider = p.ids[0]
	ask[SettingsState](p.window, "Settings.Update", set)
	for _, id := range p.ids {
		got := ask[SettingsState](p.window, "Settings.SetKey", SetKeyRequest{ProviderID: id, Key: " " + planted + "\n", Place: "keyring"})
		if key := keyState(t, got, id); key.Place != "keyring" || key.Keyring != "Secret Service" {
			t.Fatalf("stored in %+v", key)
		}
	}
	ask[SettingsState](p.window, "Settings.SetProxyPassword", SetKeyRequest{Key: plantedPassword, Place: "keyring"})
	if got := ask[NetworkState](p.window, "Settings.Network", p.ids[0]); got.Password.Place != "keyring" || got.Source != "manual" {
		t.Fatalf("reached by %+v", got)
	}
}

// use has each dialect tested and used, once by a model that quotes the key.
func (p *planting) use() {
	t := p.t
	for i, id := range p.ids {
		if got := ask[TestResult](p.window, "Settings.TestProvider", id); got.Answer != "An answer." || len(got.Models) == 0 {
			t.Errorf("%s: tested %+v", id, got)
		}
		ask[ModelsResult](p.window, "Settings.Models", id)
		ask[ModelDetail](p.window, "Settings.Model", id, "small", true)
		for j, way := range []string{"", "echo"} {
			p.l.answers(way, "")
			req := p.selected(fmt.Sprintf("use-%d-%d", i, j), passage, "say it once more")
			req.ProviderID = id
			if end := p.ended(p.submit(req).RunID); end.State != core.RunSucceeded {
				t.Errorf("%s %s: ended %+v", id, way, end)
			}
		}
		p.l.answers("", "")
	}
	keys, logins := p.l.saw()
	if i := slices.IndexFunc(keys, func(k string) bool { return k != planted }); i >= 0 || len(keys) < 16 {
		t.Errorf("%d requests, one with another key", len(keys))
	}
	if i := slices.IndexFunc(logins, func(l string) bool { return l != leakyUser+":"+plantedPassword }); i >= 0 || len(logins) == 0 {
		t.Errorf("%d logins, one with another password", len(logins))
	}
	t.Logf("planted: used by %d dialects: %d requests with the key, %d tunnels with the password", len(p.ids), len(keys), len(logins))
}

// failInEveryWay has each dialect fail in each way of a provider, and the proxy in
// each of its own.
func (p *planting) failInEveryWay() {
	t := p.t
	codes := map[string]int{}
	test := func(id, way string) {
		answer, err := p.invoke("Settings.TestProvider", encode(t, []any{id}))
		if err == nil && way != "stream garbage" {
			t.Errorf("%s, %s: answered %.80s", id, way, answer)
			return
		}
		codes[string(fault.CodeOf(err))]++
	}
	for _, way := range ways() {
		p.l.answers(way, "")
		for i, id := range p.ids {
			if i == 0 || way != "endless line" { // which takes long
				test(id, way)
			}
		}
	}
	for _, way := range proxyWays() {
		p.l.answers("", way)
		test(p.ids[0], way)
	}
	// A run records its failure.
	for i, way := range []string{"401", "400 split", "400 base64", "stream error", "stream cut", "200 html"} {
		p.l.answers(way, "")
		req := p.selected(fmt.Sprintf("fail-%d", i), passage, "say it once more")
		req.ProviderID = p.ids[i%len(p.ids)]
		if end := p.ended(p.submit(req).RunID); end.State != core.RunFailed || end.Fault == nil {
			t.Errorf("%s: ended %+v", way, end)
		}
	}
	p.l.answers("", "")
	t.Logf("planted: failed in %d ways of a provider and %d of the proxy, quoted in each: %d codes", len(ways()), len(proxyWays()), len(codes))
	if len(codes) < 10 {
		t.Errorf("codes: %v", codes)
	}
}

// misplaceAll puts the secrets where they do not belong.
func (p *planting) misplaceAll() {
	misplace(p.window)
	for _, secret := range []string{planted, plantedPassword} {
		p.refused(fault.KeyMalformed, "Settings.SetKey", SetKeyRequest{ProviderID: p.ids[0], Key: secret + "\u0001", Place: "keyring"})
		p.refused(fault.KeyMalformed, "Settings.SetProxyPassword", SetKeyRequest{Key: secret + "\u0001", Place: "keyring"})
		set := ask[SettingsState](p.window, "Settings.Get").Settings
		for _, proxy := range []string{"http://ann:" + url.QueryEscape(secret) + "@proxy:1", "http://proxy:1/" + url.QueryEscape(secret), secret} {
			set.Network.ProxyURL = proxy
			p.refused(fault.InvalidInput, "Settings.Update", set)
		}
		set = ask[SettingsState](p.window, "Settings.Get").Settings
		set.Network.ProxyUser = "ann:" + secret
		p.refused(fault.InvalidInput, "Settings.Update", set)
		provider := p.l.kinds()[0]
		provider.BaseURL = "https://a.invalid/v1?api_key=" + url.QueryEscape(secret)
		p.refused(fault.InvalidInput, "Settings.SaveProvider", provider)
		provider = p.l.kinds()[0]
		provider.Temperature = secret
		p.refused(fault.InvalidInput, "Settings.SaveProvider", provider)
		p.refused(fault.Internal, "Settings.SetMenu", []MenuLabel{{ID: "x", Label: secret}}) // it panics
	}
}

// socket speaks to the agent as any client can, and asks for everything.
func (p *planting) socket(home settings.Home) {
	t := p.t
	lock, err := os.ReadFile(home.AgentLock())
	try(t, err)
	at, _, _ := strings.Cut(string(lock), "\n")
	conn, err := net.Dial("unix", at)
	try(t, err)
	defer func() { _ = conn.Close() }()
	in := bufio.NewReaderSize(conn, 1<<20)
	id := 0
	call := func(method string, params any) bool {
		id++
		data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		try(t, err)
		_, err = conn.Write(append(data, '\n'))
		try(t, err)
		for {
			line, err := in.ReadBytes('\n')
			try(t, err)
			p.heard["socket"] = append(p.heard["socket"], line...)
			var m struct {
				ID     int             `json:"id"`
				Method string          `json:"method"`
				Result json.RawMessage `json:"result"`
			}
			try(t, json.Unmarshal(line, &m))
			if m.Method == "" && m.ID == id {
				return m.Result != nil
			}
		}
	}
	if !call(wire.MethodHello, wire.HelloParams{Protocol: wire.Protocol, Kind: wire.ClientOther, Version: "1"}) ||
		!call(wire.MethodEventsSubscribe, map[string]any{"afterSeq": 1}) || !call(wire.MethodSendLogList, wire.SendListParams{Limit: 100}) {
		t.Error("the agent does not answer")
	}
	answered := 0
	for _, method := range socketMethods() {
		for _, params := range []map[string]any{
			{},
			{"credentialRef": p.ids[0], "id": 1, "providerId": p.ids[0]},
			{"credentialRef": settings.ProxyRef, "runId": "none", "sessionId": "none"},
			{"credentialRef": settings.ProxyRef + "@" + strings.TrimPrefix(p.l.proxy.URL, "http://")},
			{"provider": map[string]any{"id": p.ids[0], "kind": settings.KindOpenAIChat, "baseUrl": "https://evil.example/v1", "credentialRef": p.ids[0]}, "model": "small"},
		} {
			if !call(method, params) {
				continue
			}
			answered++
			if slices.Contains([]string{wire.MethodCredentialGet, wire.MethodProviderTest, wire.MethodProviderModels}, method) {
				t.Errorf("%s was answered", method)
			}
		}
	}
	t.Logf("planted: the socket was asked %d times, %d times with a result, %d bytes came", id, answered, len(p.heard["socket"]))
}

// socketMethods are all methods there are, but those that end something.
func socketMethods() []string {
	return []string{
		wire.MethodInitialize, wire.MethodSessionList, wire.MethodSessionGet, wire.MethodSessionEvents, wire.MethodRunSubmit, wire.MethodRunGet,
		wire.MethodRunList, wire.MethodRunDetail, wire.MethodRunContinue, wire.MethodModelChat, wire.MethodProposalGet, wire.MethodToolGet,
		wire.MethodContextExplain, wire.MethodArtifactGet, wire.MethodProviderTest, wire.MethodProviderModels, wire.MethodModelDescribe,
		wire.MethodSendLogList, wire.MethodSendLogGet, wire.MethodToolPrepare, wire.MethodToolExecute, wire.MethodCredentialGet, wire.MethodPing, "nothing",
	}
}

// command runs the program as a command, looks at its processes while a request
// is on its way, and keeps what it says.
func (p *planting) command(home settings.Home, door string, held bool, args ...string) {
	t := p.t
	program, err := os.Executable()
	try(t, err)
	args = append([]string{args[0], "--home", home.Dir}, args[1:]...)
	cmd := exec.CommandContext(t.Context(), program, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	try(t, cmd.Start())
	if held {
		select {
		case <-p.l.arrived:
		case <-time.After(patience):
			t.Fatalf("%s: nothing arrived\n%s", door, p.clean(out.Bytes()))
		}
		for _, pid := range family(t, cmd.Process.Pid) {
			p.process(door, pid)
		}
		p.l.release <- struct{}{}
	}
	err = cmd.Wait()
	p.heard[door] = append(p.heard[door], out.Bytes()...)
	p.heard[door] = append(p.heard[door], fmt.Sprintf("\n%v ended with %d (%v)\n", args, cmd.ProcessState.ExitCode(), err)...)
}

// clean is output that may be shown.
func (p *planting) clean(out []byte) string {
	if form := betrays(out); form != "" {
		return "(it holds the " + form + ")"
	}
	return string(out)
}

// process looks at the arguments and the environment of a process.
func (p *planting) process(door string, pid int) {
	p.t.Helper()
	for _, name := range []string{"cmdline", "environ"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		try(p.t, err)
		if form := betrays(data); form != "" {
			p.t.Errorf("%s: %s of a process holds the %s", door, name, form)
		}
		p.heard["processes"] = append(p.heard["processes"], data...)
	}
}

// family is a process with its descendants.
func family(t *testing.T, pid int) []int {
	t.Helper()
	all := []int{pid}
	entries, err := os.ReadDir("/proc")
	try(t, err)
	parents := map[int]int{}
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 {
			parents[child], _ = strconv.Atoi(fields[1])
		}
	}
	for i := 0; i < len(all); i++ {
		for child, parent := range parents {
			if parent == all[i] {
				all = append(all, child)
			}
		}
	}
	return all
}

// commandThroughWindow has commands go through the window, which holds the agent.
func (p *planting) commandThroughWindow(home settings.Home) {
	folder := filepath.Dir(p.path)
	p.l.answers("held", "")
	p.command(home, "command through the window", true, "run", "--provider", p.ids[0], folder, "Say hello")
	for _, way := range []string{"401", "400 base64"} {
		p.l.answers(way, "")
		p.command(home, "command through the window", false, "run", "--json", "--provider", p.ids[1], folder, "Say hello")
	}
	p.l.answers("", "")
	p.reports(home, "command through the window")
}

// commandAlone has commands run their own agent.
func (p *planting) commandAlone(home settings.Home) {
	folder := filepath.Dir(p.path)
	p.l.answers("held", "")
	p.command(home, "command", true, "run", "--provider", p.ids[0], folder, "Say hello")
	if !bytes.Contains(p.heard["command"], []byte("An answer.")) {
		p.t.Errorf("the command said %s", p.clean(p.heard["command"]))
	}
	for i, way := range []string{"401", "400 base64", "stream error"} {
		p.l.answers(way, "")
		p.command(home, "command", false, "run", "--provider", p.ids[i%len(p.ids)], folder, "Say hello")
	}
	p.l.answers("", "407 quotes")
	p.command(home, "command", false, "run", "--json", "--provider", p.ids[0], folder, "Say hello")
	p.l.answers("", "")
	p.reports(home, "command")
}

// reports has commands tell of what happened, and a copy of the database made.
func (p *planting) reports(home settings.Home, door string) {
	p.command(home, door, false, "runs", "list", "--json")
	var last string
	for _, m := range bytes.Split(p.heard[door], []byte(`"id":"`)) {
		if id, _, ok := bytes.Cut(m, []byte(`"`)); ok && len(id) > 10 && len(id) < 60 {
			last = string(id)
		}
	}
	p.command(home, door, false, "runs", "show", last)
	p.command(home, door, false, "backup", filepath.Join(filepath.Dir(p.path), strings.ReplaceAll(door, " ", "-")+".db"))
}

// crash has the Runner die with everything that it can tell of itself while a
// request is on its way.
func (p *planting) crash(child RunnerState) {
	t := p.t
	p.process("window", child.PID)
	p.process("window", os.Getpid())
	p.l.answers("held", "")
	req := p.selected("crash", passage, "say it once more")
	req.ProviderID = p.ids[0]
	p.submit(req)
	<-p.l.arrived
	p.mark()
	try(t, syscall.Kill(child.PID, syscall.SIGQUIT))
	await(p.window, "runner.changed", func(_ Envelope, r RunnerState) bool { return r.Status == "ready" && r.Restarts == 1 })
	p.l.answers("", "")
	// A draft of an unsaved text is kept beside them.
	p.typed(p.number, p.doc, insertion(0, "Unsaved. "))
}

// look reads the send log, the runs and the state as the page does.
func (p *planting) look() {
	t := p.t
	entries, bodies := 0, 0
	var before int64
	for {
		page := ask[SendPage](p.window, "Settings.Sends", before, 100)
		if len(page.Sends) == 0 {
			break
		}
		for _, s := range page.Sends {
			entries++
			before = s.ID
			body := ask[SendBody](p.window, "Settings.Send", s.ID, 0)
			bodies += len(body.Body)
		}
	}
	if entries < 20 || bodies == 0 {
		t.Errorf("%d entries in the send log, %d bytes", entries, bodies)
	}
	state := ask[AgentState](p.window, "Agent.Attach", 0)
	for _, run := range state.Runs {
		ask[json.RawMessage](p.window, "Agent.RunDetail", run.ID)
		ask[json.RawMessage](p.window, "Agent.ExplainContext", run.ID)
	}
	ask[SettingsState](p.window, "Settings.Get")
	t.Logf("planted: the send log told of %d requests, %d bytes; the page looked at %d runs", entries, bodies, len(state.Runs))
}

// judge looks for the secrets in all that came out.
func (p *planting) judge(home settings.Home) {
	t := p.t
	bytesOut := 0
	p.note(func() {
		for _, s := range p.wire {
			bytesOut += len(s)
			if form := betrays([]byte(s)); form != "" {
				t.Errorf("the page got the %s", form)
			}
		}
	})
	t.Logf("planted: the page got %d messages, %d bytes", len(p.wire), bytesOut)
	for door, out := range p.heard {
		if form := betrays(out); form != "" {
			t.Errorf("%s gave away the %s", door, form)
		}
		t.Logf("planted: %s: %d bytes", door, len(out))
		if len(out) == 0 {
			t.Errorf("%s said nothing", door)
		}
	}
	files, holders := secretHolders(t, home.Dir)
	more, others := secretHolders(t, filepath.Dir(p.path))
	if len(holders)+len(others) > 0 {
		t.Errorf("in %q", append(holders, others...))
	}
	for _, need := range []string{home.Settings(), home.Keys(), home.Runs(), home.Log(), home.Drafts()} {
		if _, err := os.Stat(need); err != nil {
			t.Errorf("not looked at: %v", err)
		}
	}
	if drafts, err := os.ReadDir(home.Drafts()); err != nil || len(drafts) == 0 {
		t.Errorf("no draft was looked at: %v", err)
	}
	log := p.logged()
	for _, need := range []string{"bound call panicked", "runner ready", "SIGQUIT"} {
		if !strings.Contains(log, need) {
			t.Errorf("the log does not say %q", need)
		}
	}
	t.Logf("planted: %d files of the home and the folder hold neither", files+more)
}
