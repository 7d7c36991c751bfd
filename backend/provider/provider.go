// Package provider owns what every dialect of provider shares: how an address
// becomes a URL, how bytes on a socket become events, how long to wait, when an
// answer is whole, which failure a refusal means, when to ask again, and that
// a key is never told to anybody else.
//
// It knows no dialect: [Client] hands events to a [Decoder], which translates.
// The dialects are in the folders below and import this package, never the
// other way round.
//
// A [Client] is safe for concurrent use; each call has its own Decoder, which
// is used from one goroutine. A key is asked for when a request is about to be
// made, lives as long as that request, and is taken out of everything that the
// other side says and of every error before it is returned.
//
// The numbers in comments such as "decision 8" are those of the section
// Streams in backend/agent/core/testdata/patch/README.md.
package provider

import (
	"time"

	"galley/backend/agent/core"
)

// Timers says how long to wait for a provider. A zero field means the default;
// a negative one means for ever.
type Timers struct {
	// Connect limits name lookup, connection, proxy and TLS together. 15 s.
	Connect time.Duration
	// FirstToken limits the time from the connection to the first token.
	// 300 s; a local profile waits for ever.
	FirstToken time.Duration
	// Silence limits the time without a byte after the first token. 120 s.
	Silence time.Duration
	// Grace is how long usage may come after the finish. 2 s.
	Grace time.Duration
}

// TimersOf returns the timers that a budget asks for.
func TimersOf(b core.Budget) Timers {
	return Timers{
		Connect:    time.Duration(b.ConnectMs) * time.Millisecond,
		FirstToken: time.Duration(b.FirstTokenMs) * time.Millisecond,
		Silence:    time.Duration(b.SilenceMs) * time.Millisecond,
	}
}

// withDefaults fills the zero fields. A local server loads its model before
// the first token, which may take any time, so it is waited for (decision 9).
func (t Timers) withDefaults(local bool) Timers {
	if t.Connect == 0 {
		t.Connect = 15 * time.Second
	}
	if t.FirstToken == 0 {
		t.FirstToken = 300 * time.Second
	}
	if local {
		t.FirstToken = -1
	}
	if t.Silence == 0 {
		t.Silence = 120 * time.Second
	}
	if t.Grace == 0 {
		t.Grace = 2 * time.Second
	}
	return t
}
