package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"

	"galley/backend/fault"
)

const opOpen = "open store"

// open takes the lock, checks the file before anything writes to it, opens the
// connections, migrates and starts the goroutines.
func (s *Store) open(ctx context.Context) error {
	path, err := filepath.Abs(s.cfg.Path)
	if err != nil {
		return fault.New(fault.StoreFailed, opOpen, err)
	}
	s.cfg.Path = path
	if s.cfg.Artifacts == "" {
		s.cfg.Artifacts = filepath.Join(filepath.Dir(path), "artifacts")
	}
	s.remote = onNetworkDisk(filepath.Dir(path))
	if s.remote {
		s.log.Warn("database is on a network disk")
	}
	if err := s.acquire(ctx); err != nil {
		return err
	}
	from, err := s.inspect(ctx)
	if err != nil {
		return err
	}
	if from < 0 {
		// The log files get the database's own mode from SQLite.
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return openFault(err)
		}
		if err := f.Close(); err != nil {
			return openFault(err)
		}
	}
	if s.writer, err = openDB(path, writerPragmas(), "_txlock=immediate"); err != nil {
		return openFault(err)
	}
	s.writer.SetMaxOpenConns(1)
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return openFault(err)
	}
	if err := s.migrate(ctx, conn, from); err != nil {
		return errors.Join(err, conn.Close())
	}
	if s.reader, err = openDB(path, readerPragmas()); err != nil {
		return errors.Join(openFault(err), conn.Close())
	}
	s.reader.SetMaxOpenConns(4)
	last, _, err := one(ctx, plain{conn}, scanInt, qLastSeq)
	if err != nil {
		return errors.Join(openFault(err), conn.Close())
	}
	s.committed.Store(last)
	s.wg.Go(func() { s.write(conn) })
	s.wg.Go(func() { s.publish(last) })
	s.log.Info("store opened", "boot", s.cfg.BootID, "lastSeq", last)
	return nil
}

// acquire takes the lock file of the database.
func (s *Store) acquire(ctx context.Context) error {
	f, err := os.OpenFile(s.cfg.Path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return openFault(err)
	}
	s.lock = f
	timeout := time.NewTimer(s.cfg.LockWait)
	defer timeout.Stop()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		ok, err := tryLock(f)
		if err != nil {
			return openFault(err)
		}
		if ok {
			return nil
		}
		select {
		case <-again.C:
		case <-timeout.C:
			return fault.New(fault.Busy, opOpen, nil)
		case <-ctx.Done():
			return fault.New(fault.Cancelled, opOpen, context.Cause(ctx))
		}
	}
}

// inspect returns the schema version of the file, -1 when there is none yet.
// It reads only: a file that cannot be used is left as it is.
func (s *Store) inspect(ctx context.Context) (version int, err error) {
	st, err := os.Stat(s.cfg.Path)
	if errors.Is(err, os.ErrNotExist) || err == nil && st.Size() == 0 {
		return -1, nil
	}
	if err != nil {
		return 0, openFault(err)
	}
	// Without a log the file alone is the database and nothing at all needs to
	// be made beside it; with one the log is part of it.
	mode := "mode=ro"
	if _, err := os.Stat(s.cfg.Path + "-wal"); errors.Is(err, os.ErrNotExist) {
		mode = "immutable=1"
	}
	db, err := openDB(s.cfg.Path, nil, mode)
	if err != nil {
		return 0, openFault(err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, openFault(err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	q := plain{conn}
	v, _, err := one(ctx, q, scanInt, "PRAGMA user_version")
	if err != nil {
		return 0, openFault(err)
	}
	if int(v) > len(migrations()) {
		return 0, &fault.Error{Code: fault.StoreFailed, Op: opOpen, Detail: "newer", Err: fmt.Errorf("schema %d: %w", v, ErrNewer)}
	}
	check, err := all(ctx, q, scanString, "PRAGMA quick_check")
	if err != nil {
		return 0, openFault(err)
	}
	if len(check) != 1 || check[0] != "ok" {
		return 0, damaged(fmt.Errorf("quick_check: %d findings", len(check)))
	}
	if v == 0 {
		tables, _, err := one(ctx, q, scanInt, "SELECT count(*) FROM sqlite_schema")
		if err != nil {
			return 0, openFault(err)
		}
		if tables > 0 {
			return 0, damaged(errors.New("tables without a schema version"))
		}
	}
	return int(v), nil
}

// openFault turns a failure to open into a fault.
func openFault(err error) error {
	f, _ := classify(opOpen, err)
	if e, ok := errors.AsType[*sqlite.Error](err); ok && isDamage(e.Code()) {
		return damaged(err)
	}
	if f.Code == fault.Internal {
		f = fault.New(fault.StoreFailed, opOpen, err)
	}
	return f
}

func damaged(err error) error {
	return &fault.Error{Code: fault.StoreFailed, Op: opOpen, Detail: "damaged", Err: fmt.Errorf("%w: %w", ErrDamaged, err)}
}

// writerPragmas: every commit is on disk when it returns, on macOS past the
// drive's cache too; the log stays small; what is deleted is overwritten.
func writerPragmas() []string {
	return []string{
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "fullfsync(1)", "checkpoint_fullfsync(1)",
		"foreign_keys(1)", "wal_autocheckpoint(1000)", "journal_size_limit(16777216)", "trusted_schema(0)",
		"secure_delete(1)",
	}
}

func readerPragmas() []string {
	return []string{"busy_timeout(5000)", "query_only(1)", "trusted_schema(0)"}
}

// openDB returns a pool for an absolute path; it opens no connection yet.
func openDB(path string, pragmas []string, options ...string) (*sql.DB, error) {
	for _, p := range pragmas {
		options = append(options, "_pragma="+p)
	}
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a drive letter
	}
	u := url.URL{Scheme: "file", Path: p, RawQuery: strings.Join(options, "&")}
	c, err := sqlite.NewConnector(u.String())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}
