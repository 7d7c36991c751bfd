package provider

import (
	"errors"
	"syscall"
)

// Codes of Winsock that package syscall has no name for.
const (
	wsaNetDown     = syscall.Errno(10050)
	wsaNetUnreach  = syscall.Errno(10051)
	wsaRefused     = syscall.Errno(10061)
	wsaHostUnreach = syscall.Errno(10065)
)

func isOffline(err error) bool {
	return errors.Is(err, wsaNetUnreach) || errors.Is(err, wsaHostUnreach) || errors.Is(err, wsaNetDown)
}

func isRefused(err error) bool { return errors.Is(err, wsaRefused) }

func isReset(err error) bool {
	return errors.Is(err, syscall.WSAECONNRESET) || errors.Is(err, syscall.WSAECONNABORTED) ||
		errors.Is(err, syscall.ERROR_BROKEN_PIPE)
}
