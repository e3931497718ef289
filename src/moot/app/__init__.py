"""Everything a user can do with debates, whoever runs them."""

from moot.app.app import MAX_TOPIC, MAX_WORDS, App, check_topic
from moot.app.wiring import build, open_store

__all__ = ["MAX_TOPIC", "MAX_WORDS", "App", "build", "check_topic", "open_store"]
