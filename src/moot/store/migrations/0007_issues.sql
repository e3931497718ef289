-- When the issue of a workflow is to be handed over: later while a process is at it, NULL when that has ended.

ALTER TABLE workflows ADD COLUMN next_at DOUBLE PRECISION;
