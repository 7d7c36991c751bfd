package runner

import (
	"encoding/json"
	"strings"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/agent/wire"
)

// A run whose questions quote many long documents can still be shown.
//
// covers: H2 R9
func TestFitDetail_FitsIntoALine(t *testing.T) {
	long := strings.Repeat("<", 1<<20) // six bytes each in JSON
	in, err := json.Marshal(map[string]string{"text": long})
	if err != nil {
		t.Fatal(err)
	}
	d := core.RunDetail{}
	for range 2 {
		c := core.ToolCall{ID: "t", Name: core.ToolCreateDocument, Input: in, Result: long}
		d.Calls = append(d.Calls, c)
		d.Approvals = append(d.Approvals, core.Approval{ID: "a", Summary: core.ToolSummary{Path: "a.md", Text: long}})
		d.Reconciled = append(d.Reconciled, core.ToolReconciled{Call: c, Verdict: core.VerdictApplied})
	}
	d.Approvals[1].State = core.ApprovalPending
	fitDetail(&d)
	if n := size(d); n > maxAnswer || n > wire.MaxLine {
		t.Errorf("%d bytes", n)
	}
	if d.Approvals[1].Summary.Text != long {
		t.Error("what a person is asked about is not shown whole")
	}
	if len(d.Calls) != 2 || len(d.Approvals) != 2 || len(d.Reconciled) != 2 || d.Approvals[0].Summary.Path != "a.md" {
		t.Errorf("%d calls, %d approvals, %d found out", len(d.Calls), len(d.Approvals), len(d.Reconciled))
	}
}
