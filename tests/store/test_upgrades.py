"""A database of each earlier schema, with data in every table it had, is whole and in use after the upgrade."""

from __future__ import annotations

import pytest
from test_migrations import MIGRATED, NEWEST, OLD, OLD_TURN, Database, database

from moot.core.debate import Failure, HumanReply, Origin, Rating, Status, Tick, Turn, Workflow
from moot.core.engine import Control, RunResult

__all__ = ["database"]

DATA = {
    1: (
        OLD,
        OLD_TURN,
        """INSERT INTO failures (debate_id, position, seat, kind, partial, code, message, at, run)
        VALUES ('DEB-old', 1, 'judge', 'verdict', 'S', 'model_error', 'gone', 2.0, 1)""",
        """INSERT INTO debates (id, format, format_version, topic, settings, seats, created_at, status, run, owner,
            lease_until) VALUES ('DEB-dead', 'duel', 1, 'Busse?', '{}', '{}', 13.5, 'running', 1, 'bob', 14.5)""",
        """INSERT INTO debates (id, format, format_version, topic, settings, seats, created_at, status, run, outcome,
            stop_reason, finished_at)
        VALUES ('DEB-done', 'duel', 1, 'Trams?', '{}', '{}', 11.5, 'finished', 1, '{"winner": "a"}', 'done', 12)""",
    ),
    2: (
        "INSERT INTO said (debate_id, position, action, text, at) VALUES ('DEB-old', 1, 'answer', 'Ja', 3)",
        "INSERT INTO ratings (debate_id, stars, comment, at) VALUES ('DEB-done', 4, 'Gut', 13)",
        """INSERT INTO workflows (debate_id, id, title, body, created_at, delivered, attempts, result)
        VALUES ('DEB-done', 'WF-1', 'Trams', 'Fahren', 13, FALSE, 1, 'refused')""",
    ),
    3: ("UPDATE debates SET search_text = lower(topic), idempotency_key = 'key' WHERE id = 'DEB-done'",),
    4: (
        "UPDATE debates SET watched = TRUE, tries_from = 1 WHERE id = 'DEB-old'",
        "INSERT INTO workers VALUES ('w', 'bob', 4, 1.0, 2.0)",
    ),
    5: (
        """INSERT INTO deliveries (id, debate_id, run, event, hook, payload, next_at)
        VALUES ('n', 'DEB-done', 1, 'debate.finished', 'chat', '{}', 1.0)""",
    ),
    6: ("UPDATE debates SET origin_debate = 'DEB-done', origin_position = 0 WHERE id = 'DEB-dead'",),
    7: ("UPDATE workflows SET next_at = 1.0",),
    8: (),
    9: (),
}


def test_there_is_data_for_each_earlier_schema() -> None:
    assert list(DATA) == list(range(1, NEWEST))


@pytest.mark.parametrize("version", DATA)
async def test_a_database_of_each_earlier_schema_keeps_all_it_held_and_goes_on(
    database: Database, version: int
) -> None:
    await database.make(version)
    for number in range(1, version + 1):
        for statement in DATA[number]:
            await database.run(statement)

    store = await database.open()

    assert await database.schema() == MIGRATED
    assert [record.id for record in await store.list(limit=9)] == ["DEB-dead", "DEB-old", "DEB-done"]
    assert [record.id for record in await store.list(limit=9, words="trams")] == ["DEB-done"]
    old, done = await store.load("DEB-old"), await store.load("DEB-done")
    assert [(turn.content, turn.event_id, turn.marks) for turn in old.turns] == [("So", 7, ("cut",))]
    assert old.failures == (
        Failure(
            position=1,
            seat="judge",
            kind="verdict",
            round=None,
            partial="S",
            code="model_error",
            message="gone",
            at=2.0,
            run=1,
        ),
    )
    assert (done.record.outcome, done.record.finished_at) == ({"winner": "a"}, 12.0)
    assert old.record.tries_from == (1 if version >= 4 else 0)
    assert [notice.id for notice in await store.due(["chat"], 9, 30.0)] == (["n"] if version >= 5 else [])
    dead = await store.take("DEB-dead", "alice", 30, only_queued=True)
    assert (dead.record.run, dead.record.origin) == (2, Origin("DEB-done", 0) if version >= 6 else None)
    if version >= 2:
        assert done.rating == Rating(4, "Gut", 13.0)
        kept = Workflow(id="WF-1", title="Trams", body="Fahren", created_at=13.0, attempts=1, result="refused")
        assert done.workflow == kept
        assert await store.take_workflow(30.0, "DEB-done") == ("DEB-done", kept)
        assert await store.said("DEB-old") == (HumanReply("answer", "Ja", 1, 3.0),)
    else:
        await store.say("DEB-old", HumanReply("answer", "Ja", 1))
    assert (await store.load("DEB-old")).record.status is (Status.WAITING if version >= 2 else Status.QUEUED)
    named = await store.say("DEB-old", HumanReply("guide", "Schneller", who="Anna"))
    assert (await store.said("DEB-old"))[-1] == named
    ticked = await store.tick("DEB-done", Tick(0, True, "Anna"))
    assert (await store.load("DEB-done")).ticks == (ticked,)
    if version >= 2:
        await store.enqueue("DEB-old")
    assert (await store.take("DEB-old", "alice", 30, only_queued=True)).record.run == 2
    more = Turn(position=1, seat="human", kind="answer", round=None, content="Ja", run=2)
    assert await store.append("DEB-old", more) == Control(remarks=1)
    await store.end("DEB-old", 2, RunResult(Status.FINISHED, "completed", outcome={"winner": "b"}))
    assert (await store.load("DEB-old")).record.outcome == {"winner": "b"}
    await store.close()
