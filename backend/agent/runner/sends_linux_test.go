package runner

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/rpc"
)

// apart starts a Runner that is a process of its own, with the host of the test
// at the other end of its pipes. Small gives its home a disk of its own of so
// many bytes, 0 for none; disk is where the test finds it. Said is what the
// process writes to its standard error.
func apart(t *testing.T, home string, small int) (r *rig, cmd *exec.Cmd, said *bufio.Reader, disk string) {
	t.Helper()
	r = &rig{
		t: t, home: home, changed: make(chan struct{}), ended: make(chan error, 1),
		texts: map[core.RunID]string{}, cancels: map[core.ToolCallID]chan struct{}{}, secret: plantedKey,
	}
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "RUNNER_TEST_HOME="+home)
	if small > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprint("RUNNER_TEST_DISK=", small))
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
		if os.Getuid() != 0 {
			cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
			cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
			cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
		}
		// In case the mount could not be made the child's own.
		t.Cleanup(func() { _ = unix.Unmount(home, unix.MNT_DETACH) })
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w := pipe(t)
	cmd.Stdout = w
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // when the test did not come so far
		_ = cmd.Wait()
		_ = r.conn.Close()
	})
	r.conn = rpc.New(rpc.Config{Read: out, Write: in, Logger: quiet(), Handler: rpc.Handler{Request: r.serve, Notify: r.notify}})
	r.greet()
	return r, cmd, bufio.NewReader(errs), filepath.Join("/proc", fmt.Sprint(cmd.Process.Pid), "root", home)
}

// mountHome gives the home of this process a disk of its own; see apart.
func mountHome(home, size string) error {
	// EINVAL: the root is no mount of its own, as under chroot. The disk can then
	// be seen outside as well, until it is taken away again.
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return unix.Mount("galley", home, "tmpfs", 0, "mode=0700,size="+size)
}

// kill -9 while a request is on its way: the entry is there, and the next start
// says that nobody saw the end. The key is in nothing that was left behind.
//
// covers: K9 R6 R13 K4
func TestSendLog_KilledInMidRequest(t *testing.T) {
	t.Parallel()
	s := newRemote(t)
	arrived := make(chan string, 1)
	s.chat = func(w http.ResponseWriter, r *http.Request, body string) {
		utter(w, "Half an ")
		arrived <- body
		<-r.Context().Done()
	}
	home := t.TempDir()
	r, cmd, _, _ := apart(t, home, 0)
	res := r.submit(s.talk("c1", "large", "Hello."))
	body := <-arrived
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed

	again := boot(t, home, nil)
	again.greet()
	again.endsOrHas(res.RunID, core.RunInterrupted)
	s.chat = nil
	again.must(wire.MethodProviderTest, wire.ProviderTestParams{Provider: s.provider(), Model: "small"}, nil)
	log := again.sends()
	if len(log) != 4 { // the description, the request, the test and its models
		t.Fatalf("log %+v", log)
	}
	lost := log[1]
	if lost.EndedAtMs != 0 || lost.Code != fault.Interrupted || lost.Status != 0 || lost.RunID != res.RunID || lost.Purpose != "conversation" {
		t.Errorf("the lost one is %+v", lost)
	}
	if got := again.body(lost.ID, 1<<20); got != body || !strings.Contains(got, "Hello.") {
		t.Errorf("kept %q, the provider got %q", got, body)
	}
	for i, n := range log {
		if i != 1 && (n.EndedAtMs == 0 || n.Code != "") {
			t.Errorf("entry %d is %+v", i, n)
		}
	}
	files, err := os.ReadDir(home)
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if b, err := os.ReadFile(filepath.Join(home, f.Name())); err == nil && strings.Contains(string(b), plantedKey) {
			t.Errorf("the key is in %s", f.Name())
		}
	}
}

// What a full disk cannot record is not sent: the provider sees nothing, and who
// asked is told why.
//
// covers: K9 R12
func TestSendLog_DiskIsFull(t *testing.T) {
	t.Parallel()
	s := newRemote(t)
	r, cmd, said, disk := apart(t, t.TempDir(), 8<<20)
	chat := func(words string) error {
		return r.call(wire.MethodModelChat, wire.ChatParams{
			ModelRef: core.ModelRef{Model: "small"}, Provider: s.provider(), Messages: []core.Message{personSays(words)},
		}, nil)
	}
	if err := chat("Hello."); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(disk, "ballast"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for piece := make([]byte, 64<<10); len(piece) > 0; piece = piece[:len(piece)/2] {
		for err = nil; err == nil; {
			_, err = f.Write(piece)
		}
		if !errors.Is(err, unix.ENOSPC) {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	// A body that does not compress finds no room in what is there.
	var words strings.Builder
	for range 2000 {
		words.WriteString(newID())
	}
	if err := chat(words.String()); fault.CodeOf(err) != fault.DiskFull {
		t.Errorf("got %v, want disk_full", err)
	}
	if asked, _ := s.counts(); asked != 1 {
		t.Errorf("the provider was asked %d times, want once", asked)
	}
	// The Runner ends with that, and who starts it says so.
	if line, _ := said.ReadString('\n'); !strings.Contains(line, string(fault.DiskFull)) {
		t.Errorf("its end was %q", line)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
