package store

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"galley/backend/agent/core"
	"galley/backend/text"
)

const (
	qTrigger = `SELECT sql FROM sqlite_schema WHERE type='trigger' AND name=?`
	// qLastSeq counts seqs that were given out, also of events since removed.
	qLastSeq = `SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name='events'),0)`

	qInsertEvent = `INSERT INTO events(session_id,run_id,tool_call_id,type,v,at,boot_id,payload_json) VALUES(?,?,?,?,?,?,?,?)`
	eventColumns = `SELECT seq,COALESCE(session_id,''),COALESCE(run_id,''),COALESCE(tool_call_id,''),type,v,at,payload_json FROM events `

	qEventsAfter   = eventColumns + `WHERE seq>? ORDER BY seq LIMIT ?`
	qEventsBetween = eventColumns + `WHERE seq>? AND seq<=? ORDER BY seq LIMIT ?`
	qEventsOf      = eventColumns + `WHERE session_id=? AND seq>? ORDER BY seq LIMIT ?`

	// qOldRewrites are sessions that hold rewrites only, all of which ended
	// before a time, that have events of before it and no open proposal.
	qOldRewrites = `SELECT s.id FROM sessions s WHERE EXISTS(SELECT 1 FROM events e WHERE e.session_id=s.id AND e.at<?)
 AND EXISTS(SELECT 1 FROM runs r WHERE r.session_id=s.id)
 AND NOT EXISTS(SELECT 1 FROM runs r WHERE r.session_id=s.id AND (r.kind<>'rewrite' OR r.ended_at IS NULL OR r.ended_at>=?))
 AND NOT EXISTS(SELECT 1 FROM proposals p JOIN runs r ON r.id=p.run_id WHERE r.session_id=s.id AND p.state IN('proposed','partly_applied')) LIMIT ?`
	qDropEventsBefore = `DELETE FROM events WHERE session_id=? AND at<?`
)

func scanEvent(r scanner) (core.Event, error) {
	var e core.Event
	var payload string
	err := r.Scan(&e.Seq, &e.SessionID, &e.RunID, &e.ToolCallID, &e.Type, &e.V, &e.AtMs, &payload)
	e.Payload = json.RawMessage(payload)
	return e, err
}

const (
	qCommand       = `SELECT type,input_digest,result_json FROM commands WHERE command_id=?`
	qInsertCommand = `INSERT INTO commands(command_id,type,input_digest,session_id,result_json,boot_id,created_at) VALUES(?,?,?,?,?,?,?)`
)

// commandRow is the stored answer to a command.
type commandRow struct {
	typ    string
	digest []byte
	result string
}

func scanCommand(r scanner) (c commandRow, err error) {
	err = r.Scan(&c.typ, &c.digest, &c.result)
	return c, err
}

const (
	qInsertSession = `INSERT INTO sessions(id,title,workspace_id,doc_uri,runtime,model_ref,created_at,updated_at) VALUES(?,?,?,?,?,?,?,?)`
	qTouchSession  = `UPDATE sessions SET updated_at=? WHERE id=?`
	qChangeSession = `UPDATE sessions SET title=?,archived_at=? WHERE id=?`
	sessionColumns = `SELECT s.id,s.title,COALESCE(s.workspace_id,''),COALESCE(s.doc_uri,''),s.runtime,s.model_ref,s.created_at,s.updated_at,COALESCE(s.archived_at,0) FROM sessions s `

	qSession = sessionColumns + `WHERE s.id=?`
	// qSessions leaves out the sessions of rewrites, of which there is one for
	// each; those that a run or proposal of the state needs are read by id.
	qSessions = sessionColumns + `WHERE s.archived_at IS NULL AND (EXISTS(SELECT 1 FROM runs r WHERE r.session_id=s.id AND r.kind='conversation')
 OR NOT EXISTS(SELECT 1 FROM runs r WHERE r.session_id=s.id)) ORDER BY s.updated_at DESC,s.id LIMIT ?`
	// qArchived leaves those out as well.
	qArchived = sessionColumns + `WHERE s.archived_at IS NOT NULL AND (EXISTS(SELECT 1 FROM runs r WHERE r.session_id=s.id AND r.kind='conversation')
 OR NOT EXISTS(SELECT 1 FROM runs r WHERE r.session_id=s.id)) ORDER BY s.archived_at DESC,s.id LIMIT ?`
)

