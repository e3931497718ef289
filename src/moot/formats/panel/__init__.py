"""The panel: perspectives before a moderator."""
