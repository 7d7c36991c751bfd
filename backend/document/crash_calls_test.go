package document

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"galley/backend/text"
	"galley/backend/workspace"
	"galley/backend/workspace/filefault"
)

// crashTexts is how many texts are typed: one whose draft is whole, one whose
// draft is the changes and which is saved, and one more.
const crashTexts = 3

// crashSteps are the texts that the child of TestCrash_EveryOwnWrite gives its
// document, one after the other. The first is on disk.
func crashSteps() []string {
	large := strings.Repeat("a line of a large text\n", largeText/22+1)
	steps := []string{large}
	for i := 1; i <= crashTexts; i++ {
		steps = append(steps, fmt.Sprintf("%d ", i)+steps[i-1])
	}
	return steps
}

// saveUntilKilled types, keeps drafts, saves and keeps versions, until the call
// that kills it. What it acknowledges it says.
func saveUntilKilled(dir, home, call string) error {
	n, err := strconv.Atoi(call)
	if err != nil {
		return err
	}
	calls := filefault.New(workspace.OSCalls())
	calls.Arm(filefault.Plan{At: n, Mode: filefault.Half, Die: func() {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {} // until it is gone
	}})
	g := workspace.NewGrants()
	if _, err := g.GrantFolder(dir); err != nil {
		return err
	}
	s, err := New(Config{Grants: g, Home: home, Log: slog.New(slog.DiscardHandler), Calls: calls})
	if err != nil {
		return err
	}
	ctx := context.Background()
	doc, err := s.Open(ctx, filepath.Join(dir, "n.md"))
	if err != nil {
		return err
	}
	for i := 1; i <= crashTexts; i++ {
		done, err := s.Sync(SyncRequest{ID: doc.ID, FromVersion: doc.Version, Changes: []Change{{
			Edits: []text.Edit{{Insert: fmt.Sprintf("%d ", i)}},
		}}})
		if err != nil {
			return err
		}
		doc.Version = done.Version
		if err := s.FlushDrafts(ctx); err != nil {
			return err
		}
		fmt.Printf("kept %d\n", i)
		if i%2 == 1 {
			continue // the next draft is the changes alone
		}
		body, _, err := s.Text(doc.ID)
		if err != nil {
			return err
		}
		_, err = s.Save(ctx, SaveRequest{ID: doc.ID, Version: doc.Version, Length: text.Length(body), Digest: text.Digest(body)})
		if err != nil {
			return err
		}
		fmt.Printf("saved %d\n", i)
		s.history.later.Wait()
		fmt.Printf("versioned %d\n", i)
	}
	if err := s.TidyHistory(ctx); err != nil {
		return err
	}
	fmt.Printf("calls %s\n", strings.Join(calls.Names(), ","))
	return s.Close(ctx)
}

// A process is killed at each single call by which it writes a draft, changes
// or a version, and in the middle of each write. Nothing that it acknowledged
// is lost, what is half there is left out, and the next start works.
//
// covers: F6
func TestCrash_EveryOwnWrite(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	steps := crashSteps()
	killed := 0
	var names []string // of the calls, once none killed it
	for n := 0; n <= len(names); n++ {
		if n > 0 && !changesDisk(names[n-1]) {
			continue // as good as being killed at the next one
		}
		b := newMemoryBench(t)
		b.file("n.md", steps[0])
		cmd := exec.CommandContext(t.Context(), self)
		cmd.Env = append(os.Environ(), crashDir+"="+b.dir, crashHome+"="+b.home, fmt.Sprintf("%s=%d", crashCall, n))
		out, err := cmd.Output()
		exit, died := errors.AsType[*exec.ExitError](err)
		if err != nil && (!died || exit.ExitCode() > 0) {
			t.Fatalf("child: %v\n%s", err, exit.Stderr)
		}
		b.judge(t, n, steps, string(out))
		if n == 0 {
			_, list, _ := strings.Cut(string(out), "calls ")
			names = strings.Split(strings.TrimSpace(list), ",")
		}
		if died {
			killed++
		}
	}
	t.Logf("killed at %d calls", killed)
	if killed < 25 {
		t.Errorf("killed at %d calls only", killed)
	}
}

// changesDisk reports whether a call of a name leaves the disk another one.
func changesDisk(name string) bool {
	return slices.Contains([]string{"open", "write", "sync", "sync folder", "rename", "remove", "mkdir", "truncate"}, name)
}

// judge looks at what a killed child left.
func (b *bench) judge(t *testing.T, n int, steps []string, said string) {
	t.Helper()
	last := func(what string) int {
		newest := 0
		for i := range steps {
			if strings.Contains(said, fmt.Sprintf("%s %d\n", what, i)) {
				newest = i
			}
		}
		return newest
	}
	at := func(s string) int { return slices.Index(steps, s) }
	b = b.restart()
	disk, err := os.ReadFile(b.path("n.md"))
	if err != nil {
		t.Fatal(err)
	}
	onDisk := at(string(disk))
	if onDisk < last("saved") {
		t.Errorf("call %d: saved %d and on disk is %d", n, last("saved"), onDisk)
	}
	if broken := b.BrokenDrafts(); len(broken) != 0 {
		t.Errorf("call %d: broken drafts %v", n, broken)
	}
	newest := onDisk
	left := b.drafts()
	if len(left) > 1 {
		t.Fatalf("call %d: %d drafts", n, len(left))
	}
	id := ""
	if len(left) == 1 {
		id = b.restore(left[0].ID).ID
		s, _, err := b.Text(id)
		if err != nil || at(s) < 0 {
			t.Fatalf("call %d: the draft is none of the texts, %v", n, err)
		}
		newest = max(newest, at(s))
	} else {
		id = b.open("n.md").ID
	}
	if newest < last("kept") {
		t.Errorf("call %d: kept %d and the newest is %d", n, last("kept"), newest)
	}
	b.outside(b.TidyHistory(t.Context()))
	kept, err := b.History(t.Context(), id)
	if err != nil || kept.Broken != 0 {
		t.Fatalf("call %d: %d versions are broken, %v", n, kept.Broken, err)
	}
	versions := map[int]bool{}
	for _, v := range kept.Versions {
		s, err := b.VersionText(t.Context(), id, v.ID)
		if err != nil || at(s) < 0 {
			t.Errorf("call %d: version %s is none of the texts, %v", n, v.ID, err)
		}
		versions[at(s)] = true
	}
	for i := range steps {
		if i%2 == 0 && i < onDisk && !versions[i] {
			t.Errorf("call %d: text %d was saved over and is in no version", n, i)
		}
		if i > 0 && i == last("versioned") && !versions[i] {
			t.Errorf("call %d: version %d was kept and is not there", n, i)
		}
	}
	hidden, err := filepath.Glob(filepath.Join(b.home, "*", "*", ".galley-*"))
	drafts, err2 := filepath.Glob(filepath.Join(b.home, "drafts", ".galley-*"))
	if err != nil || err2 != nil || len(hidden)+len(drafts) != 0 {
		t.Errorf("call %d: left over %v %v", n, hidden, drafts)
	}
}
