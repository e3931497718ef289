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


def check_text(text: str) -> str:
    text = str(clean(text)).strip()
    if len(text) > MAX_WORDS:
        raise InvalidInput(f"that text has {len(text)} characters; at most {MAX_WORDS} are allowed")
    return text


def check_background(background: str) -> str:
    background = str(clean(background)).strip()
    if len(background) > MAX_BACKGROUND:
        raise InvalidInput(f"the background has {len(background)} characters; at most {MAX_BACKGROUND} are allowed")
    return background


def check_topic(topic: str) -> str:
    topic = str(clean(topic)).strip()
    if not topic:
        raise InvalidInput("the topic is empty: write the question to debate")
    if len(topic) > MAX_TOPIC:
        raise InvalidInput(f"the topic has {len(topic)} characters; at most {MAX_TOPIC} are allowed")
    return topic
