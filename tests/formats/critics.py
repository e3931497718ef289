"""A critique on the stage: a library with two templates, and seats that answer from lists."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from moot.core.debate import JsonObject, Status, Step, Turn
from moot.core.engine import PlayerReply
from moot.core.format import AnyFormat
from moot.core.script import Debate
from moot.core.turn_writer import TurnWriter
from moot.errors import MootError
from moot.formats.critique.final_answer import FinalAnswer
from moot.formats.critique.format import CRITIQUE
from moot.llm.client import Request
from stage import Stage

FIRST = CRITIQUE.as_of(1)
TOPIC = "Prove that the square root of 2 is irrational"
TEMPLATES: list[JsonValue] = [
    {
        "name": "proof-by-contradiction",
        "title": "Proof by contradiction",
        "score": 0.9,
        "text": "## Steps\n1. Assume the negation.",
    },
    {"name": "induction", "title": "Induction", "score": 0.4, "text": "## Steps\n1. Show the first case."},
]
TITLES = {"proof-by-contradiction": "Proof by contradiction", "induction": "Induction"}
PROPOSAL = "Suppose it were p/q in lowest terms. Then p is even, and so is q, which cannot be."
ANSWER = "It is irrational: a fraction in lowest terms would have to be even twice."
REVIEW = "The step from p to q is missing."


class Library:
    """Finds the same templates for every question, or fails."""

    def __init__(self, fault: MootError | None = None, templates: list[JsonValue] = TEMPLATES) -> None:
        self.fault = fault
        self.templates = templates
        self.asked: list[Step] = []

    async def play(self, debate: Debate[Any], step: Step, voice: TurnWriter) -> PlayerReply:
        self.asked.append(step)
        if self.fault and step.variables["strict"]:
            raise self.fault
        if self.fault:
            return PlayerReply(str(self.fault), {"templates": []}, marks=("without:templates",))
        return PlayerReply("Proof by contradiction, Induction", {"templates": self.templates, "embedder": "words"})


class Critics:
    """Gives these critiques and proposals one after the other, the last one for ever."""

    def __init__(
        self, critiques: Sequence[str] = (), proposals: Sequence[str] = (PROPOSAL,), answer: str = ANSWER
    ) -> None:
        self._critiques = list(critiques) or [critique()]
        self._proposals = list(proposals)
        self._answer = answer

    def __call__(self, request: Request) -> str:
        if request.schema:
            return self._next(self._critiques)
        if "You are the Synthesizer." in request.messages[-1].content:
            return self._answer
        return self._next(self._proposals)

    def _next(self, left: list[str]) -> str:
        return left.pop(0) if len(left) > 1 else left[0]


def issue(text: str = "Why is q even?", severity: str = "critical", passage: str = "so is q") -> JsonObject:
    return {"severity": severity, "passage": passage, "text": text}


def critique(*issues: JsonObject, score: JsonValue = 5, ready: bool = False, **more: JsonValue) -> str:
    """What a skeptic writes; with a critical issue unless it is given others."""
    found = list(issues) or [issue()]
    return json.dumps({"review": REVIEW, "score": score, "ready": ready, "issues": found, **more})


def fine(score: JsonValue = 9, ready: bool = True, **more: JsonValue) -> str:
    """A critique that finds nothing."""
    return json.dumps({"review": "Nothing is left.", "score": score, "ready": ready, "issues": [], **more})


def staged(
    replies: Any = None,
    settings: Any = None,
    library: Library | None = None,
    topic: str = TOPIC,
    format: AnyFormat = FIRST,
    **more: Any,
) -> Stage:
    stage = Stage(replies or Critics(), format=format, topic=topic, settings=settings, **more)
    stage.players["library"] = library or Library()
    return stage


async def outcome_of(stage: Stage) -> FinalAnswer:
    ending = await stage.run()
    assert ending.status is Status.FINISHED, ending
    return FinalAnswer.model_validate(ending.outcome)


def asked(stage: Stage, seat: str) -> list[str]:
    """The prompts a seat got, each as one text."""
    texts = ["\n".join(message.content for message in request.messages) for request in stage.model.requests]
    return [text for text in texts if f"\nYou are the {seat}." in text]


def proposal(content: str, round: int, position: int = 0) -> Turn:
    return Turn(position=position, seat="proposer", kind="proposal", round=round, content=content)


def review(data: str, round: int, position: int = 0) -> Turn:
    """A critique as a turn."""
    return Turn(position=position, seat="skeptic", kind="critique", round=round, content=REVIEW, data=json.loads(data))
