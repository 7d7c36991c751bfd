// Package network owns how the providers of a person are reached: which proxy
// leads to an address, and which certificates are trusted besides those of the
// system.
//
// What is set by hand comes first, then the environment, then the desktop or
// system. It opens no connection to a provider and none to a proxy, keeps no
// password on a disk, and must not know settings, keys or dialects. A Resolver
// is safe for concurrent use. The invariants that matter: this machine is never
// reached through a proxy, and no user name or password is part of a URL, an
// error or anything that is encoded here.
package network

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"galley/backend/fault"
)

// Setting is what the person set.
type Setting struct {
	// Mode is system, none or manual; anything else is taken as system.
	Mode string
	// URL is the proxy of manual: http, https or socks5. User is the name it
	// knows the person by. Bypass are hosts it is not asked for, as in NO_PROXY.
	URL    string
	User   string
	Bypass []string
}

// The values of Setting.Mode.
const (
	ModeSystem = "system"
	ModeNone   = "none"
	ModeManual = "manual"
)

// Source says where a proxy comes from.
type Source string

// The sources.
const (
	// None: there is no proxy.
	None        Source = "none"
	Manual      Source = "manual"
	Environment Source = "environment"
	// Desktop: the settings of a desktop on Linux.
	Desktop Source = "desktop"
	// System: Windows or macOS.
	System Source = "system"
)

// Proxy is the way to an address. The zero value but for Source is the direct
// one.
type Proxy struct {
	// URL is that of the proxy, with a port and without a user name; "" for
	// none. Host is its host with the port.
	URL  string
	Host string
	// User is the name that the proxy knows the person by; "" for none.
	User   string
	Source Source
	// Problem says why the system could not be asked; the way is then direct.
	// nil otherwise.
	Problem *fault.Error
}

// Found is what a system or desktop says about an address.
type Found struct {
	// Proxies are URLs in the order of the system's preference; "" and
	// "direct://" mean no proxy.
	Proxies []string
	Source  Source
}

// Config is what a Resolver is made of; its zero value is the program's.
type Config struct {
	// Getenv reads the environment; nil for os.Getenv.
	Getenv func(name string) string
	// Lookup asks the desktop or system; nil for the one that there is. It may
	// block longer than its context lasts.
	Lookup func(ctx context.Context, target *url.URL) (Found, error)
	// Limit ends the wait for Lookup and for the reading of a file; 0 means 3 s.
	Limit time.Duration
	// Now is the clock; nil for time.Now.
	Now func() time.Time
}

const (
	// keep is how long an answer of the system is good for a host, and keepBad
	// how long the lack of one, so that not every request waits for it.
	keep    = 5 * time.Minute
	keepBad = 30 * time.Second
	// maxLookups is how many may be under way, hanging ones among them.
	maxLookups = 4
	// maxCached bounds the hosts that are remembered.
	maxCached = 256
)

// Resolver finds proxies. End it with Close.
type Resolver struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	// mu guards what follows.
	mu      sync.Mutex
	closed  bool
	setting Setting
	// generation counts what emptied the cache, so that what was asked before
	// does not fill it again.
	generation int
	cache      map[string]cached
	// flights are the lookups that others can wait for too, and running counts
	// all that have not ended.
	flights map[string]*flight
	running int
	// passwords are those that came with a URL of the environment or the
	// system, by host with port.
	passwords map[string]*string
}

// cached is an answer for one host.
type cached struct {
	found Found
	err   error
	until time.Time
}

// flight is a lookup under way; found and err are set when done is closed.
type flight struct {
	done  chan struct{}
	found Found
	err   error
}

