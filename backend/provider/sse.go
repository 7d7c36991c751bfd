package provider

import (
	"bytes"
	"errors"
	"io"
)

// MaxLine is the longest line of a stream in bytes, without its end.
const MaxLine = 16 << 20

// ErrLineTooLong is returned by EventReader.Next as soon as a line is longer
// than [MaxLine].
var ErrLineTooLong = errors.New("line too long")

// Event is one server-sent event.
type Event struct {
	// Name is the value of the event field; empty when there was none.
	Name string
	// Data is the data lines joined by LF; never empty, valid until the next
	// call of Next.
	Data []byte
	// Error says that Data came in a field of the name error, as llama.cpp
	// sends it.
	Error bool
	// Done says that the event is the line [DONE]. Nothing after it is read.
	Done bool
	// Ended says that a blank line ended the event. The last one of a body may
	// come without.
	Ended bool
}

// EventReader reads server-sent events (decisions 1 to 4). Lines end with LF,
// CRLF or CR, mixed as they like, and a line is acted on as soon as its end is
// there. Keep-alives (comments, empty data, data that starts with a colon) are
// skipped. At most one line and one event are held in memory.
type EventReader struct {
	src io.Reader
	buf []byte
	in  []byte // unread part of buf
	err error  // what src ended with; reported when in is empty

	line      []byte
	skipLF    bool // the line before ended with CR; an LF next belongs to it
	firstLine bool

	name    string
	data    []byte
	hasData bool
	isError bool

	done bool // [DONE] came while an event was pending
	out  []byte
}

// NewEventReader returns a reader of the events in src.
func NewEventReader(src io.Reader) *EventReader {
	return &EventReader{src: src, buf: make([]byte, 32<<10), firstLine: true}
}

// Next returns the next event. At the end of the body it returns the event that
// had begun, if any, with Ended false, and after it what the body ended with:
// io.EOF or the error of the source. It blocks as the source does.
func (r *EventReader) Next() (Event, error) {
	for {
		if r.done {
			r.done = false
			return Event{Done: true, Ended: true}, nil
		}
		if len(r.in) == 0 {
			if r.err != nil {
				// What had begun is an event too.
				if len(r.line) > 0 {
					if ev, ok := r.endLine(); ok {
						return ev, nil
					}
					continue
				}
				if ev, ok := r.dispatch(false); ok {
					return ev, nil
				}
				return Event{}, r.err
			}
			n, err := r.src.Read(r.buf)
			r.in, r.err = r.buf[:n], err
			continue
		}
		if r.skipLF {
			r.skipLF = false
			if r.in[0] == '\n' {
				r.in = r.in[1:]
				continue
			}
		}
		i := bytes.IndexAny(r.in, "\r\n")
		n := i
		if i < 0 {
			n = len(r.in)
		}
		if len(r.line)+n > MaxLine {
			return Event{}, ErrLineTooLong
		}
		r.line = append(r.line, r.in[:n]...)
		if i < 0 {
			r.in = nil
			continue
		}
		r.skipLF = r.in[i] == '\r'
		r.in = r.in[i+1:]
		if ev, ok := r.endLine(); ok {
			return ev, nil
		}
	}
}

// endLine reads the line that is whole now.
func (r *EventReader) endLine() (Event, bool) {
	line := r.line
	r.line = r.line[:0]
	if r.firstLine {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		r.firstLine = false
	}
	if len(line) == 0 {
		return r.dispatch(true)
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "data":
		if string(bytes.TrimSpace(value)) == "[DONE]" {
			// It ends the answer at once, without its blank line. What had
			// begun before it is an event that ended.
			r.done = true
			return r.dispatch(true)
		}
		r.addData(value)
	case "error":
		r.isError = true
		r.addData(value)
	case "event":
		r.name = string(value)
	}
	return Event{}, false
}

func (r *EventReader) addData(value []byte) {
	if r.hasData {
		r.data = append(r.data, '\n')
	}
	r.data = append(r.data, value...)
	r.hasData = true
}

// dispatch gives the event that is pending, if it says anything.
func (r *EventReader) dispatch(ended bool) (Event, bool) {
	ev := Event{Name: r.name, Error: r.isError, Ended: ended}
	// Two buffers change places, so that Data lives until the next call.
	r.data, r.out = r.out[:0], r.data
	ev.Data = bytes.TrimSpace(r.out)
	r.name, r.hasData, r.isError = "", false, false
	return ev, len(ev.Data) > 0 && ev.Data[0] != ':'
}
