-- What a server needs of a debate: to find it by words, to make it once, to hide it, and to know how long it waits.

ALTER TABLE debates ADD COLUMN search_text TEXT NOT NULL DEFAULT ''; -- the topic without the difference of cases
ALTER TABLE debates ADD COLUMN idempotency_key TEXT; -- whoever repeats a request to create it gets this one
ALTER TABLE debates ADD COLUMN waiting_since DOUBLE PRECISION; -- for its turn in the queue, or for a person
ALTER TABLE debates ADD COLUMN deleted_at DOUBLE PRECISION; -- hidden since then; nothing is ever removed

UPDATE debates SET search_text = lower(topic);
CREATE UNIQUE INDEX debates_by_key ON debates (idempotency_key);
