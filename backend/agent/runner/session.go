package runner

import (
	"context"
	"unicode/utf8"

	"galley/backend/agent/core"
	"galley/backend/agent/loop"
	"galley/backend/agent/wire"
)

func (r *Runner) createSession(ctx context.Context, p wire.SessionCreateParams) (core.Session, error) {
	return r.store.CreateSession(ctx, p.CommandID, core.Session{
		Title: p.Title, WorkspaceID: p.WorkspaceID, DocURI: p.DocURI, Runtime: loop.Name, Model: p.ModelRef,
	})
}

func (r *Runner) changeSession(ctx context.Context, p wire.SessionChangeParams) (core.Session, error) {
	return r.store.ChangeSession(ctx, p.CommandID, p.SessionID, p.Title, p.Archived)
}

func (r *Runner) deleteSession(ctx context.Context, p wire.SessionDeleteParams) (empty, error) {
	return empty{}, r.store.DeleteSession(ctx, p.CommandID, p.SessionID)
}

func (r *Runner) sessions(ctx context.Context, p wire.SessionListParams) ([]core.Session, error) {
	if p.Archived {
		return r.store.ArchivedSessions(ctx)
	}
	state, _, err := r.store.Snapshot(ctx)
	return state.Sessions, err
}

// session returns a session with its messages; where they are too many for one
// answer, the newest.
func (r *Runner) session(ctx context.Context, p wire.SessionGetParams) (wire.SessionGetResult, error) {
	h, err := r.store.History(ctx, p.SessionID)
	if err != nil {
		return wire.SessionGetResult{}, err
	}
	res := wire.SessionGetResult{Session: h.Session, Messages: []core.MessageCommitted{}}
	for _, m := range h.Messages {
		res.Messages = append(res.Messages, core.MessageCommitted{
			MessageID: m.ID, Ord: m.Ord, Message: m.Message, Status: m.Status,
		})
	}
	res.Messages, res.Omitted = fitMessages(res.Messages, maxAnswer-size(h.Session))
	return res, nil
}

// readAhead is how many events are read at a time on the way to a page.
const readAhead = 64

// sessionEvents returns a page of a session's events, from which its history
// can be replayed. A page is full by number or by bytes.
func (r *Runner) sessionEvents(ctx context.Context, p wire.SessionEventsParams) (wire.SessionEventsResult, error) {
	var all []core.Event
	total, after := 0, p.AfterSeq
	for total <= pageBytes {
		n := min(p.Limit+1-len(all), readAhead) // one more says that there are more
		if n <= 0 {
			break
		}
		events, err := r.store.SessionEvents(ctx, p.SessionID, after, n)
		if err != nil {
			return wire.SessionEventsResult{}, err
		}
		for _, e := range events {
			total += sizeOf(e)
			after = e.Seq
		}
		all = append(all, events...)
		if len(events) < n {
			break
		}
	}
	more := len(all) > p.Limit
	return page(all[:min(len(all), p.Limit)], more), nil
}

// minPiece is the least of an artifact that is read: a whole character.
const minPiece = utf8.UTFMax

// pieceOf makes a piece of an artifact of bytes read at an offset.
func pieceOf(a core.Artifact, b []byte, offset int64) wire.ArtifactGetResult {
	res := wire.ArtifactGetResult{Artifact: a}
	res.Text, res.Next = wholeText(b, offset, a.Bytes)
	return res
}

// wholeText makes text of bytes read at an offset of so many in all: what is
// left of a character before them and what is there of one behind them is left
// out. Next is where the rest begins, 0 when there is none.
func wholeText(b []byte, offset, total int64) (s string, next int64) {
	end := offset + int64(len(b))
	if end < total {
		next = end
		for n := 1; n < min(utf8.UTFMax, len(b)); n++ {
			tail := b[len(b)-n:]
			if utf8.RuneStart(tail[0]) {
				if !utf8.FullRune(tail) {
					b = b[:len(b)-n]
					next -= int64(n)
				}
				break
			}
		}
	}
	if offset > 0 {
		for n := 0; n < utf8.UTFMax-1 && len(b) > 0 && !utf8.RuneStart(b[0]); n++ {
			b = b[1:]
		}
	}
	return string(b), next
}
