"""What tokens cost: the user's own table, then the prices genai-prices keeps, else unknown."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, lru_cache, partial
from time import time
from typing import TYPE_CHECKING, NamedTuple

from moot.core.debate import NO_USAGE, Usage
from moot.llm.providers import Provider, parse_name

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice, PriceCalculation

    from moot.settings import Price

LISTED_AS = {"gemini": "google", "xai": "x-ai"}
"""Providers that the price list knows under another name."""


class Prices:
    def __init__(self, providers: Mapping[str, Provider], own: Mapping[str, Price]) -> None:
        self._providers = providers
        self._own = own
        self._name = cache(partial(parse_name, known=providers))

    def cost(self, model: str, usage: Usage) -> float | None:
        """US dollars for one call's tokens; None when the price is unknown, 0 for a model on the user's machine."""
        if own := self._own.get(model):
            return _cost(own, usage)
        provider, name = self._name(model)
        known = self._providers.get(provider)
        if provider == "local" or (known and known.local):
            return 0.0
        return None if known is None else _listed(LISTED_AS.get(provider, provider), name, int(time() // 60))(usage)


class _Rates(NamedTuple):
    """Dollars per million tokens."""

    input: float
    output: float
    cached: float
    cache_written: float


def _cost(price: Price | _Rates, usage: Usage) -> float:
    """By a price in dollars per million tokens; cached and cache-written tokens are part of the input."""
    plain = usage.input_tokens - usage.cached_tokens - usage.cache_written_tokens
    cached = price.input if price.cached is None else price.cached
    written = price.input if price.cache_written is None else price.cache_written
    return (
        plain * price.input
        + usage.cached_tokens * cached
        + usage.cache_written_tokens * written
        + usage.output_tokens * price.output
    ) / 1_000_000


@lru_cache(maxsize=64)
def _listed(provider: str, model: str, minute: int) -> Callable[[Usage], float | None]:
    """What the list says of a model; by the minute, as some prices depend on the time of day.

    To look up and calculate takes longer than a step of an estimate, so that is done once for every length of input
    from which on tokens have another price.
    """
    try:
        nothing = _calculated(provider, model, NO_USAGE)
    except LookupError:
        return lambda usage: None
    call, lengths = float(nothing.total_price), _lengths(nothing.model_price)
    rates = [_rates(provider, model, length + 1, call) for length in (0, *lengths)]
    return lambda usage: call + _cost(rates[bisect_left(lengths, usage.input_tokens)], usage)


def _lengths(price: ModelPrice) -> list[int]:
    """The tokens of input above which all tokens of a call have another price."""
    from genai_prices.types import TieredPrices

    return sorted(
        {tier.start for each in vars(price).values() if isinstance(each, TieredPrices) for tier in each.tiers}
    )


def _rates(provider: str, model: str, tokens: int, call: float) -> _Rates:
    """For calls with so much input, beside what a call costs anyway."""
    plain = Usage(input_tokens=tokens)
    usages = (
        plain,
        replace(plain, output_tokens=tokens),
        replace(plain, cached_tokens=tokens),
        replace(plain, cache_written_tokens=tokens),
    )
    input, both, cached, written = (
        (float(_calculated(provider, model, usage).total_price) - call) * 1_000_000 / tokens for usage in usages
    )
    return _Rates(input, both - input, cached, written)


def _calculated(provider: str, model: str, usage: Usage) -> PriceCalculation:
    # Half a second to import, so only for those who talk to a provider that is paid.
    import genai_prices

    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_written_tokens,
        output_tokens=usage.output_tokens,
    )
    return genai_prices.calc_price(tokens, model, provider_id=provider)
