"""A debate's events to many readers at once."""
