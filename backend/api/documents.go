package api

// Documents is the bound service.
type Documents struct{}

// Attach is not wired yet.
func (s *Documents) Attach() (DocumentsState, error) {
	var r DocumentsState
	return r, nil
}

// Open is not wired yet.
func (s *Documents) Open(path string) (Document, error) {
	var r Document
	return r, nil
}

// OpenDialog is not wired yet.
func (s *Documents) OpenDialog() ([]Document, error) {
	var r []Document
	return r, nil
}

// New is not wired yet.
func (s *Documents) New() (Document, error) {
	var r Document
	return r, nil
}

// SaveAs is not wired yet.
func (s *Documents) SaveAs(req SaveRequest) (SaveResult, error) {
	var r SaveResult
	return r, nil
}

// Save is not wired yet.
func (s *Documents) Save(req SaveRequest) (SaveResult, error) {
	var r SaveResult
	return r, nil
}

// Sync is not wired yet.
func (s *Documents) Sync(req SyncRequest) (SyncResult, error) {
	var r SyncResult
	return r, nil
}

// Reload is not wired yet.
func (s *Documents) Reload(page int64, id string) (Document, error) {
	var r Document
	return r, nil
}

// Close is not wired yet.
func (s *Documents) Close(page int64, id string) error {
	return nil
}

// SetCurrent is not wired yet.
func (s *Documents) SetCurrent(page int64, id string) error {
	return nil
}

// RestoreDraft is not wired yet.
func (s *Documents) RestoreDraft(page int64, id string) (Document, error) {
	var r Document
	return r, nil
}

// DiscardDraft is not wired yet.
func (s *Documents) DiscardDraft(page int64, id string) error {
	return nil
}

// Quit is not wired yet.
func (s *Documents) Quit(page int64, discard bool) error {
	return nil
}
