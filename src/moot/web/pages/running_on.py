"""Which models a new debate would run on, and what it would take, as pages say it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from moot.app import App
from moot.app.estimates import Expected
from moot.core.format import AnyFormat
from moot.errors import InvalidInput
from moot.llm.providers import parse_name
from moot.llm.weights import BUILT_IN_MODEL, SMALL_MODELS
from moot.reading.words import short_model


class Use(NamedTuple):
    """A model, and the seats that it fills."""

    name: str
    seats: tuple[str, ...]
    why: str

    @property
    def model(self) -> str:
        return _named(self.name)

    @property
    def provider(self) -> str:
        return self.name.partition(":")[0]


class RunsOn(NamedTuple):
    uses: tuple[Use, ...]
    """The one that fills most seats first."""

    def of(self, seat: str) -> str:
        """The model of a seat."""
        return next((short_model(use.name) for use in self.uses if seat in use.seats), "")

    @property
    def tiny(self) -> str:
        """What nothing but tiny models is called, which only show how moot works; empty where another is there."""
        names = {use.name for use in self.uses}
        if not all(name in SMALL_MODELS for name in names):
            return ""
        return "the tiny built-in model" if names == {BUILT_IN_MODEL} else "a tiny local model"


async def runs_on(app: App, format: AnyFormat) -> RunsOn:
    seats: dict[str, list[str]] = {}
    reasons: dict[str, str] = {}
    for seat in format.usual_seats:
        name, why = await app.drafts.choose_model(seat)
        seats.setdefault(name, []).append(seat.title)
        reasons.setdefault(name, why)
    uses = (Use(name, tuple(titles), reasons[name]) for name, titles in seats.items())
    return RunsOn(tuple(sorted(uses, key=lambda use: -len(use.seats))))


class Bill(NamedTuple):
    """What a debate takes: money, time, calls, tokens, and by whom."""

    sum: str = ""
    most: str = ""
    models: tuple[tuple[str, int], ...] = ()
    calls: str = ""
    tokens: str = ""
    warning: str = ""
    one_model: bool = False
    prices: Mapping[str, str] = {}
    """The same sum at each depth."""
    fault: str = ""
    """Why it cannot be told yet."""


def bill(found: Expected, prices: Mapping[str, str], is_examined: bool) -> Bill:
    """What the form says of a debate; of confidence only where the format has its outcome examined."""
    typical, most, models = found.typical, found.most, Counter(map(_named, found.models))
    return Bill(
        sum=sum_text(found),
        most=_most(most.cost),
        models=tuple(models.most_common()),
        calls=f"about {typical.calls}",
        tokens=f"{thousands(typical.input_tokens)} in, {thousands(typical.output_tokens)} out",
        warning=found.duration.warning,
        one_model=is_examined and len(models) == 1,
        prices=prices,
    )


def _most(cost: float | None) -> str:
    if cost is None:
        return "about; the price of a model is not known"
    return f"about, at most {money(cost)}" if cost else "about; it costs nothing"


def _named(model: str) -> str:
    """Without its provider, where it has one."""
    return short_model(model).partition(":")[2] or short_model(model)


def sum_text(found: Expected) -> str:
    time, cost = minutes(found.duration.typical_seconds), found.typical.cost
    return time if cost is None else f"{money(cost)} · {time}" if cost else f"{time} · free"


def money(dollars: float) -> str:
    if not dollars:
        return "free"
    return f"${dollars:.2f}" if dollars >= 0.1 else f"${dollars:.3f}" if dollars >= 0.001 else "under $0.001"


def minutes(seconds: float) -> str:
    return f"{max(1, round(seconds))} s" if seconds < 60 else f"{seconds / 60:.0f} min"


def thousands(number: int) -> str:
    return str(number) if number < 1000 else f"{number / 1000:.1f}k" if number < 9950 else f"{number / 1000:.0f}k"


def check_models(app: App, chosen: Mapping[str, Any]) -> dict[str, str]:
    """Field → what is wrong with the model that is named there."""
    named = {name: value for name, value in chosen.items() if name == "model" or name.startswith("model_")}
    named |= {f"models.{seat}": name for seat, name in (chosen.get("models") or {}).items()}
    faults: dict[str, str] = {}
    for field, name in named.items():
        try:
            if name:
                parse_name(name, app.models.providers)
                app.models.check(name)
        except InvalidInput as error:
            faults[field] = str(error)
    return faults
