package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/feed"
	"galley/backend/agent/host"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// callTime is how long one call of the agent may take.
const callTime = 20 * time.Second

// view shows a person, or a program, what happens.
type view interface {
	// begun is told of the run, and who carries it out ("" for this process).
	begun(res wire.SubmitResult, by wire.ClientKind)
	// event is told of each committed event of the run, once and in order.
	event(e core.Event)
	// preview is told of streamed text.
	preview(p core.Preview)
	// refused is told that a question was answered with no, and why.
	refused(a core.Approval, why string)
	// proposal is told where a proposal was written; err says why it was not.
	proposal(p core.Proposal, path string, err error)
	// receipt is told that the wish to stop is stored.
	receipt(r wire.CancelResult)
	// note is told of what concerns the command and not the run.
	note(words string)
	// ended is told how the run ended, last.
	ended(id core.RunID, c core.RunChanged, code int)
	// failed is told that the command itself failed.
	failed(err error, code int)
}

// follower stays with one run until it has ended.
type follower struct {
	agent *agent
	view  view
	asker *asker
	run   core.RunID
	// cursor is the seq of the newest event seen.
	cursor int64
	// seen are the proposals that were written, answered the approvals that
	// need no question any more.
	seen     map[core.ProposalID]bool
	answered map[core.ApprovalID]bool
	folder   string
	// missed says that events were let go and the state is still to be fetched.
	missed bool
	// end is how the run ended; nil before.
	end *core.RunChanged
	// stops are the wishes to stop; hard ends with the second.
	stops chan os.Signal
	hard  context.Context
	quit  context.CancelFunc
	wg    sync.WaitGroup
	sigs  chan os.Signal
}