type sessionRow struct {
	core.Session
	model string
}

func scanSession(r scanner) (core.Session, error) {
	var s sessionRow
	if err := r.Scan(&s.ID, &s.Title, &s.WorkspaceID, &s.DocURI, &s.Runtime, &s.model, &s.CreatedAtMs, &s.UpdatedAtMs, &s.ArchivedAtMs); err != nil {
		return core.Session{}, err
	}
	if err := json.Unmarshal([]byte(s.model), &s.Model); err != nil {
		return core.Session{}, fmt.Errorf("session %s: %w", s.ID, err)
	}
	return s.Session, nil
}

const (
	qInsertRun = `INSERT INTO runs(id,session_id,command_id,parent_run_id,state,runtime,model_ref_json,budget_json,boot_id,created_at,kind,doc_uri,tools_json) VALUES(?,?,?,?,'queued',?,?,?,?,?,?,?,?)`
	runColumns = `SELECT id,session_id,command_id,COALESCE(parent_run_id,''),kind,state,COALESCE(state_reason,''),COALESCE(error_json,''),runtime,model_ref_json,budget_json,COALESCE(usage_json,''),doc_uri,created_at,COALESCE(started_at,0),COALESCE(ended_at,0),COALESCE(cancel_command_id,''),tools_json FROM runs `

	qRun           = runColumns + `WHERE id=?`
	qRunsOpen      = runColumns + `WHERE state IN('queued','running','waiting_for_approval','cancelling') ORDER BY created_at,rowid`
	qRunsFinal     = runColumns + `WHERE state IN('cancelled','succeeded','failed','interrupted') ORDER BY created_at DESC,rowid DESC LIMIT ?`
	qRunsOlderBoot = runColumns + `WHERE state IN('queued','running','waiting_for_approval','cancelling') AND boot_id<>? ORDER BY created_at,rowid`

	qRuns          = runColumns + `ORDER BY created_at DESC,rowid DESC LIMIT ?`
	qRunsOfSession = runColumns + `WHERE session_id=? ORDER BY created_at,rowid`

	qRunOfOtherBoot  = `SELECT count(*) FROM runs WHERE id=? AND boot_id<>?`
	qActiveInSession = `SELECT count(*) FROM runs WHERE session_id=? AND state IN('running','waiting_for_approval','cancelling')`
	qOpenInSession   = `SELECT count(*) FROM runs WHERE session_id=? AND state IN('queued','running','waiting_for_approval','cancelling')`
	qQueuedOfKind    = `SELECT count(*) FROM runs WHERE kind=? AND state='queued'`

	qStartRun  = `UPDATE runs SET state='running',started_at=? WHERE id=?`
	qMoveRun   = `UPDATE runs SET state=?,state_reason=? WHERE id=?`
	qCancelRun = `UPDATE runs SET state=?,state_reason=?,cancel_command_id=?,cancel_requested_at=?,ended_at=? WHERE id=?`
	qEndRun    = `UPDATE runs SET state=?,state_reason=?,error_class=?,error_json=?,usage_json=?,usage_kind=?,ended_at=? WHERE id=?`
)

// runRow is a run with what only the store needs.
type runRow struct {
	core.Run
	cancelCommand core.CommandID
}

func scanRun(r scanner) (runRow, error) {
	var v runRow
	var fault, model, budget, usage, tools string
	err := r.Scan(&v.ID, &v.SessionID, &v.CommandID, &v.ParentRunID, &v.Kind, &v.State, &v.Reason, &fault,
		&v.Runtime, &model, &budget, &usage, &v.DocURI, &v.CreatedAtMs, &v.StartedAtMs, &v.EndedAtMs, &v.cancelCommand, &tools)
	if err != nil {
		return runRow{}, err
	}
	v.Usage.Kind, v.Tools = core.UsageUnknown, []string{}
	if fault != "" {
		v.Fault = new(core.FaultInfo)
	}
	for _, f := range []struct {
		in string
		to any
	}{{fault, v.Fault}, {model, &v.Model}, {budget, &v.Budget}, {usage, &v.Usage}, {tools, &v.Tools}} {
		if f.in == "" {
			continue
		}
		if err := json.Unmarshal([]byte(f.in), f.to); err != nil {
			return runRow{}, fmt.Errorf("run %s: %w", v.ID, err)
		}
	}
	return v, nil
}

