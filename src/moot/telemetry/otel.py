"""Spans of OpenTelemetry, sent as the standard OTEL_* variables say (OTLP over HTTP)."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode

from moot.core.engine import HumanNeeded
from moot.telemetry.spans import Attributes, Span

log = logging.getLogger(__name__)

CLOSE_SECONDS = 2.0
"""What a collector gets when the process ends."""


def exporting(environ: Mapping[str, str]) -> OtelSpans:
    """Raises nothing when nobody listens: what cannot be sent is logged and dropped."""
    return OtelSpans(BatchSpanProcessor(OTLPSpanExporter()), environ)


class OtelSpans:
    def __init__(self, processor: SpanProcessor, environ: Mapping[str, str]) -> None:
        named = {} if environ.get("OTEL_SERVICE_NAME") else {"service.name": "moot"}
        # A provider of our own: the global one belongs to the program we may be a part of.
        self._provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("moot")

    @contextmanager
    def span(self, name: str, attributes: Attributes, *, calls: bool = False) -> Iterator[Span]:
        kind = SpanKind.CLIENT if calls else SpanKind.INTERNAL
        # An exception's message may quote a model; its code tells enough.
        with self._tracer.start_as_current_span(
            name, kind=kind, attributes=attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except HumanNeeded:
                raise  # nothing went wrong: the debate waits
            except BaseException as error:
                span.set_attribute("error.type", getattr(error, "code", type(error).__name__))
                span.set_status(StatusCode.ERROR)
                raise

    async def close(self) -> None:
        """In a thread that the end of the process does not wait for, as a collector may be dead."""
        loop, sent = asyncio.get_running_loop(), asyncio.Event()

        def send() -> None:
            self._provider.shutdown()
            with suppress(RuntimeError):  # nobody waits any more
                loop.call_soon_threadsafe(sent.set)

        threading.Thread(target=send, daemon=True).start()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await sent.wait()
        except TimeoutError:
            log.warning("the collector of traces takes nothing; what was not sent yet is dropped")