// newFollower makes a follower whose calls end with the second signal.
func newFollower(a *agent, v view, ask *asker, folder string) *follower {
	f := &follower{
		agent: a, view: v, asker: ask, folder: folder,
		seen: map[core.ProposalID]bool{}, answered: map[core.ApprovalID]bool{},
		stops: make(chan os.Signal, 1), sigs: make(chan os.Signal, 4),
	}
	f.hard, f.quit = context.WithCancel(context.Background())
	signal.Notify(f.sigs, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	f.wg.Go(f.listen)
	return f
}

// listen tells the first signal from the second. After that they do what they
// do to any program.
func (f *follower) listen() {
	for n := 0; ; n++ {
		select {
		case sig := <-f.sigs:
			if n == 0 {
				f.stops <- sig
				continue
			}
			signal.Stop(f.sigs)
			f.quit()
			return
		case <-f.hard.Done():
			return
		}
	}
}

// close ends the follower.
func (f *follower) close() {
	signal.Stop(f.sigs)
	f.quit()
	f.wg.Wait()
}

func (f *follower) ctx() (context.Context, context.CancelFunc) {
	return context.WithTimeout(f.hard, callTime)
}

// begin subscribes and has the task accepted. A holder that ends meanwhile is
// followed by the next, to which the same command goes again.
func (f *follower) begin(submit func(ctx context.Context) (wire.SubmitResult, error)) error {
	for {
		ctx, cancel := f.ctx()
		res, follow, err := f.agent.sub.State(ctx, 0)
		if err == nil {
			f.cursor = res.SnapshotSeq
			follow()
			var sent wire.SubmitResult
			if sent, err = submit(ctx); err == nil {
				cancel()
				f.run = sent.RunID
				f.view.begun(sent, f.agent.elsewhere())
				if sent.State.Final() {
					return f.catchUp()
				}
				return nil
			}
		}
		cancel()
		if fault.CodeOf(err) != fault.RunnerGone || f.hard.Err() != nil {
			return err
		}
		select {
		case <-f.stops:
			return fault.New(fault.Cancelled, "begin", nil)
		default:
		}
		if err := f.agent.ready(f.hard); err != nil {
			return err
		}
	}
}

// follow stays until the run has ended and returns the exit code.
func (f *follower) follow() int {
	items := make(chan feed.Item)
	ctx, cancel := context.WithCancel(f.hard)
	f.wg.Go(func() {
		defer close(items)
		for {
			it, ok := f.agent.sub.Next(ctx)
			if !ok {
				return
			}
			select {
			case items <- it:
			case <-ctx.Done():
				return
			}
		}
	})
	defer cancel()
	for f.end == nil {
		select {
		case it, ok := <-items:
			switch {
			case ok:
				f.take(it)
			case f.hard.Err() == nil:
				return f.lost(fault.New(fault.RunnerGone, "follow", nil))
			}
		case line := <-f.asker.lines():
			f.reply(line)
		case <-f.stops:
			f.stop()
		case <-f.agent.sub.RunnerChanged():
			if code := f.runnerChanged(); code != 0 {
				return code
			}
		case <-f.hard.Done():
			f.view.note(fmt.Sprintf("Ended before the stop was confirmed. galley runs show %s tells what is known.", f.run))
			f.view.ended(f.run, core.RunChanged{State: core.RunInterrupted}, exitInterrupted)
			return exitInterrupted
		}
	}
	code := exitOfRun(f.end.State, f.end.Fault)
	f.view.ended(f.run, *f.end, code)
	return code
}

// lost ends without knowing how the run does.
func (f *follower) lost(err error) int {
	code := exitOfCode(fault.CodeOf(err), exitError)
	f.view.failed(err, code)
	return code
}

// runnerChanged looks at an agent that changed; a code other than 0 ends the
// command.
func (f *follower) runnerChanged() int {
	r := f.agent.host.Runner()
	switch {
	case r.Status == host.Failed:
		return f.lost(&fault.Error{Code: r.Code, Op: "follow"})
	case r.Status == host.Stopped:
		f.view.note("The AI process stopped and is started again.")
	case r.Status == host.Elsewhere && r.Code == fault.RunnerGone && r.Holder != "":
		f.view.note("The Galley that carried the run out ended, or its AI process did. Looking what is known.")
	case r.Status == host.Ready || r.Status == host.Elsewhere && r.Code == "":
		// What happened comes as events, or is fetched after a resync.
		if f.missed {
			f.fetch()
		}
	}
	return 0
}

// take looks at what came.
func (f *follower) take(it feed.Item) {
	switch {
	case it.Event != nil:
		f.event(*it.Event)
	case it.Preview != nil:
		if it.Preview.RunID == f.run {
			f.view.preview(*it.Preview)
		}
	case it.Resync != nil:
		f.fetch()
	}
}

// fetch is resync; where there is no agent to ask just now it is done again when
// there is one.
func (f *follower) fetch() {
	err := f.resync()
	if f.missed = err != nil; f.missed {
		f.agent.log.Warn("state not fetched", "code", fault.CodeOf(err))
	}
}

// resync fetches what was let go.
func (f *follower) resync() error {
	ctx, cancel := f.ctx()
	defer cancel()
	res, follow, err := f.agent.sub.State(ctx, f.cursor)
	if err != nil {
		return err
	}
	defer follow()
	if len(res.Events) > 0 || res.SnapshotSeq == f.cursor {
		for _, e := range res.Events {
			f.event(e)
		}
		return nil
	}
	f.cursor = res.SnapshotSeq
	return f.catchUp()
}

// catchUp takes the run as it is committed, in place of the events that told it.
func (f *follower) catchUp() error {
	ctx, cancel := f.ctx()
	defer cancel()
	d, err := f.agent.host.RunDetail(ctx, f.run)
	if err != nil {
		return err
	}
	put := func(typ core.EventType, payload any) {
		b, err := json.Marshal(payload)
		if err != nil { // it was JSON just now
			return
		}
		f.look(core.Event{RunID: f.run, SessionID: d.Run.SessionID, Type: typ, V: 1, Payload: b})
	}
	for _, m := range d.Messages {
		put(core.EventMessageCommitted, m)
	}
	for _, c := range d.Calls {
		put(core.EventToolChanged, c)
	}
	for _, a := range d.Approvals {
		typ := core.EventApprovalDecided
		if a.State == core.ApprovalPending {
			typ = core.EventApprovalAsked
		}
		put(typ, a)
	}
	for _, p := range d.Proposals {
		put(core.EventProposalCreated, p)
	}
	if d.Run.State.Final() {
		f.end = &core.RunChanged{State: d.Run.State, Reason: d.Run.Reason, Fault: d.Run.Fault, Usage: d.Run.Usage}
	}
	return nil
}

// event takes a committed event, once.
func (f *follower) event(e core.Event) {
	if e.Seq <= f.cursor {
		return
	}
	f.cursor = e.Seq
	if e.RunID == f.run {
		f.look(e)
	}
}

// look passes an event of the run on and does what follows from it.
func (f *follower) look(e core.Event) {
	f.view.event(e)
	switch e.Type {
	case core.EventApprovalAsked:
		if a, ok := payload[core.Approval](e); ok && a.State == core.ApprovalPending {
			f.question(a)
		}
	case core.EventApprovalDecided:
		if a, ok := payload[core.Approval](e); ok {
			f.answered[a.ID] = true
			f.asker.withdraw(a.ID)
		}
	case core.EventProposalCreated:
		if p, ok := payload[core.Proposal](e); ok && !f.seen[p.ID] {
			f.seen[p.ID] = true
			path, err := f.write(p)
			f.view.proposal(p, path, err)
		}
	case core.EventRunSucceeded, core.EventRunFailed, core.EventRunCancelled, core.EventRunInterrupted:
		if c, ok := payload[core.RunChanged](e); ok {
			f.end = &c
			f.asker.withdrawAll()
		}
	default:
	}
}

// payload decodes an event's.
func payload[T any](e core.Event) (v T, ok bool) {
	return v, json.Unmarshal(e.Payload, &v) == nil
}

// stop has the run cancelled; the end comes as an event.
func (f *follower) stop() {
	ctx, cancel := f.ctx()
	defer cancel()
	r, err := f.agent.host.Cancel(ctx, newCommand(), f.run)
	if err != nil {
		f.view.note("Not stopped: " + sayError(err) + " Press Ctrl+C again to end anyway.")
		return
	}
	f.view.receipt(r)
}

// question puts a question, or refuses it where nobody can answer.
func (f *follower) question(a core.Approval) {
	if f.answered[a.ID] {
		return
	}
	f.answered[a.ID] = true
	call, err := f.call(a.ToolCallID)
	if err != nil {
		f.agent.log.Warn("call of a question not read", "code", fault.CodeOf(err))
	}
	switch {
	case f.asker.can():
		f.asker.ask(a, call)
	case f.agent.elsewhere() == wire.ClientWindow:
		f.view.note("Waiting for an answer in the window: " + sayAsk(a, call))
	default:
		f.deny(a, "there is no terminal to ask on")
	}
}

// call reads a call with its whole input.
func (f *follower) call(id core.ToolCallID) (core.ToolCall, error) {
	ctx, cancel := f.ctx()
	defer cancel()
	return f.agent.host.ToolCall(ctx, id)
}

func (f *follower) deny(a core.Approval, why string) {
	if f.decide(a, core.Deny) {
		f.view.refused(a, why)
	}
}

// decide sends an answer.
func (f *follower) decide(a core.Approval, d core.Decision) bool {
	ctx, cancel := f.ctx()
	defer cancel()
	_, err := f.agent.host.DecideApproval(ctx, wire.ApprovalDecideParams{
		CommandID: newCommand(), ApprovalID: a.ID, ToolCallID: a.ToolCallID, InputDigest: a.InputDigest, Decision: d,
	})
	if err != nil {
		f.view.note(sayError(err))
	}
	return err == nil
}

// reply takes a line from the terminal.
func (f *follower) reply(line answer) {
	a, d, ok := f.asker.take(line)
	switch {
	case !ok:
	case d == "":
		f.deny(a, "the terminal was closed")
	default:
		f.decide(a, d)
	}
}

// settle waits for runs that others began with this process, which would end
// with it.
func (f *follower) settle() {
	said := false
	for {
		// Our own run has ended; the host may hear of it after us.
		others := slices.DeleteFunc(f.agent.host.ActiveRuns(), func(r core.Run) bool { return r.ID == f.run })
		if len(others) == 0 {
			return
		}
		if !said {
			f.view.note("Waiting for " + count(len(others), "run") + " that another command began with this one. Ctrl+C stops it.")
			said = true
		}
		select {
		case <-f.stops:
			return
		case <-f.hard.Done():
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// errNoBase says that the text which a proposal was made for is not at hand.
var errNoBase = errors.New("the document is not as it was when the change was proposed")
