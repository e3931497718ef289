"""Who runs a debate and tells of it: lease, takeover, retries, queue, live text."""
