package provider

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"galley/backend/fault"
)

// MaxAttempts is how often one step is tried, the first time included.
const MaxAttempts = 3

// MaxRetryAfter is the longest wait that a client takes on by itself. A
// provider that asks for more is left to the person.
const MaxRetryAfter = 60 * time.Second

// RetryDelay says whether a step that failed with err is to be tried again, and
// after how long. attempts counts those made, the failed one included; spoken
// says that the failed one had already given a visible word; random is in
// [0,1) and spreads the waits of many clients.
//
// Only failures that may pass by themselves are tried again, at most
// [MaxAttempts] times, and only before the first visible word, because a second
// answer would double it. A wait that the provider asked for is kept to, up to
// [MaxRetryAfter]; beyond that there is no retry. The caller waits, so that a
// cancel can cut the wait.
func RetryDelay(err error, attempts int, spoken bool, random float64) (time.Duration, bool) {
	if spoken || attempts >= MaxAttempts {
		return 0, false
	}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return 0, false
	}
	switch f.Code {
	case fault.RateLimited, fault.Overloaded, fault.ProviderError,
		fault.Stalled, fault.StreamCut, fault.ConnectionRefused:
	default:
		return 0, false
	}
	if f.RetryAfter > MaxRetryAfter {
		return 0, false
	}
	// 0.5 s to 1 s, then 1 s to 2 s, and so on.
	backoff := time.Duration((0.5 + random/2) * float64(time.Second<<max(attempts-1, 0)))
	if f.RetryAfter > 0 {
		// Never earlier than asked; a little later, so that not all come at once.
		return f.RetryAfter + time.Duration(random*float64(time.Second)), true
	}
	return backoff, true
}

// retryAfter reads how long the provider asked to wait (decision 25); 0 when it
// did not or when it cannot be read. now stands in for a missing Date.
func retryAfter(h http.Header, e *APIError, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil && ms >= 0 {
		return scale(ms, time.Millisecond)
	}
	after := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(after, 64); err == nil && s >= 0 {
		return scale(s, time.Second)
	}
	if at, err := http.ParseTime(after); err == nil {
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			now = date
		}
		return max(at.Sub(now), 0)
	}
	if e != nil && e.retry > 0 {
		return e.retry
	}
	return 0
}

// scale multiplies without running over.
func scale(n float64, unit time.Duration) time.Duration {
	d := n * float64(unit)
	if math.IsNaN(d) || d > float64(math.MaxInt64/2) {
		return 0
	}
	return time.Duration(d)
}
