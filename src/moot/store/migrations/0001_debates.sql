-- Debates, their turns and the attempts that failed.
-- One file for both databases: what stands in a comment /*sqlite … */ or /*postgres … */ is read by that one only.
-- A statement ends where a line ends with a semicolon.

-- The database's clock in seconds since 1970. SQLite gets this function from each connection.
/*postgres
CREATE FUNCTION moot_now() RETURNS DOUBLE PRECISION LANGUAGE sql VOLATILE
    AS 'SELECT extract(epoch FROM clock_timestamp())::double precision';
*/

CREATE TABLE debates (
    id TEXT NOT NULL PRIMARY KEY,
    format TEXT NOT NULL,
    format_version INTEGER NOT NULL,
    topic TEXT NOT NULL,
    settings TEXT NOT NULL, -- JSON
    seats TEXT NOT NULL, -- JSON
    created_at DOUBLE PRECISION NOT NULL,
    status TEXT NOT NULL,
    stop_reason TEXT,
    error TEXT,
    outcome TEXT, -- JSON
    finished_at DOUBLE PRECISION,
    run INTEGER NOT NULL DEFAULT 0, -- raised by every run; only the current run may write
    owner TEXT,
    lease_until DOUBLE PRECISION, -- no other run may begin before
    concluding BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE INDEX debates_newest ON debates (created_at DESC, id);
CREATE INDEX debates_newest_by_status ON debates (status, created_at DESC, id);

CREATE TABLE turns (
    debate_id TEXT NOT NULL REFERENCES debates (id),
    position INTEGER NOT NULL,
    seat TEXT NOT NULL,
    kind TEXT NOT NULL,
    round INTEGER,
    content TEXT NOT NULL,
    data TEXT, -- JSON
    usage TEXT NOT NULL, -- JSON
    model TEXT,
    marks TEXT NOT NULL, -- JSON
    started_at DOUBLE PRECISION NOT NULL,
    finished_at DOUBLE PRECISION NOT NULL,
    run INTEGER NOT NULL,
    event_id BIGINT NOT NULL,
    PRIMARY KEY (debate_id, position)
);

CREATE TABLE failures (
    id /*sqlite INTEGER */ /*postgres BIGINT GENERATED ALWAYS AS IDENTITY */ PRIMARY KEY,
    debate_id TEXT NOT NULL REFERENCES debates (id),
    position INTEGER NOT NULL,
    seat TEXT NOT NULL,
    kind TEXT NOT NULL,
    round INTEGER,
    partial TEXT NOT NULL,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    run INTEGER NOT NULL
);
CREATE INDEX failures_of_debate ON failures (debate_id, at, id);

-- What was said stays said.
/*sqlite
CREATE TRIGGER turns_are_not_updated BEFORE UPDATE ON turns
BEGIN SELECT RAISE(ABORT, 'turns are written once, never changed'); END;
CREATE TRIGGER turns_are_not_deleted BEFORE DELETE ON turns
BEGIN SELECT RAISE(ABORT, 'turns are written once, never changed'); END;
CREATE TRIGGER failures_are_not_updated BEFORE UPDATE ON failures
BEGIN SELECT RAISE(ABORT, 'failures are written once, never changed'); END;
CREATE TRIGGER failures_are_not_deleted BEFORE DELETE ON failures
BEGIN SELECT RAISE(ABORT, 'failures are written once, never changed'); END;
*/
/*postgres
CREATE FUNCTION moot_refuse_change() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN RAISE EXCEPTION ''% are written once, never changed'', TG_TABLE_NAME; END';
CREATE TRIGGER turns_are_not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON turns
    EXECUTE FUNCTION moot_refuse_change();
CREATE TRIGGER failures_are_not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON failures
    EXECUTE FUNCTION moot_refuse_change();
*/
