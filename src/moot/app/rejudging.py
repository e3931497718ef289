"""A finished debate judged again: a debate of its own that begins with the same speeches."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from moot.app.app import App
from moot.core.debate import Record, Status
from moot.core.duration import span_seconds
from moot.core.format import AnyFormat
from moot.core.stored import StoredDebate
from moot.errors import InvalidInput, WrongStatus
from moot.formats import of_record

USUAL = 8
"""How often a debate is judged again, unless somebody says so."""
LEAST_SECONDS = 600.0
"""What judging may take, also where the debate was meant to be shorter."""


async def rejudge(
    app: App,
    debate_id: str,
    judge: str | None = None,
    judgings: int = USUAL,
    *,
    start: bool = False,
    key: str | None = None,
    watched: bool = False,
) -> Record:
    """Store a new debate that begins with a finished one's speeches, and is judged by this model so often."""
    stored = await app.load(debate_id)
    format = of_record(app.formats, stored.record)
    position = _judged_from(app, stored, format)
    settings = _settings(stored, format, judge, judgings)
    return await app.fork(debate_id, position, settings, start=start, key=key, watched=watched)


async def forks_of(app: App, debate_id: str) -> list[str]:
    """The debates that began with turns of this one, judged again or continued otherwise."""
    return await app.store.forks(debate_id)


def _judged_from(app: App, stored: StoredDebate, format: AnyFormat) -> int:
    """How many turns it had before it was judged; raises with the reason where it cannot be judged again."""
    record = stored.record
    if record.status is not Status.FINISHED:
        raise WrongStatus(f"{record.id} is {record.status}: a debate can be judged again when it is finished")
    if format.judged_from is None or "judgings" not in format.settings.model_fields:
        now = app.formats[record.format].judged_from
        if now:
            raise InvalidInput(
                f"{record.id} is of version {format.version} of the {format.name}, which is judged once; a new debate "
                "on its question can be judged more often"
            )
        known = ", ".join(name for name, each in app.formats.items() if each.judged_from)
        raise InvalidInput(f"a {format.name} has no judge whose judging could be given again; those that have: {known}")
    return format.judged_from(stored.turns)


def _settings(stored: StoredDebate, format: AnyFormat, judge: str | None, judgings: int) -> Mapping[str, JsonValue]:
    """What is different from the debate it was: who judges and how often, with tokens and time for it."""
    had, seat = format.stored(stored.record), format.judge
    judged = sum(turn.seat == seat and turn.kind not in format.folded for turn in stored.turns)
    tokens = judgings * max(1, judged) * stored.record.seats[seat].max_tokens
    changes: dict[str, JsonValue] = {
        "judgings": judgings,
        "max_check_output_tokens": max(tokens, had.max_check_output_tokens),
        "max_runtime_seconds": max(LEAST_SECONDS, had.max_runtime_seconds) + span_seconds(stored.turns),
    }
    return {**changes, "models": {seat: judge}, "judges": []} if judge else changes
