package api

import (
	"context"
	"log/slog"
	"slices"

	"galley/backend/document"
	"galley/backend/fault"
)

// Documents is the bound service of the open documents.
type Documents struct {
	set      *document.Set
	gestures gestures
	emitter  *Emitter
	ctx      func() context.Context
	quit     func()
	closing  *closing
	sessions *sessions
	// attached is called for each page that attaches: the window is usable.
	attached func()
	log      *slog.Logger
}

// Attach makes the caller the page in charge and returns what is open. An
// older page is told and becomes inert.
func (s *Documents) Attach() (DocumentsState, error) {
	return call(s.log, "attach documents", func() (DocumentsState, error) {
		left, err := s.sessions.offered(s.ctx())
		if err != nil {
			return DocumentsState{}, err
		}
		// First, so that nothing falls between the state and the messages.
		s.emitter.Open()
		a := s.set.Attach()
		s.sessions.attach(a.Page)
		s.attached()
		s.emitter.Emit("page.attached", PageAttached{Page: a.Page})
		state := DocumentsState{
			Page: a.Page, Current: a.Current,
			Documents: make([]Document, 0, len(a.Documents)), Drafts: left, Layout: s.sessions.layoutNow(),
		}
		for _, info := range a.Documents {
			state.Documents = append(state.Documents, documentOf(info))
		}
		state.Documents = s.sessions.arranged(state.Documents)
		return state, nil
	})
}

// Open opens a file inside of what the person granted.
func (s *Documents) Open(path string) (Document, error) {
	return call(s.log, "open", func() (Document, error) {
		info, err := s.set.Open(s.ctx(), path)
		s.sessions.opened(info.Path)
		return documentOf(info), err
	})
}

// OpenDialog asks for files and opens them; none when the person cancelled.
// Where one cannot be opened, that is the answer, and those before it come as
// document.opened.
func (s *Documents) OpenDialog() ([]Document, error) {
	return call(s.log, "open dialog", func() ([]Document, error) {
		paths, err := s.gestures.files(s.ctx())
		if err != nil {
			return nil, err
		}
		opened := make([]Document, 0, len(paths))
		for _, path := range paths {
			info, err := s.set.Open(s.ctx(), path)
			if err != nil {
				for _, d := range opened {
					s.emitter.Emit("document.opened", DocumentOpened{Document: d})
				}
				return nil, err
			}
			s.sessions.opened(info.Path)
			opened = append(opened, documentOf(info))
		}
		return opened, nil
	})
}

// New opens an untitled document.
func (s *Documents) New() (Document, error) {
	return call(s.log, "new document", func() (Document, error) { return documentOf(s.set.NewUntitled()), nil })
}

// Sync follows the page by change sets.
func (s *Documents) Sync(req SyncRequest) (SyncResult, error) {
	return call(s.log, "sync", func() (SyncResult, error) {
		changes := make([]document.Change, 0, len(req.Changes))
		for _, c := range req.Changes {
			changes = append(changes, document.Change(c))
		}
		r, err := s.set.Sync(document.SyncRequest{
			Page: req.Page, ID: req.ID, FromVersion: req.FromVersion, Changes: changes, Anchor: req.Anchor, Head: req.Head,
		})
		return SyncResult(r), err
	})
}

// Save writes a document to its file.
func (s *Documents) Save(req SaveRequest) (SaveResult, error) {
	return call(s.log, "save", func() (SaveResult, error) {
		saved, err := s.set.Save(s.ctx(), document.SaveRequest(req))
		return saveResultOf(saved), err
	})
}

// SaveAs asks where to save a document and writes it there. Fault: cancelled
// when the person cancelled.
func (s *Documents) SaveAs(req SaveRequest) (SaveResult, error) {
	return call(s.log, "save as", func() (SaveResult, error) {
		// An older page asks nothing and gets no grant.
		if err := s.set.CheckPage(req.Page); err != nil {
			return SaveResult{}, err
		}
		info, err := s.set.Info(req.ID)
		if err != nil {
			return SaveResult{}, err
		}
		name := info.Name
		if name == "" {
			name = "Untitled.md"
		}
		path, err := s.gestures.target(s.ctx(), name)
		if err != nil {
			return SaveResult{}, err
		}
		saved, err := s.set.SaveAs(s.ctx(), document.SaveRequest(req), path)
		s.sessions.opened(saved.Document.Path)
		return saveResultOf(saved), err
	})
}

