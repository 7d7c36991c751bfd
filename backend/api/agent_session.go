package api

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"galley/backend/agent/core"
	"galley/backend/agent/task"
	"galley/backend/agent/wire"
	"galley/backend/fault"
	"galley/backend/markdown"
	"galley/backend/text"
)

// What a page may send of a conversation, in bytes.
const (
	maxID      = 100
	maxMessage = 1 << 20
	maxTitle   = 400
	maxDigest  = 64
)

const (
	// eventPage is how many events of a session are read at once.
	eventPage = 500
	// artifactPage is how much of an artifact is, in bytes.
	artifactPage = 256 << 10
)

// SubmitMessage sends a message of a conversation. It returns when the run is
// committed; the same command again returns the same run. A document that is
// too long to be sent is too_large, with its name as detail.
func (s *Agent) SubmitMessage(req MessageRequest) (RunRef, error) {
	const op = "submit message"
	return call(s.log, op, func() (RunRef, error) {
		switch {
		case wrongID(req.CommandID), len(req.SessionID) > maxID, strings.TrimSpace(req.Text) == "":
			return RunRef{}, fault.New(fault.InvalidInput, op, nil)
		case len(req.Text) > maxMessage:
			return RunRef{}, fault.New(fault.TooLarge, op, nil)
		}
		a, err := s.asked(op, req, req.CommandID, req.Place, req.ProviderID, req.Model, req.Language)
		if err != nil {
			return RunRef{}, err
		}
		res, err := s.within(a, func(ctx context.Context) (wire.SubmitResult, error) {
			return s.submit(ctx, wire.SubmitParams{
				CommandID: a.command, SessionID: core.SessionID(req.SessionID), Kind: core.KindConversation, Input: req.Text,
				ModelRef: a.model, Provider: a.provider, AllowedTools: a.tools, Budget: a.budget, Snapshot: a.snapshot,
				Policy: a.policy, ContextTokens: a.contextTokens, Language: req.Language, WorkspaceID: a.folder,
			})
		})
		return refOf(res), err
	})
}

// ContinueRun makes a new run that goes on where another ended, and is told what
// is known of it. It returns as SubmitMessage does.
func (s *Agent) ContinueRun(req ContinueRequest) (RunRef, error) {
	const op = "continue run"
	return call(s.log, op, func() (RunRef, error) {
		if wrongID(req.CommandID) || wrongID(req.RunID) {
			return RunRef{}, fault.New(fault.InvalidInput, op, nil)
		}
		a, err := s.asked(op, req, req.CommandID, req.Place, req.ProviderID, req.Model, req.Language)
		if err != nil {
			return RunRef{}, err
		}
		res, err := s.within(a, func(ctx context.Context) (wire.SubmitResult, error) {
			return s.host.Continue(ctx, wire.ContinueParams{
				CommandID: a.command, FromRunID: core.RunID(req.RunID),
				ModelRef: a.model, Provider: a.provider, AllowedTools: a.tools, Budget: a.budget, Snapshot: a.snapshot,
				Policy: a.policy, ContextTokens: a.contextTokens, Language: req.Language,
			})
		})
		return refOf(res), err
	})
}

// asking is what a run of a conversation gets besides its words.
type asking struct {
	// request is the page's, comparable.
	request       any
	command       core.CommandID
	model         core.ModelRef
	provider      wire.ProviderConfig
	contextTokens int
	policy        core.Policy
	budget        core.Budget
	tools         []string
	// snapshot is nil without a document; name is then empty.
	snapshot       *core.Snapshot
	document, name string
	// folder is the open one; empty for none.
	folder string
}

