-- Everything moot asks of its database. Both databases read this file; what stands in a comment
-- /*postgres … */ is read by Postgres only. moot_now() is the database's clock in seconds since 1970.
-- A debate has ended when it is stopped, finished or failed.

-- name: insert_debate
-- Nothing is inserted when a debate was made under the same key or id before.
INSERT INTO debates (
    id, format, format_version, topic, search_text, settings, seats, created_at, status, idempotency_key, waiting_since,
    watched, origin_debate, origin_position
)
VALUES (
    :id, :format, :format_version, :topic, :search_text, :settings, :seats, moot_now(), :status, :idempotency_key,
    CASE WHEN :status = 'queued' THEN moot_now() END, :watched,
    :origin_debate, :origin_position
)
ON CONFLICT DO NOTHING
RETURNING *;

-- name: find_by_key
SELECT * FROM debates WHERE idempotency_key = :idempotency_key;

-- name: find_forks
SELECT id FROM debates WHERE origin_debate = :debate_id AND deleted_at IS NULL ORDER BY created_at, id LIMIT 20;

-- name: find_outcomes
-- Of a format's finished debates, the newest first; only the newest of all formats are looked through for them, and what
-- is `known`, a JSON list of ids, comes without its outcome.
SELECT
    id,
    CASE WHEN id NOT IN (
        SELECT /*sqlite value FROM json_each(:known) */ /*postgres json_array_elements_text(CAST(:known AS JSON)) */
    ) THEN outcome END AS outcome
FROM debates
WHERE id IN (SELECT id FROM debates WHERE status = 'finished' ORDER BY created_at DESC, id LIMIT 4 * :limit)
    AND format = :format AND outcome IS NOT NULL AND deleted_at IS NULL
ORDER BY created_at DESC, id LIMIT :limit;

-- name: find_debate
SELECT *, moot_now() AS now FROM debates WHERE id = :debate_id AND deleted_at IS NULL;

-- name: find_hidden
SELECT * FROM debates WHERE id = :debate_id AND deleted_at IS NOT NULL;

-- name: list_debates
-- Newest first; each condition holds when its parameter is NULL. `hidden` lists what was deleted, `at_rest` leaves out what
-- goes on or waits. The statements `list_newer` and `count_found` are made of this one (sql.py). Under `failed` stands also what is shown as failed, as
-- other columns of it cannot be read, but for a seat of another version. `pattern` is for search_text, `about` a JSON list of
-- patterns each of which is for search_text or the outcome, and the page begins after the debate that was created at
-- `created_at` under `id`. When they are `summed`, with what a list shows of them.
SELECT debates.*,
    CASE WHEN :summed THEN (SELECT count(*) FROM turns WHERE turns.debate_id = debates.id) END AS turns,
    CASE WHEN :summed THEN (
        SELECT /*sqlite group_concat */ /*postgres string_agg */ (turns.usage, ',')
        FROM turns WHERE turns.debate_id = debates.id AND turns.position >= coalesce(debates.origin_position, 0)
    ) END AS usages,
    CASE WHEN :summed THEN (
        SELECT ratings.stars FROM ratings WHERE ratings.debate_id = debates.id ORDER BY ratings.id DESC LIMIT 1
    ) END AS stars,
    CASE WHEN :summed THEN (SELECT workflows.id FROM workflows WHERE workflows.debate_id = debates.id) END AS workflow,
    CASE WHEN :summed THEN (SELECT count(*) FROM ticks WHERE ticks.debate_id = debates.id AND ticks.done) END AS done
FROM debates
WHERE (deleted_at IS NOT NULL) = :hidden
    AND (NOT :at_rest OR status NOT IN ('queued', 'running', 'stopping', 'waiting'))
    AND (
        CAST(:status AS TEXT) IS NULL
        OR status = :status
        OR (:status = 'failed' AND NOT (
            status IN ('created', 'queued', 'running', 'waiting', 'stopping', 'stopped', 'finished')
            AND settings LIKE '{%}' AND seats LIKE '{%}'
            AND created_at BETWEEN 0 AND 253402214400 AND coalesce(finished_at, 0) BETWEEN 0 AND 253402214400
            /*sqlite AND typeof(topic) = 'text' AND typeof(format_version) = 'integer' */
        ))
    )
    AND (CAST(:format AS TEXT) IS NULL OR format = :format)
    AND (CAST(:pattern AS TEXT) IS NULL OR search_text LIKE :pattern ESCAPE '!')
    AND (
        CAST(:about AS TEXT) IS NULL
        OR NOT EXISTS (
            SELECT 1
            FROM /*sqlite json_each(:about) */ /*postgres json_array_elements_text(CAST(:about AS JSON)) */ AS word
            WHERE search_text NOT LIKE /*sqlite word.value */ /*postgres word */ ESCAPE '!'
                AND lower(coalesce(outcome, '')) NOT LIKE /*sqlite word.value */ /*postgres word */ ESCAPE '!'
        )
    )
    AND (
        CAST(:created_at AS DOUBLE PRECISION) IS NULL
        OR created_at < :created_at
        OR (created_at = :created_at AND id > :id)
    )
