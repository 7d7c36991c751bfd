package api

import "galley/backend/text"

// CreateRequest makes an empty file or a folder.
type CreateRequest struct {
	// Folder is the absolute path of the folder that gets it.
	Folder   string `json:"folder"`
	Name     string `json:"name"`
	IsFolder bool   `json:"isFolder"`
}

// MoveRequest renames or moves a file or folder of the workspace. Both paths
// are absolute.
type MoveRequest struct {
	From string `json:"from"`
	To   string `json:"to"`
	// KeepLinks moves at once, without looking at links to and from it.
	KeepLinks bool `json:"keepLinks"`
}

// MoveResult is either a move that happened (Moved) or the set of link changes
// to review, whose application moves; the other one is empty.
type MoveResult struct {
	Moved bool        `json:"moved"`
	Entry Entry       `json:"entry"`
	Set   ReviewedSet `json:"set"`
}

// QuickOpenRequest asks for the files whose path fits Query, best first; with
// an empty Query the recent ones.
type QuickOpenRequest struct {
	Query string `json:"query"`
	Limit int    `json:"limit"`
}

// FileMatch is one file that fits.
type FileMatch struct {
	Path string `json:"path"`
	// Name is relative to the workspace, with slashes.
	Name string `json:"name"`
	// Hits are the UTF-16 offsets in Name that the query's characters took.
	Hits   []int `json:"hits"`
	Recent bool  `json:"recent"`
}

// QuickOpenResult is what fits; More counts those past the limit.
type QuickOpenResult struct {
	Files []FileMatch `json:"files"`
	More  int         `json:"more"`
	// Cut is true when the workspace has more files than the index holds.
	Cut bool `json:"cut"`
}

// SearchRequest starts a search over the workspace; results come as
// search.found and end with search.ended. A new search ends the one before.
type SearchRequest struct {
	// ID is made by the page and stands in the events.
	ID    string `json:"id"`
	Query string `json:"query"`
	// Case: capital letters matter.
	Case bool `json:"case"`
	// Word: only whole words.
	Word bool `json:"word"`
	// Regexp: Query is a regular expression in RE2 syntax.
	Regexp bool `json:"regexp"`
	// Include and Exclude are globs over the path relative to the workspace
	// ("*.md", "notes/**").
	Include []string `json:"include"`
	Exclude []string `json:"exclude"`
}

// SearchHit is one place that fits. From and To are UTF-16 offsets into the
// file's LF text; the strings are of its line, cut to 120 UTF-16 units a side.
type SearchHit struct {
	From   int    `json:"from"`
	To     int    `json:"to"`
	Line   int    `json:"line"`
	Before string `json:"before"`
	Match  string `json:"match"`
	After  string `json:"after"`
}

// SearchFile is one file's hits.
type SearchFile struct {
	Path string `json:"path"`
	// Name is relative to the workspace, with slashes.
	Name string `json:"name"`
	// Unsaved is true when the open document was searched as it stands.
	Unsaved bool        `json:"unsaved"`
	Hits    []SearchHit `json:"hits"`
	// More counts hits past the limit of 100.
	More int `json:"more"`
}

// SearchFound is a part of a search's results.
type SearchFound struct {
	ID    string       `json:"id"`
	Files []SearchFile `json:"files"`
}

// SearchEnded ends a search.
type SearchEnded struct {
	ID string `json:"id"`
	// Code is the fault that ended it early (cancelled, not_found …), or "".
	Code string `json:"code"`
	// Searched counts files, Files and Hits what was found.
	Searched int `json:"searched"`
	Files    int `json:"files"`
	Hits     int `json:"hits"`
	// What was cut: files past the limit of 20,000, files over 4 MB, files
	// that could not be read or are no text, folders below the depth of 12.
	PastLimit int   `json:"pastLimit"`
	TooLarge  int   `json:"tooLarge"`
	Unread    int   `json:"unread"`
	TooDeep   int   `json:"tooDeep"`
	TookMs    int64 `json:"tookMs"`
}

// ReplaceRequest asks for the changes that replacing every hit would make.
type ReplaceRequest struct {
	Search SearchRequest `json:"search"`
	// With replaces each hit; with a regexp, $1 and ${name} stand for groups.
	With string `json:"with"`
}

// ReviewedSet is changes to several files under review. Nothing is written
// before ApplySet.
type ReviewedSet struct {
	ID string `json:"id"`
	// Kind is replace or move.
	Kind string `json:"kind"`
	// From and To are what is replaced and with what, or the paths of the move
	// that goes with the set.
	From string `json:"from"`
	To   string `json:"to"`
	// State is open, applied or undone.
	State string    `json:"state"`
	Files []SetFile `json:"files"`
	// Cut is true when there was more than the limit of 10,000 edits.
	Cut bool `json:"cut"`
}

// SetFile is the edits to one file of a set.
type SetFile struct {
	Path string `json:"path"`
	// Name is relative to the workspace, with slashes.
	Name string `json:"name"`
	// DocumentID is that of the open document the edits refer to, at Version;
	// "" for a file that is not open.
	DocumentID string    `json:"documentId"`
	Version    int       `json:"version"`
	Edits      []SetEdit `json:"edits"`
	// Problem is the fault code that keeps the file out of the set, or "".
	Problem string `json:"problem"`
	// Left counts links that a move breaks and that stay as they are: a name
	// that several files have, or one that such a link cannot hold.
	Left int `json:"left"`
}