const (
	qNextOrd        = `SELECT COALESCE(max(ord),0)+1 FROM messages WHERE session_id=?`
	qInsertMessage  = `INSERT INTO messages(id,session_id,run_id,ord,role,parts_json,status,attempt) VALUES(?,?,?,?,?,?,?,?)`
	qUpdateMessage  = `UPDATE messages SET role=?,parts_json=?,status=?,attempt=? WHERE id=?`
	qInsertEnvelope = `INSERT INTO envelopes(message_id,part_ix,v,dialect,origin,raw) VALUES(?,?,?,?,?,?)`
	qEnvelopes      = `SELECT e.message_id,e.part_ix,e.v,e.dialect,e.origin,e.raw FROM envelopes e JOIN messages m ON m.id=e.message_id WHERE m.session_id=?`

	messageColumns = `SELECT m.id,COALESCE(m.run_id,''),m.ord,m.role,m.parts_json,m.status,m.attempt FROM messages m `
	// A partial message of a run that has not ended is its draft: no fact yet.
	noDraft = `NOT EXISTS(SELECT 1 FROM runs d WHERE d.id=m.run_id AND m.status='partial' AND d.state NOT IN('cancelled','succeeded','failed','interrupted'))`

	qMessages      = messageColumns + `WHERE m.session_id=? AND m.status='complete' ORDER BY m.ord`
	qHistory       = messageColumns + `WHERE m.session_id=? AND m.status IN('complete','partial') AND ` + noDraft + ` ORDER BY m.ord`
	qMessagesOfRun = messageColumns + `WHERE m.run_id=? AND ` + noDraft + ` ORDER BY m.ord`
	qDraft         = messageColumns + `WHERE m.run_id=? AND m.status='partial' AND m.role='assistant' ORDER BY m.ord LIMIT 1`
	qDropDraft     = `DELETE FROM messages WHERE run_id=? AND status='partial' AND role='assistant'`
)

// messageRow is a message with the attempt whose answer it is.
type messageRow struct {
	core.StoredMessage
	attempt int
}

func scanMessage(r scanner) (messageRow, error) {
	var m messageRow
	var parts string
	if err := r.Scan(&m.ID, &m.RunID, &m.Ord, &m.Role, &parts, &m.Status, &m.attempt); err != nil {
		return messageRow{}, err
	}
	if err := json.Unmarshal([]byte(parts), &m.Parts); err != nil {
		return messageRow{}, fmt.Errorf("message %s: %w", m.ID, err)
	}
	return m, nil
}

// committed is the message as an event tells of it.
func (m messageRow) committed() core.MessageCommitted {
	return core.MessageCommitted{MessageID: m.ID, Ord: m.Ord, Message: m.Message, Status: m.Status, Attempt: m.attempt}
}

type envelopeRow struct {
	message core.MessageID
	part    int
	core.Envelope
}

func scanEnvelope(r scanner) (e envelopeRow, err error) {
	err = r.Scan(&e.message, &e.part, &e.V, &e.Dialect, &e.Origin, &e.Raw)
	return e, err
}

