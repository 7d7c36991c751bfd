package document

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
)

// Reason says why a version of a file was kept.
type Reason string

// The reasons.
const (
	// VersionSaved: it was saved here.
	VersionSaved Reason = "saved"
	// VersionOpened: it was there before the first edit.
	VersionOpened Reason = "opened"
	// VersionReplaced: a reviewed set wrote over it.
	VersionReplaced Reason = "replaced"
	// VersionOverwritten: it was on disk, and the person saved over it.
	VersionOverwritten Reason = "overwritten"
	// VersionDiscarded: it was unsaved, and the person took the file's.
	VersionDiscarded Reason = "discarded"
)

// Valid reports whether r is one of the reasons.
func (r Reason) Valid() bool {
	switch r {
	case VersionSaved, VersionOpened, VersionReplaced, VersionOverwritten, VersionDiscarded:
		return true
	}
	return false
}

// lost reports whether the version may be nowhere else: somebody's text gave
// way to it.
func (r Reason) lost() bool { return r == VersionOverwritten || r == VersionDiscarded }

// history keeps earlier versions of files in a folder of its own:
//
//	<key of the path>/<time>-<hash>.version   what is known of one version
//	<key of the path>/<hash>.gz               its bytes, once for all versions
//
// Each file is written whole, made durable and renamed into place, the bytes
// before what names them, so that a crash leaves a version or none. What is
// damaged costs itself only.
type history struct {
	calls workspace.Calls
	dir   string
	log   *slog.Logger
	now   func() time.Time
	// gone reports whether no file that may be looked at has this path.
	gone func(path string) bool

	// ofFile is the bound of one file's versions in stored bytes; maxOfFile.
	ofFile int64

	// later counts the versions that are being kept in the background.
	later sync.WaitGroup
	// mu guards newest, which is closed when the last version that was begun in
	// the background is kept, and all before it; nil before the first.
	mu     sync.Mutex
	newest chan struct{}
	// turn guards the folders and what follows; it may be held while files are
	// read and written.
	turn turn
	// known is nil until the folders were looked at for the first time.
	known map[string]origin
}

// origin is which file a folder's newest version is of.
type origin struct {
	path, hash string
	id         workspace.Identity
}

// head is what is known of a version.
type head struct {
	// Path was the file's when the version was kept.
	Path   workspace.StoredPath `json:"path"`
	AtMs   int64                `json:"atMs"`
	Reason Reason               `json:"reason"`
	// Hash and Bytes are those of the bytes, uncompressed.
	Hash  string `json:"hash"`
	Bytes int    `json:"bytes"`
	// Length is in UTF-16 units; it and Endings are empty for Problem.
	Length  int              `json:"length"`
	Endings []text.EndingRun `json:"endings"`
	// Problem is why the bytes are no text that can be edited, or "".
	Problem fault.Code `json:"problem"`
	// Volume and File are the file's identity after that, for finding it again
	// when its folder was moved.
	Volume uint64 `json:"volume"`
	File   uint64 `json:"file"`
}

// content is bytes to keep and what is known of them.
type content struct {
	data    []byte
	hash    string
	length  int
	endings []text.EndingRun
	problem fault.Code
}

func contentOf(data []byte) content {
	c := content{data: data, hash: hashOf(data), endings: []text.EndingRun{}}
	_, lines, err := text.Decode(data)
	if err != nil {
		c.problem = fault.CodeOf(err)
		return c
	}
	c.length, c.endings = lines.Len(), lines.Endings()
	return c
}

