package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime/debug"

	"galley/backend/fault"
)

// FaultBody is a failure as the page gets it.
type FaultBody struct {
	Code         fault.Code `json:"code"`
	Detail       string     `json:"detail"`
	RetryAfterMs int64      `json:"retryAfterMs"`
}

// FormatError turns the error of a bound method into a [FaultBody] as JSON text:
// the window's runtime makes a JavaScript Error of what it gets, in which an
// object would be lost. It is the window's error formatter. Causes stay on this
// side.
func FormatError(err error) any {
	text, err := json.Marshal(faultBody(err))
	if err != nil { // a FaultBody always marshals
		return ""
	}
	return string(text)
}

func faultBody(err error) FaultBody {
	f := asFault(err)
	return FaultBody{Code: f.Code, Detail: f.Detail, RetryAfterMs: f.RetryAfter.Milliseconds()}
}

// asFault gives an error that nobody attached a fault to the nearest code.
func asFault(err error) *fault.Error {
	f := fault.From(err)
	if f.Code != fault.Internal {
		return f
	}
	switch {
	case errors.Is(err, context.Canceled):
		return fault.New(fault.Cancelled, f.Op, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Timeout, f.Op, err)
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.NotFound, f.Op, err)
	}
	return f
}

// call runs the body of a bound method. A panic becomes fault.Internal, since
// Wails would otherwise log the arguments and never settle the page's promise.
// Nothing of the arguments is logged.
func call[T any](log *slog.Logger, op string, body func() (T, error)) (result T, err error) {
	defer func() {
		if r := recover(); r != nil {
			// The panic value may quote an argument, so only its type is kept.
			log.Error("bound call panicked", "op", op, "type", fmt.Sprintf("%T", r), "stack", string(debug.Stack()))
			err = fault.New(fault.Internal, op, nil)
		}
	}()
	result, err = body()
	if err != nil {
		f := asFault(err)
		log.Info("bound call refused", "op", op, "code", f.Code)
		return result, f
	}
	return result, nil
}

// do is call for a body without a result.
func do(log *slog.Logger, op string, body func() error) error {
	_, err := call(log, op, func() (struct{}, error) { return struct{}{}, body() })
	return err
}
