"""The panel: a moderator casts two to four perspectives on a question, runs rounds, and writes a decision record.

In each round all argue at once without seeing each other, then answer one another in turn; a person may steer
between the rounds. What counts as agreement, repetition or a true quote is decided by code (see `assessment`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from moot.core.charts import ChartData, LineChart, Series, Threshold
from moot.core.debate import Seat
from moot.core.format import Format
from moot.core.script import Debate
from moot.formats.panel import version_1
from moot.formats.panel.assessment import SEATS, names, notes
from moot.formats.panel.decision import REASONS, Decision, RoundFacts
from moot.formats.panel.points import points
from moot.formats.panel.settings import PanelSettings, choices
from moot.formats.panel.version_1 import script
from moot.trust.novelty import REPEATS, STALE


def charts(debate: Debate[PanelSettings], outcome: Decision) -> Iterator[ChartData]:
    new, repeated = (_shares(debate, outcome.rounds, name) for name in ("novelty", "repetition"))
    stale = Threshold(STALE, f"stale below {STALE:.0%}")
    repeats = Threshold(REPEATS, f"repetitive above {REPEATS:.0%}")
    yield LineChart("What was new, by round", new, high=1, percent=True, threshold=stale)
    yield LineChart("What was repeated, by round", repeated, high=1, percent=True, threshold=repeats)


def _shares(debate: Debate[PanelSettings], rounds: Sequence[RoundFacts], name: str) -> list[Series]:
    by_round = {each.round: getattr(each, name) for each in rounds}
    seats = dict.fromkeys(seat for shares in by_round.values() for seat in shares)
    known = names(debate)
    return [
        Series(known.get(seat, seat), {round: shares[seat] for round, shares in by_round.items() if seat in shares})
        for seat in seats
    ]


_TODAY = Format(
    name="panel",
    version=2,
    summary="Two to four perspectives argue under a moderator, who writes a decision record.",
    settings=PanelSettings,
    seats=(
        Seat("moderator", "Moderator", "moderator", max_tokens=1500, temperature=0.3),
        *(Seat(seat, f"Debater {seat[-1]}", "debater", max_tokens=800) for seat in SEATS),
        Seat("human", "You", "human", max_tokens=0, player="human"),
        Seat("library", "Library", "library", max_tokens=0, player="library"),
    ),
    outcome=Decision,
    script=script,
    folder=Path(__file__).parent,
    titles=names,
    notes=notes,
    points=points,
    charts=charts,
    example="Should we replace our REST API with GraphQL?",
    first=("perspectives", "checkpoints", "sources"),
    hidden=frozenset({"custom_perspectives"}),
    choices=choices,
    reasons=REASONS,
    asker="moderator",
    unattended={"checkpoints": False},
)

PANEL_1 = replace(_TODAY, version=1, folder=version_1.FOLDER, script=version_1.script)
PANEL = replace(_TODAY, earlier=(PANEL_1,))
