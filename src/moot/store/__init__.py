"""Keeping debates: SQLite and Postgres behind one port."""
