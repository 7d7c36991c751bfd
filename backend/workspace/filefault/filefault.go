// Package filefault wraps the file-system calls of package workspace so that a
// test can make any single one of them fail, stop half-way or be the last
// thing its process does. Run a write with N = 1, 2, 3 … until a run passes
// without a fault, and every call of it has been hit.
//
// It is for tests only; nothing of the program imports it.
package filefault

import (
	"io/fs"
	"sync"

	"galley/backend/workspace"
)

// Mode is how a call goes wrong.
type Mode string

// The modes. Half differs from Before only for a write.
const (
	// Before: the call does not happen and fails.
	Before Mode = "before"
	// After: the call happens and fails all the same.
	After Mode = "after"
	// Half: half of a write happens, then it fails.
	Half Mode = "half"
	// Forever: the call and every later one fail, as on a disk that is gone.
	Forever Mode = "forever"
)

// Calls counts the calls that pass and spoils one.
type Calls struct {
	under workspace.Calls

	// mu guards what follows.
	mu    sync.Mutex
	plan  Plan
	names []string // of the calls made
	fired string
	watch func(name string)
}

// Plan says which call goes wrong and how.
type Plan struct {
	// At is the number of the call, from 1; 0 spoils none.
	At   int
	Mode Mode
	// Err is what a spoiled call returns.
	Err error
	// Die, when set, is called in place of returning Err. It does not return.
	Die func()
}

// New wraps under. Nothing goes wrong before Arm.
func New(under workspace.Calls) *Calls { return &Calls{under: under} }

// Arm starts counting anew under a plan.
func (c *Calls) Arm(p Plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan, c.names, c.fired = p, nil, ""
}

// Fired returns the name of the first call that was spoiled; "" for none.
func (c *Calls) Fired() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fired
}

// Names returns the names of the calls made since Arm, in order: the call that
// At = n spoils is Names()[n-1]. The slice is the caller's.
func (c *Calls) Names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string{}, c.names...)
}

