"""New debates before they are stored: settings checked, a model chosen for each seat, what a fork takes over."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import JsonValue, ValidationError

from moot import formats as known_formats
from moot.app.words import MAX_BACKGROUND, check_text, check_topic, new_id
from moot.core.changes import Change, is_change
from moot.core.debate import BY_SEAT, Origin, Record, Seat, SeatSettings, Settings, Step, Turn, Usage
from moot.core.format import NEW, AnyFormat
from moot.core.prompts import has_short_prompts
from moot.core.replay import next_steps, replayed_steps
from moot.core.sources import are_whole
from moot.core.stored import StoredDebate
from moot.errors import InvalidInput, ScriptChanged, faults, meant
from moot.llm.models import ModelChoice, Models
from moot.llm.providers import PREFERRED, USUAL, parse_name
from moot.llm.weights import BUILT_IN_MODEL, SMALL_MODELS, SMALL_TEMPERATURE
from moot.players.researcher import Toolbox
from moot.records.precedents import precedents
from moot.retrieval.folders import MAX_FILES
from moot.retrieval.library import Library
from moot.retrieval.sources import read_sent
from moot.runs.retries import first_missing
from moot.settings import AppSettings
from moot.text.plain import clean

MAX_NUMBER = 1_000_000_000
"""Of any setting: larger ones are no time and no length that a database or a calendar knows."""
MAX_PRECEDENTS = 3
SMALL = 2000
"""Characters of sources that every model can read."""
CHOSEN = "chosen for this debate"


@dataclass(eq=False)
class Drafts:
    settings: AppSettings
    models: Models
    formats: Mapping[str, AnyFormat]
    library: Library
    toolbox: Toolbox
    _default_model: ModelChoice | None = None

    async def new(self, format: str, topic: str, settings: Mapping[str, JsonValue], background: str = "") -> Record:
        chosen = known_formats.find(self.formats, format)
        self._check_configured()
        checked = _extended(self._check_settings(chosen, await _with_sources(settings)))
        checked = await self._looked_up(chosen, checked, topic)
        models = [seat for seat in chosen.seats if seat.player == "model"]
        every = {seat.name: await self._seat_settings(checked, seat) for seat in models}
        checked = await self._fitting(_at_depth(checked, every), every)
        seats = {seat.name: every[seat.name] for seat in models if checked.seated(seat)}
        words = (check_topic(topic), check_text(background, MAX_BACKGROUND, "the background"))
        record = Record(
            id=new_id("DEB"),
            format=chosen.name,
            format_version=chosen.version,
            topic="\n\n".join(filter(None, words)),
            # With the defaults of today: a later version with others must not change this debate.
            settings=checked.model_dump(mode="json"),
            seats=seats,
            created_at=time.time(),
        )
        self._check_prices(record)
        self._check_research(checked)
        return record

    def check_names(self) -> None:
        """Raises InvalidInput for a name or a folder of the settings that is not there: it would be ignored."""
        if (folder := self.settings.prompts) and not folder.is_dir():
            raise InvalidInput(f"settings: prompts: there is no folder {folder}; make it, or remove the setting")
        for name in self.settings.prices:
            try:
                parse_name(name, self.models.providers)
            except InvalidInput as error:
                raise InvalidInput(f"settings: prices: {error}") from None
        for name in self.settings.formats:
            if name not in self.formats:
                near = meant(name, self.formats) or f"; known: {', '.join(self.formats)}"
                raise InvalidInput(f"settings: formats.{name}: there is no such format{near}")
        for name in self.settings.models:
            seats = {seat.name for format in self.formats.values() for seat in format.seats}
            if name not in seats:
                raise InvalidInput(f"settings: models.{name}: no format has such a seat{meant(name, seats)}")

    def _check_configured(self) -> None:
        """Raises InvalidInput for what is wrong in the settings, also where it is about another format."""
        self.check_names()
        for name in self.settings.formats:
            self.defaults(self.formats[name])

    def defaults(self, format: AnyFormat) -> Settings:
        """What a debate has that chooses nothing. Raises InvalidInput where the configuration cannot be used for it."""
        return self._check_settings(format, {})

    async def fork(self, origin: StoredDebate, position: int | None, changes: Mapping[str, JsonValue]) -> Record:
        """A debate that begins with the first turns of another; raises InvalidInput where they would not fit.

        Without a position it is the last one at which there is something left to play.
        """
        self._check_configured()
        before, format = origin.record, known_formats.of_record(self.formats, origin.record)
        if before.format_version > format.version:
            newer = f"follows version {before.format_version} of {before.format}, newer than this moot knows"
            raise InvalidInput(f"{before.id} {newer}; fork it with the moot that made it")
        changed = await self.with_changes(before, _keeping_time(await _with_sources(changes)))
        had, chosen = format.stored(before), format.stored(changed)
        settings = await self._looked_up(format, chosen, before.topic, had)
        if not had.research:
            self._check_research(settings)
        record = Record(
            id=new_id("DEB"),
            format=before.format,
            format_version=before.format_version,  # under which the turns were played
            topic=before.topic,
            settings=changed.settings if settings is chosen else settings.model_dump(mode="json"),
            seats=changed.seats,
            created_at=time.time(),
        )
        there = first_missing(origin) if position is None else position
        as_before = replace(record, settings=before.settings)
        while position is None and there and not next_steps(as_before, origin.turns[:there], format):
            there -= 1
        _check_fork(record, origin, there, format)
        return replace(record, origin=Origin(before.id, there))

    async def fork_again(
        self, made: Record, origin: str, before: Record, position: int | None, changes: Mapping[str, JsonValue]
    ) -> Record:
        """What was made of a fork, as it would be if it were asked for with these; its origin may have gone on."""
        there = made.copied if position is None else position
        checked = self.changed(before, _keeping_time(await _with_sources(changes)))
        format = known_formats.of_record(self.formats, before)
        found = {format.compared[0]} if format.compared else set()
        found |= {"sources"} if checked.precedents else set()  # there may be others by now
        settings = {**made.settings, **checked.model_dump(mode="json", exclude=found)}
        return replace(made, settings=settings, origin=Origin(origin, there))

    def changed(self, before: Record, changes: Mapping[str, JsonValue]) -> Settings:
        """The settings of a debate with some of them changed."""
        format = known_formats.of_record(self.formats, before)
        return self._check_settings(format, _changed(format.stored(before).model_dump(mode="json"), changes, format))

    def chosen_anew(self, origin: StoredDebate, changes: Mapping[str, JsonValue]) -> StoredDebate:
        """A debate to fork, without what a person changed in it on the way and a fork chooses for itself."""
        format = known_formats.of_record(self.formats, origin.record)
        seats = {seat.name for seat in format.seats if _chooses(seat, changes)}

        def kept(turn: Turn) -> Turn:
            data = Change.of(turn).without(changes.keys(), seats).as_json()
            return replace(turn, data=data)

        return origin._replace(turns=tuple(kept(turn) if is_change(turn) else turn for turn in origin.turns))

    async def with_changes(self, before: Record, changes: Mapping[str, JsonValue]) -> Record:
        """A debate with other settings; a seat keeps the model it has where none is chosen anew.

        A seat that it has not, though its settings have it, is one that its format got later: it goes on without it.
        """
        format = known_formats.of_record(self.formats, before)
        checked, had = self.changed(before, changes), format.stored(before)
        seats = {
            seat.name: _seated(seat, before.seats[seat.name], checked, changes)
            if seat.name in before.seats
            else await self._seat_settings(checked, seat)
            for seat in format.seats
            if seat.player == "model" and checked.seated(seat) and (seat.name in before.seats or not had.seated(seat))
        }
        record = replace(before, settings=checked.model_dump(mode="json"), seats=seats)
        self._check_prices(record)
        return record

    async def choose_model(self, seat: Seat, settings: Settings | None = None) -> ModelChoice:
        """The model a seat would use, and why: the debate's choice, the configuration's, the environment's."""
        if settings and (name := settings.model_for(seat)):
            return ModelChoice(name, CHOSEN)
        own = self.settings.models.get(seat.name)
        if seat.like and not own:
            return await self.choose_model(seat.like, settings)
        if name := own or self.settings.model:
            return ModelChoice(name, "MOOT_MODEL or moot.yaml")
        if choice := self.models.group_default(seat.group):
            return choice
        if seat.prefers and await self.models.has(preferred := PREFERRED[seat.prefers]):
            return ModelChoice(preferred, "this seat is meant for it, and it is there")
        if self._default_model is None:
            found = await self.models.default()
            if found.name == BUILT_IN_MODEL:  # whatever is started later is found without a restart
                return found
            self._default_model = found
        return self._default_model

    async def usual_format(self, chosen: Mapping[str, JsonValue]) -> str:
        """The format of a debate that named none: another, with all that is `chosen`, for a model too small for it."""
        usual = self.formats[known_formats.DEFAULT]
        if (chosen.get("model") or (await self.choose_model(usual.seats[0])).name) not in SMALL_MODELS:
            return usual.name
        short = (format for format in self.formats.values() if has_short_prompts(format))
        return next((each for each in short if chosen.keys() <= each.settings.model_fields.keys()), usual).name

    async def _looked_up(
        self, format: AnyFormat, settings: Settings, topic: str, had: Settings | None = None
    ) -> Settings:
        """The settings with what others of them bring along, where those are not what the debate had before."""
        if settings.precedents and not (had and had.precedents):
            settings = await self._with_precedents(settings, topic)
        if format.compared:
            name, pairs_of = format.compared
            if (pairs := pairs_of(settings)) != (pairs_of(had) if had else []):
                found = await self.library.nearness(pairs, topic) if pairs else None
                settings = settings.model_copy(update={name: found})
        return settings

    def _check_research(self, settings: Settings) -> None:
        if settings.research and not self.toolbox.servers and are_whole(settings):
            raise InvalidInput(
                "nothing is configured to look things up with: name servers under `research` in moot.yaml, or give "
                "sources that are too long to be read whole (docs/research.md)"
            )

    async def _with_precedents(self, settings: Settings, topic: str) -> Settings:
        """The settings with the approved decisions that fit the question best as further sources."""
        folder = self.settings.decisions
        known = {each.number: each for each in await asyncio.to_thread(precedents, folder)}
        if not known:
            raise InvalidInput(f"there are no approved decisions in {folder}: approve one, or leave precedents out")
        texts = {number: each.about for number, each in known.items()}
        found = await self.library.excerpts(texts, topic, MAX_PRECEDENTS)
        chosen = [known[number].source for number in dict.fromkeys(excerpt.tag for excerpt in found)]
        if len(settings.sources) + len(chosen) > MAX_FILES:
            raise InvalidInput(
                f"with {len(chosen)} precedents there are over {MAX_FILES} sources; give fewer of your own"
            )
        return settings.model_copy(update={"sources": [*settings.sources, *chosen]})

    def _check_settings(self, format: AnyFormat, settings: Mapping[str, JsonValue]) -> Settings:
        try:
            checked: Settings = format.settings.model_validate(
                clean({**self.configured(format), **settings}), context=NEW
            )
        except ValidationError as error:
            told = faults(error.errors(), format.settings, whole=True)
            raise InvalidInput(f"{format.name} settings: {told}") from None
        for name, value in checked:
            if isinstance(value, int | float) and value > MAX_NUMBER:
                raise InvalidInput(f"{format.name} settings: {name}: at most {MAX_NUMBER:,}")
        seats = [seat.name for seat in format.seats]
        for field in BY_SEAT:
            for seat in getattr(checked, field):
                if seat not in seats:
                    near = meant(seat, seats) or f"; its seats: {', '.join(seats)}"
                    raise InvalidInput(f"{format.name} has no seat {seat!r}{near}")
        return self._with_providers(checked, format) if format.bare_models else checked

    async def _fitting(self, settings: Settings, seats: Mapping[str, SeatSettings]) -> Settings:
        """Sources are shown whole up to what the smallest window holds beside a debate: a character for each token."""
        length = sum(len(source.text) for source in settings.sources)
        if "whole_sources" in settings.model_fields_set or length <= SMALL:
            return settings
        windows = [await self.models.window(model) for model in {seat.model for seat in seats.values()}]
        smallest = min((window for window in windows if window), default=settings.whole_sources)
        return settings.model_copy(update={"whole_sources": min(settings.whole_sources, smallest)})

    def configured(self, format: AnyFormat) -> Mapping[str, JsonValue]:
        """The settings that a new debate has unless it chooses others."""
        own: dict[str, JsonValue] = {"depth": self.settings.depth, "judges": [*self.settings.judges]}
        usual = {name: value for name, value in own.items() if value and name in format.settings.model_fields}
        return {**usual, **self.settings.formats.get(format.name, {})}

    def _with_providers(self, settings: Settings, format: AnyFormat) -> Settings:
        """The settings with the usual provider before the models of groups that are named without one."""
        names = {field: getattr(settings, field, None) for field in {f"model_{seat.group}" for seat in format.seats}}
        bare = {field: name for field, name in names.items() if name and ":" not in name}
        return settings.model_copy(update={field: f"{USUAL}:{name}" for field, name in bare.items()})

    def _check_prices(self, record: Record) -> None:
        if record.settings["max_cost"] is None:
            return
        for model in {seat.model for seat in record.seats.values()}:
            if self.models.prices.cost(model, Usage(calls=1)) is None:
                raise InvalidInput(f"max_cost needs a price for {model}: add it under `prices` in moot.yaml")

    async def _seat_settings(self, settings: Settings, seat: Seat) -> SeatSettings:
        model = (await self.choose_model(seat, settings)).name
        usual = min(seat.temperature, SMALL_TEMPERATURE) if model in SMALL_MODELS else seat.temperature
        return SeatSettings(
            model,
            settings.temperatures.get(seat.name, usual),
            settings.max_tokens.get(seat.name, seat.max_tokens),
        )


