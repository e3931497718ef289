"""Socratic questioning: one model holds a thesis, another asks until it stands or contradicts itself."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field

from moot.model import (
    Answer,
    Bar,
    Debate,
    Format,
    LineChart,
    Outcome,
    Point,
    Question,
    Rows,
    Script,
    Seat,
    Series,
    Settings,
    Step,
    Threshold,
    Turn,
    speech_key,
)

SHAKEN = 7.0
"""From this doubt on a thesis is in danger."""
Standing = Literal["stands", "contradicted", "open"]


class SocraticSettings(Settings):
    max_rounds: int = Field(4, ge=1, le=20)
    tone: Literal["kind", "stern"] = Field("kind", title="The questioner is", description="how the questions sound")
    listen: bool = Field(True, title="Ask me after each reply", description="whether the thesis still holds for you")


class Asked(Answer):
    """What the questioner hands in."""

    shown = "question"

    question: str
    contradiction: bool = False
    doubt: float | None = Field(None, ge=0, le=10)

    @classmethod
    def from_prose(cls, text: str) -> Self | None:
        return cls(question=text) if text.strip() else None

    @classmethod
    def fallback(cls) -> Self:
        return cls(question="Could you say that again, in other words?")


class Verdict(Answer):
    """What the questioner concludes."""

    shown = "reasoning"

    reasoning: str
    standing: Standing

    @classmethod
    def fallback(cls) -> Self:
        return cls(reasoning="The verdict could not be read.", standing="open")


class Examined(Outcome):
    """What became of the thesis; `summary` is why."""

    standing: Standing
    questions: int
    doubt: float | None = None
    """The last one, from 0 to 10."""

    def headline(self) -> str:
        said = {"stands": "The thesis stands", "contradicted": "The thesis contradicts itself", "open": "It stays open"}
        return f"{said[self.standing]}, after {self.questions} question{'s' if self.questions != 1 else ''}"

    def table(self) -> Rows:
        doubt = "–" if self.doubt is None else Bar(self.doubt)
        return (("questions", "the thesis", "doubt at the end"), (str(self.questions), self.standing, doubt))


def script(debate: Debate[SocraticSettings]) -> Script[Examined]:
    with debate.until_closing():
        for round in debate.rounds(("questioner", "holder"), closing=["questioner"]):
            asked = yield from debate.ask("questioner", "question", round, answer=Asked)
            if Asked.model_validate(asked.data).contradiction:
                debate.end_rounds("contradiction")
                continue
            yield from debate.ask("holder", "reply", round)
            if debate.settings.listen and round < debate.settings.max_rounds:
                yield from _listen(debate, round)
    closing = yield from debate.ask("questioner", "verdict", answer=Verdict)
    return examined(debate, closing)


def _listen(debate: Debate[SocraticSettings], round: int) -> Generator[tuple[Step, ...], tuple[Turn, ...], None]:
    question = Question("Does the thesis still hold for you?", ("continue", "guide", "end"))
    heard = yield from debate.ask_person("listening", question, round)
    if heard.action == "end":
        debate.end_rounds("convinced")


def examined(debate: Debate[SocraticSettings], closing: Turn) -> Examined:
    verdict, doubts = Verdict.model_validate(closing.data), [*doubt_by_round(debate).values()]
    return Examined(
        summary=verdict.reasoning,
        standing=verdict.standing,
        questions=sum(turn.kind == "question" for turn in debate.transcript),
        doubt=doubts[-1] if doubts else None,
        caveats=["the verdict could not be read"] if "fallback" in closing.marks else [],
    )


def doubt_by_round(debate: Debate[Any]) -> dict[int, float]:
    asked = {turn.round: Asked.model_validate(turn.data) for turn in debate.transcript if turn.kind == "question"}
    return {round: each.doubt for round, each in asked.items() if round and each.doubt is not None}


def charts(debate: Debate[Any], outcome: Examined) -> Iterator[LineChart]:
    doubt = Series("Doubt", doubt_by_round(debate))
    yield LineChart("Doubt by round", [doubt], threshold=Threshold(SHAKEN, f"shaken from {SHAKEN:g} on"))


def points(debate: Debate[Any]) -> Iterator[Point]:
    """The thesis; every question speaks against it, and every reply against its question."""
    yield Point("thesis", debate.topic, title="Thesis", claim=True)
    last = "thesis"
    for turn in debate.transcript:
        if turn.kind == "question":
            last = speech_key(turn)
            yield Point.spoken(turn, attacks=["thesis"])
        elif turn.kind == "reply":
            yield Point.spoken(turn, supports=["thesis"], attacks=[last])


SOCRATIC = Format(
    name="socratic",
    version=1,
    summary="A questioner asks one question after the other until a thesis stands or contradicts itself.",
    settings=SocraticSettings,
    seats=(
        Seat("questioner", "Questioner", "judge", max_tokens=300, temperature=0.4),
        Seat("holder", "Holder", "debater", max_tokens=400),
    ),
    outcome=Examined,
    script=script,
    folder=Path(__file__).parent,
    points=points,
    charts=charts,
    first=("listen", "tone"),
    example="Courage is knowing what not to fear",
    reasons={
        "contradiction": "two replies contradicted each other",
        "convinced": "the person who asked had heard enough",
    },
    asker="questioner",
    actions={"continue": "Ask on", "guide": "Add something", "end": "I have heard enough"},
    unattended={"listen": False},
)