const (
	qInsertModelCall = `INSERT INTO model_calls(id,run_id,step,attempt,phase,request_digest,started_at) VALUES(?,?,?,?,'prepared',?,?)`
	qModelCall       = `SELECT id,run_id,step,attempt,phase FROM model_calls WHERE id=?`
	qModelCallOf     = `SELECT id,run_id,step,attempt,phase FROM model_calls WHERE run_id=? AND step=? AND attempt=?`
	qModelCallsOpen  = `SELECT id,run_id,step,attempt,phase FROM model_calls WHERE run_id=? AND phase IN('prepared','sent','streaming') ORDER BY step,attempt`
	qUpdateModelCall = `UPDATE model_calls SET phase=?,finish_reason=?,usage_json=?,usage_kind=?,error_class=?,ended_at=? WHERE id=?`

	// Attempts count over a whole run, so that the newest call has the highest.
	qLastAttempt        = `SELECT attempt FROM model_calls WHERE run_id=? ORDER BY step DESC,attempt DESC LIMIT 1`
	qModelCallOfAttempt = `SELECT id FROM model_calls WHERE run_id=? AND attempt=? ORDER BY step DESC LIMIT 1`
	qModelCallsOfRun    = `SELECT step,attempt,phase,COALESCE(finish_reason,''),COALESCE(usage_json,''),COALESCE(error_class,'') FROM model_calls WHERE run_id=? ORDER BY step,attempt`

	qInsertContext = `INSERT INTO contexts(model_call_id,run_id,report_json) VALUES(?,?,?)`
	qContexts      = `SELECT c.report_json FROM contexts c JOIN model_calls m ON m.id=c.model_call_id WHERE c.run_id=? ORDER BY m.step,m.attempt`
	qHasContext    = `SELECT count(*) FROM contexts WHERE run_id=?`
	// qDropContexts leaves those of the newest runs that have any.
	qDropContexts = `DELETE FROM contexts WHERE run_id IN(SELECT r.id FROM runs r WHERE EXISTS(SELECT 1 FROM contexts c WHERE c.run_id=r.id)
 ORDER BY r.created_at DESC,r.rowid DESC LIMIT -1 OFFSET ?)`
)

// scanAttempt reads a model call as it is told afterwards.
func scanAttempt(r scanner) (c core.ModelCallEnded, err error) {
	var usage string
	if err := r.Scan(&c.Step, &c.Attempt, &c.Phase, &c.FinishReason, &usage, &c.Code); err != nil {
		return c, err
	}
	c.Usage.Kind = core.UsageUnknown
	if usage != "" {
		err = json.Unmarshal([]byte(usage), &c.Usage)
	}
	return c, err
}

func scanContext(r scanner) (c core.ContextReport, err error) {
	var report string
	if err := r.Scan(&report); err != nil {
		return c, err
	}
	return c, json.Unmarshal([]byte(report), &c)
}

func scanModelCall(r scanner) (c core.ModelCall, err error) {
	err = r.Scan(&c.ID, &c.RunID, &c.Step, &c.Attempt, &c.Phase)
	return c, err
}

