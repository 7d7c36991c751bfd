package proc

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// terminate has no counterpart here; signalGroup refuses it.
const terminate = syscall.SIGTERM

// ownGroup keeps a console's Ctrl+C from the child and shows no console for it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP,
		HideWindow:    true,
	}
}

// signalGroup kills p. Its own children are not reached: that needs a Job
// Object, which the Runner, having no children yet, does not.
func signalGroup(p *os.Process, sig os.Signal) error {
	if sig != os.Kill {
		return errors.ErrUnsupported
	}
	return p.Kill()
}
