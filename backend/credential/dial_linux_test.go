package credential

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"galley/backend/credential/nolaunch"
)

// A bus that takes a connection and says nothing is left when there is no more
// time.
//
// covers: K5
func TestDial_LeavesABusThatHangs(t *testing.T) {
	at := filepath.Join(t.TempDir(), "bus")
	bus, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	t.Setenv(nolaunch.Variable, "unix:path="+at)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := dial(ctx)
		left <- err
	}()
	conn, err := bus.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cancel()
	if err := <-left; err == nil {
		t.Error("connected to nobody")
	}
}
