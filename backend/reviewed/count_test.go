package reviewed

import (
	"context"
	"testing"

	"galley/backend/fault"
	"galley/backend/text"
)

// covers: T2
func TestCountLinks(t *testing.T) {
	b := newBench(t, map[string]string{
		"a.md":              "[x](sub/b.md) [[b]] ![[b#h]] [y](sub/c.md) `[z](sub/b.md)`",
		"sub/b.md":          "[self](b.md) [h](#h) [[a]]",
		"sub/c.md":          "[up](../a.md) [r]\n\n[r]: <b.md> 't'\n",
		"sub/c.txt":         "[x](b.md)",
		"bad.md":            "\xff [x](sub/b.md)",
		"node_modules/n.md": "[x](../sub/b.md)",
		"my note.md":        "",
		"d.md":              "[x](my%20note.md) [[My Note]]",
	})
	count := func(ctx context.Context, name string) (int, bool) {
		t.Helper()
		n, cut, err := CountLinks(ctx, LinkQuery{Grants: b.grants, Documents: b.docs, Root: b.path(""), Path: b.path(name)})
		try(t, err)
		return n, cut
	}
	before := b.snapshot()
	for name, want := range map[string]int{"sub/b.md": 5, "a.md": 2, "sub/c.md": 1, "my note.md": 2, "d.md": 0} {
		if n, cut := count(context.Background(), name); n != want || cut {
			t.Errorf("%s: %d links (cut: %v), want %d", name, n, cut, want)
		}
	}
	// An unsaved text is what counts.
	doc := b.open("a.md")
	b.edit(doc.ID, text.Edit{From: 0, To: doc.Length, Insert: "[[c]]"})
	if n, _ := count(context.Background(), "sub/b.md"); n != 2 {
		t.Errorf("%d links with an unsaved text", n)
	}
	if len(before) != len(b.snapshot()) {
		t.Error("it had an effect")
	}
	_, _, err := CountLinks(context.Background(), LinkQuery{Grants: b.grants, Documents: b.docs, Root: b.path(""), Path: b.path("../x.md")})
	refused(t, err, fault.OutsideWorkspace, b.path("../x.md"))
}
