package cli

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"galley/backend/agent/core"
	"galley/backend/agent/task"
	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/settings"
	"galley/backend/text"
	"galley/backend/workspace"
)

// pathOf is the file of a document's URI; "" for one without.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return ""
	}
	p := filepath.FromSlash(u.Path)
	if filepath.VolumeName(strings.TrimPrefix(p, `\`)) != "" { // file:///C:/a
		p = strings.TrimPrefix(p, `\`)
	}
	return p
}

// nameOf is what a person calls the document of a URI.
func nameOf(uri string) string {
	if p := pathOf(uri); p != "" {
		return filepath.Base(p)
	}
	return "the document"
}

// patchPath is where the patch file of a proposal lies.
func patchPath(home settings.Home, id core.ProposalID) string {
	return filepath.Join(home.Proposals(), string(id)+".diff")
}

// write writes a proposal as a patch file. The document has to lie on the disk
// as it was when the change was proposed.
func (f *follower) write(p core.Proposal) (string, error) {
	at := pathOf(p.DocURI)
	if at == "" {
		return "", fmt.Errorf("write patch: %w", fault.New(fault.UnknownBase, "write patch", errNoBase))
	}
	grants, err := task.Grant("", at)
	if err != nil {
		return "", err
	}
	defer grants.Close()
	file, err := grants.PermitRead(at)
	if err != nil {
		return "", err
	}
	data, _, err := file.Read(document.MaxEditable)
	if err != nil {
		return "", err
	}
	format, lines, err := text.Decode(data)
	if err != nil {
		return "", err
	}
	if lines.Digest() != p.BaseDigest {
		return "", fault.New(fault.UnknownBase, "write patch", errNoBase)
	}
	diff, err := unifiedDiff(f.patchName(at), lines, format.BOM, p.Patch.Edits)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(f.agent.home.Proposals(), 0o700); err != nil {
		return "", &fault.Error{Code: fault.ReadOnly, Op: "write patch", Detail: f.agent.home.Proposals(), Err: err}
	}
	to := patchPath(f.agent.home, p.ID)
	return to, workspace.ReplaceFile(to, []byte(diff), 0o600)
}

// patchName is the name of a file in a patch: from its folder, with slashes.
func (f *follower) patchName(at string) string {
	name := filepath.Base(at)
	if rel, err := filepath.Rel(f.folder, at); f.folder != "" && err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	return visible(strings.ReplaceAll(path.Clean(filepath.ToSlash(name)), "\n", "<U+000A>"))
}
