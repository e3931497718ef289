-- Everything moot asks of its database. Both databases read this file; what stands in a comment
-- /*postgres … */ is read by Postgres only. moot_now() is the database's clock in seconds since 1970.
-- A debate has ended when it is stopped, finished or failed.

-- name: insert_debate
INSERT INTO debates (id, format, format_version, topic, settings, seats, created_at, status)
VALUES (:id, :format, :format_version, :topic, :settings, :seats, moot_now(), :status)
RETURNING *;

-- name: find_debate
SELECT *, moot_now() AS now FROM debates WHERE id = :debate_id;

-- name: list_debates
SELECT * FROM debates ORDER BY created_at DESC, id LIMIT :limit;

-- name: list_debates_by_status
SELECT * FROM debates WHERE status = :status ORDER BY created_at DESC, id LIMIT :limit;

-- name: list_turns
SELECT * FROM turns WHERE debate_id = :debate_id ORDER BY position;

-- name: list_failures
SELECT * FROM failures WHERE debate_id = :debate_id ORDER BY at, id;

-- name: insert_turn
-- Only under the current run of a debate that has not ended. FOR SHARE holds the debate's row, so that no
-- other run can begin between the look at the run number and the commit of the turn.
INSERT INTO turns (
    debate_id, position, seat, kind, round, content, data, usage, model, marks, started_at, finished_at, run, event_id
)
SELECT
    debates.id, :position, :seat, :kind, :round, :content, :data, :usage, :model, :marks, :started_at, :finished_at,
    debates.run, :event_id
FROM debates
WHERE debates.id = :debate_id AND debates.run = :run AND debates.status NOT IN ('stopped', 'finished', 'failed')
/*postgres FOR SHARE */
RETURNING
    (SELECT debates.status = 'stopping' FROM debates WHERE debates.id = turns.debate_id) AS stopping,
    (SELECT debates.concluding FROM debates WHERE debates.id = turns.debate_id) AS concluding,
    (SELECT count(*) FROM said WHERE said.debate_id = turns.debate_id AND said.position IS NULL) AS remarks;

-- name: insert_failure
-- Fenced like a turn.
INSERT INTO failures (debate_id, position, seat, kind, round, partial, code, message, at, run)
SELECT debates.id, :position, :seat, :kind, :round, :partial, :code, :message, :at, debates.run
FROM debates
WHERE debates.id = :debate_id AND debates.run = :run AND debates.status NOT IN ('stopped', 'finished', 'failed')
/*postgres FOR SHARE */
RETURNING id;

-- name: take
-- Begin a run. What an earlier run left as its ending is cleared; a wish to conclude stays.
UPDATE debates
SET run = run + 1, status = 'running', owner = :owner, lease_until = moot_now() + :lease_seconds,
    stop_reason = NULL, error = NULL, finished_at = NULL
WHERE id = :debate_id AND status <> 'finished' AND (lease_until IS NULL OR lease_until < moot_now())
RETURNING *;

-- name: heartbeat
UPDATE debates
SET lease_until = moot_now() + :lease_seconds
WHERE id = :debate_id AND run = :run AND status IN ('running', 'stopping')
RETURNING id;

-- name: end
UPDATE debates
SET status = :status, stop_reason = :stop_reason, outcome = :outcome, error = :error,
    finished_at = CASE WHEN :status IN ('stopped', 'finished', 'failed') THEN moot_now() END,
    owner = NULL, lease_until = NULL
WHERE id = :debate_id AND run = :run AND status IN ('running', 'stopping')
RETURNING id;

-- name: release
-- The run is dead: the next may begin at once, and a stop it was asked for has happened.
UPDATE debates
SET status = CASE status WHEN 'stopping' THEN 'stopped' ELSE status END,
    stop_reason = CASE status WHEN 'stopping' THEN 'stopped' ELSE stop_reason END,
    finished_at = CASE status WHEN 'stopping' THEN moot_now() ELSE finished_at END,
    owner = NULL, lease_until = NULL
WHERE id = :debate_id AND run = :run AND status IN ('running', 'stopping')
RETURNING id;

-- name: ask_to_stop
-- While a run's lease lasts, that run stops the debate; otherwise it is stopped here. The clock is read once,
-- so that all columns agree on which of the two it is. Only a running debate has a lease.
UPDATE debates
SET status = CASE WHEN lease_until >= clock.now THEN 'stopping' ELSE 'stopped' END,
    stop_reason = CASE WHEN lease_until >= clock.now THEN stop_reason ELSE 'stopped' END,
    finished_at = CASE WHEN lease_until >= clock.now THEN finished_at ELSE clock.now END,
    owner = CASE WHEN lease_until >= clock.now THEN owner END,
    lease_until = CASE WHEN lease_until >= clock.now THEN lease_until END
FROM (SELECT moot_now() AS now) AS clock
WHERE id = :debate_id AND status NOT IN ('stopped', 'finished', 'failed')
RETURNING *;

-- name: ask_to_conclude
UPDATE debates SET concluding = TRUE WHERE id = :debate_id AND status <> 'finished' RETURNING *;

-- name: pause
-- A person has not answered in time: nothing waits any more, and the debate can be resumed.
UPDATE debates
SET status = 'stopped', stop_reason = 'checkpoint_timeout', finished_at = moot_now()
WHERE id = :debate_id AND status = 'waiting'
RETURNING *;

-- name: insert_said
-- One answer to a step: (debate_id, position) is unique.
INSERT INTO said (debate_id, position, action, text, at)
SELECT debates.id, :position, :action, :text, moot_now() FROM debates WHERE debates.id = :debate_id
RETURNING *;

-- name: list_said
SELECT * FROM said WHERE debate_id = :debate_id ORDER BY id;

-- name: insert_rating
INSERT INTO ratings (debate_id, stars, comment, at)
SELECT debates.id, :stars, :comment, moot_now() FROM debates WHERE debates.id = :debate_id
RETURNING *;

-- name: latest_rating
SELECT * FROM ratings WHERE debate_id = :debate_id ORDER BY id DESC LIMIT 1;

-- name: insert_workflow
INSERT INTO workflows (debate_id, id, title, body, created_at)
SELECT debates.id, :id, :title, :body, moot_now() FROM debates WHERE debates.id = :debate_id
RETURNING *;

-- name: find_workflow
SELECT * FROM workflows WHERE debate_id = :debate_id;

-- name: note_delivery
UPDATE workflows
SET delivered = :delivered, attempts = attempts + :attempts, result = :result
WHERE debate_id = :debate_id
RETURNING *;
