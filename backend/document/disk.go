package document

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/workspace"
)

// DiskState is how a document's file stands to its baseline.
type DiskState string

// The states of a file.
const (
	// DiskSame: it holds the baseline's bytes.
	DiskSame DiskState = "same"
	// DiskChanged: it holds other bytes.
	DiskChanged DiskState = "changed"
	// DiskMissing: it is gone, or what has its name is no file.
	DiskMissing DiskState = "missing"
	// DiskMoved is for a [DiskChange] only: the document followed its file to
	// another name.
	DiskMoved DiskState = "moved"
)

// DiskChange tells that a document's file changed outside, or came back.
type DiskChange struct {
	State DiskState
	// Document is as it stands now; it has the new path when it moved.
	Document Info
	AtMs     int64
}

const (
	// defaultSettle is how long a change has to last until it is told: other
	// programs remove and make anew, or empty and fill.
	defaultSettle = 80 * time.Millisecond
	// maxRounds is how often one that goes on changing is looked at again.
	maxRounds = 12
	// tick is the coarsest clock of a file system. A file that was last written
	// within one before it was read can have been written again with the same
	// time.
	tick = 2 * time.Second
)

// fresh reports whether stat is that of the baseline, so that the file need not
// be read.
func (b baseline) fresh(stat workspace.Stat) bool {
	stat.Hash = b.stat.Hash
	last := max(stat.ModTimeNs, stat.ChangeTimeNs)
	return b.stat.Hash != "" && stat == b.stat && b.seenAt.Sub(time.Unix(0, last)) >= tick
}

// reason is why the baseline is in the history.
func (b baseline) reason() Reason {
	if b.saved {
		return VersionSaved
	}
	return VersionOpened
}

// sight is a file as it was seen once.
type sight struct {
	state DiskState
	// stat has no hash when the file was not read.
	stat workspace.Stat
	data []byte
	read bool
	at   time.Time
	id   workspace.Identity
	// moving says that it changed while it was read.
	moving bool
}

// tooLargeHash stands for the hash of a file that is too large to be read.
const tooLargeHash = "too large"

// see looks at a file; it is read unless it cannot have changed. A failure
// other than that there is no such file is an error.
func (s *Set) see(path string, base baseline) (sight, error) {
	g := sight{state: DiskMissing, at: time.Now()}
	f, err := s.grants.PermitRead(path)
	if err == nil {
		g.stat, err = f.Stat()
	}
	if err == nil && base.fresh(g.stat) {
		g.state, g.stat.Hash, g.id = DiskSame, base.stat.Hash, base.id
		return g, nil
	}
	if err == nil {
		g.data, g.stat, err = f.Read(maxShown)
		g.read = err == nil
	}
	var after workspace.Stat
	if err == nil {
		after, err = f.Stat()
	}
	switch fault.CodeOf(err) {
	case "":
	case fault.NotFound, fault.NotAFile, fault.OutsideWorkspace:
		return sight{state: DiskMissing, at: g.at}, nil
	case fault.TooLarge:
		return sight{state: DiskChanged, stat: workspace.Stat{Hash: tooLargeHash}, at: g.at}, nil
	default:
		return sight{}, err
	}
	g.moving = after.Size != g.stat.Size || after.ModTimeNs != g.stat.ModTimeNs ||
		after.ChangeTimeNs != g.stat.ChangeTimeNs || after.Inode != g.stat.Inode
	g.state = DiskChanged
	if g.stat.Hash == base.stat.Hash {
		g.state = DiskSame
	}
	// The file can be another by now; then the next look says so.
	g.id, err = f.Identity()
	if err != nil {
		g.moving = true
	}
	return g, nil
}

// equal reports whether two looks saw the same.
func (g sight) equal(other sight) bool {
	return g.state == other.state && g.stat.Hash == other.stat.Hash && !g.moving && !other.moving
}

// told reports whether st says of its file what was seen.
func (st state) told(g sight) bool {
	if g.state == DiskChanged {
		return st.disk == DiskChanged && st.diskHash == g.stat.Hash
	}
	return st.disk == g.state
}

// Check compares the files of the open documents with their baselines and tells
// [Config].OnDisk what is new, each state of a file once. What changed is
// looked at again after a moment, so that a file which another program is just
// writing is told when that is done. paths are what is known to have changed,
// among which a document that lost its file is looked for first; nil is as
// good, only slower. All documents are compared in any case, since a file can
// have names that nobody told of. It waits until ctx ends. Faults: cancelled.
func (s *Set) Check(ctx context.Context, paths []string) error {
	if err := s.checking.take(ctx); err != nil {
		return err
	}
	defer s.checking.release()
	s.mu.Lock()
	docs := append([]*doc(nil), s.docs...)
	s.mu.Unlock()
	seen := map[*doc]sight{}
	for round := 1; len(docs) > 0; round++ {
		var again []*doc
		for _, d := range docs {
			if err := ctx.Err(); err != nil {
				return cancelled(err)
			}
			s.mu.Lock()
			st := d.state
			s.mu.Unlock()
			if st.path == "" {
				continue
			}
			g, err := s.see(st.path, st.base)
			if err != nil {
				// It may be there or not: what was told stays.
				s.log.Debug("file not compared", slog.String("code", string(fault.CodeOf(err))))
				continue
			}
			last, twice := seen[d]
			if st.told(g) && !g.moving || twice && last.equal(g) || round == maxRounds {
				if err := s.take(ctx, d, st, g, paths); err != nil {
					return err
				}
				continue
			}
			seen[d] = g
			again = append(again, d)
		}
		docs = again
		if len(docs) == 0 {
			break
		}
		select {
		case <-time.After(s.settle):
		case <-ctx.Done():
			return cancelled(ctx.Err())
		}
	}
	return nil
}

