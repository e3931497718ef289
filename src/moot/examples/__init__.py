"""Debates that ship with moot, recorded from a large model: to be watched without a key."""
