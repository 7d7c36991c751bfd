package document

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"galley/backend/fault"
	"galley/backend/text"
	"galley/backend/text/vectors"
	"galley/backend/workspace"
)

// memoryDir is a folder in memory where the system has one: what these tests
// ask is which bytes a save writes, and a real disk only makes them slow.
func memoryDir(t *testing.T) string {
	t.Helper()
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "galley") //nolint:usetesting // TempDir would lie on a disk
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// newMemoryBench is a bench whose files lie in memory.
func newMemoryBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOn(t, workspace.OSCalls(), memoryDir(t), memoryDir(t))
}

// The whole corpus through real files: opened, edited by the page's change
// sets, saved.
//
// covers: F1 F2 F3 P11
func TestFidelity_ThroughFiles(t *testing.T) {
	t.Parallel()
	cases, err := vectors.Fidelity()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			runThroughFile(t, c)
		})
	}
}

func runThroughFile(t *testing.T, c vectors.Case) {
	b := newMemoryBench(t)
	b.file("n.md", string(c.Bytes))
	info, err := b.Open(t.Context(), b.path("n.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !c.Open.Editable {
		if info.ReadOnly != c.Open.Reason {
			t.Errorf("read-only for %q, want %q", info.ReadOnly, c.Open.Reason)
		}
		_, err := b.Sync(SyncRequest{Page: b.page, ID: info.ID, FromVersion: info.Version, Changes: []Change{{Edits: []text.Edit{{Insert: "x"}}}}})
		wantCode(t, "an edit of a view", err, fault.ReadOnly)
		wantFile(t, b, c.Bytes)
		return
	}
	if info.ReadOnly != "" {
		t.Fatalf("read-only for %q", info.ReadOnly)
	}
	if info.Length != c.Open.LengthUtf16 || info.Format.BOM != c.Open.BOM || info.Format.Encoding != c.Open.Encoding {
		t.Errorf("opened as %+v", info)
	}
	if saved := b.save(info.ID); saved.Written {
		t.Error("an untouched file was written")
	}
	wantFile(t, b, c.Bytes)

	// deleted holds the endings that each step deleted.
	deleted := make([][]text.EndingRun, len(c.Steps))
	for i, step := range c.Steps {
		edits := step.Edits()
		b.mu.Lock()
		d, err := b.find(info.ID)
		b.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		before, err := b.Info(info.ID)
		if err != nil {
			t.Fatal(err)
		}
		// A page that is wrong chooses endings too; what it sent must be refused.
		_, gone, _ := d.lines.Inverse(edits)
		runs, _ := d.lines.Choose(edits, d.majority)
		if step.UndoOf != nil {
			runs = deleted[*step.UndoOf]
		}
		done, err := b.Sync(SyncRequest{Page: b.page, ID: info.ID, FromVersion: before.Version, Changes: []Change{{edits, runs}}})
		if step.Rejected {
			wantCode(t, fmt.Sprintf("step %d", i), err, fault.InvalidInput)
			if after, err := b.Info(info.ID); err != nil || after.Version != before.Version {
				t.Errorf("step %d: refused, and at version %d (%v)", i, after.Version, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		deleted[i] = gone
		if done.Dirty == bytes.Equal(currentBytes(t, b, info.ID), c.Bytes) {
			t.Errorf("step %d: dirty is %v", i, done.Dirty)
		}
	}
	b.save(info.ID)
	wantFile(t, b, c.Saved)
}

// currentBytes are what a save would write now.
func currentBytes(t *testing.T, b *bench, id string) []byte {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	d, err := b.find(id)
	if err != nil {
		t.Fatal(err)
	}
	return text.Encode(d.format, d.lines)
}

func wantFile(t *testing.T, b *bench, want []byte) {
	t.Helper()
	got, err := os.ReadFile(b.path("n.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the file holds %d bytes, want %d: %.200q", len(got), len(want), got)
	}
}

// Every example of the specifications as a real file, in an encoding and with
// endings that change from one to the next: opened and saved nothing is
// written, edited and saved one place differs.
//
// covers: F1 F2 F3
func TestCorpus_ThroughFiles(t *testing.T) {
	t.Parallel()
	examples, err := vectors.Examples()
	if err != nil {
		t.Fatal(err)
	}
	variants := vectors.Variants()
	b := newMemoryBench(t)
	for i, e := range examples {
		// Two that share no factor, so that all of one spec meet all variants
		// of the next.
		v := variants[(i+i/len(variants))%len(variants)]
		at := fmt.Sprintf("%s %d as %s", e.Spec, e.Number, v)
		data, err := v.Bytes(e.Markdown)
		if err != nil {
			t.Fatal(err)
		}
		want, err := v.Bytes(e.Markdown + "茶")
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%s %d.md", e.Spec, e.Number)
		b.file(name, string(data))
		info := b.open(name)
		if saved := b.save(info.ID); saved.Written || info.ReadOnly != "" {
			t.Errorf("%s: written %v, read-only %q", at, saved.Written, info.ReadOnly)
		}
		b.wantDisk(name, string(data))
		end := text.Length(e.Markdown)
		b.edit(info.ID, text.Edit{From: end, To: end, Insert: "茶"})
		if saved := b.save(info.ID); !saved.Written {
			t.Errorf("%s: not written", at)
		}
		b.wantDisk(name, string(want))
		if err := b.CloseDocument(t.Context(), b.page, info.ID, DiscardUnsaved); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := os.ReadDir(b.dir); err != nil || len(files) != len(examples) {
		t.Errorf("%d files for %d examples: %v", len(files), len(examples), err)
	}
}

// What a page cannot have typed never reaches a file.
//
// covers: F2
func TestSync_RefusesLoneSurrogates(t *testing.T) {
	t.Parallel()
	b := newMemoryBench(t)
	b.file("n.md", "a😀b\n")
	info := b.open("n.md")
	for _, edit := range []text.Edit{{From: 2, To: 2, Insert: "x"}, {From: 1, To: 2}, {From: 2, To: 3}} {
		_, err := b.Sync(SyncRequest{Page: b.page, ID: info.ID, FromVersion: 1, Changes: []Change{{Edits: []text.Edit{edit}}}})
		wantCode(t, fmt.Sprintf("%+v", edit), err, fault.InvalidInput)
	}
	s, version, err := b.Text(info.ID)
	if err != nil || version != 1 || !strings.HasPrefix(s, "a😀b") {
		t.Errorf("%q at %d (%v)", s, version, err)
	}
}
