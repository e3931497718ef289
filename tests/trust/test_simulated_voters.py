"""Voters with known chances and faults: majorities come out as theory says, and those who conform lose by debating.

The voters are simulated, but read the real prompts and fill in the real forms.
"""

from __future__ import annotations

from collections import Counter

import pytest
from voters import conforming_panel, curve, first_choices, majority, mid_p, played

from moot.formats.poll.format import POLL, PollOutcome
from moot.testing import SimulatedVoter


def test_a_majority_is_right_as_often_as_theory_says() -> None:
    sizes = (1, 3, 5, 9)
    theory = [majority(size, 0.7) for size in sizes]
    assert theory == pytest.approx([0.700, 0.784, 0.837, 0.901], abs=0.001)
    assert curve(SimulatedVoter(0.7), 300, *sizes) == pytest.approx(theory, abs=0.08)  # bench/poll.py: 4000, 0.02


def test_voters_who_err_together_gain_little_by_being_many() -> None:
    (found,) = curve(SimulatedVoter(0.7, alike=0.5), 200, 9)
    assert found == pytest.approx(0.722, abs=0.09)


def test_who_says_yes_to_anything_has_no_say() -> None:
    for yes in (0.0, 0.5):
        voter = SimulatedVoter(0.8, yes=yes)
        shares = [first_choices(voter, f"{number}? (truth=for)", 10).count("for") / 10 for number in range(60)]
        assert sum(shares) / 60 == pytest.approx(0.8 * (1 - yes) + 0.5 * yes, abs=0.05)


def test_a_poll_finds_what_most_know_among_several_answers() -> None:
    voter = SimulatedVoter(0.6, first=0.2)
    outcome = played(POLL, "Which? (truth=Go)", voter.reply, ballots=40, options="Rust,Go,Zig").outcome
    assert isinstance(outcome, PollOutcome)
    assert outcome.winner == "Go"


def test_those_who_adopt_what_they_heard_first_are_right_less_often_after_debating() -> None:
    voter = SimulatedVoter(0.7, conforming=0.85)
    pairs = Counter(conforming_panel(voter, number) for number in range(120))
    assert pairs[True, False] > pairs[False, True]  # bench/poll.py: of 600, p < .01


def test_the_mid_p_value_is_mcnemar_s() -> None:
    assert [mid_p(10, 2), mid_p(0, 6), mid_p(5, 5)] == pytest.approx([0.02246, 0.01562, 1.0], abs=1e-5)
