"""What a reader sees of a duel: who won, whether that holds, and what decided it."""

from __future__ import annotations

from typing import Any

from moot.core.charts import margins_of, scores_by_round
from moot.core.page import DecidedBy, Decisive, Figure, OutcomePage, Prose, Section, SideScore, listed, present, told
from moot.core.script import Debate
from moot.formats.duel.facing import SIDES, TITLES
from moot.formats.duel.verdict import Verdict
from moot.text.language import Language
from moot.trust.block import block_of, figures
from moot.trust.poll import charts as poll_charts


def page(debate: Debate[Any], outcome: Verdict) -> OutcomePage:
    say = outcome.say
    return OutcomePage(
        label=say("Verdict"),
        headline=outcome.decided(),
        lead=told(outcome.summary, outcome.lead).lead if not outcome.lead else outcome.lead,
        whole=Prose(outcome.summary, fold=say("The judge in full")),
        scores=_scores(outcome),
        trust=block_of(outcome),
        sections=present(
            Section("stable", say("Does it hold?"), tuple(map(Figure, margins_of(outcome, sides(outcome), SIDES)))),
            Section("decisive", say("What decided it"), _decisive(outcome)),
            Section("polled", say("Asked alone"), tuple(map(Figure, poll_charts(outcome)))),
            Section("rounds", say("Scores by round"), _by_round(debate, outcome)),
            Section("figures", "", figures(outcome.figures, say)),
            Section("caveats", say("Before you trust it"), listed(outcome.caveats, "turn")),
        ),
    )


def stance_word(stance: str, say: Language) -> str:
    return say("For") if stance == "pro" else say("Against")


def sides(outcome: Verdict) -> tuple[str, str]:
    return stance_word(outcome.stance_a, outcome.say), stance_word(outcome.stance_b, outcome.say)


def _scores(outcome: Verdict) -> tuple[SideScore, ...]:
    if outcome.fallback:  # these are a placeholder
        return ()
    given = zip(SIDES, sides(outcome), (outcome.score_a, outcome.score_b), strict=True)
    return tuple(
        SideScore(seat, f"{name}, {TITLES[seat]}", score, seat[-1] == outcome.winner) for seat, name, score in given
    )


def _decisive(outcome: Verdict) -> tuple[Decisive, ...]:
    found = outcome.trust.claims if outcome.trust else None
    if not found or not found.decided_by:
        return ()
    return (Decisive(tuple(DecidedBy(each.id, each.judgings, found.judgings) for each in found.decided_by)),)


def _by_round(debate: Debate[Any], outcome: Verdict) -> tuple[Figure, ...]:
    names = dict(zip(("score_a", "score_b"), sides(outcome), strict=True))
    return tuple(map(Figure, scores_by_round(debate.transcript, "verdict", names, debate.language)))
