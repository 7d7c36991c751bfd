package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"galley/backend/agent/core"
	"galley/backend/fault"
)

// What is kept of the send log when Config says nothing.
const (
	// DefaultKeepSends is how long an entry is kept.
	DefaultKeepSends = 30 * 24 * time.Hour
	// DefaultSendBytes is how many bytes the bodies take on the disk, together.
	DefaultSendBytes = 64 << 20
	// DefaultSends is in entries.
	DefaultSends = 10_000
)

// Send is an entry of the send log: a request that left for a provider (K9). It
// holds neither a header nor a key.
type Send struct {
	ID int64
	// AtMs and EndedAtMs are in ms since 1970; EndedAtMs is 0 while the end was
	// not seen.
	AtMs, EndedAtMs int64
	// ProviderID and ProviderName are those of the time.
	ProviderID, ProviderName string
	Model                    string
	// Purpose is conversation, rewrite, chat, test, models or describe.
	Purpose   string
	SessionID core.SessionID
	RunID     core.RunID
	Method    string
	// URL is where it went; Proxy the host of the proxy, "" for none.
	URL, Proxy string
	// SentBytes is the length of the body, ReceivedBytes that of the answer's.
	SentBytes, ReceivedBytes int64
	// Status is that of HTTP, 0 for none. Code is the fault, "" for none;
	// interrupted says that an earlier start left it without an end.
	Status int
	Code   fault.Code
	// HasBody is false when the body was empty, or went with its session.
	HasBody bool
}

// SendEnd is how a request went.
type SendEnd struct {
	Status        int
	Code          fault.Code
	ReceivedBytes int64
}

// SendLog is a page of the send log.
type SendLog struct {
	// Sends are the newest first; never nil.
	Sends []Send
	// Count and Bytes are those of the whole log, Bytes as the bodies lie on the
	// disk.
	Count int
	Bytes int64
}

// BeginSend records a request that is about to leave, with its body, and returns
// the id of the entry. What makes the log too long or too large goes, the oldest
// first. The id, the times, the end and SentBytes are the store's. A request
// whose record fails must not be sent.
func (s *Store) BeginSend(ctx context.Context, n Send, body []byte) (id int64, err error) {
	const op = "record send"
	packed, err := pack(body)
	if err != nil {
		return 0, fault.New(fault.Internal, op, err)
	}
	err = s.change(ctx, op, func(ctx context.Context, t *tx) error {
		var kept any // NULL is no body
		if len(body) > 0 {
			kept = packed
		}
		r, err := t.run(ctx, qInsertSend, t.now, s.cfg.BootID, n.ProviderID, n.ProviderName, n.Model, n.Purpose,
			orNull(n.SessionID), orNull(n.RunID), n.Method, n.URL, n.Proxy, len(body), len(packed), kept)
		if err != nil {
			return err
		}
		if id, err = r.LastInsertId(); err != nil {
			return err
		}
		return t.trimSends(ctx, id)
	})
	return id, err
}

// EndSend records how a request went. The first end counts; that of an entry
// that was cleared meanwhile is nobody's.
func (s *Store) EndSend(ctx context.Context, id int64, end SendEnd) error {
	return s.change(ctx, "record end of send", func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, qEndSend, t.now, end.Status, string(end.Code), end.ReceivedBytes, id)
		return err
	})
}

// Sends returns at most limit entries with an id below before, the newest first;
// 0 is for the newest.
func (s *Store) Sends(ctx context.Context, before int64, limit int) (SendLog, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	var log SendLog
	err := s.read(ctx, "list sends", func(ctx context.Context, q querier) error {
		size, _, err := one(ctx, q, scanSendSize, qSendSize)
		if err != nil {
			return err
		}
		log.Count, log.Bytes = int(size.count), size.bytes
		log.Sends, err = all(ctx, q, scanSend, qSends, s.cfg.BootID, before, limit)
		return err
	})
	return log, err
}

// SendBody returns an entry and at most limit bytes of its body from an offset;
// nothing past the end, and where there is no body any more. An unknown id is
// not_found.
func (s *Store) SendBody(ctx context.Context, id, offset int64, limit int) (n Send, piece []byte, err error) {
	const op = "read send"
	var packed []byte
	err = s.read(ctx, op, func(ctx context.Context, q querier) error {
		var ok bool
		var err error
		if n, ok, err = one(ctx, q, scanSend, qSend, s.cfg.BootID, id); err != nil {
			return err
		}
		if !ok {
			return &fault.Error{Code: fault.NotFound, Op: op, Detail: "send"}
		}
		packed, _, err = one(ctx, q, scanBytes, qSendBody, id)
		return err
	})
	if err != nil || len(packed) == 0 {
		return n, nil, err
	}
	piece, err = unpack(packed, offset, limit)
	if err != nil {
		return n, nil, fault.New(fault.StoreFailed, op, err)
	}
	return n, piece, nil
}

// ClearSends removes the entries up to an id, 0 for all. What was removed is
// overwritten in the database and its log.
func (s *Store) ClearSends(ctx context.Context, upTo int64) error {
	if upTo <= 0 {
		upTo = math.MaxInt64
	}
	return s.change(ctx, "clear sends", func(ctx context.Context, t *tx) error {
		n, err := t.exec(ctx, qClearSends, upTo)
		t.purged = t.purged || n > 0
		return err
	})
}

// trimSends lets the oldest entries go until the log is within its bounds; the
// newest one stays whatever its size.
func (t *tx) trimSends(ctx context.Context, newest int64) error {
	if err := t.dropOldSends(ctx); err != nil {
		return err
	}
	size, _, err := one(ctx, t, scanSendSize, qSendSize)
	if err != nil {
		return err
	}
	cfg := t.s.cfg
	if size.count <= int64(cfg.MaxSends) && size.bytes <= cfg.SendBytes {
		return nil
	}
	_, err = t.exec(ctx, qTrimSends, cfg.SendBytes, cfg.MaxSends, newest)
	return err
}

// dropOldSends lets entries go that are past their time.
func (t *tx) dropOldSends(ctx context.Context) error {
	if t.s.cfg.KeepSends < 0 {
		return nil
	}
	_, err := t.exec(ctx, qDropOldSends, t.now-t.s.cfg.KeepSends.Milliseconds())
	return err
}

// pack compresses a body; no bytes stay none.
func pack(body []byte) ([]byte, error) {
	if len(body) == 0 {
		return nil, nil
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(body)
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return b.Bytes(), nil
}

// unpack returns a piece of what was packed, and no more of it in memory.
func unpack(packed []byte, offset int64, limit int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, r, offset); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, int64(limit)))
}
