package api

import (
	"galley/backend/document"
	"galley/backend/fault"
	"galley/backend/search"
	"galley/backend/workspace"
)

// maxQuickOpen is how many files QuickOpen returns at most.
const maxQuickOpen = 200

// QuickOpen finds files by their path. Without an open folder there are none.
func (s *Workspace) QuickOpen(req QuickOpenRequest) (QuickOpenResult, error) {
	return call(s.log, "quick open", func() (QuickOpenResult, error) {
		result := QuickOpenResult{Files: []FileMatch{}}
		if s.grants.Workspace() == "" {
			return result, nil
		}
		found, err := s.index.Find(s.ctx(), req.Query, min(req.Limit, maxQuickOpen))
		if err != nil {
			return result, err
		}
		for _, f := range found.Files {
			result.Files = append(result.Files, FileMatch(f))
		}
		result.More, result.Cut = found.More, found.Cut
		return result, nil
	})
}

// Search starts a search; results come as search.found and end with
// search.ended. A query that is no valid regexp or glob is invalid_input, with
// the mistake as detail.
func (s *Workspace) Search(req SearchRequest) error {
	return do(s.log, "search", func() error { return s.search.Start(req.ID, queryOf(req)) })
}

// CancelSearch ends the search with that id, or the making of a replacement's
// preview. One that has ended is no error.
func (s *Workspace) CancelSearch(id string) error {
	return do(s.log, "cancel search", func() error {
		s.search.Cancel(id)
		return nil
	})
}

func queryOf(r SearchRequest) search.Query {
	return search.Query{Text: r.Query, Case: r.Case, Word: r.Word, Regexp: r.Regexp, Include: r.Include, Exclude: r.Exclude}
}

// newSearch returns the engine whose results go to the page.
func (b *Backend) newSearch() *search.Engine {
	return search.New(search.Config{
		Folder:  b.openFolder,
		Unsaved: func() map[string]string { return unsavedTexts(b.set) },
		Found: func(id string, files []search.File) {
			b.emitter.Emit("search.found", SearchFound{ID: id, Files: searchFilesOf(files)})
		},
		Ended: func(e search.Ended) { b.emitter.Emit("search.ended", searchEndedOf(e)) },
		Log:   b.log,
	})
}

// newIndex returns the index of the open folder's files.
func (b *Backend) newIndex() *search.Index {
	return search.NewIndex(search.IndexConfig{Folder: b.openFolder, Recent: func() []string {
		files, _ := b.stored.Recent()
		paths := make([]string, 0, len(files))
		for _, f := range files {
			paths = append(paths, f.Path)
		}
		return paths
	}})
}

// openFolder permits listing the open folder; without one it is not_found.
func (b *Backend) openFolder() (workspace.Folder, error) {
	path := b.grants.Workspace()
	if path == "" {
		return workspace.Folder{}, fault.New(fault.NotFound, "open folder", nil)
	}
	return b.grants.PermitList(path)
}

// unsavedTexts returns the texts of open documents that differ from their
// files, by path.
func unsavedTexts(set *document.Set) map[string]string {
	texts := map[string]string{}
	for _, info := range set.List() {
		if !info.Dirty || info.Path == "" {
			continue
		}
		// One that was closed meanwhile is as its file is.
		if s, _, err := set.Text(info.ID); err == nil {
			texts[info.Path] = s
		}
	}
	return texts
}

func searchFilesOf(files []search.File) []SearchFile {
	out := make([]SearchFile, 0, len(files))
	for _, f := range files {
		hits := make([]SearchHit, 0, len(f.Hits))
		for _, h := range f.Hits {
			hits = append(hits, SearchHit{From: h.From, To: h.To, Line: h.Line, Before: h.Before(), Match: h.Text(), After: h.After()})
		}
		out = append(out, SearchFile{Path: f.Path, Name: f.Name, Unsaved: f.Unsaved, Hits: hits, More: f.More})
	}
	return out
}

func searchEndedOf(e search.Ended) SearchEnded {
	return SearchEnded{
		ID: e.ID, Code: string(e.Code), Searched: e.Searched, Files: e.Files, Hits: e.Hits,
		PastLimit: e.PastLimit, TooLarge: e.TooLarge, Unread: e.Unread, TooDeep: e.TooDeep, TookMs: e.Took.Milliseconds(),
	}
}
