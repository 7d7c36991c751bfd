//go:build unix

package proc

import (
	"os"
	"os/exec"
	"syscall"
)

// terminate asks a child to end.
const terminate = syscall.SIGTERM

// ownGroup makes the child lead a process group.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// signalGroup signals every process of the group that p leads. p must not have
// been waited for.
func signalGroup(p *os.Process, sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return os.ErrInvalid
	}
	return syscall.Kill(-p.Pid, s)
}
