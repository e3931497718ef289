"""moot as a library: `moot.run` and `moot.stream`, against a real model server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import moot
from model_server import VERDICT, ModelServer
from moot import settings
from moot.app import build
from moot.core.debate import Status
from moot.errors import DebateEnded, InvalidInput, NotFound
from moot.formats.duel.format import Verdict
from replies import answers


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer().running() as server:
        monkeypatch.setenv("MOOT_MODEL", server.model)
        yield server


async def test_run_returns_the_outcome(server: ModelServer) -> None:
    outcome = await moot.run("duel", "Cats are better than dogs", {"max_rounds": 1})
    assert isinstance(outcome, Verdict)
    assert outcome.headline() == "Debater A (pro) wins, 8 : 5"
    assert (outcome.summary, outcome.caveats) == (
        VERDICT["summary"],
        ["one model, mock, spoke in every seat"],
    )


async def test_stream_yields_every_event_in_order(server: ModelServer) -> None:
    events = [event async for event in moot.stream("duel", "Cats?", {"max_rounds": 1})]
    told = [event.type for event in events if event.type != "turn_chunk"]
    turn = ["turn_started", "turn_finished"]
    assert told == ["debate_started", "round_started", *turn, *turn, "limit_reached", *turn, "debate_finished"]
    assert [event.id for event in events] == sorted({event.id for event in events})


async def test_a_critique_streams_what_was_retrieved_its_rounds_turns_and_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ModelServer(answers).running() as server:
        monkeypatch.setenv("MOOT_MODEL", server.model)
        asked = moot.stream("critique", "Prove that the square root of 2 is irrational", {"max_rounds": 1})
        events = [event async for event in asked]
    turn = ["turn_started", "turn_finished"]
    told = [event.type for event in events if event.type != "turn_chunk"]
    assert told[:6] == ["debate_started", *turn, "round_started", *turn]
    assert told[-3:] == [*turn, "debate_finished"]
    finished = [event for event in events if event.type == "turn_finished"]
    assert [event.kind for event in finished] == ["templates", "proposal", "critique", "answer", "review"]
    assert all(event.duration_ms >= 0 for event in finished)
    last = events[-1]
    assert last.type == "debate_finished"
    assert last.trace["templates_used"][0]["name"] == "proof-by-contradiction"
    assert (last.trace["final_answer"], last.trace["models"]["embedding"]) == (
        finished[-2].content,
        "wordllama:l2_256",
    )


async def test_leaving_a_stream_leaves_a_debate_that_can_be_resumed(server: ModelServer) -> None:
    events = moot.stream("duel", "Cats?")
    async for event in events:
        if event.type == "turn_finished":
            break
    await events.aclose()
    async with build(settings.load()) as app:
        (record,) = await app.list()
        assert (record.status, record.stop_reason) == (Status.STOPPED, "interrupted")
        assert (await app.run(record.id, lambda event: None)).status == Status.FINISHED
        assert len((await app.load(record.id)).turns) == 11


async def test_what_cannot_be_debated_is_raised_at_once() -> None:
    with pytest.raises(InvalidInput, match="the topic is empty"):
        await moot.run("duel", " ")
    with pytest.raises(NotFound, match=r"no format named 'dule', did you mean duel\? known: .*duel"):
        await moot.run("dule", "Cats?")
    with pytest.raises(InvalidInput, match="size"):
        await anext(moot.stream("duel", "Cats?", {"size": 3}))


async def test_a_debate_that_fails_raises_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_MODEL", "http://127.0.0.1:9/v1#m")
    with pytest.raises(DebateEnded, match=r"DEB-\w+ is failed: cannot reach http://127.0.0.1:9/v1: is the server"):
        await moot.run("duel", "Cats?")