// asked looks at what a person asks with and about. A request that comes again
// since its answer was lost is asked as it was, whatever has changed since (R4).
func (s *Agent) asked(op string, request any, command string, at Place, providerID, model, language string) (asking, error) {
	if a, ok := s.unsure.take(core.CommandID(command)); ok && a.request == request {
		return a, nil
	}
	if len(language) > maxTag || len(model) > maxName || len(providerID) > maxName || len(at.DocumentID) > maxID {
		return asking{}, fault.New(fault.InvalidInput, op, nil)
	}
	now := s.settings.Get()
	p, ref, err := task.Provider(s.settings, op, core.ModelRef{ProviderID: providerID, Model: model})
	if err != nil {
		return asking{}, err
	}
	reached, err := task.ProviderConfig(s.ctx(), s.settings, s.network, p)
	if err != nil {
		return asking{}, err
	}
	a := asking{
		request: request, command: core.CommandID(command),
		model: ref, provider: reached, contextTokens: p.ContextTokens,
		policy: task.Policy(now.Permissions), budget: task.Budget(now.Limits),
		tools: task.Tools(p), folder: s.folder(), document: at.DocumentID,
	}
	if at.DocumentID == "" {
		return a, nil
	}
	a.snapshot, a.name, err = s.snapshotOf(op, at)
	return a, err
}

// snapshotOf is a document as it stands in the mirror, and its name.
func (s *Agent) snapshotOf(op string, at Place) (*core.Snapshot, string, error) {
	snap, err := s.docs.Snapshot(at.DocumentID, at.Version)
	if err != nil {
		return nil, "", err
	}
	if at.From < 0 || at.From > at.To || at.To > text.Length(snap.Text) {
		return nil, "", fault.New(fault.InvalidInput, op, nil)
	}
	name := ""
	if snap.Path != "" {
		name = filepath.Base(snap.Path)
	}
	if len(snap.Text) > wire.MaxLine {
		// Longer than what can be sent, however it is written.
		return nil, "", &fault.Error{Code: fault.TooLarge, Op: op, Detail: name}
	}
	return &core.Snapshot{
		DocURI: snap.URI, BaseVersion: snap.Version, Digest: snap.Digest, Text: snap.Text,
		Selection:   core.Range{From: at.From, To: at.To},
		FrontMatter: markdown.FrontMatter(snap.Text),
	}, name, nil
}

// DecideApproval records a person's answer to an approval. One that is late,
// or was given for something else, is stale_approval.
func (s *Agent) DecideApproval(req ApprovalRequest) (core.Approval, error) {
	const op = "decide approval"
	return call(s.log, op, func() (core.Approval, error) {
		d := core.Decision(req.Decision)
		if wrongID(req.CommandID) || wrongID(req.ApprovalID) || wrongID(req.ToolCallID) ||
			len(req.InputDigest) > maxDigest || !d.ValidFor(core.ToolRead) {
			return core.Approval{}, fault.New(fault.InvalidInput, op, nil)
		}
		return s.host.DecideApproval(s.ctx(), wire.ApprovalDecideParams{
			CommandID: core.CommandID(req.CommandID), ApprovalID: core.ApprovalID(req.ApprovalID),
			ToolCallID: core.ToolCallID(req.ToolCallID), InputDigest: req.InputDigest, Decision: d,
		})
	})
}

// ReconcileCall records what a person found out about a call whose outcome is
// unknown.
func (s *Agent) ReconcileCall(req ReconcileRequest) error {
	const op = "reconcile call"
	return do(s.log, op, func() error {
		v := core.ToolVerdict(req.Verdict)
		if wrongID(req.CommandID) || wrongID(req.ToolCallID) || v != core.VerdictApplied && v != core.VerdictAbsent {
			return fault.New(fault.InvalidInput, op, nil)
		}
		return s.host.Reconcile(s.ctx(), wire.ToolReconcileParams{
			CommandID: core.CommandID(req.CommandID), ToolCallID: core.ToolCallID(req.ToolCallID), Verdict: v,
		})
	})
}

// ChangeSession renames a session, puts it away, or takes it out again.
func (s *Agent) ChangeSession(req SessionChange) (core.Session, error) {
	const op = "change session"
	return call(s.log, op, func() (core.Session, error) {
		p := wire.SessionChangeParams{CommandID: core.CommandID(req.CommandID), SessionID: core.SessionID(req.SessionID)}
		title := strings.TrimSpace(req.Title)
		if wrongID(req.CommandID) || wrongID(req.SessionID) || len(title) > maxTitle ||
			!utf8.ValidString(title) || strings.ContainsFunc(title, unicode.IsControl) {
			return core.Session{}, fault.New(fault.InvalidInput, op, nil)
		}
		if title != "" {
			p.Title = &title
		}
		switch req.Archive {
		case "":
		case "archive", "restore":
			archived := req.Archive == "archive"
			p.Archived = &archived
		default:
			return core.Session{}, fault.New(fault.InvalidInput, op, nil)
		}
		if p.Title == nil && p.Archived == nil {
			return core.Session{}, fault.New(fault.InvalidInput, op, nil)
		}
		return s.host.ChangeSession(s.ctx(), p)
	})
}

