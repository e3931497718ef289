"""What an evaluation is given: the idea, the topics to argue, and what is already known of scores and challenges."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, StringConstraints, model_validator

from moot.core.debate import Seat, Settings
from moot.text.language import Language, language_of, languages
from moot.trust.depth import JurySettings, jury

Level: TypeAlias = Literal["low", "medium", "high"]

MAX_IDEA = 40_000
MAX_PASSAGE = 2000
OVERALL = "overall"
SIDES = ("advocate", "challenger")
ARBITER = Seat("arbiter", "Arbiter", "judge", max_tokens=500, temperature=0.2)
SEATS = (
    Seat("evaluator", "Evaluator", "judge", max_tokens=700, temperature=0.2),
    Seat("advocate", "Advocate", "debater", max_tokens=600),
    Seat("challenger", "Challenger", "debater", max_tokens=600),
    Seat("red_team", "Red team", "debater", max_tokens=700, temperature=0.8),
    ARBITER,
    *jury(ARBITER),
)
TITLES = {seat.name: seat.title for seat in SEATS}


def _line(longest: int) -> StringConstraints:
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=longest, pattern=r"^[^\x00-\x1f\x7f]*$")


def _under(field: str) -> Callable[[object], object]:
    """A bare value stands for an object with nothing but this field."""
    return lambda value: value if isinstance(value, dict | BaseModel) else {field: value}


def _can_name_a_category(name: str) -> str:
    if not re.fullmatch(r"[^\W\d_][\w -]{0,39}", name):
        raise ValueError(f"{name!r} cannot name a category: begin with a letter, then letters, digits, spaces, hyphens")
    if name == OVERALL:
        raise ValueError(f"{OVERALL!r} is the score of all categories together; name the category otherwise")
    return name


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Name: TypeAlias = Annotated[str, _line(120)]
Category: TypeAlias = Annotated[
    str, StringConstraints(strip_whitespace=True, to_lower=True), AfterValidator(_can_name_a_category)
]
Position: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]
Passage: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_PASSAGE)]
Points: TypeAlias = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]
Weight: TypeAlias = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]


class Given(BaseModel, extra="forbid"):
    """Something a person has written down for an evaluation; a field nobody knows is a mistake."""


class Topic(Given):
    """A question that both sides argue, and the category whose score it moves."""

    name: Name
    category: Category
    advocate: Position
    challenger: Position


class CategoryRating(Given):
    """What a category has been given, and why."""

    score: Points
    evidence: Annotated[list[Passage], BeforeValidator(_listed), Field(max_length=20)] = Field(default_factory=list)
    confidence: Level = "medium"


class Evaluation(Given):
    """The scores an idea comes with; a category may be a bare score."""

    categories: dict[Category, Annotated[CategoryRating, BeforeValidator(_under("score"))]] = Field(
        min_length=1, max_length=40
    )


class Challenge(Given):
    """What a red team holds against an idea; without a category it concerns them all."""

    challenge: Passage
    category: Category | None = None
    severity: Level = "medium"


Challenges: TypeAlias = Annotated[
    list[Annotated[Challenge, BeforeValidator(_under("challenge"))]], Field(min_length=1, max_length=50)
]
Topics: TypeAlias = Annotated[list[Topic], Field(min_length=1, max_length=50)]


def default_topics(say: Language) -> list[Topic]:
    argued = (
        (
            "problem",
            say("Problem validity"),
            say("The problem is real and significant."),
            say("The problem is overstated or niche."),
        ),
        (
            "solution",
            say("Solution fit"),
            say("The solution effectively addresses the problem."),
            say("The solution has critical flaws."),
        ),
        (
            "market",
            say("Market opportunity"),
            say("The market is large and accessible."),
            say("The market is limited or saturated."),
        ),
    )
    return [
        Topic(name=name, category=category, advocate=advocate, challenger=challenger)
        for category, name, advocate, challenger in argued
    ]


DEFAULT_TOPICS = tuple(default_topics(languages()["en"]))


class FirstSettings(Settings):
    """What can be chosen from version 1 on.

    Unless they are chosen, max_rounds and max_total_output_tokens leave room for every topic.
    """

    idea: str = Field("", max_length=MAX_IDEA, description="the idea's text; without one the topic is the idea")
    idea_key: str = Field("", max_length=200, description="by which later evaluations of the same idea find this one")
    evaluation: Evaluation | None = Field(None, description="the scores so far; what is missing is scored first")
    challenges: Challenges | None = Field(None, description="a red team's; without them one is asked first")
    topics: Topics = Field(default_factory=lambda: list(DEFAULT_TOPICS), description="what is argued, in this order")
    weights: dict[Category, Weight] = Field(default_factory=dict, description="category → weight, 1 unless given")
    exchanges: int = Field(1, ge=0, le=3, description="how often each side answers the other")
    parallel_topics: int = Field(3, ge=1, le=20, description="so many topics are argued at the same time")
    debate: bool = Field(True, description="argue the topics; without it the idea is only scored")

    @property
    def most_judgings(self) -> int:
        return 1

    @property
    def rescorings(self) -> int:
        return 0

    @property
    def categories(self) -> tuple[str, ...]:
        """All that have a score, those of the topics first."""
        scored = self.evaluation.categories if self.evaluation else {}
        return tuple(dict.fromkeys([*(topic.category for topic in self.topics), *scored]))

    @property
    def unscored(self) -> tuple[str, ...]:
        scored = self.evaluation.categories if self.evaluation else {}
        return tuple(category for category in self.categories if category not in scored)

    def quotable(self, topic: str) -> str:
        """All that may be quoted as the idea's own words."""
        return f"{topic}\n\n{self.idea}"

    def own_words(self, topic: str) -> str:
        return self.quotable(topic)

    def weight(self, category: str) -> float:
        return self.weights.get(category, 1.0)

    def cap(self, seat: str) -> int:
        return self.max_tokens.get(seat, next(known.max_tokens for known in SEATS if known.name == seat))

    @model_validator(mode="after")
    def _usual_topics_speak_the_idea_s_language(self) -> Self:
        if "topics" not in self.model_fields_set:
            self.topics = default_topics(language_of(self.idea, self.language))
        return self

    @model_validator(mode="after")
    def _topics_are_distinct(self) -> Self:
        names = [topic.name.casefold() for topic in self.topics]
        if twice := next((topic.name for topic in self.topics if names.count(topic.name.casefold()) > 1), None):
            raise ValueError(f"two topics are named {twice!r}; give each its own name")
        return self

    @model_validator(mode="after")
    def _weights_weigh_something(self) -> Self:
        known = ", ".join(self.categories)
        for category in self.weights:
            if category not in self.categories:
                raise ValueError(f"there is no category {category!r} to weigh; the categories: {known}")
        if not sum(map(self.weight, self.categories)):
            raise ValueError(f"all weights are 0; give one of these more: {known}")
        return self

    @model_validator(mode="after")
    def _limits_leave_room(self) -> Self:
        chosen = self.model_fields_set
        if "max_rounds" not in chosen:
            self.max_rounds = len(self.topics)
        if "max_total_output_tokens" not in chosen:
            sides = (1 + self.exchanges) * sum(map(self.cap, SIDES))
            before = self.cap("evaluator") + self.cap("red_team")
            needed = before + len(self.topics) * (sides + self.cap("arbiter"))
            self.max_total_output_tokens = max(self.max_total_output_tokens, needed)
        return self


class EvaluationSettings(JurySettings, FirstSettings):
    """Unless it is chosen, max_check_output_tokens leaves room for every judging."""

    @model_validator(mode="after")
    def _checks_leave_room(self) -> Self:
        if "max_check_output_tokens" not in self.model_fields_set:
            judgings = len(self.topics) * (self.most_judgings - 1) * self.cap("arbiter")
            needed = judgings + self.rescorings * self.cap("evaluator")
            self.max_check_output_tokens = max(self.max_check_output_tokens, needed)
        return self
