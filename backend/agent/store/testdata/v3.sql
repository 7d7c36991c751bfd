-- A database of schema 3: what schema 2 held, what a request of it held, and
-- what a person found out about the call.
BEGIN TRANSACTION;
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE sessions(id TEXT PRIMARY KEY, title TEXT NOT NULL, workspace_id TEXT, doc_uri TEXT, runtime TEXT NOT NULL, model_ref TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, archived_at INTEGER) STRICT;
INSERT INTO sessions VALUES('s-1','Talk','w','file:///a.md','native','{"providerId":"p","model":"m"}',1,2,NULL);
CREATE TABLE commands(command_id TEXT PRIMARY KEY, type TEXT NOT NULL, input_digest BLOB NOT NULL, session_id TEXT, result_json TEXT NOT NULL, boot_id TEXT NOT NULL, created_at INTEGER NOT NULL) STRICT;
INSERT INTO commands VALUES('c-1','run.submit',X'abababababababababababababababababababababababababababababababab','s-1','"run-1"','boot-1',1);
INSERT INTO commands VALUES('c-2','run.submit',X'abababababababababababababababababababababababababababababababab','s-1','"run-2"','boot-1',2);
INSERT INTO commands VALUES('c-3','run.submit',X'abababababababababababababababababababababababababababababababab','s-1','"run-3"','boot-1',3);
INSERT INTO commands VALUES('c-4','approval.decide',X'abababababababababababababababababababababababababababababababab','s-1','{"id":"a-1","state":"allowed_once"}','boot-1',3);
INSERT INTO commands VALUES('c-5','tool.reconcile',X'abababababababababababababababababababababababababababababababab','s-1','"t-1"','boot-1',5);
CREATE TABLE runs(id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id), command_id TEXT NOT NULL UNIQUE REFERENCES commands(command_id), parent_run_id TEXT REFERENCES runs(id),
 state TEXT NOT NULL CHECK(state IN('queued','running','waiting_for_approval','cancelling','cancelled','succeeded','failed','interrupted')), state_reason TEXT, error_class TEXT, error_json TEXT,
 runtime TEXT NOT NULL, model_ref_json TEXT NOT NULL, budget_json TEXT NOT NULL, usage_json TEXT, usage_kind TEXT NOT NULL DEFAULT 'unknown' CHECK(usage_kind IN('exact','estimated','unknown')),
 cancel_command_id TEXT, cancel_requested_at INTEGER, boot_id TEXT NOT NULL, created_at INTEGER NOT NULL, started_at INTEGER, ended_at INTEGER, kind TEXT NOT NULL DEFAULT 'conversation' CHECK(kind IN('conversation','rewrite')), doc_uri TEXT NOT NULL DEFAULT '', tools_json TEXT NOT NULL DEFAULT '[]') STRICT;
