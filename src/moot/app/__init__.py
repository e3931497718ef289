"""Everything a user can do with debates, whoever runs them."""

from moot.app.app import LONGEST_TOPIC, LONGEST_WORDS, App, check_topic
from moot.app.wiring import build, open_store

__all__ = ["LONGEST_TOPIC", "LONGEST_WORDS", "App", "build", "check_topic", "open_store"]
