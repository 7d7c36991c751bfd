// Package attach makes one running window and one agent of each home: a second
// window hands its files to the one that is there and ends, and whoever else
// wants the agent is a client of the process that holds it.
//
// What decides are two locks, the window's and the agent's, each with a socket
// of its own. A lock is one on a file of the home, which the system gives to one
// process and takes back when that process ends, however it ends. What carries
// is a local socket; it lies outside of the home, whose path can be too long
// for one, in a folder that only this user can enter, and the lock file names
// it. Both ends see that the other is the same user. Whoever connects to the
// window can have files opened as the command line can, and nothing else;
// whoever connects to the agent speaks docs/PROTOCOL.md, and can neither learn a
// key nor say where one is sent.
//
// The invariant that matters: of any number of starts on one home at most one
// has the [Seat] and at most one holds the [Agent], and one that does not get
// its files opened says so.
package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"galley/backend/fault"
	"galley/backend/rpc"
	"galley/backend/settings"
	"galley/backend/workspace"
)

// ErrNoAnswer says that a window of this home is running and did not take the
// files in time. Test with errors.Is.
var ErrNoAnswer = errors.New("a window is open on this home and does not answer")

const (
	// defaultPatience is how long a running window is waited for.
	defaultPatience = 3 * time.Second
	// pause is how long a start waits before it tries again.
	pause = 20 * time.Millisecond
	// maxTalk is how long one connection may last.
	maxTalk = 10 * time.Second
	// maxTalks is how many connections are served at once.
	maxTalks = 8
	// maxMessage is the longest message in bytes; maxPaths and maxPath bound
	// the paths in it.
	maxMessage = 4 << 20
	maxPaths   = 1000
	maxPath    = 32 << 10
)

// methodOpen has a running window open paths.
const methodOpen = "window.open"

// OpenRequest is what window.open takes.
type OpenRequest struct {
	// Paths are absolute.
	Paths []workspace.StoredPath `json:"paths"`
	// Version is that of the program that asks.
	Version string `json:"version"`
}

// opened answers window.open.
type opened struct {
	OK bool `json:"ok"`
}

// Config says which home is meant.
type Config struct {
	Home settings.Home
	// Version is the program's.
	Version string
	// Log gets no path. Required.
	Log *slog.Logger
	// Patience is how long a running window is waited for; 0 for 3 s.
	Patience time.Duration
}

// Seat is held by the one window of a home. End it with [Seat.Close].
type Seat struct {
	log  *slog.Logger
	lock *lock
	// listener is nil where no socket could be made: then other starts get no
	// answer.
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	shut     sync.Once
}

