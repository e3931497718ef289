"""A debate as any reader sees it, built once."""
