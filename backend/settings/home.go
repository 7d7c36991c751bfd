package settings

import (
	"os"
	"path/filepath"
	"runtime"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// Home is the one folder in which the program keeps everything of its own. It
// can be moved whole.
type Home struct {
	// Dir is absolute.
	Dir string
}

// ResolveHome returns the home that the flag --home names, else the one that
// GALLEY_HOME (env) names, else a folder in configDir, the system's place for
// the settings of programs (os.UserConfigDir). Nothing is made. Fault:
// invalid_input when the system names no place.
func ResolveHome(flag, env string, configDir func() (string, error)) (Home, error) {
	const op = "resolve home"
	for _, named := range []string{flag, env} {
		if named == "" {
			continue
		}
		dir, err := filepath.Abs(named)
		if err != nil {
			return Home{}, fault.New(fault.InvalidInput, op, err)
		}
		return Home{Dir: dir}, nil
	}
	dir, err := configDir()
	if err != nil {
		return Home{}, fault.New(fault.InvalidInput, op, err)
	}
	name := "galley"
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		name = "Galley"
	}
	return Home{Dir: filepath.Join(dir, name)}, nil
}

// Make makes the home and the folders in it; only the person can look inside.
// Faults: read_only, disk_full.
func (h Home) Make() error {
	for _, dir := range []string{h.Dir, h.Drafts(), h.Recovery(), h.logs()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			e := fault.New(fault.ReadOnly, "make home", err)
			e.Detail = dir
			return e
		}
	}
	return nil
}

// Settings is the path of the settings file.
func (h Home) Settings() string { return filepath.Join(h.Dir, "settings.json") }

// Session is the path of the file of sessions and of what was opened of late.
func (h Home) Session() string { return filepath.Join(h.Dir, "session.json") }

// Lock is the path of the file that the one running window of this home holds.
func (h Home) Lock() string { return filepath.Join(h.Dir, "window.lock") }

// AgentLock is the path of the file that the process holds which runs the agent
// of this home: the window, or a command line.
func (h Home) AgentLock() string { return filepath.Join(h.Dir, "agent.lock") }

// Proposals is the folder in which the command line puts proposals as patch
// files.
func (h Home) Proposals() string { return filepath.Join(h.Dir, "proposals") }

// Credentials is the path of the file for keys in plain text; it exists only
// after the person agreed to it.
func (h Home) Credentials() string { return filepath.Join(h.Dir, "credentials.json") }

// Keys is the path of the list of keys, without the keys.
func (h Home) Keys() string { return filepath.Join(h.Dir, "keys.json") }

// Drafts is the folder of unsaved texts.
func (h Home) Drafts() string { return filepath.Join(h.Dir, "drafts") }

// Recovery is the folder of copies made while saving.
func (h Home) Recovery() string { return filepath.Join(h.Dir, "recovery") }

// Runs is the path of the run database.
func (h Home) Runs() string { return filepath.Join(h.Dir, "runs.db") }

// Log is the path of the log file.
func (h Home) Log() string { return filepath.Join(h.logs(), "galley.log") }

// Private reports whether an absolute path lies in the home and is not a sample
// document: nobody but the program itself has a use for what is there.
func (h Home) Private(path string) bool {
	return workspace.Holds(h.Dir, path) && !workspace.Holds(h.Sample(), path)
}

// Sample is the folder of sample documents.
func (h Home) Sample() string { return filepath.Join(h.Dir, "sample") }

func (h Home) logs() string { return filepath.Join(h.Dir, "logs") }
