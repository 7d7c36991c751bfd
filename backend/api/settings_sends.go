package api

import "galley/backend/agent/wire"

// sendPiece is how many bytes of a body the page gets at a time.
const sendPiece = 256 << 10

// Sends returns the entries of the send log before an id, newest first; 0 for
// the newest (K9). limit is 1 to 200. It works where another process holds the
// agent as well.
func (s *Settings) Sends(before int64, limit int) (SendPage, error) {
	return call(s.log, "list sends", func() (SendPage, error) {
		return s.host.Sends(s.ctx(), wire.SendListParams{BeforeID: before, Limit: limit})
	})
}

// Send returns what left with one request, from an offset in bytes, 256 KiB at
// most. It is busy where another process holds the agent.
func (s *Settings) Send(id, offset int64) (SendBody, error) {
	return call(s.log, "get send", func() (SendBody, error) {
		return s.host.Send(s.ctx(), wire.SendGetParams{ID: id, Offset: offset, Limit: sendPiece})
	})
}

// ClearSends clears the send log up to an id, the newest that the person saw; 0
// clears all. It returns the newest entries of what is left, and is busy where
// another process holds the agent.
func (s *Settings) ClearSends(upTo int64) (SendPage, error) {
	return call(s.log, "clear sends", func() (SendPage, error) {
		return s.host.ClearSends(s.ctx(), wire.SendClearParams{UpToID: upTo})
	})
}
