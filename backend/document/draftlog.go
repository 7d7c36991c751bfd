package document

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"galley/backend/text"
	"galley/backend/workspace"
)

// The draft of a large text is the whole text once, as ever, and beside it a
// file of the changes since, each a line: the digest of the line before and of
// this one's content, and the content as JSON. The first line names the draft
// it belongs to by its digest. A line that was cut ends what counts, so that a
// crash costs the last change at most, and changes of another draft never do.
const (
	changesMagic = "galley changes 1 "
	changesExt   = ".changes"
	// largeText is the size in bytes from which a text has its changes kept.
	largeText = 256 << 10
	// maxChanges is the size of a file of changes after which the whole text
	// is written again.
	maxChanges = 1 << 20
)

// changeRecord is one line.
type changeRecord struct {
	Changes []recordedChange `json:"changes"`
	Anchor  int              `json:"anchor"`
	Head    int              `json:"head"`
	AtMs    int64            `json:"atMs"`
}

// recordedChange is a [Change] as it is stored.
type recordedChange struct {
	Edits   []text.Edit      `json:"edits"`
	Endings []text.EndingRun `json:"endings"`
}

// pending is the changes of a document that no draft holds yet. The zero value
// says that the whole text has to be written.
type pending struct {
	// known is true while changes bring the draft in step.
	known   bool
	changes []recordedChange
	bytes   int
}

// add notes changes that were made to a text of a size.
func (p *pending) add(changes []Change, size int) {
	if !p.known {
		return
	}
	for _, c := range changes {
		p.changes = append(p.changes, recordedChange(c))
		for _, e := range c.Edits {
			p.bytes += len(e.Insert) + 64
		}
	}
	if size < largeText || p.bytes > maxChanges {
		*p = pending{}
	}
}

// changesLog is the file of changes beside a draft. The keeper's goroutine
// alone uses it.
type changesLog struct {
	calls workspace.Calls
	path  string
	// base is the digest of the draft it belongs to; "" for none.
	base string
	// last is the digest of the newest line, size how long the file is.
	last string
	size int64
	file workspace.Handle
	// there is set while a file may exist.
	there bool
}

// begin starts anew behind a draft that was written whole.
func (l *changesLog) begin(base string) error {
	l.base = base
	return l.remove()
}

// add appends changes and makes them durable. After a failure the next draft
// has to be whole.
func (l *changesLog) add(r changeRecord) error {
	body, err := json.Marshal(r)
	if err != nil {
		return internal("keep changes", err)
	}
	line, sum := changesLine(l.last, body)
	if l.file == nil {
		first := changesMagic + l.base + "\n"
		line, sum = changesLine(l.base, body)
		line = append([]byte(first), line...)
		if err := l.create(); err != nil {
			return err
		}
	}
	if _, err := l.file.WriteAt(line, l.size); err != nil {
		return ownFault("keep changes", l.path, err)
	}
	if err := l.file.Sync(); err != nil {
		return ownFault("keep changes", l.path, err)
	}
	l.last, l.size = sum, l.size+int64(len(line))
	return nil
}

func (l *changesLog) create() error {
	dir, err := l.calls.OpenDir(filepath.Dir(l.path))
	if err != nil {
		return ownFault("keep changes", l.path, err)
	}
	defer closeDir(dir)
	l.there = true
	f, err := dir.Open(filepath.Base(l.path), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return ownFault("keep changes", l.path, err)
	}
	l.file, l.size = f, 0
	if err := dir.Sync(); err != nil {
		return ownFault("keep changes", l.path, err)
	}
	return nil
}

// remove removes the file of changes.
func (l *changesLog) remove() error {
	l.close()
	if !l.there {
		return nil
	}
	if err := os.Remove(l.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return internal("remove changes", err)
	}
	l.there = false
	return nil
}

// close lets the file go; each line is durable already.
func (l *changesLog) close() {
	if l.file != nil {
		_ = l.file.Close()
	}
	l.file, l.size, l.last = nil, 0, ""
}

// changesLine is one line and its digest.
func changesLine(last string, body []byte) (line []byte, sum string) {
	h := sha256.New()
	_, _ = h.Write([]byte(last)) // a hash never fails to write
	_, _ = h.Write(body)
	sum = hex.EncodeToString(h.Sum(nil))
	line = make([]byte, 0, len(sum)+len(body)+2)
	line = append(append(append(line, sum...), ' '), body...)
	return append(line, '\n'), sum
}

// replay makes the changes beside the draft at path, which has the digest base,
// to its state. What does not fit ends it.
func replay(path, base string, st *state) {
	data, err := os.ReadFile(changesPath(path))
	if err != nil {
		return
	}
	first, rest, whole := bytes.Cut(data, []byte("\n"))
	if !whole || string(first) != changesMagic+base {
		return
	}
	last := base
	for {
		line, more, whole := bytes.Cut(rest, []byte("\n"))
		said, body, _ := bytes.Cut(line, []byte(" "))
		_, sum := changesLine(last, body)
		if !whole || string(said) != sum {
			return
		}
		var r changeRecord
		if json.Unmarshal(body, &r) != nil {
			return
		}
		lines := st.lines
		for _, c := range r.Changes {
			if lines, err = lines.ApplyWithEndings(c.Edits, c.Endings); err != nil {
				return
			}
		}
		st.lines, st.anchor, st.head = lines, clamp(r.Anchor, lines), clamp(r.Head, lines)
		st.restoredAtMs = r.AtMs
		rest, last = more, sum
	}
}

// changesPath is the file of changes beside the draft at path.
func changesPath(path string) string { return strings.TrimSuffix(path, draftExt) + changesExt }

// ownFault names what one of the program's own files refuses.
func ownFault(op, path string, err error) error {
	return fmt.Errorf("%s: %w", op, workspace.OwnFault(op, path, err))
}