ORDER BY created_at DESC, id LIMIT :limit;

-- name: list_unfinished
-- Those that a process should look after, the longest waiting first.
SELECT *, moot_now() AS now FROM debates
WHERE deleted_at IS NULL AND status IN ('queued', 'running', 'stopping', 'waiting')
ORDER BY waiting_since, created_at, id;

-- name: list_turns
SELECT * FROM turns WHERE debate_id = :debate_id ORDER BY position;

-- name: list_failures
SELECT * FROM failures WHERE debate_id = :debate_id ORDER BY at, id;

-- name: insert_turn
-- Only under the current run of a debate that has not ended, where no turn is yet; what is queued for its next run gets
-- none, as that may have read its turns by now, but for those that a fork begins with. FOR SHARE holds the debate's row, so
-- that no other run can begin between the look at the run number and the commit of the turn.
INSERT INTO turns (
    debate_id, position, seat, kind, round, content, data, usage, model, marks, started_at, finished_at, run, event_id
)
SELECT
    debates.id, :position, :seat, :kind, :round, :content, :data, :usage, :model, :marks, :started_at, :finished_at,
    debates.run, :event_id
FROM debates
WHERE debates.id = :debate_id AND debates.run = :run AND debates.status NOT IN ('stopped', 'finished', 'failed')
    AND (debates.status <> 'queued' OR debates.run = 0)
/*postgres FOR SHARE */
ON CONFLICT DO NOTHING
RETURNING
    (
        SELECT CASE debates.status WHEN 'stopping' THEN coalesce(debates.stop_reason, 'stopped') END
        FROM debates WHERE debates.id = turns.debate_id
    ) AS stopping,
    (SELECT debates.concluding FROM debates WHERE debates.id = turns.debate_id) AS concluding,
    (
        SELECT count(*) FROM said
        WHERE said.debate_id = turns.debate_id AND said.position IS NULL AND said.action <> 'change'
    ) AS remarks,
    (SELECT count(*) FROM said WHERE said.debate_id = turns.debate_id AND said.action = 'change') AS wishes;

-- name: find_own_turn
-- What the insert would have returned, when it was done but its answer got lost on the way.
SELECT
    CASE debates.status WHEN 'stopping' THEN coalesce(debates.stop_reason, 'stopped') END AS stopping,
    debates.concluding,
    (
        SELECT count(*) FROM said
        WHERE said.debate_id = debates.id AND said.position IS NULL AND said.action <> 'change'
    ) AS remarks,
    (SELECT count(*) FROM said WHERE said.debate_id = debates.id AND said.action = 'change') AS wishes
FROM turns JOIN debates ON debates.id = turns.debate_id
WHERE turns.debate_id = :debate_id AND turns.position = :position AND turns.run = :run AND turns.event_id = :event_id
    AND debates.run = :run;

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
WHERE id = :debate_id AND deleted_at IS NULL AND status <> 'finished'
    AND (lease_until IS NULL OR lease_until < moot_now())
    AND (status IN ('queued', 'running') OR NOT :only_queued)
RETURNING
    *,
    (
        SELECT count(*) FROM said
        WHERE said.debate_id = debates.id AND said.position IS NULL AND said.action <> 'change'
    ) AS remarks,
    (SELECT count(*) FROM said WHERE said.debate_id = debates.id AND said.action = 'change') AS wishes;

-- name: enqueue
-- What waits for a person goes on when it has been answered; what was running, when the run is over without having
-- said so. count(*) is the position of the question. Whoever resumes a debate by hand has its attempts counted anew.
UPDATE debates
SET status = 'queued', stop_reason = NULL, error = NULL, finished_at = NULL, waiting_since = moot_now(),
    owner = NULL, lease_until = NULL, watched = watched OR :watched,
    tries_from = CASE status WHEN 'running' THEN tries_from ELSE run END
WHERE id = :debate_id AND deleted_at IS NULL AND (lease_until IS NULL OR lease_until < moot_now()) AND (
    status IN ('created', 'stopped', 'failed', 'running')
    OR (status = 'waiting' AND EXISTS (
        SELECT 1 FROM said
        WHERE said.debate_id = debates.id
            AND said.position = (SELECT count(*) FROM turns WHERE turns.debate_id = debates.id)
    ))
)
RETURNING *;

