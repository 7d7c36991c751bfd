//go:build crashtest

package host

// crashNames are the variables that say where a Runner is to be killed.
func crashNames() []string {
	return []string{"CRASH_AT", "CRASH_IN", "CRASH_ONCE", "HOLD_AT", "HOLD_IN", "HOLD_PIPE"}
}
