// Package host is the parent's side of the Runner: it keeps one running, passes
// on what happens in it, and answers what it asks.
//
// # Supervision
//
// A Runner that dies, or does not answer a ping, is stopped and started again
// after a pause, at most three times in a row; one whose database failed is not
// started again by itself (R2). While there is no Runner every call fails at
// once with runner_gone, and everything but AI goes on (K8). A run that was
// active when its Runner died is told to be interrupted by the next one, as an
// event like any other.
//
// # Events
//
// OnEvent, OnPreview, OnResync and OnRunner are called from one goroutine each,
// events in the order of their seq, each once, across restarts. They may be
// slow: previews merge, and where events pile up OnResync says once that the
// state has to be fetched anew. State gives that; events whose seq it already
// covers may still come and are to be dropped.
//
// # Readers
//
// The callbacks are one reader; Subscribe makes more. Each has a feed of its
// own, so that one that is slow neither blocks the others nor makes memory grow
// (R10).
//
// # One agent for a home
//
// With Claim and Dial set, one process at a time holds the agent of a home and
// its Runner. Where another has it, the host is a client of that one: its
// events, previews and questions come through, cancelling and answering work,
// and what would begin something is busy. When the holder ends, the host takes
// over by itself.
//
// The host knows no page, and keeps no key.
package host

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/feed"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

// Config configures a Host. Home, Logger and Credential are needed.
type Config struct {
	// Home is the program's home folder.
	Home string
	// Command is the Runner's program and arguments; nil means this program
	// with "runner --home" and Home.
	Command []string
	// Env is the Runner's whole environment; nil means the few variables that
	// a program needs to find its way, and none of ours.
	Env    []string
	Logger *slog.Logger

	// Credential gives the key of a reference. Its faults reach the run as
	// they are. It is called when a request is about to be made.
	Credential func(ctx context.Context, ref string) (string, error)

	// Tools carries out what runs ask for; nil when runs have no tools.
	Tools Tools

	// Claim makes this process the holder of the home's agent, and answers
	// clients for h until release is called, which waits for them. It returns
	// nil and no error where another process is. nil: this process always is.
	Claim func(h *Host) (release func(), err error)
	// Dial greets the holder. Needed with Claim.
	Dial func(ctx context.Context, handler rpc.Handler) (*rpc.Conn, wire.HelloResult, error)
	// Complete makes a whole submission of a task whose model, folder and file
	// are only named, and lets the tools of that run reach these. Its faults
	// reach the client. nil: there are no tasks.
	Complete func(ctx context.Context, t wire.TaskParams) (wire.SubmitParams, error)
	// Abandon is told of a task that was completed and came to nothing; nil for
	// nobody.
	Abandon func(core.CommandID)

	// OnEvent gets every committed event; nil for none.
	OnEvent func(core.Event)
	// OnPreview gets streamed text; nil for none.
	OnPreview func(core.Preview)
	// OnResync says that events were missed: call State. nil for none.
	OnResync func()
	// OnRunner gets every change of the Runner's state; nil for none.
	OnRunner func(Runner)

	// PingEvery is the time between pings, 5 s. PingTimeout is how long an
	// answer may take, 10 s.
	PingEvery, PingTimeout time.Duration
	// Pauses are the waits before the first, second and third restart in a
	// row; nil means 0.2 s, 1 s and 5 s. Their number is that of the restarts.
	Pauses []time.Duration
	// Steady is how long a Runner must have lived for the row to begin anew,
	// 60 s.
	Steady time.Duration
	// Grace is how long a tool may take to end after it was stopped, 5 s.
	Grace time.Duration
	// Now is the clock of the wall; nil for time.Now.
	Now func() time.Time
}

// Tools looks at calls and carries them out, over the permits and the open
// documents. Its methods may be called from any goroutine; each ends soon after
// its ctx has. Faults become results.
type Tools interface {
	// Prepare has no effect.
	Prepare(ctx context.Context, p wire.ToolPrepareParams) (core.Prepared, error)
	// Execute is called once for a call. It checks again all that Prepare saw:
	// what was approved must still be so.
	Execute(ctx context.Context, p wire.ToolExecuteParams) (core.ToolResult, error)
	// Probe says what became of a call of an earlier start, by digests.
	Probe(ctx context.Context, p wire.ToolProbeParams) (wire.ToolProbeResult, error)
}

// Status is where the Runner stands.
type Status string

// The statuses of a Runner.
const (
	// Starting: a process was started and does not answer yet.
	Starting Status = "starting"
	Ready    Status = "ready"
	// Stopped: it ended and will be started again by itself.
	Stopped Status = "stopped"
	// Failed: it ended and will not.
	Failed Status = "failed"
	// Elsewhere: another process holds the agent of this home.
	Elsewhere Status = "elsewhere"
)

// Runner is the state of the Runner.
type Runner struct {
	Status Status
	// Code is the fault behind Stopped and Failed; empty otherwise.
	Code fault.Code
	// PID is 0 when there is no process.
	PID int
	// Restarts counts the restarts since Start.
	Restarts int
	// Holder is what holds the agent when Status is Elsewhere, and PID its
	// process; Code is then set while it has no Runner, or does not answer.
	Holder wire.ClientKind
}