-- name: watch
UPDATE debates SET watched = TRUE WHERE id = :debate_id AND deleted_at IS NULL AND NOT watched RETURNING *;

-- name: delete
UPDATE debates SET deleted_at = moot_now()
WHERE id = :debate_id AND deleted_at IS NULL AND (lease_until IS NULL OR lease_until < moot_now())
RETURNING *;

-- name: restore
UPDATE debates SET deleted_at = NULL WHERE id = :debate_id AND deleted_at IS NOT NULL RETURNING *;

-- name: heartbeat
UPDATE debates
SET lease_until = moot_now() + :lease_seconds
WHERE id = :debate_id AND run = :run AND status IN ('running', 'stopping')
RETURNING id;

-- name: end
-- A clock that was set back ends nothing before it began, here and below.
UPDATE debates
SET status = :status, stop_reason = :stop_reason, outcome = :outcome, error = :error,
    search_text = search_text || :restated,
    finished_at = CASE WHEN :status IN ('stopped', 'finished', 'failed') THEN /*sqlite max */ /*postgres greatest */ (created_at, moot_now()) END,
    waiting_since = CASE WHEN :status IN ('queued', 'waiting') THEN moot_now() END,
    owner = NULL, lease_until = NULL
WHERE id = :debate_id AND run = :run AND status IN ('running', 'stopping')
RETURNING *;

-- name: release
-- The run is dead: the next may begin at once, and a stop it was asked for has happened.
UPDATE debates
SET status = CASE status WHEN 'stopping' THEN 'stopped' ELSE status END,
    stop_reason = CASE status WHEN 'stopping' THEN coalesce(stop_reason, 'stopped') ELSE stop_reason END,
    finished_at = CASE status WHEN 'stopping' THEN /*sqlite max */ /*postgres greatest */ (created_at, moot_now()) ELSE finished_at END,
    owner = NULL, lease_until = NULL
WHERE id = :debate_id AND run = :run AND status IN ('running', 'stopping')
RETURNING id;

-- name: ask_to_stop
-- While a run's lease lasts, that run stops the debate; otherwise it is stopped here. The clock is read once,
-- so that all columns agree on which of the two it is. Only a running debate has a lease.
UPDATE debates
SET status = CASE WHEN lease_until >= clock.now THEN 'stopping' ELSE 'stopped' END,
    stop_reason = CASE status WHEN 'stopping' THEN coalesce(stop_reason, :stop_reason) ELSE :stop_reason END,
    finished_at = CASE WHEN lease_until >= clock.now THEN finished_at ELSE /*sqlite max */ /*postgres greatest */ (created_at, clock.now) END,
    owner = CASE WHEN lease_until >= clock.now THEN owner END,
    lease_until = CASE WHEN lease_until >= clock.now THEN lease_until END
FROM (SELECT moot_now() AS now) AS clock
WHERE id = :debate_id AND deleted_at IS NULL AND status NOT IN ('stopped', 'finished', 'failed')
RETURNING *;

-- name: ask_to_conclude
UPDATE debates SET concluding = TRUE
WHERE id = :debate_id AND deleted_at IS NULL AND status <> 'finished'
RETURNING *;

-- name: pause
-- A person has not answered in time: nothing waits any more, and the debate can be resumed.
UPDATE debates
SET status = 'stopped', stop_reason = 'checkpoint_timeout',
    finished_at = /*sqlite max */ /*postgres greatest */ (created_at, moot_now())
WHERE id = :debate_id AND deleted_at IS NULL AND status = 'waiting'
RETURNING *;

-- name: insert_said
-- One answer to a step: (debate_id, position) is unique, and where a turn is nothing is asked any more. FOR UPDATE lets
-- no run begin to wait meanwhile, which would then have missed the answer.
INSERT INTO said (debate_id, position, action, text, at, who)
SELECT debates.id, :position, :action, :text, moot_now(), :who
FROM debates
WHERE debates.id = :debate_id AND debates.deleted_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.debate_id = debates.id AND turns.position = :position)
/*postgres FOR UPDATE */
ON CONFLICT DO NOTHING
RETURNING *;

-- name: list_said
SELECT * FROM said WHERE debate_id = :debate_id AND action <> 'change' ORDER BY id;

-- name: list_wishes
SELECT * FROM said WHERE debate_id = :debate_id AND action = 'change' ORDER BY id;

-- name: insert_rating
INSERT INTO ratings (debate_id, stars, comment, at)
SELECT debates.id, :stars, :comment, moot_now()
FROM debates WHERE debates.id = :debate_id AND debates.deleted_at IS NULL
RETURNING *;

