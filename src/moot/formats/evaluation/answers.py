"""What the seats hand in: scores, challenges, arguments, rebuttals and judgments.

A sloppy form is read as what it means ("8/10", one text where a list belongs); missing substance is not made up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, partial
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    WithJsonSchema,
    computed_field,
    create_model,
    model_validator,
)

from moot.core.debate import Answer, Turn
from moot.core.fields import Score, Text, Words, at_most, texts
from moot.formats.evaluation.scores import ScoreVerdict, Winner
from moot.formats.evaluation.settings import MAX_PASSAGE, CategoryRating, Challenge, Level

MAX_ARGUMENTS = 4
MAX_CHALLENGES = 12
MAX_POINTS = 6
NO_QUOTE = {"-", "–", "n/a", "none", "null", "no quote", "no evidence"}
AROUND_QUOTES = '"“”„«»' + "".join(filter(str.isspace, map(chr, range(0x3001))))
"""Marks and white space of every kind, in any order."""
PLACEHOLDER = 5.0
"""The score of what could not be scored."""
LEVELS: tuple[tuple[float, Level], ...] = ((0.75, "high"), (0.4, "medium"), (0.0, "low"))
"""From which share of certainty on a confidence given as a number is called so."""


def _level(value: object) -> object:
    """Low, medium or high; whoever says neither is not sure."""
    if isinstance(value, str):
        words = value.lower()
        if named := next((level for level in ("high", "medium", "low") if level in words), None):
            return named
        share = re.search(r"\d+(?:\.\d+)?", words)
        value = float(share[0]) if share else 0.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "low"
    share_of_one = value if value <= 1 else value / 10 if value <= 10 else value / 100
    return next((level for least, level in LEVELS if share_of_one >= least), "low")


def _objects(field: str, value: object) -> object:
    """A list of objects, where one object or bare words stand for it too."""
    parts = value if isinstance(value, list) else [] if value is None else [value]
    return [{field: part} if isinstance(part, str) else part for part in parts]


def _unquoted(text: str) -> str:
    """A quote without its marks; a model that has none says so in many ways."""
    text = text.strip(AROUND_QUOTES)
    return "" if text.lower().strip(".") in NO_QUOTE else text


def _first(number: int, parts: list[Any]) -> list[Any]:
    return parts[:number]


def _numbers(value: object) -> list[int]:
    """The numbers of arguments, however they are listed: `[1, "argument 2"]`, `"1 and 2"`."""
    if value in (None, []):
        return []
    parts = value if isinstance(value, list) else [value]
    return sorted({*map(int, re.findall(r"(?<![-.\d])\d{1,3}(?!\.?\d)", "\n".join(map(str, parts))))})


Quote: TypeAlias = Annotated[Text, AfterValidator(_unquoted)]
Texts: TypeAlias = Annotated[
    list[Annotated[str, at_most(150)]], BeforeValidator(texts), AfterValidator(partial(_first, MAX_POINTS))
]
Confidence: TypeAlias = Annotated[Level, BeforeValidator(_level)]
Numbers: TypeAlias = Annotated[list[int], BeforeValidator(_numbers), at_most(MAX_ARGUMENTS, "maxItems")]


class Rated(BaseModel):
    score: Score
    evidence: Annotated[Quote, at_most(200)] = ""
    confidence: Confidence = "low"


def _by_category(value: object) -> object:
    """Category → rating, from a list of ratings and from bare scores too."""
    if isinstance(value, list):
        value = {str(part.get("category") or part.get("name")): part for part in value if isinstance(part, dict)}
    if not isinstance(value, dict):
        return value
    rated = ((str(name).strip().lower(), part) for name, part in value.items())
    return {name: part if isinstance(part, dict | Rated) else {"score": part} for name, part in rated}


class Scores(Answer):
    """What the evaluator hands in; `scores_for` says of which categories."""

    shown = "summary"
    categories: ClassVar[tuple[str, ...]] = ()

    summary: Annotated[Words, at_most(400)]
    scores: Annotated[dict[str, Rated], BeforeValidator(_by_category)]

    @classmethod
    def fallback(cls) -> Self:
        summary = "The evaluator's answer could not be read, so every category starts from the middle of the scale."
        return cls.model_validate({"summary": summary, "scores": dict.fromkeys(cls.categories, PLACEHOLDER)})


def _complete(categories: tuple[str, ...], scores: dict[str, Rated]) -> dict[str, Rated]:
    if missing := [category for category in categories if category not in scores]:
        raise ValueError(f"there is no score for {', '.join(missing)}")
    return {category: scores[category] for category in categories}


@cache
def scores_for(*categories: str) -> type[Scores]:
    """The answer of an evaluator who is asked for exactly these categories."""
    schema = {"type": "object", "properties": dict.fromkeys(categories, Rated.model_json_schema())}
    scores = Annotated[
        dict[str, Rated],
        BeforeValidator(_by_category),
        AfterValidator(partial(_complete, categories)),
        WithJsonSchema(schema),
    ]
    made: type[Scores] = create_model("Scores", __base__=Scores, scores=(scores, ...))
    made.categories = categories
    return made


class Raised(BaseModel):
    challenge: Annotated[Words, at_most(240)]
    category: Annotated[Text, at_most(40)] = ""
    severity: Confidence = "medium"


class RedTeam(Answer):
    """What the red team hands in."""

    shown = "summary"

    summary: Annotated[Words, at_most(200)]
    challenges: Annotated[
        list[Raised],
        at_most(8, "maxItems"),
        Field(min_length=1),
        BeforeValidator(partial(_objects, "challenge")),
        AfterValidator(partial(_first, MAX_CHALLENGES)),
    ]

    @model_validator(mode="after")
    def _summary_tells_them(self) -> Self:
        self.summary = with_lines(self.summary, [f"- {one.challenge}" for one in self.challenges])
        return self

    @classmethod
    def fallback(cls) -> Self:
        """Without challenges, which are nobody's to invent."""
        summary = "The red team's answer could not be read, so the challenger argues without it."
        return cls.model_construct(summary=summary, challenges=[])  # type: ignore[return-value]


