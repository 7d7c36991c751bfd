package workspace

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"

	"galley/backend/fault"
)

// maxTurns is how often a write and something else may take a name from each
// other before the write gives up.
const maxTurns = 8

// place makes the temporary file stand under the target's name. Where the
// system can, the two are exchanged, so that what is replaced is in hand and
// compared once more: something else may have written it, or put another file
// there, after every look before. Such a file goes back to its place.
func (w *writing) place(temp string) error {
	d, base := w.spot.dir, w.spot.base
	if w.old == nil {
		err := d.RenameNew(temp, base)
		switch {
		case isUnsupported(err):
			return d.Rename(temp, base)
		case !errors.Is(err, fs.ErrExist):
			return err
		case !w.options.Overwrite:
			return failure(fault.Exists, w.op, w.path, err)
		}
		// It appeared just now, and is replaced as any other.
	}
	err := d.Exchange(temp, base)
	switch {
	case isUnsupported(err):
		if err := w.renew(); err != nil {
			return err
		}
		return d.Rename(temp, base)
	case isGone(err) && w.options.Overwrite:
		return d.RenameNew(temp, base)
	case isGone(err):
		return failure(fault.ChangedOnDisk, w.op, w.path, err)
	case err != nil:
		return err
	}
	if err := w.accept(temp); err != nil {
		return w.giveBack(temp, err)
	}
	return nil
}

// accept decides on what the exchange brought under the temporary name: the
// file that was compared goes, another one is refused, or kept elsewhere first
// when it may be written over.
func (w *writing) accept(temp string) error {
	same, err := w.holdsOld(temp)
	if err != nil {
		return err
	}
	if !same {
		if !w.options.Overwrite {
			return failure(fault.ChangedOnDisk, w.op, w.path, nil)
		}
		if err := w.replaceOld(temp); err != nil {
			return err
		}
		if err := w.keep(w.oldData, w.oldHash); err != nil {
			return err
		}
	}
	w.sweep(temp)
	return nil
}

// sweep removes the temporary name. It tries twice, since nothing but the
// journal knows the file when this write is done.
func (w *writing) sweep(temp string) {
	for range 2 {
		err := w.spot.dir.Remove(temp)
		if w.unswept = err != nil && !isGone(err); !w.unswept {
			return
		}
	}
}

// giveBack takes the exchange back and returns cause. Something else may have
// taken the name meanwhile: its file is the newest and stays, and the one it
// took it from goes.
func (w *writing) giveBack(temp string, cause error) error {
	d, base := w.spot.dir, w.spot.base
	w.unswept = true
	placed := w.newInfo
	for range maxTurns {
		next, err := d.Lstat(temp)
		if err == nil {
			err = d.Exchange(temp, base)
		}
		if isGone(err) {
			err = d.RenameNew(temp, base)
		}
		if err != nil {
			return errors.Join(cause, err)
		}
		last, err := d.Lstat(temp)
		if err != nil && !isGone(err) {
			return errors.Join(cause, err)
		}
		if err != nil || os.SameFile(last, placed) {
			if data, err := w.readNow(temp); err == nil && placed != w.newInfo {
				if err := w.keep(data, hashOf(data)); err != nil {
					return errors.Join(cause, err)
				}
			}
			w.sweep(temp)
			return cause
		}
		placed = next
	}
	return cause
}

// renew sees that the file still holds the bytes that were compared. With
// Overwrite other bytes take their place as those from before.
func (w *writing) renew() error {
	if w.old == nil {
		return nil
	}
	same, err := w.holdsOld(w.spot.base)
	if err != nil || same {
		return err
	}
	if !w.options.Overwrite {
		return failure(fault.ChangedOnDisk, w.op, w.path, nil)
	}
	data, err := w.readNow(w.spot.base)
	if err != nil {
		return err
	}
	w.oldData, w.oldHash = data, hashOf(data)
	return w.keep(w.oldData, w.oldHash)
}

// replaceOld makes what lies under name the old file of this write.
func (w *writing) replaceOld(name string) error {
	h, info, err := openFile(w.spot.dir, name, os.O_RDONLY, true)
	if err != nil {
		return err
	}
	data, err := readAll(h, info, math.MaxInt64)
	if err != nil {
		letGo(h)
		return err
	}
	if w.old != nil {
		letGo(w.old)
	}
	w.old, w.oldInfo, w.oldData, w.oldHash = h, info, data, hashOf(data)
	return nil
}

// Replaced is a file that a write replaced. It has no name any more, but a
// program that opened it before can still write into it, and would lose that.
type Replaced struct {
	h    Handle
	data []byte
}

// handOut gives the old file away when it was asked for.
func (w *writing) handOut() *Replaced {
	if w.old == nil || !w.options.Watch {
		return nil
	}
	r := &Replaced{h: w.old, data: w.oldData}
	w.old = nil
	return r
}

// Changed returns the bytes that the file holds by now when they are not those
// that were replaced; else nil.
func (r *Replaced) Changed() ([]byte, error) {
	info, err := r.h.Stat()
	if err != nil {
		return nil, err
	}
	data := make([]byte, info.Size())
	n, err := r.h.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if data = data[:n]; bytes.Equal(data, r.data) {
		return nil, nil
	}
	return data, nil
}

// Close lets the file go.
func (r *Replaced) Close() { letGo(r.h) }

// keep hands on the bytes that are replaced and their hash.
func (w *writing) keep(data []byte, hash string) error {
	if w.options.Keep == nil || bytes.Equal(data, w.data) {
		return nil
	}
	return w.options.Keep(data, hash)
}

// holdsOld reports whether name holds the bytes that were compared.
func (w *writing) holdsOld(name string) (bool, error) {
	if w.old == nil {
		return false, nil
	}
	h, info, err := openFile(w.spot.dir, name, os.O_RDONLY, true)
	if err != nil {
		return false, err
	}
	defer letGo(h)
	if info.Size() != int64(len(w.oldData)) {
		return false, nil
	}
	return holds(h, w.oldData)
}

func (w *writing) readNow(name string) ([]byte, error) {
	h, info, err := openFile(w.spot.dir, name, os.O_RDONLY, true)
	if err != nil {
		return nil, err
	}
	defer letGo(h)
	return readAll(h, info, math.MaxInt64)
}

// holds reports whether r gives want and no more.
func holds(r io.Reader, want []byte) (bool, error) {
	buf := make([]byte, min(len(want)+1, 256<<10))
	for {
		n, err := r.Read(buf)
		if n > len(want) || !bytes.Equal(buf[:n], want[:n]) {
			return false, nil
		}
		want = want[n:]
		if errors.Is(err, io.EOF) {
			return len(want) == 0, nil
		}
		if err != nil {
			return false, err
		}
	}
}
