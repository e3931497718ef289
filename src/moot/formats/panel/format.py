"""The panel as the rest of moot knows it, with its earlier versions; its rules are in `script`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from moot.core.debate import Seat
from moot.core.format import HUMAN, LIBRARY, Format, Starter
from moot.core.trust import BALLOT, CHECKS, CLAIMS, VOTE
from moot.formats.panel import version_1
from moot.formats.panel.casting import SEATS, names
from moot.formats.panel.decision import REASONS, Decision, restated
from moot.formats.panel.notes import notes
from moot.formats.panel.page import charts, page
from moot.formats.panel.points import claims, points
from moot.formats.panel.positions import positions
from moot.formats.panel.script import RECORD, RECORD_OF_EACH, RULES, script
from moot.formats.panel.settings import PanelSettings, SecondSettings, choices, compared
from moot.trust.poll import voter
from moot.trust.scribe import scribe


def _seats(moderator: int, debater: int) -> tuple[Seat, ...]:
    debaters = [Seat(seat, f"Debater {seat[-1]}", "debater", max_tokens=debater) for seat in SEATS]
    chair = Seat("moderator", "Moderator", "moderator", max_tokens=moderator, temperature=0.3)
    return (
        chair,
        *debaters,
        HUMAN,
        LIBRARY,
        scribe(like=chair),
        voter(like=debaters[0], optional=True),
    )


_PANEL: Format[Any, Decision] = Format(
    name="panel",
    version=3,
    summary="Two to four perspectives argue under a moderator, who writes a decision record.",
    settings=PanelSettings,
    seats=_seats(moderator=RECORD + 4 * RECORD_OF_EACH, debater=8000),
    outcome=Decision,
    script=partial(script, rules=RULES),
    folder=Path(__file__).parent,
    titles=names,
    restated=restated,
    notes=notes,
    points=points,
    claims=claims,
    charts=charts,
    closing=lambda debate: ("Synthesis", "Your approval") if debate.settings.checkpoints else ("Synthesis",),
    stands=lambda debate: {seat: held.recommendation for seat, held in positions(debate).items()},
    page=page,
    example="Should we replace our REST API with GraphQL?",
    picture="table",
    starters=(
        Starter(
            "Should we use Redis or PostgreSQL for caching?",
            "choose between technologies, with your numbers as a source",
            {"perspectives": 3, "depth": "normal"},
        ),
        Starter(
            "Which of these three offers should we take?",
            "add the offers as files; every quote is checked",
            {"perspectives": 2, "depth": "careful"},
        ),
    ),
    folded=CHECKS | {BALLOT, CLAIMS, VOTE},
    first=("perspectives", "checkpoints", "depth"),
    hidden=frozenset({"custom_perspectives", "nearness"}),
    compared=("nearness", compared),
    choices=choices,
    reasons=REASONS,
    asker="moderator",
    unattended={"checkpoints": False},
)
PANEL_2 = replace(_PANEL, version=2, settings=SecondSettings)
PANEL_1 = replace(
    _PANEL,
    version=1,
    settings=version_1.Settings,
    folded=frozenset(),
    first=("perspectives", "checkpoints", "sources"),
    seats=_seats(moderator=1500, debater=800)[:-2],
    script=partial(script, rules=version_1.RULES),
    folder=version_1.FOLDER,
    notes=partial(notes, judging=version_1.verdict),
    points=partial(points, deciding=version_1.decision),
    own_sources=True,
)
PANEL = replace(_PANEL, earlier=(PANEL_2, PANEL_1))