// Reload takes what is on disk in place of the document's text.
func (s *Documents) Reload(page int64, id string) (Document, error) {
	return call(s.log, "reload", func() (Document, error) {
		info, err := s.set.Reload(s.ctx(), page, id)
		return documentOf(info), err
	})
}

// Close closes a document. Unsaved text is refused as busy unless discard.
func (s *Documents) Close(page int64, id string, discard bool) error {
	return do(s.log, "close", func() error {
		defer s.sessions.poke()
		return s.set.CloseDocument(s.ctx(), page, id, document.Discard(discard))
	})
}

// SetCurrent says which document is in front.
func (s *Documents) SetCurrent(page int64, id string) error {
	return do(s.log, "set current", func() error {
		if err := s.set.SetCurrent(page, id); err != nil {
			return err
		}
		s.sessions.front(id)
		return nil
	})
}

// RestoreDraft opens a draft of an earlier start as an unsaved document.
func (s *Documents) RestoreDraft(page int64, id string) (Document, error) {
	return call(s.log, "restore draft", func() (Document, error) {
		if err := s.set.CheckPage(page); err != nil {
			return Document{}, err
		}
		left, err := s.set.Drafts(s.ctx())
		if err != nil {
			return Document{}, err
		}
		at := slices.IndexFunc(left, func(d document.Draft) bool { return d.ID == id })
		if at < 0 {
			return Document{}, fault.New(fault.NotFound, "restore draft", nil)
		}
		if path := left[at].Path; path != "" {
			if err := s.gestures.stored(path); err != nil {
				// The text is worth more than its place: it opens, and saving asks.
				s.log.Warn("place of a draft not granted", "code", fault.CodeOf(err))
			}
		}
		info, err := s.set.RestoreDraft(s.ctx(), page, id)
		s.sessions.poke()
		return documentOf(info), err
	})
}

// DiscardDraft deletes a draft of an earlier start.
func (s *Documents) DiscardDraft(page int64, id string) error {
	return do(s.log, "discard draft", func() error { return s.set.DiscardDraft(s.ctx(), page, id) })
}

// AcknowledgeClose takes note of window.close_requested: the person is being
// asked. A page that does not say so is taken for dead.
func (s *Documents) AcknowledgeClose(page int64) error {
	return do(s.log, "acknowledge close", func() error {
		if err := s.set.CheckPage(page); err != nil {
			return err
		}
		s.closing.heard()
		return nil
	})
}

// Quit ends the program. discard deletes the drafts of what is unsaved, which
// the person decided in the page's dialog; else they are kept.
func (s *Documents) Quit(page int64, discard bool) error {
	return do(s.log, "quit", func() error {
		if err := s.set.CheckPage(page); err != nil {
			return err
		}
		s.sessions.freeze()
		if discard {
			for _, info := range s.set.List() {
				err := s.set.CloseDocument(s.ctx(), page, info.ID, document.DiscardUnsaved)
				if err != nil && fault.CodeOf(err) != fault.NotFound {
					s.sessions.resume()
					return err
				}
			}
		}
		s.quit()
		return nil
	})
}

func documentOf(i document.Info) Document {
	if i.ID == "" { // beside an error
		return Document{}
	}
	return Document{
		ID: i.ID, URI: i.URI, Path: i.Path, Name: i.Name, Version: i.Version,
		Encoding: string(i.Format.Encoding), BOM: i.Format.BOM,
		Endings: i.Endings, Majority: i.Majority, ReadOnly: string(i.ReadOnly), Dirty: i.Dirty,
		TextURL: "/document/" + i.ID + "/text", Length: i.Length, Anchor: i.Anchor, Head: i.Head,
		RestoredAtMs: i.RestoredAtMs, Disk: string(i.Disk),
	}
}

func saveResultOf(s document.Saved) SaveResult {
	return SaveResult{
		Document: documentOf(s.Document), SavedAtMs: s.SavedAtMs, Bytes: s.Bytes, Written: s.Written,
		Fallback: s.Fallback, RecoveryPath: s.RecoveryPath,
	}
}
