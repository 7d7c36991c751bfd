package loop

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"galley/backend/agent/core"
	"galley/backend/agent/store"
	"galley/backend/provider/scripted"
	"galley/backend/text"
)

// journal is a recorder on the real store, with a person who answers at once.
type journal struct {
	*store.Store
	answer  core.Decision
	decided map[core.ApprovalID]core.Approval
}

func (j journal) Preview(core.Preview) {}

func (j journal) AskApproval(ctx context.Context, a core.Approval) (core.Approval, error) {
	a, err := j.Store.AskApproval(ctx, a)
	if err != nil {
		return a, err
	}
	j.decided[a.ID], err = j.DecideApproval(ctx, core.CommandID("decide "+a.ID), a.ID, a.ToolCallID, a.InputDigest, j.answer)
	return a, err
}

func (j journal) AwaitApproval(_ context.Context, id core.ApprovalID) (core.Approval, error) {
	return j.decided[id], nil
}

// talkOn carries a run of a session out as the Runner does.
func talkOn(t *testing.T, j journal, session core.SessionID, parent core.RunID, ask, doc string, b *box) (core.Run, []core.ContextReport) {
	t.Helper()
	ctx := t.Context()
	sum := sha256.Sum256([]byte(ask))
	run, err := j.Submit(ctx, core.Submission{
		CommandID: core.CommandID(ask), InputDigest: sum, SessionID: session, ParentRunID: parent,
		Session: core.Session{Title: "t", Runtime: Name}, Kind: core.KindConversation, Runtime: Name,
		Model: core.ModelRef{ProviderID: "mock", Model: scripted.ModelOne}, Budget: core.DefaultBudget(),
		DocURI: "file:///w/a.md", Tools: core.ConversationTools(), Message: said2(core.RoleUser, ask),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Start(ctx, run.ID); err != nil {
		t.Fatal(err)
	}
	ids := 0
	end, err := runtime().Run(ctx, core.Task{
		Run: run, Tools: registry(t), Allowed: run.Tools, Toolbox: b, Language: "en", Budget: run.Budget,
		Snapshot: &core.Snapshot{DocURI: "file:///w/a.md", BaseVersion: 1, Digest: text.Digest(doc), Text: doc},
		Model:    scripted.New(scripted.Config{Pace: -1}), Recorder: j,
		NewID: func() string { ids++; return fmt.Sprintf("%s-%d", run.ID, ids) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if run, err = j.End(ctx, run.ID, end); err != nil {
		t.Fatal(err)
	}
	reports, err := j.Contexts(ctx, run.ID)
	if err != nil {
		t.Fatal(err)
	}
	return run, reports
}

// The loop and the store agree: a session of several runs on the real one, with
// a proposal, a refusal, a failure and bad arguments.
//
// covers: R3 R6 R9
func TestConverse_OnTheStore(t *testing.T) {
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "runs.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	j := journal{Store: s, answer: core.Deny, decided: map[core.ApprovalID]core.Approval{}}
	const doc = "The ferry leaves.\n"
	b := &box{}
	b.execute = func(_ context.Context, c core.ToolCall, _ core.Intent) (core.ToolResult, error) {
		switch c.Name {
		case core.ToolProposePatch:
			return core.ToolResult{Text: "{}", Proposal: &core.Proposal{
				DocURI: "file:///w/a.md", BaseDigest: text.Digest(doc),
				Patch: core.Patch{BaseVersion: 1, Summary: "s", Edits: []text.Edit{{From: 4, To: 9, Insert: "boat"}}},
				Hunks: []core.Hunk{{ID: "1", Count: 1, Warnings: []core.Warning{}}},
			}}, nil
		case core.ToolSearchWorkspace:
			return core.ToolResult{Text: strings.Repeat("hit ", 200_000), Facts: core.ToolFacts{Hits: 3, Files: 1}}, nil
		}
		return core.ToolResult{IsError: true, Code: "not_found", Text: "no"}, nil
	}
	first, reports := talkOn(t, j, "", "", `Replace "ferry" with "boat"`, doc, b)
	if first.State != core.RunSucceeded || len(reports) != 3 || reports[2].Tokens <= reports[0].Tokens {
		t.Errorf("run %+v, %d reports", first, len(reports))
	}
	h, err := s.History(t.Context(), first.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Proposals) != 1 || len(h.Calls) != 2 || h.Calls[0].ArtifactID == "" || !h.Calls[0].Truncated {
		t.Fatalf("%d proposals, calls %+v", len(h.Proposals), h.Calls)
	}
	if _, err := s.Decide(t.Context(), "d1", h.Proposals[0].ID, []core.HunkDecision{{ID: "1", Outcome: core.HunkRejected}}, 1); err != nil {
		t.Fatal(err)
	}
	second, _ := talkOn(t, j, first.SessionID, "", "Create a note about tea", doc, b)
	third, _ := talkOn(t, j, first.SessionID, second.ID, "/tool readDocument {\"path\":\n/tool nothing\n/tool readDocument {\"path\":\"x.md\"}", doc, b)
	if second.State != core.RunSucceeded || third.State != core.RunSucceeded {
		t.Errorf("runs %+v, %+v", second, third)
	}
	detail, err := s.RunDetail(t.Context(), third.ID)
	if err != nil {
		t.Fatal(err)
	}
	states := ""
	for _, c := range detail.Calls {
		states += fmt.Sprintf("%s %s %s; ", c.Name, c.State, c.Reason)
	}
	if states != "readDocument failed invalid_input; nothing failed not_found; readDocument failed not_found; " {
		t.Errorf("calls %s", states)
	}
	h, err = s.History(t.Context(), first.SessionID)
	if err != nil {
		t.Fatal(err)
	}
	h.Runs = append(h.Runs, core.Run{ID: "next", ParentRunID: third.ID})
	h.Messages = append(h.Messages, core.StoredMessage{RunID: "next", Ord: 99, Message: said2(core.RoleUser, "THE TASK")})
	task := core.Task{Run: core.Run{ID: "next", ParentRunID: third.ID}, Tools: registry(t), Allowed: core.ConversationTools()}
	req, report := build(t, task, h, 128_000)
	checkContext(t, 0, task, h, 128_000, req, report)
	all := fmt.Sprint(req.Messages)
	for _, want := range []string{"the person rejected 1 of 1 hunks", tellDenied, "- you called nothing \"{}\": failed (not_found)", "kept as artifact " + string(h.Calls[0].ArtifactID)} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q", want)
		}
	}
}
