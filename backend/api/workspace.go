package api

// Workspace is the bound service.
type Workspace struct{}

// Current is not wired yet.
func (s *Workspace) Current() (WorkspaceInfo, error) {
	var r WorkspaceInfo
	return r, nil
}

// OpenDialog is not wired yet.
func (s *Workspace) OpenDialog() (WorkspaceInfo, error) {
	var r WorkspaceInfo
	return r, nil
}

// OpenSample is not wired yet.
func (s *Workspace) OpenSample() (WorkspaceInfo, error) {
	var r WorkspaceInfo
	return r, nil
}

// List is not wired yet.
func (s *Workspace) List(path string) (Listing, error) {
	var r Listing
	return r, nil
}

// OpenLink is not wired yet.
func (s *Workspace) OpenLink(url string) error {
	return nil
}
