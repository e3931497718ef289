"""What readers see of the outcome of a debate: as its format declares it, or the usual."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moot.core.page import Figure, OutcomePage, Prose, Section, Table, listed, present
from moot.trust.block import block_of, figures

if TYPE_CHECKING:
    from moot.core.debate import Outcome
    from moot.reading.debate import Reading


def usual_page(reading: Reading, outcome: Outcome) -> OutcomePage:
    """Headline, lead, trust; then the document or the summary, the numbers, the pictures, what weakens it."""
    say, document = outcome.say, reading.document if outcome.shows_document else None
    body = Prose(document, is_document=True) if document else Prose(outcome.summary)
    table = outcome.table()
    return OutcomePage(
        label=say("Outcome"),
        headline=outcome.headline(),
        lead=outcome.lead,
        trust=block_of(outcome),
        sections=present(
            Section("words", say("In words"), (body,) if body.text.strip() else ()),
            Section("numbers", say("In numbers"), (Table(table),) if table else ()),
            Section("pictures", say("In pictures"), tuple(map(Figure, reading.charts))),
            Section("figures", "", figures(outcome.figures, say)),
            Section("caveats", say("Before you trust it"), listed(outcome.caveats, "turn")),
        ),
    )