// contentOfState is the content that saving a state would write.
func contentOfState(format text.Format, lines text.Lines) content {
	data := text.Encode(format, lines)
	return content{data: data, hash: hashOf(data), length: lines.Len(), endings: lines.Endings()}
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

const (
	versionExt   = ".version"
	contentExt   = ".gz"
	versionMagic = "galley version 1 "
)

// versionID is the time in ms and the beginning of the content's hash.
var versionID = regexp.MustCompile(`^([0-9]{13})-([0-9a-f]{16})$`)

// pathKey names the folder of a file's versions and tells nothing of the path.
func pathKey(path string) string { return hashOf([]byte(path))[:32] }

// mark is one version as its name tells it.
type mark struct {
	id   string
	atMs int64
	// hash is the first 16 digits of the content's.
	hash string
}

func parseMark(id string) (mark, bool) {
	m := versionID.FindStringSubmatch(id)
	if m == nil {
		return mark{}, false
	}
	at, err := strconv.ParseInt(m[1], 10, 64)
	return mark{id: id, atMs: at, hash: m[2]}, err == nil
}

// shelf is what a folder of versions holds.
type shelf struct {
	// marks are oldest first.
	marks []mark
	// sizes are the stored bytes of each content, by its whole hash.
	sizes map[string]int64
}

// size returns the whole hash and the stored size of what a mark names.
func (s shelf) size(m mark) (hash string, size int64) {
	for hash, size := range s.sizes {
		if strings.HasPrefix(hash, m.hash) {
			return hash, size
		}
	}
	return "", 0
}

func (s shelf) holds(hash string) bool {
	return slices.ContainsFunc(s.marks, func(m mark) bool { return strings.HasPrefix(hash, m.hash) })
}

// look lists a folder of versions; one that is not there is empty.
func (h *history) look(key string) (shelf, error) {
	s := shelf{sizes: map[string]int64{}}
	dir, err := h.calls.OpenDir(filepath.Join(h.dir, key))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, historyFault("list history", err)
	}
	defer closeDir(dir)
	entries, err := dir.List()
	if err != nil {
		return s, historyFault("list history", err)
	}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), versionExt); ok {
			if m, ok := parseMark(id); ok {
				s.marks = append(s.marks, m)
			}
		}
		if hash, ok := strings.CutSuffix(e.Name(), contentExt); ok && len(hash) == 2*sha256.Size {
			info, err := e.Info()
			if err == nil {
				s.sizes[hash] = info.Size()
			}
		}
	}
	slices.SortFunc(s.marks, func(a, b mark) int { return strings.Compare(a.id, b.id) })
	return s, nil
}

func closeDir(d workspace.Dir) { _ = d.Close() } // nothing waits to be written in it

// subject is the file that a version is of.
type subject struct {
	path string
	id   workspace.Identity
	// hash is that of the file's bytes as they were last known.
	hash string
}

// keep keeps a version at a time. Bytes that the newest version has already
// are not kept again. It waits for its turn until ctx ends.
func (h *history) keep(ctx context.Context, of subject, c content, reason Reason, atMs int64) error {
	// Before the turn is taken, since it can take long.
	packed, err := pack(c.data)
	if err != nil {
		return internal("keep version", err)
	}
	if err := h.turn.take(ctx); err != nil {
		return err
	}
	defer h.turn.release()
	key, err := h.find(of)
	if err != nil {
		return err
	}
	s, err := h.look(key)
	if err != nil {
		return err
	}
	for i, m := range s.marks {
		// The newest, or one that was kept since by the save after this one.
		if strings.HasPrefix(c.hash, m.hash) && (i == len(s.marks)-1 || m.atMs >= atMs) {
			return nil
		}
	}
	if n := len(s.marks); n > 0 {
		atMs = max(atMs, s.marks[n-1].atMs+1) // two in one millisecond
	}
	folder := filepath.Join(h.dir, key)
	if _, stored := s.sizes[c.hash]; !stored {
		if err := h.put(filepath.Join(folder, c.hash+contentExt), packed); err != nil {
			return err
		}
		s.sizes[c.hash] = int64(len(packed))
	}
	hd := head{
		Path: workspace.StoredPath(of.path), AtMs: atMs, Reason: reason, Hash: c.hash, Bytes: len(c.data), Length: c.length, Endings: c.endings,
		Problem: c.problem, Volume: of.id.Volume, File: of.id.File,
	}
	m := mark{id: fmt.Sprintf("%013d-%s", atMs, c.hash[:16]), atMs: atMs, hash: c.hash[:16]}
	if err := h.putHead(key, m.id, hd); err != nil {
		return err
	}
	if len(s.marks) == 0 {
		h.syncNew()
	}
	s.marks = append(s.marks, m)
	if h.known != nil {
		h.known[key] = origin{path: of.path, hash: c.hash, id: of.id}
	}
	return h.trim(key, s)
}

// syncNew makes a new folder of versions durable, and the history's own. What
// is in them is so already, and a failure costs no more than a version.
func (h *history) syncNew() {
	for _, path := range []string{h.dir, filepath.Dir(h.dir)} {
		dir, err := h.calls.OpenDir(path)
		if err == nil {
			err = errors.Join(dir.Sync(), dir.Close())
		}
		if err != nil {
			h.log.Debug("folder not synced", slog.String("code", string(fault.StoreFailed)))
		}
	}
}

