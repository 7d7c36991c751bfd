package store

import (
	"context"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// addSession commits a session and its event.
func (t *tx) addSession(ctx context.Context, n core.Session) (core.Session, error) {
	if n.ID == "" {
		n.ID = core.SessionID(t.s.cfg.NewID())
	}
	n.CreatedAtMs, n.UpdatedAtMs, n.ArchivedAtMs = t.now, t.now, 0
	model, err := encode(n.Model)
	if err != nil {
		return core.Session{}, err
	}
	if err := t.update(ctx, qInsertSession, string(n.ID), n.Title, orNull(n.WorkspaceID), orNull(n.DocURI), n.Runtime, model, t.now, t.now); err != nil {
		return core.Session{}, err
	}
	return n, t.emit(ctx, core.EventSessionCreated, n.ID, "", "", n)
}

func (t *tx) session(ctx context.Context, op string, id core.SessionID) (core.Session, error) {
	return session(ctx, t, op, id)
}

func session(ctx context.Context, q querier, op string, id core.SessionID) (core.Session, error) {
	n, ok, err := one(ctx, q, scanSession, qSession, string(id))
	if err == nil && !ok {
		err = &fault.Error{Code: fault.NotFound, Op: op, Detail: "session"}
	}
	return n, err
}

// CreateSession makes a session. The same command again returns it as it stands
// now, or not_found when it was deleted. Times are the store's; an empty id is
// given by it.
func (s *Store) CreateSession(ctx context.Context, cmd core.CommandID, n core.Session) (core.Session, error) {
	const op = "create session"
	var made core.Session
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		digest, err := digestOf(n)
		if err != nil {
			return err
		}
		var known core.SessionID
		found, err := t.command(ctx, op, cmd, commandCreate, digest, &known)
		if err != nil {
			return err
		}
		if found {
			made, err = t.session(ctx, op, known)
			return err
		}
		if made, err = t.addSession(ctx, n); err != nil {
			return err
		}
		return t.done(ctx, cmd, commandCreate, digest, made.ID, made.ID)
	})
	return made, err
}

// ChangeSession renames a session or archives it; a nil field stays. The same
// command again returns the session as it stands now. An archived session takes
// no new run; one that it has goes on.
func (s *Store) ChangeSession(ctx context.Context, cmd core.CommandID, id core.SessionID, title *string, archived *bool) (core.Session, error) {
	const op = "change session"
	var n core.Session
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		digest, err := digestOf(id, title, archived)
		if err != nil {
			return err
		}
		var known core.SessionID
		found, err := t.command(ctx, op, cmd, commandChange, digest, &known)
		if err != nil {
			return err
		}
		if n, err = t.session(ctx, op, id); err != nil || found {
			return err
		}
		was := n
		if title != nil {
			n.Title = *title
		}
		switch {
		case archived == nil:
		case !*archived:
			n.ArchivedAtMs = 0
		case n.ArchivedAtMs == 0:
			n.ArchivedAtMs = t.now
		}
		if n != was {
			if err := t.update(ctx, qChangeSession, n.Title, timeOrNull(n.ArchivedAtMs), string(id)); err != nil {
				return err
			}
			if err := t.emit(ctx, core.EventSessionChanged, id, "", "", n); err != nil {
				return err
			}
		}
		return t.done(ctx, cmd, commandChange, digest, id, id)
	})
	return n, err
}

// DeleteSession removes a session with everything that belongs to it: runs,
// messages, calls, proposals, what was sent, events and files (R11). Only the
// ids and digests of its commands stay, so that none of them starts anything
// again, and the entries of the send log, without their bodies. It gives busy while a run of the session has not ended. What was
// removed is overwritten in the database and its log.
func (s *Store) DeleteSession(ctx context.Context, cmd core.CommandID, id core.SessionID) error {
	const op = "delete session"
	var gone []artifactRow
	err := s.change(ctx, op, func(ctx context.Context, t *tx) error {
		digest, err := digestOf(id)
		if err != nil {
			return err
		}
		var known core.SessionID
		found, err := t.command(ctx, op, cmd, commandDelete, digest, &known)
		if err != nil || found {
			return err
		}
		if _, err := t.session(ctx, op, id); err != nil {
			return err
		}
		open, _, err := one(ctx, t, scanInt, qOpenInSession, string(id))
		if err != nil {
			return err
		}
		if open > 0 {
			return fault.New(fault.Busy, op, nil)
		}
		if gone, err = all(ctx, t, scanArtifact, qArtifactsOf, string(id)); err != nil {
			return err
		}
		for _, q := range qDropSession() {
			if _, err := t.exec(ctx, q, string(id)); err != nil {
				return err
			}
		}
		t.purged = true
		if err := t.emit(ctx, core.EventSessionDeleted, id, "", "", core.SessionDeleted{SessionID: id}); err != nil {
			return err
		}
		return t.done(ctx, cmd, commandDelete, digest, id, id)
	})
	if err != nil {
		return err
	}
	// A file that stays behind here is an orphan, which the next start removes.
	s.removeFiles(gone)
	return nil
}

// ArchivedSessions returns the sessions of conversations that are archived, the
// last 200 that were, the last first. The slice is never nil.
func (s *Store) ArchivedSessions(ctx context.Context) ([]core.Session, error) {
	var list []core.Session
	err := s.read(ctx, "list archived sessions", func(ctx context.Context, q querier) error {
		var err error
		list, err = all(ctx, q, scanSession, qArchived, stateSessions)
		return err
	})
	return list, err
}

// SessionEvents returns at most limit events of a session with seq > after, in
// order. The slice is never nil.
func (s *Store) SessionEvents(ctx context.Context, id core.SessionID, after int64, limit int) ([]core.Event, error) {
	const op = "read session events"
	var events []core.Event
	err := s.read(ctx, op, func(ctx context.Context, q querier) error {
		if _, err := session(ctx, q, op, id); err != nil {
			return err
		}
		var err error
		events, err = all(ctx, q, scanEvent, qEventsOf, string(id), after, limit)
		return err
	})
	return events, err
}
