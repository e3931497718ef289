"""A whole panel with the model that comes with moot, in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model_server import PATIENCE
from moot.formats.panel.decision import Decision
from program import Ran, started

SECTIONS = [f"## {name}" for name in ("Question", "Perspectives")]
"""What every record has."""


ARGUMENTS = [
    *("debate", "Should we use Redis or PostgreSQL for caching?", "--no-checkpoints", "--max-rounds", "1"),
    *("--perspectives", "Performance Advocate,Operational Simplicity", "--set", "round_timeout_seconds=300"),
    *("--set", f"max_tokens={json.dumps({'moderator': 32, 'debater_1': 16, 'debater_2': 16})}"),
    *("--model", "local:smollm2", "--output", "records", "--json"),
]


@pytest.mark.local_model
def test_the_built_in_model_comes_to_a_valid_record_however_badly_it_debates() -> None:
    with started(*ARGUMENTS) as process:
        out, err = process.communicate(timeout=4 * PATIENCE)
    ran = Ran(process.returncode, out, err)
    assert ran.code == 0, ran.err
    assert [turn["kind"] for turn in ran.turns] == [
        "analysis",
        "summary",
        *["opening"] * 2,
        *["rebuttal"] * 2,
        "evaluation",
        "synthesis",
    ]
    outcome = Decision.model_validate(ran.events[-1]["outcome"])
    assert (outcome.approved, len(outcome.rounds), [view.name for view in outcome.perspectives]) == (
        None,
        1,
        ["Performance Advocate", "Operational Simplicity"],
    )
    unread = [turn["kind"] for turn in ran.turns if "fallback" in turn["marks"]]
    assert (outcome.fallback, not unread or outcome.confidence == "Low") == ("synthesis" in unread, True)
    assert outcome.summary
    (record,) = Path("records").iterdir()
    assert set(SECTIONS) <= set(record.read_text().splitlines())
