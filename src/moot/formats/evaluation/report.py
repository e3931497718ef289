"""The scorecard as a markdown document, in its language: what models and people wrote stays in its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

from moot.core.debate import Record, Turn
from moot.core.record import iso
from moot.formats.evaluation.answers import Argument, arguments
from moot.formats.evaluation.evidence import quoted
from moot.formats.evaluation.settings import TITLES, EvaluationSettings, Topic
from moot.text.language import Language
from moot.text.markdown import bullets, contained, in_line, in_title, table_of
from moot.trust.figures import section

if TYPE_CHECKING:
    from moot.formats.evaluation.scorecard import Scorecard, TopicVerdict

MAX_HEADING = 3


def document(card: Scorecard, record: Record, turns: Sequence[Turn]) -> str:
    say, settings = card.say, EvaluationSettings.model_validate(record.settings)
    idea = settings.quotable(record.topic)
    topics = (_topic(topic, settings.topics[topic.number - 1], turns, idea, say) for topic in card.topics)
    parts = [
        *_head(card, record),
        *_scores(card),
        *_section(say("What to test next"), _list(_tests(card.topics_to_test()))),
        *(part for topic in topics for part in topic),
        *_section(say("Not judged"), bullets(card.not_judged)),
        *filter(None, [section(card.figures, say)]),
        *_section(say("What to keep in mind"), bullets(card.caveats)),
        *_transcript(settings, turns, say),
    ]
    return "\n\n".join(parts) + "\n"


def _head(card: Scorecard, record: Record) -> Iterator[str]:
    yield card.say("# Evaluation: {topic}", topic=in_title(record.topic))
    on = iso(record.finished_at or record.created_at)[:10]
    models = ", ".join(dict.fromkeys(name.rpartition("#")[2] for name in card.models.values()))
    yield f"{on} · {record.id} · {in_line(models)}"
    yield f"**{in_line(card.headline())}**"
    yield in_line(card.summary)
    if card.lead:
        yield in_line(card.lead)
    if card.trust:
        yield f"**{in_line(card.trust_text())}**"
        yield bullets(card.trust.reasons)


def _scores(card: Scorecard) -> Iterator[str]:
    yield "## " + card.say("Scores")
    yield table_of(card.table())
    yield _list(f"**{in_line(one.category)}**: {in_line(reason)}" for one in card.categories for reason in one.reasons)


def _tests(topics: Iterable[TopicVerdict]) -> Iterator[str]:
    return (f"**{in_line(topic.name)}**: {in_line(topic.next_test)}" for topic in topics)


def _topic(judged: TopicVerdict, topic: Topic, turns: Sequence[Turn], idea: str, say: Language) -> Iterator[str]:
    yield f"## {judged.number}. {in_line(judged.name)}: {judged.result(say)}"
    yield from _section(say("Quoted, but not in the idea"), bullets(judged.misquoted), level=3)
    yield contained(judged.reasoning, MAX_HEADING)
    yield from _section(say("Key points"), bullets(judged.key_points), level=3)
    sides = (
        ("advocate", topic.advocate, judged.strongest_advocate),
        ("challenger", topic.challenger, judged.strongest_challenger),
    )
    for seat, position, strongest in sides:
        yield f"### {TITLES[seat]}: {in_line(position)}"
        own = [turn for turn in turns if (turn.seat, turn.kind, turn.round) == (seat, "argument", judged.number)]
        given = [line for turn in own for line in _arguments(turn, judged, idea, say)]
        yield "\n".join(given) or say("No argument that could be read.")
        if strongest:
            yield say("Strongest, says the arbiter: {strongest}", strongest=in_line(strongest))


def _arguments(turn: Turn, judged: TopicVerdict, idea: str, say: Language) -> Iterator[str]:
    names = {
        "verified": say("✓ in the idea"),
        "near": say("≈ not word for word in the idea"),
        "missing": say("✗ not in the idea"),
        "unclear": say("? in the idea, with words left out that may matter"),
    }
    found = {quote.text: names[quote.verdict] for quote in quoted(turn, idea)}
    for number, argument in enumerate(arguments(turn), 1):
        conceded = f"{fate} " if (fate := judged.fate(turn.seat, number, say)) else ""
        said = f"**{in_line(argument.claim)}** {in_line(argument.reasoning)}{_evidence(argument, found)}"
        yield f"{number}. {conceded}{said}"


def _evidence(argument: Argument, found: dict[str, str]) -> str:
    if not argument.evidence:
        return ""
    return f" “{in_line(argument.evidence)}” ({found[argument.evidence]})"


def _transcript(settings: EvaluationSettings, turns: Sequence[Turn], say: Language) -> Iterator[str]:
    kinds = {
        "scores": say("scores"),
        "challenges": say("challenges"),
        "argument": say("argument"),
        "answer": say("answer"),
        "verdict": say("verdict"),
        "rejudging": say("judged again"),
        "rescoring": say("scored again"),
    }
    yield "## " + say("Transcript")
    for turn in sorted(turns, key=_place):
        topic = f" · {in_line(settings.topics[turn.round - 1].name)}" if turn.round else ""
        marks = f" ({', '.join(turn.marks)})" if turn.marks else ""
        title = TITLES.get(turn.seat, turn.seat.capitalize())
        yield f"### {title} · {kinds.get(turn.kind, turn.kind)}{topic}{marks}"
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
