package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"galley/backend/workspace"
)

// TestPermit_SwapRace exchanges a folder and a link that leaves, as fast as it
// can, while the same path is read, listed and written. Nothing of outside may
// ever be seen and nothing may arrive there.
//
// covers: F7
func TestPermit_SwapRace(t *testing.T) {
	const rounds = 4000
	root := tree(t, map[string]string{
		"w/dir/a.md":    "inside",
		"w/link":        "-> ../outside",
		"outside/a.md":  "SECRET",
		"outside/x.txt": "SECRET",
	})
	w := filepath.Join(root, "w")
	g := openFolder(t, w)
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			// Either order of the two is a round.
			if err := unix.Renameat2(unix.AT_FDCWD, w+"/dir", unix.AT_FDCWD, w+"/link", unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("exchange: %v", err)
				return
			}
		}
	})

	var read, written, listed, refused int
	// A busy machine may need more rounds for both to happen.
	for n := 0; n < rounds || (n < 100*rounds && (read == 0 || refused == 0)); n++ {
		f, err := g.PermitRead(w + "/dir/a.md")
		if err == nil {
			data, _, err := f.Read(100)
			switch {
			case err != nil:
				refused++
			case strings.Contains(string(data), "SECRET"):
				t.Fatal("read what lies outside")
			default:
				read++
			}
		} else {
			refused++
		}
		folder, err := g.PermitList(w + "/dir")
		if err == nil {
			entries, _, err := folder.List(10)
			if err == nil {
				listed++
			}
			for _, e := range entries {
				if e.Name == "x.txt" {
					t.Fatal("listed what lies outside")
				}
			}
		}
	}
	for range rounds / 20 {
		target, err := g.PermitWrite(w + "/dir/a.md")
		if err != nil {
			continue
		}
		_, err = target.Write([]byte("inside"), workspace.WriteOptions{Overwrite: true, RecoveryDir: filepath.Join(root, "rec")})
		if err == nil {
			written++
		}
	}
	close(stop)
	swapper.Wait()
	t.Logf("read %d, listed %d, written %d, refused %d", read, listed, written, refused)
	if read == 0 || refused == 0 {
		t.Errorf("the race did not happen: %d read, %d refused", read, refused)
	}
	for name, want := range map[string]string{"a.md": "SECRET", "x.txt": "SECRET"} {
		if got, err := os.ReadFile(filepath.Join(root, "outside", name)); err != nil || string(got) != want {
			t.Errorf("outside/%s: got %q, %v", name, got, err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, "outside"))
	must(t, err)
	if len(entries) != 2 {
		t.Errorf("outside holds %d files", len(entries))
	}
}
