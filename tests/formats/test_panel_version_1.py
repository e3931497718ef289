"""Panels that began under version 1 go on by its rules, and their recordings replay."""

from __future__ import annotations

from pathlib import Path

import pytest

from in_process import moot

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