// ensure keeps a version unless some version has its bytes.
func (h *history) ensure(ctx context.Context, of subject, c func() content, reason Reason, atMs int64) error {
	if err := h.turn.take(ctx); err != nil {
		return err
	}
	key, err := h.find(of)
	var s shelf
	if err == nil {
		s, err = h.look(key)
	}
	h.turn.release()
	if err != nil || s.holds(of.hash) {
		return err
	}
	return h.keep(ctx, of, c(), reason, atMs)
}

// keepLater keeps a version in the background: what it holds is on disk, so
// nothing is lost when it cannot be kept, which is logged.
func (h *history) keepLater(ctx context.Context, of subject, c func() content, reason Reason) {
	at := h.now().UnixMilli()
	done := make(chan struct{})
	h.mu.Lock()
	before := h.newest
	h.newest = done
	h.mu.Unlock()
	h.later.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		if err := h.keep(context.WithoutCancel(ctx), of, c(), reason, at); err != nil {
			h.log.Warn("version not kept", slog.String("code", string(fault.CodeOf(err))))
		}
	})
}

// settle waits for the versions whose keeping has begun in the background, so
// that a list made after a save holds what was saved.
func (h *history) settle(ctx context.Context) error {
	h.mu.Lock()
	newest := h.newest
	h.mu.Unlock()
	if newest == nil {
		return nil
	}
	select {
	case <-newest:
		return nil
	case <-ctx.Done():
		return cancelled(ctx.Err())
	}
}

func (h *history) put(path string, data []byte) error {
	if err := workspace.ReplaceFileOn(h.calls, path, data, 0o600); err != nil {
		return fmt.Errorf("keep version: %w", err)
	}
	return nil
}

func (h *history) putHead(key, id string, hd head) error {
	data, err := json.Marshal(hd)
	if err != nil {
		return internal("keep version", err)
	}
	data = append([]byte(versionMagic+hashOf(data)+"\n"), data...)
	return h.put(filepath.Join(h.dir, key, id+versionExt), data)
}

// readHead reads what is known of a version. Faults: not_found; store_failed
// when it is damaged.
func (h *history) readHead(key, id string) (head, error) {
	data, err := h.read(key, id+versionExt, maxHead)
	if err != nil {
		return head{}, err
	}
	first, body, _ := bytes.Cut(data, []byte("\n"))
	var hd head
	if string(first) != versionMagic+hashOf(body) || json.Unmarshal(body, &hd) != nil {
		return head{}, damaged()
	}
	return hd, nil
}

// maxHead bounds what is known of one version: a text whose every line ends
// differently has as many endings as lines.
const maxHead = 64 << 20

// readContent returns the bytes of a version.
func (h *history) readContent(key string, hd head) ([]byte, error) {
	packed, err := h.read(key, hd.Hash+contentExt, maxShown)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, damaged()
	}
	data, err := io.ReadAll(io.LimitReader(z, int64(hd.Bytes)+1))
	if err != nil || hashOf(data) != hd.Hash {
		return nil, damaged()
	}
	return data, nil
}

// withHash returns the bytes that a subject's hash names. Faults: not_found,
// store_failed, cancelled.
func (h *history) withHash(ctx context.Context, of subject) ([]byte, error) {
	if err := h.turn.take(ctx); err != nil {
		return nil, err
	}
	defer h.turn.release()
	key, err := h.find(of)
	if err != nil {
		return nil, err
	}
	s, err := h.look(key)
	if err != nil {
		return nil, err
	}
	for _, m := range slices.Backward(s.marks) {
		if !strings.HasPrefix(of.hash, m.hash) {
			continue
		}
		hd, err := h.readHead(key, m.id)
		if err == nil && hd.Hash == of.hash {
			return h.readContent(key, hd)
		}
	}
	return nil, fault.New(fault.NotFound, "read version", nil)
}

// read reads one of the history's own files.
func (h *history) read(key, name string, limit int64) ([]byte, error) {
	dir, err := h.calls.OpenDir(filepath.Join(h.dir, key))
	if err != nil {
		return nil, historyFault("read version", err)
	}
	defer closeDir(dir)
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, historyFault("read version", err)
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, damaged()
	}
	f, err := dir.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, historyFault("read version", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, historyFault("read version", err)
	}
	return data, nil
}

func damaged() error {
	return fault.New(fault.StoreFailed, "read version", errors.New("the version is damaged"))
}

// historyFault names what an own folder refuses.
func historyFault(op string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.NotFound, op, err)
	}
	return fault.New(fault.StoreFailed, op, err)
}

// pack compresses for speed: it stands in the way of a save.
func pack(data []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
