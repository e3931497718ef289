-- What people add to a debate: their words, a rating, and the workflow made of its outcome.

CREATE TABLE said (
    id /*sqlite INTEGER */ /*postgres BIGINT GENERATED ALWAYS AS IDENTITY */ PRIMARY KEY,
    debate_id TEXT NOT NULL REFERENCES debates (id),
    position INTEGER, -- of the step it answers; NULL for words spoken of one's own accord
    action TEXT NOT NULL,
    text TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    UNIQUE (debate_id, position)
);
CREATE INDEX said_in_debate ON said (debate_id, id);

CREATE TABLE ratings (
    id /*sqlite INTEGER */ /*postgres BIGINT GENERATED ALWAYS AS IDENTITY */ PRIMARY KEY,
    debate_id TEXT NOT NULL REFERENCES debates (id),
    stars INTEGER NOT NULL,
    comment TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL
);
CREATE INDEX ratings_of_debate ON ratings (debate_id, id);

CREATE TABLE workflows (
    debate_id TEXT NOT NULL PRIMARY KEY REFERENCES debates (id),
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    delivered BOOLEAN NOT NULL DEFAULT FALSE,
    attempts INTEGER NOT NULL DEFAULT 0,
    result TEXT NOT NULL DEFAULT ''
);

-- What was said stays said.
/*sqlite
CREATE TRIGGER said_is_not_updated BEFORE UPDATE ON said
BEGIN SELECT RAISE(ABORT, 'what was said is written once, never changed'); END;
CREATE TRIGGER said_is_not_deleted BEFORE DELETE ON said
BEGIN SELECT RAISE(ABORT, 'what was said is written once, never changed'); END;
*/
/*postgres
CREATE TRIGGER said_is_not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON said
    EXECUTE FUNCTION moot_refuse_change();
*/
