"""One reading of a debate: what every surface shows of it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from faults.store_debates import FOLDER, read
from moot.core.debate import Status, Turn
from moot.core.replay import next_steps
from moot.core.stored import StoredDebate
from moot.errors import ScriptChanged
from moot.formats import load, of_record
from moot.formats.duel.format import DUEL
from moot.reading.debate import Reading
from moot.testing import ScriptedModel, scripted_app
from moot.text.markdown import unmarked
from stage import ID, Panelists, Stage

NEW = Stage().new


def reading(*turns: Turn) -> Reading:
    return Reading(StoredDebate(NEW, turns), DUEL)


def said(position: int, seat: str, round: int | None = None) -> Turn:
    return Turn(position=position, seat=seat, kind="word", round=round, content="Yes.")


def test_a_turn_of_no_round_belongs_to_the_round_before_it_until_a_seat_closes_the_debate() -> None:
    places = [("human", None), ("debater_a", 1), ("human", None), ("debater_b", 1), ("debater_a", 2), ("clock", None)]
    turns = [said(at, seat, round) for at, (seat, round) in enumerate([*places, ("judge", None), ("human", None)])]
    assert [(title, [turn.position for turn in own]) for title, own in reading(*turns).sections] == [
        ("Opening", [0]),
        ("Round 1", [1, 2, 3]),
        ("Round 2", [4, 5]),
        ("Closing", [6, 7]),
    ]


def test_before_the_first_round_there_is_only_an_opening() -> None:
    assert [title for title, _ in reading(said(0, "human"), said(1, "debater_a")).sections] == ["Opening"]


def test_every_seat_has_a_title_before_it_has_spoken() -> None:
    assert reading(said(0, "human")).titles == {
        "debater_a": "Debater A",
        "debater_b": "Debater B",
        "judge": "Judge",
        "human": "Human",
    }


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
@pytest.mark.parametrize("status", [Status.FINISHED, Status.STOPPED])
def test_a_debate_whose_turns_hold_data_of_another_version_can_still_be_read(path: Path, status: Status) -> None:
    record, turns, _ = read(path)
    changed = tuple(replace(turn, data={"once": "otherwise"}) for turn in turns)
    read_now = Reading(StoredDebate(replace(record, status=status), changed), load()[record.format])
    assert [event.content for event in read_now.events] == [turn.content for turn in turns]
    positions = [event.position for section in read_now.sections for event in section.turns]
    assert sorted(positions) == list(range(len(turns)))
    assert set(read_now.titles) >= {turn.seat for turn in turns}
    assert read_now.headline
    assert read_now.question is None
    assert list(read_now.points)
    assert read_now.document is None or record.topic in read_now.document


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_debate_from_before_its_format_had_its_seats_can_be_read_and_says_why_it_cannot_go_on(path: Path) -> None:
    record, turns, _ = read(path)
    format = of_record(load(), record)
    read_now = Reading(StoredDebate(replace(record, status=Status.STOPPED, seats={}), turns), format)
    assert [event.content for event in read_now.events] == [turn.content for turn in turns]
    assert read_now.upcoming == ()
    with pytest.raises(ScriptChanged, match=r"its format asks for the seat '\w+', which the debate was stored without"):
        next_steps(replace(record, seats={}), turns, format)


async def calls_to_read_a_panel(rounds: int) -> int:
    """How many functions are called to read a panel of so many rounds, be the machine fast or slow."""
    app = scripted_app(ScriptedModel(Panelists()))
    record = await app.create("panel", "Cats?", {"max_rounds": rounds, "checkpoints": False})
    await app.run(record.id, lambda event: None)
    stored = await app.load(record.id)
    assert max(turn.round or 0 for turn in stored.turns) == rounds
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        assert len(app.reading(stored).events) == len(stored.turns)
    finally:
        sys.setprofile(None)
    return calls


async def test_reading_a_debate_twice_as_long_is_no_more_than_twice_the_work() -> None:
    short, long = [await calls_to_read_a_panel(rounds) for rounds in (12, 24)]
    assert long < 2.2 * short


async def test_claims_are_shown_in_words_and_not_in_marks_of_markdown() -> None:
    panelists = Panelists(opening="**Use `Redis` now.** It is fast.", notes="no JSON")
    stage = Stage(panelists, format=load()["panel"], settings={"ledger": "end"})
    await stage.run()
    stored = await stage.store.load(ID)
    ledger = Reading(stored, stage.format).ledger
    assert ledger
    assert {claim.text for claim in ledger.claims if claim.turn < 4} == {"Use Redis now."}
    assert unmarked("It is _fast_, and 2 * 3 * snake_case stay.") == "It is fast, and 2 * 3 * snake_case stay."
