package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"galley/backend/fault"
)

// JSON-RPC error codes that this package itself gives.
const (
	codeFault      = -32000
	codeOverloaded = -32001
	codeCancelled  = -32800
)

// errPanic is the cause of a fault that a handler's panic became; the panic
// itself is in the log.
var errPanic = errors.New("panic")

// faultData is the data of an error object: a fault without its cause.
type faultData struct {
	Code         string `json:"code"`
	Detail       string `json:"detail"`
	RetryAfterMs int64  `json:"retryAfterMs"`
}

// encodeError turns a handler's error into an error object. What is no fault
// is logged here, since the peer learns nothing of it.
func (c *Conn) encodeError(method string, err error) *jsonrpc2.Error {
	if errors.Is(err, ErrNoMethod) {
		return &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "no such method"}
	}
	f := fault.From(err)
	if f.Code == fault.Internal {
		c.log.Error("request failed", "method", method, "err", err)
	}
	code := codeFault
	switch {
	case f.Code == fault.Cancelled:
		code = codeCancelled
	case c.code != nil:
		code = c.code(f.Code)
	}
	e := &jsonrpc2.Error{Code: int64(code), Message: string(f.Code)}
	e.SetError(faultData{Code: string(f.Code), Detail: f.Detail, RetryAfterMs: f.RetryAfter.Milliseconds()})
	return e
}

// decodeError turns an error object into a fault. The data says which one;
// without data the number does.
func decodeError(method string, e *jsonrpc2.Error) error {
	f := fault.New(fault.Internal, method, fmt.Errorf("peer answered %d", e.Code))
	if e.Data != nil {
		var d faultData
		if err := json.Unmarshal(*e.Data, &d); err == nil && fault.Code(d.Code).Valid() {
			f.Code, f.Detail = fault.Code(d.Code), d.Detail
			f.RetryAfter = time.Duration(d.RetryAfterMs) * time.Millisecond
			return f
		}
	}
	switch e.Code {
	case codeOverloaded:
		f.Code = fault.Busy
	case codeCancelled:
		f.Code = fault.Cancelled
	case jsonrpc2.CodeMethodNotFound:
		f.Code = fault.NotFound
		f.Err = ErrNoMethod
	case jsonrpc2.CodeInvalidParams:
		f.Code = fault.InvalidInput
	}
	return f
}

// Decode reads params into a T. What does not fit is fault.InvalidInput.
func Decode[T any](method string, params json.RawMessage) (T, error) {
	var v T
	if err := json.Unmarshal(params, &v); err != nil {
		// The error may quote the input; its type is enough.
		return v, fault.New(fault.InvalidInput, method, fmt.Errorf("params: %T", err))
	}
	return v, nil
}