const (
	qInsertProposal  = `INSERT INTO proposals(id,origin,run_id,tool_call_id,supersedes,doc_uri,base_version,base_digest,edits_json,hunks_json,summary,state,created_at,cut_off) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	qProposalForCall = `SELECT count(*) FROM proposals WHERE tool_call_id=?`
	qDecideProposal  = `UPDATE proposals SET state=?,hunks_json=?,decided_command=?,decided_at=? WHERE id=?`
	qMoveProposal    = `UPDATE proposals SET state=?,decided_at=? WHERE id=?`
	proposalColumns  = `SELECT p.id,p.origin,COALESCE(p.run_id,''),COALESCE(p.tool_call_id,''),COALESCE(p.supersedes,''),p.doc_uri,p.base_version,p.base_digest,p.edits_json,p.hunks_json,p.summary,p.cut_off,p.state,p.created_at,COALESCE(p.decided_at,0),COALESCE(r.session_id,'') FROM proposals p LEFT JOIN runs r ON r.id=p.run_id `

	qProposal      = proposalColumns + `WHERE p.id=?`
	qProposalsOf   = proposalColumns + `WHERE r.session_id=? ORDER BY p.created_at,p.rowid`
	qProposalsRun  = proposalColumns + `WHERE p.run_id=? ORDER BY p.created_at,p.rowid`
	qProposalsOpen = proposalColumns + `WHERE p.state IN('proposed','partly_applied') ORDER BY p.created_at DESC,p.rowid DESC LIMIT ?`
)

// proposalRow is a proposal with the session of its run.
type proposalRow struct {
	core.Proposal
	session core.SessionID
}

// hunkRow is how a hunk is stored.
type hunkRow struct {
	ID       string           `json:"id"`
	First    int              `json:"first"`
	Count    int              `json:"count"`
	Warnings []core.Warning   `json:"warnings"`
	Outcome  core.HunkOutcome `json:"outcome"`
}

func scanProposal(r scanner) (proposalRow, error) {
	var p proposalRow
	var digest []byte
	var edits, hunks string
	err := r.Scan(&p.ID, &p.Origin, &p.RunID, &p.ToolCallID, &p.Supersedes, &p.DocURI, &p.Patch.BaseVersion, &digest,
		&edits, &hunks, &p.Patch.Summary, &p.CutOff, &p.State, &p.CreatedAtMs, &p.DecidedAtMs, &p.session)
	if err != nil {
		return proposalRow{}, err
	}
	p.BaseDigest = hex.EncodeToString(digest)
	p.Patch.Edits = []text.Edit{}
	if err := json.Unmarshal([]byte(edits), &p.Patch.Edits); err != nil {
		return proposalRow{}, fmt.Errorf("proposal %s: %w", p.ID, err)
	}
	var rows []hunkRow
	if err := json.Unmarshal([]byte(hunks), &rows); err != nil {
		return proposalRow{}, fmt.Errorf("proposal %s: %w", p.ID, err)
	}
	p.Hunks = make([]core.Hunk, len(rows))
	for i, h := range rows {
		p.Hunks[i] = core.Hunk(h)
	}
	return p, nil
}

// hunksJSON encodes the hunks of a proposal for its row.
func hunksJSON(hunks []core.Hunk) (string, error) {
	rows := make([]hunkRow, len(hunks))
	for i, h := range hunks {
		rows[i] = hunkRow(h)
		if rows[i].Warnings == nil {
			rows[i].Warnings = []core.Warning{}
		}
	}
	return encode(rows)
}

// encode returns v as JSON text for a column.
func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

const (
	qInsertCall = `INSERT INTO tool_calls(id,run_id,model_call_id,ord,provider_call_id,name,kind,input_json,input_digest,state,attempt,proposed_at) VALUES(?,?,?,?,?,?,?,?,?,'proposed',?,?)`
	qNextCall   = `SELECT COALESCE(max(ord),0)+1 FROM tool_calls WHERE run_id=?`
	callColumns = `SELECT c.id,c.run_id,COALESCE(c.model_call_id,''),c.ord,COALESCE(c.provider_call_id,''),c.name,c.kind,c.input_json,c.input_digest,c.state,COALESCE(c.state_reason,''),c.attempt,COALESCE(c.model_result_text,''),c.truncated_model,c.proposed_at,COALESCE(c.ready_at,0),COALESCE(c.started_at,0),COALESCE(c.ended_at,0),r.session_id,COALESCE(c.intent_json,''),COALESCE(c.result_artifact_id,''),c.facts_json FROM tool_calls c JOIN runs r ON r.id=c.run_id `

	qCall          = callColumns + `WHERE c.id=?`
	qCallsOpen     = callColumns + `WHERE c.run_id=? AND c.state IN('proposed','waiting_for_approval','ready','running') ORDER BY c.ord`
	qCallsInState  = `SELECT count(*) FROM tool_calls WHERE run_id=? AND state=?`
	qCallsOfRun    = callColumns + `WHERE c.run_id=? ORDER BY c.ord`
	qCallsOf       = callColumns + `WHERE r.session_id=? ORDER BY r.created_at,r.rowid,c.ord`
	qRunningBefore = callColumns + `WHERE c.state='running' AND r.boot_id<>? ORDER BY r.created_at,c.ord`

	qMoveCall    = `UPDATE tool_calls SET state=?,state_reason=?,ended_at=? WHERE id=?`
	qReadyCall   = `UPDATE tool_calls SET state='ready',state_reason=NULL,intent_json=?,idem_key=?,pre_digest=?,post_digest=?,ready_at=? WHERE id=?`
	qRunningCall = `UPDATE tool_calls SET state='running',started_at=? WHERE id=?`
	qEndCall     = `UPDATE tool_calls SET state=?,state_reason=?,post_digest=COALESCE(?,post_digest),model_result_text=?,truncated_model=?,facts_json=?,result_artifact_id=?,ended_at=? WHERE id=?`
)

// callRow is a tool call with what only the store needs.
type callRow struct {
	core.ToolCall
	session core.SessionID
	intent  string
}

func scanCall(r scanner) (callRow, error) {
	var c callRow
	var input, facts string
	var digest []byte
	err := r.Scan(&c.ID, &c.RunID, &c.ModelCallID, &c.Ord, &c.ProviderCallID, &c.Name, &c.Kind, &input, &digest,
		&c.State, &c.Reason, &c.Attempt, &c.Result, &c.Truncated, &c.ProposedAtMs, &c.ReadyAtMs, &c.StartedAtMs, &c.EndedAtMs,
		&c.session, &c.intent, &c.ArtifactID, &facts)
	if err != nil {
		return callRow{}, err
	}
	c.Input = json.RawMessage(input)
	c.InputDigest = hex.EncodeToString(digest)
	if err := json.Unmarshal([]byte(facts), &c.Facts); err != nil {
		return callRow{}, fmt.Errorf("facts of %s: %w", c.ID, err)
	}
	return c, nil
}

const (
	qInsertReconciliation = `INSERT INTO reconciliations(tool_call_id,verdict,found_by,command_id,at) VALUES(?,?,?,?,?)`
	reconciliationColumns = `SELECT v.tool_call_id,v.verdict,v.found_by FROM reconciliations v JOIN tool_calls c ON c.id=v.tool_call_id JOIN runs r ON r.id=c.run_id `

	qReconciliationsOf  = reconciliationColumns + `WHERE r.session_id=? ORDER BY v.id`
	qReconciliationsRun = reconciliationColumns + `WHERE c.run_id=? ORDER BY v.id`
)

// reconciliationRow is what was found out of a call afterwards.
type reconciliationRow struct {
	call    core.ToolCallID
	verdict core.ToolVerdict
	by      string
}

func scanReconciliation(r scanner) (v reconciliationRow, err error) {
	err = r.Scan(&v.call, &v.verdict, &v.by)
	return v, err
}

const (
	qInsertApproval = `INSERT INTO approvals(id,tool_call_id,run_id,input_digest,policy_rule,summary_json,state,expires_at,created_at) VALUES(?,?,?,?,?,?,'pending',?,?)`
	approvalColumns = `SELECT a.id,a.tool_call_id,a.run_id,a.input_digest,a.policy_rule,a.summary_json,a.state,a.created_at,COALESCE(a.expires_at,0),COALESCE(a.decided_at,0) FROM approvals a `

	qApproval         = approvalColumns + `WHERE a.id=?`
	qApprovalsPending = approvalColumns + `WHERE a.run_id=? AND a.state='pending' ORDER BY a.created_at,a.rowid`
	qApprovalsWaiting = approvalColumns + `WHERE a.state='pending' ORDER BY a.created_at,a.rowid`
	qApprovalsOf      = approvalColumns + `JOIN runs r ON r.id=a.run_id WHERE r.session_id=? ORDER BY a.created_at,a.rowid`
	qApprovalsRun     = approvalColumns + `WHERE a.run_id=? ORDER BY a.created_at,a.rowid`
	qDecideApproval   = `UPDATE approvals SET state=?,decided_by_command=?,decided_at=? WHERE id=? AND state='pending'`
	qInsertGrant      = `INSERT INTO grants(id,session_id,scope_key,approval_id,created_at) VALUES(?,?,?,?,?)`
	qAllowed          = `SELECT count(*) FROM approvals WHERE tool_call_id=? AND lower(hex(input_digest))=? AND state IN('allowed_once','allowed_session')`
	qGranted          = `SELECT count(*) FROM grants WHERE session_id=? AND scope_key=? AND revoked_at IS NULL`
)

func scanApproval(r scanner) (core.Approval, error) {
	var a core.Approval
	var digest []byte
	var summary string
	err := r.Scan(&a.ID, &a.ToolCallID, &a.RunID, &digest, &a.Rule, &summary, &a.State, &a.CreatedAtMs, &a.ExpiresAtMs, &a.DecidedAtMs)
	if err != nil {
		return core.Approval{}, err
	}
	a.InputDigest = hex.EncodeToString(digest)
	if err := json.Unmarshal([]byte(summary), &a.Summary); err != nil {
		return core.Approval{}, fmt.Errorf("approval %s: %w", a.ID, err)
	}
	return a, nil
}

const (
	qInsertArtifact  = `INSERT INTO artifacts(id,run_id,tool_call_id,kind,path,bytes,state) VALUES(?,?,?,?,?,?,'writing')`
	qPublishArtifact = `UPDATE artifacts SET state='published',bytes=?,sha256=? WHERE id=? AND state='writing'`
	qMoveArtifact    = `UPDATE artifacts SET state=? WHERE id=?`
	qForgetArtifact  = `DELETE FROM artifacts WHERE id=? AND state='writing'`
	artifactColumns  = `SELECT a.id,a.run_id,COALESCE(a.tool_call_id,''),a.kind,COALESCE(a.bytes,0),a.sha256,a.state,a.path FROM artifacts a `

	qArtifact      = artifactColumns + `WHERE a.id=?`
	qArtifactsHeld = artifactColumns + `WHERE a.state IN('writing','published')`
	qArtifactsOf   = artifactColumns + `JOIN runs r ON r.id=a.run_id WHERE r.session_id=?`
	qArtifactsLost = `UPDATE artifacts SET state='missing' WHERE state='writing' AND run_id IN(SELECT id FROM runs WHERE boot_id<>?)`

	qBytesOfRun = `SELECT COALESCE(sum(bytes),0) FROM artifacts WHERE run_id=? AND state IN('writing','published')`
	qBytesOfAll = `SELECT COALESCE(sum(bytes),0) FROM artifacts WHERE state IN('writing','published')`
	// What may go to make room, the oldest first; a product never does (R11).
	qSpareOfRun = artifactColumns + `WHERE a.run_id=? AND a.state='published' AND a.kind IN('log','cache') ORDER BY a.rowid`
	qSpareOfAll = artifactColumns + `WHERE a.state='published' AND a.kind IN('log','cache') ORDER BY a.rowid`
)

// artifactRow is an artifact with the name of its file.
type artifactRow struct {
	core.Artifact
	file string
}

func scanArtifact(r scanner) (artifactRow, error) {
	var a artifactRow
	var sum []byte
	err := r.Scan(&a.ID, &a.RunID, &a.ToolCallID, &a.Kind, &a.Bytes, &sum, &a.State, &a.file)
	a.SHA256 = hex.EncodeToString(sum)
	return a, err
}

const (
	qLearnFact = `INSERT INTO model_facts(provider_id,host,model,name,value,source,at) VALUES(?,?,?,?,?,?,?)
 ON CONFLICT(provider_id,host,model,name,source) DO UPDATE SET value=excluded.value,at=excluded.at`
	qFacts = `SELECT name,value,source,at FROM model_facts WHERE provider_id=? AND host=? AND model=? AND at>CASE source WHEN 'learned' THEN ? ELSE ? END ORDER BY at DESC,id DESC`
	// Those that stay are the newest.
	qTrimFacts    = `DELETE FROM model_facts WHERE id IN(SELECT id FROM model_facts WHERE provider_id=? AND host=? AND model=? ORDER BY at DESC,id DESC LIMIT -1 OFFSET ?)`
	qTrimAllFacts = `DELETE FROM model_facts WHERE id IN(SELECT id FROM model_facts ORDER BY at DESC,id DESC LIMIT -1 OFFSET ?)`
	qDropOldFacts = `DELETE FROM model_facts WHERE at<=CASE source WHEN 'learned' THEN ? ELSE ? END`
	qForgetFacts  = `DELETE FROM model_facts WHERE provider_id=? AND host=? AND model=?`
)

func scanFact(r scanner) (f core.Fact, err error) {
	err = r.Scan(&f.Name, &f.Value, &f.Source, &f.AtMs)
	return f, err
}

const (
	qInsertSend = `INSERT INTO sends(at,boot_id,provider_id,provider_name,model,purpose,session_id,run_id,method,url,proxy,sent_bytes,kept_bytes,body) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)`
	qEndSend    = `UPDATE sends SET ended_at=?,status=?,code=?,received_bytes=? WHERE id=? AND ended_at IS NULL`
	// An end that an earlier start did not see never comes. Each takes the id of
	// this start first.
	sendColumns = `SELECT id,at,COALESCE(ended_at,0),provider_id,provider_name,model,purpose,COALESCE(session_id,''),COALESCE(run_id,''),method,url,proxy,sent_bytes,received_bytes,status,CASE WHEN ended_at IS NULL AND boot_id<>? THEN 'interrupted' ELSE code END,body IS NOT NULL FROM sends `

	qSends    = sendColumns + `WHERE id<? ORDER BY id DESC LIMIT ?`
	qSend     = sendColumns + `WHERE id=?`
	qSendBody = `SELECT body FROM sends WHERE id=?`
	qSendSize = `SELECT count(*),COALESCE(sum(kept_bytes),0) FROM sends`

	qClearSends   = `DELETE FROM sends WHERE id<=?`
	qDropOldSends = `DELETE FROM sends WHERE at<?`
	qTrimSends    = `DELETE FROM sends WHERE id<=(SELECT max(id) FROM(SELECT id,sum(kept_bytes) OVER w AS bytes,count(*) OVER w AS n FROM sends WINDOW w AS(ORDER BY id DESC)) WHERE bytes>? OR n>?) AND id<?`
)

func scanSend(r scanner) (n Send, err error) {
	err = r.Scan(&n.ID, &n.AtMs, &n.EndedAtMs, &n.ProviderID, &n.ProviderName, &n.Model, &n.Purpose, &n.SessionID, &n.RunID,
		&n.Method, &n.URL, &n.Proxy, &n.SentBytes, &n.ReceivedBytes, &n.Status, &n.Code, &n.HasBody)
	return n, err
}

// sendSize is how much the send log holds.
type sendSize struct{ count, bytes int64 }

func scanSendSize(r scanner) (n sendSize, err error) {
	err = r.Scan(&n.count, &n.bytes)
	return n, err
}

func scanBytes(r scanner) (b []byte, err error) {
	err = r.Scan(&b)
	return b, err
}

// qDropSession removes the rows of a session, those that refer to others
// first. Each takes the id of the session.
const ofSession = `IN(SELECT id FROM runs WHERE session_id=?)`

func qDropSession() []string {
	return []string{
		// A newer version of a proposal may lie in another session.
		`UPDATE proposals SET supersedes=NULL WHERE supersedes IN(SELECT id FROM proposals WHERE run_id ` + ofSession + `)`,
		`DELETE FROM proposals WHERE run_id ` + ofSession,
		`DELETE FROM grants WHERE session_id=?`,
		`DELETE FROM approvals WHERE run_id ` + ofSession,
		`DELETE FROM reconciliations WHERE tool_call_id IN(SELECT id FROM tool_calls WHERE run_id ` + ofSession + `)`,
		`DELETE FROM artifacts WHERE run_id ` + ofSession,
		`DELETE FROM tool_calls WHERE run_id ` + ofSession,
		`DELETE FROM contexts WHERE run_id ` + ofSession,
		`DELETE FROM model_calls WHERE run_id ` + ofSession,
		`DELETE FROM envelopes WHERE message_id IN(SELECT id FROM messages WHERE session_id=?)`,
		`DELETE FROM messages WHERE session_id=?`,
		`DELETE FROM runs WHERE session_id=?`,
		`DELETE FROM events WHERE session_id=?`,
		// That something left stays known, and what it was does not.
		`UPDATE sends SET body=NULL,kept_bytes=0 WHERE session_id=?`,
		`DELETE FROM sessions WHERE id=?`,
	}
}
