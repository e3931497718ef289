"""What the skeptic hands in, and what a proposal replies to it; a form that is merely sloppy is no reason to ask again.

Whatever decides (scores, issues, readiness) is read from the skeptic's form alone, never from anybody's prose.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema

from moot.model import Answer

Severity = Literal["critical", "major", "minor"]

MOST_ISSUES = 12
_NUMBERS = r"#?\d{1,4}(?:(?:[ \t]*(?:,|&|and)[ \t]*){1,2}#?\d{1,4}){0,11}"
_REPLY = re.compile(
    rf"(?P<start>^[^\w\n]{{0,8}})?\bissues?[ \t]+(?P<numbers>{_NUMBERS})(?!\d)(?:[ \t]*\([^()\n]{{0,80}}\))?"
    r"[*_]{0,4}[ \t]*(?(start)[:.–—]?|(?::|–|—|$))",
    re.IGNORECASE | re.MULTILINE,
)
"""At the beginning of a line the number will do; within one it takes a colon or a dash."""


def _number(value: Any) -> Any:
    """8 of "8/10"."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*/\s*10\s*", value) if isinstance(value, str) else None
    return found[1] if found else value


def _letters(value: Any) -> Any:
    return re.sub(r"[^a-z]", "", value.casefold()) if isinstance(value, str) else value


def _text(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else "" if value is None else value


def _flag(value: Any) -> Any:
    return False if value is None else value


def _said(value: Any) -> Any:
    """The issues that say something."""
    items = [value] if isinstance(value, dict) else value or []
    if not isinstance(items, list):
        return items
    named = [{**item, "text": _named(item)} if isinstance(item, dict) else item for item in items]
    return [item for item in named if not isinstance(item, dict) or item["text"]][:MOST_ISSUES]


def _named(issue: dict[str, Any]) -> str:
    """What an issue says, under whatever name."""
    said = (_text(issue.get(name)) for name in ("text", "issue", "description"))
    return next((text for text in map(str, said) if text.strip()), "")


def _issue_numbers(value: Any) -> list[int]:
    """The numbers in a list of them, in whatever form they are named."""
    items = value if isinstance(value, list) else re.split(r"[,;\s]+", str(value))
    named = (item.get("number") if isinstance(item, dict) else item for item in items)
    found = (re.search(r"(?<![-.\d])\d{1,6}", str(item)) for item in named)
    return [int(match[0]) for match in found if match]


# The schema says integer because grammars can bound integers; a skeptic that halves points is welcome all the same.
Score = Annotated[
    Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)] | None,
    BeforeValidator(_number),
    WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 10}),
]
Required = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), BeforeValidator(_text)]
Line = Annotated[str, AfterValidator(lambda text: " ".join(text.split())), BeforeValidator(_text)]
Numbers = Annotated[
    list[int],
    BeforeValidator(_issue_numbers),
    WithJsonSchema(  # bounded, as small models do not find the end of a list
        {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 999}, "maxItems": 2 * MOST_ISSUES}
    ),
]


class Raised(BaseModel):
    """An issue as the skeptic raises it, before it has a number."""

    model_config = ConfigDict(extra="ignore")

    severity: Annotated[Severity, BeforeValidator(_letters)]
    passage: Line = ""
    text: Line


class Critique(Answer):
    """What the skeptic thinks of a proposal; without a score it decides nothing."""

    shown = "review"

    review: Required
    upheld: Numbers = Field(default_factory=list)
    withdrawn: Numbers = Field(default_factory=list)
    issues: Annotated[list[Raised], BeforeValidator(_said), Field(max_length=MOST_ISSUES)] = Field(default_factory=list)
    score: Score
    ready: Annotated[bool, BeforeValidator(_flag)] = False

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
