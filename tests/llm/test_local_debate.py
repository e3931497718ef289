"""One whole debate with the model that comes with moot, in a process of its own."""

from __future__ import annotations

import json

import pytest

from model_server import PATIENCE
from moot.formats.duel.format import Verdict
from program import events_until, finish, run, started

PLACES = [
    *[("voter", "ballot")] * 2,
    ("debater_a", "argument"),
    ("debater_b", "argument"),
    ("scribe", "claims"),
    ("judge", "verdict"),
    ("judge", "rejudging"),
]


@pytest.mark.local_model
def test_the_built_in_model_debates_to_a_stored_verdict_that_is_examined_carefully() -> None:
    caps = '{"debater_a": 30, "debater_b": 30, "judge": 110, "scribe": 130, "voter": 60}'
    question = ("Is tea better than coffee?", "--format", "duel")
    examined = ("--careful", "--set", "judgings=2", "--ballots", "2")
    arguments = ["debate", *question, *examined, "--max-rounds", "1", "--set", f"max_tokens={caps}"]
    with started(*arguments, "--model", "local:smollm2", "--json") as process:
        before = events_until(process, "turn_chunk", 3)
        done = [event["kind"] for event in before if event["type"] == "turn_finished"]
        assert "argument" not in done  # words come one by one
        ran = finish(process, before, 10 * PATIENCE)
    assert ran.code == 0, ran.err
    assert ran.err.startswith("\nThe built-in model is tiny: ")
    assert sorted((turn["position"], turn["seat"], turn["kind"], turn["model"]) for turn in ran.turns) == [
        (position, *place, "local:smollm2") for position, place in enumerate(PLACES)
    ]
    assert all(turn["content"] for turn in ran.turns)
    last = ran.events[-1]
    assert last["type"] == "debate_finished"
    outcome = Verdict.model_validate(last["outcome"])
    assert outcome.trust
    assert outcome.trust.poll
    assert (outcome.trust.poll.calls, outcome.ledger is not None) == (2, True)
    unread = [turn["kind"] for turn in ran.turns if "fallback" in turn["marks"]]
    assert (outcome.trust.stability is None) == bool({"verdict", "rejudging"} & {*unread})
    assert json.loads(run("show", last["debate"], "--json").out) == last["trace"]