-- name: latest_rating
SELECT * FROM ratings WHERE debate_id = :debate_id ORDER BY id DESC LIMIT 1;

-- name: tick
INSERT INTO ticks (debate_id, step, done, who, at)
SELECT debates.id, :step, :done, :who, moot_now()
FROM debates WHERE debates.id = :debate_id AND debates.deleted_at IS NULL
ON CONFLICT (debate_id, step) DO UPDATE SET done = excluded.done, who = excluded.who, at = excluded.at
RETURNING *;

-- name: list_ticks
SELECT * FROM ticks WHERE debate_id = :debate_id ORDER BY step;

-- name: insert_workflow
INSERT INTO workflows (debate_id, id, title, body, created_at, next_at)
SELECT debates.id, :id, :title, :body, moot_now(), moot_now() + CAST(:lease_seconds AS DOUBLE PRECISION)
FROM debates WHERE debates.id = :debate_id AND debates.deleted_at IS NULL
ON CONFLICT DO NOTHING
RETURNING *;

-- name: find_workflow
SELECT * FROM workflows WHERE debate_id = :debate_id;

-- name: take_workflow
-- One that is due, of any debate or this one, which is due whenever nobody is at it: nobody else gets it meanwhile.
UPDATE workflows
SET next_at = moot_now() + :lease_seconds
WHERE debate_id = (
    SELECT debate_id FROM workflows
    WHERE NOT delivered AND (
        (next_at <= moot_now() AND CAST(:debate_id AS TEXT) IS NULL)
        OR (coalesce(next_at, 0) <= moot_now() AND debate_id = CAST(:debate_id AS TEXT))
    )
    ORDER BY next_at LIMIT 1
    /*postgres FOR UPDATE SKIP LOCKED */
)
RETURNING *;

-- name: note_delivery
UPDATE workflows
SET delivered = :delivered, attempts = attempts + :attempts, result = :result, next_at = NULL
WHERE debate_id = :debate_id
RETURNING *;

-- name: note_worker
INSERT INTO workers (id, process, concurrency, started_at, seen_at)
VALUES (:id, :process, :concurrency, moot_now(), moot_now())
ON CONFLICT (id) DO UPDATE SET seen_at = moot_now()
RETURNING id;

-- name: remove_worker
-- Its own row, and those of workers that have been gone for long.
DELETE FROM workers WHERE id = :id OR seen_at < moot_now() - 86400 RETURNING id;

-- name: list_workers
SELECT * FROM workers WHERE seen_at >= moot_now() - :seconds ORDER BY started_at, id;

-- name: count_failures
SELECT code, count(*) AS count FROM failures GROUP BY code;

-- name: count_debates
-- Also those that were deleted.
SELECT status, format, deleted_at IS NOT NULL AS hidden, count(*) AS count
FROM debates GROUP BY status, format, deleted_at IS NOT NULL;

-- name: list_running
SELECT id, run, owner FROM debates WHERE deleted_at IS NULL AND status IN ('running', 'stopping');

-- name: is_read_only
-- Asked as a write: an SQLite file that cannot be written to has refused by now.
SELECT /*postgres current_setting('transaction_read_only') = 'on' */ /*sqlite FALSE */ AS is_read_only;

-- name: insert_delivery
-- In the transaction that ends the run; the same again is no change.
INSERT INTO deliveries (id, debate_id, run, event, hook, payload, next_at)
VALUES (:id, :debate_id, :run, :event, :hook, :payload, :next_at)
ON CONFLICT (id) DO NOTHING
RETURNING id;

-- name: list_deliveries
SELECT * FROM deliveries WHERE debate_id = :debate_id ORDER BY run, event, hook;

-- name: take_deliveries
-- What is due for these webhooks (a JSON list), the longest due first: nobody else gets it before the lease is over.
UPDATE deliveries
SET attempts = attempts + 1, next_at = moot_now() + :lease_seconds
WHERE id IN (
    SELECT id FROM deliveries
    WHERE next_at <= moot_now()
        AND hook IN (
            SELECT value
            FROM /*sqlite json_each(:hooks) */ /*postgres json_array_elements_text(CAST(:hooks AS JSON)) */
        )
    ORDER BY next_at, id LIMIT :limit
    /*postgres FOR UPDATE SKIP LOCKED */
)
RETURNING *;

-- name: note_attempt
-- Only the latest attempt tells; `again_in` is NULL when there will be no other.
UPDATE deliveries
SET delivered_at = CASE WHEN :delivered THEN moot_now() END,
    next_at = moot_now() + CAST(:again_in AS DOUBLE PRECISION),
    result = :result
WHERE id = :id AND attempts = :attempts AND delivered_at IS NULL
RETURNING id;
