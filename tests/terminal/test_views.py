"""What a reader sees: lines broken on words, the live view on a screen, and the whole program in a pseudo-terminal."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import os
import re
import struct
import termios
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from emulator import Screen
from forkserver import ForkedPopen
from model_server import VERDICT, ModelServer
from moot.core.charts import LineChart, Score, ScoreChart, Series, Threshold
from moot.core.debate import Origin, Record, SeatSettings, Usage
from moot.core.events import LimitReached, RoundStarted, StepRetrying, TurnChunk, TurnFinished, TurnStarted
from moot.formats.duel.format import DUEL
from moot.terminal.console import wrap
from moot.terminal.listing import drawn
from moot.terminal.tables import aligned, chart_texts, print_table
from moot.terminal.views import LiveView, PlainView
from moot.text.language import language_of
from moot.text.plain import printable
from program import COMMAND

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SEATS = {seat.name: SeatSettings("http://host/v1#mock", 0.7, 100) for seat in DUEL.seats}
RECORD = Record(
    id="DEB-abcdefgh",
    format="duel",
    format_version=1,
    topic="Cats",
    settings={"max_rounds": 2},
    seats=SEATS,
    created_at=0.0,
)


@pytest.fixture(autouse=True)
def a_terminal_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever runs the tests in, and of whatever size."""
    monkeypatch.setenv("TERM", "xterm-256color")
    for variable in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)


def began(seat: str, position: int, attempt: int = 1) -> TurnStarted:
    title = DUEL.title(seat)
    return TurnStarted(
        id=1,
        debate=RECORD.id,
        at=NOW,
        seat=seat,
        kind="argument",
        round=1,
        position=position,
        model="http://host/v1#mock",
        attempt=attempt,
        title=title,
    )


def retrying(seat: str, position: int, seconds: float = 30.0) -> StepRetrying:
    return StepRetrying(
        id=1,
        debate=RECORD.id,
        at=NOW,
        seat=seat,
        kind="argument",
        round=1,
        position=position,
        code="rate_limited",
        error="acme: too many requests",
        attempt=2,
        attempts=6,
        seconds=seconds,
        title=DUEL.title(seat),
    )


def chunk(seat: str, position: int, text: str) -> TurnChunk:
    return TurnChunk(
        id=1, debate=RECORD.id, at=NOW, seat=seat, kind="argument", round=1, position=position, offset=0, text=text
    )


def ended(seat: str, position: int, content: str, *marks: str) -> TurnFinished:
    usage, title = Usage(output_tokens=7), DUEL.title(seat)
    return TurnFinished(
        id=1,
        debate=RECORD.id,
        at=NOW,
        seat=seat,
        kind="argument",
        round=1,
        position=position,
        content=content,
        data=None,
        usage=usage,
        duration_ms=0,
        model=None,
        marks=marks,
        title=title,
    )


class Output(StringIO):
    """Tells when something was drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = asyncio.Event()

    def flush(self) -> None:
        self.drawn.set()


class Stage:
    """A live view on a screen of its own."""

    def __init__(self, width: int) -> None:
        self._out = Output()
        self.console = Console(file=self._out, force_terminal=True, width=width, color_system="truecolor")
        self.screen = Screen(width)
        self.view = LiveView(self.console, RECORD, DUEL, {}, seconds_before=41.2)

    async def see(self) -> str:
        """The screen after the next frame, seconds hidden."""
        self._out.drawn.clear()
        await self._out.drawn.wait()
        return self._read()

    def close(self) -> str:
        self.view.close()
        return self._read()

    def _read(self) -> str:
        self.screen.feed(self._out.getvalue())
        self._out.seek(0)
        self._out.truncate()
        return re.sub(r"4\d s", "41 s", self.screen.text)


async def test_the_live_view_shows_whole_lines_the_line_being_written_and_the_status() -> None:
    stage = Stage(40)
    stage.view.show(RoundStarted(id=1, debate=RECORD.id, at=NOW, round=1))
    stage.view.show(began("debater_a", 0))
    stage.view.show(chunk("debater_a", 0, "Cats are quiet, clean and never ask for a wa"))
    assert (
        await stage.see()
        == """
▌ Debater A  argument · round 1
  Cats are quiet, clean and never ask
  for a wa

 round 1 of 2 · 41 s · 0 tokens · mock"""
    )
    stage.view.show(chunk("debater_a", 0, "lk in the rain.\nAlso"))
    stage.view.show(
        ended("debater_a", 0, "Cats are quiet, clean and never ask for a walk in the rain.\nAlso", "truncated")
    )
    stage.view.show(began("debater_b", 1))
    assert (
        await stage.see()
        == """
