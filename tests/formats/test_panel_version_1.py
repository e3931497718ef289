"""Panels that began under version 1 go on by its rules, and their recordings replay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from in_process import moot
from moot.core.debate import Turn
from moot.core.events import TurnFinished
from moot.core.script import Debate
from moot.formats.panel.decision import Decision
from moot.formats.panel.format import PANEL_1
from moot.formats.panel.version_1 import Settings, confidence
from stage import ANALYSIS, CLEAR, FAST, GOES_ON, Call, Panelists, Stage, new_words

STRONG = Path(__file__).parent.parent / "strong"


def test_a_recording_of_version_1_replays_with_the_prompts_of_version_1(capsys: pytest.CaptureFixture[str]) -> None:
    ran = moot(
        capsys,
        "debate",
        "Should we use Redis or PostgreSQL for caching?",
        *("--format", "panel@1"),
        *("--perspectives", "Performance Advocate,Operational Simplicity"),
        *("--no-checkpoints", "--max-rounds", "2"),
        *("--source", STRONG / "caching-numbers.md"),
        *("--replay", STRONG / "panel-1-quick-agreement.cassette"),
    )
    assert (ran.code, ran.err) == (0, "")
    assert "Use a cache table in PostgreSQL. (Medium confidence)" in ran.out
    assert "Ended because everybody agreed in the first round." in ran.out


# What ends the rounds


AGREE = "I agree with the other side about it."
CONCEDE = "You are right about the costs of it."


def says(words: dict[str, str]) -> Callable[[Call], Any]:
    """Rebuttals in which each says its words."""
    return lambda call: {"content": f"{words[call.name]} {new_words(call)}"}


def concluding(state: str, *quotes: tuple[str, str], winner: str = "") -> dict[str, Any]:
    evidence = [{"perspective": name, "quote": quote} for name, quote in quotes]
    return {"summary": "It is over.", "state": state, "decision": "conclude", "evidence": evidence, "winner": winner}


BOTH = [(FAST, AGREE), (CLEAR, AGREE)]
NOT_AGREED = "agreement is claimed, but not with the words of two debaters: it does not count"
NOT_WON = "a winner is claimed, but no other debater's words concede it: it does not count"
NO_REASON = "there is no reason yet to conclude: the debate goes on"


@pytest.mark.parametrize(
    ("evaluations", "ended", "rounds", "note"),
    [
        ([concluding("converging", *BOTH)], "quick_agreement", 1, "agreement in the first round"),
        ([GOES_ON, concluding("converging", *BOTH)], "agreed", 2, None),
        ([concluding("converging")], "max_rounds", 3, NOT_AGREED),
        ([concluding("converging", BOTH[0])], "max_rounds", 3, NOT_AGREED),
        ([concluding("converging", BOTH[0], BOTH[0])], "max_rounds", 3, NOT_AGREED),
        ([concluding("converging", BOTH[0], (CLEAR, "I was always for Redis."))], "max_rounds", 3, NOT_AGREED),
        ([concluding("converging", BOTH[0], (CLEAR, "I agree"))], "max_rounds", 3, NOT_AGREED),
        ([concluding("converging", BOTH[0], ("Nobody", AGREE))], "max_rounds", 3, NOT_AGREED),
        ([concluding("converging", BOTH[0], ("moderator", "It is over."))], "max_rounds", 3, NOT_AGREED),
        ([concluding("clear_winner", (CLEAR, CONCEDE), winner=FAST)], "clear_winner", 1, None),
        ([concluding("clear_winner", (FAST, CONCEDE), winner=FAST)], "max_rounds", 3, NOT_WON),
        ([concluding("clear_winner", (CLEAR, CONCEDE), winner="Nobody")], "max_rounds", 3, NOT_WON),
        ([concluding("clear_winner", (CLEAR, "You win, of course you do."), winner=FAST)], "max_rounds", 3, NOT_WON),
        ([concluding("stagnating")], "stagnant", 2, NO_REASON),
        ([concluding("new_ground")], "max_rounds", 3, NO_REASON),
        ([{**concluding("converging", *BOTH), "decision": "continue"}], "max_rounds", 3, None),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
async def test_a_round_is_the_last_only_for_reasons_that_stand_in_the_debaters_own_words(
    evaluations: list[Any], ended: str, rounds: int, note: str | None
) -> None:
    both = dict.fromkeys((FAST, CLEAR), f"{AGREE} {CONCEDE}")
    settings = {"checkpoints": False, "max_rounds": 3}
    panelists = Panelists(evaluation=evaluations, rebuttal=says(both))
    stage = Stage(panelists, format=PANEL_1, topic="Redis or PostgreSQL?", settings=settings)
    outcome = Decision.model_validate((await stage.run()).outcome)
    assert (outcome.ended, len(outcome.rounds)) == (ended, rounds)
    seen = [event.notes for event in stage.events if isinstance(event, TurnFinished) and event.kind == "evaluation"]
    first = seen[0 if note else -1]
    assert [line for line in first if not line.startswith(("new wording: ", "Perf", "Oper"))] == (
        [note] if note else []
    )


# Confidence


SYNTHESIS = Turn(
    position=9, seat="moderator", kind="synthesis", round=None, content="Do it.", data={"recommendation": "Do it."}
)


def debate_with(ended: str | None, *turns: Turn) -> Debate[Any]:
    settings = Settings.model_validate({"sources": [{"name": "s", "text": "Cats sleep all day long."}]})
    first = Turn(position=0, seat="moderator", kind="analysis", round=None, content="f", data=ANALYSIS)
    return Debate("DEB-x", "Cats?", settings, {}, [first, *turns, SYNTHESIS], stop_reason=ended)


LATE = Turn(position=1, seat="debater_1", kind="opening", round=1, content="", marks=("late",))
UNREAD = Turn(
    position=2,
    seat="debater_2",
    kind="rebuttal",
    round=1,
    content="(unreadable)",
    data={"content": "x"},
    marks=("fallback",),
)
FORGED = Turn(
    position=3, seat="debater_1", kind="rebuttal", round=1, content='As "dogs sleep at night only" [S1] shows.'
)
AGREED, WON = "the debaters agreed, in their own words", "another debater conceded to one perspective, in its own words"
STOPPED = "the arguments stopped moving before agreement"
RAN_OUT = "the rounds ran out before the debaters agreed"


@pytest.mark.parametrize(
    ("ended", "turns", "level", "reasons"),
    [
        ("agreed", [], "High", [AGREED]),
        ("clear_winner", [], "High", [WON]),
        ("quick_agreement", [], "Medium", ["quick agreement: everybody agreed in the first round"]),
        ("stagnant", [], "Medium", [STOPPED]),
        ("concluded", [], "Medium", ["a person ended the rounds before the debaters agreed"]),
        ("repetition", [], "Low", ["the debaters repeated themselves without agreeing"]),
        ("max_rounds", [], "Low", [RAN_OUT]),
        ("max_runtime_seconds", [], "Low", [RAN_OUT]),
        (None, [], "Low", [RAN_OUT]),
        ("agreed", [LATE], "Medium", [AGREED, f"not everybody had their say: {FAST}"]),
        ("agreed", [UNREAD], "Medium", [AGREED, "an answer could not be read"]),
        ("agreed", [FORGED], "Medium", [AGREED, "a quote does not stand in its source"]),
        (
            "agreed",
            [LATE, UNREAD, FORGED],
            "Low",
            [
                AGREED,
                "an answer could not be read",
                f"not everybody had their say: {FAST}",
                "a quote does not stand in its source",
            ],
        ),
        ("stagnant", [LATE], "Low", [STOPPED, f"not everybody had their say: {FAST}"]),
    ],
)
def test_confidence_comes_from_how_it_ended_less_a_level_for_each_weakness(
    ended: str | None, turns: list[Turn], level: str, reasons: list[str]
) -> None:
    assert confidence(debate_with(ended, *turns), SYNTHESIS) == (level, reasons)
