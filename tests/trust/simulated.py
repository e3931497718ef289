"""Duels of simulated debaters before a judge with known faults: the real script, prompts and forms, without a store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from moot.core.debate import Record, SeatSettings, Step, Turn
from moot.core.prompts import Prompts
from moot.core.replay import ScriptRun
from moot.core.script import Debate
from moot.formats.duel.format import DUEL, Verdict
from moot.llm.client import Request
from moot.players.answer import parse
from moot.players.model import _schema
from moot.testing import SimulatedJudge

PROMPTS = Prompts()
NEW = Record(id="DEB-simulate", format="duel", format_version=2, topic="", settings={}, seats={}, created_at=0.0)
SEATS = {
    seat.name: SeatSettings(f"x:{seat.group}", 0.7, seat.max_tokens)
    for seat in DUEL.seats
    if seat.group not in ("voter", "scribe", "jury")
}


def simulated(judge: SimulatedJudge, number: int, **settings: Any) -> Verdict:
    """How the duel with this number ends; another number is another question."""
    record = replace(NEW, topic=f"Is {number} a good number?", seats=SEATS, settings={"max_rounds": 1, **settings})
    run = ScriptRun(DUEL, DUEL.open(record), ())
    while run.batch:
        turns = [_turn(judge, run.debate, step, at) for at, step in enumerate(run.batch, run.base)]
        run.stored.update({turn.position: turn for turn in turns})
        run.advance()
    assert isinstance(run.outcome, Verdict)
    return run.outcome


def _turn(judge: SimulatedJudge, debate: Debate[Any], step: Step, position: int) -> Turn:
    request = Request(
        model="x",
        messages=PROMPTS.messages(DUEL, debate, step),
        max_tokens=step.max_tokens or 100,
        temperature=0.7,
        schema=_schema(step.answer) if step.answer else None,
    )
    text = judge.reply(request)
    data = parse(text, step.answer).model_dump(mode="json") if step.answer else None
    where = {"position": position, "seat": step.seat, "kind": step.kind, "round": step.round}
    return Turn(**where, content=text, data=data, model=debate.seats[step.seat].model)  # type: ignore[arg-type]