// take takes what was seen of a document's file while it was st.
func (s *Set) take(ctx context.Context, d *doc, st state, g sight, hints []string) error {
	if err := d.turn.take(ctx); err != nil {
		return err
	}
	defer d.turn.release()
	s.note(ctx, d, st, g, hints)
	return nil
}

// note makes what was seen the document's state and tells it when it is new.
// The document's turn must be held.
func (s *Set) note(ctx context.Context, d *doc, st state, g sight, hints []string) {
	moved, mine := "", false
	switch {
	case g.state == DiskMissing && !st.told(g):
		moved = s.whereTo(ctx, st, hints)
	case g.state == DiskChanged && g.read && st.readOnly == "":
		mine = hashOf(text.Encode(st.format, st.lines)) == g.stat.Hash
	}
	s.mu.Lock()
	if _, err := s.find(d.id); err != nil || d.path != st.path || d.base.stat.Hash != st.base.stat.Hash {
		// It was closed or saved meanwhile: what was seen is of the past.
		s.mu.Unlock()
		return
	}
	was := d.state
	switch {
	case moved != "":
		d.path, d.disk = moved, DiskSame
		g.state = DiskMoved
		d.touch()
	case g.state == DiskSame, mine && d.version == st.version:
		// The same bytes, maybe at another time or in another file; or ours,
		// which something else wrote.
		d.base.stat, d.base.seenAt, d.base.id = g.stat, g.at, g.id
		if mine {
			d.base.format, d.base.lines, d.base.unknown = st.format, st.lines, false
			g.state = DiskSame
		}
		if mine || d.disk != DiskSame {
			d.disk, d.diskHash = DiskSame, ""
			d.touch()
		}
	case !st.told(g):
		d.disk, d.diskHash = g.state, g.stat.Hash
		// The mirror may be the last copy now.
		d.touch()
	}
	isNew := g.state == DiskMoved || d.disk != was.disk || d.diskHash != was.diskHash || d.dirty != was.dirty
	info := d.info(d.id)
	s.mu.Unlock()
	if moved != "" {
		if err := s.history.moved(ctx, st.path, moved); err != nil {
			s.log.Warn("history not moved", slog.String("code", string(fault.CodeOf(err))))
		}
	}
	if isNew {
		s.onDisk(DiskChange{State: g.state, Document: info, AtMs: s.now().UnixMilli()})
	}
}

// Bounds of the search for a file that was renamed.
const (
	maxSearched = 20_000
	maxDepth    = 12
)

// whereTo finds the file of a document that has another name now: by its
// identity and its bytes, among the hints, then in its folder, then in the
// workspace. It returns "" when there is none, or when it may not be reached, or
// when it was thrown away: into the trash nobody follows it.
func (s *Set) whereTo(ctx context.Context, st state, hints []string) string {
	if st.base.id == (workspace.Identity{}) || st.base.stat.Hash == "" {
		return ""
	}
	is := func(path string) bool {
		if path == st.path || workspace.InTrash(path) {
			return false
		}
		f, err := s.grants.PermitRead(path)
		if err != nil {
			return false
		}
		// A removed file's number is soon given to another one.
		if id, err := f.Identity(); err != nil || id != st.base.id {
			return false
		}
		_, stat, err := f.Read(maxShown)
		if err != nil || stat.Hash != st.base.stat.Hash {
			return false
		}
		open, err := s.holding(f)
		return err == nil && open == nil
	}
	for _, path := range hints {
		if filepath.IsAbs(path) && is(filepath.Clean(path)) {
			return filepath.Clean(path)
		}
	}
	left := maxSearched
	for _, at := range []struct {
		path  string
		depth int
	}{{filepath.Dir(st.path), 1}, {s.grants.Workspace(), maxDepth}} {
		if path := s.searchFor(ctx, at.path, at.depth, &left, is); path != "" {
			return path
		}
	}
	return ""
}

// searchFor looks for a file below a folder, the nearest first. left is how
// many entries may still be looked at.
func (s *Set) searchFor(ctx context.Context, folder string, depth int, left *int, is func(string) bool) string {
	if folder == "" {
		return ""
	}
	level := []string{folder}
	for ; depth > 0 && len(level) > 0; depth-- {
		var next []string
		for _, path := range level {
			f, err := s.grants.PermitList(path)
			if err != nil {
				continue
			}
			entries, _, err := f.List(*left)
			if err != nil {
				continue
			}
			*left -= len(entries)
			for _, e := range entries {
				switch {
				case ctx.Err() != nil || *left < 0:
					return ""
				case e.Folder && !e.Ignored:
					next = append(next, e.Path)
				case !e.Folder && is(e.Path):
					return e.Path
				}
			}
		}
		level = next
	}
	return ""
}
