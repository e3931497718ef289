"""Debates of every format whose process is killed, again and again, and gone on with by the next one."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from forkserver import ForkedPopen
from model_server import PATIENCE, ModelServer
from moot.app import open_store
from moot.core.debate import Status, Turn
from moot.core.stored import StoredDebate
from moot.runs.remote_run import ALONE
from program import COMMAND, run
from replies import answers

Place = tuple[str, str, int | None]


class Resumable(ModelServer):
    """Can be told to hold back another reply after the first."""

    def pause_in(self, call: int, *, after_words: int = 3) -> None:
        self.go_on()
        self._paused, self._go_on = threading.Event(), threading.Event()
        super().pause_in(call, after_words=after_words)


class Kill(NamedTuple):
    """In which call of its own a process dies, after how many words of the reply."""

    call: int
    after_words: int


class Scene(NamedTuple):
    """A debate, where its processes die, and the turns it has in the end."""

    arguments: tuple[str, ...]
    kills: tuple[Kill, ...]
    places: list[Place]
    at_once: int = 1
    """So many calls are in flight at most."""


SPEAKERS = ("debater_a", "debater_b")
DUEL = Scene(
    ("--format", "duel", "--max-rounds", "2"),
    (Kill(1, 0), Kill(2, 3), Kill(3, 0)),
    [*((seat, "argument", round) for round in (1, 2) for seat in SPEAKERS), ("judge", "verdict", None)],
)
EXAMINED_DUEL = Scene(
    ("--format", "duel", "--max-rounds", "1", "--set", "depth=normal", "--ballots", "0"),
    (Kill(3, 3), Kill(2, 3), Kill(1, 3)),
    [
        *((seat, "argument", 1) for seat in SPEAKERS),
        ("scribe", "claims", None),
        ("judge", "verdict", None),
        ("judge", "rejudging", None),
    ],
    at_once=2,
)
CRITIQUE = Scene(
    ("--format", "critique", "--max-rounds", "2"),
    (Kill(1, 3), Kill(3, 0), Kill(2, 3)),
    [
        ("library", "templates", None),
        *(place for round in (1, 2) for place in [("proposer", "proposal", round), ("skeptic", "critique", round)]),
        ("synthesizer", "answer", None),
        ("skeptic", "review", None),
    ],
)
EVALUATION = Scene(
    ("--format", "evaluation", "--set", "exchanges=0"),
    (Kill(2, 3), Kill(4, 0), Kill(4, 3)),
    [
        ("evaluator", "scores", None),
        ("red_team", "challenges", None),
        *((seat, "argument", round) for round, seat in enumerate(("advocate", "challenger", "advocate"), 1)),
        *((seat, "argument", round) for round, seat in enumerate(("challenger", "advocate", "challenger"), 1)),
        *(("arbiter", "verdict", round) for round in (1, 2, 3)),
    ],
    at_once=3,
)
PANEL_ROUND = [
    ("moderator", "summary"),
    *((seat, kind) for kind in ("opening", "rebuttal") for seat in ("debater_1", "debater_2")),
    ("moderator", "evaluation"),
]
PANEL = Scene(
    (
        "--format",
        "panel",
        "--no-checkpoints",
        "--max-rounds",
        "1",
        "--set",
        "depth=normal",
        "--ballots",
        "2",
    ),
    (Kill(1, 3), Kill(3, 3), Kill(7, 3)),
    [
        ("moderator", "analysis", None),
        *[("voter", "ballot", None)] * 2,
        *((seat, kind, 1) for seat, kind in PANEL_ROUND),
        ("scribe", "claims", None),
        *[("voter", "vote", None)] * 2,
        ("moderator", "synthesis", None),
    ],
    at_once=3,
)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with Resumable(answers).running() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    url = str(request.getfixturevalue("postgres_url")) if request.param == "postgres" else f"sqlite:///{tmp_path}/m.db"
    monkeypatch.setenv("MOOT_DATABASE_URL", url)
    return url


def kill_in(server: ModelServer, kill: Kill, *arguments: str) -> str:
    """Run moot until it is killed; the debate's id."""
    server.pause_in(len(server.requests) + kill.call, after_words=kill.after_words)
    told = Path("told.jsonl")
    with told.open("wb") as out, ForkedPopen([*COMMAND, *arguments, "--json"], stdout=out) as process:
        try:
            server.wait_until_paused()
            _wait_for_a_line(told)
        finally:
            process.kill()
    debate_id: str = json.loads(told.read_bytes().splitlines()[0])["debate"]
    return debate_id


