package store

import (
	"context"
	"os"
	"time"
)

// What is kept when Config says nothing.
const (
	// DefaultArtifactsPerRun and DefaultArtifactsInAll are in bytes.
	DefaultArtifactsPerRun = 64 << 20
	DefaultArtifactsInAll  = 512 << 20
	// DefaultKeepRewrites is how long the events of rewrites are kept.
	DefaultKeepRewrites = 30 * 24 * time.Hour
	// DefaultKeepContexts is in runs.
	DefaultKeepContexts = 200
)

// The log of the database is emptied when it has grown past logLimit bytes,
// which happens when readers kept the usual checkpoints from ending. It waits
// for them at most logWait, and tries again after logAgain.
const (
	logLimit = 16 << 20
	logWait  = "PRAGMA busy_timeout=200"
	logUsual = "PRAGMA busy_timeout=5000"
	logAgain = time.Second
)

// dropEvery is how often a store that stays open lets go what is old.
const dropEvery = 24 * time.Hour

// dropPage is how many sessions lose their events in one transaction.
const dropPage = 50

// dropOldEvents lets the events of rewrites go that ended long ago, and have no
// proposal that is still open. Conversations keep theirs (R11).
func (s *Store) dropOldEvents(ctx context.Context) error {
	for {
		n := 0
		err := s.change(ctx, "drop old events", func(ctx context.Context, t *tx) (err error) {
			n, err = t.dropOldEvents(ctx)
			return err
		})
		if err != nil || n < dropPage {
			return err
		}
	}
}

// dropOldEvents does so for some sessions and returns for how many.
func (t *tx) dropOldEvents(ctx context.Context) (int, error) {
	if t.s.cfg.KeepRewrites < 0 {
		return 0, nil
	}
	before := t.now - t.s.cfg.KeepRewrites.Milliseconds()
	old, err := all(ctx, t, scanString, qOldRewrites, before, before, dropPage)
	if err != nil {
		return 0, err
	}
	for _, id := range old {
		if _, err := t.exec(ctx, qDropEventsBefore, id, before); err != nil {
			return 0, err
		}
	}
	return len(old), nil
}

// dropOldRecords lets entries of the send log and facts of models go that are
// past their time.
func (t *tx) dropOldRecords(ctx context.Context) error {
	if err := t.dropOldSends(ctx); err != nil {
		return err
	}
	return t.dropOldFacts(ctx)
}

// daily is the change that the writer makes by itself once a day.
func daily() job {
	return job{
		op: "drop old events", done: make(chan error, 1),
		do: func(ctx context.Context, t *tx) error {
			if _, err := t.dropOldEvents(ctx); err != nil {
				return err
			}
			return t.dropOldRecords(ctx)
		},
	}
}

// checkpoint moves the log into the database and empties it, as far as readers
// let it within logWait.
func (s *Store) checkpoint(ctx context.Context, t *tx) {
	if _, err := t.exec(ctx, logWait); err != nil {
		s.log.Warn("checkpoint", "err", err)
		return
	}
	busy, _, err := one(ctx, t, scanCheckpoint, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err != nil || busy > 0 {
		s.log.Debug("checkpoint not finished", "err", err)
	}
	if _, err := t.exec(ctx, logUsual); err != nil {
		s.log.Warn("checkpoint", "err", err)
	}
}

func scanCheckpoint(r scanner) (busy int64, err error) {
	var pages, moved int64
	err = r.Scan(&busy, &pages, &moved)
	return busy, err
}

// boundLog keeps the log of the database small (R12). The connection must be
// outside of a transaction.
func (s *Store) boundLog(ctx context.Context, t *tx) {
	if t.purged {
		// What was deleted stands in the log until it is emptied.
		t.purged = false
		s.checkpoint(ctx, t)
		return
	}
	if now := s.cfg.Now(); !now.Before(t.nextLog) {
		if st, err := os.Stat(s.cfg.Path + "-wal"); err == nil && st.Size() > logLimit {
			t.nextLog = now.Add(logAgain)
			s.checkpoint(ctx, t)
		}
	}
}
