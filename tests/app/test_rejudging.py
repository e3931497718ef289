"""A finished debate judged again: the same speeches, other judgings, a debate of its own."""

from __future__ import annotations

from typing import Any

import pytest

from moot.app import App
from moot.app.rejudging import forks_of, rejudge
from moot.core.debate import Record, Status
from moot.core.trust import JudgeNoise
from moot.errors import InvalidInput, WrongStatus
from moot.formats.duel.format import Verdict
from moot.testing import ScriptedModel, SimulatedJudge, scripted_app
from stage import sensible


async def finished(app: App, format: str = "duel", **settings: Any) -> Record:
    record = await app.create(format, "Cats are better than dogs", settings)
    ending = await app.run(record.id, lambda event: None)
    assert ending.status is Status.FINISHED, ending.error
    return (await app.load(record.id)).record


async def judged_again(app: App, origin: Record, **how: Any) -> tuple[Record, Verdict]:
    record = await rejudge(app, origin.id, **how)
    ending = await app.run(record.id, lambda event: None)
    assert ending.status is Status.FINISHED, ending.error
    return record, Verdict.model_validate(ending.outcome)


async def test_a_quick_duel_is_judged_eight_times_by_another_model_and_keeps_its_speeches() -> None:
    app = scripted_app(SimulatedJudge((6, 6), order=1.0))
    origin = await finished(app, max_rounds=2, depth="quick")
    record, verdict = await judged_again(app, origin, judge="scripted:other")
    turns, before = (await app.load(record.id)).turns, (await app.load(origin.id)).turns
    assert [turn.content for turn in turns[:4]] == [turn.content for turn in before[:4]]
    assert [turn.kind for turn in turns[4:]] == ["verdict", *["rejudging"] * 7]
    assert {turn.model for turn in turns[4:]} == {"scripted:other"}
    assert record.origin
    assert (record.origin.debate, await forks_of(app, origin.id)) == (origin.id, [record.id])
    assert (Verdict.model_validate(origin.outcome).winner, verdict.winner) == ("a", "undecided")


async def test_a_duel_with_a_verdict_in_each_round_and_one_that_a_limit_ended_are_judged_again() -> None:
    app = scripted_app(SimulatedJudge((8, 4)))
    each, _ = await judged_again(app, await finished(app, max_rounds=2, judge="each_round"), judgings=2)
    kinds = [turn.kind for turn in (await app.load(each.id)).turns]
    assert kinds == ["argument", "argument", "verdict", "argument", "argument", "verdict", "rejudging"]
    app = scripted_app(ScriptedModel(sensible))
    short = await finished(app, max_rounds=5, max_runtime_seconds=1e-9)
    ended, _ = await judged_again(app, short, judgings=2)
    kinds = [turn.kind for turn in (await app.load(ended.id)).turns]
    assert kinds[-3:] == ["limit", "verdict", "rejudging"]


async def test_an_evaluation_s_topics_are_judged_again() -> None:
    app = scripted_app(ScriptedModel(sensible))
    record = await rejudge(app, (await finished(app, "evaluation")).id, judgings=4)
    await app.run(record.id, lambda event: None)
    turns = (await app.load(record.id)).turns
    assert record.origin
    assert {turn.seat for turn in turns[record.origin.position :]} == {"arbiter"}
    assert len(turns) - record.origin.position == 12


async def test_what_cannot_be_judged_again_is_refused_with_the_reason() -> None:
    app = scripted_app(ScriptedModel(sensible))
    waiting = await app.create("duel", "Cats?", {})
    with pytest.raises(WrongStatus, match="is created: a debate can be judged again when it is finished"):
        await rejudge(app, waiting.id)
    critique = await finished(app, "critique", max_rounds=1, rag_top_k=0)
    with pytest.raises(InvalidInput, match=r"a critique has no judge whose judging could be given again; .*duel"):
        await rejudge(app, critique.id)
    two_at_a_time = await finished(app, "evaluation", parallel_topics=2)
    with pytest.raises(InvalidInput, match="some topics were argued after others were judged"):
        await rejudge(app, two_at_a_time.id)
    said = iter(["A reason.", "You are right.\n\nCONCEDED"])
    giving_in = scripted_app(ScriptedModel(lambda request: sensible(request) if request.schema else next(said)))
    with pytest.raises(InvalidInput, match="a debater conceded"):
        await rejudge(giving_in, (await finished(giving_in, max_rounds=1)).id)
    duel = await finished(app, max_rounds=1)
    with pytest.raises(InvalidInput, match="is 1 or even"):
        await rejudge(app, duel.id, judgings=5)


async def test_what_earlier_debates_tell_of_a_judge_is_kept_with_a_new_one_and_learned_anew_by_another() -> None:
    app = scripted_app(SimulatedJudge((6, 6), noise=2.0))
    first = await app.create("duel", "Cats are better than dogs", {"max_rounds": 1}, key="first")
    for _ in range(8):
        await finished(app, max_rounds=1, judgings=4)
    assert first.settings["noise"] is None
    later = await app.create("duel", "Cats are better than dogs", {"max_rounds": 1, "judgings": 4})
    noise: Any = later.settings["noise"]
    assert noise["points"] > 1.5
    assert noise["debates"] == 8
    await app.run(later.id, lambda event: None)
    verdict = Verdict.model_validate((await app.load(later.id)).record.outcome)
    assert verdict.trust
    assert verdict.trust.stability
    assert verdict.trust.stability.noise == JudgeNoise.model_validate(noise)
    again = await app.create("duel", "Cats are better than dogs", {"max_rounds": 1}, key="first")
    assert again.id == first.id
    assert (await rejudge(app, later.id, judge="scripted:other")).settings["noise"] is None


async def test_an_earlier_outcome_is_read_once_and_not_at_all_for_a_debate_that_is_judged_once() -> None:
    app, read = scripted_app(SimulatedJudge((6, 6), noise=2.0)), []
    outcomes = app.store.outcomes

    async def seen(*args: Any) -> Any:
        found = await outcomes(*args)
        read.append(sum(outcome is not None for outcome in found.values()))
        return found

    app.store.outcomes = seen  # type: ignore[method-assign]
    quick = await finished(app, max_rounds=1, depth="quick")
    assert (read, quick.settings["noise"]) == ([], None)
    await finished(app, max_rounds=1, judgings=4)
    noises = [(await app.create("duel", "Cats", {"judgings": 4})).settings["noise"] for _ in range(2)]
    assert read == [1, 1, 0]
    assert noises[0]
    assert noises[0] == noises[1]
