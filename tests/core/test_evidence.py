"""Passages of long sources, handed to whoever speaks in any format, in turns of the library's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from moot import formats
from moot.core.coverage import handed_out
from moot.core.debate import Outcome, SeatSettings, Settings, Step, Turn
from moot.core.estimate import estimate
from moot.core.events import TurnFinished
from moot.core.evidence import queries
from moot.core.format import AnyFormat
from moot.core.prompts import Prompts
from moot.core.script import Debate
from moot.core.trust import Coverage
from moot.formats.duel.format import DUEL
from moot.llm.client import Request
from moot.sources.passages import LONGEST
from stage import Stage, ballot, sensible

SOURCE = {"name": "manual", "text": "Cats sleep all day long in the sun, says everybody. " + "More of it. " * 100}
LONG = {"sources": [SOURCE], "whole_sources": 200}
BEGINNING = SOURCE["text"][:60]
HANDED = f'<source tag="S1">\n{BEGINNING}\n</source>'


async def told(format: AnyFormat, replies: Callable[[Request], str] = sensible, **settings: Any) -> Stage:
    stage = Stage(replies, format=format, settings={**format.unattended, **LONG, **settings})
    await stage.run()
    return stage


def last(request: Request) -> str:
    return request.messages[-1].content


@pytest.mark.parametrize("format", formats.built_in(), ids=lambda each: each.name)
async def test_whoever_speaks_in_any_format_is_handed_passages_of_long_sources(format: AnyFormat) -> None:
    stage = await told(format, max_rounds=2)
    assert any(step.kind == "evidence" for step in stage.library.asked)
    assert any(HANDED in last(request) for request in stage.model.requests)
    assert not any(SOURCE["text"] in "".join(part.content for part in each.messages) for each in stage.model.requests)


async def test_each_debater_of_a_duel_is_searched_for_before_each_speech_and_never_gets_the_same_again() -> None:
    stage = await told(DUEL, max_rounds=2)
    one = [("library", "evidence"), ("debater_a", "argument"), ("library", "evidence"), ("debater_b", "argument")]
    assert [(seat, kind) for seat, kind, _ in await stage.order()] == [*one, *one, ("judge", "verdict")]
    had: list[Any] = [step.variables["had"] for step in stage.library.asked]
    assert had == [{"debater_a": []}, {"debater_b": []}, {"debater_a": ["S1:0"]}, {"debater_b": ["S1:0"]}]


async def test_the_judge_sees_the_passages_that_were_quoted_or_named() -> None:
    said = ballot()
    quoting = await told(
        DUEL, lambda each: said if each.schema else 'As "Cats sleep all day long in the sun" [S1] has it.', max_rounds=1
    )
    assert "What was cited from the sources." in last(quoting.model.requests[-1])
    assert HANDED in last(quoting.model.requests[-1])
    silent = await told(DUEL, lambda each: said if each.schema else "Cats it is.", max_rounds=1)
    assert "<source" not in last(silent.model.requests[-1])


async def test_topics_that_are_argued_side_by_side_have_a_search_each() -> None:
    stage = await told(next(each for each in formats.built_in() if each.name == "evaluation"))
    speeches = [step for step in stage.library.asked if step.round is not None]
    assert [step.round for step in speeches[:3]] == [1, 2, 3]
    assert all(len(step.variables["queries"]) == 1 for step in speeches)  # type: ignore[arg-type]


async def test_a_debate_that_dies_at_any_event_comes_to_the_same_passages() -> None:
    whole = await told(DUEL, max_rounds=1)
    number = 1
    while True:
        stage = Stage(sensible, settings={**LONG, "max_rounds": 1})
        if not await stage.die_at_event(number):
            break
        await stage.run()
        assert await stage.transcript() == await whole.transcript()
        number += 7
    assert number > 8


def turn(position: int, seat: str, content: str, **more: Any) -> Turn:
    return Turn(position=position, seat=seat, kind="speech", round=1, content=content, **more)


def debate(*turns: Turn) -> Debate[Settings]:
    seats = {name: SeatSettings("m", 0, 100) for name in ("a", "b", "host")}
    return Debate("DEB-1", "Cats or dogs?", Settings(), seats, list(turns))


def test_a_seat_looks_for_what_its_format_says_else_for_the_topic() -> None:
    assert queries(debate(), Step("a", "speech")) == ["Cats or dogs?"]
    assert queries(debate(), Step("a", "speech", looks_for=("sleep", "play"))) == ["sleep", "play"]


def test_a_seat_looks_for_what_it_was_asked_by_name() -> None:
    said = turn(0, "host", "I want costs from Treasury, and the number of lessons from Schools. Treasury: the loan?")
    names = {"a": "Treasury", "b": "Schools", "host": "Host"}
    step = Step("a", "speech", aliases=names, looks_for=("budget",))
    assert queries(debate(said), step) == ["budget", "and the number of lessons from", "the loan?"]


def test_a_seat_looks_for_the_sentences_of_the_last_speech_and_for_what_it_said_it_wants() -> None:
    own = turn(0, "a", "Mine.", data={"looking_for": ["the survey"]})
    other = turn(1, "b", "Short one. This is the longer sentence of both.")
    assert queries(debate(own, other), Step("a", "speech")) == [
        "Cats or dogs?",
        "the survey",
        "This is the longer sentence of both.",
        "Short one.",
    ]


def test_a_seat_looks_for_what_a_person_said_and_not_for_what_it_may_not_read() -> None:
    heard, hidden = turn(0, "human", "Mind the cost."), turn(1, "b", "Nobody reads this.")
    step = Step("a", "speech", visible=frozenset())
    assert queries(debate(heard, hidden), step) == ["Cats or dogs?", "Mind the cost."]


def test_an_estimate_knows_the_passages_also_those_that_the_judge_will_see() -> None:
    def tokens(**settings: Any) -> int:
        stage = Stage(format=DUEL, settings={"max_rounds": 1, **settings})
        return estimate(stage.new, DUEL, Prompts(), lambda model, usage: 0.0).most.input_tokens

    assert tokens(**LONG) - tokens() > (2 + 2) * LONGEST / 5


# What readers are told


async def ended(format: AnyFormat, speech: str, total: int = 9, **settings: Any) -> tuple[Stage, Outcome]:
    said = ballot()
    stage = Stage(lambda each: said if each.schema else speech, format=format, settings={**LONG, **settings})
    stage.library.total = total
    await stage.run()
    return stage, format.outcome.model_validate((await stage.record()).outcome)


async def test_an_outcome_says_how_much_of_long_sources_was_read_and_which() -> None:
    stage, outcome = await ended(DUEL, "Cats it is.", max_rounds=1)
    assert outcome.coverage == Coverage(read=1, total=9, passages=["S1"])
    assert outcome.caveats[0] == "1 of 9 passages of the sources were read: S1"
    notes = [event.notes for event in stage.events if isinstance(event, TurnFinished) and event.kind == "evidence"]
    assert notes == [("Debater A: S1",), ("Debater B: S1",)]


def test_the_pages_that_were_read_are_told_together() -> None:
    found = [{"id": f"S1:{page}", "cited": f"S1 p. {page}", "text": "words"} for page in (9, 3, 4, 5, 12)]
    found += [
        {"id": "S2:0", "cited": "S2 § Costs", "text": "words"},
        {"id": "S2:9", "cited": "S2 § Costs", "text": "x"},
    ]
    given = Turn(position=0, seat="library", kind="evidence", round=1, content="", data={"evidence": {"a": found}})  # type: ignore[dict-item]
    assert [*handed_out(debate(given), given, str.upper)] == ["A: S1 p. 3–5, 9, 12; S2 § Costs"]


async def test_a_verdict_that_rests_on_sources_mostly_unread_is_trusted_little() -> None:
    _, unread = await ended(DUEL, "Cats it is.", max_rounds=1)
    assert unread.trust
    assert (unread.trust.level, unread.trust.reasons[0]) == ("Low", "most of the sources was read by nobody")
    _, read = await ended(DUEL, "Cats it is.", total=2, max_rounds=1)
    assert read.trust is None or "most of the sources was read by nobody" not in read.trust.reasons


async def test_a_false_quote_is_marked_below_its_turn_told_to_whoever_speaks_next_and_in_the_outcome() -> None:
    false = 'As the manual has it, "cats never sleep in the sun at all" [S1].'
    stage, outcome = await ended(DUEL, false, sources=[SOURCE], whole_sources=60_000, max_rounds=1)
    spoken = [event for event in stage.events if isinstance(event, TurnFinished) and event.kind == "argument"]
    assert spoken[0].notes == (
        "0 of 1 quotes stand in their source word for word",
        "not found: “cats never sleep in the sun at all” [S1]",
    )
    first, second, judge = map(last, stage.model.requests)
    assert "False quotes" not in first
    assert all(
        " quotes “cats never sleep in the sun at all” from S1, which does not say so." in at for at in (second, judge)
    )
    assert outcome.caveats[0] == "Debater A quotes “cats never sleep in the sun at all” from S1, which does not say so."
    assert outcome.coverage is None
