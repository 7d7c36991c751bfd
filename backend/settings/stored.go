package settings

import (
	"encoding/json"

	"galley/backend/workspace"
)

// What is stored of a session has its paths as [workspace.StoredPath], so that
// names which are not UTF-8 come back as they were. The outer fields stand for
// those of the same name inside.

type (
	plainSession Session
	plainTab     SessionTab
	plainRecent  RecentPath

	storedSession struct {
		plainSession
		Workspace workspace.StoredPath `json:"workspace"`
		Current   workspace.StoredPath `json:"current"`
	}
	storedTab struct {
		plainTab
		Path workspace.StoredPath `json:"path"`
	}
	storedRecent struct {
		plainRecent
		Path workspace.StoredPath `json:"path"`
	}
)

// MarshalJSON implements json.Marshaler.
func (s Session) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedSession{plainSession(s), workspace.StoredPath(s.Workspace), workspace.StoredPath(s.Current)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Session) UnmarshalJSON(data []byte) error {
	var got storedSession
	err := json.Unmarshal(data, &got)
	*s = Session(got.plainSession)
	s.Workspace, s.Current = string(got.Workspace), string(got.Current)
	return err
}

// MarshalJSON implements json.Marshaler.
func (t SessionTab) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedTab{plainTab(t), workspace.StoredPath(t.Path)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *SessionTab) UnmarshalJSON(data []byte) error {
	var got storedTab
	err := json.Unmarshal(data, &got)
	*t = SessionTab(got.plainTab)
	t.Path = string(got.Path)
	return err
}

// MarshalJSON implements json.Marshaler.
func (r RecentPath) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedRecent{plainRecent(r), workspace.StoredPath(r.Path)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *RecentPath) UnmarshalJSON(data []byte) error {
	var got storedRecent
	err := json.Unmarshal(data, &got)
	*r = RecentPath(got.plainRecent)
	r.Path = string(got.Path)
	return err
}
