package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// maxBatch is how many changes share a transaction at most.
const maxBatch = 64

// job is one change on its way to the writer.
type job struct {
	op string
	do func(ctx context.Context, t *tx) error
	// done has room for one, so that the writer never waits.
	done chan error
}

// tx is what a change works with: its statements run in the one open
// transaction, and the events it emits are committed with it.
type tx struct {
	prepared
	s   *Store
	now int64
	// last is the seq of the last event of the transaction.
	last int64
	// purged says that something was deleted for good; see boundLog.
	purged bool
	// nextLog is when the log is looked at again.
	nextLog time.Time
}

// change runs do in a transaction and returns when that is committed. Errors
// are *fault.Error. A failed do leaves nothing behind.
func (s *Store) change(ctx context.Context, op string, do func(ctx context.Context, t *tx) error) error {
	j := job{op: op, do: do, done: make(chan error, 1)}
	select {
	case <-s.closing:
		return fault.New(fault.StoreFailed, op, ErrClosed)
	default:
	}
	select {
	case s.jobs <- j:
	case <-s.closing:
		return fault.New(fault.StoreFailed, op, ErrClosed)
	case <-ctx.Done():
		return fault.New(fault.Cancelled, op, context.Cause(ctx))
	}
	return <-j.done
}

// write owns the writing connection until the store is closed.
func (s *Store) write(conn *sql.Conn) {
	defer close(s.drained)
	ctx := context.Background()
	t := &tx{s: s, prepared: prepared{conn: conn, stmts: map[string]*sql.Stmt{}}}
	defer func() {
		if err := errors.Join(t.closeStmts(), conn.Close()); err != nil {
			s.log.Warn("close the writing connection", "err", err)
		}
	}()
	tick := time.NewTicker(dropEvery)
	defer tick.Stop()
	for {
		select {
		case j := <-s.jobs:
			s.batch(ctx, t, s.gather(j))
		case <-tick.C:
			s.batch(ctx, t, []job{daily()})
		case <-s.closing:
			return
		}
	}
}

// gather takes what else is waiting now.
func (s *Store) gather(first job) []job {
	batch := []job{first}
	for len(batch) < maxBatch {
		select {
		case j := <-s.jobs:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// batch runs jobs in one transaction and answers them after the commit.
func (s *Store) batch(ctx context.Context, t *tx, batch []job) {
	if f := s.failure.Load(); f != nil {
		for _, j := range batch {
			j.done <- refused(j.op, f)
		}
		return
	}
	errs := make([]error, len(batch))
	err := s.commit(ctx, t, batch, errs)
	if err != nil {
		f, _ := classify("commit", err)
		if f.Code == fault.Internal || f.Code == fault.Cancelled {
			// Whatever it was, it happened to the transaction itself.
			f = fault.New(fault.StoreFailed, "commit", err)
		}
		if f.Code != fault.Busy {
			s.fail(f)
		}
		for i, j := range batch {
			errs[i] = refused(j.op, f)
		}
		// The connection may be inside a transaction or not; either is fine.
		if _, err := t.conn.ExecContext(ctx, "ROLLBACK"); err != nil {
			s.log.Debug("rollback", "err", err)
		}
	}
	if err == nil {
		s.boundLog(ctx, t)
	}
	for i, j := range batch {
		j.done <- errs[i]
	}
}

// commit fills errs with what each job came to. An error of its own means that
// none of them is committed.
func (s *Store) commit(ctx context.Context, t *tx, batch []job, errs []error) error {
	if _, err := t.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	t.last = s.committed.Load()
	for i, j := range batch {
		before := t.last
		if _, err := t.exec(ctx, "SAVEPOINT change"); err != nil {
			return err
		}
		t.now = s.cfg.Now().UnixMilli()
		if err := s.safely(ctx, t, j); err != nil {
			f, fatal := classify(j.op, err)
			if fatal {
				return err
			}
			errs[i] = f
			t.last = before
			if _, err := t.exec(ctx, "ROLLBACK TO change"); err != nil {
				return err
			}
		}
		if _, err := t.exec(ctx, "RELEASE change"); err != nil {
			return err
		}
	}
	if _, err := t.exec(ctx, "COMMIT"); err != nil {
		return err
	}
	if t.last > s.committed.Load() {
		s.committed.Store(t.last)
		s.signal()
	}
	return nil
}

// safely turns a panic of a change into internal.
func (s *Store) safely(ctx context.Context, t *tx, j job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("change panicked", "op", j.op, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fault.New(fault.Internal, j.op, fmt.Errorf("panic: %v", p))
		}
	}()
	return j.do(ctx, t)
}

// fail ends all writing.
func (s *Store) fail(f *fault.Error) {
	if s.failure.CompareAndSwap(nil, f) {
		s.log.Error("store can write no more", "err", f, "lastSeq", s.committed.Load())
		s.signal()
	}
}

// refused is the answer to a change that was not committed.
func refused(op string, f *fault.Error) error {
	return &fault.Error{Code: f.Code, Op: op, Detail: f.Detail, Err: f}
}

// signal makes the publisher look.
func (s *Store) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// emit adds an event to the transaction.
func (t *tx) emit(ctx context.Context, typ core.EventType, session core.SessionID, run core.RunID, call core.ToolCallID, payload any) error {
	b, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encode %s: %w", typ, err)
	}
	r, err := t.run(ctx, qInsertEvent, orNull(session), orNull(run), orNull(call), string(typ), eventVersion, t.now, t.s.cfg.BootID, string(b))
	if err != nil {
		return fmt.Errorf("emit %s: %w", typ, err)
	}
	if t.last, err = r.LastInsertId(); err != nil {
		return fmt.Errorf("emit %s: %w", typ, err)
	}
	return nil
}

// eventVersion is the version of every payload so far.
const eventVersion = 1

// isDamage reports whether an SQLite result code says that the file itself is
// broken.
func isDamage(code int) bool {
	return code&0xff == sqlite3.SQLITE_CORRUPT || code&0xff == sqlite3.SQLITE_NOTADB
}

// classify turns an error of a change into a fault. Fatal ones mean that the
// database cannot be trusted to take a commit.
func classify(op string, err error) (f *fault.Error, fatal bool) {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f, false
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return fault.New(fault.Cancelled, op, err), false
		}
		return fault.New(fault.Internal, op, err), false
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return fault.New(fault.DiskFull, op, err), true
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fault.New(fault.Busy, op, err), false
	case sqlite3.SQLITE_INTERRUPT:
		return fault.New(fault.Cancelled, op, err), false
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_TOOBIG,
		sqlite3.SQLITE_RANGE, sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_SCHEMA:
		return fault.New(fault.Internal, op, err), false
	}
	return fault.New(fault.StoreFailed, op, err), true
}
