-- What several processes need to share the work: who is there, which debates are watched, and which attempts count.

ALTER TABLE debates ADD COLUMN watched BOOLEAN NOT NULL DEFAULT FALSE; -- somebody waits for it: it goes first
ALTER TABLE debates ADD COLUMN tries_from INTEGER NOT NULL DEFAULT 0; -- what failed up to this run counts no more

CREATE TABLE workers (
    id TEXT NOT NULL PRIMARY KEY,
    process TEXT NOT NULL,
    concurrency INTEGER NOT NULL,
    started_at DOUBLE PRECISION NOT NULL,
    seen_at DOUBLE PRECISION NOT NULL
);
