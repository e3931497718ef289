-- What webhooks are to be told: kept in the transaction that ends a run, taken for a while by whoever sends it.

CREATE TABLE deliveries (
    id TEXT NOT NULL PRIMARY KEY, -- the receiver knows it by this, however often it is sent
    debate_id TEXT NOT NULL REFERENCES debates (id),
    run INTEGER NOT NULL,
    event TEXT NOT NULL,
    hook TEXT NOT NULL, -- the name of a webhook; its address may hold a key, and stands in moot.yaml alone
    payload TEXT NOT NULL, -- JSON
    attempts INTEGER NOT NULL DEFAULT 0,
    next_at DOUBLE PRECISION, -- due then; NULL when it is delivered or given up
    delivered_at DOUBLE PRECISION,
    result TEXT NOT NULL DEFAULT ''
);
CREATE INDEX deliveries_of_debate ON deliveries (debate_id, run);
CREATE INDEX deliveries_due ON deliveries (next_at) WHERE next_at IS NOT NULL;
