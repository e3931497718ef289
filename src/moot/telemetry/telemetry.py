"""Where a run, a step and a model call are observed: each logs a line, counts, and is a span.

The attributes of spans are those of OpenTelemetry's conventions for generative AI, as far as they fit.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from moot.core.debate import Record, Status, Step, Turn
from moot.core.trust import Trust
from moot.errors import Fenced, ModelError
from moot.telemetry.log_context import here, within
from moot.telemetry.spans import NoSpans, Spans

if TYPE_CHECKING:
    from moot.core.engine import Player, PlayerReply, RunResult
    from moot.core.script import Debate
    from moot.core.turn_writer import TurnWriter
    from moot.llm.client import Completion, Request
    from moot.telemetry.metrics import Metrics
    from moot.trust.judging import JudgeFaults

log = logging.getLogger(__name__)

OnStored: TypeAlias = Callable[[Turn], None]


class Telemetry:
    def __init__(self, metrics: Metrics | None = None, spans: Spans | None = None) -> None:
        self.metrics = metrics
        self.spans = spans or NoSpans()

    async def run(self, record: Record, play: Callable[[OnStored], Awaitable[RunResult]]) -> RunResult:
        """Observe a run of a debate; `play` is given what is to be told of each turn it stores."""
        about = {
            **_in_debate(record.id, "invoke_workflow"),
            "gen_ai.workflow.name": record.format,
            "moot.run": record.run,
        }
        began = time.monotonic()
        with (
            within(debate=record.id, run=record.run, format=record.format),
            self.spans.span(f"invoke_workflow {record.format}", about) as span,
        ):
            log.info("run started")
            try:
                ending = await play(partial(self._stored, record.format))
            except (asyncio.CancelledError, Fenced) as error:
                log.info("run left", extra={"code": getattr(error, "code", "interrupted"), "duration_ms": _ms(began)})
                raise
            span.set_attributes({"moot.status": ending.status.value, "moot.stop_reason": ending.stop_reason or ""})
            self._ended(record, ending, _ms(began))
            return ending

    def player(self, player: Player) -> Player:
        """A player whose steps are observed."""
        return _Observed(player, self.spans)

    async def close(self) -> None:
        await self.spans.close()

    @contextmanager
    def call(self, provider: str, request: Request) -> Iterator[Callable[[Completion], None]]:
        """Observe a model call."""
        provider, began = provider_of(provider), time.monotonic()

        def answered(completion: Completion) -> None:
            span.set_attributes(_of_answer(completion))
            if self.metrics:
                self.metrics.call_answered(provider, request.model, time.monotonic() - began, completion.usage)

        with self.spans.span(f"chat {request.model}", _of_call(provider, request), calls=True) as span:
            try:
                yield answered
            except ModelError as error:
                about = {"provider": provider, "model": request.model, "code": error.code, "error": str(error)}
                log.info("model call failed", extra={**about, "duration_ms": _ms(began)})
                if self.metrics:
                    self.metrics.call_failed(provider, error.code)
                raise

    def _stored(self, format: str, turn: Turn) -> None:
        about = {
            "seat": turn.seat,
            "kind": turn.kind,
            "round": turn.round,
            "position": turn.position,
            "duration_ms": turn.duration_ms,
            "input_tokens": turn.usage.input_tokens,
            "output_tokens": turn.usage.output_tokens,
        }
        log.info("turn stored", extra=about)
        if self.metrics:
            self.metrics.turn_stored(format, turn.kind, turn.duration_ms / 1000)

    def _ended(self, record: Record, ending: RunResult, duration_ms: int) -> None:
        retried = ending.status is Status.QUEUED
        about = {"status": ending.status.value, "reason": ending.stop_reason, "duration_ms": duration_ms}
        if ending.status is Status.FAILED:
            log.warning("%s failed: %s", record.id, ending.error, extra=about)
        elif retried:
            log.info("retry scheduled", extra={**about, "retry_in": ending.due_in, "error": ending.error})
        else:
            log.info("run ended", extra=about)
        if self.metrics:
            self.metrics.run_ended(record.format, ending.status.value, retried=retried)
            for model, faults in _judged(ending):
                self.metrics.judged(model, *faults)


class _Observed:
    def __init__(self, player: Player, spans: Spans) -> None:
        self._player = player
        self._spans = spans

    async def play(self, debate: Debate[Any], step: Step, voice: TurnWriter) -> PlayerReply:
        operation = "invoke_agent" if step.seat in debate.seats else "step"
        about = {
            **_in_debate(debate.id, operation),
            "gen_ai.agent.name": step.seat,
            "moot.kind": step.kind,
            "moot.position": voice.position,
        }
        with (
            within(seat=step.seat, kind=step.kind, position=voice.position),
            self._spans.span(f"{operation} {step.seat}", about),
        ):
            return await self._player.play(debate, step, voice)


def _judged(ending: RunResult) -> Iterator[tuple[str, JudgeFaults]]:
    """What the judgings of an outcome say of their judges."""
    told = (ending.outcome or {}).get("trust")
    if isinstance(told, dict):
        from moot.trust.judging import faults_by_judge

        trust = Trust.model_validate(told)
        for stability in (trust.stability, *trust.parts.values()):
            yield from faults_by_judge(stability).items() if stability else ()


def provider_of(model: str) -> str:
    """The provider in a model's name; of an address only its scheme, as the rest may hold a key."""
    return model.partition(":")[0]


def _in_debate(debate_id: str, operation: str) -> dict[str, str | int]:
    return {"gen_ai.operation.name": operation, "gen_ai.conversation.id": debate_id, "moot.debate": debate_id}


def _of_call(provider: str, request: Request) -> dict[str, str | int | float]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": str(here().get("debate", "")),
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": request.model,
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.output.type": "json" if request.schema else "text",
    }


def _of_answer(completion: Completion) -> dict[str, int | list[str]]:
    return {
        "gen_ai.response.finish_reasons": [completion.finish_reason],
        "gen_ai.usage.input_tokens": completion.usage.input_tokens,
        "gen_ai.usage.output_tokens": completion.usage.output_tokens,
    }


def _ms(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
