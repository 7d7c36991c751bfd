package core

import (
	"slices"
	"strings"
	"testing"
)

// The matrices are written out by hand from the design, apart from the tables
// of the program: a row is where from, a column where to, a cell who may.
// S scheduler, C cancel, L loop, P policy, A approval, X executor, R recovery.
const runMatrix = `
             queued running waiting cancelling cancelled succeeded failed interrupted
queued       .      S       .       .          C         .         .      R
running      .      .       L       C          .         L         L      LR
waiting      .      L       .       C          .         .         .      R
cancelling   .      .       .       .          LR        .         .      LR
cancelled    .      .       .       .          .         .         .      .
succeeded    .      .       .       .          .         .         .      .
failed       .      .       .       .          .         .         .      .
interrupted  .      .       .       .          .         .         .      .
`

const callMatrix = `
             proposed waiting ready running succeeded failed cancelled unknown
proposed     .        P       P     .       .         P      CR        .
waiting      .        .       A     .       .         A      CR        .
ready        .        .       .     X       .         .      CR        .
running      .        .       .     .       XR        XR     X         XR
succeeded    .        .       .     .       .         .      .         .
failed       .        .       .     .       .         .      .         .
cancelled    .        .       .     .       .         .      .         .
unknown      .        .       .     .       .         .      .         .
`

var actorLetters = map[Actor]string{
	ActorScheduler: "S", ActorCancel: "C", ActorLoop: "L", ActorPolicy: "P",
	ActorApproval: "A", ActorExecutor: "X", ActorRecovery: "R",
}

// cells calls f with every pair of a matrix and the letters of its cell.
func cells(t *testing.T, matrix string, f func(from, to, who string)) {
	t.Helper()
	full := func(s string) string {
		if s == "waiting" {
			return "waiting_for_approval"
		}
		return s
	}
	lines := strings.Split(strings.TrimSpace(matrix), "\n")
	head := strings.Fields(lines[0])
	for _, line := range lines[1:] {
		row := strings.Fields(line)
		if len(row) != len(head)+1 {
			t.Fatalf("row %q has %d cells, want %d", row[0], len(row)-1, len(head))
		}
		for i, who := range row[1:] {
			f(full(row[0]), full(head[i]), strings.Trim(who, "."))
		}
	}
}

// covers: R3
func TestRunTransitions_AllPairsAndActors(t *testing.T) {
	t.Parallel()
	pairs := 0
	cells(t, runMatrix, func(f, to, who string) {
		pairs++
		from, to2 := RunState(f), RunState(to)
		if got, want := CanRun(from, to2), who != ""; got != want {
			t.Errorf("CanRun(%s, %s) = %v, want %v", from, to2, got, want)
		}
		for _, a := range Actors() {
			if got, want := MayRun(a, from, to2), strings.Contains(who, actorLetters[a]); got != want {
				t.Errorf("MayRun(%s, %s, %s) = %v, want %v", a, from, to2, got, want)
			}
		}
	})
	if want := len(RunStates()) * len(RunStates()); pairs != want {
		t.Errorf("matrix has %d pairs, want %d", pairs, want)
	}
}

// covers: R3
func TestToolCallTransitions_AllPairsAndActors(t *testing.T) {
	t.Parallel()
	pairs := 0
	cells(t, callMatrix, func(f, to, who string) {
		pairs++
		from, to2 := ToolCallState(f), ToolCallState(to)
		if got, want := CanCall(from, to2), who != ""; got != want {
			t.Errorf("CanCall(%s, %s) = %v, want %v", from, to2, got, want)
		}
		for _, a := range Actors() {
			if got, want := MayCall(a, from, to2), strings.Contains(who, actorLetters[a]); got != want {
				t.Errorf("MayCall(%s, %s, %s) = %v, want %v", a, from, to2, got, want)
			}
		}
	})
	if want := len(ToolCallStates()) * len(ToolCallStates()); pairs != want {
		t.Errorf("matrix has %d pairs, want %d", pairs, want)
	}
}

func TestStates_FinalExactlyWhenNothingLeaves(t *testing.T) {
	t.Parallel()
	for _, s := range RunStates() {
		leaves := slices.ContainsFunc(RunStates(), func(to RunState) bool { return CanRun(s, to) })
		if s.Final() == leaves {
			t.Errorf("run %s: final %v, but leaving it is %v", s, s.Final(), leaves)
		}
		if s.Final() && s.Active() {
			t.Errorf("run %s is final and active", s)
		}
	}
	for _, s := range ToolCallStates() {
		leaves := slices.ContainsFunc(ToolCallStates(), func(to ToolCallState) bool { return CanCall(s, to) })
		if s.Final() == leaves {
			t.Errorf("call %s: final %v, but leaving it is %v", s, s.Final(), leaves)
		}
	}
}

func TestStates_UnknownIsNotValid(t *testing.T) {
	t.Parallel()
	for _, s := range RunStates() {
		if !s.Valid() {
			t.Errorf("%s is not valid", s)
		}
	}
	for _, s := range []string{"", "finished", "Queued"} {
		if RunState(s).Valid() || ToolCallState(s).Valid() || CallPhase(s).Valid() {
			t.Errorf("%q is valid", s)
		}
		if CanRun(RunState(s), RunCancelled) || CanPhase(CallPhase(s), PhaseDone) {
			t.Errorf("%q leads somewhere", s)
		}
	}
}

func TestCanPhase_OnlyForward(t *testing.T) {
	t.Parallel()
	// prepared, sent, streaming, done, failed, unknown
	want := []string{"111111", ".11111", "..1111", "......", "......", "......"}
	for i, from := range CallPhases() {
		for j, to := range CallPhases() {
			if got, want := CanPhase(from, to), want[i][j] == '1'; got != want {
				t.Errorf("CanPhase(%s, %s) = %v, want %v", from, to, got, want)
			}
		}
	}
}
