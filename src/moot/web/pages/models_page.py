"""The page of models: what a new debate would run on and why, and each provider with what is reachable and a test.

Keys stay in the environment: the page tells whether one is set, never what it is.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from starlette.responses import Response

from moot.app import App
from moot.core.debate import Usage
from moot.errors import InvalidInput, MootError
from moot.llm.models import ModelChoice
from moot.llm.providers import Provider
from moot.llm.weights import BUILT_IN_MODEL, names
from moot.reading.words import short_model
from moot.web.pages.faults import own_words, sentence
from moot.web.pages.form_values import last
from moot.web.pages.frame import Frame
from moot.web.pages.posting import posted_by

if TYPE_CHECKING:
    from starlette.requests import Request

State: TypeAlias = Literal["", "warn", "off"]
MILLION = Usage(input_tokens=1_000_000), Usage(output_tokens=1_000_000)
MOST_MODELS = 12


class SeatLine(NamedTuple):
    """Seats that would run on one model for one reason."""

    seats: str
    model: str
    why: str
    price: str


class ProviderLine(NamedTuple):
    name: str
    state: State
    word: str
    how: str
    models: tuple[str, ...] = ()
    more: int = 0
    command: str = ""
    model: str = ""
    """The one that a test asks."""
    result: str = ""


class ModelsPage:
    def __init__(self, app: App, frame: Frame) -> None:
        self._app = app
        self._frame = frame

    async def show(self, request: Request) -> Response:
        return await self._page()

    async def test(self, request: Request) -> Response:
        """Have a model of a provider say a word, and tell how that went in the provider's own line."""
        return await self._page(last(await posted_by(request), "model"))

    async def _page(self, tested: str = "") -> Response:
        lines = await self._seats()
        used = {line.model for line in lines}
        providers = await asyncio.gather(*map(self._provider, self._app.models.shown))
        known = [*(line for line in providers if line.state != "off"), self._built_in()]
        shown = sorted(known, key=lambda line: line.state == "warn")  # what works first
        if tested and tested not in {line.model for line in shown}:
            raise InvalidInput(f"{tested!r} is not on this page; test one of the models that are")
        result = await self._tried(tested) if tested else ""
        told = [line._replace(result=result) if line.model == tested else line for line in shown]
        missing = [line for line in providers if line.state == "off"]
        about = {"seats": lines, "used": used, "providers": told, "missing": missing, "here": "models"}
        return await self._frame.page("models.html", **about)

    async def _tried(self, model: str) -> str:
        try:
            began = time.perf_counter()
            note = await self._app.models.try_out(model)
        except MootError as error:
            return own_words(str(error))
        if note:
            return sentence(note)
        if model.startswith("local:"):
            return "It is there; it is loaded when a debate needs it."
        return f"Answered in {time.perf_counter() - began:.1f} s."

    async def _seats(self) -> list[SeatLine]:
        found: dict[ModelChoice, list[str]] = {}
        for format in self._app.formats.values():
            for seat in format.usual_seats:
                choice = await self._app.drafts.choose_model(seat)
                found.setdefault(choice, []).append(f"{seat.title.lower()} ({format.name})")
        return [
            SeatLine(
                "every seat" if len(found) == 1 else ", ".join(seats),
                short_model(name),
                sentence(why),
                self._price(name),
            )
            for (name, why), seats in found.items()
        ]

    def _price(self, model: str) -> str:
        costs = [self._app.models.prices.cost(model, usage) for usage in MILLION]
        if None in costs:
            return "unknown"
        return ", ".join(f"${cost:.2f}" for cost in costs) if any(costs) else "free"

    async def _provider(self, provider: Provider) -> ProviderLine:
        name, look = provider.name, await self._app.models.look(provider)
        if not look.configured:
            return ProviderLine(name, "off", "no key", "", command=f"export {provider.key_env}=…")
        set_key = f"{provider.key_env} is set" if provider.key_env else ""
        if look.fault:
            return ProviderLine(name, "warn", "cannot be used", own_words(look.fault))
        if not look.address:
            return ProviderLine(name, "", "ready", "a client of the program that runs moot")
        how, found = set_key or f"looked for at {look.address}", look.models
        if found is None and provider.local:
            return ProviderLine(name, "off", "not running", f"looked for at {look.address}")
        if found is None:
            how = f"{set_key}, but it is not reachable or does not take the key. Mend that, then test it."
            return ProviderLine(name, "warn", "not reachable", how, model=_named(name, provider.default_model))
        test = _named(name, provider.default_model or next((each for each in found if "embed" not in each), ""))
        names = tuple(_named(name, each) for each in found)
        return ProviderLine(name, "", "ready", how, names[:MOST_MODELS], max(0, len(names) - MOST_MODELS), model=test)

    def _built_in(self) -> ProviderLine:
        how = "Runs in moot's own process. The built-in one is for trying moot out: its debates decide nothing."
        models = tuple(f"local:{name}" for name in names())
        return ProviderLine("built in", "", self._app.models.local_state(), how, models, model=BUILT_IN_MODEL)


def _named(provider: str, model: str | None) -> str:
    return f"{provider}:{model}" if model else ""
