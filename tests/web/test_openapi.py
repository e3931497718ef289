"""The OpenAPI document, and requests made up from it: none ends in a fault of the server, all fit what is promised."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import hypothesis
import pytest
import schemathesis
from live import serving, simple_app
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks

from moot.web.api import PROBLEMS

load_all_checks()
# What a format takes as settings is told by GET /api/formats, not by this document; so a body that fits the document
# may still be refused. Everything else that can be checked is.
LEFT_OUT = {"positive_data_acceptance"}


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, str]]:
    """A server in a thread of its own, as schemathesis calls without a loop, and a debate it has."""
    found: list[tuple[str, str]] = []
    ready, done = threading.Event(), threading.Event()

    async def run() -> None:
        async with serving(simple_app()) as live:
            debate_id = await live.create(max_rounds=1)
            await live.ended(debate_id)
            found.append((live.url, debate_id))
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    assert ready.wait(20)
    yield found[0]
    done.set()
    thread.join()


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_requests_made_up_from_the_document_are_answered_as_it_says(
    address: tuple[str, str], mode: GenerationMode
) -> None:
    called, (url, debate_id) = 0, address
    schema = schemathesis.openapi.from_url(f"{url}/api/openapi.json")
    checks = CHECKS.get_by_names([name for name in CHECKS.get_all_names() if name not in LEFT_OUT])

    for result in schema.exclude(path_regex="/events$").get_all_operations():
        operation = result.ok()

        @hypothesis.settings(
            max_examples=20, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck)
        )
        @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
        def holds(case: Any) -> None:
            nonlocal called
            called += 1
            if mode is GenerationMode.POSITIVE and called % 2 and "debate_id" in case.path_parameters:
                case.path_parameters["debate_id"] = debate_id
            case.call_and_validate(checks=checks)

        with suppress(hypothesis.errors.Unsatisfiable):  # nothing about it can be wrong
            holds()
    assert called > 200


async def test_every_route_tells_its_errors_in_one_form() -> None:
    async with serving(simple_app()) as live:
        document = (await live.get("/api/openapi.json")).body
    form = {"application/json": {"schema": {"$ref": "#/components/schemas/Failed"}}}
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            for status in PROBLEMS:
                assert route["responses"][str(status)]["content"] == form, (path, method, status)
            assert route["description"], (path, method)


async def test_no_page_of_the_document_loads_scripts_from_elsewhere() -> None:
    async with serving(simple_app()) as live:
        page, other = [await live.get(path) for path in ("/docs", "/redoc")]
    assert (page.status, other.status) == (200, 404)
    assert not re.search(r'(src|href)="(https?:)?//', page.body)