def _extended(settings: Settings) -> Settings:
    """A time limit that nobody has set fits the models' pace."""
    asked = {"max_runtime_seconds", "extend_runtime"} & settings.model_fields_set
    return settings if asked else settings.model_copy(update={"extend_runtime": True})


async def _with_sources(settings: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """The settings with the sources that were sent as files read."""
    if "sources" not in settings:
        return settings
    return {**settings, "sources": await asyncio.to_thread(read_sent, settings["sources"])}


def _at_depth(settings: Settings, seats: Mapping[str, SeatSettings]) -> Settings:
    """What tiny models say is judged once unless somebody asks for more: more would say nothing more."""
    asked = {"depth", "judgings", "ballots"} & settings.model_fields_set
    tiny = bool(seats) and all(seat.model in SMALL_MODELS for seat in seats.values())
    is_quick = tiny and not asked and "depth" in type(settings).model_fields
    return settings.model_copy(update={"depth": "quick"}) if is_quick else settings


def _changed(
    settings: Mapping[str, JsonValue], changes: Mapping[str, JsonValue], format: AnyFormat
) -> dict[str, JsonValue]:
    """The settings of a fork: those of its origin, seat by seat where there is one for each."""
    kept = dict(settings)
    if changes.get("model"):  # for every seat, so no earlier choice stands before it
        by_group = {name for seat in format.seats if (name := f"model_{seat.group}") in kept}
        kept |= {"models": {}} | dict.fromkeys(by_group) | ({"judges": []} if "judges" in kept else {})
    for name in BY_SEAT:
        old, new = kept.get(name), changes.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            kept[name] = {**old, **new}
            changes = {key: value for key, value in changes.items() if key != name}
    return {**kept, **changes}


def _keeping_time(changes: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """What a fork chooses anew: a time limit that is set is kept, however slow the models are."""
    return {"extend_runtime": False, **changes} if "max_runtime_seconds" in changes else changes


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
    own = for_all or (isinstance(by_seat, dict) and seat.name in by_seat)
    return own or (seat.like is not None and _chooses(seat.like, changes))


def _check_fork(record: Record, origin: StoredDebate, position: int, format: AnyFormat) -> None:
    before, there, turns = origin.record, first_missing(origin), origin.turns[:position]
    if not 0 <= position <= there:
        lacking = " before the first that it lacks" if there < len(origin.turns) else ""
        raise InvalidInput(f"{before.id} has {there} turns{lacking}; fork it at a position from 0 to {there}")
    less = f"fork {before.id} at an earlier position, or change less"
    asked = replayed_steps(before, turns, format)
    try:
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
