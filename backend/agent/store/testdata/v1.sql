-- A database of schema 1 with a run that ended, one that was lost, and an open
-- proposal.
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE sessions(id TEXT PRIMARY KEY, title TEXT NOT NULL, workspace_id TEXT, doc_uri TEXT, runtime TEXT NOT NULL, model_ref TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, archived_at INTEGER) STRICT;
CREATE TABLE commands(command_id TEXT PRIMARY KEY, type TEXT NOT NULL, input_digest BLOB NOT NULL, session_id TEXT, result_json TEXT NOT NULL, boot_id TEXT NOT NULL, created_at INTEGER NOT NULL) STRICT;
CREATE TABLE runs(id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id), command_id TEXT NOT NULL UNIQUE REFERENCES commands(command_id), parent_run_id TEXT REFERENCES runs(id),
 state TEXT NOT NULL CHECK(state IN('queued','running','waiting_for_approval','cancelling','cancelled','succeeded','failed','interrupted')), state_reason TEXT, error_class TEXT, error_json TEXT,
 runtime TEXT NOT NULL, model_ref_json TEXT NOT NULL, budget_json TEXT NOT NULL, usage_json TEXT, usage_kind TEXT NOT NULL DEFAULT 'unknown' CHECK(usage_kind IN('exact','estimated','unknown')),
 cancel_command_id TEXT, cancel_requested_at INTEGER, boot_id TEXT NOT NULL, created_at INTEGER NOT NULL, started_at INTEGER, ended_at INTEGER) STRICT;
CREATE UNIQUE INDEX runs_one_active ON runs(session_id) WHERE state IN('running','waiting_for_approval','cancelling');
CREATE TRIGGER runs_final BEFORE UPDATE OF state ON runs WHEN OLD.state IN('cancelled','succeeded','failed','interrupted') AND NEW.state<>OLD.state BEGIN SELECT RAISE(ABORT,'run is final'); END;
CREATE TABLE messages(id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id), run_id TEXT REFERENCES runs(id), ord INTEGER NOT NULL, role TEXT NOT NULL, parts_json TEXT NOT NULL, status TEXT NOT NULL CHECK(status IN('complete','partial','discarded')), UNIQUE(session_id,ord)) STRICT;
CREATE TABLE model_calls(id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(id), step INTEGER NOT NULL, attempt INTEGER NOT NULL, phase TEXT NOT NULL CHECK(phase IN('prepared','sent','streaming','done','failed','unknown')), request_digest BLOB, http_status INTEGER, finish_reason TEXT, usage_json TEXT, usage_kind TEXT, error_class TEXT, started_at INTEGER, ended_at INTEGER, UNIQUE(run_id,step,attempt)) STRICT;
CREATE TABLE envelopes(id INTEGER PRIMARY KEY, message_id TEXT NOT NULL REFERENCES messages(id), part_ix INTEGER NOT NULL, v INTEGER NOT NULL, dialect TEXT NOT NULL, origin TEXT NOT NULL, raw BLOB NOT NULL, UNIQUE(message_id,part_ix)) STRICT;
CREATE TABLE tool_calls(id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(id), model_call_id TEXT REFERENCES model_calls(id), ord INTEGER NOT NULL, provider_call_id TEXT, name TEXT NOT NULL, kind TEXT NOT NULL CHECK(kind IN('read','write')), input_json TEXT NOT NULL, input_digest BLOB NOT NULL,
 state TEXT NOT NULL CHECK(state IN('proposed','waiting_for_approval','ready','running','succeeded','failed','cancelled','unknown')), state_reason TEXT, attempt INTEGER NOT NULL DEFAULT 1, intent_json TEXT, idem_key TEXT UNIQUE, pre_digest BLOB, post_digest BLOB, result_json TEXT, result_artifact_id TEXT, model_result_text TEXT, truncated_ui INTEGER NOT NULL DEFAULT 0, truncated_model INTEGER NOT NULL DEFAULT 0,
 proposed_at INTEGER NOT NULL, ready_at INTEGER, started_at INTEGER, ended_at INTEGER, UNIQUE(run_id,ord), CHECK(state NOT IN('ready','running','succeeded','unknown') OR intent_json IS NOT NULL)) STRICT;
