"""The example agent in real processes that are killed: no turn is played twice, whoever goes on."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from forkserver import ForkedPopen
from model_server import PATIENCE, ModelServer
from moot.app import open_store
from moot.core.stored import StoredDebate
from replies import answers

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples/langgraph"
AGENT = [sys.executable, str(EXAMPLES / "careful.py"), "cache", "Use Redis as our cache"]
DYING_AGENT = [sys.executable, str(Path(__file__).with_name("dying_agent.py")), str(EXAMPLES), "cache"]
ROUND = [
    ("moderator", "summary"),
    ("debater_1", "opening"),
    ("debater_2", "opening"),
    ("debater_1", "rebuttal"),
    ("debater_2", "rebuttal"),
    ("moderator", "evaluation"),
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(answers).running() as server:
        monkeypatch.setenv("MOOT_MODEL", server.model)
        monkeypatch.setenv("MOOT_DATABASE_URL", "sqlite:///moot.db")
        yield server


def killed_at_its_question() -> str:
    """Run the agent until it asks, and kill it; the debate's id."""
    pipe = subprocess.PIPE
    with ForkedPopen(AGENT, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            assert process.stdout
            for line in process.stdout:
                if found := re.match(r"(DEB-\w+) waits for: ", line):
                    return found[1]
        finally:
            process.kill()
    raise AssertionError("the agent never asked")


def load(debate_id: str) -> StoredDebate:
    async def loaded() -> StoredDebate:
        store = await open_store(os.environ["MOOT_DATABASE_URL"])
        try:
            return await store.load(debate_id)
        finally:
            await store.close()

    return asyncio.run(loaded())


def test_an_agent_killed_at_a_question_and_between_two_nodes_goes_on_and_repeats_no_call(server: ModelServer) -> None:
    debate_id = killed_at_its_question()
    before = load(debate_id).turns
    assert (len(before), len(server.requests)) == (7, 7)

    assert ForkedPopen([*DYING_AGENT, "evaluate"]).wait(PATIENCE) == -signal.SIGKILL
    between = load(debate_id).turns
    assert (between[:7], len(between), len(server.requests)) == (before, 13, 12)

    done = subprocess.run(AGENT, input="approve\n", capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "Done: Use Redis as our cache. Use Redis. It is fast enough."
    record, turns, *_ = load(debate_id)
    assert (record.status, turns[:13], len(server.requests)) == ("finished", between, 14)
    assert [(turn.seat, turn.kind) for turn in turns] == [
        ("moderator", "analysis"),
        *ROUND,
        ("human", "guidance"),
        *ROUND,
        ("moderator", "synthesis"),
        ("human", "approval"),
    ]
    assert turns[7].content == "Mind the cost."
