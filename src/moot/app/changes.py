"""What a person may still change in a debate that has begun, and the turn that says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import JsonValue

from moot.core.changes import SETTINGS, Change, Wish, heard_wishes
from moot.core.debate import Limits, Record, SeatSettings, Status, Turn
from moot.core.format import AnyFormat
from moot.core.replay import replayed
from moot.errors import InvalidInput, WrongStatus
from moot.reading.debate import Reading
from moot.reading.words import short_model

if TYPE_CHECKING:
    from moot.app.app import App


async def change(app: App, debate_id: str, settings: Mapping[str, JsonValue]) -> Record:
    """See `App.change`."""
    reading = await app.read(debate_id)
    after = await app.drafts.with_changes(reading.record, settings)
    turn = change_turn(reading, after)
    if turn is None:
        return reading.record
    for seat in after.seats.values():
        app.models.check(seat.model, here=not app.is_shared)
    if reading.record.status is not Status.RUNNING:
        return await app.runner.interject(debate_id, turn, len(reading.turns))
    await app.store.wish(debate_id, _wish(turn, reading, await app.store.wishes(debate_id)))
    await app.hurry(debate_id, give_up=Change.of(turn).seats)
    return reading.record


def change_turn(reading: Reading, after: Record) -> Turn | None:
    """The turn from which on a debate has the settings of `after`; None when nothing is different.

    Models, checkpoints and higher limits can be had at any time. Raises InvalidInput for all else, as what was said so
    far was said under it, and WrongStatus when the debate is over.
    """
    stored, format = reading.stored, reading.format
    before = replace(reading.record, settings=format.stored(reading.record).model_dump(mode="json"))
    seats = {name: chosen for name, chosen in after.seats.items() if chosen != before.seats.get(name, chosen)}
    settings = {name: value for name, value in after.settings.items() if value != before.settings.get(name)}
    others = {name: value for name, value in settings.items() if name not in _model_names(format)}
    if not seats and not others:
        return None
    run = replayed(stored.record, stored.turns, format)
    if not run.batch:
        raise WrongStatus(f"{before.id} is through; other settings are for a new debate: moot fork {before.id}")
    for name, value in others.items():
        _check(before, name, value, format)
    seat, kind = SETTINGS
    told = "; ".join([*_models_told(reading, seats), *_settings_told(before, others)])
    data = Change(settings, seats).as_json()
    turn = Turn(position=run.free, seat=seat, kind=kind, round=None, content=f"Settings changed: {told}.", data=data)
    if others.keys() & Limits.model_fields.keys():
        _check_rounds(reading, turn)
    return turn


def _wish(turn: Turn, reading: Reading, wishes: Sequence[Wish]) -> Wish:
    """A change of models for the run of a debate to take over, one at a time. Raises WrongStatus for all else."""
    id, change = reading.record.id, Change.of(turn)
    if others := sorted(change.settings.keys() - _model_names(reading.format)):
        raise WrongStatus(f"{id} runs, so only its models can be changed now, not {', '.join(others)}; stop it first")
    heard = heard_wishes(reading.turns)
    if any(wish.at not in heard for wish in wishes):
        raise WrongStatus(f"{id} has another change to take over first; try again when its step is done")
    return Wish(turn.content, turn.data or {})


def _model_names(format: AnyFormat) -> set[str]:
    return {"model", "models", *(f"model_{seat.group}" for seat in format.seats)}


def _check(before: Record, name: str, value: JsonValue, format: AnyFormat) -> None:
    if name in format.unattended:
        return
    if name not in Limits.model_fields:
        raise InvalidInput(
            f"{name} of {before.id} cannot be changed any more, as it has begun with it: only models, checkpoints and "
            f"higher limits can; a new debate can have another: moot fork {before.id} --at 0 --set {name}=…"
        )
    had = before.settings.get(name)
    if value is not None and (had is None or value < had):  # type: ignore[operator]
        raise InvalidInput(
            f"{name} of {before.id} is {_value(had)} and can only be raised, not set to {_value(value)}; "
            f"moot conclude {before.id} ends its rounds"
        )


def _check_rounds(reading: Reading, turn: Turn) -> None:
    """A higher limit is of no use when the rounds are over, and saying nothing of that would mislead."""
    stored, id = reading.stored, reading.record.id
    run = replayed(stored.record, (*stored.turns, turn), reading.format)
    if not run.debate.debating and any(turn.round is not None for turn in stored.turns):
        raise InvalidInput(
            f"the rounds of {id} are over, so a higher limit changes nothing; go on from an earlier turn in a new "
            f"debate: moot fork {id} --at N --set …"
        )


def _models_told(reading: Reading, seats: Mapping[str, SeatSettings]) -> Iterator[str]:
    before = {name: short_model(chosen.model) for name, chosen in reading.record.seats.items()}
    models = {name: short_model(chosen.model) for name, chosen in seats.items()}
    if len({*before.values()}) == len({*models.values()}) == 1 and len(models) == len(before):
        yield f"{next(iter(models.values()))} in every seat instead of {next(iter(before.values()))}"
        return
    for name, model in models.items():
        yield f"{reading.titles[name]} is {model} instead of {before[name]}"


def _settings_told(before: Record, settings: Mapping[str, JsonValue]) -> Iterator[str]:
    for name, value in settings.items():
        yield f"{name} {_value(value)} instead of {_value(before.settings.get(name))}"


def _value(value: JsonValue) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "on" if value else "off"
        case float():
            return f"{value:g}"
        case _:
            return str(value)
