"""What is wrong with a form, in the words of the page: never those of the checks behind it, or of a command line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

WORDS: Mapping[str, str] = {
    "missing": "This is needed.",
    "greater_than_equal": "At least {ge:g}.",
    "greater_than": "More than {gt:g}.",
    "less_than_equal": "At most {le:g}.",
    "less_than": "Less than {lt:g}.",
    "int_parsing": "Write a whole number, such as 5.",
    "int_type": "Write a whole number, such as 5.",
    "int_from_float": "Write a whole number, such as 5.",
    "int_parsing_size": "Write a smaller number.",
    "float_parsing": "Write a number, such as 0.5.",
    "float_type": "Write a number, such as 0.5.",
    "finite_number": "Write a number that is not infinite.",
    "bool_parsing": "Choose yes or no.",
    "literal_error": "Choose one of: {expected}.",
    "enum": "Choose one of: {expected}.",
    "string_type": "Write some text here.",
    "string_too_short": "At least {min_length} characters.",
    "string_too_long": "At most {max_length:,} characters.",
    "too_short": "Give at least {min_length}.",
    "too_long": "Give at most {max_length}.",
    "extra_forbidden": "There is no such setting.",
    "dict_type": "Write one name = value on each line.",
    "list_type": "Write them with commas between.",
}
LISTED, GONE = "moot debate --list shows the latest", "it was deleted, or there never was one"
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")


def fault_text(fault: ErrorDetails) -> str:
    """What to do about one fault that a check of settings has found."""
    known = WORDS.get(fault["type"])
    if known is None:
        return sentence(fault["msg"].removeprefix("Value error, "))
    about: dict[str, Any] = {**fault.get("ctx", {})}
    if "expected" in about:
        about["expected"] = str(about["expected"]).replace("'", "").replace(" or ", ", ")
    return known.format(**about)


def own_words(message: str) -> str:
    """A message of moot's as a page says it: an option of a command is a field here, and there are no commands."""
    message = message.replace(LISTED, GONE)
    return sentence(OPTION.sub(lambda option: option[1].replace("-", " "), message))


def sentence(text: str) -> str:
    """With a full stop, and a capital unless it begins with a name such as a file's."""
    text = text.strip()
    begins = text[:1].upper() if text.partition(" ")[0].rstrip(",:;").isalpha() else text[:1]
    return f"{begins}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"
