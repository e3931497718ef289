"""What other programs are told of a debate: plain data, kept with the debate until it is delivered."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import orjson

from moot.core.record import JsonObject, Record, Status, iso

HookEvent: TypeAlias = Literal["outcome", "waiting", "failed"]


EVENTS: Mapping[Status, HookEvent] = {
    Status.FINISHED: "outcome",
    Status.WAITING: "waiting",
    Status.FAILED: "failed",
}


MAX_TEXT = 2000


MAX_OUTCOME = 16_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What one webhook is told of one event, and how that has gone so far; times are the database's."""

    id: str
    debate_id: str
    run: int
    event: HookEvent
    hook: str
    payload: str
    attempts: int = 0
    next_at: float | None = None
    """When it is due; never any more when it is delivered or given up."""
    delivered_at: float | None = None
    result: str = ""
    """What the last attempt came to."""


def notices(record: Record, at: float, hooks: Sequence[str], question: str | None = None) -> tuple[Notice, ...]:
    """What these webhooks are to be told of a debate whose run has just ended; the same again when asked again."""
    event = EVENTS.get(record.status)
    if event is None or not hooks:
        return ()
    payload = orjson.dumps(_payload(record, event, at, question)).decode()
    return tuple(
        Notice(
            id=_id(record, event, hook),
            debate_id=record.id,
            run=record.run,
            event=event,
            hook=hook,
            payload=payload,
            next_at=at,
        )
        for hook in hooks
    )


def _id(record: Record, event: HookEvent, hook: str) -> str:
    return "msg_" + hashlib.sha256(f"{record.id} {record.run} {event} {hook}".encode()).hexdigest()[:24]


def _payload(record: Record, event: HookEvent, at: float, question: str | None) -> JsonObject:
    outcome = record.outcome or {}
    about: JsonObject = {
        "debate": record.id,
        "run": record.run,
        "format": record.format,
        "topic": record.topic,
        "status": record.status.value,
    }
    match event:
        case "outcome":
            fits = len(orjson.dumps(outcome)) <= MAX_OUTCOME
            summary = str(outcome.get("summary", ""))[:MAX_TEXT]
            about |= {"stop_reason": record.stop_reason, "summary": summary, "outcome": outcome if fits else None}
        case "waiting":
            about["question"] = (question or "")[:MAX_TEXT]
        case "failed":
            about["error"] = (record.error or "")[:MAX_TEXT]
    return {"type": f"debate.{event}", "timestamp": iso(at), "data": about}
