package provider

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// redacted stands where a secret stood.
const redacted = "[redacted]"

// gram is how many consecutive characters of a secret betray it. Fewer are a
// common prefix or the tail that providers show on purpose.
const gram = 8

// minSecret is the shortest secret that is looked for, in bytes. A shorter one
// is a dummy for a local server, and words of a message would go with it.
const minSecret = 4

// Redactor takes the secrets of one request out of texts. The zero value and
// nil know no secret. It never prints what it holds.
type Redactor struct {
	plain   []string // the secrets as they are
	needles []needle
}

// needle is one form of a secret, without the characters that may stand
// between the parts of a broken one.
type needle struct {
	chars []rune
	// fold compares without case (hexadecimal).
	fold bool
}

// NewRedactor returns a redactor of the secrets. Empty ones are left out.
func NewRedactor(secrets ...string) *Redactor {
	r := &Redactor{}
	for _, s := range secrets {
		if len(s) < minSecret {
			continue
		}
		r.plain = append(r.plain, s)
		r.inWords(s)
	}
	return r
}

// inWords adds a secret that is taken out of messages and not out of answers:
// whoever answers was never given it, and it may be a word that people write.
func (r *Redactor) inWords(secrets ...string) {
	for _, s := range secrets {
		if len(s) < minSecret {
			continue
		}
		r.add(s, false)
		r.add(hex.EncodeToString([]byte(s)), true)
		// In base64 a text looks different at each of three offsets; the
		// characters that its neighbours have a part in are dropped.
		for off := range 3 {
			padded := append(make([]byte, off), s...)
			enc := base64.RawStdEncoding.EncodeToString(padded)
			from := (off*8 + 5) / 6
			to := len(padded) * 8 / 6
			if from < to {
				r.add(enc[from:to], false)
				url := strings.NewReplacer("+", "-", "/", "_").Replace(enc[from:to])
				if url != enc[from:to] {
					r.add(url, false)
				}
			}
		}
	}
}

func (r *Redactor) add(s string, fold bool) {
	n := needle{chars: []rune(s), fold: fold}
	r.needles = append(r.needles, n)
}

// String implements fmt.Stringer without the secrets.
func (r *Redactor) String() string { return redacted }

// GoString implements fmt.GoStringer without the secrets.
func (r *Redactor) GoString() string { return redacted }

// Words takes the secrets out of a message: as they are, broken by other
// characters, escaped as JSON, percent or HTML do, in base64 and in
// hexadecimal, and parts of them of eight characters or more.
func (r *Redactor) Words(s string) string {
	if r == nil || len(r.needles) == 0 || s == "" {
		return s
	}
	units := decodeUnits(s)
	hit := make([]bool, len(s))
	for _, n := range r.needles {
		n.mark(units, hit)
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if !hit[i] {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString(redacted)
		for i < len(s) && hit[i] {
			i++
		}
	}
	return b.String()
}

// unit is one character of a text after its escapes are read: s[from:to].
type unit struct {
	r        rune
	from, to int
}

// mark marks the bytes of every run of units that holds gram characters of the
// needle in a row, with what stands between them.
func (n needle) mark(units []unit, hit []bool) {
	k := min(gram, len(n.chars))
	own := make(map[rune]bool, len(n.chars))
	index := make(map[string]bool, len(n.chars))
	for _, c := range n.chars {
		own[n.norm(c)] = true
	}
	for i := 0; i+k <= len(n.chars); i++ {
		index[n.key(n.chars[i:i+k])] = true
	}
	kept := make([]unit, 0, len(units))
	for _, u := range units {
		u.r = n.norm(u.r)
		if own[u.r] || unicode.IsLetter(u.r) || unicode.IsDigit(u.r) {
			kept = append(kept, u)
		}
	}
	window := make([]rune, k)
	for i := 0; i+k <= len(kept); i++ {
		for j := range k {
			window[j] = kept[i+j].r
		}
		if index[string(window)] {
			for b := kept[i].from; b < kept[i+k-1].to; b++ {
				hit[b] = true
			}
		}
	}
}

func (n needle) norm(r rune) rune {
	if n.fold {
		return unicode.ToLower(r)
	}
	return r
}

func (n needle) key(chars []rune) string {
	out := make([]rune, len(chars))
	for i, c := range chars {
		out[i] = n.norm(c)
	}
	return string(out)
}

// decodeUnits reads the escapes that a provider may have put on what it echoes.
func decodeUnits(s string) []unit {
	units := make([]unit, 0, len(s))
	for i := 0; i < len(s); {
		r, n := decodeEscape(s[i:])
		units = append(units, unit{r, i, i + n})
		i += n
	}
	return units
}

// decodeEscape returns the first character of s and how many bytes it takes.
func decodeEscape(s string) (rune, int) {
	switch s[0] {
	case '\\':
		if len(s) >= 6 && (s[1] == 'u' || s[1] == 'U') {
			if v, err := strconv.ParseUint(s[2:6], 16, 32); err == nil {
				return rune(v), 6
			}
		}
		if len(s) >= 4 && s[1] == 'x' {
			if v, err := strconv.ParseUint(s[2:4], 16, 32); err == nil {
				return rune(v), 4
			}
		}
	case '%':
		if len(s) >= 3 {
			if v, err := strconv.ParseUint(s[1:3], 16, 32); err == nil {
				return rune(v), 3
			}
		}
	case '&':
		if end := strings.IndexByte(s[:min(len(s), 10)], ';'); end > 2 && s[1] == '#' {
			digits, base := s[2:end], 10
			if digits[0] == 'x' || digits[0] == 'X' {
				digits, base = digits[1:], 16
			}
			if v, err := strconv.ParseUint(digits, base, 32); err == nil {
				return rune(v), end + 1
			}
		}
	}
	return utf8.DecodeRuneInString(s)
}

// Text takes the secrets out of an answer. Only the whole secret counts, and
// only if it has eight bytes or more: an answer is the person's text.
func (r *Redactor) Text(s string) string {
	if r == nil {
		return s
	}
	for _, p := range r.plain {
		if len(p) >= gram {
			s = strings.ReplaceAll(s, p, redacted)
		}
	}
	return s
}

// Hold returns how many bytes at the end of s may be the beginning of a secret
// and so must wait for what follows before they are shown.
func (r *Redactor) Hold(s string) int {
	if r == nil {
		return 0
	}
	hold := 0
	for _, p := range r.plain {
		if len(p) < gram {
			continue
		}
		for n := min(len(p)-1, len(s)); n > hold; n-- {
			if strings.HasSuffix(s, p[:n]) {
				hold = n
				break
			}
		}
	}
	return hold
}
