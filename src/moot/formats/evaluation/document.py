"""A scorecard as a markdown document: summary, scores before and after, verdicts and arguments, transcript.

What models and people wrote stays in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from math import inf
from textwrap import shorten

from moot.core.debate import Record, Turn
from moot.formats.evaluation.answers import Argument, arguments
from moot.formats.evaluation.evidence import quoted
from moot.formats.evaluation.scorecard import Scorecard, TopicVerdict
from moot.formats.evaluation.settings import SEATS, EvaluationSettings, Topic
from moot.text.markdown import MAX_TITLE, contained, in_line

TITLES = {seat.name: seat.title for seat in SEATS}
MAX_HEADING = 3
FOUND = {"verified": "✓ in the idea", "near": "≈ not word for word in the idea", "missing": "✗ not in the idea"}


def document(card: Scorecard, record: Record, turns: Sequence[Turn]) -> str:
    settings = EvaluationSettings.model_validate(record.settings)
    idea = settings.quotable(record.topic)
    parts = [
        *_head(card, record),
        *_scores(card),
        *(part for topic in card.topics for part in _topic(topic, settings.topics[topic.number - 1], turns, idea)),
        *_section("Not judged", _list(map(in_line, card.not_judged))),
        *_section("What to keep in mind", _list(map(in_line, card.caveats))),
        *_transcript(settings, turns),
    ]
    return "\n\n".join(parts) + "\n"


def _head(card: Scorecard, record: Record) -> Iterator[str]:
    yield f"# Evaluation: {in_line(shorten(record.topic, MAX_TITLE, placeholder=' …'))}"
    on = datetime.fromtimestamp(record.finished_at or record.created_at, UTC).strftime("%Y-%m-%d")
    models = ", ".join(dict.fromkeys(name.rpartition("#")[2] for name in card.models.values()))
    yield f"{on} · {record.id} · {in_line(models)}"
    yield f"**{in_line(card.headline())}**"
    yield in_line(card.summary)


def _scores(card: Scorecard) -> Iterator[str]:
    header, *rows = card.table()
    lines = [header, ["---"] * len(header), *(map(in_line, row) for row in rows)]
    yield "## Scores"
    yield "\n".join(f"| {' | '.join(line)} |" for line in lines)
    yield _list(f"**{in_line(one.category)}**: {in_line(reason)}" for one in card.categories for reason in one.reasons)


def _topic(judged: TopicVerdict, topic: Topic, turns: Sequence[Turn], idea: str) -> Iterator[str]:
    yield f"## {judged.number}. {in_line(judged.name)}: {judged.result()}"
    yield contained(judged.reasoning, MAX_HEADING)
    yield from _section("Key points", _list(map(in_line, judged.key_points)), level=3)
    sides = (
        ("advocate", topic.advocate, judged.strongest_advocate),
        ("challenger", topic.challenger, judged.strongest_challenger),
    )
    for seat, position, strongest in sides:
        yield f"### {TITLES[seat]}: {in_line(position)}"
        own = [turn for turn in turns if (turn.seat, turn.kind, turn.round) == (seat, "argument", judged.number)]
        given = [line for turn in own for line in _arguments(turn, idea)]
        yield "\n".join(given) or "No argument that could be read."
        if strongest:
            yield f"Strongest, says the arbiter: {in_line(strongest)}"


def _arguments(turn: Turn, idea: str) -> Iterator[str]:
    found = {quote.text: FOUND[quote.verdict] for quote in quoted(turn, idea)}
    for number, argument in enumerate(arguments(turn), 1):
        yield f"{number}. **{in_line(argument.claim)}** {in_line(argument.reasoning)}{_evidence(argument, found)}"


def _evidence(argument: Argument, found: dict[str, str]) -> str:
    if not argument.evidence:
        return ""
    return f" “{in_line(argument.evidence)}” ({found[argument.evidence]})"


def _transcript(settings: EvaluationSettings, turns: Sequence[Turn]) -> Iterator[str]:
    yield "## Transcript"
    for turn in sorted(turns, key=_place):
        topic = f" · {in_line(settings.topics[turn.round - 1].name)}" if turn.round else ""
        marks = f" ({', '.join(turn.marks)})" if turn.marks else ""
        yield f"### {TITLES.get(turn.seat, turn.seat.capitalize())} · {turn.kind}{topic}{marks}"
        yield contained(turn.content, MAX_HEADING)


def _place(turn: Turn) -> float:
    """What came before the topics, then topic by topic, then what a person or the clock has said."""
    return turn.round or (0 if turn.seat in TITLES else inf)


def _section(title: str, body: str, level: int = 2) -> Iterator[str]:
    """Nothing when there is nothing to say."""
    if body:
        yield f"{'#' * level} {title}"
        yield body


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
