package network

import (
	"context"
	"fmt"
	"net/url"
	"unsafe"

	"golang.org/x/sys/windows"
)

// lookup is how this system is asked. Its calls cannot be interrupted; who asks
// stops waiting.
func lookup(func(string) string) func(context.Context, *url.URL) (Found, error) {
	calls := newWinHTTP()
	return func(_ context.Context, target *url.URL) (Found, error) { return ofWindows(calls, target) }
}

// winHTTP calls winhttp.dll.
type winHTTP struct {
	open, closeHandle, setTimeouts, ieConfig, proxyForURL, globalFree *windows.LazyProc
}

func newWinHTTP() winHTTP {
	dll, kernel := windows.NewLazySystemDLL("winhttp.dll"), windows.NewLazySystemDLL("kernel32.dll")
	return winHTTP{
		open: dll.NewProc("WinHttpOpen"), closeHandle: dll.NewProc("WinHttpCloseHandle"),
		setTimeouts: dll.NewProc("WinHttpSetTimeouts"),
		ieConfig:    dll.NewProc("WinHttpGetIEProxyConfigForCurrentUser"),
		proxyForURL: dll.NewProc("WinHttpGetProxyForUrl"), globalFree: kernel.NewProc("GlobalFree"),
	}
}

// Values of winhttp.h.
const (
	accessTypeNoProxy    = 1
	autoproxyAutoDetect  = 1
	autoproxyConfigURL   = 2
	autoDetectDHCPAndDNS = 1 | 2
	// scriptTimeout is for each step of getting a script, in ms.
	scriptTimeout = 2000
)

// currentUserConfig is WINHTTP_CURRENT_USER_IE_PROXY_CONFIG.
type currentUserConfig struct {
	autoDetect                     int32
	autoConfigURL, proxies, bypass *uint16
}

// autoproxyOptions is WINHTTP_AUTOPROXY_OPTIONS.
type autoproxyOptions struct {
	flags, detectFlags uint32
	autoConfigURL      *uint16
	reserved           uintptr
	reserved2          uint32
	autoLogon          int32
}

// proxyInfo is WINHTTP_PROXY_INFO.
type proxyInfo struct {
	accessType      uint32
	proxies, bypass *uint16
}

// config implements winCalls.
func (w winHTTP) config() (winConfig, error) {
	if err := w.ieConfig.Find(); err != nil {
		return winConfig{}, fmt.Errorf("find winhttp: %w", err)
	}
	var c currentUserConfig
	if ok, _, err := w.ieConfig.Call(uintptr(unsafe.Pointer(&c))); ok == 0 {
		return winConfig{}, fmt.Errorf("read proxy settings: %w", err)
	}
	return winConfig{
		detect: c.autoDetect != 0, script: w.take(c.autoConfigURL), proxies: w.take(c.proxies), bypass: w.take(c.bypass),
	}, nil
}

// auto implements winCalls.
func (w winHTTP) auto(address, script string, detect bool) (proxies, bypass string, err error) {
	agent, err := windows.UTF16PtrFromString("Galley")
	if err != nil {
		return "", "", err
	}
	at, err := windows.UTF16PtrFromString(address)
	if err != nil {
		return "", "", err
	}
	session, _, err := w.open.Call(uintptr(unsafe.Pointer(agent)), accessTypeNoProxy, 0, 0, 0)
	if session == 0 {
		return "", "", fmt.Errorf("open winhttp: %w", err)
	}
	defer func() { _, _, _ = w.closeHandle.Call(session) }() // nothing of it is left
	if ok, _, err := w.setTimeouts.Call(session, scriptTimeout, scriptTimeout, scriptTimeout, scriptTimeout); ok == 0 {
		return "", "", fmt.Errorf("limit winhttp: %w", err)
	}
	var o autoproxyOptions
	if detect {
		o.flags |= autoproxyAutoDetect
		o.detectFlags = autoDetectDHCPAndDNS
	}
	if script != "" {
		o.flags |= autoproxyConfigURL
		if o.autoConfigURL, err = windows.UTF16PtrFromString(script); err != nil {
			return "", "", err
		}
	}
	var info proxyInfo
	ok, _, err := w.proxyForURL.Call(session, uintptr(unsafe.Pointer(at)), uintptr(unsafe.Pointer(&o)), uintptr(unsafe.Pointer(&info)))
	if ok == 0 {
		return "", "", fmt.Errorf("run proxy script: %w", err)
	}
	proxies, bypass = w.take(info.proxies), w.take(info.bypass)
	if info.accessType == accessTypeNoProxy {
		return "", "", nil
	}
	return proxies, bypass, nil
}

// take copies a string that the system made for us, and gives it back.
func (w winHTTP) take(s *uint16) string {
	if s == nil {
		return ""
	}
	text := windows.UTF16PtrToString(s)
	_, _, _ = w.globalFree.Call(uintptr(unsafe.Pointer(s))) // what is not freed is a few bytes
	return text
}
