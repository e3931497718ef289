"""A debate as a markdown document for people: what was asked, what came out, and every turn.

What models and people wrote cannot break it: it keeps its formatting as long as it stays in its place, and is shown
letter by letter otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moot.core.debate import Outcome
from moot.core.events import TurnFinished
from moot.core.format import AnyFormat
from moot.core.record import iso
from moot.reading.debate import Reading, Section
from moot.reading.words import chosen, short_model
from moot.text.language import Language
from moot.text.markdown import MAX_HEADING, MAX_TITLE, bullets, contained, front_matter, in_line, readable, table_of
from moot.text.plain import shortened
from moot.trust.figures import section


def transcript(reading: Reading) -> str:
    """Every word of a debate, with its outcome, as markdown."""
    say = reading.say
    none = f"There is none: the debate is {reading.record.status}."
    blocks = [
        *_heading(reading),
        f"## {say('Outcome')}",
        *(outcome_blocks(reading.outcome) if reading.outcome else [none]),
        *(
            block
            for section in reading.sections
            for block in (f"## {_title(section, say)}", *_turns(section.turns, reading.format))
        ),
    ]
    return "\n\n".join(filter(None, blocks)) + "\n"


def _title(section: Section, say: Language) -> str:
    named = {"Opening": say("Opening"), "Closing": say("Closing")}
    return named.get(section.title) or say("Round {round}", round=section.turns[0].round)


def outcome_blocks(outcome: Outcome) -> Iterator[str]:
    """An outcome as markdown for whoever wants no document of the format's own."""
    yield f"**{in_line(outcome.headline())}**"
    if outcome.lead:
        yield in_line(outcome.lead)
    if table := outcome.table():
        yield table_of(table)
    if outcome.trust:
        yield in_line(outcome.trust_text())
        yield bullets(outcome.trust.reasons)
    yield contained(outcome.summary, MAX_HEADING)
    if outcome.figures:
        yield section(outcome.figures, outcome.say, 3)
    if outcome.caveats:
        say = outcome.say
        yield f"{say('Before you trust it')}:"
        yield bullets(outcome.caveats)


def claims_section(reading: Reading) -> str:
    """What was claimed, what was said to it, and how it ended; empty where nobody noted it."""
    ledger, say = reading.ledger, reading.record.language
    if not ledger or not ledger.claims:
        return ""
    header = ("", say("who"), say("how it ended"), say("says to others"), say("claim"))
    rows = [
        (
            claim.id,
            reading.titles.get(claim.seat, claim.seat),
            claim.status or "–",
            ", ".join(f"{link.how} {link.to}" for link in claim.links) or "–",
            claim.text,
        )
        for claim in ledger.claims
    ]
    return f"## {say('Claims')}\n\n{table_of((header, *rows))}\n"


def _heading(reading: Reading) -> Iterator[str]:
    record = reading.record
    question = " ".join(readable(record.title).split())
    title = shortened(question, MAX_TITLE)
    yield _front_matter(reading, question).rstrip("\n")
    yield f"# {in_line(title)}"
    facts = [record.format, record.id, iso(record.created_at)[:10], record.status, reading.reason]
    facts.append(str(record.origin) if record.origin else "")
    yield " · ".join(in_line(fact) for fact in facts if fact)
    if title != record.topic.strip():
        yield f"## {reading.say('Question')}"
        yield contained(record.topic, MAX_HEADING)


def _front_matter(reading: Reading, question: str) -> str:
    record = reading.record
    models = [f"{reading.titles[seat]}: {short_model(chosen.model)}" for seat, chosen in record.seats.items()]
    return front_matter(
        {
            "title": question,
            "debate": record.id,
            "format": record.format,
            "date": iso(record.created_at)[:10],
            "status": str(record.status),
            **({"stop_reason": record.stop_reason} if record.stop_reason else {}),
            **({"origin": str(record.origin)} if record.origin else {}),
            "models": models,
        }
    )


def _turns(turns: Iterable[TurnFinished], format: AnyFormat) -> Iterator[str]:
    for turn in turns:
        yield f'<a id="turn-{turn.position}"></a>'
        level = "####" if turn.kind in format.folded else "###"
        yield f"{level} {in_line(turn.title)} · {in_line(turn.kind)}"
        if turn.marks:
            yield f"*{in_line(', '.join(turn.marks))}*"
        yield contained(turn.content or chosen(turn, format), MAX_HEADING)
