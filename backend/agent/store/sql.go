package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// querier reads rows: the writer's prepared statements, or a plain connection.
type querier interface {
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// scanner is a row to read.
type scanner interface {
	Scan(dest ...any) error
}

// plain reads without preparing: a connection, a pool or a transaction.
type plain struct {
	q interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
}

func (p plain) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.q.QueryContext(ctx, query, args...)
}

// prepared keeps the statements of one connection. It belongs to one
// goroutine.
type prepared struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func (p prepared) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if st, ok := p.stmts[query]; ok {
		return st, nil
	}
	st, err := p.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	p.stmts[query] = st
	return st, nil
}

func (p prepared) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st, err := p.stmt(ctx, query) //nolint:sqlclosecheck // kept for the next time, until closeStmts
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

func (p prepared) run(ctx context.Context, query string, args ...any) (sql.Result, error) {
	st, err := p.stmt(ctx, query) //nolint:sqlclosecheck // kept for the next time, until closeStmts
	if err != nil {
		return nil, err
	}
	return st.ExecContext(ctx, args...)
}

// exec runs a statement and returns how many rows it changed.
func (p prepared) exec(ctx context.Context, query string, args ...any) (int64, error) {
	r, err := p.run(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// update runs a statement that must change exactly one row.
func (p prepared) update(ctx context.Context, query string, args ...any) error {
	n, err := p.exec(ctx, query, args...)
	if err == nil && n != 1 {
		err = fmt.Errorf("statement changed %d rows", n)
	}
	return err
}

func (p prepared) closeStmts() error {
	var errs []error
	for _, st := range p.stmts {
		errs = append(errs, st.Close())
	}
	return errors.Join(errs...)
}

// all reads every row; the slice is never nil.
func all[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) (list []T, err error) {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := rows.Close(); closed != nil {
			list, err = nil, errors.Join(err, closed)
		}
	}()
	list = []T{}
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return list, nil
}

// one reads the first row; ok is false when there is none.
func one[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) (v T, ok bool, err error) {
	list, err := all(ctx, q, scan, query, args...)
	if err != nil || len(list) == 0 {
		return v, false, err
	}
	return list[0], true, nil
}

// orNull stores an empty string as NULL.
func orNull[S ~string](s S) any {
	if s == "" {
		return nil
	}
	return string(s)
}

// timeOrNull stores 0 as NULL.
func timeOrNull(ms int64) any {
	if ms == 0 {
		return nil
	}
	return ms
}

func scanInt(r scanner) (v int64, err error) {
	err = r.Scan(&v)
	return v, err
}

func scanString(r scanner) (v string, err error) {
	err = r.Scan(&v)
	return v, err
}

// scanForeignKey reads the table of one broken reference.
func scanForeignKey(r scanner) (table string, err error) {
	var row sql.NullInt64
	var parent string
	var id int64
	err = r.Scan(&table, &row, &parent, &id)
	return table, err
}