// SetEdit is one edit, in UTF-16 units of the file's LF text. Before and After
// are the rest of its lines, cut to 80 units.
type SetEdit struct {
	From   int    `json:"from"`
	To     int    `json:"to"`
	Insert string `json:"insert"`
	Old    string `json:"old"`
	Line   int    `json:"line"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// ApplySetRequest applies the ticked edits of a set: all of them or none.
type ApplySetRequest struct {
	Page   int64      `json:"page"`
	ID     string     `json:"id"`
	Ticked []SetTicks `json:"ticked"`
}

// SetTicks are the ticked edits of one file, by their index.
type SetTicks struct {
	Path  string `json:"path"`
	Edits []int  `json:"edits"`
}

// AppliedSet is a set that was applied or undone. Files that are not open are
// written. The edits of open documents are the page's to make, as one
// transaction each, since their text and undo history are its own.
type AppliedSet struct {
	Set       ReviewedSet     `json:"set"`
	Documents []DocumentEdits `json:"documents"`
}

// DocumentEdits are edits to an open document at Version. When a set is undone
// they refer to the text as it was right after the set was applied.
type DocumentEdits struct {
	ID      string      `json:"id"`
	Version int         `json:"version"`
	Edits   []text.Edit `json:"edits"`
}

// DiskChanged says how the file of an open document stands to it.
type DiskChanged struct {
	DocumentID string `json:"documentId"`
	// State is same, changed, missing or moved (Document has the new path).
	State    string   `json:"state"`
	Document Document `json:"document"`
	AtMs     int64    `json:"atMs"`
}

// Comparison is what a three-way compare starts from: the document's baseline
// and its file as it is now. The texts travel by GET.
type Comparison struct {
	DocumentID string `json:"documentId"`
	// BaseURL is "" when the baseline's text is not known any more.
	BaseURL string `json:"baseUrl"`
	DiskURL string `json:"diskUrl"`
	// DiskHash names the bytes on disk; SaveRequest.DiskHash takes it.
	DiskHash    string           `json:"diskHash"`
	DiskEndings []text.EndingRun `json:"diskEndings"`
	// Missing is true when there is no file; its text is then empty.
	Missing    bool  `json:"missing"`
	ModifiedMs int64 `json:"modifiedMs"`
}

// HistoryVersion is one kept version of a document's file.
type HistoryVersion struct {
	ID   string `json:"id"`
	AtMs int64  `json:"atMs"`
	// Reason is saved, opened, replaced (by a reviewed set), overwritten (the
	// file's text that "keep mine" wrote over) or discarded (mine that "take
	// theirs" gave up).
	Reason  string           `json:"reason"`
	Bytes   int              `json:"bytes"`
	TextURL string           `json:"textUrl"`
	Endings []text.EndingRun `json:"endings"`
	// Length is that of the text, in UTF-16 units.
	Length int `json:"length"`
}

// History lists the kept versions of a document, newest first.
type History struct {
	Versions []HistoryVersion `json:"versions"`
	// Folder is where they are kept.
	Folder string `json:"folder"`
	// Broken counts versions that are damaged and not listed.
	Broken int `json:"broken"`
}

// Recent is what was opened of late, newest first.
type Recent struct {
	Files      []RecentFile    `json:"files"`
	Workspaces []WorkspaceInfo `json:"workspaces"`
}

// RecentFile is a file that was opened.
type RecentFile struct {
	Path string `json:"path"`
	Name string `json:"name"`
	AtMs int64  `json:"atMs"`
}

// ViewReport is how the window's tabs stand, for the next start.
type ViewReport struct {
	Page   int64  `json:"page"`
	Layout Layout `json:"layout"`
	// Views are the tabs in their order.
	Views []DocumentView `json:"views"`
}

// DocumentView is how one tab stands, in UTF-16 units.
type DocumentView struct {
	ID     string `json:"id"`
	Anchor int    `json:"anchor"`
	Head   int    `json:"head"`
	// Top is the start of the first line that is seen.
	Top int `json:"top"`
}

// Layout is what of the window's parts is open and how wide, in CSS pixels; a
// width of 0 is the default.
type Layout struct {
	Sidebar      bool   `json:"sidebar"`
	SidebarWidth int    `json:"sidebarWidth"`
	SidebarView  string `json:"sidebarView"`
	Panel        bool   `json:"panel"`
	PanelWidth   int    `json:"panelWidth"`
	PanelView    string `json:"panelView"`
}

// WorkspaceChanged says that something else changed the folder.
type WorkspaceChanged struct {
	// Folders are the absolute paths of folders whose entries changed.
	Folders []string `json:"folders"`
	// All is true when changes were missed: everything may differ.
	All bool `json:"all"`
	// Gone is true when the folder itself is not there any more.
	Gone bool `json:"gone"`
}

// OpenFailed says that what the command line, a second start or a drop named
// could not be opened.
type OpenFailed struct {
	Path string `json:"path"`
	Code string `json:"code"`
}
