package workspace_test

import (
	"os"
	"syscall"
)

const enospc = syscall.Errno(112) // ERROR_DISK_FULL

func umask(int) int { return 0 }

func kill() { os.Exit(137) }
