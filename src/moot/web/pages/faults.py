"""What is wrong with a form, in the words of the page: never those of the checks behind it, or of a command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from moot.errors import fault_words

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

WORDS: Mapping[str, str] = {
    "missing": "This is needed.",
    "int": "Write a whole number, such as 5.",
    "float": "Write a number, such as 0.5.",
    "bool": "Choose yes or no.",
    "string": "Write some text here.",
    "dict": "Write one name = value on each line.",
    "list": "Write them with commas between.",
    "extra_forbidden": "There is no such setting.",
}
"""Where a form asks otherwise than a file of settings."""
LISTED, GONE = "moot debate --list shows the latest", "it was deleted, or there never was one"
TO_PEOPLE = (
    (r"there is nothing at .*", "Nothing has this address: it is mistyped, or what was here is gone."),
    (
        r"\S+ takes [A-Z, ]+, not [A-Z]+",
        "This address takes nothing that is sent in this way. Use what is on the page.",
    ),
    (
        r"the body is over (\d+) kB; send less",
        r"What you sent is over \1 kB, and nothing of it was kept. Send less.",
    ),
    (r".* is no cursor; .*", "This part of the list cannot be found any more. Begin with the newest debates."),
    (
        r"requests from other sites are refused",
        "A page of another site sent this. Nothing was done.",
    ),
)
"""What is told to programs, and the same for people."""
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")


def fault_text(fault: ErrorDetails) -> str:
    """What to do about one fault that a check of settings has found."""
    known = WORDS.get(re.sub("_(type|parsing|from_float)$", "", fault["type"]))
    return known or sentence(fault_words({**fault, "input": None}))  # which stands in its field


def own_words(message: str) -> str:
    """A message of moot's as a page says it: an option of a command is a field here, and there are no commands."""
    message = message.replace(LISTED, GONE)
    for told, plain in TO_PEOPLE:
        message = re.sub(rf"\A{told}\Z", plain, message)
    return sentence(OPTION.sub(lambda option: option[1].replace("-", " "), message))


def sentence(text: str) -> str:
    """With a full stop, and a capital unless it begins with a name such as a file's."""
    text = text.strip()
    begins = text[:1].upper() if text.partition(" ")[0].rstrip(",:;").isalpha() else text[:1]
    return f"{begins}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"
