package text

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Edit replaces the half-open range [From, To) of a text by Insert. Positions
// are UTF-16 code units into LF text without BOM; Insert holds LF only. All
// edits of one set refer to the same text, are sorted by From and do not
// overlap; ranges that touch are allowed.
type Edit struct {
	From   int    `json:"from"`
	To     int    `json:"to"`
	Insert string `json:"insert"`
}

// UnmarshalJSON implements json.Unmarshaler. It differs from the default in
// one thing: nothing in insert silently becomes U+FFFD. An escaped lone
// surrogate stays what it is (as three bytes that are no valid UTF-8), so that
// [Check] refuses it; JSON that is no valid UTF-8 is refused at once.
func (e *Edit) UnmarshalJSON(data []byte) error {
	var raw struct {
		From   int             `json:"from"`
		To     int             `json:"to"`
		Insert json.RawMessage `json:"insert"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	if !utf8.Valid(raw.Insert) {
		return refuse("insert is not valid UTF-8")
	}
	insert, err := decodeString(raw.Insert)
	if err != nil {
		return err
	}
	*e = Edit{From: raw.From, To: raw.To, Insert: insert}
	return nil
}

// decodeString decodes a JSON string and keeps lone surrogates.
func decodeString(raw json.RawMessage) (string, error) {
	var out strings.Builder
	start := 1
	flush := func(end int) error {
		var s string
		if err := json.Unmarshal([]byte(`"`+string(raw[start:end])+`"`), &s); err != nil {
			return err
		}
		out.WriteString(s)
		return nil
	}
	if len(raw) == 0 || raw[0] != '"' {
		var s string
		if len(raw) == 0 {
			return "", nil
		}
		err := json.Unmarshal(raw, &s)
		return s, err
	}
	for i := 1; i < len(raw)-1; i++ {
		if raw[i] != '\\' {
			continue
		}
		unit := escapedUnit(raw[i:])
		switch {
		case unit < 0:
			i++
		case !utf16.IsSurrogate(unit):
			i += 5
		case utf16.DecodeRune(unit, escapedUnit(raw[i+6:])) != utf8.RuneError:
			i += 11
		default:
			if err := flush(i); err != nil {
				return "", err
			}
			out.Write([]byte{0xED, 0x80 | byte(unit>>6)&0x3F, 0x80 | byte(unit)&0x3F})
			i += 5
			start = i + 1
		}
	}
	if err := flush(len(raw) - 1); err != nil {
		return "", err
	}
	return out.String(), nil
}

// escapedUnit returns the UTF-16 unit of a \uXXXX escape at the start of raw,
// or -1 when there is none.
func escapedUnit(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	var b [2]byte
	if _, err := hex.Decode(b[:], raw[2:6]); err != nil {
		return -1
	}
	return rune(b[0])<<8 | rune(b[1])
}

// Check reports whether edits can be applied to the text of ix, as a whole or
// not at all. It refuses, as invalid_input: a position below 0, past the end
// or inside a surrogate pair; From past To; edits out of order or that overlap
// strictly (an insertion inside a deleted range too); an insert with CR or
// with a lone surrogate.
func Check(edits []Edit, ix *Index) error {
	_, err := spans(edits, ix)
	return err
}

// shape checks what needs no text: last is the end of the edit before, length
// the text's in UTF-16 units.
func (e Edit) shape(last, length int) error {
	switch {
	case e.From < 0 || e.To > length:
		return refuse("position out of range")
	case e.From > e.To:
		return refuse("from is past to")
	case e.From < last:
		return refuse("edits overlap or are not sorted")
	case strings.IndexByte(e.Insert, '\r') >= 0:
		return refuse("insert holds a carriage return")
	case !utf8.ValidString(e.Insert):
		return refuse("insert holds a lone surrogate")
	}
	return nil
}

// span is the byte range of an edit.
type span struct{ from, to int }

// spans checks edits and returns their byte ranges.
func spans(edits []Edit, ix *Index) ([]span, error) {
	out := make([]span, len(edits))
	last := 0
	for i, e := range edits {
		if err := e.shape(last, ix.units); err != nil {
			return nil, err
		}
		last = e.To
		var err error
		if out[i].from, err = ix.Byte(e.From); err != nil {
			return nil, err
		}
		if out[i].to, err = ix.Byte(e.To); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Apply returns s, which is valid UTF-8, with edits made, or refuses them all
// as [Check] does.
func Apply(s string, edits []Edit) (string, error) {
	return NewIndex(s).Apply(edits)
}

// Apply returns the text with edits made, or refuses them all as [Check] does.
func (ix *Index) Apply(edits []Edit) (string, error) {
	ranges, err := spans(edits, ix)
	if err != nil {
		return "", err
	}
	size := len(ix.text)
	for i, r := range ranges {
		size += len(edits[i].Insert) - (r.to - r.from)
	}
	var out strings.Builder
	out.Grow(size)
	at := 0
	for i, r := range ranges {
		out.WriteString(ix.text[at:r.from])
		out.WriteString(edits[i].Insert)
		at = r.to
	}
	out.WriteString(ix.text[at:])
	return out.String(), nil
}

// Digest returns the SHA-256 of s in lower-case hex.
func Digest(s string) string {
	h := sha256.New()
	// Hash in pieces: converting a large text to []byte at once doubles it.
	buf := make([]byte, 32<<10)
	for len(s) > 0 {
		n := copy(buf, s)
		h.Write(buf[:n])
		s = s[n:]
	}
	return hex.EncodeToString(h.Sum(nil))
}
