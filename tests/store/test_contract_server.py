"""What every store promises to a server: pages of a list, one debate per key, deleting with undo."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from moot.core.debate import HumanReply, Rating, Record, Status, Turn, Usage, Workflow
from moot.core.engine import RunResult
from moot.core.people import Tick
from moot.errors import NotFound, WrongStatus
from moot.store.listing import Listing, Wanted
from moot.store.rows import Summary
from moot.store.store import Cursor, Store
from moot.testing import MemoryStore

NEW = Record(id="DEB-1", format="duel", format_version=1, topic="Cats?", settings={}, seats={}, created_at=0.0)
TURN = Turn(position=0, seat="debater_a", kind="argument", round=1, content="Because.", run=1)


async def ended(store: Store, status: Status) -> Record:
    await store.create(NEW)
    await store.take("DEB-1", "ann", 30)
    await store.end("DEB-1", 1, RunResult(status, "why"))
    return (await store.load("DEB-1")).record


# Lists


async def test_pages_of_a_list_are_stable_while_debates_are_added(store: Store) -> None:
    made = [await store.create(replace(NEW, id=f"DEB-{number}")) for number in range(7)]
    newest = [record.id for record in sorted(made, key=lambda record: (-record.created_at, record.id))]

    seen: list[str] = []
    after: Cursor | None = None
    while page := await store.list(limit=3, after=after):
        seen += [record.id for record in page]
        after = Cursor(page[-1].created_at, page[-1].id)
        await store.create(replace(NEW, id=f"DEB-new-{len(seen)}"))

    assert seen == newest


async def test_debates_created_at_the_same_time_are_all_on_some_page() -> None:
    store = MemoryStore(now=lambda: 1.0)
    for number in range(5):
        await store.create(replace(NEW, id=f"DEB-{number}"))
    first = await store.list(limit=2)
    second = await store.list(limit=9, after=Cursor(1.0, first[-1].id))
    assert [record.id for record in (*first, *second)] == [f"DEB-{number}" for number in range(5)]


async def test_a_list_is_narrowed_by_status_format_and_words(store: Store) -> None:
    topics = {"DEB-1": "Über 100% der Züge_fahren!", "DEB-2": "100 Katzen", "DEB-3": "ZÜGE ÜBER ALLES"}
    for id, topic in topics.items():
        await store.create(replace(NEW, id=id, topic=topic, format="panel" if id == "DEB-3" else "duel"))
    await store.enqueue("DEB-1")

    async def found(**filters: object) -> list[str]:
        return sorted(record.id for record in await store.list(limit=9, **filters))  # type: ignore[arg-type]

    assert await found(words="züge") == ["DEB-1", "DEB-3"]
    assert await found(words="ÜBER", format="duel") == ["DEB-1"]
    assert await found(words="%") == ["DEB-1"]
    assert await found(words="e_f") == ["DEB-1"]
    assert await found(words="n!") == ["DEB-1"]
    assert await found(words="t_t") == []
    assert await found(status=Status.CREATED) == ["DEB-2", "DEB-3"]
    assert await found(status=Status.CREATED, format="panel", words="alles") == ["DEB-3"]
    assert await found(format="critique") == []


async def test_a_list_is_narrowed_by_words_that_stand_in_the_topic_or_the_outcome(store: Store) -> None:
    for id, topic, summary in (
        ("DEB-1", "Which cache?", 'Use "Redis", 100%.'),
        ("DEB-2", "Redis or Züge?", "Neither."),
    ):
        await store.create(replace(NEW, id=id, topic=topic))
        await store.take(id, "ann", 30)
        await store.end(id, 1, RunResult(Status.FINISHED, "why", outcome={"summary": summary}))
    await store.create(replace(NEW, id="DEB-3", topic="Redis?"))

    async def found(*words: str, **filters: object) -> list[str]:
        listed = await store.list(limit=9, about=words, **filters)  # type: ignore[arg-type]
        return sorted(record.id for record in listed)

    assert await found("redis") == ["DEB-1", "DEB-2", "DEB-3"]
    assert await found("REDIS", "cache") == ["DEB-1"]
    assert await found("Redis", "neither", "züge") == ["DEB-2"]
    assert await found("redis", status=Status.FINISHED) == ["DEB-1", "DEB-2"]
    assert await found("100%") == ["DEB-1"]
    assert await found("10_%") == []
    assert await found("redis", "memcached") == []


# Keys


async def test_one_of_fifty_creates_under_one_key_makes_a_debate_and_all_get_it(store: Store) -> None:
    creates = (store.create(replace(NEW, id=f"DEB-{number}"), "key") for number in range(50))
    made = await asyncio.gather(*creates)
    assert await store.list(limit=60) == (made[0],)
    assert made == [made[0]] * 50


async def test_other_keys_and_none_make_other_debates(store: Store) -> None:
    for number, key in enumerate(("one", "two", None, None)):
        assert (await store.create(replace(NEW, id=f"DEB-{number}"), key)).id == f"DEB-{number}"


# Deleting


async def test_a_deleted_debate_is_not_found_until_it_is_restored_with_all_it_had(store: Store) -> None:
    await ended(store, Status.WAITING)
    whole = await store.load("DEB-1")
    await store.delete("DEB-1")
    await store.delete("DEB-1")

    assert await store.list(limit=9) == ()
    assert await store.unfinished() == ()
    calls = (
        store.load("DEB-1"),
        store.take("DEB-1", "ann", 30),
        store.enqueue("DEB-1"),
        store.ask_to_stop("DEB-1"),
        store.ask_to_conclude("DEB-1"),
        store.pause("DEB-1"),
        store.say("DEB-1", HumanReply("guide", "Hello")),
        store.rate("DEB-1", Rating(5)),
        store.add_workflow("DEB-1", Workflow(id="WFL-1", title="Do it", body="")),
    )
    for call in calls:
        with pytest.raises(NotFound, match="no debate 'DEB-1'"):
            await call

    assert await store.restore("DEB-1") == whole.record
    assert await store.restore("DEB-1") == whole.record
    assert await store.load("DEB-1") == whole


async def test_turns_of_a_deleted_debate_are_there_again_when_it_is_restored(store: Store) -> None:
    await store.create(NEW)
    await store.take("DEB-1", "ann", 30)
    await store.append("DEB-1", TURN)
    await store.end("DEB-1", 1, RunResult(Status.STOPPED, "stopped"))
    await store.delete("DEB-1")
    await store.restore("DEB-1")
    assert (await store.load("DEB-1")).turns == (TURN,)


async def test_a_debate_that_is_being_run_is_not_deleted(store: Store) -> None:
    await store.create(NEW)
    running = (await store.take("DEB-1", "ann", 30)).record
    with pytest.raises(WrongStatus, match="DEB-1 is running; stop it and wait for its step in progress, then delete"):
        await store.delete("DEB-1")
    assert (await store.load("DEB-1")).record == running


async def test_what_never_was_is_neither_deleted_nor_restored_nor_queued(store: Store) -> None:
    for call in (store.delete("x"), store.restore("x"), store.enqueue("x")):
        with pytest.raises(NotFound, match="no debate 'x'"):
            await call


# Summaries


async def test_a_summary_has_what_a_list_shows_of_a_debate(store: Store) -> None:
    await store.create(replace(NEW, id="DEB-0"))
    await ended(store, Status.STOPPED)
    await store.take("DEB-1", "ann", 30)
    used = (
        Usage(input_tokens=100, cached_tokens=40, output_tokens=30, calls=1, cost=0.25),
        Usage(input_tokens=200, output_tokens=7, calls=2, estimated=True, cost=0.5),
        Usage(),
    )
    for position, usage in enumerate(used):
        await store.append("DEB-1", replace(TURN, position=position, usage=usage, run=2))
    await store.end("DEB-1", 2, RunResult(Status.FINISHED, "why", outcome={"summary": "So"}))
    for stars in (1, 5):
        await store.rate("DEB-1", Rating(stars))
    await store.add_workflow("DEB-1", Workflow(id="WFL-1", title="Do it", body=""))
    for step, done in ((0, True), (2, True), (2, False)):
        await store.tick("DEB-1", Tick(step, done))
    record = (await store.load("DEB-1")).record

    first, second = await Listing(store.database).page()

    assert first == Summary(record, 3, used[0] + used[1], 5, "WFL-1", 1)
    assert (first.usage.output_tokens, first.usage.cost) == (37, 0.75)
    assert second == Summary((await store.load("DEB-0")).record, 0, Usage(), None, None, 0)


async def test_summaries_are_those_of_the_debates_a_list_has(store: Store) -> None:
    for number in range(4):
        await store.create(replace(NEW, id=f"DEB-{number}", topic="Dogs?" if number == 3 else "Cats?"))
    await store.delete("DEB-0")
    listed = await store.list(limit=9)
    after = Cursor(listed[0].created_at, listed[0].id)

    listing = Listing(store.database)
    assert [each.record for each in await listing.page()] == list(listed)
    assert [each.record for each in await listing.page(1, Wanted("cats"), after=after)] == [listed[1]]
    assert await listing.page(9, Wanted(status=Status.FINISHED)) == ()


async def test_a_list_is_counted_and_read_in_both_directions(store: Store) -> None:
    for number in range(5):
        await store.create(replace(NEW, id=f"DEB-{number}"))
    listing, listed = Listing(store.database), await store.list(limit=9)
    places = [Cursor(each.created_at, each.id) for each in listed]
    for at, place in enumerate(places):
        newer = [each.record for each in await listing.page(2, before=place)]
        assert newer == list(listed[max(0, at - 2) : at])
        assert [each.record for each in await listing.page(2, after=place)] == list(listed[at + 1 : at + 3])
    assert (await listing.count(), await listing.count(Wanted("dogs"))) == (5, 0)


async def test_what_was_deleted_is_listed_apart_and_what_waits_can_be_left_out(store: Store) -> None:
    for number in range(3):
        await store.create(replace(NEW, id=f"DEB-{number}"))
    await store.delete("DEB-0")
    await store.take("DEB-1", "ann", 30)
    await store.end("DEB-1", 1, RunResult(Status.WAITING, "why"))
    listing = Listing(store.database)
    assert [each.record.id for each in await listing.page(9, Wanted(hidden=True))] == ["DEB-0"]
    assert [each.record.id for each in await listing.page(9, Wanted(at_rest=True))] == ["DEB-2"]
    assert (await listing.count(Wanted(hidden=True)), await listing.count(Wanted(at_rest=True))) == (1, 1)
    assert await listing.counts() == {
        Wanted(status=Status.CREATED, format=NEW.format, hidden=True): 1,
        Wanted(status=Status.CREATED, format=NEW.format): 1,
        Wanted(status=Status.WAITING, format=NEW.format): 1,
    }


async def test_an_unknown_price_makes_the_cost_of_a_summary_unknown(store: Store) -> None:
    await store.create(NEW)
    await store.take("DEB-1", "ann", 30)
    for position, cost in enumerate((0.5, None)):
        await store.append("DEB-1", replace(TURN, position=position, usage=Usage(calls=1, cost=cost)))
    (summary,) = await Listing(store.database).page(1)
    assert summary.usage == Usage(calls=2, cost=None)
