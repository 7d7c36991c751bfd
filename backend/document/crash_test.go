package document

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"galley/backend/text"
	"galley/backend/workspace"
)

const (
	crashDir  = "GALLEY_TEST_CRASH_DIR"
	crashHome = "GALLEY_TEST_CRASH_HOME"
	// crashCall is the number of the file call that is the child's last.
	crashCall = "GALLEY_TEST_CRASH_CALL"
)

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if os.Getenv(raceEnv) != "" {
		if err := writeBeside(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv(crashDir); dir != "" && os.Getenv(crashCall) != "" {
		if err := saveUntilKilled(dir, os.Getenv(crashHome), os.Getenv(crashCall)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv(crashDir); dir != "" {
		if err := typeUntilKilled(dir, os.Getenv(crashHome)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// typeUntilKilled types lines and says of each when it was acknowledged.
func typeUntilKilled(dir, home string) error {
	g := workspace.NewGrants()
	if _, err := g.GrantFolder(dir); err != nil {
		return err
	}
	s, err := New(Config{Grants: g, Home: home, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	doc, err := s.Open(context.Background(), filepath.Join(dir, "n.md"))
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		done, err := s.Sync(SyncRequest{ID: doc.ID, FromVersion: doc.Version, Changes: []Change{{
			Edits:   []text.Edit{{Insert: fmt.Sprintf("line %d\n", i)}},
			Endings: []text.EndingRun{{Ending: text.CRLF, Count: 1}},
		}}})
		if err != nil {
			return err
		}
		doc.Version = done.Version
		fmt.Printf("acknowledged %d\n", i)
		<-time.After(10 * time.Millisecond)
	}
}

// A real process with real files is killed with SIGKILL in mid-typing. What it
// had acknowledged 500 ms before is there at the next start, again and again.
//
// covers: F6
func TestCrash_KilledLosesHalfASecondAtMost(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		b := newBench(t)
		disk := "first\r\n"
		if round%2 == 1 {
			// A draft whose changes are kept instead of the whole.
			disk = strings.Repeat("line of a large text\r\n", 3*largeText/20) + disk
		}
		b.file("n.md", disk)
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), crashDir+"="+b.dir, crashHome+"="+b.home)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		acked, atKill := watchTyping(t, out, 1200*time.Millisecond+time.Duration(round)*90*time.Millisecond, cmd.Process.Kill)
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) {
			t.Fatalf("the child ended with %v", err)
		}
		b = b.restart()
		b.wantDisk("n.md", disk)
		left := b.drafts()
		if len(left) != 1 || left[0].Conflict {
			t.Fatalf("drafts: %+v", left)
		}
		i := b.restore(left[0].ID)
		s, _, err := b.Text(i.ID)
		if err != nil || !strings.HasSuffix(s, "first\n") {
			t.Fatalf("restored %.40q, %v", s, err)
		}
		var newest int
		if _, err := fmt.Sscanf(s, "line %d\n", &newest); err != nil {
			t.Fatal(err)
		}
		for line, at := range acked {
			if atKill.Sub(at) >= 500*time.Millisecond && line > newest {
				t.Fatalf("round %d: line %d, acknowledged %v before the end, is lost; the newest is %d",
					round, line, atKill.Sub(at), newest)
			}
		}
		b.save(i.ID)
		want := ""
		for line := newest; line >= 0; line-- {
			want += fmt.Sprintf("line %d\r\n", line)
		}
		b.wantDisk("n.md", want+disk)
	}
}

// watchTyping notes when each line was acknowledged and calls kill once typing
// has gone on for a while. It returns the times and that of the end.
func watchTyping(t *testing.T, out io.Reader, after time.Duration, kill func() error) ([]time.Time, time.Time) {
	t.Helper()
	var acked []time.Time
	var end time.Time
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "acknowledged ") {
			continue
		}
		now := time.Now()
		if end.IsZero() {
			acked = append(acked, now)
			if now.Sub(acked[0]) >= after {
				end = now
				if err := kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if end.IsZero() {
		t.Fatalf("the child ended by itself after %d lines", len(acked))
	}
	return acked, end
}
