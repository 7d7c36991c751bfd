package tools

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// relative reads a path of a tool's input: relative to the workspace, with
// slashes, "" for the workspace itself. What leaves it, and what some system
// reads as something else than it looks like, is refused; what then is at the
// path is for the permits. It looks at no file.
func relative(in string) (string, error) {
	switch {
	case !utf8.ValidString(in), strings.ContainsFunc(in, unicode.IsControl):
		return "", refuse(fault.InvalidInput, "The path holds characters that no path has.")
	case strings.HasPrefix(in, "/"), strings.HasPrefix(in, `\`), isDrive(in):
		return "", refuse(fault.OutsideWorkspace, "%s is not relative to the workspace. Give a path as listWorkspace does, such as Notes/a.md.", shown(in))
	case strings.Contains(in, `\`):
		return "", refuse(fault.InvalidInput, "%s holds a backslash. Folders are separated by slashes.", shown(in))
	}
	var names []string
	for name := range strings.SplitSeq(in, "/") {
		switch {
		case name == "", name == ".":
		case name == "..":
			return "", refuse(fault.OutsideWorkspace, "%s leads upwards. Paths start at the workspace and hold no \"..\".", shown(in))
		case workspace.ReservedName(name):
			return "", refuse(fault.ReservedName, "%s is no name that a document can have on every system.", shown(name))
		default:
			names = append(names, name)
		}
	}
	return strings.Join(names, "/"), nil
}

// isDrive reports whether a path begins with a drive letter, or with the scheme
// of a URL.
func isDrive(p string) bool {
	before, _, found := strings.Cut(p, ":")
	return found && before != "" && strings.IndexFunc(before, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

// documentName checks a name that a document is to have.
func documentName(name string) error {
	switch {
	case strings.ContainsAny(name, `/\`):
		return refuse(fault.ReservedName, "%s holds a folder. Give the name alone.", shown(name))
	case !utf8.ValidString(name), strings.ContainsFunc(name, unicode.IsControl), workspace.ReservedName(name):
		return refuse(fault.ReservedName, "%s is no name that a document can have on every system.", shown(name))
	case !isDocument(name):
		return refuse(fault.ReservedName, "%s is no name of a document. It ends with .md.", shown(name))
	case strings.HasPrefix(name, "."):
		return refuse(fault.ReservedName, "%s begins with a dot and would be hidden.", shown(name))
	}
	return nil
}

// isDocument reports whether a file of that name is one that a tool may make or
// rename.
func isDocument(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".txt":
		return len(name) > len(path.Ext(name))
	}
	return false
}

// folder is the workspace of a run.
type folder struct {
	workspace.Inside
	grants *workspace.Grants
	own    own
}

// folder returns the workspace of a run.
func (e *Executor) folder(s scope) (folder, error) {
	if s.Workspace == "" {
		return folder{}, refuse(fault.NotFound, "No folder is open in this conversation, so that there is nothing but its document.")
	}
	g := e.grants(s)
	in, err := g.Inside(s.Workspace)
	if err != nil {
		return folder{}, refuse(fault.NotGranted, "The folder of this conversation is no longer open.")
	}
	f := folder{Inside: in, grants: g, own: own(e.cfg.Home)}
	return f, f.own.refuses(f.Path(""), "This folder")
}

// never are names that no tool looks behind, whatever the person's tree shows:
// what programs keep there is no text of theirs, or secret.
func never(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains([]string{".git", ".hg", ".svn", ".ssh", ".gnupg", ".aws"}, name) || strings.HasPrefix(name, ".env")
}

// reach reads a path of an input as [relative] does, and refuses what the
// person's tree sets aside. A name with two dots in front is none that hides.
func (f folder) reach(in string) (string, error) {
	rel, err := relative(in)
	if err != nil {
		return "", err
	}
	for name := range strings.SplitSeq(rel, "/") {
		if never(name) || f.grants.Ignored(name) && !strings.HasPrefix(name, "..") {
			return "", refuse(fault.OutsideWorkspace, "%s is set aside: it is no part of the workspace that can be read or written here.", shown(rel))
		}
	}
	return rel, f.own.refuses(f.Path(rel), rel)
}

// relOf returns an absolute path relative to a folder, with slashes; ok is
// false when it lies outside.
func relOf(root, p string) (rel string, ok bool) {
	if root == "" || p == "" {
		return "", false
	}
	r, err := filepath.Rel(root, p)
	if err != nil || !filepath.IsLocal(r) || r == "." {
		return "", false
	}
	return filepath.ToSlash(r), true
}

// maxShown is how much of a path is repeated in a result, in bytes.
const maxShown = 300

// shown is a path as it is repeated to the model and to a person: what shows
// nothing, or turns the direction of what follows, is spelt out.
func shown(p string) string {
	if p == "" {
		return "the workspace"
	}
	cut := head(strings.ToValidUTF8(p, "\uFFFD"), maxShown)
	if cut != p && len(cut) >= maxShown/2 {
		cut += "…"
	}
	return visible(cut)
}
