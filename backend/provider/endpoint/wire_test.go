package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
	"galley/backend/provider/streamtest"
)

// wireFault is a row of the table of wire faults in the design, section 3 of
// AGENT.md. The server that does it is on loopback.
type wireFault struct {
	n    int
	what string
	// cells gives what happens in each dialect.
	cells func(v voice) cell
}

// cell is a fault in a dialect: ways in which it comes, or why it cannot.
type cell struct {
	plays []play
	never string
}

// play is one way. It returns what came of it.
type play struct {
	what string
	run  func(t *testing.T, v voice) outcome
}

// outcome is an answer, in words, or a failure.
type outcome struct {
	answer string
	err    error
}

func never(because string) cell { return cell{never: because} }

func plays(all ...play) cell { return cell{plays: all} }

// row is a play of what a server sends. expect has the form of streams.json.
func row(what string, expect map[string]any, chunks ...any) play {
	return answering(what, 200, map[string]string{"content-type": "text/event-stream"}, "", expect, chunks...)
}

// refusal is a play of a request that is refused with a status and a body.
func refusal(what string, header map[string]string, code fault.Code, more map[string]any, status int, body string) play {
	expect := map[string]any{"fault": code}
	for name, value := range more {
		expect[name] = value
	}
	return answering(what, status, header, "", expect, body)
}

func answering(what string, status int, header map[string]string, profile string, expect map[string]any, chunks ...any) play {
	return play{what, func(t *testing.T, v voice) outcome {
		return ask(t, v, readRow(t, v, status, header, profile, expect, chunks), nil)
	}}
}

func readRow(t *testing.T, v voice, status int, header map[string]string, profile string, expect map[string]any, chunks []any) streamtest.Row {
	t.Helper()
	kept := []any{}
	for _, c := range chunks {
		if c != "" {
			kept = append(kept, c)
		}
	}
	raw, err := json.Marshal(map[string]any{
		"id": "x", "dialect": v.dialect, "profile": profile, "http": map[string]any{"status": status, "headers": header},
		"chunks": kept, "expect": expect,
	})
	if err != nil {
		t.Fatal(err)
	}
	var r streamtest.Row
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// ask plays a row to the dialect's own endpoint, with the configuration changed.
func ask(t *testing.T, v voice, r streamtest.Row, change func(*dialect.Config)) outcome {
	t.Helper()
	cfg, stop, err := r.Serve(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	if change != nil {
		change(&cfg)
	}
	e, err := New(v.kind, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	// What should end at once and does not is cancelled and seen.
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	answer, wrong, err := r.Ask(ctx, e)
	for _, w := range wrong {
		t.Error(w)
	}
	return outcome{inWords(answer), err}
}

// inWords says what an answer holds.
func inWords(a core.Answer) string {
	var parts []string
	if text := a.Text; text != "" {
		if len(text) > 40 {
			text = fmt.Sprintf("%.10s… of %d MiB", text, len(text)>>20)
		}
		parts = append(parts, "the text “"+text+"”")
	}
	switch n := len(a.Calls); n {
	case 0:
	case 1:
		parts = append(parts, "1 call")
	default:
		parts = append(parts, fmt.Sprint(n, " calls"))
	}
	if a.Clipped {
		parts = append(parts, "a warning that the server cut the prompt")
	}
	return strings.Join(parts, ", ")
}

// told is a cell as the page is given it to say: a line of JSON each.
type told struct {
	N        int        `json:"n"`
	Fault    string     `json:"fault"`
	Dialect  string     `json:"dialect"`
	Vendor   string     `json:"vendor"`
	What     string     `json:"what"`
	Never    string     `json:"never"`
	Answer   string     `json:"answer"`
	Code     fault.Code `json:"code"`
	Detail   string     `json:"detail"`
	RetryMs  int64      `json:"retryAfterMs"`
	Passed   bool       `json:"passed"`
	position int
}

// TestWireFaults plays every fault of the wire in every dialect. Where the
// variable PROVIDER_TABLE names a file, it writes down what came of each, so
// that build/providers can show it as the page says it.
//
// CASES: C1 C3 C4 C5 C6 C7 C8 C10 C12 C17
// covers: K1 K2 K6
func TestWireFaults(t *testing.T) {
	t.Parallel()
	faults := wireFaults()
	if len(faults) != 29 {
		t.Fatalf("%d faults, want 29", len(faults))
	}
	var (
		mu    sync.Mutex
		cells []told
	)
	t.Cleanup(func() { writeTable(t, cells) })
	position := 0
	for i, f := range faults {
		if f.n != i+1 {
			t.Errorf("fault %d stands at %d", f.n, i+1)
		}
		for _, v := range voices() {
			c := f.cells(v)
			if (c.never == "") == (len(c.plays) == 0) {
				t.Errorf("fault %d in %s neither happens nor says why not", f.n, v.dialect)
			}
			line := told{N: f.n, Fault: f.what, Dialect: string(v.dialect), Vendor: v.vendor}
			if c.never != "" {
				line.Never, line.Passed, line.position = c.never, true, position
				position++
				mu.Lock()
				cells = append(cells, line)
				mu.Unlock()
			}
			for _, p := range c.plays {
				at := position
				position++
				t.Run(strings.TrimRight(fmt.Sprintf("%02d/%s/%s", f.n, v.dialect, p.what), "/"), func(t *testing.T) {
					t.Parallel()
					line := line
					t.Cleanup(func() {
						line.Passed, line.position = !t.Failed(), at
						mu.Lock()
						defer mu.Unlock()
						cells = append(cells, line)
					})
					o := p.run(t, v)
					line.What, line.Answer = p.what, o.answer
					if f, ok := errors.AsType[*fault.Error](o.err); ok {
						line.Code, line.Detail, line.RetryMs = f.Code, f.Detail, f.RetryAfter.Milliseconds()
					}
				})
			}
		}
	}
}

// writeTable writes the cells in their order.
func writeTable(t *testing.T, cells []told) {
	file := os.Getenv("PROVIDER_TABLE")
	if file == "" {
		return
	}
	ordered := make([]told, len(cells))
	for _, c := range cells {
		ordered[c.position] = c
	}
	var b strings.Builder
	for _, c := range ordered {
		line, err := json.Marshal(c)
		if err != nil {
			t.Error(err)
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Error(err)
	}
}

// retried checks what the policy says of a failure before and after the first
// visible word.
func retried(t *testing.T, err error, before bool) {
	t.Helper()
	if _, again := provider.RetryDelay(err, 1, false, 0); again != before {
		t.Errorf("%v is tried again before a word: %v, want %v", err, again, before)
	}
	if _, again := provider.RetryDelay(err, 1, true, 0); again {
		t.Errorf("%v is tried again after a word", err)
	}
}
