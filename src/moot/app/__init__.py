"""Everything a user can do with debates, whoever runs them."""

from moot.app.app import App
from moot.app.wiring import START_SECONDS, build
from moot.app.words import MAX_TOPIC, MAX_WORDS, check_topic
from moot.store.opening import open_store

__all__ = ["MAX_TOPIC", "MAX_WORDS", "START_SECONDS", "App", "build", "check_topic", "open_store"]
