package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"galley/backend/text"
)

// Whatever the edits are, others apply the patch to the same bytes.
func TestUnifiedDiff_OthersApplyIt(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(7, 7))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	for round := range 150 {
		var b strings.Builder
		ending := pick("\n", "\r\n")
		for i := range r.IntN(40) {
			fmt.Fprintf(&b, "line %d %s%s", i, pick("", "世界", "😀", "same"), ending)
		}
		b.WriteString(pick("", "no break at the end"))
		_, before, err := text.Decode([]byte(b.String()))
		try(t, err)
		var edits []text.Edit
		for at := 0; at < before.Len(); {
			from := at + r.IntN(60)
			to := from + r.IntN(30)
			if to > before.Len() {
				break
			}
			if _, err := before.Slice(from, to); err == nil {
				edits = append(edits, text.Edit{From: from, To: to, Insert: pick("", "x", "new\nlines\n", "\n", "ü")})
			}
			at = to + 1 + r.IntN(200)
		}
		after, err := before.Apply(edits, before.Count().Majority())
		try(t, err)
		diff, err := unifiedDiff("a.md", before, false, edits)
		try(t, err)
		raw := func(l text.Lines) string { return string(text.Encode(text.Format{Encoding: text.UTF8}, l)) }
		if raw(before) == raw(after) {
			continue
		}
		file, patch := filepath.Join(dir, "a.md"), filepath.Join(dir, "p.diff")
		try(t, os.WriteFile(file, []byte(raw(before)), 0o600))
		try(t, os.WriteFile(patch, []byte(diff), 0o600))
		cmd := exec.Command("git", "apply", "--whitespace=nowarn", "--unidiff-zero", patch)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("round %d: %v\n%s\n%s\nof %q\nedits %+v", round, err, out, diff, raw(before), edits)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != raw(after) {
			t.Fatalf("round %d: got %q, want %q\n%s", round, got, raw(after), diff)
		}
	}
}

func TestUnifiedDiff_IsSmall(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	_, lines, err := text.Decode([]byte(b.String()))
	try(t, err)
	at := strings.Index(b.String(), "line 10\n")
	got, err := unifiedDiff("a.md", lines, false, []text.Edit{{From: at, To: at + len("line 10\n")}, {From: b.Len(), To: b.Len(), Insert: "end"}})
	try(t, err)
	want := "--- a/a.md\n+++ b/a.md\n@@ -8,7 +8,6 @@\n line 7\n line 8\n line 9\n-line 10\n line 11\n line 12\n line 13\n" +
		"@@ -28,3 +27,4 @@\n line 27\n line 28\n line 29\n+end\n\\ No newline at end of file\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
