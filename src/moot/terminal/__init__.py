"""Debates in the terminal: commands, watching, asking, tables."""
