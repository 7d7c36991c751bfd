package provider

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// read returns all events of a body, with copies of their data, and what it
// ended with.
func read(r io.Reader) ([]Event, error) {
	er := NewEventReader(r)
	var all []Event
	for {
		ev, err := er.Next()
		if err != nil {
			return all, err
		}
		ev.Data = bytes.Clone(ev.Data)
		all = append(all, ev)
		if ev.Done {
			return all, nil
		}
	}
}

// TestEventReader holds decisions 1 to 3.
//
// CASES: C1
func TestEventReader(t *testing.T) {
	t.Parallel()
	data := func(s string) Event { return Event{Data: []byte(s), Ended: true} }
	tests := []struct {
		name, in string
		want     []Event
	}{
		{"lf", "data: a\n\ndata: b\n\n", []Event{data("a"), data("b")}},
		{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", []Event{data("a"), data("b")}},
		{"cr", "data: a\r\rdata: b\r\r", []Event{data("a"), data("b")}},
		{"mixed", "data: a\r\n\rdata: b\n\r\n", []Event{data("a"), data("b")}},
		{"bom", "\xef\xbb\xbfdata: a\n\n", []Event{data("a")}},
		{"no blank after the colon", "data:a\n\ndata:  b\n\n", []Event{data("a"), data("b")}},
		{"comments", ": ping\n\n:\n\ndata: a\n: in between\n\n", []Event{data("a")}},
		{"keep-alives", "data:\n\ndata: \n\ndata: : ping\n\ndata::\n\ndata: a\n\n", []Event{data("a")}},
		{"crlf is one end", "data: a\r\ndata: b\r\n\r\n", []Event{data("a\nb")}},
		{"joined lines", "data: {\ndata: }\n\n", []Event{data("{\n}")}},
		{"fields", "id: 1\nretry: 5\nfoo: bar\ndata: a\nevent: e\n\n", []Event{{Name: "e", Data: []byte("a"), Ended: true}}},
		{"name lives one event", "event: e\n\ndata: a\n\n", []Event{data("a")}},
		{"error field", "error: {}\n\n", []Event{{Data: []byte("{}"), Error: true, Ended: true}}},
		{"done without its end", "data: [DONE]", []Event{{Done: true, Ended: true}}},
		{"done ends what had begun", "data: a\ndata: [DONE]\n", []Event{data("a"), {Done: true, Ended: true}}},
		{"nothing after done", "data: [DONE]\ndata: a\n\n", []Event{{Done: true, Ended: true}}},
		{"no last blank line", "data: a\n", []Event{{Data: []byte("a")}}},
		{"no last line end", "data: a", []Event{{Data: []byte("a")}}},
		{"half a field at the end", "data: a\nda", []Event{{Data: []byte("a")}}},
		{"empty", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			whole, _ := read(strings.NewReader(tt.in))
			if d := cmp.Diff(tt.want, whole); d != "" {
				t.Errorf("in one piece (-want +got):\n%s", d)
			}
			bytewise, _ := read(iotest.OneByteReader(strings.NewReader(tt.in)))
			if d := cmp.Diff(tt.want, bytewise); d != "" {
				t.Errorf("byte by byte (-want +got):\n%s", d)
			}
		})
	}
}

