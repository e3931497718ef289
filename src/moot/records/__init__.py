"""Decisions as files that live."""
