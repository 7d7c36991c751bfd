package api

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

// noKeyInProcess looks for the planted key in the arguments and the
// environment of a process.
func noKeyInProcess(t *testing.T, pid int) {
	t.Helper()
	for _, name := range []string{"cmdline", "environ"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
		try(t, err)
		if traces(data) || bytes.Contains(data, []byte("API_KEY")) {
			t.Errorf("%s: %q", name, data)
		}
		if len(data) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
}
