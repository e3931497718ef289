"""What each seat of a critique is asked, what is told while it runs, how it fails, and what can be set.

The files in tests/snapshots/critique/ hold every kind of request. To change a prompt, write it, run

    REWRITE_SNAPSHOTS=1 uv run pytest tests/formats/test_critique_document.py

and read the difference that git shows.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from critics import ANSWER, PROPOSAL, REVIEW, TEMPLATES, TOPIC, Critics, Library, asked, critique, fine, issue, staged

from moot.core.debate import Status
from moot.core.engine import RunResult
from moot.core.events import DebateFailed, DebateFinished, RoundStarted, TurnChunk, TurnFinished, TurnStarted
from moot.core.trace import trace
from moot.errors import ModelTimeout, NotFound, UnknownModel
from moot.formats.critique.format import CRITIQUE
from stage import ID, Stage

ONE = {"min_rounds": 1, "max_rounds": 1}
THREE = {"min_rounds": 3, "max_rounds": 3}


def rounds_of(stage: Stage) -> list[int]:
    return [event.round for event in stage.events if isinstance(event, RoundStarted)]


def finished(stage: Stage, kind: str) -> list[TurnFinished]:
    return [event for event in stage.events if isinstance(event, TurnFinished) and event.kind == kind]


def failure(stage: Stage) -> tuple[str, str, int | None]:
    event = stage.events[-1]
    assert isinstance(event, DebateFailed)
    return event.code, event.error, event.round


SNAPSHOTS = Path(__file__).parent.parent / "snapshots" / "critique"


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "proposal"), (1, "critique"), (2, "defence"), (5, "last_critique"), (6, "answer")],
)
async def test_the_requests_of_a_critique_are_those_of_the_snapshots(number: int, name: str) -> None:
    gaps = [issue(), issue("Which terms?", "major", "")]
    stage = staged(Critics([critique(*gaps), critique(upheld=[2])], [PROPOSAL, "Issue 1: because q² = 2r²."]), THREE)
    await stage.run()
    messages = stage.model.requests[number].messages
    text = "".join(f"──── {message.role} ────\n{message.content}\n" for message in messages)
    file = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("REWRITE_SNAPSHOTS"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


# What the proposer is asked


async def test_the_proposer_is_told_who_it_is_the_question_and_the_templates() -> None:
    stage = staged(settings=ONE)
    await stage.run()
    (prompt,) = asked(stage, "Proposer")
    assert "You are the Proposer." in prompt
    assert prompt.endswith(f"Answer this question:\n<topic>\n{TOPIC}\n</topic>")
    assert "Take the template that fits the question best" in prompt


async def test_each_template_stands_in_a_section_of_its_own() -> None:
    stage = staged(settings=ONE)
    await stage.run()
    (prompt,) = asked(stage, "Proposer")
    assert re.findall(r"^### Template: (.*)\n<source>\n((?s:.)*?)\n</source>$", prompt, re.MULTILINE) == [
        (template["title"], template["text"]) for template in TEMPLATES if isinstance(template, dict)
    ]


async def test_in_a_later_round_the_proposer_reads_the_critique_and_is_told_to_defend_its_answer() -> None:
    stage = staged(settings={"max_rounds": 2})
    await stage.run()
    first, second = asked(stage, "Proposer")
    said = f'<turn by="Proposer" round="1">\n{PROPOSAL}\n</turn>\n\n<turn by="Skeptic" round="1">\n{REVIEW}\n</turn>'
    assert said in second
    assert (
        "Issue 1 (critical): Why is q even? “so is q”\n</turn>\nDefend your answer: reply to every one of them"
        in second
    )
    assert "<turn by=" not in first
    assert "Defend" not in first


# What the skeptic is asked


async def test_the_skeptic_is_told_who_it_is_and_reads_the_proposal_and_all_that_came_before() -> None:
    proposals = ["The first proposal.", "The second proposal."]
    stage = staged(Critics(proposals=proposals), {"max_rounds": 2})
    await stage.run()
    second = asked(stage, "Skeptic")[1]
    assert re.findall(r'<turn by="(\w+)" round="(\d)">\n(.*)\n</turn>', second) == [
        ("Proposer", "1", "The first proposal."),
        ("Skeptic", "1", REVIEW),
        ("Proposer", "2", "The second proposal."),
    ]
    assert "You are the Skeptic." in second


async def test_the_skeptic_knows_which_round_of_how_many_it_is() -> None:
    stage = staged()
    await stage.run()
    known = [re.findall(r"This is round (\d) of (\d)\. Criticise", prompt) for prompt in asked(stage, "Skeptic")]
    assert known == [[(str(round), "5")] for round in range(1, 6)]


async def test_the_skeptic_is_told_to_press_harder_from_round_to_round() -> None:
    stage = staged(settings={"max_rounds": 6})
    await stage.run()
    told = ("Look for what matters most:", "Press harder than before:", "Be severe:", "Be merciless:")
    found = [[line for line in told if line in prompt] for prompt in asked(stage, "Skeptic")]
    assert found == [[told[0]], [told[1]], [told[2]], [told[3]], [told[3]], [told[3]]]
    last = ["It is the last round" in prompt for prompt in asked(stage, "Skeptic")]
    assert last == [False, False, False, False, False, True]


# What the synthesizer is asked


async def test_the_synthesizer_reads_the_whole_debate() -> None:
    stage = staged(Critics(proposals=["One.", "Two."]), {"max_rounds": 2})
    await stage.run()
    (prompt,) = asked(stage, "Synthesizer")
    assert re.findall(r'<turn by="(\w+)" round="(\d)">\n(.*)\n</turn>', prompt) == [
        ("Proposer", "1", "One."),
        ("Skeptic", "1", REVIEW),
        ("Proposer", "2", "Two."),
        ("Skeptic", "2", REVIEW),
    ]


async def test_the_synthesizer_is_to_write_a_polished_final_answer_that_hides_nothing_left_open() -> None:
    stage = staged(settings=ONE)
    await stage.run()
    (prompt,) = asked(stage, "Synthesizer")
    assert "Write the final answer from the whole debate" in prompt
    assert "a polished answer that stands by itself" in prompt
    assert "Issue 1 (critical): Why is q even?\n</turn>\nDo not hide them:" in prompt


# What is told while it runs


async def test_the_first_turn_told_is_the_retrieval_with_its_templates() -> None:
    stage = staged(settings=ONE)
    await stage.run()
    assert stage.types()[:4] == ["debate_started", "turn_started", "turn_finished", "round_started"]
    (event,) = finished(stage, "templates")
    assert (event.seat, event.title, event.data) == (
        "library",
        "Library",
        {"templates": TEMPLATES, "embedder": "words"},
    )


async def test_as_many_rounds_are_played_as_the_limit_says() -> None:
    stage = staged(settings=THREE)
    ending = await stage.run()
    assert (ending.stop_reason, rounds_of(stage)) == ("max_rounds", [1, 2, 3])
    assert await stage.order() == [
        ("library", "templates", None),
        *((seat, kind, n) for n in (1, 2, 3) for seat, kind in (("proposer", "proposal"), ("skeptic", "critique"))),
        ("synthesizer", "answer", None),
    ]


async def test_the_proposer_s_words_are_told_one_by_one_as_they_arrive() -> None:
    stage = staged(Critics(proposals=["Hello wide World"]), ONE)
    await stage.run()
    chunks = [event for event in stage.events if isinstance(event, TurnChunk) and event.kind == "proposal"]
    assert [(event.round, event.offset, event.text) for event in chunks] == [
        (1, 0, "Hello "),
        (1, 6, "wide "),
        (1, 11, "World"),
    ]
    assert len({event.at for event in chunks}) == 3


async def test_the_skeptic_s_form_is_told_as_readable_text() -> None:
    stage = staged(settings=ONE)
    await stage.run()
    chunks = [event for event in stage.events if isinstance(event, TurnChunk) and event.kind == "critique"]
    assert len(chunks) > 3
    assert "".join(event.text for event in chunks) == REVIEW


async def test_a_finished_proposal_is_told_with_its_duration() -> None:
    stage = staged(settings=ONE)
    await stage.run()
    (event,) = finished(stage, "proposal")
    assert (event.content, event.duration_ms) == (PROPOSAL, 1000 * len(PROPOSAL.split()))


async def test_a_finished_critique_is_told_with_its_duration() -> None:
    stage = staged(settings=ONE)
    await stage.run()
    (event,) = finished(stage, "critique")
    assert (event.content, event.duration_ms) == (REVIEW, 1000 * len(critique().split()))


async def test_a_ready_signal_in_the_first_round_ends_a_debate_that_needs_only_one() -> None:
    stage = staged(Critics([fine()]), {"min_rounds": 1, "max_rounds": 3})
    ending = await stage.run()
    assert (ending.stop_reason, rounds_of(stage)) == ("ready", [1])


async def test_a_ready_signal_before_the_least_number_of_rounds_ends_nothing() -> None:
    stage = staged(Critics([fine()]), {"min_rounds": 3, "max_rounds": 5})
    ending = await stage.run()
    assert (ending.stop_reason, rounds_of(stage)) == ("ready", [1, 2, 3])


async def test_the_final_answer_is_written_after_the_rounds_and_told_as_it_arrives() -> None:
    stage = staged(settings=ONE)
    await stage.run()
    told = [event for event in stage.events if getattr(event, "kind", "") == "answer"]
    assert [type(event) for event in told] == [TurnStarted, *[TurnChunk] * len(ANSWER.split()), TurnFinished]
    (event,) = finished(stage, "answer")
    assert (event.content, event.duration_ms) == (ANSWER, 1000 * len(ANSWER.split()))


async def test_the_trace_is_kept_when_the_debate_is_finished() -> None:
    stage = staged(settings=ONE)
    await stage.run()
    record, turns, *_ = await stage.store.load(ID)
    event = stage.events[-1]
    assert isinstance(event, DebateFinished)
    assert (record.status, event.trace) == (Status.FINISHED, trace(record, turns))


async def test_the_last_event_carries_the_whole_trace() -> None:
    stage = staged(settings=ONE)
    await stage.run()
    event = stage.events[-1]
    assert isinstance(event, DebateFinished)
    whole = event.trace
    assert (whole["id"], whole["query"], whole["final_answer"], whole["total_rounds"]) == (ID, TOPIC, ANSWER, 1)
    models = dict.fromkeys(("proposer", "skeptic", "synthesizer"), "scripted:model")
    assert whole["models"] == {**models, "embedding": "words"}
    assert whole["templates_used"] == [
        {"name": "proof-by-contradiction", "title": "Proof by contradiction", "score": 0.9},
        {"name": "induction", "title": "Induction", "score": 0.4},
    ]
    assert whole["auto_score"] == 2
    kept = whole["turns"]
    assert isinstance(kept, list)
    assert [turn["kind"] for turn in kept if isinstance(turn, dict)] == ["templates", "proposal", "critique", "answer"]


async def test_retrieval_rounds_and_final_answer_are_timed() -> None:
    stage = staged(settings={"max_rounds": 2})
    await stage.run()
    event = stage.events[-1]
    assert isinstance(event, DebateFinished)
    round_ms = 1000 * len(PROPOSAL.split()) + 1000 * len(critique().split())
    answer_ms = 1000 * len(ANSWER.split())
    assert event.trace["timing"] == {
        "total_ms": 2 * round_ms + answer_ms,
        "rounds_ms": [round_ms, round_ms],
        "kinds_ms": {"templates": 0, "answer": answer_ms},
        "rag_ms": 0,
        "synthesis_ms": answer_ms,
    }


@pytest.mark.parametrize(
    ("replies", "rounds", "early"),
    [(Critics([fine()]), 2, True), (Critics([critique()]), 2, False), (Critics([fine()]), 1, False)],
    ids=["ready with a round left", "all rounds used", "ready in the last round"],
)
async def test_a_debate_was_stopped_early_only_if_rounds_were_left(replies: Critics, rounds: int, early: bool) -> None:
    stage = staged(replies, {"min_rounds": 1, "max_rounds": rounds})
    ending = await stage.run()
    event = stage.events[-1]
    assert isinstance(event, DebateFinished)
    assert ending.outcome
    assert (ending.outcome["early_stopped"], event.trace["early_stopped"]) == (early, early)


# How it fails


async def test_a_model_that_is_too_slow_twice_ends_the_debate_with_an_error_that_names_its_round() -> None:
    fault = ModelTimeout("scripted:model sent nothing for 120 s", partial="Suppose it")
    stage = staged(settings=ONE, faults={1: fault, 2: fault})
    ending = await stage.run()
    assert ending == RunResult(Status.FAILED, "failed", error="scripted:model sent nothing for 120 s")
    assert failure(stage) == ("model_timeout", "scripted:model sent nothing for 120 s", 1)
    kept = [(failure.kind, failure.round, failure.partial) for failure in await stage.failures()]
    assert kept == [("proposal", 1, "Suppose it")] * 2


async def test_a_model_that_is_not_there_ends_the_debate_with_an_error_that_says_what_to_do() -> None:
    stage = staged(settings=ONE, faults={2: UnknownModel("no model 'm': pull it with `ollama pull m`")})
    await stage.run()
    assert failure(stage) == ("unknown_model", "no model 'm': pull it with `ollama pull m`", 1)


async def test_a_retrieval_that_fails_ends_a_debate_that_is_strict_about_it() -> None:
    stage = staged(settings={"strict_retrieval": True}, library=Library(NotFound("no embedder at 127.0.0.1:9")))
    await stage.run()
    assert failure(stage) == ("not_found", "no embedder at 127.0.0.1:9", None)
    assert stage.model.requests == []


async def test_a_retrieval_that_fails_leaves_any_other_debate_without_templates() -> None:
    stage = staged(settings=ONE, library=Library(NotFound("no embedder at 127.0.0.1:9")))
    ending = await stage.run()
    assert ending.outcome
    assert ending.outcome["templates"] == {}
    assert ending.outcome["caveats"] == [
        "no reasoning templates could be retrieved: the proposer worked without them",
        "1 critical issue stayed open",
        "one model, scripted:model, spoke in every seat",
    ]
    assert all("emplate" not in prompt for prompt in asked(stage, "Proposer"))


async def test_a_proposer_that_fails_ends_the_run_and_the_next_run_goes_on_from_there() -> None:
    whole, broken = staged(settings={"max_rounds": 2}), staged(settings={"max_rounds": 2})
    broken.model._faults = {3: UnknownModel("gone")}
    await whole.run()
    await broken.run()
    assert failure(broken) == ("unknown_model", "gone", 2)
    assert [turn.kind for turn in await broken.turns()] == ["templates", "proposal", "critique"]
    assert (await broken.run()).status is Status.FINISHED
    assert await broken.transcript() == await whole.transcript()


# What can be set


async def test_each_seat_uses_the_model_it_was_given() -> None:
    models = {"proposer": "x:one", "skeptic": "x:two", "synthesizer": "x:three"}
    stage = staged(settings=ONE, models=models)
    await stage.run()
    assert [request.model for request in stage.model.requests] == ["one", "two", "three"]
    assert {turn.seat: turn.model for turn in (await stage.turns())[1:]} == models


async def test_each_seat_uses_its_temperature() -> None:
    stage = staged(settings=ONE)
    await stage.run()
    assert [request.temperature for request in stage.model.requests] == [0.7, 0.8, 0.5]
    warmer = staged(settings={**ONE, "temperatures": {"proposer": 1.0, "synthesizer": 0.1}})
    await warmer.run()
    assert [request.temperature for request in warmer.model.requests] == [1.0, 0.8, 0.1]


async def test_the_library_is_asked_for_as_many_templates_as_wanted_and_not_at_all_for_none() -> None:
    library = Library()
    await staged(settings={**ONE, "rag_top_k": 7}, library=library).run()
    assert [dict(step.variables) for step in library.asked] == [{"query": TOPIC, "top_k": 7, "strict": False}]
    none = staged(settings={**ONE, "rag_top_k": 0})
    await none.run()
    assert [turn.kind for turn in await none.turns()] == ["proposal", "critique", "answer"]


def test_the_seats_prefer_models_that_suit_them() -> None:
    assert {seat.name: (seat.prefers, seat.temperature) for seat in CRITIQUE.seats if seat.player == "model"} == {
        "proposer": ("large", 0.7),
        "skeptic": ("large_of_another_family", 0.8),
        "synthesizer": ("large", 0.5),
    }


async def test_issues_without_a_critical_one_end_the_debate_after_the_least_number_of_rounds() -> None:
    stage = staged(Critics([critique(issue(severity="major"))]), {"min_rounds": 2})
    ending = await stage.run()
    assert (ending.stop_reason, rounds_of(stage)) == ("no_critical_issues", [1, 2])
