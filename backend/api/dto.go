package api

import (
	"galley/backend/agent/core"
	"galley/backend/text"
)

// Document is an open document as the host holds it. The text travels by GET
// from TextURL, not here.
type Document struct {
	ID string `json:"id"`
	// URI is the file URI, or untitled:<id>.
	URI string `json:"uri"`
	// Path is absolute; empty for an untitled document.
	Path string `json:"path"`
	// Name is what a tab shows.
	Name     string `json:"name"`
	Version  int    `json:"version"`
	Encoding string `json:"encoding"`
	BOM      bool   `json:"bom"`
	// Endings lists the endings of all breaks in order, run-length encoded.
	Endings []text.EndingRun `json:"endings"`
	// Majority is the ending of new lines that grow from no line with one.
	Majority text.Ending `json:"majority"`
	// ReadOnly says why the document cannot be edited: a fault code, or "".
	ReadOnly string `json:"readOnly"`
	Dirty    bool   `json:"dirty"`
	// TextURL is a path on this origin: GET gives the text at Version, POST
	// replaces the mirror's.
	TextURL string `json:"textUrl"`
	// Length is the text's length in UTF-16 units.
	Length int `json:"length"`
	// Anchor and Head are the selection, in UTF-16 units.
	Anchor int `json:"anchor"`
	Head   int `json:"head"`
	// Restored is set when the text came from a draft: its time; else 0.
	RestoredAtMs int64 `json:"restoredAtMs"`
	// Top is the start of the first line to show, in UTF-16 units.
	Top int `json:"top"`
	// Disk is how the file stands to the baseline: same, changed or missing.
	Disk string `json:"disk"`
}

// DocumentsState is what a page gets when it attaches.
type DocumentsState struct {
	// Page is this page's number. Calls of an older page are refused as busy.
	Page      int64      `json:"page"`
	Documents []Document `json:"documents"`
	// Current is the id of the document in front; "" for none.
	Current string `json:"current"`
	// Drafts are unsaved texts of an earlier start that wait for a decision.
	Drafts []Draft `json:"drafts"`
	// Layout is how the window's parts stood at the last start.
	Layout Layout `json:"layout"`
}

// Draft is unsaved text that a crash left behind.
type Draft struct {
	ID string `json:"id"`
	// Path is the file it belongs to; empty for an untitled document.
	Path      string `json:"path"`
	Name      string `json:"name"`
	SavedAtMs int64  `json:"savedAtMs"`
	Length    int    `json:"length"`
	// Preview is the first 160 characters.
	Preview string `json:"preview"`
	// Conflict is true when the file changed since the draft's baseline.
	Conflict bool `json:"conflict"`
}

// Change is one transaction's edits and the endings of the breaks they insert.
type Change struct {
	Edits []text.Edit `json:"edits"`
	// Endings lists the endings of the breaks that the inserts hold, in order.
	Endings []text.EndingRun `json:"endings"`
}

// SyncRequest brings the mirror of a document from FromVersion forward by one
// version for each change.
type SyncRequest struct {
	Page        int64    `json:"page"`
	ID          string   `json:"id"`
	FromVersion int      `json:"fromVersion"`
	Changes     []Change `json:"changes"`
	Anchor      int      `json:"anchor"`
	Head        int      `json:"head"`
}

// SyncResult acknowledges a SyncRequest; Version is the draft journal's number.
type SyncResult struct {
	Version int  `json:"version"`
	Dirty   bool `json:"dirty"`
}

// SaveRequest saves the mirror after comparing it with the page's text.
type SaveRequest struct {
	Page    int64  `json:"page"`
	ID      string `json:"id"`
	Version int    `json:"version"`
	// Length in UTF-16 units and Digest (hex SHA-256 of UTF-8) of the page's
	// text; a mirror that differs is refused as unknown_base and not written.
	Length int    `json:"length"`
	Digest string `json:"digest"`
	// Overwrite writes over a file that changed outside ("keep mine").
	Overwrite bool `json:"overwrite"`
	// DiskHash names the one outside change that may be written over, as the
	// person saw it in a Comparison; "" for none.
	DiskHash string `json:"diskHash"`
}

// SaveResult is a save that happened.
type SaveResult struct {
	Document  Document `json:"document"`
	SavedAtMs int64    `json:"savedAtMs"`
	Bytes     int      `json:"bytes"`
	// Written is false when the file held these bytes already.
	Written bool `json:"written"`
	// Fallback is true when the file was written in place, with a recovery
	// copy at RecoveryPath.
	Fallback     bool   `json:"fallback"`
	RecoveryPath string `json:"recoveryPath"`
}