// New returns a Resolver. It asks nobody anything yet.
func New(cfg Config) *Resolver {
	if cfg.Getenv == nil {
		cfg.Getenv = os.Getenv
	}
	if cfg.Lookup == nil {
		cfg.Lookup = lookup(cfg.Getenv)
	}
	if cfg.Limit == 0 {
		cfg.Limit = 3 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Resolver{cfg: cfg, cache: map[string]cached{}, flights: map[string]*flight{}, passwords: map[string]*string{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Close forgets the passwords and waits for what is under way, at most for the
// limit: calls of some systems cannot be interrupted.
func (r *Resolver) Close() {
	r.mu.Lock()
	r.closed = true
	clear(r.passwords)
	r.mu.Unlock()
	r.cancel()
	done := make(chan struct{})
	var waiter sync.WaitGroup
	waiter.Go(func() {
		r.wg.Wait()
		close(done)
	})
	t := time.NewTimer(r.cfg.Limit)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// Forget empties the cache: the next question is put to the system anew.
func (r *Resolver) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
}

// forget is Forget; mu must be held.
func (r *Resolver) forget() {
	r.generation++
	clear(r.cache)
	clear(r.flights) // they go on, and nobody joins them any more
	clear(r.passwords)
}

// Proxy returns the way to an https address; any other address leads to this
// machine and has none. It waits for the system at most for the limit. A system
// that cannot be asked is no error (see Proxy.Problem). Faults: invalid_input
// for an address that is none, proxy when the proxy that is set cannot be one,
// with its host or the name of the variable as detail, cancelled.
func (r *Resolver) Proxy(ctx context.Context, set Setting, address string) (Proxy, error) {
	const op = "find proxy"
	target, err := targetOf(address)
	if err != nil {
		return Proxy{}, err
	}
	r.take(set)
	direct := Proxy{Source: None}
	if target.Scheme != "https" || isLoopback(target.Hostname()) || set.Mode == ModeNone {
		return direct, nil
	}
	if set.Mode == ModeManual {
		return manual(set, target)
	}
	p, secret, decided, err := fromEnvironment(r.cfg.Getenv, target)
	if err != nil {
		return Proxy{}, err
	}
	if decided {
		r.remember(p, secret)
		return p, nil
	}
	found, err := r.system(ctx, target)
	if err != nil && ctx.Err() != nil {
		return Proxy{}, fault.New(fault.Cancelled, op, context.Cause(ctx))
	}
	if err == nil {
		p, secret, err = choose(found)
	}
	if err != nil {
		direct.Problem = problemOf(op, err)
		return direct, nil
	}
	r.remember(p, secret)
	return p, nil
}

// Standing returns the proxy that is set by hand or in the environment, whatever
// address is to be reached. It asks no desktop or system. The fault is proxy, as
// that of [Resolver.Proxy].
func (r *Resolver) Standing(set Setting) (Proxy, error) {
	r.take(set)
	anywhere := &url.URL{Scheme: "https", Host: ":443"}
	switch set.Mode {
	case ModeNone:
		return Proxy{Source: None}, nil
	case ModeManual:
		set.Bypass = nil
		return manual(set, anywhere)
	}
	getenv := func(name string) string {
		if strings.EqualFold(name, "NO_PROXY") {
			return ""
		}
		return r.cfg.Getenv(name)
	}
	p, _, decided, err := fromEnvironment(getenv, anywhere)
	if !decided {
		p.Source = None
	}
	return p, err
}

// manual is the way through the proxy that the person set.
func manual(set Setting, target *url.URL) (Proxy, error) {
	u, user, _, err := parseProxy(set.URL)
	if err != nil {
		return Proxy{}, err
	}
	if user != "" {
		return Proxy{}, &fault.Error{Code: fault.Proxy, Op: "find proxy", Detail: u.Host}
	}
	if bypassed(set.Bypass, target, bypassSuffix) {
		return Proxy{Source: None}, nil
	}
	return Proxy{URL: u.String(), Host: u.Host, User: set.User, Source: Manual}, nil
}

// choose takes the first proxy that can be used. The system's others are not
// tried when it fails.
func choose(f Found) (Proxy, *string, error) {
	var firstErr error
	for _, raw := range f.Proxies {
		if raw == "" || raw == directProxy {
			return Proxy{Source: None}, nil, nil
		}
		u, user, secret, err := parseProxy(raw)
		if err != nil {
			firstErr = errors.Join(firstErr, err)
			continue
		}
		return Proxy{URL: u.String(), Host: u.Host, User: user, Source: f.Source}, secret, nil
	}
	return Proxy{Source: None}, nil, firstErr
}

// Password returns the password that came with the address of the proxy at host
// ("proxy.example:3128") from the environment or the system.
func (r *Resolver) Password(host string) (secret string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.passwords[host]
	if p == nil {
		return "", false
	}
	return *p, true
}

// remember keeps a password for as long as the setting stays.
func (r *Resolver) remember(p Proxy, secret *string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || p.Host == "" {
		return
	}
	if secret == nil {
		delete(r.passwords, p.Host)
		return
	}
	r.passwords[p.Host] = secret
}

// take empties the cache when the setting is another one.
func (r *Resolver) take(set Setting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if same(r.setting, set) {
		return
	}
	r.setting = Setting{Mode: set.Mode, URL: set.URL, User: set.User, Bypass: append([]string{}, set.Bypass...)}
	r.forget()
}

func same(a, b Setting) bool {
	if a.Mode != b.Mode || a.URL != b.URL || a.User != b.User || len(a.Bypass) != len(b.Bypass) {
		return false
	}
	for i := range a.Bypass {
		if a.Bypass[i] != b.Bypass[i] {
			return false
		}
	}
	return true
}

// errLate is that of a system that did not answer in time.
var errLate = fault.New(fault.Timeout, "ask the system for a proxy", nil)

// system asks the desktop or system, or remembers what it said of the host.
func (r *Resolver) system(ctx context.Context, target *url.URL) (Found, error) {
	key := target.Host
	r.mu.Lock()
	if c, ok := r.cache[key]; ok && r.cfg.Now().Before(c.until) {
		r.mu.Unlock()
		return c.found, c.err
	}
	generation := r.generation
	f, ok := r.flights[key]
	if !ok {
		if r.closed || r.running >= maxLookups {
			r.mu.Unlock()
			return Found{}, errLate
		}
		f = &flight{done: make(chan struct{})}
		r.flights[key] = f
		r.running++
		r.wg.Go(func() { r.look(f, generation, target) })
	}
	r.mu.Unlock()
	t := time.NewTimer(r.cfg.Limit)
	defer t.Stop()
	select {
	case <-f.done:
		return f.found, f.err
	case <-t.C:
		r.store(key, generation, cached{err: errLate, until: r.cfg.Now().Add(keepBad)})
		return Found{}, errLate
	case <-ctx.Done():
		return Found{}, context.Cause(ctx)
	}
}

// look is one lookup, from its own goroutine.
func (r *Resolver) look(f *flight, generation int, target *url.URL) {
	ctx, cancel := context.WithTimeout(r.ctx, r.cfg.Limit)
	defer cancel()
	func() {
		defer func() {
			if p := recover(); p != nil {
				f.err = fault.New(fault.Internal, "find proxy", fmt.Errorf("lookup panicked: %T", p))
			}
		}()
		f.found, f.err = r.cfg.Lookup(ctx, target)
	}()
	c := cached{found: f.found, err: f.err, until: r.cfg.Now().Add(keep)}
	if f.err != nil {
		c.until = r.cfg.Now().Add(keepBad)
	}
	r.store(target.Host, generation, c)
	r.mu.Lock()
	r.running--
	if r.flights[target.Host] == f {
		delete(r.flights, target.Host)
	}
	r.mu.Unlock()
	close(f.done)
}

// store keeps an answer, unless the cache was emptied since the question.
func (r *Resolver) store(key string, generation int, c cached) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.generation != generation {
		return
	}
	if len(r.cache) >= maxCached {
		clear(r.cache)
	}
	r.cache[key] = c
}

// problemOf is the fault of a system that could not be asked.
func problemOf(op string, err error) *fault.Error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errLate
	}
	return fault.New(fault.Proxy, op, err)
}
