package document

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"galley/backend/fault"
)

// raceEnv makes the test binary the process that writes beside Galley.
const raceEnv = "GALLEY_TEST_RACE"

// raceRounds is how many rounds there are, in CI; the variable asks for another
// number.
const (
	raceRounds    = 200
	raceRoundsEnv = "RACES"
)

// raceOrder tells the other process to write.
type raceOrder struct {
	Way, Path, Text string
	// AfterUs is when, in microseconds; PauseUs how long it takes half-way.
	AfterUs, PauseUs int
}

// raceWays are how programs write files.
func raceWays() []string {
	return []string{"rename", "truncate", "in place", "same size and time", "remove", "append"}
}

// writeBeside carries out orders until its input ends.
func writeBeside(in io.Reader, out io.Writer) error {
	orders := json.NewDecoder(in)
	for {
		var o raceOrder
		if err := orders.Decode(&o); err != nil {
			return nil //nolint:nilerr // its input ended
		}
		until := time.Now().Add(time.Duration(o.AfterUs) * time.Microsecond)
		for time.Now().Before(until) {
			// A timer is too coarse for the gaps between two calls.
		}
		if err := o.write(); err != nil {
			return err
		}
		fmt.Fprintln(out, "done")
	}
}

func (o raceOrder) write() error {
	pause := func() { <-time.After(time.Duration(o.PauseUs) * time.Microsecond) }
	switch o.Way {
	case "rename":
		if err := os.WriteFile(o.Path+".other", []byte(o.Text), 0o644); err != nil {
			return err
		}
		return os.Rename(o.Path+".other", o.Path)
	case "remove":
		if err := os.Remove(o.Path); err != nil && !os.IsNotExist(err) {
			return err
		}
		pause()
		return os.WriteFile(o.Path, []byte(o.Text), 0o644)
	}
	flag := os.O_WRONLY | os.O_CREATE
	switch o.Way {
	case "truncate":
		flag |= os.O_TRUNC
	case "append":
		flag |= os.O_APPEND
	}
	f, err := os.OpenFile(o.Path, flag, 0o644)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	pause()
	if _, err := f.Write([]byte(o.Text)); err != nil {
		return err
	}
	if o.Way == "in place" {
		if err := f.Truncate(int64(len(o.Text))); err != nil {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	if o.Way == "same size and time" {
		return os.Chtimes(o.Path, time.Time{}, info.ModTime())
	}
	return nil
}

// Another process writes the file at a random moment of a save, in each way that
// programs do. Whatever comes of it, what the other one wrote is on disk or in
// the history, and so is what was acknowledged as saved: nothing is written over
// in silence.
//
// covers: F5
func TestFiles_OutsideChangeRaces(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rounds := raceRounds
	if n, err := strconv.Atoi(os.Getenv(raceRoundsEnv)); err == nil {
		rounds = n
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), raceEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	orders, done := json.NewEncoder(in), bufio.NewReader(out)
	b := newBench(t)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	took := 2 * time.Millisecond
	outcomes := map[string]int{}
	for round := range rounds {
		// One size for all, so that a change can keep it.
		content := func(who string) string { return fmt.Sprintf("%-8s %06d\n", who, round) }
		base, mine, theirs := content("base"), content("mine"), content("theirs")
		name := fmt.Sprintf("%d.md", round)
		path := b.file(name, base)
		id := b.open(name).ID
		b.replace(id, "base  ", "mine  ")
		r := b.request(id)
		r.Overwrite = round%2 == 1
		o := raceOrder{Way: raceWays()[round/2%len(raceWays())], Path: path, Text: theirs, PauseUs: random.IntN(300)}
		o.AfterUs = random.IntN(max(1, int(took.Microseconds())))
		if err := orders.Encode(o); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, saveErr := b.Save(t.Context(), r)
		took = (3*took + time.Since(began)) / 4
		if _, err := done.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		switch fault.CodeOf(saveErr) {
		case "":
			outcomes["saved"]++
		case fault.ChangedOnDisk, fault.Exists, fault.NotFound:
			outcomes["refused"]++
		default:
			t.Fatalf("round %d: %v", round, saveErr)
		}
		b.watching.Wait()
		versions := strings.Join(b.versions(id), "")
		disk, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(disk), "theirs") {
			outcomes["theirs on disk"]++
		}
		there := string(disk) + versions
		if !strings.Contains(there, theirs) {
			t.Errorf("round %d (%s, overwrite %v, %v), seed %d: theirs is lost; disk %q, versions %q",
				round, o.Way, r.Overwrite, saveErr, seed, disk, versions)
		}
		if saveErr == nil && !strings.Contains(there, mine) {
			t.Errorf("round %d (%s), seed %d: what was saved is lost", round, o.Way, seed)
		}
		if saveErr == nil && !strings.Contains(there, base) {
			t.Errorf("round %d (%s), seed %d: what was saved over is lost", round, o.Way, seed)
		}
		if s, _, err := b.Text(id); s != mine || err != nil {
			t.Errorf("round %d: the document holds %q, %v", round, s, err)
		}
		if err := b.CloseDocument(t.Context(), b.page, id, DiscardUnsaved); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("outside changes: %d races, %v, seed %d\n", rounds, outcomes, seed)
	if outcomes["saved"] == 0 || outcomes["refused"] == 0 {
		t.Errorf("the races were one-sided: %v", outcomes)
	}
}
