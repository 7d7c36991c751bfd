package provider

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
)

// maxBody limits one answer in bytes after decompression, so that a provider
// cannot fill the memory (SECURITY th-13).
const maxBody = 64 << 20

// maxErrorBody limits what is read of an answer that is no success.
const maxErrorBody = 1 << 20

var errBodyTooLong = errors.New("answer too long")

// bodyKind is what came, told by its first byte and not by its content type,
// which gateways set as they like (decision 5).
type bodyKind int

const (
	bodyEvents bodyKind = iota
	bodyJSON
	bodyPage
)

// sniff looks at the first byte that is no white space. It decodes gzip by its
// magic number, which no text starts with. The reader it returns gives the body
// without its BOM, from the start. An error means that the body ended first.
func sniff(body io.Reader) (bodyKind, io.Reader, error) {
	br := bufio.NewReader(body)
	if magic, err := br.Peek(1); err == nil && magic[0] == 0x1f {
		if magic, err = br.Peek(2); err == nil && magic[1] == 0x8b {
			zr, err := gzip.NewReader(br)
			if err != nil {
				return bodyEvents, br, err
			}
			br = bufio.NewReader(&capReader{src: zr, left: maxBody})
		}
	}
	first, err := br.ReadByte()
	if err != nil {
		return bodyEvents, br, err
	}
	var skipped []byte
	if first == 0xef {
		if rest, err := br.Peek(2); err == nil && rest[0] == 0xbb && rest[1] == 0xbf {
			_, _ = br.Discard(2)
			if first, err = br.ReadByte(); err != nil {
				return bodyEvents, br, err
			}
		}
	}
	for {
		skipped = append(skipped, first)
		// A stream may open with many blank lines; past this it is one.
		if !isSpace(first) || len(skipped) > 64<<10 {
			break
		}
		if first, err = br.ReadByte(); err != nil {
			return bodyEvents, br, err
		}
	}
	kind := bodyEvents
	switch first {
	case '<':
		kind = bodyPage
	case '{', '[':
		kind = bodyJSON
	}
	return kind, io.MultiReader(bytes.NewReader(skipped), br), nil
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

// capReader ends with errBodyTooLong after left bytes.
type capReader struct {
	src  io.Reader
	left int
}

func (r *capReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errBodyTooLong
	}
	if len(p) > r.left {
		p = p[:r.left]
	}
	n, err := r.src.Read(p)
	r.left -= n
	return n, err
}

// isGarbage reports whether a body ended because its bytes make no sense, as
// opposed to being cut.
func isGarbage(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.Is(err, ErrLineTooLong) || errors.Is(err, errBodyTooLong) ||
		errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) ||
		errors.As(err, &corrupt)
}
