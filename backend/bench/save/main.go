// Command save measures a durable save beside the bare sequence of calls that
// any durable save needs: temporary file, fsync, rename, fsync of the folder.
// Ours is the whole save of an open document: comparison with the page and the
// disk, journal, history, attributes.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"galley/backend/bench"
	"galley/backend/document"
	"galley/backend/text"
	"galley/backend/workspace"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench-save:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp(".", ".bench-save-") // on the project's disk, not in memory
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, of := range []struct {
		name   string
		size   int
		rounds int
	}{{"save 1 MiB", 1 << 20, 40}, {"save 10 MiB", 10 << 20, 12}, {"save 50 MiB", 49 << 20, 10}} {
		if err := measure(dir, of.name, of.size, of.rounds); err != nil {
			return err
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	bench.Figure(os.Stdout, "bm-8", "memory of the host while saving", fmt.Sprintf("sys=%dMB heap=%dMB", m.Sys>>20, m.HeapAlloc>>20))
	return nil
}

// sample is Markdown of about that many bytes with Windows line ends.
func sample(size int) string {
	const line = "The last boat leaves at *half past nine*, 末班船九点半开, and [the next](next.md) never comes.\r\n"
	return strings.Repeat(line, size/len(line))
}

func measure(dir, name string, size, rounds int) error {
	folder := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	d, err := open(folder, filepath.Join(dir, "home"), sample(size))
	if err != nil {
		return err
	}
	defer d.close()
	bare := filepath.Join(folder, "bare.md")
	data := []byte(sample(size))
	if err := bareSave(bare, data); err != nil {
		return err
	}
	r, err := bench.Pair{
		ID: "bm-8", Name: name, Rounds: rounds,
		Ours: d.editAndSave,
		Peer: func() (time.Duration, error) {
			data = append([]byte("x"), data...)
			start := time.Now()
			err := bareSave(bare, data)
			return time.Since(start), err
		},
	}.Run()
	if err != nil {
		return err
	}
	fmt.Println(r)
	return d.check()
}

// bareSave is what no durable save can do without.
func bareSave(path string, data []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".bare-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// opened is a document as the page works with it.
type opened struct {
	set    *document.Set
	grants *workspace.Grants
	page   int64
	id     string
	path   string
	want   []byte
}

func open(folder, home, content string) (*opened, error) {
	d := &opened{path: filepath.Join(folder, "ours.md"), want: []byte(content), grants: workspace.NewGrants()}
	if err := os.WriteFile(d.path, d.want, 0o640); err != nil {
		return nil, err
	}
	if _, err := d.grants.GrantFolder(folder); err != nil {
		return nil, err
	}
	var err error
	d.set, err = document.New(document.Config{Grants: d.grants, Home: home, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	d.page = d.set.Attach().Page
	info, err := d.set.Open(context.Background(), d.path)
	d.id = info.ID
	return d, err
}

// editAndSave types one letter at the start and saves; only the save counts.
func (d *opened) editAndSave() (time.Duration, error) {
	ctx := context.Background()
	info, err := d.set.Info(d.id)
	if err != nil {
		return 0, err
	}
	change := document.Change{Edits: []text.Edit{{Insert: "x"}}}
	if _, err := d.set.Sync(document.SyncRequest{Page: d.page, ID: d.id, FromVersion: info.Version, Changes: []document.Change{change}}); err != nil {
		return 0, err
	}
	d.want = append([]byte("x"), d.want...)
	// The draft is the typing's cost, not the save's.
	if err := d.set.FlushDrafts(ctx); err != nil {
		return 0, err
	}
	// Nor is what the save before left to do in the background.
	if _, err := d.set.History(ctx, d.id); err != nil {
		return 0, err
	}
	s, version, err := d.set.Text(d.id)
	if err != nil {
		return 0, err
	}
	request := document.SaveRequest{Page: d.page, ID: d.id, Version: version, Length: text.Length(s), Digest: text.Digest(s)}
	start := time.Now()
	saved, err := d.set.Save(ctx, request)
	took := time.Since(start)
	if err == nil && !saved.Written {
		err = errors.New("nothing was written")
	}
	return took, err
}

// check compares what stands on the disk with what was typed.
func (d *opened) check() error {
	got, err := os.ReadFile(d.path)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, d.want) {
		return fmt.Errorf("%s does not hold what was typed", d.path)
	}
	return nil
}

func (d *opened) close() {
	if err := d.set.Close(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench-save:", err)
	}
	d.grants.Close()
}
