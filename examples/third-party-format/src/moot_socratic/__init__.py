"""Socratic questioning: one model holds a thesis, another asks until it stands or contradicts itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field

from moot.core.debate import Answer, Outcome, Point, Seat, Settings, speech_key
from moot.core.format import Format
from moot.core.script import Debate, Script

Standing = Literal["stands", "contradicted", "open"]


class SocraticSettings(Settings):
    max_rounds: int = Field(4, ge=1, le=20)
    tone: Literal["kind", "stern"] = Field("kind", description="how the questions sound")


class Question(Answer):
    """What the questioner hands in."""

    shown = "question"

    question: str
    contradiction: bool = False

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

    def headline(self) -> str:
        said = {"stands": "The thesis stands", "contradicted": "The thesis contradicts itself", "open": "It stays open"}
        return f"{said[self.standing]}, after {self.questions} question{'s' if self.questions != 1 else ''}"

    def table(self) -> tuple[tuple[str, ...], ...]:
        return (("questions", "the thesis"), (str(self.questions), self.standing))


def script(debate: Debate[SocraticSettings]) -> Script[Examined]:
    questions = 0
    with debate.until_closing():
        for round in debate.rounds(("questioner", "holder"), closing=["questioner"]):
            asked = yield from debate.ask("questioner", "question", round, answer=Question)
            questions += 1
            if (asked.data or {}).get("contradiction"):
                debate.end_rounds("contradiction")
            else:
                yield from debate.ask("holder", "reply", round)
    closing = yield from debate.ask("questioner", "verdict", answer=Verdict)
    verdict = Verdict.model_validate(closing.data)
    caveats = ["the verdict could not be read"] if "fallback" in closing.marks else []
    return Examined(summary=verdict.reasoning, standing=verdict.standing, questions=questions, caveats=caveats)


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
)
