-- What a run may call, what a call dealt with, whose answer a message is, what
-- each request held, and what was found out of calls afterwards.
ALTER TABLE runs ADD COLUMN tools_json TEXT NOT NULL DEFAULT '[]';
ALTER TABLE messages ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tool_calls ADD COLUMN facts_json TEXT NOT NULL DEFAULT '{}';
CREATE TABLE contexts(model_call_id TEXT PRIMARY KEY REFERENCES model_calls(id), run_id TEXT NOT NULL REFERENCES runs(id), report_json TEXT NOT NULL) STRICT;
-- A final row of tool_calls never changes, so that what was found out stands here.
CREATE TABLE reconciliations(id INTEGER PRIMARY KEY, tool_call_id TEXT NOT NULL REFERENCES tool_calls(id), verdict TEXT NOT NULL CHECK(verdict IN('applied','absent','unknown')), found_by TEXT NOT NULL CHECK(found_by IN('recovery','person')), command_id TEXT UNIQUE, at INTEGER NOT NULL) STRICT;
-- What a history and the removal of a session read.
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
