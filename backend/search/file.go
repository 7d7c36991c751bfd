package search

import (
	"bytes"
	"context"
	"path/filepath"
	"unicode/utf8"

	"galley/backend/fault"
	"galley/backend/text"
)

// Hit is one place that fits. A search makes many of them, so it holds one
// string: the cut line, with the match in the middle.
type Hit struct {
	Match
	// Line is the number of the line it begins in, from 1.
	Line int
	// told is Before, Text and After; start and end bound Text in it.
	told       string
	start, end int32
}

// Before returns what lies before the match on its line, cut to 120 UTF-16
// units.
func (h Hit) Before() string { return h.told[:h.start] }

// Text returns the match up to the end of its first line, cut to 120 UTF-16
// units.
func (h Hit) Text() string { return h.told[h.start:h.end] }

// After returns what lies after the match on its last line, cut to 120 UTF-16
// units.
func (h Hit) After() string { return h.told[h.end:] }

// hitWidth is how long each string of a hit is at most, in UTF-16 units.
const hitWidth = 120

// File is one file with hits.
type File struct {
	// Path is absolute, Name relative to the workspace with slashes.
	Path, Name string
	// Unsaved is true when the text of an unsaved document was searched.
	Unsaved bool
	// Hits are the first ones; never nil.
	Hits []Hit
	// More counts those that were left out.
	More int
}

// outcome is what became of one file.
type outcome string

const (
	searched outcome = "searched"
	unread   outcome = "unread"
	tooLarge outcome = "too large"
)

// reading is one goroutine's part of a search, with the memory it uses again
// for each file.
type reading struct {
	ctx     context.Context
	m       *Matcher
	scanner *scanner
	tree    *tree
	limits  Limits
	// raw is for a file as it lies on disk, lf for its text.
	raw, lf []byte
	// room is where the next hits go: those of several files lie in one piece
	// of memory.
	room []Hit
}

// file searches one file. The result has no hits when there are none.
func (r *reading) file(l leaf) (File, outcome) {
	s, unsaved := r.tree.unsaved[l]
	b := []byte(s)
	if !unsaved {
		level, err := l.in.open(r.tree.root)
		if err != nil {
			return File{}, unread
		}
		r.raw, err = level.Read(l.name, r.raw, r.limits.bytes(), isText)
		switch {
		case fault.CodeOf(err) == fault.TooLarge:
			return File{}, tooLarge
		case err != nil:
			return File{}, unread
		}
		var ok bool
		if b, ok = r.decode(r.raw); !ok {
			return File{}, unread
		}
	}
	f := r.hits(b)
	if len(f.Hits)+f.More > 0 {
		f.Name, f.Unsaved = l.rel(), unsaved
	}
	return f, searched
}

// decode returns the LF text of a file, or nothing when no match is possible;
// ok is false for a file that is no text. It reads what [text.Decode] reads.
func (r *reading) decode(raw []byte) (b []byte, ok bool) {
	if hasUTF16BOM(raw) {
		_, lines, err := text.Decode(raw)
		return []byte(lines.Text()), err == nil
	}
	raw = bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF"))
	switch {
	case !valid(raw):
		return nil, false
	case !r.scanner.mayMatch(raw):
		return nil, true
	case bytes.IndexByte(raw, '\r') < 0:
		return raw, true
	}
	r.lf = toLF(r.lf, raw)
	return r.lf, true
}

// isText reports whether a file whose first part this is may be a text, so that
// the rest of a picture is not read.
func isText(part []byte) bool {
	if hasUTF16BOM(part) {
		return true
	}
	for end := len(part); end > 0 && len(part)-end < utf8.UTFMax; end-- {
		if utf8.RuneStart(part[end-1]) {
			if !utf8.FullRune(part[end-1:]) {
				part = part[:end-1]
			}
			break
		}
	}
	return valid(part)
}

func hasUTF16BOM(b []byte) bool {
	return len(b) >= 2 && (b[0] == 0xFF && b[1] == 0xFE || b[0] == 0xFE && b[1] == 0xFF)
}

// hits searches a text.
func (r *reading) hits(b []byte) File {
	f := File{}
	hits := r.room[:0]
	h := newHitter(b)
	r.scanner.each(b, func(start, end int) bool {
		if limit := r.limits.HitsPerFile; limit >= 0 && len(hits) >= limit {
			f.More++
			return f.More%1024 != 0 || r.ctx.Err() == nil
		}
		if len(hits) == cap(hits) {
			hits = append(make([]Hit, 0, max(roomSize, 2*len(hits))), hits...)
		}
		hits = append(hits, h.hit(start, end))
		return len(hits)%1024 != 0 || r.ctx.Err() == nil
	})
	if len(hits)+f.More > 0 {
		f.Hits = hits[:len(hits):len(hits)]
	}
	r.room = hits[len(hits):cap(hits)]
	return f
}

// roomSize is how many hits are made room for at a time.
const roomSize = 200

func pathOf(folder, name string) string { return filepath.Join(folder, filepath.FromSlash(name)) }