INSERT INTO runs VALUES('run-1','s-1','c-1',NULL,'succeeded','end_turn',NULL,NULL,'native','{"providerId":"p","model":"m"}','{}','{"kind":"exact","input":12,"output":3,"cached":0,"reasoning":0}','exact',NULL,NULL,'boot-1',1,1,2,'conversation','','[]');
INSERT INTO runs VALUES('run-2','s-1','c-2',NULL,'running',NULL,NULL,NULL,'native','{"providerId":"p","model":"m"}','{}',NULL,'unknown',NULL,NULL,'boot-1',2,2,NULL,'conversation','','[]');
INSERT INTO runs VALUES('run-3','s-1','c-3',NULL,'interrupted','runner_lost',NULL,NULL,'native','{"providerId":"p","model":"m"}','{}',NULL,'unknown',NULL,NULL,'boot-0',3,3,4,'conversation','file:///a.md','[]');
CREATE TABLE messages(id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id), run_id TEXT REFERENCES runs(id), ord INTEGER NOT NULL, role TEXT NOT NULL, parts_json TEXT NOT NULL, status TEXT NOT NULL CHECK(status IN('complete','partial','discarded')), attempt INTEGER NOT NULL DEFAULT 0, UNIQUE(session_id,ord)) STRICT;
INSERT INTO messages VALUES('m-1','s-1','run-1',1,'user','[{"type":"text","text":"Hello"}]','complete',0);
INSERT INTO messages VALUES('m-2','s-1','run-3',2,'assistant','[{"type":"text","text":"Half a"}]','partial',1);
CREATE TABLE model_calls(id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(id), step INTEGER NOT NULL, attempt INTEGER NOT NULL, phase TEXT NOT NULL CHECK(phase IN('prepared','sent','streaming','done','failed','unknown')), request_digest BLOB, http_status INTEGER, finish_reason TEXT, usage_json TEXT, usage_kind TEXT, error_class TEXT, started_at INTEGER, ended_at INTEGER, UNIQUE(run_id,step,attempt)) STRICT;
INSERT INTO model_calls VALUES('mc-1','run-3',1,1,'done',NULL,NULL,'tool_calls','{"kind":"exact","input":5,"output":2,"cached":0,"reasoning":0}','exact',NULL,3,3);
CREATE TABLE envelopes(id INTEGER PRIMARY KEY, message_id TEXT NOT NULL REFERENCES messages(id), part_ix INTEGER NOT NULL, v INTEGER NOT NULL, dialect TEXT NOT NULL, origin TEXT NOT NULL, raw BLOB NOT NULL, UNIQUE(message_id,part_ix)) STRICT;
INSERT INTO envelopes VALUES(1,'m-1',0,1,'openai_chat','example.org m',X'00ff');
CREATE TABLE tool_calls(id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(id), model_call_id TEXT REFERENCES model_calls(id), ord INTEGER NOT NULL, provider_call_id TEXT, name TEXT NOT NULL, kind TEXT NOT NULL CHECK(kind IN('read','write')), input_json TEXT NOT NULL, input_digest BLOB NOT NULL,
 state TEXT NOT NULL CHECK(state IN('proposed','waiting_for_approval','ready','running','succeeded','failed','cancelled','unknown')), state_reason TEXT, attempt INTEGER NOT NULL DEFAULT 1, intent_json TEXT, idem_key TEXT UNIQUE, pre_digest BLOB, post_digest BLOB, result_json TEXT, result_artifact_id TEXT, model_result_text TEXT, truncated_ui INTEGER NOT NULL DEFAULT 0, truncated_model INTEGER NOT NULL DEFAULT 0,
 proposed_at INTEGER NOT NULL, ready_at INTEGER, started_at INTEGER, ended_at INTEGER, facts_json TEXT NOT NULL DEFAULT '{}', UNIQUE(run_id,ord), CHECK(state NOT IN('ready','running','succeeded','unknown') OR intent_json IS NOT NULL)) STRICT;
