"""Words of people before they are stored: clean, and of a length that fits."""

from __future__ import annotations

import secrets

from moot.core.debate import Action
from moot.errors import InvalidInput
from moot.text.plain import clean, one_line, shortened

ID_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
MAX_TOPIC = 4000
MAX_BACKGROUND = 20_000
MAX_WORDS = 2000
MAX_NAME = 80


def new_id(kind: str) -> str:
    return f"{kind}-" + "".join(secrets.choice(ID_LETTERS) for _ in range(8))


def check_words(action: Action, text: str) -> str:
    text = check_text(text)
    if not text and action in ("guide", "answer"):
        raise InvalidInput(f"`{action}` needs a text: say what you want the debate to hear")
    return text


def check_name(name: str) -> str:
    """A person's name as it is stored: a line of a length that fits beside their words."""
    return shortened(one_line(str(clean(name))).strip(), MAX_NAME)


def check_text(text: str, most: int = MAX_WORDS, what: str = "that text") -> str:
    text = str(clean(text)).strip()
    if len(text) > most:
        raise InvalidInput(f"{what} has {len(text)} characters; at most {most} are allowed")
    return text


def check_topic(topic: str) -> str:
    topic = check_text(topic, MAX_TOPIC, "the topic")
    if not topic:
        raise InvalidInput("the topic is empty: write the question to debate")
    return topic
