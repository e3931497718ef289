"""What the skeptic hands in, and what the proposer replies; a form that is merely sloppy is no reason to ask again.

Whatever decides (scores, issues, readiness) is read from the skeptic's form alone, never from anybody's prose.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    computed_field,
)

from moot.core.debate import Answer
from moot.core.fields import MAX_ITEMS, Flag, Score, ScoreOrNone, Text, Words, at_most, letters, readable, text

Severity = Literal["critical", "major", "minor"]


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


def issue_numbers(value: Any) -> list[int]:
    """The numbers in a list of them, in whatever form they are named."""
    items = value if isinstance(value, list) else re.split(r"[,;\s]+", str(value))
    named = (item.get("number") if isinstance(item, dict) else item for item in items)
    found = (re.search(r"(?<![-.\d])\d{1,6}", str(item)) for item in named)
    return [int(match[0]) for match in found if match]


def _issue_number(value: object) -> object:
    """`2`, `"#2"`, `"Issue 2"`."""
    return next(iter(issue_numbers([value])), value)


Line = Annotated[Text, AfterValidator(lambda words: " ".join(words.split()))]


class Raised(BaseModel):
    """An issue as the skeptic raises it, before it has a number."""

    severity: Annotated[Severity, BeforeValidator(letters)]
    passage: Annotated[Line, at_most(200)] = ""
    text: Annotated[Line, at_most(300)]


Issues = Annotated[list[Raised], BeforeValidator(_said), at_most(6, "maxItems")]


class Ruling(BaseModel):
    """What the skeptic makes of an open issue."""

    issue: Annotated[int, BeforeValidator(_issue_number)]
    status: Annotated[Literal["answered", "upheld", "withdrawn"], BeforeValidator(letters)]
    why: Annotated[Line, at_most(300)] = ""


class Reply(BaseModel):
    """What the proposer says to an issue."""

    issue: Annotated[int, BeforeValidator(_issue_number)]
    concedes: Flag = False
    reply: Annotated[Line, at_most(600)] = ""


class Proposal(Answer):
    """The improved answer, and the replies to what is held against it, each by the number of its issue."""

    shown = "answer"
    unread = "(This answer could not be read.)"
    may_be_prose = True

    replies: Annotated[list[Reply], BeforeValidator(readable(Reply)), at_most(24, "maxItems")] = Field(
        default_factory=list
    )
    answer: Words


class Rescored(Answer):
    """What the skeptic gives an answer once more; without a score it decides nothing."""

    shown = "told"

    score: ScoreOrNone
    ready: Flag = False

    @computed_field  # type: ignore[prop-decorator]
    @property
    def told(self) -> str:
        if self.score is None:
            return "–"
        return f"{self.score:g}/10, {'ready' if self.ready else 'not ready'}"

    @classmethod
    def fallback(cls) -> Self:
        return cls(score=None)


class Comparison(Answer):
    """Two answers, compared by somebody who knows neither: the final answer is A, the first proposal B."""

    shown = "reason"

    reason: Annotated[Words, at_most(400)]
    score_a: Score
    score_b: Score

    @classmethod
    def fallback(cls) -> Self:
        return cls.model_construct(reason="The comparison could not be read.", score_a=5.0, score_b=5.0)  # type: ignore[return-value]


class Critique(Answer):
    """What the skeptic thinks of an answer; without a score it decides nothing."""

    shown = "review"

    review: Annotated[Words, at_most(1500)]
    rulings: Annotated[list[Ruling], BeforeValidator(readable(Ruling)), at_most(24, "maxItems")] = Field(
        default_factory=list
    )
    issues: Issues = Field(default_factory=list)
    score: ScoreOrNone
    ready: Flag = False

    @classmethod
    def fallback(cls) -> Self:
        return cls(review="The skeptic's critique could not be read; nothing follows from it.", score=None)

    @classmethod
    def made_up(cls) -> Self:
        return cls(review="It is not ready.", issues=[Raised(severity="critical", text="It is wrong.")], score=None)

    def ruling(self, issue: int, replied: bool) -> Ruling | None:
        """What becomes of an issue: nothing where it is not mentioned; upheld where rulings contradict each other."""
        found = [each for each in self.rulings if each.issue == issue] if self.score is not None else []
        return next((each for each in found if each.status == "upheld"), found[0] if found else None)
