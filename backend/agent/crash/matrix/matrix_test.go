//go:build crashtest && linux

package matrix

import (
	"cmp"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
)

// matrixRows and faultRows are how many rows the two tables have: the crash
// matrix of the agent's design and the faults of the harness's.
const (
	matrixRows = 28
	faultRows  = 9
)

// row is one line of the table: a process that is killed at a point, and what
// the next start has to find.
type row struct {
	// id is the row's number, "S3." and a number for one of the faults.
	id string
	// point is where, process what is killed there.
	point, process string
	// want is the state by its names, as told writes it.
	want string
	// play brings a stage to the point and beyond, and returns the state.
	play func(s *stage) string
}

// line is a row that was played.
type line struct {
	row
	got    string
	passed bool
}

// table collects what was played.
type table struct {
	mu    sync.Mutex // mu guards lines
	lines []line
}

var played table

func TestMain(m *testing.M) {
	if code, done := program(); done {
		os.Exit(code)
	}
	code := m.Run()
	if len(played.lines) > 0 && !played.print() {
		code = 1
	}
	os.Exit(code)
}

// print writes the table and reports whether every row of it passed.
func (t *table) print() bool {
	slices.SortStableFunc(t.lines, func(a, b line) int {
		return cmp.Or(cmp.Compare(number(a.id), number(b.id)), cmp.Compare(a.process, b.process), cmp.Compare(a.point, b.point))
	})
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "row\tpoint\tprocess\texpected\tresult")
	passed, failed := 0, 0
	for _, l := range t.lines {
		result := "as expected"
		if l.passed {
			passed++
		} else {
			failed++
			result = "FAILED: " + l.got
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", l.id, l.point, l.process, l.want, result)
	}
	_ = w.Flush() // nothing is done about a broken terminal
	fmt.Printf("crash rows: %d passed, %d failed\n", passed, failed)
	return failed == 0
}

// number orders the rows: those of the matrix first.
func number(id string) int {
	n := 0
	if rest, ok := strings.CutPrefix(id, "S3."); ok {
		id, n = rest, 1000
	}
	at := 0
	_, _ = fmt.Sscan(id, &at) // 0 for none
	return n + at
}

// TestCrash plays every row of the crash matrix and of the faults: the process
// is really killed at its point, the next start finds the state by its name,
// and the database and the disk hold nothing else.
//
// covers: R2 R4 R5 R6 R7 R12 R13 T5 T7 K8
func TestCrash(t *testing.T) {
	rows := slices.Concat(acceptRows(), modelRows(), callRows(), effectRows(), storeRows(), externalRows(), faultsOfHarness())
	missing := map[string]bool{}
	for n := 1; n <= matrixRows; n++ {
		missing[fmt.Sprint(n)] = true
	}
	for n := 1; n <= faultRows; n++ {
		missing[fmt.Sprint("S3.", n)] = true
	}
	for _, r := range rows {
		delete(missing, r.id)
	}
	if len(missing) > 0 {
		t.Errorf("rows %v are missing", missing)
	}
	for _, r := range rows {
		t.Run(fmt.Sprintf("%s %s %s", r.id, r.point, r.process), func(t *testing.T) {
			t.Parallel()
			l := line{row: r}
			defer func() {
				// What is not there at all must not take the other rows along.
				if e := recover(); e != nil {
					t.Errorf("the row panicked: %v\n%s", e, debug.Stack())
				}
				l.passed = !t.Failed() && !t.Skipped() && l.got == r.want
				if l.got == r.want && !l.passed {
					l.got = "the state is right, see above"
				}
				played.mu.Lock()
				defer played.mu.Unlock()
				played.lines = append(played.lines, l)
			}()
			l.got = r.play(newStage(t))
			if l.got != r.want {
				t.Errorf("found\n%s\nwant\n%s", l.got, r.want)
			}
		})
	}
}
