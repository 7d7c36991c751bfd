//go:build unix

package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// childIOError makes the kernel refuse to let any file grow, writes until that
// is felt, and says what became of it.
func childIOError(ctx context.Context, s *Store) error {
	run, err := s.Submit(ctx, rewrite("first"))
	if err != nil {
		return err
	}
	st, err := os.Stat(s.cfg.Path + "-wal")
	if err != nil {
		return err
	}
	signal.Ignore(unix.SIGXFSZ)
	limit := uint64(st.Size()) + 200_000
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	last, n := s.LastSeq(), 0
	for err == nil {
		last = s.LastSeq()
		n++
		_, err = s.Cancel(ctx, core.CommandID(fmt.Sprint("x", n)), run.ID)
	}
	fmt.Println("refused", fault.CodeOf(err))
	fmt.Println("then", fault.CodeOf(s.Start(ctx, run.ID)))
	again, err := s.Run(ctx, run.ID)
	fmt.Println("reads", again.State, err)
	fmt.Println("last", last, s.LastSeq(), run.ID, n)
	return nil
}

func TestIOError_NothingIsWrittenAfter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	said := crashed(t, "io error", path, 0)
	if len(said) != 4 {
		t.Fatalf("child said %q", said)
	}
	if said[0][1] != string(fault.StoreFailed) || said[1][1] != string(fault.StoreFailed) {
		t.Errorf("changes gave %s, then %s; want store_failed", said[0][1], said[1][1])
	}
	if said[2][1] != string(core.RunCancelled) {
		t.Errorf("read gave %s, want cancelled", said[2][1:])
	}
	if said[3][1] != said[3][2] {
		t.Errorf("last seq was %s, then %s", said[3][1], said[3][2])
	}
	var last int64
	if _, err := fmt.Sscan(said[3][2], &last); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, path, "two")
	if s.LastSeq() != last {
		t.Errorf("after a restart the last seq is %d, want %d", s.LastSeq(), last)
	}
	wantState(t, s, core.RunID(said[3][3]), core.RunCancelled, "")
	// The command that was refused is not stored, the one before it is.
	n := 0
	if _, err := fmt.Sscan(said[3][4], &n); err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]bool{n - 1: true, n: false} {
		_, have, err := one(t.Context(), plain{s.reader}, scanCommand, qCommand, fmt.Sprint("x", i))
		if err != nil || have != want && i > 0 {
			t.Errorf("command x%d is stored: %v, %v; want %v", i, have, err, want)
		}
	}
}

// covers: R12
func TestOpen_AFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	must(t, os.Mkdir(path+".lock", 0o700))
	_, err := Open(t.Context(), Config{Path: path})
	wantCode(t, err, fault.StoreFailed)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a database was made without its lock: %v", err)
	}
}
