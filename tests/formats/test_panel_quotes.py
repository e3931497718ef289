"""False quotes on a panel: everybody is told of them, and no decision rests on them unmarked.

The words in tests/strong are those of a strong model that tried to fool the checks.
"""

from __future__ import annotations

import cProfile
import json
from pathlib import Path
from typing import Any, Literal

import pytest

from moot.core.debate import HumanReply, Step, Turn
from moot.core.quoting import quotes_of
from moot.core.script import Debate
from moot.formats.panel.decision import Decision
from moot.formats.panel.format import PANEL
from moot.formats.panel.settings import PanelSettings
from stage import CLEAR, FAST, Call, Panelists, Stage

STRONG = Path(__file__).parent.parent / "strong"
TOPIC = "Should we use Redis or PostgreSQL for caching?"
SOURCE = {"name": "caching-numbers.md", "text": (STRONG / "caching-numbers.md").read_text("utf-8")}
SETTINGS: dict[str, Any] = {"checkpoints": False, "max_rounds": 2, "perspectives": [FAST, CLEAR], "sources": [SOURCE]}
FALSE = "Redis handled 100,000 requests per second without a single error"


def spoken(name: str) -> Panelists:
    """The same words in every round, by seat."""
    said: dict[str, list[Any]] = json.loads((STRONG / f"{name}.json").read_text("utf-8"))

    def by_seat(call: Call) -> Any:
        return said[call.kind][[FAST, CLEAR].index(call.name)]

    others = {kind: said[kind][0] for kind in ("analysis", "summary", "evaluation", "synthesis")}
    return Panelists(**others, opening=by_seat, rebuttal=by_seat)


async def played(panelists: Panelists, **settings: Any) -> tuple[Stage, Decision]:
    stage = Stage(panelists, format=PANEL, topic=TOPIC, settings={**SETTINGS, **settings})
    return stage, Decision.model_validate((await stage.run()).outcome)


async def test_opposite_recommendations_and_invented_figures_reach_neither_agreement_nor_confidence() -> None:
    stage, outcome = await played(spoken("panel-false-quotes"))
    assert outcome.ended == "max_rounds"  # it was "quick_agreement"
    assert outcome.confidence == "Low"
    assert f"it rests on a quote of {FAST} that does not stand in its source" in outcome.reasons
    assert "a revision without the quote" in outcome.lifts
    assert outcome.dissent.startswith(f"{FAST}: ")  # there was none
    marked = {argument.text: argument.barred for view in outcome.perspectives for argument in view.key_arguments}
    assert marked[FALSE]
    assert not any(barred for text, barred in marked.items() if "100,000" not in text)
    record, turns = await stage.record(), await stage.turns()
    document = outcome.document(record, turns)
    assert "(rests on a quote that does not stand in its source)" in document
    assert f"{FAST} quotes “{FALSE}” from S1, which does not say so." in document
    assert "and there is no such source." in document


async def test_a_false_quote_is_told_to_every_seat_from_the_next_speech_on_and_in_every_round() -> None:
    panelists = spoken("panel-false-quotes")
    await played(panelists)
    told = f"{FAST} quotes “{FALSE}” from S1, which does not say so."
    heard = [(kind, told in request.messages[-1].content) for (kind, _), request in _calls(panelists)]
    assert heard[:4] == [("analysis", False), ("summary", False), ("opening", False), ("opening", False)]
    assert {told for _, told in heard[4:]} == {True}


def _calls(panelists: Panelists) -> Any:
    return zip(panelists.calls, panelists.requests, strict=True)


async def test_the_words_of_a_quick_agreement_without_declared_positions_are_no_agreement() -> None:
    _, outcome = await played(spoken("panel-quick-agreement"))
    assert (outcome.ended, outcome.confidence) == ("repetition" if len(outcome.rounds) > 2 else "max_rounds", "Low")


TRUE = "A managed Redis with one replica (2 × 1.5 GB) costs 148 euros a month"


