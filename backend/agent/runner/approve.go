package runner

import (
	"context"
	"errors"
	"sync"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// questions wakes the runs that wait for a person. A question is known from
// before it is asked until its run has the answer, so that no answer can come
// too early to be heard.
type questions struct {
	now func() time.Time
	// expire records that nobody answered in time and returns the approval as
	// it then stands.
	expire func(context.Context, core.ApprovalID) (core.Approval, error)

	// mu guards what follows.
	mu   sync.Mutex
	open map[core.ApprovalID]*question
	// woken is closed, and made anew, when clocks have to be looked at again.
	woken chan struct{}
}

// question is one that waits.
type question struct {
	// expiresAtMs is the approval's; 0: it does not expire.
	expiresAtMs int64
	decided     chan struct{} // closed when answer is set
	answer      core.Approval
}

func newQuestions(now func() time.Time, expire func(context.Context, core.ApprovalID) (core.Approval, error)) *questions {
	return &questions{
		now: now, expire: expire,
		open: map[core.ApprovalID]*question{}, woken: make(chan struct{}),
	}
}

// expect makes a question known that is about to be asked.
func (q *questions) expect(a core.Approval) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open[a.ID] = &question{expiresAtMs: a.ExpiresAtMs, decided: make(chan struct{})}
}

// forget drops a question that nobody waits for any more.
func (q *questions) forget(id core.ApprovalID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, id)
}

// settle passes on a decision that is committed. The first counts; one that
// nobody waits for is nothing.
func (q *questions) settle(a core.Approval) {
	if a.State == core.ApprovalPending {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.open[a.ID]
	if w == nil {
		return
	}
	select {
	case <-w.decided:
	default:
		w.answer = a
		close(w.decided)
	}
}

// wake has every question look at the clock again.
func (q *questions) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.woken)
	q.woken = make(chan struct{})
}

// get returns what is known of a question, and what wakes it.
func (q *questions) get(id core.ApprovalID) (*question, chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open[id], q.woken
}

// await waits until a person has decided. A question whose time is up, by its
// own or because the run has used up its time, comes back expired, which is no
// consent. A run that is told to stop gets cancelled.
func (q *questions) await(ctx context.Context, id core.ApprovalID) (core.Approval, error) {
	const op = "await approval"
	defer q.forget(id)
	for {
		w, woken := q.get(id)
		if w == nil {
			return core.Approval{}, fault.New(fault.Internal, op, errors.New("the question was not asked here"))
		}
		var late <-chan time.Time // nil for ever when it does not expire
		if at := w.expiresAtMs; at != 0 {
			left := time.UnixMilli(at).Sub(q.now())
			if left <= 0 {
				return q.expire(context.WithoutCancel(ctx), id)
			}
			timer := time.NewTimer(left)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-w.decided:
			return w.answer, nil
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return q.expire(context.WithoutCancel(ctx), id)
			}
			return core.Approval{}, fault.New(fault.Cancelled, op, context.Cause(ctx))
		case <-late:
		case <-woken:
		}
	}
}
