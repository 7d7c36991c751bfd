// Package fault owns the closed list of failures that a person can be shown.
//
// It is a leaf: it imports only the standard library and knows no wording; the
// page turns a [Code] into a sentence and a next step. A fault is attached
// once, at the lowest place that knows what a failure means to the person;
// above it errors are wrapped with %w and nothing else.
package fault

import (
	"errors"
	"time"
)

// Code names one kind of failure. The list is closed: [Codes] holds every
// value, the page has a message for each, and the store keeps them as text.
type Code string

// The codes, grouped as in docs/GLOSSARY.md.
const (
	NoProvider         Code = "no_provider"
	NoKey              Code = "no_key"
	BadKey             Code = "bad_key"
	NoPermission       Code = "no_permission"
	ModelNotFound      Code = "model_not_found"
	UnsupportedByModel Code = "unsupported_by_model"

	RateLimited    Code = "rate_limited"
	Quota          Code = "quota"
	ContextTooLong Code = "context_too_long"
	CutOff         Code = "cut_off"
	Refused        Code = "refused"
	BadRequest     Code = "bad_request"

	ProviderError Code = "provider_error"
	Overloaded    Code = "overloaded"
	NotAnAPI      Code = "not_an_api"
	ProtocolError Code = "protocol_error"
	StreamCut     Code = "stream_cut"
	Stalled       Code = "stalled"
	Timeout       Code = "timeout"

	Offline           Code = "offline"
	DNS               Code = "dns"
	ConnectionRefused Code = "connection_refused"
	TLS               Code = "tls"
	Proxy             Code = "proxy"
	ProxyAuth         Code = "proxy_auth"

	RunnerGone      Code = "runner_gone"
	StoreFailed     Code = "store_failed"
	DiskFull        Code = "disk_full"
	Busy            Code = "busy"
	Cancelled       Code = "cancelled"
	Interrupted     Code = "interrupted"
	CommandConflict Code = "command_conflict"
	StaleApproval   Code = "stale_approval"

	KeyringMissing Code = "keyring_missing"
	KeyringLocked  Code = "keyring_locked"
	KeyringTimeout Code = "keyring_timeout"
	KeyMalformed   Code = "key_malformed"

	NotGranted          Code = "not_granted"
	OutsideWorkspace    Code = "outside_workspace"
	NotFound            Code = "not_found"
	Exists              Code = "exists"
	ChangedOnDisk       Code = "changed_on_disk"
	ReadOnly            Code = "read_only"
	TooLarge            Code = "too_large"
	UnsupportedEncoding Code = "unsupported_encoding"
	ReservedName        Code = "reserved_name"
	NotAFile            Code = "not_a_file"

	Stale         Code = "stale"
	UnknownBase   Code = "unknown_base"
	NotInDocument Code = "not_in_document"
	Ambiguous     Code = "ambiguous"
	EmptyOldText  Code = "empty_old_text"
	NoChange      Code = "no_change"
	Overlap       Code = "overlap"

	InvalidInput Code = "invalid_input"
	Internal     Code = "internal"
)

// Codes returns every code in the order of the glossary. The slice is the
// caller's own.
func Codes() []Code {
	return []Code{
		NoProvider, NoKey, BadKey, NoPermission, ModelNotFound, UnsupportedByModel,
		RateLimited, Quota, ContextTooLong, CutOff, Refused, BadRequest,
		ProviderError, Overloaded, NotAnAPI, ProtocolError, StreamCut, Stalled, Timeout,
		Offline, DNS, ConnectionRefused, TLS, Proxy, ProxyAuth,
		RunnerGone, StoreFailed, DiskFull, Busy, Cancelled, Interrupted, CommandConflict, StaleApproval,
		KeyringMissing, KeyringLocked, KeyringTimeout, KeyMalformed,
		NotGranted, OutsideWorkspace, NotFound, Exists, ChangedOnDisk, ReadOnly, TooLarge,
		UnsupportedEncoding, ReservedName, NotAFile,
		Stale, UnknownBase, NotInDocument, Ambiguous, EmptyOldText, NoChange, Overlap,
		InvalidInput, Internal,
	}
}

// Valid reports whether c is one of [Codes].
func (c Code) Valid() bool {
	for _, k := range Codes() {
		if c == k {
			return true
		}
	}
	return false
}

// Error is a failure that a person can be shown.
type Error struct {
	// Code is the kind of failure; never empty.
	Code Code
	// Op is the operation that failed, in lower case, for logs ("save").
	Op string
	// Detail is a short fact the message may quote: a host, a path that the
	// person opened, a model id, an HTTP status, the provider's own words
	// (redacted). Never a secret, never document text.
	Detail string
	// RetryAfter is how long the other side asked to wait; 0 when it did not.
	RetryAfter time.Duration
	// Err is the cause, for logs only; may be nil.
	Err error
}

// New returns an Error with a code, an operation and a cause, which may be nil.
func New(code Code, op string, err error) *Error {
	return &Error{Code: code, Op: op, Err: err}
}

// Error implements error. The text is for logs, never for a person.
func (e *Error) Error() string {
	s := string(e.Code)
	if e.Op != "" {
		s = e.Op + ": " + s
	}
	if e.Detail != "" {
		s += " (" + e.Detail + ")"
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is(err, &Error{Code: c}) match on the code alone.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Op == "" && t.Err == nil
}

// CodeOf returns the code attached to err, or [Internal] when there is none.
// It returns "" for a nil error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// From returns the fault attached to err, or a new [Internal] one around it.
// It returns nil for a nil error.
func From(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: Internal, Err: err}
}
