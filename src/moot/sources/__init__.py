"""What a debate argues from: documents, their passages, and whether a quote stands there. Knows nothing of debates."""
