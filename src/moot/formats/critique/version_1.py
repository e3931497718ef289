"""What version 1 read otherwise, for critiques that began under it.

Replies stood in the proposer's prose, what the skeptic did not take up again counted as answered, and only a critical
issue kept the rounds going.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Annotated, Self

from pydantic import BeforeValidator, Field

from moot.core.debate import Answer
from moot.core.fields import Flag, ScoreOrNone, Words, at_most
from moot.formats.critique.answers import Issues, Ruling, issue_numbers

Numbers = Annotated[list[int], BeforeValidator(issue_numbers), at_most(24, "maxItems")]
_NUMBERS = r"#?\d{1,4}(?:(?:[ \t]*(?:,|&|and)[ \t]*){1,2}#?\d{1,4}){0,11}"
_REPLY = re.compile(
    rf"(?P<start>^[^\w\n]{{0,8}})?\bissues?[ \t]+(?P<numbers>{_NUMBERS})(?!\d)(?:[ \t]*\([^()\n]{{0,80}}\))?"
    r"[*_]{0,4}[ \t]*(?(start)[:.–—]?|(?::|–|—|$))",
    re.IGNORECASE | re.MULTILINE,
)
"""At the beginning of a line the number will do; within one it takes a colon or a dash."""


class Critique(Answer):
    """What the skeptic thinks of a proposal; without a score it decides nothing."""

    shown = "review"

    review: Annotated[Words, at_most(1500)]
    upheld: Numbers = Field(default_factory=list)
    withdrawn: Numbers = Field(default_factory=list)
    issues: Issues = Field(default_factory=list)
    score: ScoreOrNone
    ready: Flag = False

    @classmethod
    def fallback(cls) -> Self:
        return cls(review="The skeptic's critique could not be read; nothing follows from it.", score=None)

    def ruling(self, issue: int, replied: bool) -> Ruling | None:
        """One that is both upheld and withdrawn is upheld; one that was replied to and is not mentioned is answered."""
        if issue in self.upheld:
            return Ruling(issue=issue, status="upheld")
        if issue in self.withdrawn:
            return Ruling(issue=issue, status="withdrawn")
        return Ruling(issue=issue, status="answered") if replied and self.score is not None else None


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
