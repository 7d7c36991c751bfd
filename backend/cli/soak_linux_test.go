//go:build soak

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"galley/backend/agent/core"
	"galley/backend/agent/store"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
	"galley/backend/settings"
)

// The size of a soak: so many runs in so long. SOAK changes the time, and the
// runs with it.
const (
	soakRuns    = 200
	soakTime    = 2 * time.Minute
	soakWorkers = 4
	// killShare is the part of the runs during which Runners are killed; the
	// last one then lives long enough for its memory to say something.
	killShare = 0.6
)

// soak is one run of the whole.
type soak struct {
	t      *testing.T
	p      *place
	home   settings.Home
	seed   uint64
	window *program
	ctx    context.Context

	clients            []*soaker // the first soakWorkers work, the others watch
	left, names, kills atomic.Int64
	// resent and refused count commands that came again, and second answers to
	// one question; each has to come to what the first came to.
	resent, refused, cancels, denials atomic.Int64

	mu     sync.Mutex
	runs   map[core.RunID]string // what was accepted, with what was asked
	wrong  []string
	passed int
	failed int
}

// TestSoak is make test-soak: runs with tools, denials, cancels and kills of
// the Runner at random points, watched by clients that come and go.
//
// covers: R2 R4 R5 R6 R7 R10 R11
func TestSoak(t *testing.T) {
	long, err := time.ParseDuration(cmpOr(os.Getenv("SOAK"), soakTime.String()))
	if err != nil {
		t.Fatalf("SOAK is a time, such as 2m: %v", err)
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("SOAK_SEED"); s != "" {
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	n := max(int(float64(soakRuns)*long.Seconds()/soakTime.Seconds()), 20)
	ctx, cancel := context.WithTimeout(context.Background(), 5*long+time.Minute)
	defer cancel()
	s := &soak{t: t, p: newPlace(t), seed: seed, ctx: ctx, runs: map[core.RunID]string{}}
	s.home = settings.Home{Dir: s.p.home}
	fmt.Printf("soak seed=%d runs=%d clients=%d again with SOAK_SEED=%d\n", seed, n, soakWorkers+2, seed)
	begun := time.Now()
	s.window = s.p.start("soak-hold", s.p.home)
	s.window.says(s.window.out, "holds ready")

	var staying sync.WaitGroup
	stay, leave := context.WithCancel(ctx)
	for i := range soakWorkers + 2 {
		c := newSoaker(s.home, "client-"+strconv.Itoa(i))
		s.clients = append(s.clients, c)
		staying.Go(func() { c.stay(stay) })
		if err := c.until(ctx, func() bool { return c.joined && c.runner.Status == "ready" }); err != nil {
			t.Fatal(err)
		}
	}
	s.warm()
	early := s.atRest()
	window := &series{}
	stopWindow := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { window.watch(t, s.p.home, func() int { return s.window.cmd.Process.Pid }, stopWindow) })

	s.work(int64(float64(n)*killShare), true)
	middle := s.atRest()
	runner := &series{}
	stopRunner := make(chan struct{})
	watching.Go(func() { runner.watch(t, s.p.home, s.runnerPID, stopRunner) })
	s.work(int64(n)-int64(float64(n)*killShare), false)
	close(stopWindow)
	close(stopRunner)
	watching.Wait()
	late := s.atRest()
	took := time.Since(begun)

	last := s.lastSeq()
	for _, c := range s.clients {
		if err := c.until(ctx, func() bool { return c.cursor >= last }); err != nil {
			s.fault("%s stands at %d, the store at %d", c.name, c.cursor, last)
		}
	}
	runnerPID := s.runnerPID()
	try(t, s.window.in.Close())
	if code := s.window.ends(); code != 0 {
		s.fault("the holder ended with %d", code)
	}
	leave()
	staying.Wait()

	fmt.Printf("soak took=%s kills=%d cancels=%d denials=%d resent=%d second-answers=%d\n",
		took.Round(time.Second), s.kills.Load(), s.cancels.Load(), s.denials.Load(), s.resent.Load(), s.refused.Load())
	s.checkStore()
	words, ok := window.flat()
	s.check("memory of the host is flat", ok, words)
	words, ok = runner.flat()
	s.check("memory of the last Runner is flat", ok, words)
	s.check("nothing stays open in the host", late[0].fds <= early[0].fds+slackCount && late[0].goroutines <= early[0].goroutines+slackCount,
		fmt.Sprintf("fds %d, then %d; goroutines %d, then %d", early[0].fds, late[0].fds, early[0].goroutines, late[0].goroutines))
	s.check("nothing stays open in the last Runner", late[1].fds <= middle[1].fds+slackCount && late[1].goroutines <= middle[1].goroutines+slackCount,
		fmt.Sprintf("fds %d, then %d; goroutines %d, then %d", middle[1].fds, late[1].fds, middle[1].goroutines, late[1].goroutines))
	s.check("no Runner is left", !isRunner(s.p.home, runnerPID), "")
	s.check("what was told was true", len(s.wrong) == 0, strings.Join(s.wrong, "\n"))
	fmt.Printf("%d passed, %d failed\n", s.passed, s.failed)
	if s.failed > 0 {
		t.Fail()
	}
}

func cmpOr(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

func (s *soak) fault(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf(format, a...))
}

// check prints one thing that was looked at.
func (s *soak) check(what string, ok bool, words string) {
	verdict := "ok    "
	if ok {
		s.passed++
	} else {
		s.failed++
		verdict = "FAILED"
	}
	fmt.Printf("%s %s", verdict, what)
	if words != "" {
		fmt.Printf(": %s", words)
	}
	fmt.Println()
}

// runnerPID is the Runner's by what was told last; 0 when none is ready.
func (s *soak) runnerPID() int {
	c := s.clients[len(s.clients)-1]
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runner.Status != "ready" {
		return 0
	}
	return c.runner.PID
}

// atRest samples both processes while nothing runs and every client is attached:
// the medians of some looks.
func (s *soak) atRest() [2]sample {
	s.t.Helper()
	for _, c := range s.clients {
		try(s.t, c.until(s.ctx, func() bool { return c.conn != nil && c.joined && c.runner.Status == "ready" }))
	}
	var out [2]sample
	for i, pid := range []int{s.window.cmd.Process.Pid, s.runnerPID()} {
		var fds, goroutines []int
		for range 5 {
			v, err := look(s.p.home, pid, true)
			try(s.t, err)
			fds, goroutines = append(fds, v.fds), append(goroutines, v.goroutines)
			pause(s.ctx, 100*time.Millisecond)
		}
		slices.Sort(fds)
		slices.Sort(goroutines)
		out[i] = sample{fds: fds[2], goroutines: goroutines[2]}
	}
	return out
}

// warm has every worker do one thing, so that what is made once is made.
func (s *soak) warm() { s.work(soakWorkers, false) }

// work has so many runs carried out.
func (s *soak) work(n int64, killing bool) {
	s.left.Store(n)
	work, over := context.WithCancel(s.ctx)
	var chaos, workers sync.WaitGroup
	for i := range soakWorkers {
		workers.Go(func() {
			w := &worker{soak: s, c: s.clients[i], i: i, r: rand.New(rand.NewPCG(s.seed, uint64(n)<<8+uint64(i)))}
			for s.left.Add(-1) >= 0 && s.ctx.Err() == nil {
				w.once()
			}
		})
	}
	r := rand.New(rand.NewPCG(s.seed, uint64(n)<<8+100))
	if killing {
		chaos.Go(func() { s.kill(work, r) })
	}
	// The last client watches all the time.
	for i, c := range s.clients[:len(s.clients)-1] {
		r := rand.New(rand.NewPCG(s.seed, uint64(n)<<8+200+uint64(i)))
		chaos.Go(func() {
			for work.Err() == nil {
				pause(work, time.Duration(1000+r.IntN(4000))*time.Millisecond)
				c.drop()
			}
		})
	}
	workers.Wait()
	over()
	chaos.Wait()
}

// kill kills the Runner now and then, wherever it is.
func (s *soak) kill(ctx context.Context, r *rand.Rand) {
	c := s.clients[len(s.clients)-1]
	for {
		pause(ctx, time.Duration(500+r.IntN(3500))*time.Millisecond)
		if ctx.Err() != nil {
			return
		}
		c.mu.Lock()
		pid := c.runner.PID
		c.mu.Unlock()
		if pid == 0 || !isRunner(s.p.home, pid) {
			continue // it starts just now
		}
		if err := unix.Kill(pid, unix.SIGKILL); err == nil {
			s.kills.Add(1)
		}
	}
}

// worker asks for one run after another.
type worker struct {
	*soak
	c *soaker
	i int
	r *rand.Rand
}

func (w *worker) chance(percent int) bool { return w.r.IntN(100) < percent }

// newFile is a name that no other run uses, and a text that nothing else holds.
func (w *worker) newFile() (name, text string) {
	name = fmt.Sprintf("w%d-%d.md", w.i, w.names.Add(1))
	return name, "# " + name + "\n\n" + strings.Repeat("words ", w.r.IntN(4)) + "of " + name + "\n"
}

func tool(name string, input any) string {
	b, _ := json.Marshal(input)
	return "/tool " + name + " " + string(b)
}

// task makes something to ask for.
func (w *worker) task() wire.TaskParams {
	name, text := w.newFile()
	other, more := w.newFile()
	t := wire.TaskParams{
		CommandID: core.CommandID(fmt.Sprintf("soak-%d-%d-%s", w.seed, w.i, name)),
		ModelRef:  core.ModelRef{ProviderID: "mock", Model: "mock-1"}, Folder: w.p.folder,
	}
	switch w.r.IntN(8) {
	case 0:
		t.Input = tool("searchWorkspace", map[string]any{"query": "old words"}) + "\n" + tool("readDocument", map[string]any{"path": "plan.md"})
	case 1, 2:
		t.Input = create(name, text)
	case 3:
		t.Input = create(name, text) + "\n/then\n" + tool("renameDocument", map[string]any{"path": name, "newName": other})
	case 4:
		t.Input = create(name, text) + "\n" + create(other, more)
	case 5:
		t.Input = create("plan.md", text) // it is there: nothing may happen to it
	case 6:
		t.File = filepath.Join(w.p.folder, "plan.md")
		t.Input = tool("proposePatch", map[string]any{"oldText": "old words", "newText": "new words", "summary": "newer"})
	case 7:
		t.Input = "Tell me something."
	}
	return t
}

// once is one run: asked for, answered, stopped or not, to its end.
func (w *worker) once() {
	t := w.task()
	w.c.mu.Lock()
	from := len(w.c.events)
	w.c.mu.Unlock()
	var res wire.SubmitResult
	if err := w.c.call(w.ctx, wire.MethodRunSubmit, t, &res); err != nil {
		w.fault("submit %s: %v", t.CommandID, err)
		return
	}
	w.mu.Lock()
	w.runs[res.RunID] = t.Input
	w.mu.Unlock()
	if w.chance(20) {
		var again wire.SubmitResult
		if err := w.c.call(w.ctx, wire.MethodRunSubmit, t, &again); err != nil || again.RunID != res.RunID {
			w.fault("the same command again: %+v, %v", again, err)
		}
		w.resent.Add(1)
	}
	stop := make(<-chan time.Time)
	if w.chance(20) {
		stop = time.After(time.Duration(w.r.IntN(900)) * time.Millisecond)
	}
	stopped, answered := false, map[core.ApprovalID]bool{}
	for {
		var asked *core.Approval
		var ended bool
		w.c.mu.Lock()
		asked, ended = w.c.state(res.RunID, from)
		changed := w.c.changed
		w.c.mu.Unlock()
		if ended {
			return
		}
		if asked != nil && !answered[asked.ID] && !stopped {
			answered[asked.ID] = true
			if w.chance(10) {
				stopped = true
				w.cancel(res.RunID)
			} else {
				w.answer(*asked)
			}
			continue
		}
		select {
		case <-changed:
		case <-stop:
			stopped = true
			w.cancel(res.RunID)
		case <-w.ctx.Done():
			w.fault("run %s (%.40q) does not end", res.RunID, t.Input)
			return
		}
	}
}

// cancel tells a run to stop, once or twice by the same command.
func (w *worker) cancel(run core.RunID) {
	w.cancels.Add(1)
	p := wire.CancelParams{CommandID: core.CommandID("stop-" + string(run)), RunID: run}
	var first wire.CancelResult
	if err := w.c.call(w.ctx, wire.MethodRunCancel, p, &first); err != nil {
		w.fault("cancel: %v", err)
		return
	}
	if w.chance(30) {
		var again wire.CancelResult
		if err := w.c.call(w.ctx, wire.MethodRunCancel, p, &again); err != nil || again.Receipt != first.Receipt {
			w.fault("the same cancel again: %+v and %+v, %v", first, again, err)
		}
		w.resent.Add(1)
	}
}

// answer answers a question; now and then two clients do at once.
func (w *worker) answer(a core.Approval) {
	d := core.AllowOnce
	if w.chance(25) {
		d = core.Deny
		w.denials.Add(1)
	}
	p := wire.ApprovalDecideParams{
		CommandID: core.CommandID("yes-" + string(a.ID)), ApprovalID: a.ID, ToolCallID: a.ToolCallID, InputDigest: a.InputDigest, Decision: d,
	}
	late := func(err error) bool {
		code := fault.CodeOf(err) // by a kill or a stop meanwhile
		return err == nil || code == fault.StaleApproval || code == fault.NotFound
	}
	if !w.chance(15) {
		var first, again core.Approval
		err := w.c.call(w.ctx, wire.MethodApprovalDecide, p, &first)
		if !late(err) {
			w.fault("decide: %v", err)
		}
		if err == nil && w.chance(30) {
			w.resent.Add(1)
			if err := w.c.call(w.ctx, wire.MethodApprovalDecide, p, &again); err != nil || again.State != first.State {
				w.fault("the same answer again: %+v, %v", again, err)
			}
		}
		return
	}
	q := p
	q.CommandID, q.Decision = core.CommandID("no-"+string(a.ID)), core.Deny
	var one, two error
	var both sync.WaitGroup
	both.Go(func() { one = w.c.call(w.ctx, wire.MethodApprovalDecide, p, nil) })
	both.Go(func() { two = w.clients[(w.i+1)%soakWorkers].call(w.ctx, wire.MethodApprovalDecide, q, nil) })
	both.Wait()
	w.refused.Add(1)
	if one == nil && two == nil || !late(one) || !late(two) {
		w.fault("two answers to one question: %v and %v", one, two)
	}
}

// lastSeq asks for the newest event there is.
func (s *soak) lastSeq() int64 {
	c := s.clients[0]
	var res wire.SubscribeResult
	conn, _, err := c.agent.Dial(s.ctx, rpc.Handler{})
	try(s.t, err)
	defer func() { _ = conn.Close() }()
	try(s.t, conn.Call(s.ctx, wire.MethodEventsSubscribe, wire.SubscribeParams{}, &res))
	return res.SnapshotSeq
}

// checkStore compares what was seen, and what lies on the disk, with the record.
func (s *soak) checkStore() {
	db, err := store.Open(s.ctx, store.Config{Path: s.home.Runs()})
	try(s.t, err)
	defer func() { try(s.t, db.Close()) }()
	all, err := db.Runs(s.ctx, 1000)
	try(s.t, err)
	states, open, asked := map[core.RunState]int{}, []string{}, true
	for _, r := range all {
		states[r.State]++
		if !r.State.Final() {
			open = append(open, string(r.ID))
		}
		if _, ok := s.runs[r.ID]; !ok {
			asked = false
		}
	}
	var words []string
	for _, st := range slices.Sorted(maps.Keys(states)) {
		words = append(words, fmt.Sprintf("%d %s", states[st], st))
	}
	s.check("every run has ended", len(open) == 0, strings.Join(words, ", ")+strings.Join(open, " "))
	s.check("each command is one run", asked && len(all) == len(s.runs), fmt.Sprintf("%d runs for %d commands", len(all), len(s.runs)))
	left, err := db.Unsettled(s.ctx)
	try(s.t, err)
	s.check("nothing is left to be settled", len(left) == 0, "")

	var events []core.Event
	for {
		after := int64(0)
		if n := len(events); n > 0 {
			after = events[n-1].Seq
		}
		page, err := db.EventsAfter(s.ctx, after, 1000)
		try(s.t, err)
		if len(page) == 0 {
			break
		}
		events = append(events, page...)
	}
	for _, c := range s.clients {
		s.check(c.name+" saw every event once, in order", sameEvents(c.events, events) && len(c.wrong) == 0,
			fmt.Sprintf("%d of %d, attached %d times, %d came again and were dropped, %d resyncs %s",
				len(c.events), len(events), c.attached, c.again, c.resyncs, strings.Join(c.wrong, "; ")))
	}
	s.checkEffects(db, all, events)
}

func sameEvents(a, b []core.Event) bool {
	return slices.EqualFunc(a, b, func(x, y core.Event) bool {
		return x.Seq == y.Seq && x.Type == y.Type && x.RunID == y.RunID && sameJSON(x.Payload, y.Payload)
	})
}

// sameJSON compares values: on its way a "<" may be written in another way.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// checkEffects replays the calls that succeeded and compares with the folder.
func (s *soak) checkEffects(db *store.Store, runs []core.Run, events []core.Event) {
	began := map[core.ToolCallID]int{}
	for _, e := range events {
		var c core.ToolCall
		if e.Type == core.EventToolChanged && json.Unmarshal(e.Payload, &c) == nil && c.State == core.CallRunning {
			began[c.ID]++
		}
	}
	twice := 0
	for _, n := range began {
		if n > 1 {
			twice++
		}
	}
	s.check("no call began twice", twice == 0, fmt.Sprintf("%d calls began", len(began)))

	want := map[string]string{"plan.md": "# Plan\n\nThe old words stay here.\n"}
	unsure, states := map[string]bool{}, map[core.ToolCallState]int{}
	slices.SortStableFunc(runs, func(a, b core.Run) int { return int(a.CreatedAtMs - b.CreatedAtMs) })
	for _, r := range runs {
		calls, err := db.ToolCalls(s.ctx, r.ID)
		try(s.t, err)
		for _, c := range calls {
			states[c.State]++
			var in struct{ Name, Text, Path, NewName string }
			try(s.t, json.Unmarshal(c.Input, &in))
			from, to := in.Path, in.NewName
			if c.Name == core.ToolCreateDocument {
				to = in.Name
			} else if c.Name != core.ToolRenameDocument {
				continue
			}
			switch {
			case c.State == core.CallUnknown:
				unsure[from], unsure[to] = true, true
			case c.State != core.CallSucceeded:
			case c.Name == core.ToolCreateDocument:
				want[to] = in.Text
			default:
				want[to] = want[from]
				delete(want, from)
			}
		}
	}
	var words []string
	for _, st := range slices.Sorted(maps.Keys(states)) {
		words = append(words, fmt.Sprintf("%d %s", states[st], st))
	}
	got := map[string]string{}
	list, err := os.ReadDir(s.p.folder)
	try(s.t, err)
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(s.p.folder, e.Name()))
		try(s.t, err)
		got[e.Name()] = string(b)
	}
	bad := []string{}
	for name := range unsure {
		delete(got, name)
		delete(want, name)
	}
	for name, text := range got {
		if want[name] != text {
			bad = append(bad, fmt.Sprintf("%s holds %q, want %q", name, text, want[name]))
		}
	}
	for name := range want {
		if _, ok := got[name]; !ok {
			bad = append(bad, name+" is missing")
		}
	}
	s.check("each document is there as its call says, and nothing else", len(bad) == 0,
		fmt.Sprintf("%d documents; calls: %s %s", len(got), strings.Join(words, ", "), strings.Join(bad, "\n")))
}
