package attach

import "os"

// lock is a file that one process at a time has locked. The system takes it
// back when the process ends.
type lock struct{ file *os.File }

// write names the socket in the lock file.
func (l *lock) write(at string) error {
	_, err := l.file.WriteAt([]byte(at+"\n"), 0)
	return err
}

// release gives the lock back.
func (l *lock) release() {
	_ = l.file.Truncate(0) // the next holder does it too
	_ = l.file.Close()     // which unlocks, whatever it says
}
