"""A debate as one document, in any of the styles that a user can ask for."""

from __future__ import annotations

from html import escape

import orjson

from moot.errors import InvalidInput
from moot.export.sources import with_sources
from moot.export.transcript import claims_section, transcript
from moot.reading.debate import Reading


def export(reading: Reading, style: str) -> str:
    """`md`, `html`, an `argdown` or `aif` map, or `json`, which is the trace. Each brings in only what it needs."""
    match style:
        case "md":
            return document(reading)
        case "json":
            return orjson.dumps(reading.trace, option=orjson.OPT_INDENT_2).decode()
        case "argdown":
            from moot.export.argdown import argdown

            return argdown(reading)
        case "aif":
            from moot.export.aif import aif

            return aif(reading)
        case "html":
            from moot.export.charts.figures import figures
            from moot.export.html import Drawings, page

            drawings = Drawings(figures(reading), _map(reading), reading.say("Outcome"), reading.say("Charts"))
            return page(document(reading), reading.record.title, drawings)
    raise InvalidInput(f"cannot export as {style!r}; choose md, json, html, argdown or aif")


def document(reading: Reading) -> str:
    """The outcome's own document, or the transcript; with the claims that were noted and the sources it cites."""
    text = reading.document
    whole = "\n".join(filter(None, [text or transcript(reading), claims_section(reading)]))
    return with_sources(reading, whole, turns=text is None)


def _map(reading: Reading) -> str:
    """What was claimed as a drawing; its boxes lead to the speeches where these are in the document."""
    from moot.export.charts.claim_map import drawn, seated

    ledger, has_turns = reading.ledger, reading.document is None
    if ledger is None or not ledger.claims:
        return ""
    key = reading.record.language(
        "The claims: a line with a bar attacks, with an arrow supports, with a dot concedes or withdraws; "
        "those in a heavy frame decided."
    )
    svg = drawn(reading, ledger, lambda claim: f"#turn-{claim.turn}" if has_turns else "")
    seats = " ".join(
        f'<span class="seat-{each.colour}"><svg class="map" viewBox="0 0 12 12" aria-hidden="true">{each.mark}</svg> '
        f"{escape(each.name)}</span>"
        for each in seated(reading, ledger).values()
    )
    return f"<figcaption>{key} {seats}</figcaption>{svg}"
