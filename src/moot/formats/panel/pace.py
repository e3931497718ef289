"""What a debater may write and how long it may take: its share of the round's tokens, and time that fits the model.

The pace is that of the turns so far. A seat that hangs loses its own share of the round's time and nobody else's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from moot.core.duration import LATELY, SLACK, pace_of_all, span_seconds
from moot.core.script import Debate
from moot.formats.panel.casting import ARGUED, SEATS, active_seats

USUAL_SECONDS = 120.0
"""Of a round's debaters, at least, when nobody has set it."""
PAUSE = 20.0
"""Seconds of silence after which a seat that was speaking when its time was over misses the step."""
OPENINGS, FIRST_OPENINGS = 0.4, 0.5
"""The share of a debater's tokens that its opening may take, also in version 1; a rebuttal now declares a position."""


def tokens_for(debate: Debate[Any], seat: str, kind: str, round: int) -> int | None:
    """What a debater may write now; the rest of its budget is kept for the rebuttal."""
    budget: int = debate.settings.token_budget_per_round
    openings = FIRST_OPENINGS if debate.settings.rules == 1 else OPENINGS
    written = sum(turn.usage.output_tokens for turn in debate.in_round(round) if turn.seat == seat)
    now = int(budget * openings) if kind == "opening" else budget - written
    return max(1, now) if budget else None


def usual_tokens(debate: Debate[Any], debaters: int) -> int | None:
    """What a round of so many debaters may take; None without a budget, and in version 1."""
    budget: int = debate.settings.token_budget_per_round
    return debaters * budget or None if debate.settings.rules > 1 else None


def pace(debate: Debate[Any]) -> float | None:
    """Tokens a second, of the debaters' turns lately or else of the moderator's; None when none tells."""
    if debate.rehearsed:  # where nothing takes time
        return None
    lately = debate.transcript[-LATELY:]
    return pace_of_all(turn for turn in lately if turn.seat in SEATS) or pace_of_all(lately)


def round_seconds(debate: Debate[Any], active: int) -> float:
    """The time of a round's debaters: as the person set it, or as long as they need to write what they may."""
    wanted: float | None = debate.settings.round_timeout_seconds
    return wanted or max(USUAL_SECONDS, SLACK * (needed_seconds(debate, active) or 0.0))


def needed_seconds(debate: Debate[Any], active: int) -> float | None:
    """What a round takes at the pace so far, if everybody writes what they may; one server may play them in turn."""
    speed = pace(debate)
    budget = debate.settings.token_budget_per_round or 2 * debate.output_cap(SEATS[0])
    return active * budget / speed if speed else None


def timeout(debate: Debate[Any], kind: str, round: int, active: Sequence[str]) -> float:
    """How long a seat may be silent before it misses the step: openings have half of the round, and rebuttals what
    is left, each at least its share of the other half. A person's and the moderator's time is not counted. In version 1
    everybody has what is left of the round, the moderator's time being counted."""
    limit = round_seconds(debate, len(active))
    if debate.settings.rules == 1:
        return limit - span_seconds(debate.in_round(round))
    if kind == "opening":
        return limit / 2
    played = [turn for turn in debate.in_round(round) if turn.kind in ARGUED]
    left = limit - min(limit / 2, span_seconds(turn for turn in played if turn.kind == "opening"))
    rebutted = [turn for turn in played if turn.kind == "rebuttal"]
    waiting = max(1, len(active) - len(rebutted))
    return max((left - span_seconds(rebutted)) / waiting, limit / 2 / len(active))


def pause(debate: Debate[Any], active: int) -> float | None:
    """How long a seat that is speaking when its time is over may be silent; never longer than it had."""
    return None if debate.settings.rules == 1 else min(PAUSE, round_seconds(debate, active) / 2)


def announcement(debate: Debate[Any]) -> str:
    """What a person has to know before a limit of theirs bites; empty when their limits fit the pace."""
    needed, speed, s = needed_seconds(debate, len(active_seats(debate))), pace(debate), debate.settings
    if needed is None or speed is None:
        return ""
    say = debate.language
    if s.round_timeout_seconds and needed > s.round_timeout_seconds:
        return say(
            "at {pace} tokens a second a round may take {seconds} s, and round_timeout_seconds is {limit}: "
            "whoever has not begun by then misses it; leave it empty, or set it to {seconds}",
            pace=f"{speed:.0f}",
            seconds=math.ceil(needed),
            limit=f"{s.round_timeout_seconds:.0f}",
        )
    fitting = int((s.max_runtime_seconds - debate.runtime()) / needed)
    if fitting >= s.max_rounds:
        return ""
    if s.extend_runtime:
        return say(
            "at {pace} tokens a second {all} rounds may take longer than max_runtime_seconds ({limit}): it is raised; "
            "set it yourself to have it kept",
            pace=f"{speed:.0f}",
            all=s.max_rounds,
            limit=f"{s.max_runtime_seconds:.0f}",
        )
    return say(
        "at {pace} tokens a second about {rounds} of {all} rounds fit into max_runtime_seconds ({limit}); "
        "set that higher, or max_rounds lower",
        pace=f"{speed:.0f}",
        rounds=max(1, fitting),
        all=s.max_rounds,
        limit=f"{s.max_runtime_seconds:.0f}",
    )
