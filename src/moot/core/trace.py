"""The trace: everything about one debate as one JSON document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from typing_extensions import TypedDict  # pydantic can read those of `typing` from Python 3.12 on

from moot.core.changes import current
from moot.core.debate import NO_USAGE, JsonObject, Limits, Rating, Record, Status, Tick, Turn, Usage
from moot.core.duration import span_seconds
from moot.core.record import iso, usage_by_seat

VERSION = 1
SEARCHED, CONCLUDED = ("templates", "passages", "evidence", "research"), ("synthesis", "answer", "verdict")
"""The kinds of turns in which something is searched, and of those outside the rounds that conclude."""


class TemplateUsed(TypedDict):
    name: str
    title: str
    score: float


class RoundTrace(TypedDict):
    round: int
    positions: list[int]
    texts: dict[str, str]
    """What each seat said."""
    seats_ms: dict[str, int]
    duration_ms: int


class TurnTrace(TypedDict):
    position: int
    seat: str
    kind: str
    round: int | None
    content: str
    data: JsonObject | None
    usage: dict[str, Any]
    model: str | None
    marks: list[str]
    started_at: str
    finished_at: str
    duration_ms: int


class Timing(TypedDict):
    """Milliseconds by phase; the turns outside the rounds are summed by kind (templates, verdict, synthesis, …)."""

    total_ms: int
    rounds_ms: list[int]
    kinds_ms: dict[str, int]
    rag_ms: int
    """Searching templates and sources, in all rounds."""
    synthesis_ms: int
    """Writing what the debate comes to: the synthesis or answer, or the verdict after the last round."""


class OriginTrace(TypedDict):
    """The debate that a fork began as, and how many of its turns it took over."""

    debate: str
    position: int


class TickTrace(TypedDict):
    step: int
    done: bool
    who: str
    at: str


class Trace(TypedDict):
    """Everything about one debate. `version` is raised when a field changes its meaning or goes."""

    version: int
    id: str
    format: str
    format_version: int
    status: str
    created_at: str
    query: str
    settings: JsonObject
    templates_used: list[TemplateUsed]
    rounds: list[RoundTrace]
    turns: list[TurnTrace]
    final_answer: str | None
    total_rounds: int
    early_stopped: bool
    stop_reason: str | None
    error: str | None
    models: dict[str, str]
    timing: Timing
    usage: dict[str, Any]
    quality_score: float | None
    user_rating: int | None
    auto_score: float | None
    """Computed by the format's rule, never by a person."""
    outcome: JsonObject | None
    origin: OriginTrace | None
    ticks: list[TickTrace]
    """Which next steps of the outcome somebody has ticked, or unticked since."""
    sources: JsonObject | None
    """What it has made of its sources: which were cited, what is quoted, what leads nowhere. None without any, and
    in the event that ends a debate."""


def trace(record: Record, turns: Sequence[Turn], rating: Rating | None = None, ticks: Sequence[Tick] = ()) -> Trace:
    record = current(record, turns)
    rounds = [_round(each, turns) for each in sorted({turn.round for turn in turns if turn.round is not None})]
    rounds_left = len(rounds) < _max_rounds(record)
    by_limit = record.stop_reason in Limits.model_fields
    cut_short = record.status is Status.FINISHED and record.stop_reason != "completed"
    outcome: dict[str, Any] = record.outcome or {}
    return {
        "version": VERSION,
        "id": record.id,
        "format": record.format,
        "format_version": record.format_version,
        "status": record.status,
        "created_at": iso(record.created_at),
        "query": record.topic,
        "settings": record.settings,
        "templates_used": _templates(turns),
        "rounds": rounds,
        "turns": [turn_as_json(turn) for turn in turns],
        "final_answer": _text(outcome.get("summary")),
        "total_rounds": len(rounds),
        "early_stopped": cut_short and rounds_left and not by_limit,
        "stop_reason": record.stop_reason,
        "error": record.error,
        "models": {seat: chosen.model for seat, chosen in record.seats.items()} | _embedding(turns),
        "timing": _timing(turns, rounds),
        "usage": _usage(turns[record.copied :]),
        "quality_score": _number(outcome.get("quality_score")),
        "user_rating": rating.stars if rating else None,
        "auto_score": _number(outcome.get("auto_score")),
        "outcome": record.outcome,
        "origin": {"debate": record.origin.debate, "position": record.origin.position} if record.origin else None,
        "ticks": [{"step": each.step, "done": each.done, "who": each.who, "at": iso(each.at)} for each in ticks],
        "sources": None,
    }


