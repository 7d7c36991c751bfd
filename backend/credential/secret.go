package credential

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"

	"galley/backend/fault"
)

// MaxSecret is the longest key in bytes: the Windows store takes 2,560.
const MaxSecret = 2000

const redacted = "[redacted]"

// Secret is a key that no printer, encoder or logger gives away; Reveal alone
// does. The zero value holds none.
type Secret struct {
	// hidden is a pointer, since package fmt reaches into fields of other
	// types without asking their methods, but does not follow pointers there.
	hidden *string
}

// NewSecret makes a Secret of what a person pasted, without blanks at its
// ends. Fault key_malformed for what no key holds: Detail names the first such
// code point ("U+00A0"), or is "empty" or "too long".
func NewSecret(pasted string) (Secret, error) {
	key := strings.TrimSpace(pasted)
	if key == "" {
		return Secret{}, malformed("empty")
	}
	for i, r := range key {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(key[i:]); size == 1 {
				return Secret{}, malformed("not UTF-8")
			}
		}
		if r > unicode.MaxASCII || unicode.IsControl(r) {
			return Secret{}, malformed(fmt.Sprintf("U+%04X", r))
		}
	}
	if len(key) > MaxSecret {
		return Secret{}, malformed("too long")
	}
	return Secret{hidden: &key}, nil
}

func malformed(why string) error {
	e := fault.New(fault.KeyMalformed, "read key", nil)
	e.Detail = why
	return e
}

// Reveal returns the key, for the one place that sends or stores it.
func (s Secret) Reveal() string {
	if s.hidden == nil {
		return ""
	}
	return *s.hidden
}

// Empty reports whether there is no key.
func (s Secret) Empty() bool { return s.hidden == nil }

// String implements fmt.Stringer.
func (s Secret) String() string { return redacted }

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return redacted }

// Format implements fmt.Formatter for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalJSON implements json.Marshaler.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText implements encoding.TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
