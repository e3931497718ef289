"""The first debate, as a newcomer sees it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from test_ask import typing
from test_views import in_terminal

from forkserver import ForkedPopen
from in_process import moot
from model_server import ModelServer, speech_or_verdict
from moot.core.events import TurnChunk, TurnFinished, TurnStarted
from moot.examples.catalog import find
from moot.terminal import demo
from program import COMMAND, run
from virtualtime import run as virtual

OFFER = "q to leave): "


def test_a_demo_shows_a_recorded_debate_and_says_how_to_have_one_of_ones_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = moot(capsys, "demo")
    assert (shown.code, shown.err) == (0, "")
    first, *_ = shown.out.strip().splitlines()
    assert first == "A recording: a large model argued this once, and nothing is computed now."
    assert "A four-day work week should be the norm" in shown.out
    assert "Debater B (con) wins, " in shown.out
    assert shown.out.rstrip().splitlines()[-2:] == demo.WAYS.splitlines()


def test_a_demo_whose_reader_leaves_says_nothing_of_debates_that_go_on() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with ForkedPopen([*COMMAND, "demo"], stdout=writing, stderr=subprocess.PIPE, text=True) as process:
        os.close(writing)
        _, err = process.communicate()
    assert (process.returncode, err) == (1, "")


def test_a_demo_needs_nothing_that_is_configured_and_keeps_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOOT_DATABASE_URL", "postgresql://nowhere.invalid/moot")
    monkeypatch.setenv("MOOT_PROMPTS", "prompts")
    Path("prompts/panel").mkdir(parents=True)
    Path("prompts/panel/opening.md").write_text("{{ another }} prompt")
    shown = moot(capsys, "demo", "caching")
    assert (shown.code, shown.err) == (0, "")
    assert "Should we use Redis or PostgreSQL for caching?" in shown.out
    assert ("Carried the decision: S1" in shown.out, "moot show DEB-" in shown.out) == (True, False)
    data = Path(os.environ["XDG_DATA_HOME"]) / "moot"
    assert [path.name for path in data.iterdir()] == ["moot.log"]


def test_enter_goes_to_the_next_speech_and_ctrl_c_to_the_outcome_and_a_debate_of_ones_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("COLUMNS", raising=False)  # the terminal has a width of its own
    with ModelServer(speech_or_verdict).running() as server:
        monkeypatch.setenv("MOOT_MODEL", server.model)
        code, screen = in_terminal(
            ["demo", "--speed", "0.2"],
            width=100,
            type=typing(("The four-day", "\r"), ("Debater A's", "\x03"), (OFFER, "Tabs beat spaces\r")),
        )
    shown = screen.text
    assert code == 0
    assert "it will find them more easily." in shown  # the end of the first speech
    assert "a longer Thursday is progress" not in shown  # that of the second
    assert "Debater B (con) wins, " in shown[: shown.index(OFFER)]
    assert "\nTabs beat spaces\nduel DEB-" in shown[shown.index(OFFER) :]
    assert all("Tabs beat spaces" in str(request["messages"]) for request in server.requests)


@pytest.mark.parametrize("left", ["q\r", "\x03", "\x04"], ids=["q", "Ctrl-C", "Ctrl-D"])
def test_whoever_wants_no_live_debate_leaves(monkeypatch: pytest.MonkeyPatch, left: str) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    code, screen = in_terminal(["demo", "--speed", "0"], width=100, type=typing((OFFER, left)))
    assert (code, screen._column) == (0, 0)  # the shell goes on at the beginning of a line
    assert screen.text.index("Debater B (con) wins, ") < screen.text.index("Now live: ")
    assert "DEB-" not in screen.text[screen.text.index("Now live: ") :]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "cats"], "moot: no example named 'cats'; known: caching, backup, parts-shelf, four-day-week\n"),
        (["demo", "--speed", "-1"], "moot: --speed: at least 0"),
    ],
)
def test_what_cannot_be_shown_is_said(arguments: list[str], message: str) -> None:
    shown = run(*arguments)
    assert (shown.code, shown.err[: len(message)]) == (2, message)


async def test_speeches_come_word_by_word_one_after_the_other_and_what_examines_them_at_once() -> None:
    played = await demo._played(find("four-day-week"))
    shown = [event async for event in demo._paced(played, speed=1e6)]
    finished = [event for event in shown if isinstance(event, TurnFinished)]
    speeches = {event.position: event for event in finished if demo._is_read(played.format, event)}
    spoken = dict.fromkeys(speeches, "")
    at: list[int] = []
    for event in shown:
        if isinstance(event, TurnChunk):
            assert len(event.text.split()) <= 1
            spoken[event.position] += event.text
            at.append(event.position)
    assert spoken == {position: event.content for position, event in speeches.items()}
    assert at == sorted(at)
    assert [event.position for event in shown if isinstance(event, TurnStarted)] == list(speeches)
    assert len(finished) > len(speeches)


async def test_where_no_live_text_can_be_drawn_a_speech_is_there_before_it_is_waited_for() -> None:
    played = await demo._played(find("four-day-week"))
    shown = [event async for event in demo._paced(played, speed=1e6, whole=True)]
    chunks = [at for at, event in enumerate(shown) if isinstance(event, TurnChunk)]
    assert isinstance(shown[chunks[0] - 1], TurnFinished)
    positions = [event.position for event in shown if isinstance(event, TurnFinished)]
    assert len(positions) == len(set(positions))


def test_enter_shows_the_rest_of_a_speech_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, keys = os.pipe()
    with os.fdopen(terminal) as typed, os.fdopen(keys, "wb"):
        monkeypatch.setattr("sys.stdin", typed)
        first, second = virtual(_two_speeches(keys))
    assert first == ["The ", "four-day ", "week, "]
    assert len(second) > 100


async def _two_speeches(keys: int) -> list[list[str]]:
    speeches: list[list[str]] = []
    async for event in demo._paced(await demo._played(find("four-day-week")), speed=1, listens=True):
        if isinstance(event, TurnStarted):
            speeches.append([])
        if isinstance(event, TurnChunk):
            speeches[-1].append(event.text)
            if len(speeches) == 1 and len(speeches[0]) == 3:
                os.write(keys, b"\n")
        if isinstance(event, TurnFinished) and len(speeches) == 2:
            return speeches
    raise AssertionError("there are two speeches")
