package network

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A program of the desktop that leaves another one behind, with the pipe in its
// hands, has printed all that it has to say.
//
// covers: K7
func TestListGSettings_LeavesAnotherBehind(t *testing.T) {
	folder := t.TempDir()
	script := "#!/bin/sh\necho \"org.gnome.system.proxy mode 'manual'\"\nsleep 20 &\n"
	if err := os.WriteFile(filepath.Join(folder, "gsettings"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	begun := time.Now()
	text, err := listGSettings(t.Context())
	if err != nil || !strings.Contains(text, "'manual'") {
		t.Errorf("got %q, %v", text, err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("waited %v", took)
	}
}
