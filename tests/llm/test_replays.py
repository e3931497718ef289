"""Examples that are played again: as often as somebody wants, steered like any debate, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from moot.app import App
from moot.core.debate import Status
from moot.core.prompts import Prompts
from moot.errors import NotRecorded
from moot.examples.catalog import MODEL, Example, examples
from moot.formats import load
from moot.llm.client import Message, Request
from moot.llm.models import RECORDED, Models
from moot.llm.replays import Replays
from moot.settings import AppSettings
from moot.testing import MemoryStore
from moot.web.pages.outcome_views import outcome_page


@pytest.fixture(scope="module")
def replays() -> Replays:
    return Replays([example.recording for example in examples()], None)


@pytest.fixture
async def app(replays: Replays) -> AsyncIterator[App]:
    made = App(AppSettings(), MemoryStore(), lambda: Models({}, clients={RECORDED: replays}), load(), Prompts)
    yield made
    await made.close()


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
async def test_an_example_can_be_watched_twice_and_ends_as_it_did(app: App, example: Example) -> None:
    outcomes = []
    for _ in range(2):
        record = await app.create(example.format, example.topic, example.settings())
        assert (await app.run(record.id, lambda event: None)).status is Status.FINISHED
        outcomes.append((await app.read(record.id)).headline)
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
async def test_why_an_example_is_no_surer_are_only_reasons_against_it(app: App, example: Example) -> None:
    record = await app.create(example.format, example.topic, example.settings())
    await app.run(record.id, lambda event: None)
    page = (await app.read(record.id)).page
    assert page
    assert page.trust
    assert page.trust.level == "Medium"
    (reason,) = page.trust.reasons
    assert reason.startswith(("One model in every seat is trusted no further", "One model, a large model, spoke"))


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
async def test_the_first_page_on_paper_has_the_answer_or_how_it_was_judged(app: App, example: Example) -> None:
    record = await app.create(example.format, example.topic, example.settings())
    await app.run(record.id, lambda event: None)
    shown = outcome_page(await app.read(record.id))
    on_first = {each.id for each in shown["sections"]} & {*shown["first_page"]}
    assert ("stable" in on_first) is (example.format == "duel")
    assert ("scores" in on_first) is (example.format == "evaluation")
    assert ("answer" in on_first) is (example.format == "critique")


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
async def test_an_example_is_steered_like_any_debate(app: App, example: Example) -> None:
    record = await app.create(example.format, example.topic, example.settings())
    await app.reply(record.id, "guide", "Mind the people who have to run it.")
    paused = await app.run(record.id, lambda event: None, until=lambda steps: any(step.round == 2 for step in steps))
    assert paused.status is not Status.FINISHED
    await app.conclude(record.id)
    assert (await app.run(record.id, lambda event: None)).status is Status.FINISHED
    said = [turn for turn in (await app.read(record.id)).turns if turn.seat == "human" and turn.kind == "remark"]
    assert [turn.content for turn in said] == ["Mind the people who have to run it."]


async def test_nothing_but_an_example_is_answered(replays: Replays) -> None:
    request = Request(model=MODEL, messages=(Message("user", "Cats or dogs?"),), max_tokens=10, temperature=0)
    with pytest.raises(NotRecorded, match="hold no such debate"):
        await replays.complete(request, lambda text: None)
