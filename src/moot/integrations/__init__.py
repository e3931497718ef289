"""Debates inside other tools: each module is a thin adapter over the app and its queue."""
