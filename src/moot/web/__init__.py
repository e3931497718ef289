"""Debates over HTTP: a JSON API and live events."""
