package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The page's side of the boundary is what this command writes now.
func TestGenerated_IsCurrent(t *testing.T) {
	want, err := os.ReadFile(filepath.FromSlash("../../../frontend/src/backend/gen.ts"))
	if err != nil {
		t.Fatal(err)
	}
	got := generate()
	if !bytes.Equal(got, want) {
		t.Errorf("gen.ts is not current; run: make generate\n%s", cmp.Diff(string(want), string(got)))
	}
	if !bytes.Equal(got, generate()) {
		t.Error("two runs differ")
	}
}