// Watch has watch called with the name of each call before it is made; nil ends
// that.
func (c *Calls) Watch(watch func(name string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch = watch
}

// next counts a call and tells whether it is to go wrong.
func (c *Calls) next(name string) (Plan, bool) {
	c.mu.Lock()
	watch := c.watch
	c.mu.Unlock()
	if watch != nil {
		watch(name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names = append(c.names, name)
	n := len(c.names)
	hit := c.plan.At > 0 && (n == c.plan.At || (c.plan.Mode == Forever && n > c.plan.At))
	if hit && c.fired == "" {
		c.fired = name
	}
	return c.plan, hit
}

// spoil makes one call as planned. half does half of it and may be nil.
func (c *Calls) spoil(name string, half func(), call func() error) error {
	p, hit := c.next(name)
	if !hit {
		return call()
	}
	switch p.Mode {
	case Before, Forever:
		// Nothing happens.
	case After:
		// What the call returned is lost with its answer.
		_ = call()
	case Half:
		if half != nil {
			half()
		}
	}
	if p.Die != nil {
		p.Die()
	}
	return p.Err
}

// OpenDir implements workspace.Calls.
func (c *Calls) OpenDir(path string) (workspace.Dir, error) {
	return c.openDir("open folder", func() (workspace.Dir, error) { return c.under.OpenDir(path) })
}

func (c *Calls) openDir(name string, open func() (workspace.Dir, error)) (workspace.Dir, error) {
	var d workspace.Dir
	err := c.spoil(name, nil, func() (err error) {
		d, err = open()
		return err
	})
	if err != nil {
		if d != nil {
			_ = d.Close() // the error to see is the planned one
		}
		return nil, err
	}
	return &dir{c, d}, nil
}

// EvalSymlinks implements workspace.Calls.
func (c *Calls) EvalSymlinks(path string) (string, error) {
	return value(c, "resolve", func() (string, error) { return c.under.EvalSymlinks(path) })
}

// Lstat implements workspace.Calls.
func (c *Calls) Lstat(path string) (fs.FileInfo, error) {
	return value(c, "lstat", func() (fs.FileInfo, error) { return c.under.Lstat(path) })
}

// Readlink implements workspace.Calls.
func (c *Calls) Readlink(path string) (string, error) {
	return value(c, "readlink", func() (string, error) { return c.under.Readlink(path) })
}

// MkdirAll implements workspace.Calls.
func (c *Calls) MkdirAll(path string, perm fs.FileMode) error {
	return c.spoil("mkdir", nil, func() error { return c.under.MkdirAll(path, perm) })
}

func value[T any](c *Calls, name string, call func() (T, error)) (T, error) {
	var v, none T
	err := c.spoil(name, nil, func() (err error) {
		v, err = call()
		return err
	})
	if err != nil {
		return none, err
	}
	return v, nil
}

type dir struct {
	c *Calls
	d workspace.Dir
}

func (d *dir) Open(name string, flag int, perm fs.FileMode) (workspace.Handle, error) {
	var h workspace.Handle
	err := d.c.spoil("open", nil, func() (err error) {
		h, err = d.d.Open(name, flag, perm)
		return err
	})
	if err != nil {
		if h != nil {
			_ = h.Close() // the error to see is the planned one
		}
		return nil, err
	}
	return &handle{c: d.c, h: h}, nil
}

func (d *dir) OpenDir(name string) (workspace.Dir, error) {
	return d.c.openDir("open folder", func() (workspace.Dir, error) { return d.d.OpenDir(name) })
}

func (d *dir) Stat(name string) (fs.FileInfo, error) {
	return value(d.c, "stat", func() (fs.FileInfo, error) { return d.d.Stat(name) })
}

func (d *dir) Lstat(name string) (fs.FileInfo, error) {
	return value(d.c, "lstat", func() (fs.FileInfo, error) { return d.d.Lstat(name) })
}

func (d *dir) Readlink(name string) (string, error) {
	return value(d.c, "readlink", func() (string, error) { return d.d.Readlink(name) })
}

func (d *dir) Rename(from, to string) error {
	return d.c.spoil("rename", nil, func() error { return d.d.Rename(from, to) })
}

func (d *dir) RenameNew(from, to string) error {
	return d.c.spoil("rename", nil, func() error { return d.d.RenameNew(from, to) })
}

func (d *dir) Exchange(a, b string) error {
	return d.c.spoil("rename", nil, func() error { return d.d.Exchange(a, b) })
}

func (d *dir) Remove(name string) error {
	return d.c.spoil("remove", nil, func() error { return d.d.Remove(name) })
}

func (d *dir) List() ([]fs.DirEntry, error) {
	return value(d.c, "list", d.d.List)
}

func (d *dir) Sync() error { return d.c.spoil("sync folder", nil, d.d.Sync) }

// Close always closes, so that a spoiled run leaks nothing.
func (d *dir) Close() error {
	err := d.d.Close()
	if spoiled := d.c.spoil("close folder", nil, func() error { return nil }); spoiled != nil {
		return spoiled
	}
	return err
}

type handle struct {
	c       *Calls
	h       workspace.Handle
	written bool
}

func (h *handle) Read(p []byte) (int, error) {
	return value(h.c, "read", func() (int, error) { return h.h.Read(p) })
}

func (h *handle) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	err := h.c.spoil("read", nil, func() (err error) {
		n, err = h.h.ReadAt(p, off)
		return err
	})
	return n, err
}

func (h *handle) WriteAt(p []byte, off int64) (int, error) {
	h.written = true
	n := 0
	half := func() { n, _ = h.h.WriteAt(p[:len(p)/2], off) }
	err := h.c.spoil("write", half, func() (err error) {
		n, err = h.h.WriteAt(p, off)
		return err
	})
	return n, err
}

func (h *handle) Stat() (fs.FileInfo, error) {
	return value(h.c, "fstat", h.h.Stat)
}

func (h *handle) Identity() (workspace.Identity, error) {
	return value(h.c, "identify", h.h.Identity)
}

func (h *handle) Chmod(mode fs.FileMode) error {
	return h.c.spoil("chmod", nil, func() error { return h.h.Chmod(mode) })
}

func (h *handle) Chown(uid, gid int) error {
	return h.c.spoil("chown", nil, func() error { return h.h.Chown(uid, gid) })
}

func (h *handle) Attributes() ([]workspace.Attribute, error) {
	return value(h.c, "get attributes", h.h.Attributes)
}

func (h *handle) SetAttribute(a workspace.Attribute) error {
	return h.c.spoil("set attribute", nil, func() error { return h.h.SetAttribute(a) })
}

func (h *handle) Truncate(size int64) error {
	return h.c.spoil("truncate", nil, func() error { return h.h.Truncate(size) })
}

func (h *handle) Sync() error { return h.c.spoil("sync", nil, h.h.Sync) }

// Close always closes, so that a spoiled run leaks nothing. Closing what was
// written to is "close", else "close unwritten".
func (h *handle) Close() error {
	err := h.h.Close()
	name := "close unwritten"
	if h.written {
		name = "close"
	}
	if spoiled := h.c.spoil(name, nil, func() error { return nil }); spoiled != nil {
		return spoiled
	}
	return err
}