▌ Debater A  argument · round 1
  Cats are quiet, clean and never ask
  for a walk in the rain.
  Also
  [truncated]

▌ Debater B  argument · round 1


 round 1 of 2 · 41 s · 7 tokens · mock"""
    )
    stage.view.show(LimitReached(id=1, debate=RECORD.id, at=NOW, reason="max_runtime_seconds"))
    assert (
        stage.close()
        == """
▌ Debater A  argument · round 1
  Cats are quiet, clean and never ask
  for a walk in the rain.
  Also
  [truncated]

▌ Debater B  argument · round 1

  — the time limit was reached —"""
    )


async def test_turns_side_by_side_are_shown_one_after_the_other() -> None:
    stage = Stage(60)
    for event in (
        began("debater_a", 0),
        began("debater_b", 1),
        chunk("debater_b", 1, "Second."),
        chunk("debater_a", 0, "First, "),
        ended("debater_b", 1, "Second."),
        chunk("debater_a", 0, "at last."),
        ended("debater_a", 0, "First, at last."),
    ):
        stage.view.show(event)
    assert (
        stage.close()
        == """
▌ Debater A  argument · round 1
  First, at last.

▌ Debater B  argument · round 1
  Second."""
    )


async def test_a_reply_that_broke_off_stays_readable_and_the_next_attempt_follows() -> None:
    stage = Stage(60)
    stage.view.show(began("debater_a", 0))
    stage.view.show(chunk("debater_a", 0, "Half a sen"))
    stage.view.show(began("debater_a", 0, attempt=2))
    stage.view.show(ended("debater_a", 0, "A whole sentence."))
    assert (
        stage.close()
        == """
▌ Debater A  argument · round 1
  Half a sen
  [this reply broke off or cannot be used]
  A whole sentence."""
    )


async def test_stored_turns_are_shown_whole_and_asides_once() -> None:
    stage = Stage(60)
    stage.view.show(ended("debater_a", 0, "Said long ago."))
    stage.view.show(ended("clock", 1, "max_runtime_seconds"))
    stage.view.show(LimitReached(id=1, debate=RECORD.id, at=NOW, reason="max_runtime_seconds"))
    assert (
        stage.close()
        == """
▌ Debater A  argument · round 1
  Said long ago.

  — the time limit was reached —"""
    )


async def test_a_turn_that_only_examines_others_is_one_line_that_fits() -> None:
    stage = Stage(60)
    stage.view.show(ended("debater_a", 0, "Said long ago."))
    judged = replace(ended("judge", 1, f"Cats \x1b[2J {'gave reasons ' * 20}"), kind="rejudging", round=None)
    stage.view.show(replace(judged, notes=("Debater A 6, Debater B 7",)))
    assert (
        stage.close()
        == """
