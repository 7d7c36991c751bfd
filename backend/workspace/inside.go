package workspace

import (
	"path/filepath"

	"galley/backend/fault"
)

// Inside is the three permits for one granted folder and what lies in it.
// Paths are relative to it, with slashes, "" for itself. Nothing else that was
// granted counts: no file by itself, also when it has its name in the folder,
// and no other folder that a link leads to.
type Inside struct {
	grants *Grants
	folder *anchor
	path   string
}

// Inside narrows the permits to one folder, which must be a granted one itself.
// Faults: not_granted, invalid_input.
func (g *Grants) Inside(folder string) (Inside, error) {
	const op = "open folder"
	if err := checkPath(op, folder); err != nil {
		return Inside{}, err
	}
	clean := filepath.Clean(folder)
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, f := range g.folders {
		if sameName(f.given, clean) || sameName(f.real, clean) {
			return Inside{grants: g, folder: f.folder, path: clean}, nil
		}
	}
	return Inside{}, failure(fault.NotGranted, op, folder, nil)
}

// Path returns the absolute path of one relative to the folder.
func (i Inside) Path(rel string) string { return filepath.Join(i.path, filepath.FromSlash(rel)) }

// PermitRead is [Grants.PermitRead] in the folder.
func (i Inside) PermitRead(rel string) (File, error) {
	const op = "read"
	p, err := i.locate(op, rel)
	if err != nil {
		return File{}, err
	}
	return permitRead(op, p)
}

// PermitList is [Grants.PermitList] in the folder.
func (i Inside) PermitList(rel string) (Folder, error) {
	const op = "list"
	p, err := i.locate(op, rel)
	if err != nil {
		return Folder{}, err
	}
	return i.grants.permitList(op, p)
}

// PermitWrite is [Grants.PermitWrite] in the folder.
func (i Inside) PermitWrite(rel string) (Target, error) {
	const op = "write"
	p, err := i.locate(op, rel)
	if err != nil {
		return Target{}, err
	}
	return i.grants.permitWrite(op, p)
}

// locate looks at no file.
func (i Inside) locate(op, rel string) (place, error) {
	if rel == "" {
		return place{folder: i.folder, rel: ".", path: i.path}, nil
	}
	if err := checkPath(op, rel); err != nil {
		return place{}, err
	}
	local := filepath.Clean(filepath.FromSlash(rel))
	if !filepath.IsLocal(local) {
		return place{}, failure(fault.OutsideWorkspace, op, rel, nil)
	}
	return place{folder: i.folder, rel: local, path: filepath.Join(i.path, local)}, nil
}
