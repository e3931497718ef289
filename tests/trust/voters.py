"""Polls and panels of simulated voters: the real scripts, prompts and forms, without a store."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from math import comb
from typing import Any

from moot.core.debate import Record, SeatSettings, Step, Turn
from moot.core.format import AnyFormat
from moot.core.prompts import Prompts
from moot.core.replay import ScriptRun
from moot.core.script import Debate
from moot.formats.panel.format import PANEL
from moot.formats.poll.format import POLL
from moot.llm.client import Request
from moot.players.answer import parse
from moot.players.model import _schema
from moot.testing import SimulatedVoter
from moot.trust.poll import Ballot
from moot.trust.voting import plurality
from stage import ANALYSIS, CLEAR, FAST, GOES_ON, SAFE, SYNTHESIS

PROMPTS = Prompts()
NEW = Record(id="DEB-simulate", format="", format_version=1, topic="", settings={}, seats={}, created_at=0.0)
Reply = Callable[[Request], str]


def played(format: AnyFormat, topic: str, reply: Reply, **settings: Any) -> ScriptRun:
    seats = {seat.name: SeatSettings("x:model", 1.0, seat.max_tokens) for seat in format.seats}
    run = ScriptRun(format, format.open(replace(NEW, topic=topic, seats=seats, settings=settings)), ())
    while run.batch:
        turns = [_turn(format, run.debate, step, at, reply) for at, step in enumerate(run.batch, run.base)]
        run.stored.update({turn.position: turn for turn in turns})
        run.advance()
    return run


def _turn(format: AnyFormat, debate: Debate[Any], step: Step, position: int, reply: Reply) -> Turn:
    request = Request(
        model="x",
        messages=PROMPTS.messages(format, debate, step),
        max_tokens=100,
        temperature=1.0,
        schema=_schema(step.answer) if step.answer else None,
    )
    text = reply(request)
    data = parse(text, step.answer).model_dump(mode="json") if step.answer else None
    where = {"position": position, "seat": step.seat, "kind": step.kind, "round": step.round}
    return Turn(**where, content=text, data=data)  # type: ignore[arg-type]


def first_choices(voter: SimulatedVoter, topic: str, ballots: int, **settings: Any) -> list[str]:
    turns = played(POLL, topic, voter.reply, ballots=ballots, **settings).debate.transcript
    return [Ballot.model_validate(turn.data).choice[0] for turn in turns]


def topic(number: int) -> str:
    return f"Is {number} a good number? (truth={('for', 'against')[number % 2]})"


def curve(voter: SimulatedVoter, items: int, *sizes: int) -> list[float]:
    """How often the majority of so many ballots is right."""
    right: Counter[int] = Counter()
    for number in range(items):
        cast = first_choices(voter, topic(number), max(sizes))
        truth = ("for", "against")[number % 2]
        for size in sizes:
            right[size] += plurality(cast[:size]).winner == truth
    return [right[size] / items for size in sizes]


def majority(size: int, right: float) -> float:
    return sum(comb(size, n) * right**n * (1 - right) ** (size - n) for n in range(size // 2 + 1, size + 1))


def conforming_panel(voter: SimulatedVoter, number: int) -> tuple[bool, bool]:
    """Whether most openings of a panel are right, and whether the vote at its end is."""
    options = ["Redis", "Postgres"]
    truth = options[number % 2]
    asked = f"Which one is it in case {number}? (truth={truth})"
    said = {name: voter.says(name, asked, options) for name in (FAST, CLEAR, SAFE)}
    forms = {
        "analysis": {**ANALYSIS, "perspectives": [FAST, CLEAR, SAFE], "options": options},
        "rebuttal": {"content": "I have heard it."},
        "evaluation": GOES_ON,
        "synthesis": SYNTHESIS,
        "notes": {"note": "They disagree.", "claims": []},
    }

    def reply(request: Request) -> str:
        if request.schema and request.schema.name == "choice":
            return voter.reply(request)
        if request.schema:
            return json.dumps(forms[request.schema.name])
        instruction = request.messages[-1].content.rpartition("</turn>")[2]
        return next((f"I say answer={said[name]}." for name in said if f"You are {name}." in instruction), "Begin.")

    settings = {"max_rounds": 1, "checkpoints": False, "depth": "normal", "ballots": 0}
    turns = played(PANEL, asked, reply, **settings).debate.transcript
    votes = [Ballot.model_validate(turn.data).choice[0] for turn in turns if turn.kind == "vote"]
    return plurality(list(said.values())).winner == truth, plurality(votes).winner == truth


def mid_p(worse: int, better: int) -> float:
    """McNemar's, of pairs that differ."""
    fewer, number = min(worse, better), worse + better
    at_most = [comb(number, n) / 2**number for n in range(fewer + 1)]
    return min(1.0, 2 * sum(at_most) - at_most[-1])
