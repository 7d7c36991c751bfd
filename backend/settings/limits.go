package settings

import "slices"

// Permissions are what a person lets runs of AI do unasked (T4). They can only
// tighten what the program allows anyway: no value lets AI write without asking.
type Permissions struct {
	// WorkspaceRead is for searching, listing and reading other documents of the
	// folder: allow, confirm or deny.
	WorkspaceRead string `json:"workspaceRead"`
	// NotesWrite is for creating and renaming documents: confirm or deny, never
	// allow.
	NotesWrite string `json:"notesWrite"`
}

// The values of a permission.
const (
	Allow   = "allow"
	Confirm = "confirm"
	Deny    = "deny"
)

// Limits are those of one run (R8).
type Limits struct {
	// Minutes is how long it may take, 1 to MaxMinutes.
	Minutes int `json:"minutes"`
	// Steps is how many answers of the model it may have, 1 to MaxSteps.
	Steps int `json:"steps"`
	// Tokens is how many it may use, MinTokens to MaxTokens.
	Tokens int `json:"tokens"`
}

// The bounds of Limits.
const (
	MaxMinutes = 240
	MaxSteps   = 200
	MinTokens  = 1_000
	MaxTokens  = 10_000_000
)

// The bounds of Provider.ContextTokens where it is not 0.
const (
	MinContextTokens = 1_000
	MaxContextTokens = 10_000_000
)

// check returns the JSON name of the first field that is out of range, or "".
func (p Permissions) check() string {
	switch {
	case !slices.Contains([]string{Allow, Confirm, Deny}, p.WorkspaceRead):
		return "permissions.workspaceRead"
	case !slices.Contains([]string{Confirm, Deny}, p.NotesWrite):
		return "permissions.notesWrite"
	}
	return ""
}

// check returns the JSON name of the first field that is out of range, or "".
func (l Limits) check() string {
	switch {
	case l.Minutes < 1 || l.Minutes > MaxMinutes:
		return "limits.minutes"
	case l.Steps < 1 || l.Steps > MaxSteps:
		return "limits.steps"
	case l.Tokens < MinTokens || l.Tokens > MaxTokens:
		return "limits.tokens"
	}
	return ""
}
