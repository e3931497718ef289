"""How long a debate may take, before anybody has spoken."""

from __future__ import annotations

from moot.core.debate import Turn, Usage
from moot.core.duration import ASSUMED, duration, slowest


def spoken(model: str, tokens: int, seconds: float) -> Turn:
    usage = Usage(output_tokens=tokens)
    return Turn(
        position=0,
        seat="a",
        kind="b",
        round=1,
        content="c",
        usage=usage,
        model=model,
        started_at=0,
        finished_at=seconds,
    )


def test_the_pace_is_that_of_the_slowest_model_and_unknown_unless_all_were_measured() -> None:
    turns = [spoken("fast", 400, 4), spoken("slow", 100, 10), spoken("slow", 300, 30), spoken("replayed", 400, 0.01)]
    assert slowest({"fast"}, turns) == 100
    assert slowest({"fast", "slow"}, turns) == 10
    assert slowest({"fast", "replayed"}, turns) is None
    assert slowest(set(), turns) is None


def test_a_limit_that_the_pace_cannot_keep_is_announced_with_what_to_do() -> None:
    slow = duration(most=10_000, typical=6_000, pace=5, limit=600)
    assert (slow.typical_seconds, slow.measured) == (1200, True)
    assert slow.warning == (
        "max_runtime_seconds is 600, and this may take 1200: the rounds would be cut short; "
        "set it higher, or max_rounds lower"
    )
    assert str(slow) == "a guess: typically 20 min, at most 33 min, at 5 tokens a second (as its models were lately)"


def test_a_pace_that_nobody_measured_is_said_to_be_assumed() -> None:
    guessed = duration(most=100, typical=60, pace=None, limit=600)
    assert (guessed.tokens_a_second, guessed.measured, guessed.warning) == (ASSUMED, False, "")
    assert "(assumed, as not all its models were measured yet)" in str(guessed)
