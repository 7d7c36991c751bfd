package provider

import (
	"context"

	"galley/backend/fault"
)

// Sending is a request that is about to leave, as the send log keeps it (K9).
// It holds no key: that is in the headers, which are not kept.
type Sending struct {
	// Op is what it is for: "chat", "models", "describe".
	Op     string
	Method string
	// URL is where it goes; Proxy is the host of the proxy it goes through, ""
	// for none.
	URL, Proxy string
	// Body is exactly what leaves; it is not kept after Begin returns.
	Body []byte
}

// Outcome is how a request went.
type Outcome struct {
	// Status is that of HTTP; 0 when no answer came.
	Status int
	// Code is the fault; "" for a whole answer.
	Code fault.Code
	// Received is how many bytes of the answer's body came, as sent.
	Received int64
}

// Recorder keeps the send log. Implementations are safe for concurrent use.
type Recorder interface {
	// Begin is told before the first byte of a request leaves. What cannot be
	// recorded is not sent: an error ends the request.
	Begin(ctx context.Context, s Sending) (id int64, err error)
	// End is told once after it, whatever came, also when ctx has ended.
	End(id int64, o Outcome)
}