INSERT INTO tool_calls VALUES('t-1','run-3','mc-1',1,'call_1','createDocument','write','{"dir":""}',X'cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd','unknown','runner_lost',1,'{"tool":"createDocument"}','t-1',NULL,NULL,NULL,NULL,NULL,0,0,3,3,3,4,'{}');
CREATE TABLE approvals(id TEXT PRIMARY KEY, tool_call_id TEXT NOT NULL REFERENCES tool_calls(id), run_id TEXT NOT NULL REFERENCES runs(id), input_digest BLOB NOT NULL, policy_rule TEXT NOT NULL, summary_json TEXT NOT NULL, state TEXT NOT NULL CHECK(state IN('pending','allowed_once','allowed_session','denied','expired','cancelled')), decided_by_command TEXT UNIQUE, expires_at INTEGER, created_at INTEGER NOT NULL, decided_at INTEGER) STRICT;
INSERT INTO approvals VALUES('a-1','t-1','run-3',X'cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd','notes.write','{}','allowed_once','c-4',NULL,3,3);
CREATE TABLE grants(id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id), scope_key TEXT NOT NULL, approval_id TEXT NOT NULL REFERENCES approvals(id), created_at INTEGER NOT NULL, revoked_at INTEGER) STRICT;
CREATE TABLE proposals(id TEXT PRIMARY KEY, origin TEXT NOT NULL CHECK(origin IN('tool','rewrite','offline','file','agent')), run_id TEXT REFERENCES runs(id), tool_call_id TEXT REFERENCES tool_calls(id), set_id TEXT, supersedes TEXT REFERENCES proposals(id), doc_uri TEXT NOT NULL, base_version INTEGER NOT NULL, base_digest BLOB NOT NULL, edits_json TEXT NOT NULL, hunks_json TEXT NOT NULL, summary TEXT NOT NULL, state TEXT NOT NULL CHECK(state IN('proposed','partly_applied','applied','rejected','stale','unknown_base','superseded')), decided_command TEXT UNIQUE, created_at INTEGER NOT NULL, decided_at INTEGER, cut_off INTEGER NOT NULL DEFAULT 0 CHECK(cut_off IN(0,1)), UNIQUE(tool_call_id, doc_uri)) STRICT;
INSERT INTO proposals VALUES('p-1','rewrite','run-1',NULL,NULL,NULL,'file:///a.md',1,X'abababababababababababababababababababababababababababababababab','[{"from":0,"to":1,"insert":"x"}]','[{"id":"1","first":0,"count":1,"warnings":[],"outcome":""}]','Shorter','proposed',NULL,2,NULL,0);
CREATE TABLE artifacts(id TEXT PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs(id), tool_call_id TEXT REFERENCES tool_calls(id), kind TEXT NOT NULL CHECK(kind IN('product','log','cache')), path TEXT NOT NULL, bytes INTEGER, sha256 BLOB, state TEXT NOT NULL CHECK(state IN('writing','published','missing','deleted'))) STRICT;
INSERT INTO artifacts VALUES('f-1','run-3','t-1','log','f-1',3,NULL,'published');
CREATE TABLE events(seq INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, run_id TEXT, tool_call_id TEXT, type TEXT NOT NULL, v INTEGER NOT NULL, at INTEGER NOT NULL, boot_id TEXT NOT NULL, payload_json TEXT NOT NULL) STRICT;
INSERT INTO events VALUES(8,'s-1','run-1',NULL,'run.succeeded',1,2,'boot-1','{}');
INSERT INTO events VALUES(9,'s-1','run-2',NULL,'run.started',1,2,'boot-1','{}');
CREATE TABLE contexts(model_call_id TEXT PRIMARY KEY REFERENCES model_calls(id), run_id TEXT NOT NULL REFERENCES runs(id), report_json TEXT NOT NULL) STRICT;
INSERT INTO contexts VALUES('mc-1','run-3','{"runId":"run-3","step":1,"tokens":5,"size":0,"reserve":0,"basis":"","parts":[],"degraded":false}');
CREATE TABLE reconciliations(id INTEGER PRIMARY KEY, tool_call_id TEXT NOT NULL REFERENCES tool_calls(id), verdict TEXT NOT NULL CHECK(verdict IN('applied','absent','unknown')), found_by TEXT NOT NULL CHECK(found_by IN('recovery','person')), command_id TEXT UNIQUE, at INTEGER NOT NULL) STRICT;
INSERT INTO reconciliations VALUES(1,'t-1','applied','person','c-5',5);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('events',9);
CREATE UNIQUE INDEX runs_one_active ON runs(session_id) WHERE state IN('running','waiting_for_approval','cancelling');
CREATE TRIGGER runs_final BEFORE UPDATE OF state ON runs WHEN OLD.state IN('cancelled','succeeded','failed','interrupted') AND NEW.state<>OLD.state BEGIN SELECT RAISE(ABORT,'run is final'); END;
CREATE TRIGGER tool_final BEFORE UPDATE OF state ON tool_calls WHEN OLD.state IN('succeeded','failed','cancelled','unknown') AND NEW.state<>OLD.state BEGIN SELECT RAISE(ABORT,'tool call is final'); END;
CREATE UNIQUE INDEX approvals_one_pending ON approvals(tool_call_id) WHERE state='pending';
CREATE INDEX events_session ON events(session_id,seq);
CREATE INDEX events_run ON events(run_id,seq);
CREATE TRIGGER events_append_only BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT,'events are append-only'); END;
CREATE INDEX runs_unfinished ON runs(state) WHERE state IN('queued','running','waiting_for_approval','cancelling');
CREATE INDEX runs_created ON runs(created_at);
CREATE INDEX proposals_open ON proposals(created_at) WHERE state IN('proposed','partly_applied');
CREATE TRIGGER runs_first BEFORE INSERT ON runs WHEN NEW.state<>'queued' BEGIN SELECT RAISE(ABORT,'runs_first'); END;
CREATE TRIGGER runs_move BEFORE UPDATE OF state ON runs WHEN NEW.state<>OLD.state AND NOT((OLD.state='queued' AND NEW.state IN('running','cancelled','interrupted')) OR (OLD.state='running' AND NEW.state IN('waiting_for_approval','cancelling','succeeded','failed','interrupted')) OR (OLD.state='waiting_for_approval' AND NEW.state IN('running','cancelling','interrupted')) OR (OLD.state='cancelling' AND NEW.state IN('cancelled','interrupted'))) BEGIN SELECT RAISE(ABORT,'runs_move'); END;
CREATE TRIGGER runs_frozen BEFORE UPDATE ON runs WHEN OLD.state IN('cancelled','succeeded','failed','interrupted') BEGIN SELECT RAISE(ABORT,'runs_frozen'); END;
CREATE TRIGGER tool_calls_first BEFORE INSERT ON tool_calls WHEN NEW.state<>'proposed' BEGIN SELECT RAISE(ABORT,'tool_calls_first'); END;
CREATE TRIGGER tool_calls_move BEFORE UPDATE OF state ON tool_calls WHEN NEW.state<>OLD.state AND NOT((OLD.state='proposed' AND NEW.state IN('waiting_for_approval','ready','failed','cancelled')) OR (OLD.state='waiting_for_approval' AND NEW.state IN('ready','failed','cancelled')) OR (OLD.state='ready' AND NEW.state IN('running','cancelled')) OR (OLD.state='running' AND NEW.state IN('succeeded','failed','cancelled','unknown'))) BEGIN SELECT RAISE(ABORT,'tool_calls_move'); END;
CREATE TRIGGER tool_calls_frozen BEFORE UPDATE ON tool_calls WHEN OLD.state IN('succeeded','failed','cancelled','unknown') BEGIN SELECT RAISE(ABORT,'tool_calls_frozen'); END;
CREATE INDEX runs_session ON runs(session_id,created_at);
CREATE INDEX runs_parent ON runs(parent_run_id) WHERE parent_run_id IS NOT NULL;
CREATE INDEX messages_run ON messages(run_id);
CREATE INDEX tool_calls_model_call ON tool_calls(model_call_id) WHERE model_call_id IS NOT NULL;
CREATE INDEX approvals_run ON approvals(run_id);
CREATE INDEX approvals_pending ON approvals(created_at) WHERE state='pending';
CREATE INDEX proposals_run ON proposals(run_id);
CREATE INDEX proposals_supersedes ON proposals(supersedes) WHERE supersedes IS NOT NULL;
CREATE INDEX artifacts_run ON artifacts(run_id);
CREATE INDEX artifacts_call ON artifacts(tool_call_id);
CREATE INDEX contexts_run ON contexts(run_id);
CREATE INDEX reconciliations_call ON reconciliations(tool_call_id);
COMMIT;
PRAGMA user_version=3;
