package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"galley/backend/agent/core"
)

// appendEvent is the least change there is: one event, one commit.
func appendEvent(ctx context.Context, s *Store) error {
	return s.change(ctx, "bench", func(ctx context.Context, t *tx) error {
		return t.emit(ctx, core.EventRunStarted, "session", "run", "", core.RunChanged{State: core.RunRunning})
	})
}

// BenchmarkAppend is bm-9: an event in the log, on disk when it returns.
func BenchmarkAppend(b *testing.B) {
	b.Run("one by one", func(b *testing.B) {
		s := openAt(b, filepath.Join(b.TempDir(), "runs.db"), "b")
		b.ReportAllocs()
		for b.Loop() {
			must(b, appendEvent(b.Context(), s))
		}
	})
	for _, clients := range []int{8, 64} {
		b.Run(fmt.Sprint(clients, " at once"), func(b *testing.B) {
			s := openAt(b, filepath.Join(b.TempDir(), "runs.db"), "b")
			b.SetParallelism(clients)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := appendEvent(b.Context(), s); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
	// The floor: the same bytes written to a file and synced.
	b.Run("write and fsync", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "log"))
		must(b, err)
		line := make([]byte, 250)
		for b.Loop() {
			_, err := f.Write(line)
			must(b, err)
			must(b, f.Sync())
		}
		must(b, f.Close())
	})
}

// BenchmarkRewrite is the whole life of a rewrite in the store.
func BenchmarkRewrite(b *testing.B) {
	s := openAt(b, filepath.Join(b.TempDir(), "runs.db"), "b")
	n := 0
	for b.Loop() {
		n++
		r := started(b, s, core.CommandID(fmt.Sprint(n)))
		c, err := s.BeginModelCall(b.Context(), core.ModelCall{RunID: r.ID, Step: 1, Attempt: 1})
		must(b, err)
		c.Phase = core.PhaseDone
		must(b, s.UpdateModelCall(b.Context(), c))
		m := assistantMessage("Shorter.")
		_, err = s.End(b.Context(), r.ID, core.RunEnd{State: core.RunSucceeded, Message: &m, Proposal: proposal(3)})
		must(b, err)
	}
}
