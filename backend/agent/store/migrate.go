package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"galley/backend/agent/crash"
	"galley/backend/fault"
)

//go:embed migration/*.sql
var migrationFiles embed.FS

// migrations returns the steps in order; step i leads from version i to i+1.
// They only ever go forward, and one that was shipped never changes.
func migrations() []string {
	names, err := fs.Glob(migrationFiles, "migration/*.sql")
	if err != nil || len(names) == 0 {
		panic(fmt.Sprintf("embedded migrations: %v", err))
	}
	slices.Sort(names)
	steps := make([]string, len(names))
	for i, name := range names {
		b, err := migrationFiles.ReadFile(name)
		if err != nil {
			panic(fmt.Sprintf("embedded migrations: %v", err))
		}
		steps[i] = string(b)
	}
	return steps
}

// migrate brings the database from a version (-1 and 0: empty) to the newest:
// backup first, then one transaction with the check inside it. A crash leaves
// the old schema or the new one.
func (s *Store) migrate(ctx context.Context, conn *sql.Conn, from int) error {
	from = max(from, 0)
	steps := migrations()
	stale, err := staleGuards(ctx, conn)
	if err != nil {
		return openFault(err)
	}
	if from == len(steps) && len(stale) == 0 {
		return nil
	}
	if from > 0 && from < len(steps) {
		backup := fmt.Sprintf("%s.v%d.bak", s.cfg.Path, from)
		if err := s.vacuumInto(ctx, conn, backup); err != nil {
			return err
		}
		s.log.Info("database backed up before migration", "from", from, "to", len(steps))
	}
	if err := s.step(ctx, conn, from, steps); err != nil {
		if _, rb := conn.ExecContext(ctx, "ROLLBACK"); rb != nil {
			s.log.Debug("rollback after a migration", "err", rb)
		}
		return openFault(fmt.Errorf("migrate from %d: %w", from, err))
	}
	return nil
}

func (s *Store) step(ctx context.Context, conn *sql.Conn, from int, steps []string) error {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for i, sql := range steps[from:] {
		if _, err := conn.ExecContext(ctx, sql); err != nil {
			return fmt.Errorf("step %d: %w", from+i+1, err)
		}
	}
	stale, err := staleGuards(ctx, conn)
	if err != nil {
		return err
	}
	for _, g := range stale {
		if _, err := conn.ExecContext(ctx, "DROP TRIGGER IF EXISTS "+g.name+"; "+g.sql); err != nil {
			return fmt.Errorf("guard %s: %w", g.name, err)
		}
	}
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version=%d", len(steps))); err != nil {
		return err
	}
	broken, err := all(ctx, plain{conn}, scanForeignKey, "PRAGMA foreign_key_check")
	if err != nil {
		return err
	}
	check, err := all(ctx, plain{conn}, scanString, "PRAGMA quick_check")
	if err != nil {
		return err
	}
	if len(broken) > 0 || len(check) != 1 || check[0] != "ok" {
		return fmt.Errorf("check: %d broken references, %d findings", len(broken), len(check))
	}
	crash.At("during_migration")
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// staleGuards returns the guards that the database lacks or has in another
// form, since core's tables can change without the schema.
func staleGuards(ctx context.Context, conn *sql.Conn) ([]guard, error) {
	var stale []guard
	for _, g := range guards() {
		have, ok, err := one(ctx, plain{conn}, scanString, qTrigger, g.name)
		if err != nil {
			return nil, err
		}
		if !ok || have != g.sql {
			stale = append(stale, g)
		}
	}
	return stale, nil
}

// Backup writes a consistent copy of the database to a path, while everything
// goes on. What is at the path is replaced only when the copy is whole.
func (s *Store) Backup(ctx context.Context, path string) error {
	// The readers' own connections refuse every kind of writing, this one too.
	db, err := openDB(s.cfg.Path, []string{"busy_timeout(5000)"}, "mode=ro")
	if err != nil {
		return openFault(err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return errors.Join(openFault(err), db.Close())
	}
	err = s.vacuumInto(ctx, conn, path)
	return errors.Join(err, conn.Close(), db.Close())
}

func (s *Store) vacuumInto(ctx context.Context, conn *sql.Conn, path string) error {
	const op = "back up store"
	tmp := path + ".tmp"
	err := os.Remove(tmp)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fault.New(fault.StoreFailed, op, err)
	}
	if _, err := conn.ExecContext(ctx, "VACUUM INTO ?", tmp); err != nil {
		f, _ := classify(op, err)
		return errors.Join(f, removeIfThere(tmp))
	}
	if err := publishFile(tmp, path); err != nil {
		return errors.Join(fault.New(fault.StoreFailed, op, err), removeIfThere(tmp))
	}
	return nil
}

// publishFile makes a finished file durable and gives it its name.
func publishFile(tmp, path string) error {
	if err := syncFile(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncFile makes a finished file private and its content durable.
func syncFile(path string) error {
	if err := os.Chmod(path, 0o600); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
