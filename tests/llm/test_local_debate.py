"""One whole debate with the model that comes with moot, in a process of its own."""

from __future__ import annotations

import json

import pytest

from program import events_until, finish, run, started


@pytest.mark.local_model
def test_the_built_in_model_debates_to_a_stored_verdict() -> None:
    caps = '{"debater_a": 40, "debater_b": 40, "judge": 120}'
    question = ("Is tea better than coffee?", "--format", "duel")
    arguments = ["debate", *question, "--max-rounds", "1", "--set", f"max_tokens={caps}"]
    with started(*arguments, "--model", "local:smollm2", "--json") as process:
        before = events_until(process, "turn_chunk", 5)
        assert [event["type"] for event in before].count("turn_finished") == 0  # its words come one by one
        ran = finish(process, before)
    assert ran.code == 0, ran.err
    assert ran.err.startswith("\nThe built-in model is tiny: ")
    assert [(turn["seat"], turn["model"]) for turn in ran.turns] == [
        ("debater_a", "local:smollm2"),
        ("debater_b", "local:smollm2"),
        ("judge", "local:smollm2"),
    ]
    assert all(turn["content"] for turn in ran.turns)
    last = ran.events[-1]
    assert last["type"] == "debate_finished"
    assert last["outcome"]["winner"] in ("a", "b", "undecided")
    assert json.loads(run("show", last["debate"], "--json").out) == last["trace"]
