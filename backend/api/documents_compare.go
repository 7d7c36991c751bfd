package api

import "galley/backend/document"

// Compare gives what a three-way compare needs.
func (s *Documents) Compare(page int64, id string) (Comparison, error) {
	return call(s.log, "compare", func() (Comparison, error) {
		c, err := s.set.Compare(s.ctx(), page, id)
		if err != nil {
			return Comparison{}, err
		}
		at := "/document/" + id
		out := Comparison{
			DocumentID: id, DiskURL: at + "/disk?hash=" + c.DiskHash, DiskHash: c.DiskHash, DiskEndings: c.DiskEndings,
			Missing: c.Missing, ModifiedMs: c.ModifiedMs,
		}
		if c.BaseHash != "" {
			out.BaseURL = at + "/base?hash=" + c.BaseHash
		}
		return out, nil
	})
}

// History lists the kept versions of a document.
func (s *Documents) History(id string) (History, error) {
	return call(s.log, "history", func() (History, error) {
		kept, err := s.set.History(s.ctx(), id)
		out := History{Versions: make([]HistoryVersion, 0, len(kept.Versions)), Folder: kept.Folder, Broken: kept.Broken}
		for _, v := range kept.Versions {
			out.Versions = append(out.Versions, HistoryVersion{
				ID: v.ID, AtMs: v.AtMs, Reason: string(v.Reason), Bytes: v.Bytes,
				TextURL: "/document/" + id + "/history/" + v.ID, Endings: v.Endings, Length: v.Length,
			})
		}
		return out, err
	})
}

// diskChangedOf is the event of a file that changed outside.
func diskChangedOf(c document.DiskChange) DiskChanged {
	return DiskChanged{DocumentID: c.Document.ID, State: string(c.State), Document: documentOf(c.Document), AtMs: c.AtMs}
}
