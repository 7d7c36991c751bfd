//go:build crashtest && linux

package matrix

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"galley/backend/api"
	"galley/backend/cli"
	"galley/backend/fault"
	"galley/backend/settings"
)

// program makes this binary the program, built with the points of the matrix: a
// Runner and every command as they are, and a window whose page is on its
// standard streams. Done is false when it is to test.
func program() (code int, done bool) {
	if code, done := cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); done {
		return code, true
	}
	if len(os.Args) < 2 {
		return 0, false
	}
	switch os.Args[1] {
	case "window":
		return window(os.Args[2], os.Args[3]), true
	case "keeper":
		return keeper(os.Args[2]), true
	case "child":
		return child(), true
	}
	return 0, false
}

// request is a call of the page, answer what came of it. An answer without an
// id is a message.
type request struct {
	ID     int64             `json:"id"`
	Method string            `json:"method"`
	Args   []json.RawMessage `json:"args"`
}

type answer struct {
	ID      int64           `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Code    fault.Code      `json:"code,omitempty"`
	Message *message        `json:"message,omitempty"`
}

type message struct {
	api.Envelope
	Payload json.RawMessage `json:"payload"`
}

// window is the program's back end as the window has it, on a home, with the
// folder that the command line named. It ends with its standard input.
func window(home, folder string) int {
	h := settings.Home{Dir: home}
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "window:", err)
		return 1
	}
	if err := h.Make(); err != nil {
		return fail(err)
	}
	log, err := os.OpenFile(h.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fail(err)
	}
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	say := func(a answer) {
		mu.Lock()
		defer mu.Unlock()
		if err := out.Encode(a); err != nil {
			fmt.Fprintln(os.Stderr, "window: say:", err)
		}
	}
	b, err := api.New(api.Config{
		Home: h, Version: "crashtest", Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Send: func(m api.Message) {
			data, err := json.Marshal(m)
			var got message
			if err := errors.Join(err, json.Unmarshal(data, &got)); err != nil {
				fmt.Fprintln(os.Stderr, "window: message:", err)
			}
			say(answer{Message: &got})
		},
		OpenURL: func(string) {}, Relabel: func([]api.MenuLabel) {}, Quit: func() {}, Ring: noRing{},
	})
	if err != nil {
		return fail(err)
	}
	b.OpenAtStart([]string{folder})
	b.Start()
	var calls sync.WaitGroup
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return fail(err)
		}
		calls.Go(func() { say(invoke(b, r)) })
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err = b.Close(ctx)
	calls.Wait()
	if err != nil {
		return fail(err)
	}
	return 0
}

// invoke makes a call as the window's bridge does.
func invoke(b *api.Backend, r request) answer {
	a := answer{ID: r.ID, Code: fault.NotFound}
	service, name, _ := strings.Cut(r.Method, ".")
	for _, s := range b.Bound() {
		v := reflect.ValueOf(s)
		if v.Elem().Type().Name() != service {
			continue
		}
		f := v.MethodByName(name)
		if !f.IsValid() || f.Type().NumIn() != len(r.Args) {
			return a
		}
		in := make([]reflect.Value, len(r.Args))
		for i, arg := range r.Args {
			p := reflect.New(f.Type().In(i))
			if json.Unmarshal(arg, p.Interface()) != nil {
				a.Code = fault.InvalidInput
				return a
			}
			in[i] = p.Elem()
		}
		out := f.Call(in)
		if err, _ := out[len(out)-1].Interface().(error); err != nil {
			a.Code = fault.CodeOf(err)
			return a
		}
		a.Code = ""
		if len(out) == 2 {
			data, err := json.Marshal(out[0].Interface())
			if err != nil {
				a.Code = fault.Internal
			}
			a.Result = data
		}
	}
	return a
}

// noRing is a system without a keyring.
type noRing struct{}

var errNoRing = &fault.Error{Code: fault.KeyringMissing, Op: "find keyring"}

func (noRing) Name(context.Context) (string, error)                { return "", errNoRing }
func (noRing) Set(context.Context, string, []byte) (string, error) { return "", errNoRing }
func (noRing) Get(context.Context, string) ([]byte, error)         { return nil, errNoRing }
func (noRing) Remove(context.Context, string) error                { return errNoRing }
func (noRing) Close()                                              {}
