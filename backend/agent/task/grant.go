package task

import "galley/backend/workspace"

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
