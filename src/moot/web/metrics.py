"""`/metrics` for Prometheus: what the database knows of all processes, then what this one has counted.

When the database is away, `moot_database_up` says so, and the process's own numbers are told all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from moot.app import App
from moot.core.debate import Status
from moot.errors import StoreError
from moot.runs.queue import Backlog
from moot.runs.retries import TAKEN_OVER
from moot.web.stream.hub import Hub

if TYPE_CHECKING:
    from fastapi import FastAPI

PATH = "/metrics"
SECONDS = 3.0
"""What the database gets to answer; whoever scrapes is not kept waiting longer."""


class Shared(NamedTuple):
    """What the database knows of all processes together."""

    debates: dict[Status, int]
    failures: dict[str, int]
    backlog: Backlog
    workers: int


def add_metrics(web: FastAPI, app: App, hub: Hub | None = None) -> None:
    """Put /metrics on a server; without a hub it tells of its own process only."""

    async def scrape(request: Request) -> Response:
        about_all = families(await shared(app), hub.readers) if hub else ()
        own = app.telemetry.metrics.text() if app.telemetry.metrics else b""
        return Response(generate_latest(_Collected(about_all)) + own, media_type=CONTENT_TYPE_LATEST)

    web.router.routes.append(Route(PATH, scrape, methods=["GET"]))


async def shared(app: App) -> Shared | None:
    """None while the database is away."""
    try:
        async with asyncio.timeout(SECONDS):
            debates, failures = await app.store.counts(), await app.store.failure_counts()
            return Shared(debates, failures, await app.backlog(), (await app.load_of_queue()).workers)
    except (StoreError, TimeoutError):
        return None


def families(known: Shared | None, readers: int) -> Iterator[Metric]:
    yield GaugeMetricFamily("moot_event_stream_readers", "Open event streams of this server", readers)
    yield GaugeMetricFamily("moot_database_up", "Whether the database answers", int(known is not None))
    if known is None:
        return
    debates = GaugeMetricFamily("moot_debates", "Debates, by status", labels=["status"])
    yield _filled(debates, {status: known.debates.get(status, 0) for status in Status})
    due, later, oldest = known.backlog
    jobs = GaugeMetricFamily("moot_queue_jobs", "Runs that wait: due now, or later after a failure", labels=["state"])
    yield _filled(jobs, {"due": due, "later": later})
    yield GaugeMetricFamily("moot_queue_oldest_seconds", "How long the first run that is due has waited", oldest)
    yield GaugeMetricFamily("moot_workers", "Processes alive that run debates", known.workers)
    took_over = known.failures.get(TAKEN_OVER, 0)
    yield CounterMetricFamily("moot_takeovers", "Runs that died and were taken over by others", took_over)
    failures = CounterMetricFamily("moot_failures", "Attempts at a step that failed and were kept", labels=["code"])
    yield _filled(failures, {code: n for code, n in sorted(known.failures.items()) if code != TAKEN_OVER})


def _filled(family: GaugeMetricFamily | CounterMetricFamily, values: Mapping[str, float]) -> Metric:
    for label, value in values.items():
        family.add_metric([label], value)
    return family


@dataclass(frozen=True)
class _Collected(Collector):
    families: Iterable[Metric]

    def collect(self) -> Iterable[Metric]:
        return self.families
