"""What Prometheus reads of a server and of a worker, over a real socket."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import aiohttp
import pytest
from live import Gate, Live, serving, simple_app
from prometheus_client.parser import text_string_to_metric_families

from moot.app import App
from moot.core.debate import Failure, Status
from moot.errors import InvalidInput, StoreAway
from moot.runs.process import this_process
from moot.runs.queue import Backlog, Load
from moot.runs.workers import PostgresQueue
from moot.store.postgres import PostgresPool, open_postgres
from moot.store.processes import Worker
from moot.telemetry.metrics import Metrics
from moot.testing import MemoryStore, ScriptedModel, scripted_app
from moot.web.guard import Access
from moot.web.server import Uvicorn, build_app, listening
from moot.web.stream.hub import Hub
from moot.web.worker_endpoint import serving_metrics
from stage import sensible

TOKEN = "correct horse battery staple"
TOPIC = "Is the sentinel topic ever told?"
NO_DEBATES = {("moot_debates", status.value): 0.0 for status in Status}


def samples(text: str) -> dict[tuple[str, ...], float]:
    """All of moot's own by name and labels, but for the times and when each was made."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("moot_") and not sample.name.endswith(("_bucket", "_sum", "_created"))
    }


def measured_app(store: MemoryStore | None = None, pace: Gate | None = None) -> App:
    app = simple_app(store, pace)
    app.telemetry.metrics = Metrics()
    return app


async def scraped(live: Live) -> dict[tuple[str, ...], float]:
    answer = await live.get("/metrics")
    assert (answer.status, answer.headers["Content-Type"].partition(";")[0]) == (200, "text/plain")
    return samples(answer.body)


async def test_a_new_server_tells_of_nothing_yet() -> None:
    async with serving(measured_app()) as live:
        assert await scraped(live) == {
            ("moot_event_stream_readers",): 0,
            ("moot_database_up",): 1,
            **NO_DEBATES,
            ("moot_queue_jobs", "due"): 0,
            ("moot_queue_jobs", "later"): 0,
            ("moot_queue_oldest_seconds",): 0,
            ("moot_workers",): 1,
            ("moot_takeovers_total",): 0,
            ("moot_retries_total",): 0,
        }
        assert "process_resident_memory_bytes" in (await live.get("/metrics")).body


async def test_a_server_tells_how_its_debates_stand_and_who_reads_them() -> None:
    gate = Gate()
    app = measured_app(pace=gate)
    app.settings.max_running = 1
    async with serving(app) as live:
        running = await live.create(TOPIC, max_rounds=1)
        await gate.reached.wait()
        await live.create(TOPIC, max_rounds=1)
        await live.create(TOPIC, start=False)
        reading = asyncio.create_task(live.all_events(running))
        await live.read_by(1)
        told = await scraped(live)
        assert told["moot_event_stream_readers",] == 1
        assert [told["moot_debates", status] for status in ("running", "queued", "created")] == [1, 1, 1]
        assert told["moot_queue_jobs", "due"] == 1
        assert told["moot_queue_oldest_seconds",] > 0
        gate.opened.set()
        await reading
        told = await scraped(live)
        assert told["moot_runs_total", "duel", "finished"] >= 1
        assert told["moot_turn_seconds_count", "duel", "verdict"] >= 1
        assert TOPIC not in (await live.get("/metrics")).body


async def test_what_died_and_what_failed_is_counted_from_the_database() -> None:
    app = measured_app()
    made = await app.create("duel", TOPIC, {})
    await app.store.take(made.id, "somebody", 60.0)
    for code in ("taken_over", "taken_over", "rate_limited"):
        await app.store.add_failure(
            made.id,
            Failure(
                position=0,
                seat="judge",
                kind="verdict",
                round=None,
                partial="",
                code=code,
                message=TOPIC,
                at=1.0,
                run=1,
            ),
        )
    async with serving(app) as live:
        told = await scraped(live)
        assert (told["moot_takeovers_total",], told["moot_failures_total", "rate_limited"]) == (2, 1)
        assert ("moot_failures_total", "taken_over") not in told
        assert TOPIC not in (await live.get("/metrics")).body


class Away(MemoryStore):
    """A store whose database goes away."""

    gone = False

    async def counts(self) -> dict[Status, int]:
        if self.gone:
            raise StoreAway("Postgres at db cannot be used")
        return await super().counts()


async def test_while_the_database_is_away_the_servers_own_numbers_are_told() -> None:
    store = Away()
    async with serving(measured_app(store)) as live:
        await live.ended(await live.create(TOPIC, max_rounds=1))
        store.gone = True
        told = await scraped(live)
        assert (told["moot_database_up",], told["moot_runs_total", "duel", "finished"]) == (0, 1)
        assert not [name for name, *_ in told if name in ("moot_debates", "moot_workers", "moot_takeovers_total")]


async def test_the_metrics_want_the_token_that_everything_wants() -> None:
    async with serving(measured_app(), Access(token=TOKEN)) as live:
        assert (await live.get("/metrics")).problem[:2] == (401, "unauthorized")
        assert (await live.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})).status == 200
        assert (await live.get("/metrics", headers={"Host": "evil.example"})).status == 421


# On Postgres


