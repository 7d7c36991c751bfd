package api

import (
	"reflect"

	"galley/backend/agent/core"
)

// EventName is the one Wails event the page listens to.
const EventName = "galley"

// Envelope is what travels under EventName: one message.
type Envelope struct {
	// N counts messages of this start from 1; the page puts them in order and
	// attaches again on a gap.
	N    int64  `json:"n"`
	Type string `json:"type"`
	// Seq is set for committed agent events, else 0.
	Seq       int64  `json:"seq"`
	RunID     string `json:"runId"`
	SessionID string `json:"sessionId"`
	AtMs      int64  `json:"atMs"`
	// Ref is true when the payload was over 32 KB and lacks its body, which is
	// then fetched by id (Agent.Proposal, Agent.ToolCall, Agent.MessageText).
	Ref bool `json:"ref"`
}

// Audience says who gets an event type.
type Audience struct {
	Model, Page, Archive bool
}

// EventRow is one row of the event table: wire name, payload, audience.
type EventRow struct {
	Type     string
	Payload  reflect.Type
	Audience Audience
}

// Events returns the event table. tsgen writes a discriminated union from it,
// so that an event the page does not handle is a compile error.
func Events() []EventRow {
	fact := Audience{Page: true, Archive: true}
	told := Audience{Model: true, Page: true, Archive: true}
	page := Audience{Page: true}
	return []EventRow{
		{"session.created", reflect.TypeFor[core.Session](), fact},
		{"session.changed", reflect.TypeFor[core.Session](), fact},
		{"session.deleted", reflect.TypeFor[core.SessionDeleted](), fact},
		{"run.accepted", reflect.TypeFor[core.Run](), fact},
		{"run.started", reflect.TypeFor[core.RunChanged](), fact},
		{"run.waiting", reflect.TypeFor[core.RunChanged](), fact},
		{"run.resumed", reflect.TypeFor[core.RunChanged](), fact},
		{"run.cancelling", reflect.TypeFor[core.RunChanged](), fact},
		{"run.cancelled", reflect.TypeFor[core.RunChanged](), fact},
		{"run.succeeded", reflect.TypeFor[core.RunChanged](), fact},
		{"run.failed", reflect.TypeFor[core.RunChanged](), fact},
		{"run.interrupted", reflect.TypeFor[core.RunChanged](), told},
		{"message.committed", reflect.TypeFor[core.MessageCommitted](), told},
		{"attempt.withdrawn", reflect.TypeFor[core.AttemptWithdrawn](), fact},
		{"model_call.begun", reflect.TypeFor[core.ModelCallBegun](), fact},
		{"model_call.ended", reflect.TypeFor[core.ModelCallEnded](), fact},
		{"tool.changed", reflect.TypeFor[core.ToolCall](), told},
		{"tool.reconciled", reflect.TypeFor[core.ToolReconciled](), told},
		{"approval.asked", reflect.TypeFor[core.Approval](), fact},
		{"approval.decided", reflect.TypeFor[core.Approval](), told},
		{"proposal.created", reflect.TypeFor[core.Proposal](), told},
		{"proposal.decided", reflect.TypeFor[core.ProposalDecided](), told},
		{"runner.recovered", reflect.TypeFor[core.RunnerRecovered](), fact},
		{"preview", reflect.TypeFor[core.Preview](), page},
		{"runner.changed", reflect.TypeFor[RunnerState](), page},
		{"menu.invoked", reflect.TypeFor[MenuInvoked](), page},
		{"window.close_requested", reflect.TypeFor[CloseRequested](), page},
		{"page.attached", reflect.TypeFor[PageAttached](), page},
		{"document.opened", reflect.TypeFor[DocumentOpened](), page},
		{"draft.found", reflect.TypeFor[DraftFound](), page},
		{"workspace.opened", reflect.TypeFor[WorkspaceOpened](), page},
		{"workspace.changed", reflect.TypeFor[WorkspaceChanged](), page},
		{"document.disk_changed", reflect.TypeFor[DiskChanged](), page},
		{"open.failed", reflect.TypeFor[OpenFailed](), page},
		{"search.found", reflect.TypeFor[SearchFound](), page},
		{"search.ended", reflect.TypeFor[SearchEnded](), page},
		{"settings.changed", reflect.TypeFor[SettingsState](), page},
	}
}
