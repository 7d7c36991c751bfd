package host

import (
	"slices"
	"strings"
)

// environment picks what a program needs to find its way: where its files,
// names, time zone and certificates are. A key that somebody keeps in a
// variable is not among it (K4), nor is a proxy: that travels with a request.
func environment(all []string) []string {
	names := []string{
		"PATH", "HOME", "USER", "LOGNAME", "TZ", "TZDIR", "TMPDIR", "LANG", "LANGUAGE",
		"XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
		// Windows
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
		"PROGRAMDATA", "COMPUTERNAME", "USERNAME",
	}
	names = append(names, crashNames()...)
	env := []string{}
	for _, kv := range all {
		name, _, _ := strings.Cut(kv, "=")
		name = strings.ToUpper(name)
		if slices.Contains(names, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, kv)
		}
	}
	return env
}
