package store

import (
	"context"
	"errors"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

func pending(op string) error { return fault.New(fault.Internal, op, errors.New("not built yet")) }

func (s *Store) History(context.Context, core.SessionID) (core.History, error) {
	return core.History{}, pending("history")
}

func (s *Store) CommitStep(context.Context, core.RunID, int, core.Message, []core.ToolCall) ([]core.ToolCall, error) {
	return nil, pending("commit step")
}

func (s *Store) ReconcileByPerson(context.Context, core.CommandID, core.ToolCallID, core.ToolVerdict) error {
	return pending("reconcile")
}

func (s *Store) CreateSession(context.Context, core.CommandID, core.Session) (core.Session, error) {
	return core.Session{}, pending("create session")
}

func (s *Store) ChangeSession(context.Context, core.CommandID, core.SessionID, *string, *bool) (core.Session, error) {
	return core.Session{}, pending("change session")
}

func (s *Store) DeleteSession(context.Context, core.CommandID, core.SessionID) error {
	return pending("delete session")
}

func (s *Store) SessionEvents(context.Context, core.SessionID, int64, int) ([]core.Event, error) {
	return nil, pending("session events")
}

func (s *Store) Runs(context.Context, int) ([]core.Run, error) { return nil, pending("runs") }

func (s *Store) RunDetail(context.Context, core.RunID) (core.RunDetail, error) {
	return core.RunDetail{}, pending("run detail")
}

func (s *Store) ToolCall(context.Context, core.ToolCallID) (core.ToolCall, error) {
	return core.ToolCall{}, pending("tool call")
}

func (s *Store) Contexts(context.Context, core.RunID) ([]core.ContextReport, error) {
	return nil, pending("contexts")
}

func (s *Store) Artifact(context.Context, core.ArtifactID, int64, int) (core.Artifact, []byte, error) {
	return core.Artifact{}, nil, pending("artifact")
}