▌ Debater A  argument · round 1
  Said long ago.
  · Judge, rejudging: Debater A 6, Debater B 7 · Cats �[2J …"""
    )


async def test_a_note_comes_first_and_what_does_not_fit_is_left_out() -> None:
    stage = Stage(44)
    stage.view.note("stopping after this turn")
    assert (await stage.see()).splitlines()[-1] == " stopping after this turn · round 1 of 2"
    stage.close()


async def test_a_retry_is_told_once_and_counted_down_until_words_come() -> None:
    stage = Stage(80)
    stage.view.show(began("debater_a", 0))
    stage.view.show(retrying("debater_a", 0))
    *_, told, _, _, status = (await stage.see()).splitlines()
    assert told == "  ! Debater A: acme: too many requests; attempt 2 of 6 in 30 s"
    assert re.fullmatch(r" Debater A: attempt 2 of 6 in (29|30) s · round 1 of 2 · .*", status)
    stage.view.show(chunk("debater_a", 0, "At last."))
    assert "attempt" not in (await stage.see()).splitlines()[-1]
    stage.close()


def test_a_retry_is_a_line_of_its_own_in_a_pipe() -> None:
    out = StringIO()
    PlainView(Console(file=out), DUEL, {}).show(retrying("debater_b", 1, seconds=0.2))
    assert out.getvalue() == "\n(Debater B: acme: too many requests; attempt 2 of 6 now)\n"


async def test_after_a_resize_no_line_is_doubled() -> None:
    stage = Stage(60)
    stage.view.show(began("debater_a", 0))
    stage.view.show(chunk("debater_a", 0, "one two three four five six seven eight nine ten"))
    await stage.see()
    stage.console.width = 30
    stage.screen._lines[2:] = [
        list("  one two three four five six "),
        list("seven eight nine ten"),
        [],
        list(" status"),
    ]
    stage.screen._row = 3  # where a terminal that breaks its lines anew puts the cursor
    assert (
        await stage.see()
        == """
▌ Debater A  argument · round 1
  one two three four five
  six seven eight nine ten

 round 1 of 2 · 41 s"""
    )
    stage.close()


async def test_wide_letters_and_emoji_stay_within_the_screen() -> None:
    stage = Stage(40)
    text = "漢字" * 30 + " 👩‍💻 emoji ❤️ a\ttab, Umlaute " + "ü" * 50
    stage.view.show(began("debater_a", 0))
    for letter in text:
        stage.view.show(chunk("debater_a", 0, letter))
    stage.view.show(ended("debater_a", 0, text))
    assert (
        stage.close()
        == """
▌ Debater A  argument · round 1
  漢字漢字漢字漢字漢字漢字漢字漢字漢字
  漢字漢字漢字漢字漢字漢字漢字漢字漢字
  漢字漢字漢字漢字漢字漢字漢字漢字漢字
  漢字漢字漢字 👩‍💻 emoji ❤️ a    tab,
  Umlaute
  üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü
  üüüüüüüüüüüüüü"""
    )


@given(st.text(st.sampled_from("ab \n漢é👍\u0301")), st.integers(4, 12))
def test_wrapped_lines_fit_and_stand_for_the_whole_text(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert sum(length for _, length in lines) == len(text)
    assert all(cell_len(line) <= width and "\n" not in line for line, _ in lines)


@given(st.text(st.sampled_from("ab \n漢é👍")), st.text(st.sampled_from("ab \n漢é👍")), st.integers(4, 12))
def test_lines_before_the_last_never_change_when_text_is_added(text: str, more: str, width: int) -> None:
    settled = wrap(text, width)[:-1]
    assert wrap(text + more, width)[: len(settled)] == settled


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("\x1b[2J\x07\x9b", "\ufffd[2J\ufffd\ufffd"),
        ("one\r\ntwo\u2028three", "one\ntwo\nthree"),
        ("10\u202f000\u00a0€", "10\u202f000\u00a0€"),
        ("\u202eabc\u2066", "\ufffdabc\ufffd"),
        ("👩\u200d💻 so\u00adft", "👩\u200d💻 soft"),
    ],
)
def test_text_of_others_cannot_steer_the_terminal(written: str, shown: str) -> None:
    assert printable(written) == shown


def test_a_debate_that_is_over_is_shown_wrapped_in_a_terminal() -> None:
    out = StringIO()
    view = PlainView(Console(file=out, force_terminal=True, width=34, color_system=None), DUEL, {})
    view.show(ended("debater_a", 0, "Cats are quiet, clean and never ask for a walk."))
    assert out.getvalue() == (
        "\n▌ Debater A  argument · round 1\n  Cats are quiet, clean and\n  never ask for a walk.\n"
    )


def test_a_narrow_terminal_gets_fewer_columns() -> None:
    out = StringIO()
    console = Console(file=out, force_terminal=True, width=30, color_system=None)
    print_table(console, ("id", "when", "topic"), [("1", "today", "cats"), ("2", "today", "dogs")], wide=("when",))
    assert [line.split() for line in out.getvalue().splitlines()] == [["id", "topic"], ["1", "cats"], ["2", "dogs"]]


def test_a_fork_names_its_origin_below_a_topic_that_is_cut() -> None:
    fork = replace(RECORD, topic="why " * 20, origin=Origin("DEB-origin00", 2))
    assert drawn([fork], 48) == [
        "id            status   topic",
        "DEB-abcdefgh  created  why why why why why why…",
        "                       forked from DEB-origin00",
    ]


def test_a_wide_terminal_shows_all_of_a_debate_in_the_list() -> None:
    header, line = drawn([replace(RECORD, topic="漢字" * 40)], 90)
    assert header.split() == ["id", "format", "status", "started", "topic"]
    assert line.startswith("DEB-abcdefgh  duel    created  19")
    assert line.endswith("…")
    assert cell_len(line) in (89, 90)  # a letter of two cells may not fit


def test_columns_are_aligned_by_cells() -> None:
    assert aligned([("a", "b"), ("漢字", "c"), ("x", "")]) == ["a     b", "漢字  c", "x"]


def in_terminal(
    arguments: list[str], width: int = 60, height: int = 20, type: Callable[[str], bytes] = lambda seen: b""
) -> tuple[int, Screen]:
    """Run moot in a pseudo-terminal; `type` says what to type after each output."""
    terminal, theirs = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    with ForkedPopen(
        [*COMMAND, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        seen = b""
        while data := _read(terminal):
            seen += data
            os.write(terminal, type(seen.decode(errors="ignore")))
    os.close(terminal)
    screen = Screen(width)
    screen.feed(seen.decode().replace("\r\n", "\n"))
    return process.returncode, screen


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError as error:
        if error.errno == errno.EIO:  # Linux's way to say that the program has ended
            return b""
        raise


def test_the_program_in_a_terminal() -> None:
    evil = "It is \x1b[2J so, \u202eas everybody knows who has ever met 👍 one of them."
    with ModelServer(lambda request: json.dumps(VERDICT) if "response_format" in request else evil).running() as server:
        code, screen = in_terminal(
            ["debate", "Cats are better than dogs", "--format", "duel", "--max-rounds", "1", "--model", server.model]
        )
    speech = "It is \ufffd[2J so, \ufffdas everybody knows who has ever met 👍\n  one of them."
    expected = f"""
Cats are better than dogs
duel DEB-ID · mock in every seat

▌ Debater A · For  argument · round 1
  {speech}

▌ Debater B · Against  argument · round 1
  {speech}

  — all rounds were played —

▌ Judge  verdict
  The first side was clearer.

  Debater A (pro) wins, 8 : 5

              stance   score
  Debater A   pro      8
  Debater B   con      5

  Trust: Low
    - judged once: whether another judging would say the
      same is not known

  ! one model, mock, spoke in every seat
  Ended because all rounds were played.

  3 calls · 30 tokens in · 40 out · the price is unknown
  moot show DEB-ID shows it again."""
    seen = re.sub(r"http://127.0.0.1:\d+/v1", "URL", re.sub(r"DEB-\w{8}", "DEB-ID", screen.text))
    assert code == 0
    assert seen.splitlines() == expected.splitlines()


def test_ctrl_c_in_a_terminal_stops_after_the_turn_and_leaves_no_trace() -> None:
    with ModelServer().running() as server:
        server.pause_in(1)
        typed = False

        def type(seen: str) -> bytes:
            nonlocal typed
            if "stopping after" in seen:
                server.go_on()
            elif "Point" in seen and not typed:
                typed = True
                return b"\x03"
            return b""

        code, screen = in_terminal(["debate", "Cats", "--format", "duel", "--model", server.model], type=type)
    lines = re.sub(r"DEB-\w{8}", "DEB-ID", re.sub(r"Point \d+", "Point 1", screen.text)).splitlines()
    assert (code, lines[4:]) == (
        4,
        [
            "▌ Debater A · For  argument · round 1",
            "  Point 1 stands, and nobody has answered it so far.",
            "",
            "  Stopped: it was interrupted (Ctrl-C). Go on with:",
            "  moot debate --resume DEB-ID",
        ],
    )


# Charts, as tables


def test_values_by_round_are_a_table_with_a_row_for_each_series() -> None:
    shares = [Series("A", {1: 0.5, 3: 0.25}), Series("猫", {2: 1.0, 4: float("nan"), 5: 1.5}), Series("Nobody", {})]
    scores = ScoreChart("Scores", [Score("Price", 5, 6)], Score("Overall", 5, 6))
    stale = LineChart("New", shares, high=1, percent=True, threshold=Threshold(0.3, "stale below 30%"))
    empty = LineChart("Nothing", [Series("A", {})])
    assert list(chart_texts([scores, stale, empty], language_of("", "en"))) == [
        "New (stale below 30%)\nround  1    2     3\nA      50%  –     25%\n猫     –    100%  –"
    ]


def test_charts_speak_the_language_of_their_debate() -> None:
    (text,) = chart_texts([LineChart("Neu", [Series("A", {1: 7.0})])], language_of("", "de"))
    assert text.splitlines()[1] == "Runde  1"


def test_the_words_of_a_chart_steer_no_terminal() -> None:
    (text,) = chart_texts([LineChart("Doubt\x1b[2J\nround", [Series("A\x07\nB", {1: 7.0})])], language_of("", "en"))
    assert text.count("\n") == 2
    assert printable(text) == text
