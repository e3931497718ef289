"""What a reader sees of a poll: what most say, how many, and why."""

from __future__ import annotations

from typing import Any

from moot.core.charts import CountChart
from moot.core.page import Beside, Block, Figure, OutcomePage, Prose, Section, Table, listed, present
from moot.core.script import Debate
from moot.formats.poll.outcome import PollOutcome, label
from moot.trust.block import block_of


def page(debate: Debate[Any], outcome: PollOutcome) -> OutcomePage:
    say, caveats = outcome.say, outcome.caveats
    drawn, counted = Block("", (Figure(ballots(outcome)),)), Block("", (Table(outcome.table()),))
    return OutcomePage(
        label=say("What most say"),
        headline=label(outcome.winner, say) if outcome.winner else say("Undecided"),
        lead=outcome.told(),
        trust=block_of(outcome),
        sections=present(
            Section("ballots", say("Ballots"), (Beside((drawn, counted)),)),
            Section("reasons", say("Their reasons"), (Prose(outcome.summary),)),
            Section("caveats", say("Before you trust it"), listed(caveats, "turn")),
        ),
    )


def ballots(outcome: PollOutcome) -> CountChart:
    counts = {label(answer, outcome.say): number for answer, number in outcome.poll.counts.items()}
    return CountChart(outcome.say("Ballots"), outcome.say("ballots"), counts)
