"""Spans, for those who trace: none, unless the environment says where they shall go.

OpenTelemetry is imported only then.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from typing import Protocol, TypeAlias

Attributes: TypeAlias = Mapping[str, str | int | float | list[str]]

log = logging.getLogger(__name__)

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")


class Span(Protocol):
    def set_attributes(self, attributes: Attributes, /) -> None: ...


class Spans(Protocol):
    def span(self, name: str, attributes: Attributes, *, calls: bool = False) -> AbstractContextManager[Span]:
        """What happens in the block, as a part of what happens around it; `calls` when it is a call to a server."""
        ...

    async def close(self) -> None:
        """Send what has not been sent, for two seconds at most."""
        ...


class NoSpans:
    def span(self, name: str, attributes: Attributes, *, calls: bool = False) -> AbstractContextManager[Span]:
        return nullcontext(_NO_SPAN)

    async def close(self) -> None:
        """Nothing to send."""


class _NoSpan:
    def set_attributes(self, attributes: Attributes, /) -> None:
        """Nobody reads them."""


_NO_SPAN = _NoSpan()


def wanted(environ: Mapping[str, str]) -> bool:
    """Whether the standard variables say where traces go."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    return exporter == "otlp" or (not exporter and any(environ.get(name) for name in ENDPOINTS))


def open_spans(environ: Mapping[str, str]) -> Spans:
    if not wanted(environ):
        return NoSpans()
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.exporter") is None:
        log.warning("OTEL_* asks for traces, but OpenTelemetry is not installed: pip install 'moot[otel]'")
        return NoSpans()
    from moot.telemetry.otel import exporting

    return exporting(environ)
