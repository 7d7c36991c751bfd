package core

import "galley/backend/fault"

// FaultInfoOf returns the fault attached to err as data; internal when there
// is none, nil for a nil error.
func FaultInfoOf(err error) *FaultInfo {
	f := fault.From(err)
	if f == nil {
		return nil
	}
	return &FaultInfo{Code: string(f.Code), Detail: f.Detail, RetryAfterMs: f.RetryAfter.Milliseconds()}
}
