package credential

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"galley/backend/fault"
)

const planted = "sk-TESTKEY-1-never-to-be-seen"

func secret(t testing.TB, key string) Secret {
	t.Helper()
	s, err := NewSecret(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSecret_IsNeverPrinted puts a key into every printer, encoder and logger,
// by itself and inside other values.
//
// covers: K4
func TestSecret_IsNeverPrinted(t *testing.T) {
	s := secret(t, planted)
	type wrap struct {
		Public  Secret
		private Secret
		Pointer *Secret
		Any     any
	}
	w := wrap{s, s, &s, s}
	values := []any{s, &s, w, &w, []Secret{s}, map[string]Secret{"k": s}, map[Secret]int{s: 1}, any(s), errors.Join(fmt.Errorf("op %v: %w", s, errors.New("x")))}
	var all bytes.Buffer
	for _, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p", "%T", "%08.3f"} {
			fmt.Fprintf(&all, verb+"\n", v)
		}
		fmt.Fprintln(&all, v)
		if data, err := json.Marshal(v); err == nil {
			all.Write(data)
		}
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&all, nil), slog.NewJSONHandler(&all, nil)} {
		l := slog.New(h)
		l.Info("m", "key", s, "wrap", w, "pointer", &s, "list", []Secret{s})
		l.With("key", s).WithGroup("g").Info("m", slog.Group("in", "key", s))
	}
	text, err := s.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	all.Write(text)
	for _, trace := range []string{planted, "TESTKEY", fmt.Sprintf("%x", planted), fmt.Sprintf("%X", planted)} {
		if strings.Contains(all.String(), trace) {
			i := strings.Index(all.String(), trace)
			t.Fatalf("given away: …%s", all.String()[max(0, i-60):i+10])
		}
	}
	if !strings.Contains(all.String(), "[redacted]") {
		t.Error("nothing was printed")
	}
	if s.Reveal() != planted || s.Empty() || !(Secret{}).Empty() || (Secret{}).Reveal() != "" {
		t.Error("the key itself is wrong")
	}
}

// covers: K4
func TestNewSecret(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"sk-1", "sk-1"},
		{"  sk-1\r\n", "sk-1"},
		{"\u00a0sk-1\u00a0", "sk-1"},
		{"a b", "a b"},
		{strings.Repeat("k", MaxSecret), strings.Repeat("k", MaxSecret)},
		{strings.Repeat("k", MaxSecret) + "\n", strings.Repeat("k", MaxSecret)},
	} {
		s, err := NewSecret(c.in)
		if err != nil || s.Reveal() != c.want {
			t.Errorf("%q: %q, %v", c.in, s.Reveal(), err)
		}
	}
	for _, c := range []struct{ in, detail string }{
		{"", "empty"},
		{" \t\n", "empty"},
		{"sk-\u00a0x", "U+00A0"},
		{"sk-1\nsk-2", "U+000A"},
		{"sk-\tx", "U+0009"},
		{"sk-\x00x", "U+0000"},
		{"sk-\x7fx", "U+007F"},
		{"sk-\u200bx", "U+200B"},
		{"\ufeffsk-x", "U+FEFF"},
		{"sk–x", "U+2013"},
		{"sk-密", "U+5BC6"},
		{"sk-😀", "U+1F600"},
		{"sk-\ufffdx", "U+FFFD"},
		{"sk-\xffx", "not UTF-8"},
		{strings.Repeat("k", MaxSecret+1), "too long"},
	} {
		_, err := NewSecret(c.in)
		f := fault.From(err)
		if f == nil || f.Code != fault.KeyMalformed || f.Detail != c.detail {
			t.Errorf("%q: %v, want %s", c.in, err, c.detail)
			continue
		}
		if len(c.in) > 3 && strings.Contains(err.Error(), c.in[:3]) {
			t.Errorf("%q: the error quotes it: %v", c.in, err)
		}
	}
}
