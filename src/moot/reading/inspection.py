"""How one turn was made: who was asked what, with which words, what it took, and what code found in the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import BaseModel, Field

from moot.core.debate import Step, Turn, Usage
from moot.core.events import place_of
from moot.core.prompts import Message, Prompts, shortened
from moot.core.quoting import quotes_of
from moot.core.replay import CHANGED, replayed
from moot.core.script import Debate
from moot.errors import BrokenPrompt, NotFound
from moot.reading.debate import Reading
from moot.reading.views import FailureView

SHORT_OF_TURNS = "without:early_turns"
"""The mark of a turn whose prompt had to be cut to what its model can read."""


class SentMessage(BaseModel):
    role: str
    content: str


class Inspection(BaseModel):
    """How one turn was made."""

    debate: str
    position: int
    seat: str
    title: str
    kind: str
    round: int | None
    model: str | None
    temperature: float | None = Field(description="null where no model was asked")
    max_tokens: int | None = Field(description="what it may write at most; null where that is not known")
    usage: Usage
    started_at: datetime
    duration_ms: int
    tries: list[FailureView] = Field(description="the attempts that failed before it")
    checks: list[str] = Field(description="what code has to say about it")
    flags: list[str] = Field(description="the marks it was stored with")
    prompt: list[SentMessage] = Field(
        description="rendered again from the stored turns, with the prompt files there are now; empty where nothing "
        "was sent or it cannot be rendered any more"
    )
    no_prompt: str = Field(description="why there is none")
    content: str


class _Asked(NamedTuple):
    debate: Debate[Any]
    step: Step


def inspection(reading: Reading, prompts: Prompts, position: int) -> Inspection:
    """Raises NotFound."""
    turn = next((turn for turn in reading.turns if turn.position == position), None)
    if turn is None:
        last = f"its turns are 0 to {reading.turns[-1].position}" if reading.turns else "nobody has spoken yet"
        raise NotFound(f"{reading.record.id} has no turn {position}; {last}")
    asked, why = _asked(reading, turn)
    sent, why = _sent(reading, prompts, turn, asked) if asked else ((), why)
    event = next(event for event in reading.events if event.position == position)
    seat = reading.record.seats.get(turn.seat)
    return Inspection(
        debate=reading.record.id,
        **place_of(turn, position),
        title=event.title,
        model=turn.model,
        temperature=seat.temperature if seat and turn.model else None,
        max_tokens=asked.step.max_tokens if asked else None,
        usage=turn.usage,
        started_at=turn.started_at,
        duration_ms=turn.duration_ms,
        tries=[FailureView.model_validate(each) for each in reading.stored.failures if each.position == position],
        checks=[*_quotes(asked, turn), *event.notes],
        flags=list(turn.marks),
        prompt=[SentMessage(role=each.role, content=each.content) for each in sent],
        no_prompt=why,
        content=turn.content,
    )


def _asked(reading: Reading, turn: Turn) -> tuple[_Asked | None, str]:
    """The debate as it was when the turn was asked for, and the step that asked for it; or why that is not known."""
    if turn.model is None:
        return None, "no model was asked: this turn is a person's, the clock's or the library's"
    try:
        run = replayed(reading.stored.record, reading.turns[: turn.position], reading.format)
        step = run.batch[turn.position - run.base]
    except CHANGED:
        return None, "this turn was asked for by another version of its format"
    if step.seat not in run.debate.seats:
        return None, "it was asked with tools, whose calls are not kept"
    return _Asked(run.debate, step), ""


def _sent(reading: Reading, prompts: Prompts, turn: Turn, asked: _Asked) -> tuple[Sequence[Message], str]:
    try:
        messages = prompts.messages(reading.format, *asked)
    except (BrokenPrompt, *CHANGED) as error:
        return (), f"it cannot be rendered: {error}"
    return (shortened(messages) if SHORT_OF_TURNS in turn.marks else messages), ""


def _quotes(asked: _Asked | None, turn: Turn) -> Iterator[str]:
    found = quotes_of(asked.debate, turn) if asked else ()
    if found:
        stand = sum(quote.verdict == "verified" for quote in found)
        yield f"{stand} of {len(found)} quotes stand word for word in a source"
