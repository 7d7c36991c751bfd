//go:build unix

package network

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"galley/backend/fault"
)

// A pipe that nobody writes to is not waited for.
func TestCertificates_Pipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(path, 0o600))
	if _, err := New(Config{}).Certificates(t.Context(), path); fault.CodeOf(err) != fault.NotAFile {
		t.Errorf("got %v", err)
	}
}

// A disk that hangs is given up when the caller does.
func TestCertificates_Cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(Config{}).Certificates(ctx, filepath.Join(t.TempDir(), "x")); err == nil {
		t.Error("no fault")
	}
	if os.Getuid() == 0 {
		return // may read everything
	}
	path := filepath.Join(t.TempDir(), "closed")
	must(t, os.WriteFile(path, nil, 0))
	if _, err := New(Config{}).Certificates(t.Context(), path); fault.CodeOf(err) != fault.NotGranted {
		t.Errorf("got %v", err)
	}
}
