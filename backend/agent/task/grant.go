package task

import (
	"path/filepath"

	"galley/backend/agent/core"
	"galley/backend/workspace"
)

// grant makes grants of their own for one run: of the folder and the file that a
// person named, on a command line, for that run. Empty paths are none.
func grant(folder, file string) (*workspace.Grants, error) {
	g := workspace.NewGrants()
	if folder != "" {
		if _, err := g.GrantFolder(folder); err != nil {
			g.Close()
			return nil, fileFault(err, folder)
		}
	}
	if file != "" {
		if _, err := g.GrantFile(file); err != nil {
			g.Close()
			return nil, fileFault(err, file)
		}
	}
	return g, nil
}

// Grant makes grants of a folder and a file that a person named on the command
// line. Empty paths are none; the caller closes them.
func Grant(folder, file string) (*workspace.Grants, error) { return grant(folder, file) }

// Recorded makes grants of the folder in which a call of an earlier start was to
// write, so that it can be looked at what became of it: the person had given it
// to that call's run, and this home's own record says so. Nothing is written
// there.
func Recorded(in core.Intent) (*workspace.Grants, error) {
	at := in.Target
	if at == "" {
		at = in.Source
	}
	if at == "" {
		return grant("", "")
	}
	return grant(filepath.Dir(at), "")
}
