"""A debate as a markdown document for people: what was asked, what came out, and every turn.

What models and people wrote cannot break it: it keeps its formatting as long as it stays in its place, and is shown
letter by letter otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from moot.core.debate import Outcome, Record, Turn
from moot.core.trace import iso
from moot.text.markdown import _MAX_HEADING, MAX_TITLE, _readable, contained, front_matter, in_line, table_of


def markdown(record: Record, turns: Sequence[Turn], titles: Mapping[str, str], outcome: Outcome | None) -> str:
    """The whole document; `titles` says how readers call a seat."""
    blocks = [
        *_heading(record, titles),
        *_outcome(record, outcome),
        *(block for name, own in _sections(turns) for block in (f"## {name}", *_turns(own, titles))),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _heading(record: Record, titles: Mapping[str, str]) -> Iterator[str]:
    question = " ".join(_readable(record.topic).split())
    title = question if len(question) <= MAX_TITLE else f"{question[: MAX_TITLE - 1].rstrip()}…"
    yield _front_matter(record, question, titles).rstrip("\n")
    yield f"# {in_line(title)}"
    facts = [record.format, record.id, iso(record.created_at)[:10], record.status, record.stop_reason or ""]
    yield " · ".join(in_line(fact.replace("_", " ")) for fact in facts if fact)
    if title != record.topic.strip():
        yield "## Question"
        yield contained(record.topic, _MAX_HEADING)


def _front_matter(record: Record, question: str, titles: Mapping[str, str]) -> str:
    models = [
        f"{titles.get(seat, seat)}: {chosen.model.rpartition('#')[2]}"  # the server's address is nobody's business
        for seat, chosen in record.seats.items()
    ]
    return front_matter(
        {
            "title": question,
            "debate": record.id,
            "format": record.format,
            "date": iso(record.created_at)[:10],
            "status": str(record.status),
            **({"stop_reason": record.stop_reason} if record.stop_reason else {}),
            "models": models,
        }
    )


def _outcome(record: Record, outcome: Outcome | None) -> Iterator[str]:
    yield "## Outcome"
    if outcome is None:
        yield f"There is none: the debate is {record.status}."
        return
    yield f"**{in_line(outcome.headline())}**"
    if table := outcome.table():
        yield table_of(table)
    yield contained(outcome.summary, _MAX_HEADING)
    if outcome.caveats:
        yield "Before you trust it:"
        yield "\n".join(f"- {in_line(caveat)}" for caveat in outcome.caveats)


def _sections(turns: Sequence[Turn]) -> Iterator[tuple[str, Iterable[Turn]]]:
    """Round by round; a turn of no round between two belongs to the one before it."""
    rounds = [turn.round for turn in turns]
    last = max((at for at, round in enumerate(rounds) if round is not None), default=-1)
    names = []
    for at, round in enumerate(rounds):
        if round is not None:
            names.append(f"Round {round}")
        elif at > last:
            names.append("Closing" if last >= 0 else "Turns")
        else:
            names.append(names[-1] if names else "Opening")
    for name, pairs in groupby(zip(names, turns, strict=True), key=lambda pair: pair[0]):
        yield name, [turn for _, turn in pairs]


def _turns(turns: Iterable[Turn], titles: Mapping[str, str]) -> Iterator[str]:
    for turn in turns:
        yield f'<a id="turn-{turn.position}"></a>'
        yield f"### {in_line(titles.get(turn.seat, turn.seat.capitalize()))} · {in_line(turn.kind)}"
        if turn.marks:
            yield f"*{in_line(', '.join(turn.marks))}*"
        yield contained(turn.content, _MAX_HEADING)
