package text

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"galley/backend/fault"
)

// Encoding is how a file holds its text.
type Encoding string

// The encodings that are read and written back. UTF-16 always has a BOM.
const (
	UTF8    Encoding = "utf-8"
	UTF16LE Encoding = "utf-16le"
	UTF16BE Encoding = "utf-16be"
)

// Valid reports whether e is one of the encodings.
func (e Encoding) Valid() bool { return e == UTF8 || e == UTF16LE || e == UTF16BE }

// Format is what a file has besides its lines. The zero value is no format.
type Format struct {
	Encoding Encoding `json:"encoding"`
	// BOM says that the file begins with a byte order mark, which is no text.
	BOM bool `json:"bom"`
}

const (
	bomUTF8    = "\xEF\xBB\xBF"
	bomUTF16LE = "\xFF\xFE"
	bomUTF16BE = "\xFE\xFF"
	bomUTF32LE = "\xFF\xFE\x00\x00"
)

// bom returns the bytes of the format's byte order mark.
func (f Format) bom() string {
	switch {
	case !f.BOM:
		return ""
	case f.Encoding == UTF16LE:
		return bomUTF16LE
	case f.Encoding == UTF16BE:
		return bomUTF16BE
	}
	return bomUTF8
}

// order returns the byte order of a UTF-16 format.
func (f Format) order() binary.AppendByteOrder {
	if f.Encoding == UTF16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// Decode reads the bytes of a file. Nothing is guessed: a BOM decides, without
// one it is UTF-8, and what is not wholly valid fails with
// unsupported_encoding. [Encode] gives the same bytes back.
func Decode(data []byte) (Format, Lines, error) {
	has := func(bom string) bool { return bytes.HasPrefix(data, []byte(bom)) }
	f := Format{Encoding: UTF8, BOM: true}
	switch {
	case has(bomUTF32LE):
		return Format{}, Lines{}, unsupported("utf-32")
	case has(bomUTF16LE):
		f.Encoding = UTF16LE
	case has(bomUTF16BE):
		f.Encoding = UTF16BE
	case !has(bomUTF8):
		f.BOM = false
	}
	body := data[len(f.bom()):]
	if f.Encoding == UTF8 {
		if !utf8.Valid(body) {
			return Format{}, Lines{}, unsupported("not utf-8")
		}
		return f, splitLines(string(body)), nil
	}
	s, ok := decodeUTF16(body, f.Encoding == UTF16BE)
	if !ok {
		return Format{}, Lines{}, unsupported("not " + string(f.Encoding))
	}
	return f, splitLines(s), nil
}

// decodeUTF16 reads UTF-16 without its BOM; ok is false when a byte is left
// over or a surrogate stands alone.
func decodeUTF16(body []byte, bigEndian bool) (s string, ok bool) {
	if len(body)%2 != 0 {
		return "", false
	}
	unit := func(i int) rune { return rune(body[i]) | rune(body[i+1])<<8 }
	if bigEndian {
		unit = func(i int) rune { return rune(body[i])<<8 | rune(body[i+1]) }
	}
	var out strings.Builder
	out.Grow(len(body))
	for i := 0; i < len(body); i += 2 {
		r := unit(i)
		if utf16.IsSurrogate(r) {
			if i += 2; i == len(body) {
				return "", false
			}
			if r = utf16.DecodeRune(r, unit(i)); r == utf8.RuneError {
				return "", false
			}
		}
		out.WriteRune(r)
	}
	return out.String(), true
}

// splitLines takes the endings out of a text: CRLF, LF and CR, read from the
// left, longest first.
func splitLines(s string) Lines {
	if strings.IndexByte(s, '\r') < 0 {
		return newLines(s, strings.Repeat(string(markLF), strings.Count(s, "\n")))
	}
	var out, marks strings.Builder
	out.Grow(len(s))
	for {
		line, rest, found := strings.Cut(s, "\n")
		mark := byte(markLF)
		if found && strings.HasSuffix(line, "\r") {
			line, mark = line[:len(line)-1], markCRLF
		}
		for {
			before, after, cr := strings.Cut(line, "\r")
			out.WriteString(before)
			if !cr {
				break
			}
			out.WriteByte('\n')
			marks.WriteByte(markCR)
			line = after
		}
		if !found {
			return newLines(out.String(), marks.String())
		}
		out.WriteByte('\n')
		marks.WriteByte(mark)
		s = rest
	}
}

// Encode returns the bytes of a file: the BOM, then each line with its ending,
// and nothing else.
func Encode(f Format, l Lines) []byte {
	size := len(f.bom()) + l.bytes + l.breaks
	if f.Encoding != UTF8 {
		size = len(f.bom()) + 2*(l.units+l.breaks)
	}
	out := append(make([]byte, 0, size), f.bom()...)
	write := func(s string) { out = append(out, s...) }
	if f.Encoding != UTF8 {
		order := f.order()
		write = func(s string) {
			for _, r := range s {
				if r <= 0xFFFF {
					out = order.AppendUint16(out, uint16(r))
					continue
				}
				hi, lo := utf16.EncodeRune(r)
				out = order.AppendUint16(order.AppendUint16(out, uint16(hi)), uint16(lo))
			}
		}
	}
	for _, p := range l.parts {
		if strings.Count(p.endings, string(markLF)) == len(p.endings) {
			write(p.text)
			continue
		}
		rest := p.text
		for i := range len(p.endings) {
			line, after, _ := strings.Cut(rest, "\n")
			write(line)
			write(bytesOf(p.endings[i]))
			rest = after
		}
		write(rest)
	}
	return out
}

// View returns a text that shows bytes which [Decode] refuses: what is valid
// UTF-8 and can be seen stands for itself, every other byte is \x and two hex
// digits, and all breaks are LF. It is to look at, never to save.
func View(data []byte) string {
	var out strings.Builder
	out.Grow(len(data))
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == '\r':
			if i+1 < len(data) && data[i+1] == '\n' {
				i++
			}
			out.WriteByte('\n')
		case r == '\n' || r == '\t' || r >= ' ' && r < 0x7F || r >= 0xA0 && (r != utf8.RuneError || n != 1):
			out.WriteRune(r)
		default:
			const hex = "0123456789abcdef"
			for _, b := range data[i : i+n] {
				out.Write([]byte{'\\', 'x', hex[b>>4], hex[b&15]})
			}
		}
		i += n
	}
	return out.String()
}

// unsupported returns an unsupported_encoding fault; what names the encoding.
func unsupported(what string) error {
	return &fault.Error{Code: fault.UnsupportedEncoding, Op: "decode", Detail: what}
}