@pytest.mark.parametrize(
    ("quote", "costs"),
    [(TRUE, False), (TRUE.replace("×", "x"), False), (TRUE.replace("148", "14"), True)],
    ids=["as it stands", "a slip of typography", "another figure"],
)
async def test_only_a_false_quote_costs_confidence(quote: str, costs: bool) -> None:
    declared = {"recommendation": "Redis.", "agrees_with": [FAST, CLEAR]}
    panelists = Panelists(
        opening=f'It is cheap: "{quote}" [S1].',
        rebuttal={"content": "So it is.", **declared},
        evaluation={"summary": "Done.", "state": "converging", "decision": "conclude"},
    )
    _, outcome = await played(panelists)
    assert any("quoted what does not stand" in reason for reason in outcome.reasons) == costs


async def test_a_figure_in_the_decision_counts_by_what_it_is_worth() -> None:
    synthesis = {"recommendation": "Use Redis, it holds 4.6 million entries."}
    _, outcome = await played(Panelists(opening="It holds 4,600,000 entries.", synthesis=synthesis))
    assert not [reason for reason in outcome.reasons if "figure" in reason]


async def test_a_figure_in_the_decision_that_nobody_said_is_named_and_leaves_low_confidence() -> None:
    synthesis = {"recommendation": "Use Redis, it serves 77,000 requests.", "lead": "It costs 148 euros."}
    _, outcome = await played(Panelists(synthesis=synthesis))
    assert "a figure in it was said by nobody and stands in no source: 77,000" in outcome.reasons
    assert outcome.confidence == "Low"


@pytest.mark.parametrize(
    ("action", "asked"), [("guide", "Revise the decision record"), ("reject", "rejected your decision record")]
)
async def test_a_revision_sees_the_whole_record_before_it_and_what_the_person_wants(
    action: Literal["guide", "reject"], asked: str
) -> None:
    said = iter([HumanReply(action, "Mind the cost."), HumanReply("approve")])

    def person(step: Step) -> HumanReply:
        return next(said) if step.kind == "approval" else HumanReply("continue")

    panelists = Panelists(
        synthesis={"recommendation": "Use Redis.", "tasks": ["Order a server."], "lead": "It is fast."}
    )
    stage = Stage(panelists, format=PANEL, topic=TOPIC, settings={"max_rounds": 1}, person=person)
    outcome = Decision.model_validate((await stage.run()).outcome)
    first, second = [request for (kind, _), request in _calls(panelists) if kind == "synthesis"]
    assert "Order a server." not in first.messages[-1].content
    assert asked in second.messages[-1].content
    assert '"tasks": [\n  "Order a server."\n ]' in second.messages[-1].content
    assert "Mind the cost." in "".join(message.content for message in second.messages)
    assert [(each.round, each.text) for each in outcome.told] == [(1, "Mind the cost.")]
    assert outcome.approved


def quoting(turns: int, what: str = "of item") -> Debate[PanelSettings]:
    """Everybody quotes without a tag what was said in the turn before, and what nobody said."""
    said = [
        f'A says the price {what} {at} rises in spring. "The price {what} {at - 1} rises in spring" is '
        f'right, "and nobody ever said word {at} of this" is not.'
        for at in range(turns)
    ]
    made = [Turn(position=at, seat="debater_1", kind="opening", round=1, content=text) for at, text in enumerate(said)]
    return Debate("DEB-x", TOPIC, PanelSettings.model_validate(SETTINGS), {}, made)


def test_what_somebody_said_before_is_quoted_and_what_nobody_said_is_not() -> None:
    debate = quoting(40)
    found = [[quote.quote for quote in quotes_of(debate, turn)] for turn in debate.transcript]
    assert found[0] == ["The price of item -1 rises in spring", "and nobody ever said word 0 of this"]
    assert found[1:] == [[f"and nobody ever said word {at} of this"] for at in range(1, 40)]


def test_twice_the_turns_with_quotes_are_twice_the_work() -> None:
    def calls(turns: int) -> int:
        debate = quoting(turns, what=f"of {turns} items")
        profile = cProfile.Profile()
        profile.runcall(lambda: [quotes_of(debate, turn) for turn in debate.transcript])
        return sum(entry.callcount for entry in profile.getstats())

    few, many = [calls(turns) for turns in (100, 200)]
    assert many < 2.2 * few
