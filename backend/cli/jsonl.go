package cli

import (
	"encoding/json"
	"errors"
	"io"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
	"galley/backend/fault"
)

// jsonl shows a run to a program: one JSON object a line. docs/PROTOCOL.md lists
// the types.
type jsonl struct{ out io.Writer }

// line is one line; Type says which other fields are set.
type line struct {
	Type       string            `json:"type"`
	RunID      core.RunID        `json:"runId,omitempty"`
	SessionID  core.SessionID    `json:"sessionId,omitempty"`
	State      core.RunState     `json:"state,omitempty"`
	By         string            `json:"by,omitempty"`
	Event      *core.Event       `json:"event,omitempty"`
	Preview    *core.Preview     `json:"preview,omitempty"`
	ApprovalID core.ApprovalID   `json:"approvalId,omitempty"`
	ProposalID core.ProposalID   `json:"proposalId,omitempty"`
	Path       string            `json:"path,omitempty"`
	Receipt    string            `json:"receipt,omitempty"`
	Words      string            `json:"words,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Usage      *core.Usage       `json:"usage,omitempty"`
	Fault      *core.FaultInfo   `json:"fault,omitempty"`
	ExitCode   *int              `json:"exitCode,omitempty"`
	Run        *core.Run         `json:"run,omitempty"`
	Detail     *core.RunDetail   `json:"detail,omitempty"`
	Artifacts  []core.Artifact   `json:"artifacts,omitempty"`
	Title      string            `json:"title,omitempty"`
	Patches    map[string]string `json:"patches,omitempty"`
}

func (j jsonl) put(l line) {
	// What cannot be written to a closed pipe is lost, like any output.
	_ = json.NewEncoder(j.out).Encode(l)
}

func (j jsonl) begun(res wire.SubmitResult, by wire.ClientKind) {
	who := string(by)
	if who == "" {
		who = "self"
	}
	j.put(line{Type: "begun", RunID: res.RunID, SessionID: res.SessionID, State: res.State, By: who})
}

func (j jsonl) event(e core.Event) { j.put(line{Type: "event", RunID: e.RunID, Event: &e}) }

func (j jsonl) preview(p core.Preview) { j.put(line{Type: "preview", RunID: p.RunID, Preview: &p}) }

func (j jsonl) refused(a core.Approval, why string) {
	j.put(line{Type: "approval.refused", RunID: a.RunID, ApprovalID: a.ID, Words: why})
}

func (j jsonl) proposal(p core.Proposal, path string, err error) {
	l := line{Type: "proposal", RunID: p.RunID, ProposalID: p.ID, Path: path}
	if err != nil {
		l.Words = sayError(err)
	}
	j.put(l)
}

func (j jsonl) receipt(r wire.CancelResult) {
	j.put(line{Type: "receipt", RunID: r.RunID, Receipt: r.Receipt, State: r.State})
}

func (j jsonl) note(words string) { j.put(line{Type: "note", Words: words}) }

func (j jsonl) ended(id core.RunID, c core.RunChanged, code int) {
	j.put(line{Type: "ended", RunID: id, State: c.State, Reason: c.Reason, Fault: c.Fault, Usage: &c.Usage, ExitCode: &code})
}

func (j jsonl) failed(err error, code int) {
	info := core.FaultInfoOf(err)
	if _, ok := errors.AsType[*usageError](err); ok {
		info = &core.FaultInfo{Code: string(fault.InvalidInput)}
	}
	j.put(line{Type: "failed", Fault: info, Words: sayError(err), ExitCode: &code})
}
