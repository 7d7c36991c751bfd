-- What was learned or asked of a model at an address (K10), and what left for a
-- provider (K9).
CREATE TABLE model_facts(id INTEGER PRIMARY KEY, provider_id TEXT NOT NULL, host TEXT NOT NULL, model TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, source TEXT NOT NULL CHECK(source IN('asked','learned')), at INTEGER NOT NULL, UNIQUE(provider_id,host,model,name,source)) STRICT;
-- An entry outlives the session it belongs to, and a seen id is never another's.
CREATE TABLE sends(id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, ended_at INTEGER, boot_id TEXT NOT NULL, provider_id TEXT NOT NULL, provider_name TEXT NOT NULL, model TEXT NOT NULL,
 purpose TEXT NOT NULL CHECK(purpose IN('conversation','rewrite','chat','test','models','describe')), session_id TEXT, run_id TEXT, method TEXT NOT NULL, url TEXT NOT NULL, proxy TEXT NOT NULL,
 sent_bytes INTEGER NOT NULL, received_bytes INTEGER NOT NULL DEFAULT 0, status INTEGER NOT NULL DEFAULT 0, code TEXT NOT NULL DEFAULT '', kept_bytes INTEGER NOT NULL, body BLOB) STRICT;
-- Its age and size are looked at with every entry.
CREATE INDEX sends_kept ON sends(at,kept_bytes);
CREATE INDEX sends_session ON sends(session_id) WHERE session_id IS NOT NULL;
