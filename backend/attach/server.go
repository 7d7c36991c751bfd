package attach

import (
	"context"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"galley/backend/agent/host"
	"galley/backend/agent/wire"
	"galley/backend/rpc"
)

const (
	// maxClients is how many clients of the agent are served at once.
	maxClients = 16
	// maxRequests is how many requests of one client are served at once.
	maxRequests = 32
	// greetTime is how long a client may take to greet.
	greetTime = 10 * time.Second
	// partTime is how long clients may take at the end to hear what happened.
	partTime = time.Second
	// sendBytes is how much the system holds of what a client has not read,
	// about.
	sendBytes = 16 << 10
)

// server answers the clients of an agent.
type server struct {
	cfg      AgentConfig
	log      *slog.Logger
	host     *host.Host
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

func newServer(cfg AgentConfig, h *host.Host, listener net.Listener) *server {
	s := &server{cfg: cfg, log: cfg.Log, host: h, listener: listener}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wg.Go(s.accept)
	return s
}

func (s *server) accept() {
	places := make(chan struct{}, maxClients)
	for {
		c, err := s.listener.Accept()
		if err != nil {
			if s.ctx.Err() == nil {
				s.log.Info("socket of the agent closed", "err", err)
			}
			return
		}
		if err := sameUser(c); err != nil {
			s.log.Warn("connection refused", "err", err)
			_ = c.Close() // nothing was said
			continue
		}
		select {
		case places <- struct{}{}:
			s.wg.Go(func() {
				defer func() { <-places }()
				s.talk(c)
			})
		default:
			s.log.Warn("too many clients", "clients", maxClients)
			_ = c.Close() // it tries again
		}
	}
}

// talk serves one client until it goes, this process stops serving, or nothing
// more will happen.
func (s *server) talk(c net.Conn) {
	k := &client{server: s, sub: s.host.Subscribe(), known: make(chan struct{}), told: make(chan struct{})}
	if b, ok := c.(interface{ SetWriteBuffer(bytes int) error }); ok {
		// What a slow client has to read before an answer.
		if err := b.SetWriteBuffer(sendBytes); err != nil {
			s.log.Debug("buffer of a socket", "err", err)
		}
	}
	both := &once{Conn: c}
	k.conn = rpc.New(rpc.Config{
		Read: both, Write: both, Logger: s.log, Handler: rpc.Handler{Request: k.request},
		MaxLine: wire.MaxLine, MaxCalls: 1, MaxRequests: maxRequests, ErrorCode: wire.ErrorCode,
	})
	close(k.known)
	late := time.NewTimer(greetTime)
	defer late.Stop()
	over := k.sub.Over()
	for open := true; open; {
		select {
		case <-over:
			open = k.follows.Load() // then it is told first
			over = nil
		case <-late.C:
			open = k.greeted.Load()
		case <-k.conn.Done():
			open = false
		case <-s.ctx.Done():
			open = false
		case <-k.told:
			open = false
		}
	}
	k.sub.Close()
	_ = k.conn.Close() // it has ended, or we do
	k.wg.Wait()
}

// close takes nobody in any more and leaves those who are there when they have
// heard what happened.
func (s *server) close() {
	// An error means that it is closed.
	_ = s.listener.Close()
	done := make(chan struct{})
	var waiter sync.WaitGroup
	waiter.Go(func() { s.wg.Wait(); close(done) })
	select {
	case <-done:
	case <-time.After(partTime):
	}
	s.cancel()
	waiter.Wait()
}

func pid() int { return os.Getpid() }
