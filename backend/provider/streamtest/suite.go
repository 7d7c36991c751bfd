package streamtest

import (
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"galley/backend/agent/core"
	"galley/backend/provider"
	"galley/backend/provider/dialect"
)

// Suite plays every row of a dialect in each way: over a real socket cut as the
// row says, in one piece, byte by byte, and, where it waits, with the timers
// that people have. file is streams.json, relative to the test; rows is how
// many the dialect has in it, so that none can be lost. The variable STREAMS of
// the environment names another file of the same form, of any number of rows.
func Suite[M core.Model](t *testing.T, file string, d provider.Dialect, rows int, open func(dialect.Config) (M, error)) {
	other := os.Getenv("STREAMS")
	if other != "" {
		file = other
	}
	all, err := Load(file, d)
	if err != nil {
		t.Fatal(err)
	}
	if other == "" && len(all) != rows {
		t.Fatalf("%d rows of %s, want %d", len(all), d, rows)
	}
	t.Run("AsCut", func(t *testing.T) { each(t, all, 1<<20, open, func(r Row) (Row, bool) { return r, true }) })
	t.Run("OnePiece", func(t *testing.T) {
		each(t, all, 1<<20, open, func(r Row) (Row, bool) { return r.Joined(), !r.Waits() })
	})
	t.Run("ByteByByte", func(t *testing.T) { each(t, all, 1, open, Row.bytewise) })
	t.Run("RealTimers", func(t *testing.T) {
		for _, r := range all {
			if r.Waits() {
				t.Run(r.ID, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { Play(t, r, r.Pipe(ten), open) })
				})
			}
		}
	})
}

// ten minutes are longer than every timer that ends.
func ten(gone <-chan struct{}) {
	select {
	case <-gone:
	case <-time.After(10 * time.Minute):
	}
}

// bytewise cuts the body into bytes. The rows of many MiB are cut so by the
// tests of the event reader; where writing so is too much, only reading is.
func (r Row) bytewise() (Row, bool) {
	if r.Waits() {
		return r, false
	}
	r = r.Joined()
	body, rest := r.Chunks[0].Data, r.Chunks[1:]
	if len(body) > 1<<20 {
		return r, false
	}
	if len(body) < 64<<10 {
		r.Chunks = nil
		for i := range body {
			r.Chunks = append(r.Chunks, Chunk{Data: body[i : i+1]})
		}
		r.Chunks = append(r.Chunks, rest...)
	}
	return r, true
}

func each[M core.Model](t *testing.T, all []Row, limit int, open func(dialect.Config) (M, error), cut func(Row) (Row, bool)) {
	t.Parallel()
	for _, r := range all {
		cutRow, ok := cut(r)
		if !ok {
			continue
		}
		t.Run(r.ID, func(t *testing.T) {
			t.Parallel()
			PlayAt(t, cutRow, limit, open)
		})
	}
}

// Play sends one request to where cfg leads and fails the test with what is not
// as the row expects.
func Play[M core.Model](t *testing.T, r Row, cfg dialect.Config, open func(dialect.Config) (M, error)) {
	t.Helper()
	m, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer release(m)
	for _, wrong := range r.Run(t.Context(), m) {
		t.Error(wrong)
	}
}

// Said is a row whose whole body is one piece.
func Said(body string) Row {
	var r Row
	r.HTTP.Status = http.StatusOK
	r.Chunks = []Chunk{{Data: []byte(body)}}
	return r
}

// PlayAt plays a row over a real socket to a client that reads at most limit
// bytes at a time.
func PlayAt[M core.Model](t *testing.T, r Row, limit int, open func(dialect.Config) (M, error)) {
	t.Helper()
	cfg, stop, err := r.Serve(limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	Play(t, r, cfg, open)
}

// release lets idle connections of a model go.
func release(m any) {
	if c, ok := m.(interface{ Close() }); ok {
		c.Close()
	}
}
