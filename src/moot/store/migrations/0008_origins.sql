-- The debates that began as copies of another are found by it.

CREATE INDEX debates_by_origin ON debates (origin_debate) WHERE origin_debate IS NOT NULL;