// Take makes this process the one window of a home, whose folder must exist.
// Where another process is, paths are handed to it and the seat is nil. paths
// are absolute. It waits for at most the patience; the error is then
// [ErrNoAnswer]. A window that refuses the paths gives its fault.
func Take(ctx context.Context, cfg Config, paths []string) (*Seat, error) {
	patience := cfg.Patience
	if patience <= 0 {
		patience = defaultPatience
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, ErrNoAnswer)
	defer cancel()
	for {
		held, err := tryLock(cfg.Home.Lock())
		if err != nil {
			return nil, fmt.Errorf("lock home: %w", err)
		}
		if held != nil {
			return sit(cfg, held), nil
		}
		err = handOver(ctx, cfg, paths)
		if err == nil {
			return nil, nil
		}
		if _, refused := errors.AsType[*fault.Error](err); refused {
			return nil, err
		}
		cfg.Log.Debug("running window not reached", "err", err)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// sit makes the socket of a home whose lock is held. A window without one is
// still the only one.
func sit(cfg Config, held *lock) *Seat {
	s := &Seat{log: cfg.Log, lock: held}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	listener, err := listen(cfg.Home.Dir, windowSocket)
	if err == nil {
		if err = held.write(listener.Addr().String()); err != nil {
			_ = listener.Close() // it is of no use to anybody
			listener = nil
		}
	}
	if err != nil {
		s.log.Error("no socket for further starts", "err", err)
		return s
	}
	s.listener = listener
	return s
}

// Serve answers further starts with open, which gets absolute paths and may be
// called from several goroutines; it must not be slow. Starts that came before
// have waited. It returns at once.
func (s *Seat) Serve(open func(paths []string)) {
	if s.listener == nil {
		return
	}
	s.wg.Go(func() { s.accept(open) })
}

// Shut ends the serving and waits for it: further starts wait for the end of
// this process.
func (s *Seat) Shut() {
	s.shut.Do(func() {
		s.cancel()
		if s.listener != nil {
			if err := s.listener.Close(); err != nil {
				s.log.Warn("socket not closed", "err", err)
			}
		}
		s.wg.Wait()
	})
}

// Close gives the home free for the next start.
func (s *Seat) Close() {
	s.Shut()
	s.lock.release()
}

func (s *Seat) accept(open func([]string)) {
	places := make(chan struct{}, maxTalks)
	for {
		c, err := s.listener.Accept()
		if err != nil {
			if s.ctx.Err() == nil {
				s.log.Error("socket failed", "err", err)
			}
			return
		}
		select {
		case places <- struct{}{}:
			s.wg.Go(func() {
				defer func() { <-places }()
				s.talk(c, open)
			})
		default:
			_ = c.Close() // it tries again
		}
	}
}

// talk serves one connection.
func (s *Seat) talk(c net.Conn, open func([]string)) {
	if err := sameUser(c); err != nil {
		s.log.Warn("connection refused", "err", err)
		_ = c.Close() // nothing was said
		return
	}
	conn := connect(c, s.log, func(_ context.Context, method string, params json.RawMessage) (any, error) {
		if method != methodOpen {
			return nil, rpc.ErrNoMethod
		}
		var r OpenRequest
		if json.Unmarshal(params, &r) != nil || r.check() != nil {
			return nil, fault.New(fault.InvalidInput, methodOpen, nil)
		}
		paths := make([]string, 0, len(r.Paths))
		for _, p := range r.Paths {
			paths = append(paths, string(p))
		}
		open(paths)
		return opened{OK: true}, nil
	})
	select {
	case <-conn.Done():
	case <-s.ctx.Done():
	}
	_ = conn.Close() // it has ended, or we do
}

func (r OpenRequest) check() error {
	if len(r.Paths) > maxPaths {
		return fault.New(fault.InvalidInput, methodOpen, nil)
	}
	for _, stored := range r.Paths {
		p := string(stored)
		if !filepath.IsAbs(p) || len(p) > maxPath || strings.ContainsRune(p, 0) {
			return fault.New(fault.InvalidInput, methodOpen, nil)
		}
	}
	return nil
}

// handOver has the running window open paths.
func handOver(ctx context.Context, cfg Config, paths []string) error {
	r := OpenRequest{Paths: make([]workspace.StoredPath, 0, len(paths)), Version: cfg.Version}
	for _, p := range paths {
		r.Paths = append(r.Paths, workspace.StoredPath(p))
	}
	if err := r.check(); err != nil {
		return err
	}
	c, err := dial(ctx, cfg.Home.Lock())
	if err != nil {
		return err
	}
	conn := connect(c, cfg.Log, nil)
	var answer opened
	err = conn.Call(ctx, methodOpen, r, &answer)
	_ = conn.Close() // the answer is here, or none comes
	if err == nil && !answer.OK {
		return errors.New("another answer than was asked for")
	}
	return err
}

// dial connects to the socket that the holder of a lock names, and sees that it
// is one of this user.
func dial(ctx context.Context, lock string) (net.Conn, error) {
	at, err := readLock(lock)
	if err != nil {
		return nil, err
	}
	if err := checkSocket(at); err != nil {
		return nil, err
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", at)
	if err != nil {
		return nil, err
	}
	if err := sameUser(c); err != nil {
		_ = c.Close() // nothing was said
		return nil, err
	}
	return c, nil
}

// connect starts JSON-RPC on a connection, which lasts for a short while only.
func connect(c net.Conn, log *slog.Logger, request func(context.Context, string, json.RawMessage) (any, error)) *rpc.Conn {
	// An error means that it is closed, which the first read finds out.
	_ = c.SetDeadline(time.Now().Add(maxTalk))
	both := &once{Conn: c}
	return rpc.New(rpc.Config{
		Read: both, Write: both, Logger: log, Handler: rpc.Handler{Request: request},
		MaxLine: maxMessage, MaxCalls: 1, MaxRequests: 4,
	})
}

// once is a connection that can be closed by both of its ends.
type once struct {
	net.Conn
	close sync.Once
}

var _ io.ReadWriteCloser = (*once)(nil)

func (c *once) Close() (err error) {
	c.close.Do(func() { err = c.Conn.Close() })
	return err
}

// readLock returns the socket that the holder of a lock names.
func readLock(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxPath))
	if err != nil {
		return "", err
	}
	at, whole := strings.CutSuffix(string(data), "\n")
	if !whole || !filepath.IsAbs(at) {
		return "", errors.New("the lock names no socket yet")
	}
	return at, nil
}
