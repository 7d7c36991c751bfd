package rpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"galley/backend/fault"
)

// maxBadLines is how many lines that are no message end a connection.
const maxBadLines = 3

// errWrite marks a failed write; errFraming a peer that does not speak
// JSON-RPC; errTooLong a line past the limit.
var (
	errWrite   = errors.New("write")
	errFraming = errors.New("too many lines that are no message")
	errTooLong = errors.New("line too long")
)

// stream is a jsonrpc2.ObjectStream of one JSON value a line. Only LF ends a
// line: U+2028 and CR are part of it. A bad line is skipped, logged by its
// length alone and counted; the third ends the stream.
type stream struct {
	r    *bufio.Reader
	rc   io.Closer
	max  int
	log  *slog.Logger
	bad  atomic.Int32
	line []byte // the reader's buffer

	// mu guards w.
	mu sync.Mutex
	w  io.WriteCloser
}

func newStream(r io.ReadCloser, w io.WriteCloser, maxLine int, log *slog.Logger) *stream {
	return &stream{r: bufio.NewReaderSize(r, 64<<10), rc: r, w: w, max: maxLine, log: log}
}

// ReadObject decodes the next line that is a message into v. It returns io.EOF
// at the end; a last line without its LF was cut short and counts for nothing.
func (s *stream) ReadObject(v any) error {
	for {
		line, err := s.readLine()
		switch {
		case errors.Is(err, errTooLong):
		case err != nil:
			return err
		case len(bytes.TrimSpace(line)) == 0:
			continue
		case !utf8.Valid(line):
			err = errors.New("not UTF-8")
		default:
			err = json.Unmarshal(line, v)
			if err == nil {
				return nil
			}
			// The error may quote what came: only its kind is kept.
			err = fmt.Errorf("%T", err)
		}
		n := s.bad.Add(1)
		s.log.Warn("bad line", "bytes", len(line), "count", n, "err", err)
		if n >= maxBadLines {
			return errFraming
		}
	}
}

// readLine returns the next line without its LF, valid until the next call. Of
// a line that is too long it returns a part and errTooLong, having read it all.
func (s *stream) readLine() ([]byte, error) {
	if cap(s.line) > 1<<20 {
		s.line = nil // one large document must not be held for good
	}
	s.line = s.line[:0]
	long := false
	for {
		part, err := s.r.ReadSlice('\n')
		end := err == nil
		if end {
			part = part[:len(part)-1]
		}
		if long || len(s.line)+len(part) > s.max {
			long = true
		} else {
			s.line = append(s.line, part...)
		}
		switch {
		case end && long:
			return s.line, errTooLong
		case end:
			return s.line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return nil, err
		}
	}
}

// WriteObject writes v as one line. A value that is too long is not written at
// all and gives fault.TooLarge.
func (s *stream) WriteObject(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode message: %w", err)
	}
	if len(b) > s.max {
		return fault.New(fault.TooLarge, "send", errTooLong)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("%w: %w", errWrite, err)
	}
	return nil
}

// Close closes both pipes. It does not take mu: a write that blocks is ended
// by the close of its pipe.
func (s *stream) Close() error {
	return errors.Join(s.w.Close(), s.rc.Close())
}