// Host keeps a Runner running. Its methods may be called from any goroutine.
type Host struct {
	cfg  Config
	log  *slog.Logger
	life context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup

	// restart holds a wish of Restart for the supervisor.
	restart chan struct{}
	// page is the subscription of the callbacks.
	page *Subscription
	// lags holds a wish to subscribe anew.
	lags chan struct{}
	// states wakes who calls OnRunner; over is closed when nothing more comes.
	states chan struct{}
	over   chan struct{}
	// attaching keeps subscriptions apart from each other.
	attaching sync.Mutex
	// desk carries out tools.
	desk *desk
	// tasks remembers what became of commands of clients.
	tasks tasks

	// mu guards what follows.
	mu      sync.Mutex
	runner  Runner
	changes []Runner  // what OnRunner has not been told, the oldest first
	conn    *rpc.Conn // nil unless there is a Runner that answers
	// watching says that another process holds the agent; conn then leads to
	// that one.
	watching bool
	closed   bool
	// leaveBy is when a Runner is stopped by force at a close.
	leaveBy time.Time
	// subs are all readers; none is added once ended is set.
	subs  map[*Subscription]bool
	ended bool
	// texts is the whole preview of each run that shows one.
	texts map[core.RunID]*feed.Merged
	// cursor is the seq of the newest event passed on.
	cursor int64
	known  bool // cursor is that of an answer, not just 0
	// hold says that a subscription is being answered; held are the events
	// that came meanwhile.
	hold bool
	held []core.Event
	// runs are those that have not ended, as far as events tell.
	runs map[core.RunID]core.Run
}

// New returns a Host. Start starts the Runner.
func New(cfg Config) (*Host, error) {
	if cfg.Command == nil {
		exe, err := os.Executable()
		if err != nil {
			return nil, fault.New(fault.RunnerGone, "find program", err)
		}
		cfg.Command = []string{exe, "runner", "--home", cfg.Home}
	}
	if cfg.Env == nil {
		cfg.Env = environment(os.Environ())
	}
	set(&cfg.PingEvery, 5*time.Second)
	set(&cfg.PingTimeout, 10*time.Second)
	set(&cfg.Steady, time.Minute)
	set(&cfg.Grace, 5*time.Second)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Pauses == nil {
		cfg.Pauses = []time.Duration{200 * time.Millisecond, time.Second, 5 * time.Second}
	}
	life, end := context.WithCancel(context.Background())
	h := &Host{
		cfg: cfg, log: cfg.Logger, life: life, end: end,
		restart: make(chan struct{}, 1), lags: make(chan struct{}, 1),
		states: make(chan struct{}, 1), over: make(chan struct{}),
		desk: newDesk(cfg.Tools, cfg.Logger, cfg.Grace),
		subs: map[*Subscription]bool{}, texts: map[core.RunID]*feed.Merged{}, runs: map[core.RunID]core.Run{},
		runner: Runner{Status: Starting},
	}
	h.page = h.Subscribe()
	h.page.begun = true
	h.page.feed.Resume(0, nil)
	return h, nil
}

func set(d *time.Duration, def time.Duration) {
	if *d == 0 {
		*d = def
	}
}

// Start starts the Runner and returns at once; OnRunner tells the rest. It is
// called once.
func (h *Host) Start() {
	h.wg.Go(h.relay)
	h.wg.Go(h.tell)
	h.wg.Go(h.run)
}

// Runner returns where the Runner stands.
func (h *Host) Runner() Runner {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runner
}

// ActiveRuns returns the runs that have not ended and would stop with this
// process, the oldest first: none where another process holds the agent.
func (h *Host) ActiveRuns() []core.Run {
	h.mu.Lock()
	defer h.mu.Unlock()
	runs := make([]core.Run, 0, len(h.runs))
	if h.watching {
		return runs
	}
	for _, r := range h.runs {
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b core.Run) int { return int(a.CreatedAtMs - b.CreatedAtMs) })
	return runs
}

// Restart starts the Runner anew, also after it was given up; one of another
// process is left alone. It returns at once with the state as it is.
func (h *Host) Restart() Runner {
	select {
	case h.restart <- struct{}{}:
	default:
	}
	return h.Runner()
}

// Close takes nothing more in, has the Runner cancel and record what is active,
// and waits for its end until ctx ends, when it is stopped by force, for which
// up to 2 s more may pass. The callbacks have got everything when it returns.
func (h *Host) Close(ctx context.Context) {
	leaveBy, ok := ctx.Deadline()
	if !ok {
		leaveBy = time.Now().Add(leaveTime)
	}
	h.mu.Lock()
	conn := h.conn
	watching := h.watching
	h.closed, h.leaveBy = true, leaveBy
	h.mu.Unlock()
	if conn != nil && !watching {
		deadline := time.Until(leaveBy) * 4 / 5
		// Its end is the end of the connection; the answer says only that it
		// was understood.
		err := conn.Call(ctx, wire.MethodShutdown, wire.ShutdownParams{DeadlineMs: deadline.Milliseconds()}, nil)
		if err == nil {
			select {
			case <-conn.Done():
			case <-ctx.Done():
			}
		}
	}
	h.end()
	h.wg.Wait()
	h.desk.wait(ctx)
}

// call makes a call of the Runner, or fails at once when there is none.
func (h *Host) call(ctx context.Context, method string, params, result any) error {
	h.mu.Lock()
	conn, closed := h.conn, h.closed
	code := h.runner.Code
	h.mu.Unlock()
	if conn == nil || closed {
		return goneFault(method, code)
	}
	return callFault(method, conn.Call(ctx, method, params, result))
}

// begin is call for what begins something, which only the holder of the agent
// may.
func (h *Host) begin(ctx context.Context, method string, params, result any) error {
	h.mu.Lock()
	watching := h.watching
	h.mu.Unlock()
	if watching {
		return &fault.Error{Code: fault.Busy, Op: method, Detail: string(Elsewhere)}
	}
	return h.call(ctx, method, params, result)
}

// callFault gives the ends of a connection and of a ctx their code.
func callFault(method string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rpc.ErrClosed):
		return fault.New(fault.RunnerGone, method, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Timeout, method, err)
	case errors.Is(err, context.Canceled):
		return fault.New(fault.Cancelled, method, err)
	}
	return err
}
