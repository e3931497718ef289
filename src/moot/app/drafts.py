"""New debates before they are stored: settings checked, a model chosen for each seat, what a fork takes over."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace

from pydantic import JsonValue, ValidationError

from moot import formats as known_formats
from moot.core.changes import Change, is_change
from moot.core.debate import Action, Origin, Record, Seat, SeatSettings, Settings, Step, Turn, Usage
from moot.core.format import NEW, AnyFormat
from moot.core.replay import next_steps, replayed_steps
from moot.core.stored import StoredDebate
from moot.errors import InvalidInput, ScriptChanged, faults
from moot.llm.local import BUILT_IN_MODEL
from moot.llm.models import ModelChoice, Models
from moot.llm.providers import PREFERRED, USUAL
from moot.retrieval.sources import read_sent
from moot.settings import AppSettings
from moot.text.plain import clean

ID_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
MAX_TOPIC = 4000
MAX_BACKGROUND = 20_000
MAX_WORDS = 2000
BY_SEAT = ("models", "temperatures", "max_tokens")
"""The settings that have a value for each seat."""


class Drafts:
    def __init__(self, settings: AppSettings, models: Models, formats: Mapping[str, AnyFormat]) -> None:
        self._settings = settings
        self._models = models
        self._formats = formats
        self._default_model: ModelChoice | None = None

    async def new(self, format: str, topic: str, settings: Mapping[str, JsonValue], background: str = "") -> Record:
        chosen = known_formats.find(self._formats, format)
        checked = self._check_settings(chosen, await self._with_sources(chosen, settings))
        seats = {seat.name: await self._seat_settings(checked, seat) for seat in chosen.seats if seat.player == "model"}
        record = Record(
            id=new_id("DEB"),
            format=chosen.name,
            format_version=chosen.version,
            topic="\n\n".join(filter(None, (check_topic(topic), _check_background(background)))),
            # With the defaults of today: a later version with others must not change this debate.
            settings=_at_depth(checked, seats).model_dump(mode="json"),
            seats=seats,
            created_at=time.time(),
        )
        if checked.max_cost is not None:
            self._check_prices(record)
        return record

    async def fork(self, origin: StoredDebate, position: int | None, changes: Mapping[str, JsonValue]) -> Record:
        """A debate that begins with the first turns of another; raises InvalidInput where they would not fit.

        Without a position it is the last one at which there is something left to play.
        """
        before, format = origin.record, known_formats.of_record(self._formats, origin.record)
        changed = await self.with_changes(before, changes)
        record = Record(
            id=new_id("DEB"),
            format=before.format,
            format_version=before.format_version,  # under which the turns were played
            topic=before.topic,
            settings=changed.settings,
            seats=changed.seats,
            created_at=time.time(),
        )
        there = len(origin.turns) if position is None else position
        as_before = replace(record, settings=before.settings)
        while position is None and there and not next_steps(as_before, origin.turns[:there], format):
            there -= 1
        _check_fork(record, origin, there, format)
        return replace(record, origin=Origin(before.id, there))

    def fork_again(
        self, made: Record, origin: str, before: Record, position: int | None, changes: Mapping[str, JsonValue]
    ) -> Record:
        """What was made of a fork, as it would be if it were asked for with these; its origin may have gone on."""
        there = made.copied if position is None else position
        settings = self.changed(before, changes).model_dump(mode="json")
        return replace(made, settings=settings, origin=Origin(origin, there))

    def changed(self, before: Record, changes: Mapping[str, JsonValue]) -> Settings:
        """The settings of a debate with some of them changed."""
        format = known_formats.of_record(self._formats, before)
        return self._check_settings(format, _changed(before.settings, changes, format))

    def chosen_anew(self, origin: StoredDebate, changes: Mapping[str, JsonValue]) -> StoredDebate:
        """A debate to fork, without what a person changed in it on the way and a fork chooses for itself."""
        format = known_formats.of_record(self._formats, origin.record)
        seats = {seat.name for seat in format.seats if _chooses(seat, changes)}

        def kept(turn: Turn) -> Turn:
            data = Change.of(turn).without(changes.keys(), seats).as_json()
            return replace(turn, data=data)

        return origin._replace(turns=tuple(kept(turn) if is_change(turn) else turn for turn in origin.turns))

    async def with_changes(self, before: Record, changes: Mapping[str, JsonValue]) -> Record:
        """A debate with other settings; a seat keeps the model it has where none is chosen anew."""
        format = known_formats.of_record(self._formats, before)
        checked = self.changed(before, changes)
        seats = {
            seat.name: _seated(seat, before.seats[seat.name], checked, changes)
            if seat.name in before.seats
            else await self._seat_settings(checked, seat)
            for seat in format.seats
            if seat.player == "model"
        }
        record = replace(before, settings=checked.model_dump(mode="json"), seats=seats)
        if checked.max_cost is not None:
            self._check_prices(record)
        return record

    async def choose_model(self, seat: Seat, settings: Settings | None = None) -> ModelChoice:
        """The model a seat would use, and why: the debate's choice, the configuration's, the environment's."""
        if settings and (name := settings.model_for(seat)):
            return ModelChoice(name, "chosen for this debate")
        if name := self._settings.models.get(seat.name) or self._settings.model:
            return ModelChoice(name, "MOOT_MODEL or moot.yaml")
        if choice := self._models.group_default(seat.group):
            return choice
        if seat.prefers and await self._models.has(preferred := PREFERRED[seat.prefers]):
            return ModelChoice(preferred, "this seat is meant for it, and it is there")
        if self._default_model is None:
            self._default_model = await self._models.default()
        return self._default_model

    async def _with_sources(self, format: AnyFormat, settings: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """The settings with the sources that were sent as files read."""
        if "sources" not in settings:
            return settings
        check_takes_sources(format, self._formats)
        return {**settings, "sources": await asyncio.to_thread(read_sent, settings["sources"])}

    def _check_settings(self, format: AnyFormat, settings: Mapping[str, JsonValue]) -> Settings:
        if "sources" in settings:
            check_takes_sources(format, self._formats)
        known = ", ".join(sorted(format.settings.model_fields))
        try:
            checked: Settings = format.settings.model_validate(
                clean({**self._configured(format), **settings}), context=NEW
            )
        except ValidationError as error:
            raise InvalidInput(f"{format.name} settings: {faults(error)}; known: {known}") from None
        seats = [seat.name for seat in format.seats]
        for field in (checked.models, checked.temperatures, checked.max_tokens):
            for seat in field:
                if seat not in seats:
                    raise InvalidInput(f"{format.name} has no seat {seat!r}; its seats: {', '.join(seats)}")
        return self._with_providers(checked, format) if format.bare_models else checked

    def _configured(self, format: AnyFormat) -> Mapping[str, JsonValue]:
        depth = self._settings.depth if "depth" in format.settings.model_fields else None
        return {**({"depth": depth} if depth else {}), **self._settings.formats.get(format.name, {})}

    def _with_providers(self, settings: Settings, format: AnyFormat) -> Settings:
        """The settings with the usual provider before the models of groups that are named without one."""
        names = {field: getattr(settings, field, None) for field in {f"model_{seat.group}" for seat in format.seats}}
        bare = {field: name for field, name in names.items() if name and ":" not in name}
        return settings.model_copy(update={field: f"{USUAL}:{name}" for field, name in bare.items()})

    def _check_prices(self, record: Record) -> None:
        for model in {seat.model for seat in record.seats.values()}:
            if self._models.prices.cost(model, Usage(calls=1)) is None:
                raise InvalidInput(f"max_cost needs a price for {model}: add it under `prices` in moot.yaml")

    async def _seat_settings(self, settings: Settings, seat: Seat) -> SeatSettings:
        return SeatSettings(
            (await self.choose_model(seat, settings)).name,
            settings.temperatures.get(seat.name, seat.temperature),
            settings.max_tokens.get(seat.name, seat.max_tokens),
        )


def _at_depth(settings: Settings, seats: Mapping[str, SeatSettings]) -> Settings:
    """What the built-in tiny model says is judged once unless somebody asks for more: more would say nothing more."""
    asked = {"depth", "judgings"} & settings.model_fields_set
    tiny = {seat.model for seat in seats.values()} == {BUILT_IN_MODEL}
    is_quick = tiny and not asked and "depth" in type(settings).model_fields
    return settings.model_copy(update={"depth": "quick"}) if is_quick else settings


def _changed(
    settings: Mapping[str, JsonValue], changes: Mapping[str, JsonValue], format: AnyFormat
) -> dict[str, JsonValue]:
    """The settings of a fork: those of its origin, seat by seat where there is one for each."""
    kept = dict(settings)
    if changes.get("model"):  # for every seat, so no earlier choice stands before it
        kept |= {"models": {}} | {name: None for seat in format.seats if (name := f"model_{seat.group}") in kept}
    for name in BY_SEAT:
        old, new = kept.get(name), changes.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            kept[name] = {**old, **new}
            changes = {key: value for key, value in changes.items() if key != name}
    return {**kept, **changes}


def _seated(seat: Seat, before: SeatSettings, settings: Settings, changes: Mapping[str, JsonValue]) -> SeatSettings:
    """The model that was chosen anew, or the one the seat had, which need not stand in the settings."""
    return SeatSettings(
        (settings.model_for(seat) if _chooses(seat, changes) else None) or before.model,
        settings.temperatures.get(seat.name, before.temperature),
        settings.max_tokens.get(seat.name, before.max_tokens),
    )


def _chooses(seat: Seat, changes: Mapping[str, JsonValue]) -> bool:
    """Whether they choose a model for a seat."""
    by_seat = changes.get("models")
    for_all = any(changes.get(name) for name in ("model", f"model_{seat.group}"))
    return for_all or (isinstance(by_seat, dict) and seat.name in by_seat)


def _check_fork(record: Record, origin: StoredDebate, position: int, format: AnyFormat) -> None:
    before, there, turns = origin.record, len(origin.turns), origin.turns[:position]
    if not 0 <= position <= there or [turn.position for turn in turns] != list(range(position)):
        raise InvalidInput(f"{before.id} has {there} turns; fork it at a position from 0 to {there}")
    less = f"fork {before.id} at an earlier position, or change less"
    try:
        asked = replayed_steps(replace(record, settings=before.settings), turns, format)
        steps = replayed_steps(record, turns, format)
        if not next_steps(record, turns, format):
            raise InvalidInput(f"after {position} turns {before.id} is through; fork it at an earlier position")
    except ScriptChanged:
        raise InvalidInput(f"with these settings the first {position} turns would have been others; {less}") from None
    for at, (old, new) in enumerate(zip(asked, steps, strict=False)):
        if changed := sorted(name for name, value in _texts(old).items() if _texts(new).get(name) != value):
            raise InvalidInput(f"turn {at} was played with another {' and '.join(changed)}; {less}")


def _texts(step: Step) -> dict[str, object]:
    """What a step told its seat in words; numbers and flags, such as whether a round is the last, may change."""
    return {name: value for name, value in step.variables.items() if not isinstance(value, bool | int | float)}


def check_takes_sources(format: AnyFormat, formats: Mapping[str, AnyFormat]) -> None:
    if not _takes_sources(format):
        others = ", ".join(sorted(name for name, each in formats.items() if _takes_sources(each)))
        raise InvalidInput(f"the {format.name} takes no sources yet; formats that do: {others or 'none'}")


def _takes_sources(format: AnyFormat) -> bool:
    return "sources" in format.settings.model_fields


def new_id(kind: str) -> str:
    return f"{kind}-" + "".join(secrets.choice(ID_LETTERS) for _ in range(8))


def check_words(action: Action, text: str) -> str:
    text = check_text(text)
    if not text and action in ("guide", "answer"):
        raise InvalidInput(f"`{action}` needs a text: say what you want the debate to hear")
    return text


def check_text(text: str) -> str:
    text = str(clean(text)).strip()
    if len(text) > MAX_WORDS:
        raise InvalidInput(f"that text has {len(text)} characters; at most {MAX_WORDS} are allowed")
    return text


def _check_background(background: str) -> str:
    background = str(clean(background)).strip()
    if len(background) > MAX_BACKGROUND:
        raise InvalidInput(f"the background has {len(background)} characters; at most {MAX_BACKGROUND} are allowed")
    return background


def check_topic(topic: str) -> str:
    topic = str(clean(topic)).strip()
    if not topic:
        raise InvalidInput("the topic is empty: write the question to debate")
    if len(topic) > MAX_TOPIC:
        raise InvalidInput(f"the topic has {len(topic)} characters; at most {MAX_TOPIC} are allowed")
    return topic
