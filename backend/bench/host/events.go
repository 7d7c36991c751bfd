//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/store"
	"galley/backend/agent/wire"
	"galley/backend/bench"
)

const (
	// batch is how many events one round commits one by one, crowd how many
	// writers commit at once in the other measurement.
	batch, crowd = 32, 64
	// lineBytes is about what a row of an event takes.
	lineBytes = 250
)

// plain is a file to which lines are written and synced, one by one.
type plain struct{ f *os.File }

func newPlain(dir, name string) (*plain, error) {
	f, err := os.Create(filepath.Join(dir, name))
	return &plain{f}, err
}

func (p *plain) write(n int) (time.Duration, error) {
	line := make([]byte, lineBytes)
	begun := time.Now()
	for range n {
		if _, err := p.f.Write(line); err != nil {
			return 0, err
		}
		if err := p.f.Sync(); err != nil {
			return 0, err
		}
	}
	return time.Since(begun), nil
}

// log is a run database of its own with sessions to change: each change is one
// event in one commit.
type log struct {
	store    *store.Store
	sessions []core.SessionID
	mu       sync.Mutex
	n        int
}

func newLog(dir, name string, sessions int) (*log, error) {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Config{Path: filepath.Join(dir, name)})
	if err != nil {
		return nil, err
	}
	l := &log{store: s}
	if _, err := s.Recover(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for i := range sessions {
		made, err := s.CreateSession(ctx, core.CommandID("make-"+strconv.Itoa(i)), core.Session{Title: "t", Runtime: "native"})
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		l.sessions = append(l.sessions, made.ID)
	}
	return l, nil
}

// commit makes one event of a session.
func (l *log) commit(session int) error {
	l.mu.Lock()
	l.n++
	title := "title-" + strconv.Itoa(l.n)
	l.mu.Unlock()
	_, err := l.store.ChangeSession(context.Background(), core.CommandID(title), l.sessions[session], &title, nil)
	return err
}

// events is bm-9.
func events(dir string) error {
	p, err := newPlain(dir, "plain")
	if err != nil {
		return err
	}
	defer func() { _ = p.f.Close() }()
	l, err := newLog(dir, "events.db", crowd)
	if err != nil {
		return err
	}
	defer func() { _ = l.store.Close() }()
	before := l.store.LastSeq()
	r, err := bench.Pair{
		ID: "bm-9", Name: fmt.Sprintf("%d events one by one beside write and fsync", batch), Rounds: 20,
		Ours: func() (time.Duration, error) {
			begun := time.Now()
			for range batch {
				if err := l.commit(0); err != nil {
					return 0, err
				}
			}
			return time.Since(begun), nil
		},
		Peer: func() (time.Duration, error) { return p.write(batch) },
	}.Run()
	if err != nil {
		return err
	}
	fmt.Println(r)
	bench.Figure(os.Stdout, "bm-9", "committed event", "median="+each(r.Ours[len(r.Ours)/2], batch)+" min="+each(r.Ours[0], batch))
	if got, want := l.store.LastSeq()-before, int64(21*batch); got != want {
		return fmt.Errorf("%d events were committed, not %d", got, want)
	}

	r, err = bench.Pair{
		ID: "bm-9", Name: fmt.Sprintf("%d events at once beside as many writes and fsyncs", crowd), Rounds: 20,
		Ours: func() (time.Duration, error) { return l.crowd() },
		Peer: func() (time.Duration, error) { return p.write(crowd) },
	}.Run()
	if err != nil {
		return err
	}
	fmt.Println(r)
	bench.Figure(os.Stdout, "bm-9", "committed event in a group", "median="+each(r.Ours[len(r.Ours)/2], crowd)+" min="+each(r.Ours[0], crowd))
	return nil
}

// crowd has every session changed at the same time.
func (l *log) crowd() (time.Duration, error) {
	errs := make([]error, len(l.sessions))
	var all sync.WaitGroup
	begun := time.Now()
	for i := range l.sessions {
		all.Go(func() { errs[i] = l.commit(i) })
	}
	all.Wait()
	return time.Since(begun), errors.Join(errs...)
}

// echoAndCommit is the peer of everything that crosses the pipe and is kept.
type echoAndCommit struct {
	child *peer
	log   *log
}

func newEchoAndCommit(dir, name string) (*echoAndCommit, error) {
	l, err := newLog(dir, name, 1)
	if err != nil {
		return nil, err
	}
	child, err := startPeer()
	if err != nil {
		return nil, errors.Join(err, l.store.Close())
	}
	return &echoAndCommit{child, l}, nil
}

func (e *echoAndCommit) do(times, commits int) (time.Duration, error) {
	begun := time.Now()
	for range times {
		if err := e.child.echo(); err != nil {
			return 0, err
		}
		for range commits {
			if err := e.log.commit(0); err != nil {
				return 0, err
			}
		}
	}
	return time.Since(begun), nil
}

func (e *echoAndCommit) end() error { return errors.Join(e.child.end(), e.log.store.Close()) }

// toThePage is the way of an event: asked for by the host, committed by the
// Runner, told to the page.
func toThePage(dir string) error {
	home := filepath.Join(dir, "page")
	p, err := start(home, nil, nil)
	if err != nil {
		return err
	}
	defer p.end()
	e, err := newEchoAndCommit(dir, "page.db")
	if err != nil {
		return err
	}
	defer func() { _ = e.end() }()
	ctx := context.Background()
	const many = 64
	sessions := make([]core.SessionID, many)
	for i := range sessions {
		s, err := p.CreateSession(ctx, wire.SessionCreateParams{CommandID: core.CommandID("s" + strconv.Itoa(i)), Title: "t"})
		if err != nil {
			return err
		}
		sessions[i] = s.ID
	}
	if err := p.has(many); err != nil {
		return err
	}
	n, had := 0, many
	change := func(session core.SessionID, n int) error {
		title := "title-" + strconv.Itoa(n)
		_, err := p.ChangeSession(ctx, wire.SessionChangeParams{CommandID: core.CommandID(title), SessionID: session, Title: &title})
		return err
	}
	r, err := bench.Pair{
		ID: "bm-14", Name: "event commit to page", Rounds: 20,
		Ours: func() (time.Duration, error) {
			begun := time.Now()
			for range batch {
				n++
				had++
				if err := change(sessions[0], n); err != nil {
					return 0, err
				}
				if err := p.has(had); err != nil {
					return 0, err
				}
			}
			return time.Since(begun) / batch, nil
		},
		Peer: func() (time.Duration, error) {
			d, err := e.do(batch, 1)
			return d / batch, err
		},
	}.Run()
	if err != nil {
		return err
	}
	fmt.Println(r)

	const rounds = 40
	errs := make([]error, many)
	var all sync.WaitGroup
	begun := time.Now()
	for i, s := range sessions {
		all.Go(func() {
			for k := range rounds {
				errs[i] = errors.Join(errs[i], change(s, 1_000_000+i*rounds+k))
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := p.has(had + many*rounds); err != nil {
		return err
	}
	figure("events a second to the page", fmt.Sprintf("events/s=%.0f n=%d, each asked for over the pipe, %d at once",
		many*rounds/time.Since(begun).Seconds(), many*rounds, many))
	return nil
}

// has waits until the page has so many events, and sees that none is missing.
func (p *program) has(n int) error {
	return p.until(func() (bool, error) {
		if len(p.events) > n {
			return false, fmt.Errorf("%d events, not %d", len(p.events), n)
		}
		return len(p.events) == n, nil
	})
}
