package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"time"

	"galley/backend/fault"
)

// planted is what must not be found anywhere.
const planted = "sk-PLANTED-7f3a9c"

// A panic in a bound call is an answer like any other failure, and the log does
// not learn what the call was about: its arguments, the panic's own words.
//
// covers: K4
func TestCall_PanicIsAnAnswer(t *testing.T) {
	for name, value := range map[string]any{
		"words":  "no place for " + planted,
		"error":  errors.New(planted),
		"fault":  &fault.Error{Code: fault.BadKey, Detail: planted},
		"struct": SetKeyRequest{Key: planted},
		"bytes":  []byte(planted),
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			got, err := call(slog.New(slog.NewJSONHandler(&log, nil)), "set key", func() (SetKeyRequest, error) {
				panic(value)
			})
			if got != (SetKeyRequest{}) {
				t.Errorf("got %+v", got)
			}
			if body := FormatError(err); body != `{"code":"internal","detail":"","retryAfterMs":0}` {
				t.Errorf("the page gets %+v", body)
			}
			if err == nil || strings.Contains(err.Error(), planted) || strings.Contains(log.String(), planted) {
				t.Errorf("error %v, log %s", err, log.String())
			}
			for _, said := range []string{"bound call panicked", "set key", fmt.Sprintf("%T", value), "TestCall_PanicIsAnAnswer"} {
				if !strings.Contains(log.String(), said) {
					t.Errorf("the log does not say %q: %s", said, log.String())
				}
			}
		})
	}
}

func TestCall_FailureOfRuntime(t *testing.T) {
	var none map[string]int
	err := do(slog.New(slog.DiscardHandler), "x", func() error {
		none["a"] = 1
		return nil
	})
	if got := fault.CodeOf(err); got != fault.Internal {
		t.Errorf("got %q", got)
	}
}

// What a call answers beside an error is not the page's to see, and the log
// holds its code and nothing else.
func TestCall_RefusalIsLoggedByCode(t *testing.T) {
	var log bytes.Buffer
	_, err := call(slog.New(slog.NewTextHandler(&log, nil)), "open", func() (int, error) {
		return 1, fmt.Errorf("open %s: %w", planted, &fault.Error{Code: fault.NotFound, Detail: planted, Err: errors.New(planted)})
	})
	if fault.CodeOf(err) != fault.NotFound {
		t.Errorf("got %v", err)
	}
	if s := log.String(); strings.Contains(s, planted) || !strings.Contains(s, "not_found") || !strings.Contains(s, "op=open") {
		t.Errorf("log: %s", s)
	}
	log.Reset()
	if got, err := call(slog.New(slog.NewTextHandler(&log, nil)), "x", func() (int, error) { return 7, nil }); got != 7 || err != nil || log.Len() > 0 {
		t.Errorf("got %d, %v, log %q", got, err, log.String())
	}
}

// covers: K6
func TestFormatError(t *testing.T) {
	cause := errors.New("dial tcp: " + planted)
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"fault", fault.New(fault.Busy, "close", cause), `{"code":"busy","detail":"","retryAfterMs":0}`},
		{
			"whole fault", &fault.Error{Code: fault.RateLimited, Op: "chat", Detail: "api.example.invalid", RetryAfter: 1500 * time.Millisecond, Err: cause},
			`{"code":"rate_limited","detail":"api.example.invalid","retryAfterMs":1500}`,
		},
		{"wrapped", fmt.Errorf("open %s: %w", planted, fault.New(fault.NotAFile, "", cause)), `{"code":"not_a_file","detail":"","retryAfterMs":0}`},
		{"joined", errors.Join(cause, fault.New(fault.NoKey, "", nil)), `{"code":"no_key","detail":"","retryAfterMs":0}`},
		{"cancelled", fmt.Errorf("x: %w", context.Canceled), `{"code":"cancelled","detail":"","retryAfterMs":0}`},
		{"late", fmt.Errorf("x: %w", context.DeadlineExceeded), `{"code":"timeout","detail":"","retryAfterMs":0}`},
		{"no file", &fs.PathError{Op: "open", Path: planted, Err: fs.ErrNotExist}, `{"code":"not_found","detail":"","retryAfterMs":0}`},
		{"a fault stands over its cause", fault.New(fault.Cancelled, "x", context.DeadlineExceeded), `{"code":"cancelled","detail":"","retryAfterMs":0}`},
		{"internal of a known cause", fault.New(fault.Internal, "x", fs.ErrNotExist), `{"code":"not_found","detail":"","retryAfterMs":0}`},
		{"anything", cause, `{"code":"internal","detail":"","retryAfterMs":0}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := FormatError(c.err).(string)
			if !ok || got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
