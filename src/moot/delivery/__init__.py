"""Results handed to other programs: webhooks, issues."""