def _text(value: object) -> str | None:
    """What a format of another version has stored may be anything."""
    return value if isinstance(value, str) else None


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) else None


def _templates(turns: Sequence[Turn]) -> list[TemplateUsed]:
    found = [each for turn in turns if turn.kind == "templates" for each in _listed(turn.data, "templates")]
    readable = [each for each in found if isinstance(each, dict) and {"name", "title", "score"} <= each.keys()]
    return [{"name": each["name"], "title": each["title"], "score": each["score"]} for each in readable]


def _embedding(turns: Sequence[Turn]) -> dict[str, Any]:
    found = [turn.data["embedder"] for turn in turns if turn.data and "embedder" in turn.data]
    return {"embedding": found[-1]} if found else {}


def _listed(data: JsonObject | None, name: str) -> list[Any]:
    value = (data or {}).get(name)
    return value if isinstance(value, list) else []


def turn_as_json(turn: Turn) -> TurnTrace:
    return {
        "position": turn.position,
        "seat": turn.seat,
        "kind": turn.kind,
        "round": turn.round,
        "content": turn.content,
        "data": turn.data,
        "usage": _tokens(turn.usage),
        "model": turn.model,
        "marks": list(turn.marks),
        "started_at": iso(turn.started_at),
        "finished_at": iso(turn.finished_at),
        "duration_ms": turn.duration_ms,
    }


def _round(number: int, turns: Sequence[Turn]) -> RoundTrace:
    own = [turn for turn in turns if turn.round == number]
    seats = {seat: [turn for turn in own if turn.seat == seat] for seat in dict.fromkeys(turn.seat for turn in own)}
    return {
        "round": number,
        "positions": [turn.position for turn in own],
        "texts": {seat: "\n\n".join(turn.content for turn in said) for seat, said in seats.items()},
        "seats_ms": {seat: sum(turn.duration_ms for turn in said) for seat, said in seats.items()},
        "duration_ms": _span_ms(own),
    }


def _timing(turns: Sequence[Turn], rounds: Sequence[RoundTrace]) -> Timing:
    by_kind: dict[str, list[Turn]] = defaultdict(list)
    for turn in turns:
        if turn.round is None:
            by_kind[turn.kind].append(turn)
    return {
        "total_ms": _span_ms(turns),
        "rounds_ms": [each["duration_ms"] for each in rounds],
        "kinds_ms": {kind: _span_ms(own) for kind, own in by_kind.items()},
        "rag_ms": sum(turn.duration_ms for turn in turns if turn.kind in SEARCHED),
        "synthesis_ms": sum(turn.duration_ms for turn in turns if _concludes(turn)),
    }


def _concludes(turn: Turn) -> bool:
    return turn.round is None and turn.kind in CONCLUDED and turn.seat != "human"


def _usage(turns: Sequence[Turn]) -> dict[str, Any]:
    by_seat = usage_by_seat(turns)
    total = sum(by_seat.values(), NO_USAGE)
    return {**_tokens(total), "by_seat": {seat: _tokens(usage) for seat, usage in by_seat.items()}}


def _tokens(usage: Usage) -> dict[str, Any]:
    return {field.name: getattr(usage, field.name) for field in fields(usage)}


def _span_ms(turns: Sequence[Turn]) -> int:
    return round(span_seconds(turns) * 1000)


def _max_rounds(record: Record) -> int:
    value = record.settings.get("max_rounds", Limits().max_rounds)
    return value if isinstance(value, int) else Limits().max_rounds
