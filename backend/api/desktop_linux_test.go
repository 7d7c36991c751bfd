package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/godbus/dbus"

	"galley/backend/agent/task"
	"galley/backend/fault"
	"galley/backend/settings"
)

// secrets is the name of the Secret Service on a bus.
const secrets = "org.freedesktop.secrets"

// desktop is a session of a person: a folder, a message bus that only it uses,
// and gnome-keyring where there is one. Nothing of whoever runs the tests is
// part of it.
type desktop struct {
	t       *testing.T
	dir     string
	env     []string
	bus     *exec.Cmd
	address string
	conn    *dbus.Conn
	owners  chan *dbus.Signal
	keyring *exec.Cmd
}

// newDesktop is one without a bus.
func newDesktop(t *testing.T) *desktop {
	t.Helper()
	run, err := os.MkdirTemp("/tmp", "galley") //nolint:usetesting // a socket's path must be short
	try(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	d := &desktop{t: t, dir: t.TempDir()}
	d.env = []string{
		"HOME=" + d.dir, "XDG_DATA_HOME=" + d.dir + "/data", "XDG_RUNTIME_DIR=" + run, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "NO_COLOR=1",
		"GORACE=atexit_sleep_ms=0",
	}
	return d
}

// start starts a process of the session, which ends with the test.
func (d *desktop) start(cmd *exec.Cmd) {
	d.t.Helper()
	cmd.Env, cmd.Dir = d.env, d.dir
	try(d.t, cmd.Start())
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// withBus starts the message bus, on which nothing starts by itself.
func (d *desktop) withBus() *desktop {
	d.t.Helper()
	conf := filepath.Join(d.dir, "bus.conf")
	write(d.t, conf, `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
</busconfig>`)
	d.bus = exec.Command("dbus-daemon", "--config-file="+conf, "--nofork", "--nopidfile", "--print-address=1")
	out, err := d.bus.StdoutPipe()
	try(d.t, err)
	d.start(d.bus)
	line, err := bufio.NewReader(out).ReadString('\n')
	try(d.t, err)
	d.address = strings.TrimSpace(line)
	d.env = append(d.env, "DBUS_SESSION_BUS_ADDRESS="+d.address)
	d.conn = d.dial()
	d.t.Cleanup(func() { _ = d.conn.Close() })
	d.owners = make(chan *dbus.Signal, 64)
	d.conn.Signal(d.owners)
	try(d.t, d.conn.AddMatchSignal(dbus.WithMatchInterface("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged")))
	return d
}

func (d *desktop) dial() *dbus.Conn {
	d.t.Helper()
	conn, err := dbus.Dial(d.address)
	try(d.t, err)
	try(d.t, conn.Auth(nil))
	try(d.t, conn.Hello())
	return conn
}

// withKeyring starts gnome-keyring with the login keyring unlocked.
func (d *desktop) withKeyring() *desktop {
	d.t.Helper()
	d.keyring = exec.Command("gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets")
	d.keyring.Stdin = strings.NewReader("a password")
	d.start(d.keyring)
	d.owned(true)
	return d
}

// owned waits until somebody owns the name of the Secret Service, or nobody.
func (d *desktop) owned(is bool) {
	d.t.Helper()
	late := time.After(patience)
	for {
		select {
		case s := <-d.owners:
			if len(s.Body) == 3 && s.Body[0] == secrets && (s.Body[2] != "") == is {
				return
			}
		case <-late:
			d.t.Fatalf("the Secret Service: owned is not %v", is)
		}
	}
}

// lock locks the login keyring.
func (d *desktop) lock() {
	d.t.Helper()
	var locked []dbus.ObjectPath
	var prompt dbus.ObjectPath
	err := d.conn.Object(secrets, "/org/freedesktop/secrets").Call("org.freedesktop.Secret.Service.Lock", 0,
		[]dbus.ObjectPath{"/org/freedesktop/secrets/collection/login"}).Store(&locked, &prompt)
	if err != nil || len(locked) != 1 {
		d.t.Fatalf("lock: %v, %v", locked, err)
	}
}

// heard is closed when a call of the Secret Service with that name is on its way.
func (d *desktop) heard(member string) <-chan struct{} {
	d.t.Helper()
	// It ends with the bus: the library closes what eavesdrops twice otherwise.
	conn := d.dial()
	rule := fmt.Sprintf("eavesdrop='true',type='method_call',destination='%s',member='%s'", secrets, member)
	try(d.t, conn.BusObject().Call("org.freedesktop.DBus.AddMatch", 0, rule).Err)
	messages, heard := make(chan *dbus.Message, 256), make(chan struct{})
	conn.Eavesdrop(messages)
	var once sync.Once
	go func() {
		for m := range messages {
			if m.Headers[dbus.FieldMember].Value() == member {
				once.Do(func() { close(heard) })
			}
		}
	}()
	return heard
}

// wait waits for what is heard.
func (d *desktop) wait(heard <-chan struct{}) {
	d.t.Helper()
	select {
	case <-heard:
	case <-time.After(patience):
		d.t.Fatal("the call was never made")
	}
}

func (d *desktop) signal(cmd *exec.Cmd, sig syscall.Signal) {
	d.t.Helper()
	try(d.t, cmd.Process.Signal(sig))
}

// envPerson makes the test program a person at a page: it does what it is told on
// its standard input, a line each, and says what the page got.
const envPerson = "GALLEY_API_PERSON"

// seen is what a person at the page sees of their key after what they did.
type seen struct {
	// Code and Detail are those of the failure; empty for none.
	Code   string `json:"code"`
	Detail string `json:"detail"`
	// Key is where it is said to be.
	Key     KeyState `json:"key"`
	CanMove string   `json:"canMove"`
	// Used is the fault that a run has which needs the key, "" when it gets it.
	Used string `json:"used"`
	Ms   int64  `json:"ms"`
}

// played reports whether this program was somebody else's part, which it played.
func played(getenv func(string) string) bool {
	home := getenv(envPerson)
	if home != "" {
		os.Exit(beAPerson(settings.Home{Dir: home}))
	}
	return false
}

// beAPerson plays the person at the page of a home.
func beAPerson(home settings.Home) int {
	b, err := New(Config{
		Home: home, Version: "1", Log: slog.New(slog.DiscardHandler), Send: func(Message) {}, OpenURL: func(string) {},
		Relabel: func([]MenuLabel) {}, Quit: func() {},
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	const id = "acme"
	if _, ok := b.store.Provider(id); !ok {
		if _, err := b.settings.SaveProvider(settings.Provider{Name: id, Kind: settings.KindAnthropic, BaseURL: "https://api.acme.invalid"}); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		what, place, _ := strings.Cut(lines.Text(), " ")
		begun := time.Now()
		var did error
		switch what {
		case "set":
			_, did = b.settings.SetKey(SetKeyRequest{ProviderID: id, Key: planted, Place: place})
		case "move":
			_, did = b.settings.MoveKeys()
		case "delete":
			_, did = b.settings.DeleteKey(id)
		}
		got := seen{Ms: time.Since(begun).Milliseconds()}
		if did != nil {
			f := fault.From(did)
			got.Code, got.Detail = string(f.Code), f.Detail
		}
		state, err := b.settings.Get()
		if err != nil {
			fmt.Println(err)
			return 1
		}
		got.Key, got.CanMove = state.Providers[1].Key, state.CanMoveKeys
		if what == "use" {
			key, err := task.Key(context.Background(), b.store, b.network, b.keys, id)
			got.Used = string(fault.CodeOf(err))
			if err == nil && key != planted {
				got.Used = "another key"
			}
		}
		data, err := json.Marshal(got)
		if err != nil {
			return 1
		}
		fmt.Println(string(data))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		return 1
	}
	return 0
}

// person is a page of its own process in a desktop.
type person struct {
	d    *desktop
	cmd  *exec.Cmd
	home settings.Home
	in   io.WriteCloser
	out  *bufio.Reader
}

// sitsDown starts a program on a home of the desktop.
func (d *desktop) sitsDown(home string) *person {
	d.t.Helper()
	program, err := os.Executable()
	try(d.t, err)
	p := &person{d: d, cmd: exec.Command(program), home: settings.Home{Dir: filepath.Join(d.dir, home)}}
	try(d.t, p.home.Make())
	p.in, err = p.cmd.StdinPipe()
	try(d.t, err)
	out, err := p.cmd.StdoutPipe()
	try(d.t, err)
	p.out = bufio.NewReader(out)
	p.cmd.Stderr = os.Stderr
	env := d.env
	d.env = append(env[:len(env):len(env)], envPerson+"="+p.home.Dir)
	d.start(p.cmd)
	d.env = env
	return p
}

// begin does something without waiting for what comes of it.
func (p *person) begin(what string) {
	p.d.t.Helper()
	_, err := io.WriteString(p.in, what+"\n")
	try(p.d.t, err)
}

// sees waits for what came of it.
func (p *person) sees() seen {
	p.d.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.d.t.Fatalf("the program ended: %v", err)
	}
	var s seen
	if err := json.Unmarshal([]byte(line), &s); err != nil {
		p.d.t.Fatalf("it said %q", line)
	}
	return s
}

func (p *person) does(what string) seen {
	p.d.t.Helper()
	p.begin(what)
	return p.sees()
}

// leaves ends the program as quitting does.
func (p *person) leaves() {
	p.d.t.Helper()
	try(p.d.t, p.in.Close())
	if err := p.cmd.Wait(); err != nil {
		p.d.t.Error(err)
	}
}

// inKeyring counts the items of the real keyring that hold the planted key; it
// must be unlocked.
func (d *desktop) inKeyring() int {
	d.t.Helper()
	return d.itemsWith(planted)
}

// itemsWith counts the items of the real keyring that hold a secret.
func (d *desktop) itemsWith(secret string) (n int) {
	d.t.Helper()
	want := base64.StdEncoding.EncodeToString([]byte(secret)) // as the library keeps it
	for _, value := range d.items() {
		if bytes.Contains(value, []byte(want)) {
			n++
		}
	}
	return n
}

// items are what the real keyring holds.
func (d *desktop) items() (values [][]byte) {
	d.t.Helper()
	service := d.conn.Object(secrets, "/org/freedesktop/secrets")
	var none dbus.Variant
	var session dbus.ObjectPath
	try(d.t, service.Call("org.freedesktop.Secret.Service.OpenSession", 0, "plain", dbus.MakeVariant("")).Store(&none, &session))
	held, err := d.conn.Object(secrets, "/org/freedesktop/secrets/collection/login").GetProperty("org.freedesktop.Secret.Collection.Items")
	try(d.t, err)
	items, ok := held.Value().([]dbus.ObjectPath)
	if !ok {
		d.t.Fatalf("items: %v", held)
	}
	for _, item := range items {
		var secret struct {
			Session     dbus.ObjectPath
			Parameters  []byte
			Value       []byte
			ContentType string
		}
		err := d.conn.Object(secrets, item).Call("org.freedesktop.Secret.Item.GetSecret", 0, session).Store(&secret)
		var gone dbus.Error
		if errors.As(err, &gone) {
			continue
		}
		try(d.t, err)
		values = append(values, secret.Value)
	}
	return values
}
