package workspace_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"galley/backend/workspace"
	"galley/backend/workspace/filefault"
)

// The environment of TestSave_KilledRounds.
const (
	// killsEnv is how many rounds are run; 250 without it.
	killsEnv = "KILLS"
	// seedEnv runs the rounds of an earlier seed again.
	seedEnv = "SEED"
)

// roundText is what save number n of a round writes: text that says whose it
// is in every line, so that a mixture shows wherever it is cut.
func roundText(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	return strings.Repeat(fmt.Sprintf("save %d of round %d, 茶\r\n", n, seed), 1+r.IntN(1500))
}

// saveUntilKilled saves text after text to the file and says after each save
// that it is done. Call number last of them all is its last.
func saveUntilKilled(root, name, seedText, last, mode string) error {
	seed, err := strconv.ParseUint(seedText, 10, 64)
	if err != nil {
		return err
	}
	at, err := strconv.Atoi(last)
	if err != nil {
		return err
	}
	calls := filefault.New(workspace.OSCalls())
	g := workspace.NewGrantsOn(calls)
	if _, err := g.GrantFolder(root + "/w"); err != nil {
		return err
	}
	calls.Arm(filefault.Plan{At: at, Mode: filefault.Mode(mode), Die: kill})
	for n := 1; ; n++ {
		f, err := g.PermitRead(root + "/w/" + name)
		if err != nil {
			return err
		}
		_, base, err := f.Read(1 << 30)
		if err != nil {
			return err
		}
		target, err := g.PermitWrite(root + "/w/" + name)
		if err != nil {
			return err
		}
		if _, err := target.Write([]byte(roundText(seed, n)), workspace.WriteOptions{Base: base, RecoveryDir: root + "/recovery"}); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// TestSave_KilledRounds ends a process that saves again and again with SIGKILL,
// in every round at another call of another save. Half of the rounds the
// process ends itself before or within a call; in the others it is killed from
// outside when it has said that a save is done, wherever it is by then. The
// file must hold the last save that was acknowledged or the one after it,
// whole; what was written in place may be torn only with both texts kept.
//
// covers: F4
func TestSave_KilledRounds(t *testing.T) {
	rounds := 250
	if s := os.Getenv(killsEnv); s != "" {
		n, err := strconv.Atoi(s)
		must(t, err)
		rounds = n
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv(seedEnv); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		must(t, err)
		seed = n
	}
	program, err := os.Executable()
	must(t, err)
	r := rand.New(rand.NewPCG(seed, 0))
	states := map[string]int{}
	saves := 0
	for round := range rounds {
		k := killing{seed: seed + uint64(round), name: "a.md", mode: filefault.Before, last: 1 + r.IntN(120)}
		switch r.IntN(4) {
		case 0:
			k.mode = filefault.Half
		case 1, 2:
			k.fromOutside, k.last, k.after = true, 1<<30, r.IntN(5)
		}
		switch r.IntN(4) {
		case 0:
			k.name = "link.md"
		case 1:
			k.hard = true
		}
		state, acknowledged := k.run(t, program)
		states[state]++
		saves += acknowledged
		if t.Failed() {
			t.Fatalf("round %d of seed %d: %+v", round, seed, k)
		}
	}
	fmt.Printf("kill rounds: %d rounds, %d saves acknowledged, %v, 0 lost, 0 mixed, seed %d\n", rounds, saves, states, seed)
	if rounds >= 250 && (states["old"] == 0 || states["new"] == 0) {
		t.Errorf("not every moment was hit: %v", states)
	}
}

// killing is one round.
type killing struct {
	seed        uint64
	name        string
	hard        bool
	mode        filefault.Mode
	last        int
	fromOutside bool
	// after is how many saves are done before the kill from outside.
	after int
}

// run makes one round and returns how the file stands: old, new or torn.
func (k killing) run(t *testing.T, program string) (state string, acknowledged int) {
	t.Helper()
	b := newBenchIn(t, memoryDir(t), map[string]string{"w/a.md": roundText(k.seed, 0), "w/link.md": "-> a.md"})
	defer os.RemoveAll(b.root)
	if k.hard {
		must(t, os.Link(b.path("a.md"), b.root+"/other"))
	}
	cmd := exec.Command(program, b.root, k.name, strconv.FormatUint(k.seed, 10), strconv.Itoa(k.last), string(k.mode))
	cmd.Env = append(os.Environ(), childEnv+"=rounds")
	cmd.Dir = b.root
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	said, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewReader(said)
	killed := false
	if k.fromOutside && k.after == 0 {
		must(t, cmd.Process.Kill())
		killed = true
	}
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		acknowledged, err = strconv.Atoi(strings.TrimSpace(line))
		must(t, err)
		if k.fromOutside && !killed && acknowledged == k.after {
			must(t, cmd.Process.Kill())
			killed = true
		}
	}
	if err := cmd.Wait(); err == nil || complaint.Len() > 0 {
		t.Fatalf("the child was not killed: %v\n%s", err, complaint.String())
	}

	got, err := os.ReadFile(b.path("a.md"))
	must(t, err)
	switch string(got) {
	case roundText(k.seed, acknowledged):
		state = "old"
	case roundText(k.seed, acknowledged+1):
		state = "new"
	default:
		state = "torn"
		if !k.hard {
			t.Errorf("%d saves were acknowledged and the file holds %q", acknowledged, short(got))
		}
	}
	k.sweep(t, b, state, acknowledged)
	return state, acknowledged
}

// sweep clears up as a later start does, and looks at what it finds.
func (k killing) sweep(t *testing.T, b *bench, state string, acknowledged int) {
	t.Helper()
	left, err := workspace.SweepOn(workspace.OSCalls(), b.recovery(), dead)
	must(t, err)
	if state == "torn" && (len(left) != 1 || left[0].State != workspace.Torn || left[0].Old == "") {
		t.Fatalf("torn, and the sweep finds %+v", left)
	}
	for _, l := range left {
		if data, err := os.ReadFile(l.New); err != nil || string(data) != roundText(k.seed, acknowledged+1) {
			t.Errorf("the copy of the new text holds %q (%v)", short(data), err)
		}
		if l.Old == "" {
			continue
		}
		if data, err := os.ReadFile(l.Old); err != nil || string(data) != roundText(k.seed, acknowledged) {
			t.Errorf("the copy of the old text holds %q (%v)", short(data), err)
		}
	}
	for _, name := range names(t, b.root+"/w") {
		if strings.HasPrefix(name, ".") {
			t.Errorf("%s is left after the sweep", name)
		}
	}
	if to, err := os.Readlink(b.path("link.md")); err != nil || filepath.Base(to) != "a.md" {
		t.Errorf("the link leads to %q (%v)", to, err)
	}
}