CREATE TRIGGER tool_final BEFORE UPDATE OF state ON tool_calls WHEN OLD.state IN('succeeded','failed','cancelled','unknown') AND NEW.state<>OLD.state BEGIN SELECT RAISE(ABORT,'tool call is final'); END;
-- transition guards for runs and tool_calls are generated from the state tables of agent/core (hand-written ones let running → proposed and running → queued pass)
CREATE TABLE approvals(id TEXT PRIMARY KEY, tool_call_id TEXT NOT NULL REFERENCES tool_calls(id), run_id TEXT NOT NULL REFERENCES runs(id), input_digest BLOB NOT NULL, policy_rule TEXT NOT NULL, summary_json TEXT NOT NULL, state TEXT NOT NULL CHECK(state IN('pending','allowed_once','allowed_session','denied','expired','cancelled')), decided_by_command TEXT UNIQUE, expires_at INTEGER, created_at INTEGER NOT NULL, decided_at INTEGER) STRICT;
CREATE UNIQUE INDEX approvals_one_pending ON approvals(tool_call_id) WHERE state='pending';
CREATE TABLE grants(id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id), scope_key TEXT NOT NULL, approval_id TEXT NOT NULL REFERENCES approvals(id), created_at INTEGER NOT NULL, revoked_at INTEGER) STRICT;
CREATE TABLE proposals(id TEXT PRIMARY KEY, origin TEXT NOT NULL CHECK(origin IN('tool','rewrite','offline','file','agent')), run_id TEXT REFERENCES runs(id), tool_call_id TEXT REFERENCES tool_calls(id), set_id TEXT, supersedes TEXT REFERENCES proposals(id), doc_uri TEXT NOT NULL, base_version INTEGER NOT NULL, base_digest BLOB NOT NULL, edits_json TEXT NOT NULL, hunks_json TEXT NOT NULL, summary TEXT NOT NULL, state TEXT NOT NULL CHECK(state IN('proposed','partly_applied','applied','rejected','stale','unknown_base','superseded')), decided_command TEXT UNIQUE, created_at INTEGER NOT NULL, decided_at INTEGER, UNIQUE(tool_call_id, doc_uri)) STRICT;
CREATE TABLE artifacts(id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(id), tool_call_id TEXT REFERENCES tool_calls(id), kind TEXT NOT NULL CHECK(kind IN('product','log','cache')), path TEXT NOT NULL, bytes INTEGER, sha256 BLOB, state TEXT NOT NULL CHECK(state IN('writing','published','missing','deleted'))) STRICT;
CREATE TABLE events(seq INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, run_id TEXT, tool_call_id TEXT, type TEXT NOT NULL, v INTEGER NOT NULL, at INTEGER NOT NULL, boot_id TEXT NOT NULL, payload_json TEXT NOT NULL) STRICT;
CREATE INDEX events_session ON events(session_id,seq); CREATE INDEX events_run ON events(run_id,seq);
CREATE TRIGGER events_append_only BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT,'events are append-only'); END;

INSERT INTO sessions VALUES('s-1','Talk','w','file:///a.md','native','{"providerId":"p","model":"m"}',1,2,NULL);
INSERT INTO commands VALUES('c-1','run.submit',X'abababababababababababababababababababababababababababababababab','s-1','"run-1"','boot-1',1);
INSERT INTO commands VALUES('c-2','run.submit',X'abababababababababababababababababababababababababababababababab','s-1','"run-2"','boot-1',2);
INSERT INTO runs VALUES('run-1','s-1','c-1',NULL,'succeeded','end_turn',NULL,NULL,'native','{"providerId":"p","model":"m"}','{}','{"kind":"exact","input":12,"output":3,"cached":0,"reasoning":0}','exact',NULL,NULL,'boot-1',1,1,2);
INSERT INTO runs VALUES('run-2','s-1','c-2',NULL,'running',NULL,NULL,NULL,'native','{"providerId":"p","model":"m"}','{}',NULL,'unknown',NULL,NULL,'boot-1',2,2,NULL);
INSERT INTO messages VALUES('m-1','s-1','run-1',1,'user','[{"type":"text","text":"Hello"}]','complete');
INSERT INTO proposals VALUES('p-1','rewrite','run-1',NULL,NULL,NULL,'file:///a.md',1,X'abababababababababababababababababababababababababababababababab','[{"from":0,"to":1,"insert":"x"}]','[{"id":"1","first":0,"count":1,"warnings":[],"outcome":""}]','Shorter','proposed',NULL,2,NULL);
INSERT INTO events VALUES(8,'s-1','run-1',NULL,'run.succeeded',1,2,'boot-1','{}');
INSERT INTO events VALUES(9,'s-1','run-2',NULL,'run.started',1,2,'boot-1','{}');
PRAGMA user_version=1;