// ArchivedSessions returns the conversations that are put away, the last first;
// at most 200.
func (s *Agent) ArchivedSessions() ([]core.Session, error) {
	return call(s.log, "list archived sessions", func() ([]core.Session, error) {
		return s.host.ArchivedSessions(s.ctx())
	})
}

// DeleteSession deletes a session with all that belongs to it; one of whose runs
// has not ended is busy.
func (s *Agent) DeleteSession(req SessionRemoval) error {
	const op = "delete session"
	return do(s.log, op, func() error {
		if wrongID(req.CommandID) || wrongID(req.SessionID) {
			return fault.New(fault.InvalidInput, op, nil)
		}
		return s.host.DeleteSession(s.ctx(), wire.SessionDeleteParams{
			CommandID: core.CommandID(req.CommandID), SessionID: core.SessionID(req.SessionID),
		})
	})
}

// SessionEvents returns the events of a session after a seq, oldest first. A
// body over 32 KB is left out, as it is of an event that happens.
func (s *Agent) SessionEvents(sessionID string, afterSeq int64) (SessionEvents, error) {
	const op = "get session events"
	return call(s.log, op, func() (SessionEvents, error) {
		if wrongID(sessionID) || afterSeq < 0 {
			return SessionEvents{}, fault.New(fault.InvalidInput, op, nil)
		}
		res, err := s.host.SessionEvents(s.ctx(), wire.SessionEventsParams{
			SessionID: core.SessionID(sessionID), AfterSeq: afterSeq, Limit: eventPage,
		})
		if err != nil {
			return SessionEvents{}, err
		}
		out := SessionEvents{Events: make([]EventRecord, 0, len(res.Events)), More: res.More}
		for _, ev := range res.Events {
			envelope, payload, err := forPage(ev)
			if err != nil {
				return SessionEvents{}, err
			}
			raw, err := json.Marshal(payload)
			if err != nil {
				return SessionEvents{}, fault.New(fault.Internal, op, err)
			}
			out.Events = append(out.Events, EventRecord{Envelope: envelope, Payload: raw})
		}
		return out, nil
	})
}

// RunDetail returns a run with all that is known of it.
func (s *Agent) RunDetail(runID string) (core.RunDetail, error) {
	const op = "get run detail"
	return call(s.log, op, func() (core.RunDetail, error) {
		if wrongID(runID) {
			return core.RunDetail{}, fault.New(fault.InvalidInput, op, nil)
		}
		return s.host.RunDetail(s.ctx(), core.RunID(runID))
	})
}

// ToolCall returns a call with its whole input and result.
func (s *Agent) ToolCall(id string) (core.ToolCall, error) {
	const op = "get tool call"
	return call(s.log, op, func() (core.ToolCall, error) {
		if wrongID(id) {
			return core.ToolCall{}, fault.New(fault.InvalidInput, op, nil)
		}
		return s.host.ToolCall(s.ctx(), core.ToolCallID(id))
	})
}

// MessageText returns a message of a session with its parts.
func (s *Agent) MessageText(sessionID, messageID string) (MessageBody, error) {
	const op = "get message"
	return call(s.log, op, func() (MessageBody, error) {
		if wrongID(sessionID) || wrongID(messageID) {
			return MessageBody{}, fault.New(fault.InvalidInput, op, nil)
		}
		res, err := s.host.Session(s.ctx(), core.SessionID(sessionID))
		if err != nil {
			return MessageBody{}, err
		}
		for _, m := range res.Messages {
			if m.MessageID == core.MessageID(messageID) {
				return MessageBody{Message: m.Message}, nil
			}
		}
		if res.Omitted > 0 {
			return s.olderMessage(op, core.SessionID(sessionID), core.MessageID(messageID))
		}
		return MessageBody{}, &fault.Error{Code: fault.NotFound, Op: op, Detail: "message"}
	})
}

