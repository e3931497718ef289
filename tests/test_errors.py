"""What is wrong with what somebody wrote is told in moot's words, whatever they wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from moot import formats
from moot.core.format import NEW
from moot.core.webhooks import Webhook
from moot.core.workflows import WorkflowSettings
from moot.errors import faults
from moot.settings import AppSettings, Price, ProviderSettings, ResearchServer, RetrievalSettings
from moot.web import schemas
from moot.web.openai import requests

FOREIGN = re.compile(
    r"Input should|should (be|have|match)|Field required|Value error|valid (dict|str|int|num|bool|list|tuple)|"
    r"unable to|Extra inputs|\[type=|constrained|pydantic|union\[",
)
"""Words of pydantic, not of moot."""
ODD: tuple[Any, ...] = (
    None, "", "x", "\ud800", "9" * 30, "x" * 5000, -1, 0, 1, 99, 10**30, 1e400, float("nan"), 0.5, True, [],
    [1], ["x"], [{}], {}, {"x": 1}, {"x": {}}, {"x": "y"}, {"": ""}, [[]],
)  # fmt: skip


def _models() -> Iterator[type[BaseModel]]:
    for format in formats.load().values():
        yield format.settings
    yield from (AppSettings, Price, ProviderSettings, ResearchServer, RetrievalSettings, WorkflowSettings, Webhook)
    for module in (schemas, requests):
        yield from (
            each
            for each in vars(module).values()
            if isinstance(each, type) and issubclass(each, BaseModel) and each.__module__ == module.__name__
        )


@pytest.mark.parametrize("model", list(_models()), ids=lambda model: f"{model.__module__}.{model.__name__}")
def test_whatever_is_wrong_is_told_in_our_own_words(model: type[BaseModel]) -> None:
    told = []
    for name in (*model.model_fields, "nothing_of_the_kind"):
        for value in ODD:
            try:
                TypeAdapter(model).validate_python({name: value}, context=NEW)
            except ValidationError as error:
                told.append(f"{name}={value!r:.40}: {faults(error.errors(), model)}")
    assert [each for each in told if FOREIGN.search(each)] == []


def test_a_value_of_several_kinds_is_told_what_is_wrong_with_the_kind_it_has() -> None:
    def told(value: Any) -> str:
        with pytest.raises(ValidationError) as caught:
            formats.load()["panel"].settings.model_validate({"perspectives": value})
        return faults(caught.value.errors())

    assert told(99) == "perspectives: at most 4, not 99"
    assert told({}) == "perspectives: write a whole number or a list"
    assert told([{"name": "x"}]) == "perspectives.0.priorities: is missing; perspectives.0.trade_offs: is missing"


def test_a_long_value_is_not_told_again() -> None:
    with pytest.raises(ValidationError) as caught:
        AppSettings(port="x" * 50, max_retries=-(10**20))
    assert faults(caught.value.errors()) == "max_retries: at least 0; port: write a whole number"
