package attach

import (
	"context"
	"fmt"
	"log/slog"

	"galley/backend/agent/host"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
	"galley/backend/settings"
)

// AgentConfig says whose agent is meant. Home, Kind and Log are needed.
type AgentConfig struct {
	Home settings.Home
	// Kind is what kind of program this is.
	Kind wire.ClientKind
	// Version is the program's.
	Version string
	// Log gets no path and nothing that was said.
	Log *slog.Logger
}

// Agent is this process's part in the question who holds the agent of a home.
// Its methods are the Claim and Dial of a [host.Config].
type Agent struct{ cfg AgentConfig }

// NewAgent returns an Agent. Nothing is locked yet.
func NewAgent(cfg AgentConfig) *Agent { return &Agent{cfg: cfg} }

// Claim locks the agent of the home for this process and serves h to clients,
// until release is called. release is nil, without an error, where another
// process has it.
func (a *Agent) Claim(h *host.Host) (release func(), err error) {
	held, err := tryLock(a.cfg.Home.AgentLock())
	if err != nil {
		return nil, fmt.Errorf("lock agent: %w", err)
	}
	if held == nil {
		return nil, nil
	}
	listener, err := listen(a.cfg.Home.Dir, agentSocket)
	if err != nil {
		// The agent of a home without a socket is still the only one.
		a.cfg.Log.Error("no socket for clients", "err", err)
		return held.release, nil
	}
	s := newServer(a.cfg, h, listener)
	// Whoever reads the lock finds somebody who answers.
	if err := held.write(listener.Addr().String()); err != nil {
		a.cfg.Log.Error("socket not named", "err", err)
	}
	return func() {
		s.close()
		held.release()
	}, nil
}

// Dial connects to the process that holds the agent and greets it. The
// connection is the caller's. Faults: protocol_error for a holder of another
// version; what else fails is no fault.
func (a *Agent) Dial(ctx context.Context, handler rpc.Handler) (*rpc.Conn, wire.HelloResult, error) {
	c, err := dial(ctx, a.cfg.Home.AgentLock())
	if err != nil {
		return nil, wire.HelloResult{}, fmt.Errorf("dial agent: %w", err)
	}
	both := &once{Conn: c}
	conn := rpc.New(rpc.Config{
		Read: both, Write: both, Logger: a.cfg.Log, Handler: handler, MaxLine: wire.MaxLine,
	})
	var res wire.HelloResult
	err = conn.Call(ctx, wire.MethodHello, wire.HelloParams{
		Protocol: wire.Protocol, Kind: a.cfg.Kind, Version: a.cfg.Version,
	}, &res)
	if err == nil && res.Protocol != wire.Protocol {
		err = fault.New(fault.ProtocolError, wire.MethodHello, nil)
	}
	if err != nil {
		_ = conn.Close() // it is of no use
		return nil, wire.HelloResult{}, fmt.Errorf("greet agent: %w", err)
	}
	return conn, res, nil
}
