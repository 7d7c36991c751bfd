//go:build !e2e

package main

import "os"

// closeInspector takes away the variables by which another program could open
// WebKit's inspector on the page. The build for window tests leaves them.
func closeInspector() {
	for _, name := range []string{"WEBKIT_INSPECTOR_SERVER", "WEBKIT_INSPECTOR_HTTP_SERVER"} {
		_ = os.Unsetenv(name) // fails for a malformed name only
	}
}
