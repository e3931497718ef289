"""People in the loop: what a debate asks them, what they say unasked, when it is heard, and that none of it is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from moot.app import App
from moot.app.replies import Replied
from moot.core.debate import Action, HumanReply, Question, Status, Step, Turn
from moot.core.engine import RunResult
from moot.core.events import Event, LimitReached, TurnFinished, Waiting
from moot.core.format import AnyFormat
from moot.core.workflows import WorkflowSettings
from moot.errors import InvalidInput, NotFound, WrongStatus
from moot.formats.duel.format import DUEL
from moot.formats.panel.decision import Decision
from moot.formats.panel.format import PANEL
from moot.formats.panel.steps import MAX_REVISIONS
from moot.llm.client import Request
from moot.records.documents import Place
from moot.store.sqlite import open_sqlite
from moot.store.store import Store
from moot.testing import MemoryStore, ScriptedModel, scripted_app
from stage import ID, Between, Killed, Panelists, Stage, decisions, kill_at, sensible, silent, usual

TOPIC = "Should we use Redis or PostgreSQL for caching?"
REMARK = ("human", "remark", None)
WORDS = "Mind our experience with PostgreSQL."
TOLD = f'<turn by="the person who asked">\n{WORDS}\n</turn>'
TWO = {"max_rounds": 2}
CHECKPOINT = 7
"""The position of the first checkpoint: analysis, summary, two openings, two rebuttals, evaluation come before."""


def ignore(event: Event) -> None:
    """Nobody watches."""


def text(request: Request) -> str:
    return "\n".join(message.content for message in request.messages)


def hears(model: Any) -> list[bool]:
    """Which of the requests tell what the person said."""
    return [WORDS in text(request) for request in model.requests]


class Asking:
    """An app with a panel that has come to its first checkpoint."""

    def __init__(self, app: App, model: ScriptedModel, debate_id: str) -> None:
        self.app, self.model, self.id = app, model, debate_id

    @classmethod
    async def at_checkpoint(cls, store: Store | None = None, **settings: Any) -> Asking:
        model = ScriptedModel(Panelists())
        app = scripted_app(model, store)
        record = await app.create("panel", TOPIC, {**TWO, **settings})
        asking = cls(app, model, record.id)
        assert (await asking.run()).status is Status.WAITING
        return asking

    async def run(self) -> RunResult:
        return await self.app.run(self.id, ignore)

    async def reply(self, action: Action, text: str = "") -> HumanReply | None:
        return (await self.app.reply(self.id, action, text)).words

    async def question(self) -> Question | None:
        asked = self.app.reading(await self.app.load(self.id)).question
        return Question(asked.question, asked.actions, asked.timeout_seconds) if asked else None

    async def turns(self) -> tuple[Turn, ...]:
        return (await self.app.load(self.id)).turns

    async def human(self) -> list[tuple[int, str, int | None, str, Any]]:
        """The turns of the person."""
        return [
            (turn.position, turn.kind, turn.round, turn.content, (turn.data or {}).get("action"))
            for turn in await self.turns()
            if turn.seat == "human"
        ]


# Answers


async def test_a_checkpoint_asks_with_the_moderator_s_words_and_holds_nothing_meanwhile() -> None:
    asking = await Asking.at_checkpoint()
    record = (await asking.app.load(asking.id)).record
    assert (record.status, record.owner, record.lease_until) == (Status.WAITING, None, None)
    question = Question("New points still come up.", ("continue", "guide", "end"), 1800)
    assert await asking.question() == question
    assert len(asking.model.requests) == 7
    assert await asking.run() == RunResult(Status.WAITING, due_in=1800.0)
    assert len(asking.model.requests) == 7


async def test_continue_begins_the_next_round_and_approval_ends_the_debate() -> None:
    asking = await Asking.at_checkpoint()
    said = await asking.reply("continue")
    assert said == HumanReply("continue", "", CHECKPOINT, said.at if said else 0)
    assert await asking.run() == RunResult(Status.WAITING, due_in=1800.0)
    await asking.reply("approve")
    outcome = Decision.model_validate((await asking.run()).outcome)
    assert (outcome.approved, outcome.is_approved(), len(outcome.rounds)) == (True, True, 2)
    assert await asking.human() == [
        (7, "guidance", 1, "", "continue"),
        (15, "approval", None, "", "approve"),
    ]
    assert not any('<turn by="the person' in text(request) for request in asking.model.requests)


async def test_words_and_answers_carry_the_name_of_who_said_them_and_no_model_reads_it() -> None:
    asking = await Asking.at_checkpoint()
    await asking.app.reply(asking.id, "guide", WORDS, who=" Anna\nBerg\0" + "g" * 99)
    await asking.run()
    await asking.app.reply(asking.id, "approve", who="Bülent")
    outcome = Decision.model_validate((await asking.run()).outcome)
    name = "Anna Berg\ufffd" + "g" * 69 + "…"
    assert (outcome.approved_by, [(told.who, told.text) for told in outcome.told]) == ("Bülent", [(name, WORDS)])
    reading = await asking.app.read(asking.id)
    assert [event.title for event in reading.events if event.seat == "human"] == [name, "Bülent"]
    assert f"{WORDS} ({name}, after round 1, " in await asking.app.export(asking.id, "md")
    assert not any("Anna" in text(request) for request in asking.model.requests)


async def test_a_remark_carries_a_name_too() -> None:
    app = scripted_app(ScriptedModel(sensible))
    record = await app.create("duel", "Cats?", {"max_rounds": 1})
    await app.reply(record.id, "guide", WORDS, who="Anna")
    await app.run(record.id, ignore)
    reading = await app.read(record.id)
    assert [(event.title, event.data) for event in reading.events if event.kind == "remark"] == [
        ("Anna", {"who": "Anna"})
    ]
    assert "### Anna · remark" in await app.export(record.id, "md")


async def test_guidance_reaches_every_later_prompt_and_no_earlier_one() -> None:
    asking = await Asking.at_checkpoint()
    await asking.reply("guide", f"  {WORDS} ")
    await asking.run()
    assert hears(asking.model) == [False] * 7 + [True] * 7
    told = TOLD.replace(">", ' round="1">', 1)
    assert [text(request).count(told) for request in asking.model.requests[7:]] == [1] * 7
    assert await asking.human() == [(7, "guidance", 1, WORDS, "guide")]


async def test_ending_early_goes_to_the_synthesis_and_says_so() -> None:
    asking = await Asking.at_checkpoint()
    await asking.reply("end")
    await asking.run()
    assert [turn.kind for turn in await asking.turns()][CHECKPOINT:] == ["guidance", "synthesis"]
    await asking.reply("approve")
    ending = await asking.run()
    outcome = Decision.model_validate(ending.outcome)
    assert (ending.stop_reason, outcome.confidence) == ("concluded", "Low")
    assert outcome.reasons[0] == "the perspectives did not come to one recommendation"


async def at_approval(**settings: Any) -> Asking:
    asking = await Asking.at_checkpoint(**settings)
    await asking.reply("end")
    await asking.run()
    return asking


async def test_approval_is_asked_with_the_recommendation_and_its_confidence() -> None:
    asking = await at_approval()
    reason = "the perspectives did not come to one recommendation; one model, scripted:model, spoke in every seat"
    assert await asking.question() == Question(
        f"Use Redis. It is fast enough.\nConfidence: Low ({reason}).\nGuidance or a reason to reject it leads to a "
        "revision (3 left); rejected without a reason, it is over.",
        ("approve", "guide", "reject"),
        1800,
    )


async def test_a_decision_that_is_rejected_without_a_reason_ends_as_rejected() -> None:
    asking = await at_approval()
    await asking.reply("reject")
    outcome = Decision.model_validate((await asking.run()).outcome)
    assert (outcome.approved, outcome.remark) == (False, "")


async def test_a_reason_to_reject_a_decision_leads_to_a_revision_but_not_for_ever() -> None:
    asking = await at_approval()
    for _ in range(MAX_REVISIONS):
        await asking.reply("reject", "We have no budget.")
        assert await asking.run() == RunResult(Status.WAITING, due_in=1800.0)
    assert (await asking.question() or Question("", ())).text.endswith("\nNo revision is left: rejected, it is over.")
    await asking.reply("reject", "Still none.")
    outcome = Decision.model_validate((await asking.run()).outcome)
    assert (outcome.approved, outcome.remark) == (False, "Still none.")
    assert [each.text for each in outcome.told] == ["We have no budget."] * MAX_REVISIONS


async def test_guidance_at_the_approval_leads_to_a_revision_but_not_for_ever() -> None:
    asking = await at_approval()
    for _ in range(MAX_REVISIONS):
        await asking.reply("guide", WORDS)
        assert await asking.run() == RunResult(Status.WAITING, due_in=1800.0)
    syntheses = asking.model.requests[7:]
    assert [text(each).count(TOLD) for each in syntheses] == [0, 1, 2, 3]
    assert ["Revise the decision record" in text(each) for each in syntheses] == [False, True, True, True]
    with pytest.raises(InvalidInput) as caught:
        await asking.reply("guide", WORDS)
    assert str(caught.value) == f"{asking.id} waits for one of: approve, reject; not 'guide'"
    await asking.reply("approve")
    assert (await asking.run()).status is Status.FINISHED


@pytest.mark.parametrize(
    ("action", "words", "message"),
    [
        ("approve", "", "{id} waits for one of: continue, guide, end; not 'approve'"),
        ("answer", "Yes", "{id} waits for one of: continue, guide, end; not 'answer'"),
        ("guide", " \n", "`guide` needs a text: say what you want the debate to hear"),
        ("guide", "x" * 2001, "that text has 2001 characters; at most 2000 are allowed"),
    ],
)
async def test_an_answer_that_fits_nothing_is_refused_and_says_what_would(
    action: Action, words: str, message: str
) -> None:
    asking = await Asking.at_checkpoint()
    with pytest.raises(InvalidInput) as caught:
        await asking.reply(action, words)
    assert str(caught.value) == message.format(id=asking.id)
    assert await asking.app.store.said(asking.id) == ()


async def test_a_person_s_words_keep_nothing_that_a_database_cannot(store: Store) -> None:
    asking = await Asking.at_checkpoint(store)
    await asking.reply("guide", "NUL \0 and half \ud800 a pair")
    await asking.run()
    assert await asking.human() == [(7, "guidance", 1, "NUL \ufffd and half ? a pair", "guide")]


async def test_fifty_answers_at_once_are_one_turn(store: Store) -> None:
    asking = await Asking.at_checkpoint(store)

    async def answer(number: int) -> HumanReply | str | None:
        try:
            return await asking.reply("guide", f"Answer {number}")
        except WrongStatus as error:
            return str(error)

    results = await asyncio.gather(*map(answer, range(50)))
    late = f"this question of {asking.id} has been answered already; moot show {asking.id} tells how"
    assert results.count(late) == 49
    (taken,) = [result for result in results if isinstance(result, HumanReply)]
    assert await store.said(asking.id) == (taken,)
    await asking.run()
    assert await asking.human() == [(7, "guidance", 1, taken.text, "guide")]


async def test_a_finished_debate_hears_nothing_more() -> None:
    asking = await at_approval()
    await asking.reply("approve")
    await asking.run()
    with pytest.raises(WrongStatus) as caught:
        await asking.reply("guide", WORDS)
    assert str(caught.value) == f"{asking.id} is finished; what you say cannot be heard any more"


async def test_nobody_can_answer_a_debate_that_does_not_exist() -> None:
    app = scripted_app(ScriptedModel([]))
    for call in (app.reply("DEB-none", "continue"), app.pause("DEB-none")):
        with pytest.raises(NotFound):
            await call


async def test_an_answer_that_comes_before_the_run_has_ended_its_step_is_taken_at_once() -> None:
    model = ScriptedModel(Panelists())
    app = scripted_app(model)
    record = await app.create("panel", TOPIC, {"max_rounds": 2})
    answering: list[asyncio.Task[Replied]] = []

    def sink(event: Event) -> None:
        if isinstance(event, TurnFinished) and event.kind == "evaluation" and event.round == 1:
            answering.append(asyncio.create_task(app.reply(record.id, "guide", WORDS)))

    assert await app.run(record.id, sink) == RunResult(Status.WAITING, due_in=1800.0)
    ((_, said),) = await asyncio.gather(*answering)
    assert said is not None
    assert said.position == CHECKPOINT
    assert hears(model) == [False] * 7 + [True] * 7


class Crossing(MemoryStore):
    """A store on which the answer to the first question comes just after the debate has looked for it."""

    async def end(self, debate_id: str, run: int, ending: RunResult) -> None:
        if ending.status is Status.WAITING and run == 1:
            await self.say(debate_id, HumanReply("guide", WORDS, CHECKPOINT))
        await super().end(debate_id, run, ending)


async def test_an_answer_between_the_look_for_it_and_the_wait_is_not_lost() -> None:
    asking = await Asking.at_checkpoint(Crossing())
    assert hears(asking.model) == [False] * 7 + [True] * 7
    record = (await asking.app.load(asking.id)).record
    assert (record.status, record.run) == (Status.WAITING, 2)
    assert (await asking.question() or Question("", ())).actions == ("approve", "guide", "reject")


async def test_a_limit_is_told_once_however_often_the_debate_is_taken_up_again() -> None:
    stage = Stage(Panelists(), format=PANEL, topic=TOPIC, settings={"max_rounds": 1}, person=silent)
    for _ in range(3):
        assert await stage.run() == RunResult(Status.WAITING, due_in=1800.0)
    assert [event.reason for event in stage.events if isinstance(event, LimitReached)] == ["max_rounds"]


# Pause


async def test_a_checkpoint_nobody_answers_is_paused_and_resumed_days_later_by_another_app(tmp_path: Path) -> None:
    first = await open_sqlite(tmp_path / "moot.db")
    asking = await Asking.at_checkpoint(first, checkpoint_timeout_seconds=5)
    assert (await asking.question() or Question("", ())).timeout_seconds == 5
    paused = await asking.app.pause(asking.id)
    assert (paused.status, paused.stop_reason, paused.owner) == (Status.STOPPED, "checkpoint_timeout", None)
    assert await asking.app.pause(asking.id) == paused
    await first.close()

    second = await open_sqlite(tmp_path / "moot.db")
    model = ScriptedModel(Panelists())
    later = Asking(scripted_app(model, second), model, asking.id)
    await later.reply("guide", WORDS)
    assert await later.run() == RunResult(Status.WAITING, due_in=5.0)
    assert hears(model) == [True] * 7
    await later.reply("approve")
    assert (await later.run()).status is Status.FINISHED
    await second.close()


async def test_only_a_waiting_debate_is_paused() -> None:
    asking = await at_approval()
    await asking.reply("approve")
    await asking.run()
    record = (await asking.app.load(asking.id)).record
    assert await asking.app.pause(asking.id) == record
    assert record.status is Status.FINISHED


async def test_a_paused_debate_that_is_run_without_an_answer_asks_again() -> None:
    asking = await Asking.at_checkpoint()
    await asking.app.pause(asking.id)
    events: list[Event] = []
    assert await asking.app.run(asking.id, events.append) == RunResult(Status.WAITING, due_in=1800.0)
    assert isinstance(events[-1], Waiting)
    assert (events[-1].position, events[-1].actions) == (CHECKPOINT, ("continue", "guide", "end"))


# Remarks


def remarking(stage: Stage, at: dict[int, str]) -> Callable[[Turn], Awaitable[None]]:
    """Somebody who speaks just before the turns at these positions are stored, once."""

    async def speak(turn: Turn) -> None:
        if words := at.pop(turn.position, None):
            await stage.store.say(ID, HumanReply("guide", words))

    return speak


async def with_remarks(stage: Stage, at: dict[int, str]) -> RunResult:
    return await stage.run(Between(await stage.open(), before=remarking(stage, at)))


async def test_a_remark_in_a_duel_is_a_turn_before_the_next_step_and_every_seat_reads_it() -> None:
    stage = Stage(settings=TWO)
    await with_remarks(stage, {1: WORDS})
    order = [(seat, "argument", round) for round in (1, 2) for seat in ("debater_a", "debater_b")]
    assert await stage.order() == [*order[:2], REMARK, *order[2:], ("judge", "verdict", None)]
    assert hears(stage.model) == [False, False, True, True, True]
    assert [text(request).count(TOLD) for request in stage.model.requests[2:]] == [1, 1, 1]


async def test_a_remark_reaches_seats_of_different_models_too() -> None:
    stage = Stage(settings=TWO, models={"debater_a": "x:one", "debater_b": "x:two", "judge": "x:three"})
    await with_remarks(stage, {0: WORDS})
    assert hears(stage.model) == [False, True, True, True, True]


async def test_a_remark_before_the_start_is_heard_from_the_first_step_on() -> None:
    stage = Stage(settings=TWO)
    await (await stage.open()).say(ID, HumanReply("guide", WORDS))
    await stage.run()
    assert (await stage.order())[0] == REMARK
    assert hears(stage.model) == [True] * 5


async def test_remarks_are_heard_in_the_order_in_which_they_were_made() -> None:
    stage = Stage(settings=TWO)
    await (await stage.open()).say(ID, HumanReply("guide", "One"))
    await stage.store.say(ID, HumanReply("guide", "Two"))
    await with_remarks(stage, {2: "Three"})
    assert [(turn.position, turn.content) for turn in await stage.turns() if turn.seat == "human"] == [
        (0, "One"),
        (1, "Two"),
        (3, "Three"),
    ]


async def test_a_remark_does_not_move_the_place_of_a_question_and_comes_after_its_answer() -> None:
    stage = Stage(Panelists(), format=PANEL, topic=TOPIC, settings=TWO, person=silent)
    assert await with_remarks(stage, {CHECKPOINT - 1: WORDS}) == RunResult(Status.WAITING, due_in=1800.0)
    waiting = stage.events[-1]
    assert isinstance(waiting, Waiting)
    assert waiting.position == CHECKPOINT
    await stage.store.say(ID, HumanReply("continue", "", CHECKPOINT))
    await stage.run()
    assert (await stage.order())[CHECKPOINT : CHECKPOINT + 3] == [
        ("human", "guidance", 1),
        REMARK,
        ("moderator", "summary", 2),
    ]
    assert hears(stage.model) == [False] * 7 + [True] * 7


async def test_a_remark_between_openings_waits_until_all_of_them_are_there() -> None:
    stage = Stage(Panelists(), format=PANEL, topic=TOPIC, settings={**TWO, "checkpoints": False})
    await with_remarks(stage, {2: WORDS})
    assert [kind for _, kind, _ in await stage.order()][:6] == [
        "analysis",
        "summary",
        "opening",
        "opening",
        "remark",
        "rebuttal",
    ]


async def test_a_remark_through_the_app_is_kept_at_once_and_heard_from_the_next_step_on() -> None:
    speaking, go_on = asyncio.Event(), asyncio.Event()

    async def pace() -> None:
        speaking.set()
        await go_on.wait()

    model = ScriptedModel(sensible, pace=pace)
    app = scripted_app(model)
    record = await app.create("duel", "Cats?", TWO)
    running = asyncio.create_task(app.run(record.id, ignore))
    await speaking.wait()
    said = (await app.reply(record.id, "guide", WORDS)).words
    assert said is not None
    assert await app.store.said(record.id) == (HumanReply("guide", WORDS, None, said.at),)
    with pytest.raises(WrongStatus) as caught:
        await app.reply(record.id, "approve")
    assert str(caught.value) == f"{record.id} asks nothing now, so it takes only `guide` and `end`; not 'approve'"
    go_on.set()
    assert (await running).status is Status.FINISHED
    assert hears(model) == [False, True, True, True, True]


async def test_end_without_a_question_concludes() -> None:
    app = scripted_app(ScriptedModel(sensible))
    record = await app.create("duel", "Cats?")
    assert (await app.reply(record.id, "end")).words is None
    assert (await app.run(record.id, ignore)).stop_reason == "concluded"


def usual_or_guiding(step: Step) -> HumanReply:
    return HumanReply("guide", "Think of the costs.") if (step.kind, step.round) == ("guidance", 1) else usual(step)


@pytest.mark.parametrize("format", [PANEL, DUEL], ids=["panel", "duel"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_remarks_and_answers_survive_a_crash_at_every_turn(format: AnyFormat, when: str) -> None:
    def new() -> Stage:
        return Stage(format=format, topic=TOPIC, settings=TWO, person=usual_or_guiding)

    whole = new()
    spoken = {1: "One", 3: "Two"}
    await with_remarks(whole, dict(spoken))
    turns = await whole.transcript()
    assert sum(turn.kind == "remark" for turn in turns) == 2
    for position in range(len(turns)):
        if when == "before" and position in spoken:
            continue  # what is said while a turn is lost is heard by that turn
        crashed = new()
        speak = remarking(crashed, dict(spoken))
        await crashed_at(crashed, position, when, speak)
        await crashed.run(Between(crashed.store, before=speak))
        assert await crashed.transcript() == turns
        assert (await crashed.record()).outcome == (await whole.record()).outcome


async def crashed_at(stage: Stage, position: int, when: str, speak: Callable[[Turn], Awaitable[None]]) -> None:
    kill = kill_at(position)

    async def speak_and_die(turn: Turn) -> None:
        await speak(turn)
        if when == "before":
            await kill(turn)

    after = kill if when == "after" else None
    with pytest.raises(Killed):
        await stage.run(Between(await stage.open(), before=speak_and_die, after=after))


@pytest.mark.parametrize("position", range(5))
async def test_what_is_said_while_a_turn_is_lost_is_heard_once_all_the_same(position: int) -> None:
    stage = Stage(settings=TWO)
    speak = remarking(stage, {position: WORDS})
    await crashed_at(stage, position, "before", speak)
    await stage.run(Between(stage.store, before=speak))
    assert [(turn.position, turn.kind) for turn in await stage.turns() if turn.seat == "human"] == [
        (position, "remark")
    ]


# After the decision


async def approved(**settings: Any) -> Asking:
    asking = await at_approval(**settings)
    await asking.reply("approve")
    assert (await asking.run()).status is Status.FINISHED
    return asking


async def test_the_decision_is_written_once_and_exported_in_every_style(tmp_path: Path) -> None:
    asking = await approved()
    place = Place(tmp_path / "records")
    path = await asking.app.write_document(asking.id, place)
    assert path == tmp_path / "records" / "0001-should-we-use-redis-or-postgresql-for-caching.md"
    assert await asking.app.write_document(asking.id, place) == path
    document = await asking.app.export(asking.id, "md")
    assert path.read_text() == document.rstrip() + "\n"
    assert "\nstatus: accepted\n" in document
    assert json.loads(await asking.app.export(asking.id, "json"))["outcome"]["approved"] is True
    assert (await asking.app.export(asking.id, "html")).startswith("<!DOCTYPE html>")
    with pytest.raises(InvalidInput) as caught:
        await asking.app.export(asking.id, "pdf")
    assert str(caught.value) == "cannot export as 'pdf'; choose md, json, html, argdown or aif"


async def test_an_approved_decision_is_a_file_before_it_is_stored_and_once_again_when_it_is_missing() -> None:
    asking = await at_approval()
    await asking.reply("approve")
    store = asking.app.store

    async def dies(*_: object) -> None:
        assert len(decisions()) == 1
        raise asyncio.CancelledError

    store.end = dies  # type: ignore[method-assign]
    with pytest.raises(asyncio.CancelledError):
        await asking.run()
    del store.end
    assert await store.release(asking.id, (await asking.app.load(asking.id)).record.run)
    ((name, text),) = decisions().items()
    file = asking.app.settings.decisions / name
    file.write_text(f"{text}A note of mine.")
    assert (await asking.run()).status is Status.FINISHED
    assert decisions() == {name: f"{text}A note of mine."}
    file.unlink()
    assert await asking.app.write_document(asking.id) == file
    assert decisions() == {name: text}


async def test_a_debate_that_has_not_ended_is_exported_as_its_transcript() -> None:
    asking = await Asking.at_checkpoint()
    document = await asking.app.export(asking.id, "md")
    assert "There is none: the debate is waiting." in document
    assert "### Performance Advocate · opening" in document


async def test_a_decision_makes_one_workflow(store: Store) -> None:
    asking = await Asking.at_checkpoint(store)
    with pytest.raises(InvalidInput) as caught:
        await asking.app.make_workflow(asking.id)
    assert str(caught.value) == f"{asking.id} has no decision to make a workflow of"
    await asking.reply("end")
    await asking.run()
    await asking.reply("approve")
    await asking.run()
    made = await asking.app.make_workflow(asking.id)
    assert (made.title, made.delivered, made.attempts) == (
        "Act on the decision: Should we use Redis or PostgreSQL for caching?",
        False,
        0,
    )
    assert await asking.app.make_workflow(asking.id) == made


async def test_a_workflow_is_handed_to_what_is_configured_until_that_has_succeeded(tmp_path: Path) -> None:
    asking = await approved()
    asking.app.settings.workflow = WorkflowSettings(file=tmp_path / "issues")
    made = await asking.app.make_workflow(asking.id)
    assert (made.delivered, made.attempts) == (True, 1)
    assert await asking.app.make_workflow(asking.id) == made
    assert len([path for path in (tmp_path / "issues").rglob("*") if path.is_file()]) == 1


@pytest.mark.parametrize("stars", [0, 6, -1])
async def test_stars_are_one_to_five(stars: int) -> None:
    asking = await Asking.at_checkpoint()
    with pytest.raises(InvalidInput) as caught:
        await asking.app.rate(asking.id, stars)
    assert str(caught.value) == f"{stars} stars cannot be given: give 1 to 5"


async def test_the_latest_rating_stands_in_the_trace() -> None:
    asking = await approved()
    await asking.app.rate(asking.id, 2, "Too short.")
    rating = await asking.app.rate(asking.id, 4)
    stored = await asking.app.load(asking.id)
    assert (stored.rating, asking.app.reading(stored).trace["user_rating"]) == (rating, 4)


# Estimates


async def test_an_estimate_of_a_panel_needs_neither_model_nor_person() -> None:
    model = ScriptedModel([])
    found = await scripted_app(model).estimate("panel", TOPIC, {"max_rounds": 2, "perspectives": 2})
    assert model.requests == []
    # At most the question is clarified and the record revised three times, and every form is asked for again.
    assert (found.most.calls, found.typical.calls) == (2 * 2 + 2 * (1 + 2 + 2 * 2 + 2) + 4 * 2, 14)
    assert 0 < found.typical.output_tokens < found.most.output_tokens