// TestEventReader_ActsAtOnce: a line end that is there is acted on, though
// nothing follows. The source fails the test when it is asked for more.
//
// CASES: C7
func TestEventReader_ActsAtOnce(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"data: a\r\r", "data: a\n\n", "data: a\r\n\r", "data: [DONE]\n", "data: [DONE]\r"} {
		src := io.MultiReader(strings.NewReader(in), iotest.ErrReader(errors.New("asked for more")))
		if _, err := NewEventReader(src).Next(); err != nil {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// endless gives one byte for ever and counts.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	e.n += len(p)
	return len(p), nil
}

// TestEventReader_LongLines: 16 MiB are read, more is an error while it comes,
// also in small pieces.
//
// CASES: C4
func TestEventReader_LongLines(t *testing.T) {
	t.Parallel()
	line := "data: " + strings.Repeat("a", MaxLine-len("data: "))
	for name, src := range map[string]io.Reader{
		"whole": strings.NewReader(line + "\n\n"),
		"cut":   &randomCuts{[]byte(line + "\n\n"), rand.New(rand.NewPCG(1, 1)), 1 << 10},
	} {
		events, err := read(src)
		if len(events) != 1 || len(events[0].Data) != MaxLine-6 || err != io.EOF { //nolint:errorlint // readers must return it bare
			t.Errorf("%s: a line of 16 MiB: %d events, %v", name, len(events), err)
		}
	}
	e := &endless{}
	if _, err := read(e); !errors.Is(err, ErrLineTooLong) {
		t.Errorf("got %v, want ErrLineTooLong", err)
	}
	if e.n > MaxLine+(64<<10) {
		t.Errorf("%d bytes were read of an endless line", e.n)
	}
}

// FuzzEventReader: however a body is cut, the events are the same, and they are
// those of a plain reading of the whole.
func FuzzEventReader(f *testing.F) {
	for _, s := range []string{
		"data: a\n\n", "data: a\r\rdata: b\r\n\r\n", ": c\n\ndata:{}\n\ndata: [DONE]\n\n",
		"event: x\ndata: 1\ndata: 2\n\nerror: {}\n\n", "\xef\xbb\xbfdata: a", "data\n\ndata:\n\n", "\r\n\r\r\n",
		"data: a\ndata: [DONE]\ndata: b\n\n", "data: \xff\xfe\n\n",
	} {
		f.Add([]byte(s), uint64(1))
	}
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		want := plainEvents(body)
		whole, _ := read(bytes.NewReader(body))
		if d := cmp.Diff(want, whole); d != "" {
			t.Fatalf("in one piece (-want +got):\n%s", d)
		}
		bytewise, _ := read(iotest.OneByteReader(bytes.NewReader(body)))
		if d := cmp.Diff(want, bytewise); d != "" {
			t.Fatalf("byte by byte (-want +got):\n%s", d)
		}
		cut, _ := read(&randomCuts{body, rand.New(rand.NewPCG(seed, 1)), 7})
		if d := cmp.Diff(want, cut); d != "" {
			t.Fatalf("cut at random (-want +got):\n%s", d)
		}
	})
}

type randomCuts struct {
	rest []byte
	rand *rand.Rand
	most int // bytes at a time
}

func (r *randomCuts) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 1+r.rand.IntN(r.most))], r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// plainEvents reads a whole body the simple way.
func plainEvents(body []byte) []Event {
	s := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(body))
	lines := strings.Split(s, "\n")
	var all []Event
	var ev Event
	var parts []string
	dispatch := func(ended bool) {
		text := strings.TrimSpace(strings.Join(parts, "\n"))
		if text != "" && text[0] != ':' {
			ev.Data, ev.Ended = []byte(text), ended
			all = append(all, ev)
		}
		ev, parts = Event{}, nil
	}
	first := true
	for i, line := range lines {
		last := i == len(lines)-1
		if last && line == "" {
			break
		}
		if first {
			line = strings.TrimPrefix(line, "\xef\xbb\xbf")
			first = false
		}
		if line == "" {
			dispatch(true)
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			if strings.TrimSpace(value) == "[DONE]" {
				dispatch(true)
				return append(all, Event{Done: true, Ended: true})
			}
			parts = append(parts, value)
		case "error":
			ev.Error = true
			parts = append(parts, value)
		case "event":
			ev.Name = value
		}
	}
	dispatch(false)
	return all
}

// TestSniff tells what came by its first byte.
func TestSniff(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		kind bodyKind
	}{
		{"data: x", bodyEvents},
		{": ping", bodyEvents},
		{"\r\n \t<html>", bodyPage},
		{"\xef\xbb\xbf\n{}", bodyJSON},
		{" [1]", bodyJSON},
		{"event: e", bodyEvents},
		{"404 page not found", bodyEvents},
		{strings.Repeat("\n", 100<<10) + "{", bodyEvents},
	}
	for _, tt := range tests {
		kind, r, err := sniff(iotest.OneByteReader(strings.NewReader(tt.in)))
		if err != nil || kind != tt.kind {
			t.Errorf("%.20q is %v (%v), want %v", tt.in, kind, err, tt.kind)
			continue
		}
		rest, err := io.ReadAll(r)
		if err != nil || !strings.HasSuffix(tt.in, string(rest)) || len(rest) < len(tt.in)-3 {
			t.Errorf("%.20q reads back as %.20q, %v", tt.in, rest, err)
		}
	}
	if _, _, err := sniff(strings.NewReader(" \n")); err != io.EOF { //nolint:errorlint // readers must return it bare
		t.Errorf("an empty body gives %v", err)
	}
}