// Entry is a row of the tree.
type Entry struct {
	Name string `json:"name"`
	// Path is absolute.
	Path    string `json:"path"`
	Folder  bool   `json:"folder"`
	Ignored bool   `json:"ignored"`
}

// WorkspaceInfo is the open folder. Path is empty when none is open.
type WorkspaceInfo struct {
	Path string `json:"path"`
	Name string `json:"name"`
}

// Listing is one folder's entries: folders first, then files, by name.
type Listing struct {
	Path    string  `json:"path"`
	Entries []Entry `json:"entries"`
	// More counts entries that were left out past the limit of 5,000.
	More int `json:"more"`
}

// RewriteRequest asks for a rewrite of a selection of a document.
type RewriteRequest struct {
	CommandID  string `json:"commandId"`
	DocumentID string `json:"documentId"`
	// Version is the document version the positions refer to.
	Version     int    `json:"version"`
	From        int    `json:"from"`
	To          int    `json:"to"`
	Preset      string `json:"preset"`
	Instruction string `json:"instruction"`
	ProviderID  string `json:"providerId"`
	Model       string `json:"model"`
	Language    string `json:"language"`
	// Supersedes is the proposal that is regenerated; "" for none.
	Supersedes string `json:"supersedes"`
}

// RunRef names a run that was accepted.
type RunRef struct {
	RunID     string `json:"runId"`
	SessionID string `json:"sessionId"`
}

// CancelRequest asks a run to stop.
type CancelRequest struct {
	CommandID string `json:"commandId"`
	RunID     string `json:"runId"`
}

// CancelReceipt is the stored answer to a CancelRequest.
type CancelReceipt struct {
	RunID   string `json:"runId"`
	Receipt string `json:"receipt"`
	State   string `json:"state"`
}

// DecideRequest records what a person decided on the hunks of a proposal.
type DecideRequest struct {
	CommandID      string              `json:"commandId"`
	ProposalID     string              `json:"proposalId"`
	Hunks          []core.HunkDecision `json:"hunks"`
	AppliedVersion int                 `json:"appliedVersion"`
}

// DecideResult is the proposal's state after a DecideRequest.
type DecideResult struct {
	State string `json:"state"`
}

// RunnerState says whether AI can be used.
type RunnerState struct {
	// Status is starting, ready, stopped (restarting), failed (given up) or
	// elsewhere: a command line holds the agent of this home; its runs can be
	// watched, stopped and approved, and new ones wait until it has ended.
	Status string `json:"status"`
	// Code is the fault behind stopped and failed, and behind elsewhere while the
	// other has no Runner or does not answer; "" otherwise.
	Code string `json:"code"`
	PID  int    `json:"pid"`
	// Restarts counts the restarts since the program started.
	Restarts int `json:"restarts"`
}

// AgentState is sessions, runs, open proposals and pending approvals at Cursor.
type AgentState struct {
	Cursor    int64           `json:"cursor"`
	Runner    RunnerState     `json:"runner"`
	Sessions  []core.Session  `json:"sessions"`
	Runs      []core.Run      `json:"runs"`
	Proposals []core.Proposal `json:"proposals"`
	Approvals []core.Approval `json:"approvals"`
}

// MenuInvoked says that a native menu item was chosen.
type MenuInvoked struct {
	// Command is an id of the page's table of commands.
	Command string `json:"command"`
}

// CloseRequested says that the person asked to quit while something is unsaved
// or running. The page answers with Documents.Quit.
type CloseRequested struct {
	Unsaved []string `json:"unsaved"`
	Runs    []string `json:"runs"`
}

// PageAttached says that a page attached; an older page becomes inert.
type PageAttached struct {
	Page int64 `json:"page"`
}

// DocumentOpened says that the host opened a document (command line, second
// start, drop, stored session).
type DocumentOpened struct {
	Document Document `json:"document"`
	// Background is true for a restored tab that is not to come to the front.
	Background bool `json:"background"`
}

// DraftFound says that a draft of an earlier start waits for a decision, which
// DocumentsState did not name because it was being restored.
type DraftFound struct {
	Draft Draft `json:"draft"`
}

// WorkspaceOpened says that the host opened a folder.
type WorkspaceOpened struct {
	Workspace WorkspaceInfo `json:"workspace"`
	// PutAway are the ids of documents that belong to the folder before and had
	// nothing unsaved. The page closes those of which that is still true.
	PutAway []string `json:"putAway"`
}
