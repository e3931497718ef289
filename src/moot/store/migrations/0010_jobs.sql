-- The queue of those who share a Postgres. Elsewhere a process knows by itself what it has to do.

/*postgres
CREATE TABLE jobs (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key TEXT NOT NULL UNIQUE, -- its kind, its debate and a mark
    kind TEXT NOT NULL, -- run or pause
    debate_id TEXT NOT NULL,
    urgent BOOLEAN NOT NULL,
    due_at DOUBLE PRECISION NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, -- how often it was put back
    worker TEXT, -- who does it
    seen_at DOUBLE PRECISION -- when that one last showed that it is alive
);
CREATE INDEX jobs_in_their_order ON jobs (urgent, due_at, id);
CREATE INDEX jobs_of_a_debate ON jobs (debate_id);
*/
