package store

import (
	"context"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// The statuses of a message.
const (
	statusComplete  = "complete"
	statusPartial   = "partial"
	statusDiscarded = "discarded"
)

// addMessage commits a message of a run at the end of its session. The
// assistant's takes the place of the run's draft, if there is one. Attempt is
// the model call's whose answer it is; 0 for none.
func (t *tx) addMessage(ctx context.Context, run core.Run, m core.Message, status string, attempt int) error {
	if status == "" {
		status = statusComplete
	}
	id, ord, err := t.putMessage(ctx, run, m, status, attempt)
	if err != nil {
		return err
	}
	return t.emit(ctx, core.EventMessageCommitted, run.SessionID, run.ID, "", core.MessageCommitted{
		MessageID: id, Ord: ord, Message: m, Status: status, Attempt: attempt,
	})
}

func (t *tx) putMessage(ctx context.Context, run core.Run, m core.Message, status string, attempt int) (core.MessageID, int, error) {
	if status != statusComplete && status != statusPartial && status != statusDiscarded {
		return "", 0, &fault.Error{Code: fault.InvalidInput, Op: "commit message", Detail: "status"}
	}
	parts, err := encode(m.Parts)
	if err != nil {
		return "", 0, err
	}
	draft, ok, err := one(ctx, t, scanMessage, qDraft, string(run.ID))
	if err != nil {
		return "", 0, err
	}
	id, ord := draft.ID, draft.Ord
	if ok && m.Role == core.RoleAssistant {
		err = t.update(ctx, qUpdateMessage, string(m.Role), parts, status, attempt, string(id))
	} else {
		var next int64
		if next, _, err = one(ctx, t, scanInt, qNextOrd, string(run.SessionID)); err != nil {
			return "", 0, err
		}
		id, ord = core.MessageID(t.s.cfg.NewID()), int(next)
		err = t.update(ctx, qInsertMessage, string(id), string(run.SessionID), string(run.ID), ord, string(m.Role), parts, status, attempt)
	}
	if err != nil {
		return "", 0, err
	}
	for i, p := range m.Parts {
		if e := p.Envelope; e != nil && status == statusComplete {
			if err := t.update(ctx, qInsertEnvelope, string(id), i, e.V, e.Dialect, e.Origin, e.Raw); err != nil {
				return "", 0, err
			}
		}
	}
	return id, ord, nil
}

// KeepDraft stores what has come of the assistant's message, so that a crash
// does not lose it; each draft of a run replaces the one before. It emits no
// event: End, or Recover after a crash, commits the message. Only a run that is
// running or cancelling can have one.
func (s *Store) KeepDraft(ctx context.Context, id core.RunID, m core.Message) error {
	const op = "keep draft"
	return s.change(ctx, op, func(ctx context.Context, t *tx) error {
		run, err := t.runByID(ctx, op, id)
		if err != nil {
			return err
		}
		if !run.State.Active() || m.Role != core.RoleAssistant {
			return badState(op, run.State)
		}
		attempt, err := t.lastAttempt(ctx, id)
		if err != nil {
			return err
		}
		_, _, err = t.putMessage(ctx, run, m, statusPartial, attempt)
		return err
	})
}

// lastAttempt is the newest attempt of a run, 0 when there is none.
func (t *tx) lastAttempt(ctx context.Context, id core.RunID) (int, error) {
	n, _, err := one(ctx, t, scanInt, qLastAttempt, string(id))
	return int(n), err
}

// commitDraft announces the draft of a run that ends without another message.
func (t *tx) commitDraft(ctx context.Context, run core.Run) error {
	draft, ok, err := one(ctx, t, scanMessage, qDraft, string(run.ID))
	if err != nil || !ok {
		return err
	}
	return t.emit(ctx, core.EventMessageCommitted, run.SessionID, run.ID, "", draft.committed())
}

// Messages returns a session's complete messages in order, with the opaque
// data of providers as it came. The slice is never nil.
func (s *Store) Messages(ctx context.Context, id core.SessionID) ([]core.Message, error) {
	const op = "get messages"
	list := []core.Message{}
	err := s.read(ctx, op, func(ctx context.Context, q querier) error {
		if _, ok, err := one(ctx, q, scanSession, qSession, string(id)); err != nil || !ok {
			if err == nil {
				err = &fault.Error{Code: fault.NotFound, Op: op, Detail: "session"}
			}
			return err
		}
		rows, err := messages(ctx, q, qMessages, id)
		for _, m := range rows {
			list = append(list, m.Message)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// messages reads messages of a session, with the opaque data of providers.
func messages(ctx context.Context, q querier, query string, id core.SessionID) ([]messageRow, error) {
	rows, err := all(ctx, q, scanMessage, query, string(id))
	if err != nil {
		return nil, err
	}
	envelopes, err := all(ctx, q, scanEnvelope, qEnvelopes, string(id))
	if err != nil {
		return nil, err
	}
	byMessage := map[core.MessageID][]envelopeRow{}
	for _, e := range envelopes {
		byMessage[e.message] = append(byMessage[e.message], e)
	}
	for _, m := range rows {
		for _, e := range byMessage[m.ID] {
			if e.part < len(m.Parts) {
				m.Parts[e.part].Envelope = &e.Envelope
			}
		}
	}
	return rows, nil
}
