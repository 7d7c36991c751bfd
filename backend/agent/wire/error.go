package wire

import "galley/backend/fault"

// ErrorCode returns the JSON-RPC number of a fault.
func ErrorCode(c fault.Code) int {
	switch c {
	case fault.CommandConflict:
		return ErrCommandConflict
	case fault.NotFound:
		return ErrNotFound
	case fault.StaleApproval:
		return ErrStaleApproval
	case fault.Busy:
		return ErrBusy
	case fault.StoreFailed:
		return ErrStoreFailed
	default:
		return ErrFault
	}
}