// olderMessage finds a message of a session that is too long to be had at once,
// in its events.
func (s *Agent) olderMessage(op string, session core.SessionID, message core.MessageID) (MessageBody, error) {
	for after, more := int64(0), true; more; {
		page, err := s.host.SessionEvents(s.ctx(), wire.SessionEventsParams{SessionID: session, AfterSeq: after, Limit: eventPage})
		if err != nil {
			return MessageBody{}, err
		}
		for _, ev := range page.Events {
			after = ev.Seq
			var m core.MessageCommitted
			if ev.Type != core.EventMessageCommitted || json.Unmarshal(ev.Payload, &m) != nil || m.MessageID != message {
				continue
			}
			return MessageBody{Message: m.Message}, nil
		}
		more = page.More && len(page.Events) > 0
	}
	return MessageBody{}, &fault.Error{Code: fault.NotFound, Op: op, Detail: "message"}
}

// ExplainContext lists what each request of a run held.
func (s *Agent) ExplainContext(runID string) ([]core.ContextReport, error) {
	const op = "explain context"
	return call(s.log, op, func() ([]core.ContextReport, error) {
		if wrongID(runID) {
			return nil, fault.New(fault.InvalidInput, op, nil)
		}
		return s.host.ExplainContext(s.ctx(), core.RunID(runID))
	})
}

// ArtifactText returns a piece of an artifact from an offset in bytes.
func (s *Agent) ArtifactText(id string, offset int64) (ArtifactText, error) {
	const op = "get artifact"
	return call(s.log, op, func() (ArtifactText, error) {
		if wrongID(id) || offset < 0 {
			return ArtifactText{}, fault.New(fault.InvalidInput, op, nil)
		}
		res, err := s.host.Artifact(s.ctx(), wire.ArtifactGetParams{
			ArtifactID: core.ArtifactID(id), Offset: offset, Limit: artifactPage,
		})
		return ArtifactText{Artifact: res.Artifact, Text: res.Text, Next: res.Next}, err
	})
}

// within lets the tools of a run reach what it was given, and submits it.
func (s *Agent) within(a asking, submit func(context.Context) (wire.SubmitResult, error)) (wire.SubmitResult, error) {
	s.begin(a.command, task.Reach{DocumentID: a.document, Snapshot: a.snapshot, Workspace: a.folder})
	res, err := submit(s.ctx())
	switch fault.CodeOf(err) {
	case "":
		if res.State.Final() {
			// The command was sent before, and its run has ended.
			s.end(a.command)
		}
	case fault.RunnerGone, fault.Timeout, fault.Cancelled:
		// It may have been accepted.
		s.unsure.keep(a)
	case fault.StoreFailed, fault.CommandConflict:
		// Another of its name may have been.
	case fault.TooLarge:
		s.end(a.command)
		// Only the document can be: the words are bounded.
		return res, &fault.Error{Code: fault.TooLarge, Op: "submit", Detail: a.name, Err: err}
	default:
		s.end(a.command)
	}
	return res, err
}

// maxUnsure bounds how many askings are remembered; each holds a document.
const maxUnsure = 4

// unsure are the askings whose answer was lost, the oldest first.
type unsure struct {
	mu   sync.Mutex // mu guards kept
	kept []asking
}

func (u *unsure) keep(a asking) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.kept = append(u.kept, a)
	u.kept = slices.Delete(u.kept, 0, max(len(u.kept)-maxUnsure, 0))
}

// take returns what is remembered of a command, and forgets it.
func (u *unsure) take(cmd core.CommandID) (asking, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	i := slices.IndexFunc(u.kept, func(a asking) bool { return a.command == cmd })
	if i < 0 {
		return asking{}, false
	}
	a := u.kept[i]
	u.kept = slices.Delete(u.kept, i, i+1)
	return a, true
}

// wrongID reports whether an id is none.
func wrongID(id string) bool { return id == "" || len(id) > maxID }

func refOf(r wire.SubmitResult) RunRef {
	return RunRef{RunID: string(r.RunID), SessionID: string(r.SessionID)}
}
