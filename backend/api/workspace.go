package api

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/reviewed"
	"galley/backend/search"
	"galley/backend/settings"
	"galley/backend/workspace"
)

//go:embed sample
var sampleFiles embed.FS

// maxListed is how many entries of one folder the tree shows.
const maxListed = 5000

// Workspace is the bound service of the open folder.
type Workspace struct {
	grants   *workspace.Grants
	gestures gestures
	sessions *sessions
	ctx      func() context.Context
	// openURL opens an address in the system's browser.
	openURL func(url string)
	// sampleDir is where the sample folder lies.
	sampleDir string
	settings  *settings.Store
	search    *search.Engine
	index     *search.Index
	sets      *reviewed.Manager
	set       *document.Set
	watcher   *workspace.Watcher
	// changed passes on what this program changed; it does not wait.
	changed func(workspace.Changes)
	// move moves a file or folder and all that follows it.
	move func(ctx context.Context, from, to string) (workspace.Entry, error)
	log  *slog.Logger
}

// Current returns the open folder; its path is empty when there is none.
func (s *Workspace) Current() (WorkspaceInfo, error) {
	return call(s.log, "current workspace", func() (WorkspaceInfo, error) { return workspaceOf(s.grants.Workspace()), nil })
}

// OpenDialog asks for a folder and opens it. The path is empty when the person
// cancelled.
func (s *Workspace) OpenDialog() (WorkspaceInfo, error) {
	return call(s.log, "open folder", func() (WorkspaceInfo, error) {
		path, err := s.sessions.changeFolder(true, func() (string, error) { return s.gestures.folder(s.ctx()) })
		return workspaceOf(path), err
	})
}

// OpenSample writes the sample folder if it is not there and opens it. Where no
// provider is chosen it chooses the offline one, which the sample speaks of.
func (s *Workspace) OpenSample() (WorkspaceInfo, error) {
	return call(s.log, "open sample", func() (WorkspaceInfo, error) {
		if err := writeSample(s.sampleDir); err != nil {
			return WorkspaceInfo{}, err
		}
		if now := s.settings.Get(); now.Provider == "" {
			now.Provider = settings.Mock().ID
			if err := s.settings.Update(now); err != nil {
				return WorkspaceInfo{}, err
			}
		}
		path, err := s.sessions.changeFolder(false, func() (string, error) { return s.gestures.sample(s.sampleDir) })
		return workspaceOf(path), err
	})
}

// List returns one folder of the open workspace.
func (s *Workspace) List(path string) (Listing, error) {
	return call(s.log, "list", func() (Listing, error) {
		folder, err := s.grants.PermitList(path)
		if err != nil {
			return Listing{}, err
		}
		found, more, err := folder.List(maxListed)
		if err != nil {
			return Listing{}, err
		}
		listing := Listing{Path: path, Entries: make([]Entry, 0, len(found)), More: more}
		for _, e := range found {
			listing.Entries = append(listing.Entries, Entry(e))
		}
		return listing, nil
	})
}

// OpenLink opens an address in the system's browser. Only http, https and
// mailto are; everything else is invalid_input (X2).
func (s *Workspace) OpenLink(address string) error {
	return do(s.log, "open link", func() error {
		u, err := checkLink(address)
		if err != nil {
			return err
		}
		s.openURL(u)
		return nil
	})
}

// checkLink returns the address in its normal form when it may be opened.
func checkLink(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fault.New(fault.InvalidInput, "open link", nil)
	}
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" {
			return "", fault.New(fault.InvalidInput, "open link", nil)
		}
	case "mailto":
		if u.Opaque == "" {
			return "", fault.New(fault.InvalidInput, "open link", nil)
		}
	default:
		return "", fault.New(fault.InvalidInput, "open link", nil)
	}
	return u.String(), nil
}

func workspaceOf(path string) WorkspaceInfo {
	if path == "" {
		return WorkspaceInfo{}
	}
	return WorkspaceInfo{Path: path, Name: filepath.Base(path)}
}

// writeSample writes the sample documents to dir. What is there already stays,
// since the person may have changed it.
func writeSample(dir string) error {
	return fs.WalkDir(sampleFiles, "sample", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("sample", filepath.FromSlash(p))
		if err != nil {
			return err
		}
		to := filepath.Join(dir, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		if _, err := os.Lstat(to); err == nil {
			return nil
		}
		data, err := sampleFiles.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o644)
	})
}
