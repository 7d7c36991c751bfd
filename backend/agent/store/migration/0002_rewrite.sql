-- What a run needs to be told apart from a rewrite, and a proposal from one
-- whose answer broke off.
ALTER TABLE runs ADD COLUMN kind TEXT NOT NULL DEFAULT 'conversation' CHECK(kind IN('conversation','rewrite'));
ALTER TABLE runs ADD COLUMN doc_uri TEXT NOT NULL DEFAULT '';
ALTER TABLE proposals ADD COLUMN cut_off INTEGER NOT NULL DEFAULT 0 CHECK(cut_off IN(0,1));
-- The snapshot reads these.
CREATE INDEX runs_unfinished ON runs(state) WHERE state IN('queued','running','waiting_for_approval','cancelling');
CREATE INDEX runs_created ON runs(created_at);
CREATE INDEX proposals_open ON proposals(created_at) WHERE state IN('proposed','partly_applied');
