from __future__ import annotations

from dataclasses import replace

import genai_prices
import pytest

from moot.core.debate import NO_USAGE, Usage
from moot.llm.models import Models
from moot.llm.prices import Prices
from moot.llm.providers import BUILT_IN
from moot.settings import Price
from moot.testing import ScriptedModel

PROVIDERS = {provider.name: provider for provider in BUILT_IN}
THOUSAND = Usage(input_tokens=1000, cached_tokens=400, cache_written_tokens=100, output_tokens=200, calls=1)


def test_the_users_own_price_counts_before_any_list() -> None:
    prices = Prices(PROVIDERS, {"deepseek:deepseek-chat": Price(input=1, output=10, cached=0.1, cache_written=2)})
    assert prices.cost("deepseek:deepseek-chat", THOUSAND) == pytest.approx((500 + 40 + 200 + 2000) / 1e6)


def test_cached_input_costs_like_other_input_when_the_table_does_not_say() -> None:
    prices = Prices(PROVIDERS, {"http://gpu/v1#m": Price(input=1, output=2)})
    assert prices.cost("http://gpu/v1#m", THOUSAND) == pytest.approx((1000 + 400) / 1e6)


@pytest.mark.parametrize(
    "model", ["deepseek:deepseek-chat", "openai:gpt-4.1-mini", "anthropic:claude-sonnet-4-5", "gemini:gemini-2.5-flash"]
)
def test_well_known_models_have_a_listed_price(model: str) -> None:
    cost = Prices(PROVIDERS, {}).cost(model, THOUSAND)
    assert cost is not None
    assert 0 < cost < 0.1


def test_cached_tokens_make_a_listed_price_smaller() -> None:
    prices = Prices(PROVIDERS, {})
    cold, warm = (
        Usage(
            input_tokens=1000,
            cached_tokens=cached,
            cache_written_tokens=0,
            output_tokens=0,
            reasoning_tokens=0,
            calls=1,
        )
        for cached in (0, 1000)
    )
    dear, cheap = (prices.cost("deepseek:deepseek-chat", usage) for usage in (cold, warm))
    assert dear is not None
    assert cheap is not None
    assert cheap < dear / 2


@pytest.mark.parametrize("tokens", [0, 1, 199_999, 200_000, 200_001, 1_000_000])
@pytest.mark.parametrize(
    "model",
    [
        "anthropic:claude-sonnet-4-5",  # dearer above 200,000 tokens
        "google:gemini-2.5-pro",
        "perplexity:sonar",  # with a price for each call
        "openai:gpt-4.1-mini",
    ],
)
def test_a_listed_price_is_what_the_list_calculates(model: str, tokens: int) -> None:
    provider, name = model.split(":")
    used = {"input_tokens": tokens, "output_tokens": 700}
    counted = genai_prices.Usage(**used, cache_read_tokens=tokens // 3, cache_write_tokens=tokens // 5)
    usage = Usage(**used, cached_tokens=tokens // 3, cache_written_tokens=tokens // 5, calls=1)
    providers = {**PROVIDERS, provider: replace(PROVIDERS["openai"], name=provider)}
    listed = float(genai_prices.calc_price(counted, name, provider_id=provider).total_price)
    assert Prices(providers, {}).cost(model, usage) == pytest.approx(listed)


def test_an_unknown_price_is_unknown_and_never_zero() -> None:
    prices = Prices(PROVIDERS, {})
    assert prices.cost("openai:no-such-model", THOUSAND) is None
    assert prices.cost("http://127.0.0.1:9/v1#m", THOUSAND) is None


def test_a_model_on_the_users_own_machine_costs_nothing() -> None:
    prices = Prices(PROVIDERS, {})
    assert [prices.cost(model, THOUSAND) for model in ("local:smollm2", "ollama:qwen3:32b")] == [0.0, 0.0]


def test_one_unknown_cost_makes_the_sum_unknown() -> None:
    known, unknown = Usage(calls=1, cost=0.5), Usage(calls=1)
    assert (known + known).cost == 1.0
    assert (known + unknown).cost is None
    assert (NO_USAGE + known).cost == 0.5
    assert (NO_USAGE + NO_USAGE).cost is None


async def test_every_completion_says_what_it_cost() -> None:
    models = Models(
        {}, clients={"scripted": ScriptedModel(["one two"])}, prices={"scripted:m": Price(input=0, output=5)}
    )
    connection = await models.connect("scripted:m")
    from moot.llm.client import Request

    completion = await connection.client.complete(
        Request(model=connection.model, messages=(), max_tokens=10, temperature=0.5), lambda text: None
    )
    assert completion.usage.cost == pytest.approx(2 * 5 / 1e6)