class Argument(BaseModel):
    claim: Annotated[Words, at_most(150)]
    reasoning: Annotated[Words, at_most(360)]
    evidence: Annotated[Quote, at_most(150)] = ""
    """Words of the idea; code checks that they stand there."""


class Arguments(Answer):
    """What a side hands in on a topic."""

    shown = "case"
    quoting: ClassVar[str] = "(“{}”)"

    case: Annotated[Words, at_most(300)]
    arguments: Annotated[
        list[Argument],
        at_most(3, "maxItems"),
        Field(min_length=1),
        BeforeValidator(partial(_objects, "claim")),
        AfterValidator(partial(_first, MAX_ARGUMENTS)),
    ]

    @model_validator(mode="after")
    def _case_tells_them(self) -> Self:
        spoken = [_spoken(number, one, self.quoting) for number, one in enumerate(self.arguments, 1)]
        self.case = with_lines(self.case, spoken)
        return self

    @classmethod
    def fallback(cls) -> Self:
        """Without arguments, which are nobody's to invent."""
        return cls.model_construct(case="This side gave no argument that could be read.", arguments=[])  # type: ignore[return-value]


class Reply(Answer):
    """What a side answers, and what it concedes, by the numbers of the arguments: no word of prose decides that."""

    shown = "answer"
    unread = "This side gave no answer that could be read."
    may_be_prose = True

    answer: Annotated[Words, at_most(2400)]
    gives_up: Numbers = Field(default_factory=list)
    """Of its own arguments."""
    grants: Numbers = Field(default_factory=list)
    """Of the other side's."""


class Judgment(Answer):
    """What the arbiter has handed in on a topic from version 1 on; the winner follows from its scores."""

    shown = "reasoning"

    reasoning: Annotated[Words, at_most(700)]
    key_points: Annotated[Texts, at_most(4, "maxItems")] = Field(default_factory=list)
    strongest_advocate: Annotated[Text, at_most(150)] = ""
    strongest_challenger: Annotated[Text, at_most(150)] = ""
    score_advocate: Score
    score_challenger: Score
    confidence: Confidence = "low"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def winner(self) -> Winner:
        return ScoreVerdict(self.score_advocate, self.score_challenger, self.confidence).winner

    @classmethod
    def fallback(cls) -> Self:
        reasoning = "The arbiter's answer could not be read, so this topic moves no score."
        return cls.model_validate(
            {"reasoning": reasoning, "score_advocate": PLACEHOLDER, "score_challenger": PLACEHOLDER}
        )


class FullJudgment(Judgment):
    """What the arbiter hands in on a topic. What it says of its own confidence is kept, and used nowhere."""

    next_test: Annotated[Text, at_most(300)] = ""


def with_lines(text: str, lines: Sequence[str]) -> str:
    """The text followed by these lines, once: an answer is read again each time a debate is resumed."""
    listing = "\n\n" + "\n".join(lines)
    return text if text.endswith(listing) else text + listing


def _spoken(number: int, argument: Argument, quoting: str) -> str:
    claim = argument.claim if argument.claim[-1] in ".!?…" else f"{argument.claim}."
    quote = f" {quoting.format(argument.evidence)}" if argument.evidence else ""
    return " ".join(f"{number}. {claim} {argument.reasoning}{quote}".split())


# Reading turns


def ratings(turn: Turn) -> dict[str, CategoryRating]:
    """What the evaluator gave each category, and the quote it rests on."""
    scores = Scores.model_validate(turn.data).scores
    return {
        category: CategoryRating(
            score=rated.score,
            evidence=[rated.evidence[:MAX_PASSAGE]] if rated.evidence else [],
            confidence=rated.confidence,
        )
        for category, rated in scores.items()
    }


def rated(turn: Turn) -> str:
    return ", ".join(f"{name} {one.score:g} ({one.confidence})" for name, one in ratings(turn).items())


def challenges(turn: Turn, categories: Sequence[str]) -> list[Challenge]:
    """What the red team raised; a category that nobody scores is none."""
    if not (turn.data or {}).get("challenges"):
        return []
    return [
        Challenge(
            challenge=one.challenge[:MAX_PASSAGE],
            category=one.category.lower() if one.category.lower() in categories else None,
            severity=one.severity,
        )
        for one in RedTeam.model_validate(turn.data).challenges
    ]


def arguments(turn: Turn) -> tuple[Argument, ...]:
    if turn.kind != "argument" or not (turn.data or {}).get("arguments"):
        return ()
    return tuple(Arguments.model_validate(turn.data).arguments)


def reply(turn: Turn) -> Reply | None:
    """What a side answered in a form; it was prose in version 1."""
    return Reply.model_validate(turn.data) if turn.kind == "answer" and turn.data else None


def judgment(turn: Turn) -> FullJudgment:
    return FullJudgment.model_validate(turn.data)


def verdict(turn: Turn) -> ScoreVerdict:
    """As version 1 read it: with the arbiter's word for its confidence."""
    handed_in = judgment(turn)
    scores = (handed_in.score_advocate, handed_in.score_challenger)
    return ScoreVerdict(*scores, handed_in.confidence, fallback="fallback" in turn.marks)
