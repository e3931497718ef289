"""What the skeptic hands in, and what a proposal replies to it; a form that is merely sloppy is no reason to ask again.

Whatever decides (scores, issues, readiness) is read from the skeptic's form alone, never from anybody's prose.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, WithJsonSchema

from moot.core.debate import Answer
from moot.core.fields import MAX_ITEMS, Flag, Score, Text, Words, at_most, text

Severity = Literal["critical", "major", "minor"]

_NUMBERS = r"#?\d{1,4}(?:(?:[ \t]*(?:,|&|and)[ \t]*){1,2}#?\d{1,4}){0,11}"
_REPLY = re.compile(
    rf"(?P<start>^[^\w\n]{{0,8}})?\bissues?[ \t]+(?P<numbers>{_NUMBERS})(?!\d)(?:[ \t]*\([^()\n]{{0,80}}\))?"
    r"[*_]{0,4}[ \t]*(?(start)[:.–—]?|(?::|–|—|$))",
    re.IGNORECASE | re.MULTILINE,
)
"""At the beginning of a line the number will do; within one it takes a colon or a dash."""


def _letters(value: object) -> object:
    return re.sub(r"[^a-z]", "", value.casefold()) if isinstance(value, str) else value


def _said(value: Any) -> Any:
    """The issues that say something."""
    items = [value] if isinstance(value, dict) else value or []
    if not isinstance(items, list):
        return items
    named = [{**item, "text": _named(item)} if isinstance(item, dict) else item for item in items]
    return [item for item in named if not isinstance(item, dict) or item["text"]][:MAX_ITEMS]


def _named(issue: dict[str, Any]) -> str:
    """What an issue says, under whatever name."""
    said = (str(text(issue.get(name))) for name in ("text", "issue", "description"))
    return next((words for words in said if words.strip()), "")


def _issue_numbers(value: Any) -> list[int]:
    """The numbers in a list of them, in whatever form they are named."""
    items = value if isinstance(value, list) else re.split(r"[,;\s]+", str(value))
    named = (item.get("number") if isinstance(item, dict) else item for item in items)
    found = (re.search(r"(?<![-.\d])\d{1,6}", str(item)) for item in named)
    return [int(match[0]) for match in found if match]


Line = Annotated[Text, AfterValidator(lambda words: " ".join(words.split()))]
Numbers = Annotated[list[int], BeforeValidator(_issue_numbers), at_most(24, "maxItems")]


class Raised(BaseModel):
    """An issue as the skeptic raises it, before it has a number."""

    severity: Annotated[Severity, BeforeValidator(_letters)]
    passage: Annotated[Line, at_most(200)] = ""
    text: Annotated[Line, at_most(300)]


class Critique(Answer):
    """What the skeptic thinks of a proposal; without a score it decides nothing."""

    shown = "review"

    review: Annotated[Words, at_most(1500)]
    upheld: Numbers = Field(default_factory=list)
    withdrawn: Numbers = Field(default_factory=list)
    issues: Annotated[list[Raised], BeforeValidator(_said), at_most(6, "maxItems")] = Field(default_factory=list)
    score: Annotated[Score | None, WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 10})]
    ready: Flag = False

    @classmethod
    def fallback(cls) -> Self:
        return cls(review="The skeptic's critique could not be read; nothing follows from it.", score=None)


def replies(proposal: str) -> dict[int, str]:
    """Issue number → what a proposal says to it, in the paragraph that begins with "Issue 2:" or the like."""
    marks = list(_REPLY.finditer(proposal))
    found: dict[int, str] = {}
    for mark, following in zip_longest(marks, marks[1:]):
        rest = proposal[mark.end() : following.start() if following else len(proposal)].strip()
        paragraph = re.split(r"\n[ \t]*\n", rest, maxsplit=1)[0]
        if text := " ".join(paragraph.strip("*_-–—:> \t\n").split()):
            found |= {int(number): text for number in re.findall(r"\d+", mark["numbers"])}
    return found