def _wait_for_a_line(file: Path) -> None:
    """What another process plays is told a moment later."""
    give_up = time.monotonic() + PATIENCE
    while b"\n" not in file.read_bytes() and time.monotonic() < give_up:
        time.sleep(0.01)


def load(url: str, debate_id: str) -> StoredDebate:
    async def loaded() -> StoredDebate:
        store = await open_store(url)
        try:
            return await store.load(debate_id)
        finally:
            await store.close()

    return asyncio.run(loaded())


def calls(turns: tuple[Turn, ...]) -> int:
    return sum(turn.usage.calls for turn in turns)


def places(turns: tuple[Turn, ...]) -> list[Place]:
    return [(turn.seat, turn.kind, turn.round) for turn in turns]


@pytest.mark.parametrize(
    "scene",
    [DUEL, EXAMINED_DUEL, CRITIQUE, EVALUATION, PANEL],
    ids=["duel", "examined duel", "critique", "evaluation", "panel"],
)
def test_a_debate_whose_processes_are_killed_has_every_turn_once_and_repeats_only_calls_in_flight(
    server: ModelServer, database: str, scene: Scene
) -> None:
    arguments = ("debate", "Which cache should we use?", "--model", server.model, *scene.arguments)
    before: tuple[Turn, ...] = ()
    lost: list[int] = []
    for kill in scene.kills:
        asked = len(server.requests)
        debate_id = kill_in(server, kill, *arguments)
        arguments = ("debate", "--resume", debate_id)
        turns = load(database, debate_id).turns
        assert [turn for turn in turns if turn in before] == list(before)
        lost.append(len(server.requests) - asked - calls(turns) + calls(before))
        before = turns
    server.go_on()
    ran = run(*arguments, "--json")
    alone = f"\n{ALONE}\n" if database.startswith("postgres") else ""
    assert (ran.code, ran.err) == (0, alone)
    record, turns, *_ = load(database, debate_id)
    assert record.status is Status.FINISHED
    assert [turn for turn in turns if turn in before] == list(before)
    assert [turn.position for turn in turns] == sorted(turn["position"] for turn in ran.turns)
    assert [turn.position for turn in turns] == list(range(len(scene.places)))
    assert places(turns) == scene.places
    assert all(1 <= number <= scene.at_once for number in lost), lost
    assert len(server.requests) == calls(turns) + sum(lost)
    assert len(Counter(map(json.dumps, server.requests))) == calls(turns)


def test_a_panel_killed_before_and_after_its_checkpoint_still_asks_once_and_hears_the_answer(
    server: ModelServer, database: str
) -> None:
    arguments = ("debate", "Which cache should we use?", "--model", server.model, "--max-rounds", "2")
    debate_id = kill_in(server, Kill(7, 3), *arguments)
    server.go_on()
    waiting = run("debate", "--resume", debate_id, "--json")
    assert (waiting.code, waiting.events[-1]["type"]) == (3, "waiting")
    asked = load(database, debate_id).turns
    assert kill_in(server, Kill(1, 0), "reply", debate_id, "--guide", "Mind the cost.") == debate_id
    assert kill_in(server, Kill(5, 3), "debate", "--resume", debate_id) == debate_id
    server.go_on()
    assert run("debate", "--resume", debate_id, "--json").code == 3
    approved = run("reply", debate_id, "--approve", "--json")
    assert (approved.code, approved.events[-1]["type"]) == (0, "debate_finished")
    record, turns, *_ = load(database, debate_id)
    assert record.status is Status.FINISHED
    assert turns[: len(asked)] == asked
    assert [turn.position for turn in turns] == list(range(len(turns)))
    assert [(turn.kind, turn.content) for turn in turns if turn.seat == "human"] == [
        ("guidance", "Mind the cost."),
        ("approval", ""),
    ]
    assert places(turns) == [
        ("moderator", "analysis", None),
        *((seat, kind, 1) for seat, kind in PANEL_ROUND),
        ("human", "guidance", 1),
        *((seat, kind, 2) for seat, kind in PANEL_ROUND),
        ("moderator", "synthesis", None),
        ("human", "approval", None),
    ]
    assert len(Counter(map(json.dumps, server.requests))) == calls(turns)
    assert [path.name for path in Path("docs/decisions").iterdir()] == ["0001-which-cache-should-we-use.md"]
