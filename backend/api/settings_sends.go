package api

import "galley/backend/fault"

// Sends returns the entries of the send log before an id, newest first; 0 for
// the newest (K9).
func (s *Settings) Sends(before int64, limit int) (SendPage, error) {
	return SendPage{}, fault.New(fault.Internal, "list sends", nil)
}

// Send returns what left with one request, from an offset in bytes.
func (s *Settings) Send(id, offset int64) (SendBody, error) {
	return SendBody{}, fault.New(fault.Internal, "get send", nil)
}

// ClearSends clears the send log up to an id, the newest that the person saw.
func (s *Settings) ClearSends(upTo int64) (SendPage, error) {
	return SendPage{}, fault.New(fault.Internal, "clear sends", nil)
}