@pytest.fixture
async def shared(postgres_url: str) -> AsyncIterator[tuple[App, PostgresQueue]]:
    """A server's app, and its queue that works nothing itself."""
    store = await open_postgres(postgres_url)
    app = scripted_app(ScriptedModel(sensible), store)
    app.telemetry.metrics = Metrics()
    assert isinstance(store.database, PostgresPool)
    app.queue = queue = PostgresQueue(app.runner, store.database)
    yield app, queue
    await app.close()


async def test_the_backlog_is_what_is_due_and_what_waits_for_its_time(shared: tuple[App, PostgresQueue]) -> None:
    app, queue = shared
    assert await queue.backlog() == Backlog(0, 0, 0.0)
    made = [await app.create("duel", TOPIC, {}, start=True) for _ in range(3)]
    database = app.store.database  # type: ignore[attr-defined]
    move = "UPDATE jobs SET due_at = moot_now() + $1 WHERE debate_id = $2"
    await database.pool.execute(move, 600.0, made[0].id)
    await database.pool.execute(move, -60.0, made[1].id)
    due, later, oldest = await queue.backlog()
    assert (due, later, 60 <= oldest < 70) == (2, 1, True)


async def test_health_says_when_nobody_works_what_is_queued(shared: tuple[App, PostgresQueue]) -> None:
    app, _ = shared
    async with serving_metrics(app, 0) as address, aiohttp.ClientSession() as session:

        async def health() -> tuple[str, Load]:
            async with session.get(f"{address}/api/health") as answer:
                assert answer.status == 200
                told = await answer.json()
                return told["status"], Load(told["running"], told["queued"], told["workers"])

        assert await health() == ("ok", Load(0, 0, 0))
        await app.create("duel", TOPIC, {}, start=True)
        assert await health() == ("no workers", Load(0, 1, 0))
        await app.store.note_worker(Worker("w", "process 1 on elsewhere", 1))
        assert await health() == ("ok", Load(0, 1, 1))


async def test_the_page_of_a_queued_debate_says_when_nobody_works(shared: tuple[App, PostgresQueue]) -> None:
    app, _ = shared
    web = build_app(app, Hub(app.follow))
    made = await app.create("duel", TOPIC, {}, start=True)
    with listening("127.0.0.1", 0) as listener:
        server, started = Uvicorn(web, lambda: None), asyncio.Event()
        server.ready = started.set
        running = asyncio.create_task(server.serve([listener]))
        await started.wait()
        page = f"http://127.0.0.1:{listener.getsockname()[1]}/debates/{made.id}"
        said = []
        async with aiohttp.ClientSession() as session:
            for _ in range(2):
                async with session.get(page) as answer:
                    said.append("queued, but no worker is alive" in await answer.text())
                await app.store.note_worker(Worker("w", "process 1 on elsewhere", 1))
        server.should_exit = True
        await running
    assert said == [True, False]


async def test_a_worker_tells_its_own_numbers_alone(shared: tuple[App, PostgresQueue]) -> None:
    app, _ = shared
    made = await app.create("duel", TOPIC, {"max_rounds": 1})
    await app.run(made.id, lambda event: None)
    async with serving_metrics(app, 0) as address, aiohttp.ClientSession() as session:
        async with session.get(f"{address}/metrics") as answer:
            names = {name for name, *_ in samples(await answer.text())}
        async with session.get(f"{address}/api/debates") as answer:
            assert answer.status == 404
    assert names == {
        "moot_runs_total",
        "moot_retries_total",
        "moot_turn_seconds_count",
        "moot_model_call_seconds_count",
        "moot_tokens_total",
        "moot_cached_tokens_total",
    }


async def test_beyond_this_machine_a_worker_wants_the_token_but_for_its_health(
    shared: tuple[App, PostgresQueue],
) -> None:
    app, _ = shared
    app.settings.metrics_host = "0.0.0.0"
    with pytest.raises(InvalidInput, match=r"^listening on 0\.0\.0\.0 lets others in: set MOOT_TOKEN"):
        async with serving_metrics(app, 0):
            pass
    app.settings.token = type(app.settings).model_validate({"token": TOKEN}).token
    async with serving_metrics(app, 0) as address, aiohttp.ClientSession() as session:
        for path, headers, status in (
            ("/metrics", {}, 401),
            ("/metrics", {"Authorization": f"Bearer {TOKEN}"}, 200),
            ("/api/health", {}, 200),
        ):
            async with session.get(address + path, headers=headers) as answer:
                assert answer.status == status


async def test_a_worker_that_frees_what_a_dead_one_held_counts_as_a_takeover(postgres_url: str) -> None:
    store = await open_postgres(postgres_url)
    app = scripted_app(ScriptedModel(sensible), store)
    assert isinstance(store.database, PostgresPool)
    made = await app.create("duel", TOPIC, {"max_rounds": 1}, start=True)
    dead = await asyncio.create_subprocess_exec("true")
    await dead.wait()
    await store.take(made.id, this_process().replace(str(os.getpid()), str(dead.pid)), 600.0)
    queue = PostgresQueue(app.runner, store.database, 1)
    await queue.start()
    events = [event.type async for event in queue.follow(made.id)]
    await queue.drain(0.0)
    failures = (await app.load(made.id)).failures
    assert (events[-1], [(failure.code, failure.run) for failure in failures]) == (
        "debate_finished",
        [("taken_over", 1)],
    )
    assert await store.failure_counts() == {"taken_over": 1}
    await app.close()
