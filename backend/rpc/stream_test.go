package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

type closed struct{ io.Writer }

func (closed) Close() error { return nil }

// readAll reads values until the end.
func readAll(r io.Reader, limit int) (got []string, bad int, err error) {
	s := newStream(io.NopCloser(r), closed{io.Discard}, limit, quiet())
	for {
		var v json.RawMessage
		if err := s.ReadObject(&v); err != nil {
			return got, int(s.bad.Load()), err
		}
		got = append(got, string(v))
	}
}

func TestStream_ReadObject(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
		bad      int
		err      error
	}{
		{"two", "{\"a\":1}\n[2]\n", []string{`{"a":1}`, "[2]"}, 0, io.EOF},
		{"crlf and blanks", "1\r\n\r\n \n2\n", []string{"1", "2"}, 0, io.EOF},
		{"separators are text", "\"a\u2028b\u2029c\u0085\"\n", []string{"\"a\u2028b\u2029c\u0085\""}, 0, io.EOF},
		{"bare cr is no end", "1\r2\n3\n", []string{"3"}, 1, io.EOF},
		{"cut short", "1\n2", []string{"1"}, 0, io.EOF},
		{"not utf-8", "\"\xff\"\n1\n", []string{"1"}, 1, io.EOF},
		{"two values on a line", "1 2\n3\n", []string{"3"}, 1, io.EOF},
		{"longest", strings.Repeat("1", 100) + "\n", []string{strings.Repeat("1", 100)}, 0, io.EOF},
		{"too long", strings.Repeat("1", 101) + "\n2\n", []string{"2"}, 1, io.EOF},
		{"third bad line", "x\n1\ny\nz\n2\n", []string{"1"}, 3, errFraming},
		{"nul", "\x00\n1\n", []string{"1"}, 1, io.EOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				got, bad, err := readAll(r, 100)
				if strings.Join(got, "|") != strings.Join(tt.want, "|") || bad != tt.bad || !errors.Is(err, tt.err) {
					t.Errorf("got %q, %d bad, %v; want %q, %d bad, %v", got, bad, err, tt.want, tt.bad, tt.err)
				}
			}
		})
	}
}

// FuzzStream checks that framing never panics, never passes a long line, and
// does not depend on how the bytes are cut; and that what is written is read.
// covers: X6
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		"", "\n", "{}\n", "{}", "1\n2\n3\n", "x\ny\nz\n", "\"\u2028\"\n", "\xff\n", "[[[[\n", "\r\n\r\n",
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,2]}}` + "\n",
		strings.Repeat("9", 70<<10) + "\n1\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 66 << 10
		got, bad, err := readAll(bytes.NewReader(in), limit)
		cut, badCut, errCut := readAll(iotest.HalfReader(bytes.NewReader(in)), limit)
		if strings.Join(got, "\n") != strings.Join(cut, "\n") || bad != badCut || !errors.Is(errCut, err) {
			t.Fatalf("cut otherwise: %q %d %v, %q %d %v", got, bad, err, cut, badCut, errCut)
		}
		if bad > maxBadLines || (bad == maxBadLines) != errors.Is(err, errFraming) {
			t.Fatalf("%d bad lines, %v", bad, err)
		}
		if n := bytes.Count(in, []byte("\n")); len(got)+bad > n {
			t.Fatalf("%d values and %d bad lines of %d lines", len(got), bad, n)
		}
		var out bytes.Buffer
		w := newStream(io.NopCloser(nil), closed{&out}, limit, quiet())
		for _, v := range got {
			if len(v) > limit {
				t.Fatalf("a line of %d bytes passed", len(v))
			}
			if err := w.WriteObject(json.RawMessage(v)); err != nil && !errors.Is(err, errTooLong) {
				t.Fatal(err)
			}
		}
		if n := bytes.Count(out.Bytes(), []byte("\n")); n > len(got) {
			t.Fatalf("%d values became %d lines", len(got), n)
		}
	})
}
