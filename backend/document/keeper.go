package document

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// draftDelay is how long after the first change that no draft holds yet one is
// written. What is left of the 500 ms of F6 is for writing it.
const draftDelay = 250 * time.Millisecond

// keeper keeps the draft of one document in step with it. Its goroutine alone
// writes and removes that draft, so the two can never cross.
type keeper struct {
	set *Set
	doc *doc
	// wake has room for one: something changed.
	wake chan struct{}
	// now asks to settle at once; the answer is the result.
	now chan chan error
	// end asks for the last settling, true to discard; closed says that it is
	// done.
	end    chan bool
	closed chan struct{}

	// The rest is the goroutine's own.

	// draft is the id of the draft file.
	draft string
	// kept says that the draft file exists.
	kept bool
	// stamp is the document's as it was last settled.
	stamp int64
	// log is the changes since the draft was written whole.
	log changesLog
	// archived is the hash of the baseline that was last handed to the history.
	archived string
	// failing is the fault of the last attempt, so that each is logged once.
	failing fault.Code
}

// newKeeper returns the keeper of d; draft is the id of a draft that holds its
// text already, empty for none.
func newKeeper(s *Set, d *doc, draft string) *keeper {
	k := &keeper{
		set: s, doc: d, draft: draft, kept: draft != "", stamp: d.stamp,
		wake: make(chan struct{}, 1), now: make(chan chan error),
		end: make(chan bool), closed: make(chan struct{}),
	}
	if !k.kept {
		k.draft = d.id
	}
	k.log = changesLog{calls: s.calls, path: changesPath(s.draftPath(k.draft)), there: k.kept}
	return k
}

// poke says that the document changed. It never blocks.
func (k *keeper) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// settleNow brings the draft in step and waits for it.
func (k *keeper) settleNow(ctx context.Context) error {
	reply := make(chan error, 1)
	select {
	case k.now <- reply:
	case <-k.closed:
		return nil
	case <-ctx.Done():
		return cancelled(ctx.Err())
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return cancelled(ctx.Err())
	}
}

// settled brings a document's draft in step and describes it. What went wrong
// with the draft is in the description, and the keeper goes on trying.
func (s *Set) settled(ctx context.Context, d *doc) Info {
	err := d.keeper.settleNow(ctx)
	s.mu.Lock()
	st := d.state
	s.mu.Unlock()
	if err != nil {
		st.draftFault = fault.CodeOf(err)
	}
	return st.info(d.id)
}

// finish ends the keeper of a document that was closed. The draft of unsaved
// text stays unless it is discarded; one that could not be removed is offered
// again at the next start.
func (k *keeper) finish(discard bool) {
	select {
	case k.end <- discard:
		<-k.closed
	case <-k.closed:
	}
}

// run settles until the document is closed or ctx ends.
func (k *keeper) run(ctx context.Context) {
	defer close(k.closed)
	defer k.log.close()
	// due is nil while nothing waits to be kept.
	var due <-chan time.Time
	for {
		again := false
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
			if due == nil {
				due = time.After(draftDelay)
			}
			continue
		case <-due:
			again = k.settle() != nil
		case reply := <-k.now:
			err := k.settle()
			again = err != nil
			reply <- err
		case discard := <-k.end:
			if discard {
				k.report(k.remove())
			} else {
				_ = k.settle() // it reports for itself
			}
			return
		}
		due = nil
		if again {
			due = time.After(draftDelay)
		}
	}
}

// settle writes the draft of unsaved text and removes that of saved text. A
// failure is kept in the document's state and logged when it is a new one.
func (k *keeper) settle() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = internal("keep draft", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
		k.report(err)
	}()
	k.set.mu.Lock()
	st, changes := k.doc.state, k.doc.pending
	if st.stamp == k.stamp && k.failing == "" {
		k.set.mu.Unlock()
		return nil
	}
	// From here on changes count from st, unless that cannot be kept.
	k.doc.pending = pending{known: true}
	k.set.mu.Unlock()
	defer func() {
		if err != nil {
			k.set.mu.Lock()
			k.doc.pending = pending{}
			k.set.mu.Unlock()
		}
	}()
	if st.dirty || st.disk == DiskMissing {
		// A text whose file is gone is unsaved too, whoever wrote it.
		err = k.follow(st, changes)
	} else if k.kept {
		err = k.retire(st)
	}
	if err == nil {
		k.stamp = st.stamp
	}
	k.archive(st)
	return err
}

// archive keeps the file as it was before the first edit, in the background.
func (k *keeper) archive(st state) {
	if !st.dirty || st.path == "" || st.base.unknown || st.base.stat.Hash == "" || st.base.stat.Hash == k.archived {
		return
	}
	k.archived = st.base.stat.Hash
	at := k.set.now().UnixMilli()
	k.set.history.later.Go(func() { k.set.keepBase(context.Background(), st, at) })
}

// keepBase keeps the baseline of a state in the history, unless it is there.
func (s *Set) keepBase(ctx context.Context, st state, atMs int64) {
	if st.base.unknown || st.base.stat.Hash == "" {
		return
	}
	of := st.subject()
	err := s.history.ensure(ctx, of, func() content { return contentOfState(st.base.format, st.base.lines) }, st.base.reason(), atMs)
	if err != nil {
		s.log.Warn("version not kept", slog.String("code", string(fault.CodeOf(err))))
	}
}

// follow brings the draft in step with st: by the changes alone where the draft
// is of a large text and holds what was before them.
func (k *keeper) follow(st state, changes pending) error {
	if k.kept && k.log.base != "" && changes.known && len(changes.changes) > 0 && k.failing == "" && k.log.size < maxChanges {
		return k.log.add(changeRecord{
			Changes: changes.changes, Anchor: st.anchor, Head: st.head, AtMs: k.set.now().UnixMilli(),
		})
	}
	return k.write(st)
}

// write makes the draft file what st is.
func (k *keeper) write(st state) error {
	data, err := encodeDraft(st, k.set.now().UnixMilli())
	if err != nil {
		return internal("keep draft", err)
	}
	if err := workspace.ReplaceFileOn(k.set.calls, k.set.draftPath(k.draft), data, 0o600); err != nil {
		return fmt.Errorf("keep draft: %w", err)
	}
	k.kept = true
	return k.log.begin(draftDigest(data))
}

// retire removes the draft of a text that is saved. Where the file is not the
// baseline any more the mirror may be the last copy of its text, so that the
// draft stays, and follows it.
func (k *keeper) retire(st state) error {
	if st.path != "" {
		_, same, err := k.set.compareFile(st.path, st.base)
		if err != nil || !same {
			return k.write(st)
		}
	}
	return k.remove()
}

func (k *keeper) remove() error {
	if !k.kept {
		return nil
	}
	if err := os.Remove(k.set.draftPath(k.draft)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return internal("remove draft", err)
	}
	k.kept = false
	return k.log.remove()
}

// report tells the document and the log how settling went.
func (k *keeper) report(err error) {
	code := fault.CodeOf(err)
	if code != "" && code != k.failing {
		k.set.log.Error("draft not kept", slog.String("code", string(code)), slog.Any("err", err))
	}
	k.failing = code
	k.set.mu.Lock()
	k.doc.draftFault = code
	k.set.mu.Unlock()
}
