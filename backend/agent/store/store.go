// Package store is the SQLite journal of the agent host: sessions, runs, tool
// calls, proposals, events, the send log, what was learned of models, and the
// files of outputs that are too large for it. It implements core.Journal and is
// the only importer of the driver. It knows no protocol, no model and no
// document.
//
// One goroutine owns the one connection that writes. Changes that wait at the
// same time share a transaction, each in a savepoint of its own, so that many
// of them cost one sync to disk. A change and its events are one transaction;
// the answer and the events follow the commit (R4, R5). A second goroutine
// publishes committed events in the order of their seq. Reads have their own
// connections and see what is committed.
//
// The invariant that matters: nothing is answered or published that a crash
// could take back, and after a commit that went wrong nothing more is written.
package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// Causes of a store_failed when a database cannot be opened.
var (
	// ErrDamaged: the file is no database, not ours, or fails its check. It
	// was not touched.
	ErrDamaged = errors.New("database is damaged")
	// ErrNewer: a newer program wrote the file. It was not touched.
	ErrNewer = errors.New("database was written by a newer program")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
)

// Config says how to open a Store. Only Path is needed.
type Config struct {
	// Path of the database file. Beside it lie its log files, a lock file and,
	// after a migration, a backup. The folder must exist.
	Path string
	// BootID names this start; empty makes one. It must differ between starts.
	BootID string
	// Log gets lifecycle and failures, never content; nil discards.
	Log *slog.Logger
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// NewID makes identifiers; nil makes random ones.
	NewID func() string
	// OnEvent gets every event that is committed after Open, in seq order,
	// from one goroutine; nil for none. It may block: what waits stays in the
	// database, not in memory.
	OnEvent func(core.Event)
	// OnFail is told once, after the last committed event was published, that
	// the store can write no more; nil for none. The fault is store_failed or
	// disk_full.
	OnFail func(err *fault.Error, lastSeq int64)
	// LockWait is how long to wait for another live Runner; 0 means 10 s.
	LockWait time.Duration
	// MaxQueued is how many runs of one kind may wait; 0 means 8.
	MaxQueued int
	// Artifacts is the folder of files that are too large for the database;
	// empty means "artifacts" beside it. It is made when it is needed, and what
	// nothing refers to is removed from it.
	Artifacts string
	// ArtifactsPerRun and ArtifactsInAll limit what these files hold together,
	// in bytes; 0 means DefaultArtifactsPerRun and DefaultArtifactsInAll. What
	// goes to make room are logs and caches, the oldest first.
	ArtifactsPerRun int64
	ArtifactsInAll  int64
	// KeepRewrites is how long the events of rewrites are kept after they
	// ended; 0 means DefaultKeepRewrites, below 0 for ever. Those of
	// conversations and of open proposals stay.
	KeepRewrites time.Duration
	// KeepContexts is of how many runs Contexts are kept; 0 means
	// DefaultKeepContexts.
	KeepContexts int
	// KeepSends is how long an entry of the send log is kept, 0 for
	// DefaultKeepSends and below 0 for ever; MaxSends and SendBytes are how many
	// there are and how much their bodies take, 0 for DefaultSends and
	// DefaultSendBytes.
	KeepSends time.Duration
	MaxSends  int
	SendBytes int64
}

// Store is a core.Journal in one SQLite file. Its methods may be called from
// any goroutine. A method that changes something returns when the change is
// committed; once its turn has come a cancelled ctx no longer stops it.
type Store struct {
	cfg    Config
	log    *slog.Logger
	lock   *os.File
	writer *sql.DB
	reader *sql.DB
	remote bool

	jobs    chan job
	closing chan struct{}
	// wake has room for one; the publisher looks at committed after each.
	wake chan struct{}
	// drained is closed when the writer has ended and nothing more commits.
	drained chan struct{}
	wg      sync.WaitGroup
	close   sync.Once
	closed  error

	committed atomic.Int64
	failure   atomic.Pointer[fault.Error]
}

var _ core.Journal = (*Store)(nil)

// Open opens or creates a database. It blocks while another Runner holds it,
// at most LockWait, and then gives busy. A file that is damaged or newer gives
// store_failed and is left alone; an older one is backed up and migrated. Call
// Recover before anything else, and Close at the end.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	if cfg.BootID == "" {
		cfg.BootID = rand.Text()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = rand.Text
	}
	if cfg.LockWait == 0 {
		cfg.LockWait = 10 * time.Second
	}
	if cfg.MaxQueued == 0 {
		cfg.MaxQueued = 8
	}
	if cfg.ArtifactsPerRun == 0 {
		cfg.ArtifactsPerRun = DefaultArtifactsPerRun
	}
	if cfg.ArtifactsInAll == 0 {
		cfg.ArtifactsInAll = DefaultArtifactsInAll
	}
	if cfg.KeepRewrites == 0 {
		cfg.KeepRewrites = DefaultKeepRewrites
	}
	if cfg.KeepContexts == 0 {
		cfg.KeepContexts = DefaultKeepContexts
	}
	if cfg.KeepSends == 0 {
		cfg.KeepSends = DefaultKeepSends
	}
	if cfg.MaxSends == 0 {
		cfg.MaxSends = DefaultSends
	}
	if cfg.SendBytes == 0 {
		cfg.SendBytes = DefaultSendBytes
	}
	s := &Store{
		cfg: cfg, log: cfg.Log,
		jobs: make(chan job), closing: make(chan struct{}),
		wake: make(chan struct{}, 1), drained: make(chan struct{}),
	}
	if err := s.open(ctx); err != nil {
		_ = s.release() // why the store did not open says more
		return nil, err
	}
	return s, nil
}

// BootID names this start.
func (s *Store) BootID() string { return s.cfg.BootID }

// OnNetworkDisk reports whether the file lies on a network file system, where
// its locks cannot be trusted (R12).
func (s *Store) OnNetworkDisk() bool { return s.remote }

// LastSeq is the seq of the last committed event; 0 when there is none.
func (s *Store) LastSeq() int64 { return s.committed.Load() }

// Failed returns why the store can write no more, nil while it can.
func (s *Store) Failed() *fault.Error { return s.failure.Load() }

// Close finishes the changes it has begun, publishes what is committed and
// releases the file. Later calls return the first result.
func (s *Store) Close() error {
	s.close.Do(func() {
		close(s.closing)
		s.wg.Wait()
		s.closed = s.release()
	})
	return s.closed
}

// release closes what Open has opened so far.
func (s *Store) release() error {
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fault.New(fault.StoreFailed, "close store", err)
	}
	return nil
}
