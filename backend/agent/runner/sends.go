package runner

import (
	"context"
	"log/slog"
	"time"

	"galley/backend/agent/core"
	"galley/backend/agent/store"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/provider"
)

// What a request is for, as the send log tells it.
const (
	purposeChat     = "chat"
	purposeTest     = "test"
	purposeModels   = "models"
	purposeDescribe = "describe"
)

// sendLog records what one endpoint sends, for one use of it (K9).
type sendLog struct {
	store *store.Store
	log   *slog.Logger
	// of is what each entry says: provider, model, purpose, session and run.
	of store.Send
}

var _ provider.Recorder = (*sendLog)(nil)

// Begin implements provider.Recorder. When it returns the entry is committed.
func (l *sendLog) Begin(ctx context.Context, s provider.Sending) (int64, error) {
	n := l.of
	n.Method, n.URL, n.Proxy = s.Method, s.URL, s.Proxy
	switch {
	case s.Op == purposeModels && (n.Purpose == purposeModels || n.Purpose == purposeTest):
		n.Purpose, n.Model = purposeModels, "" // all of them, of none in particular
	case s.Op == purposeModels, s.Op == purposeDescribe:
		// Some servers tell of one model in the list of all only.
		n.Purpose = purposeDescribe
	}
	return l.store.BeginSend(ctx, n, s.Body)
}

// End implements provider.Recorder. An end that cannot be recorded is one that
// was not seen.
func (l *sendLog) End(id int64, o provider.Outcome) {
	err := l.store.EndSend(context.Background(), id, store.SendEnd{Status: o.Status, Code: o.Code, ReceivedBytes: o.Received})
	if err != nil {
		l.log.Warn("end of a send not recorded", "send", id, "err", err)
	}
}

func (r *Runner) sends(ctx context.Context, p wire.SendListParams) (wire.SendListResult, error) {
	log, err := r.store.Sends(ctx, p.BeforeID, p.Limit)
	if err != nil {
		return wire.SendListResult{}, err
	}
	res := wire.SendListResult{
		Sends: make([]wire.Send, 0, len(log.Sends)), Count: log.Count, Bytes: log.Bytes,
		KeptDays: int(store.DefaultKeepSends / (24 * time.Hour)), KeptBytes: store.DefaultSendBytes,
	}
	for _, n := range log.Sends {
		res.Sends = append(res.Sends, sendOf(n))
	}
	return res, nil
}

func (r *Runner) send(ctx context.Context, p wire.SendGetParams) (wire.SendGetResult, error) {
	n, b, err := r.store.SendBody(ctx, p.ID, p.Offset, max(p.Limit, minPiece))
	if err != nil {
		return wire.SendGetResult{}, err
	}
	res := wire.SendGetResult{Send: sendOf(n)}
	if n.HasBody && len(b) > 0 {
		res.Body, res.NextOffset = wholeText(b, p.Offset, n.SentBytes)
	}
	return res, nil
}

// firstSends is how many entries a cleared log answers with.
const firstSends = 50

// clearSends answers with what is left.
func (r *Runner) clearSends(ctx context.Context, p wire.SendClearParams) (wire.SendListResult, error) {
	if err := r.store.ClearSends(ctx, p.UpToID); err != nil {
		return wire.SendListResult{}, err
	}
	return r.sends(ctx, wire.SendListParams{Limit: firstSends})
}

func sendOf(n store.Send) wire.Send { return wire.Send(n) }

// unsupported is the end of a conversation whose model is known not to call the
// tools it would be offered: it is said before anything is sent (K10).
func unsupported(run core.Run) core.RunEnd {
	return core.RunEnd{State: core.RunFailed, Fault: core.FaultInfoOf(&fault.Error{
		Code: fault.UnsupportedByModel, Op: "run", Detail: run.Model.Model,
	})}
}
