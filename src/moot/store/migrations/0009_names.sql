-- Who said it, and which of the next steps of an outcome are done.

ALTER TABLE said ADD COLUMN who TEXT NOT NULL DEFAULT ''; -- a name; empty where nobody gave one

CREATE TABLE ticks (
    debate_id TEXT NOT NULL REFERENCES debates (id),
    step INTEGER NOT NULL, -- its place in the outcome, from 0
    done BOOLEAN NOT NULL,
    who TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (debate_id, step)
);
