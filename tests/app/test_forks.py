"""Forks: a new debate that begins with copies of the first turns of another, and goes on with other settings."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace

import pytest
from pydantic import JsonValue

from moot.app import App
from moot.app.rejudging import rejudge
from moot.core.debate import Origin, Status
from moot.errors import InvalidInput, ModelError, NotFound, ScriptChanged
from moot.store.store import Store
from moot.testing import ScriptedModel, scripted_app
from stage import Panelists, sensible

TWO = {"max_rounds": 2}


def ignore(event: object) -> None:
    pass


async def played(app: App, format: str = "duel", **settings: object) -> str:
    record = await app.create(format, "Cats?", {**TWO, **settings})
    await app.run(record.id, ignore)
    return record.id


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(sensible)


async def test_a_fork_plays_only_what_comes_after_the_turns_it_begins_with(store: Store, model: ScriptedModel) -> None:
    app = scripted_app(model, store)
    origin = await app.load(await played(app))
    calls = len(model.requests)
    made = await app.fork(origin.record.id, 3)
    assert (made.origin, made.topic, made.status) == (Origin(origin.record.id, 3), "Cats?", Status.CREATED)
    ending = await app.run(made.id, ignore)
    fork = await app.load(made.id)
    assert (ending.status, len(model.requests) - calls) == (Status.FINISHED, 2)
    assert [turn.content for turn in fork.turns[:3]] == [turn.content for turn in origin.turns[:3]]
    assert [turn.run for turn in fork.turns] == [0, 0, 0, 1, 1]
    assert await app.load(origin.record.id) == origin


@pytest.mark.parametrize("format", ["duel", "panel", "critique", "evaluation"])
async def test_a_debate_of_any_format_can_be_forked_at_every_position(format: str) -> None:
    app = scripted_app(ScriptedModel(Panelists() if format == "panel" else sensible))
    settings = dict(app.formats[format].unattended)
    if format == "evaluation":
        settings["idea"] = "Sell the sun."
    origin = await app.load(await played(app, format, **settings))
    assert origin.record.status is Status.FINISHED, origin.record.error
    for position in range(len(origin.turns)):
        made = await app.fork(origin.record.id, position)
        assert (await app.run(made.id, ignore)).status is Status.FINISHED
        assert (await app.load(made.id)).turns[:position] != () or position == 0


async def test_seats_keep_their_models_unless_others_are_chosen(model: ScriptedModel) -> None:
    app = scripted_app(model)
    debate_id = await played(app, models={"judge": "scripted:wise"}, temperatures={"judge": 0.1})
    before = (await app.load(debate_id)).record.seats
    kept = await app.fork(debate_id, 2)
    assert kept.seats == before
    one = await app.fork(debate_id, 2, {"models": {"debater_a": "scripted:new"}, "temperatures": {"debater_b": 0.2}})
    assert [seat.model for seat in one.seats.values()] == ["scripted:new", before["debater_b"].model, "scripted:wise"]
    assert [seat.temperature for seat in one.seats.values()] == [before["debater_a"].temperature, 0.2, 0.1]
    every = await app.fork(debate_id, 2, {"model": "scripted:new"})
    assert {seat.model for seat in every.seats.values()} == {"scripted:new"}


async def test_a_stopped_debate_whose_model_is_gone_goes_on_in_a_fork_with_another() -> None:
    app = scripted_app(ScriptedModel(sensible))
    record = await app.create("duel", "Cats?", TWO)
    await app.run(record.id, ignore, until=lambda steps: steps[0].round == 2)
    made = await app.fork(record.id, settings={"model": "scripted:other"})
    assert made.origin == Origin(record.id, 2)
    assert (await app.run(made.id, ignore)).status is Status.FINISHED
    assert {turn.model for turn in (await app.load(made.id)).turns[2:]} == {"scripted:other"}


async def test_a_debate_that_failed_while_several_spoke_at_once_is_forked_at_the_first_turn_it_lacks() -> None:
    app = scripted_app(ScriptedModel(sensible, faults={3: ModelError("the model is gone")}))
    debate_id = await played(app, ballots=6)
    stored = await app.load(debate_id)
    assert (stored.record.status, [turn.position for turn in stored.turns]) == (Status.FAILED, [0, 1, 3, 4, 5, 6])
    with pytest.raises(InvalidInput, match=r"has 2 turns before the first that it lacks; fork it at .* from 0 to 2"):
        await app.fork(debate_id, 3)
    made = await app.fork(debate_id, settings={"model": "scripted:other"})
    assert made.origin == Origin(debate_id, 2)
    assert (await app.run(made.id, ignore)).status is Status.FINISHED


async def test_an_outcome_tells_of_every_model_that_spoke_in_the_fork_or_before_it(model: ScriptedModel) -> None:
    app = scripted_app(model)
    debate_id = await played(app)
    for position, caveat in ((0, "one model, scripted:x, spoke in every seat"), (3, "of the same model family (x)")):
        made = await app.fork(debate_id, position, {"model": "scripted:x"})
        outcome = (await app.run(made.id, ignore)).outcome
        assert outcome is not None
        (told,) = outcome["caveats"]  # type: ignore[misc]
        assert caveat in str(told)


@pytest.mark.parametrize(
    ("position", "settings", "error"),
    [
        (-1, {}, "has 5 turns; fork it at a position from 0 to 5"),
        (6, {}, "has 5 turns; fork it at a position from 0 to 5"),
        (5, {}, "after 5 turns DEB-.* is through; fork it at an earlier position"),
        (
            4,
            {"max_rounds": 1},
            "with these settings the first 4 turns would have been others; fork DEB-",
        ),
        (
            2,
            {"stance_a": "con"},
            "turn 0 was played with another stance; fork DEB-.* at an earlier",
        ),
        (None, {"max_rounds": 1}, "with these settings the first 4 turns would have been others; fork DEB-"),
        (2, {"max_roundz": 1}, "max_roundz"),
        (2, {"models": {"jury": "scripted:x"}}, "duel has no seat 'jury'"),
    ],
)
async def test_what_does_not_fit_is_refused_and_nothing_is_stored(
    model: ScriptedModel, position: int | None, settings: dict[str, object], error: str
) -> None:
    app = scripted_app(model)
    debate_id = await played(app)
    with pytest.raises(InvalidInput, match=error):
        await app.fork(debate_id, position, settings)  # type: ignore[arg-type]
    assert len(await app.list()) == 1
    with pytest.raises(NotFound):
        await app.fork("DEB-none", 0)


async def test_between_steps_that_are_asked_side_by_side_what_was_asked_otherwise_is_refused(
    model: ScriptedModel,
) -> None:
    app = scripted_app(model)
    record = await app.create("poll", "Cats?", {"ballots": 6})
    await app.run(record.id, ignore)
    with pytest.raises(InvalidInput, match=r"turn 0 was played with another .*options"):
        await app.fork(record.id, 3, {"options": ["red", "blue"]})
    made = await app.fork(record.id, 3, {"rule": "plurality", "quorum": 50})
    assert (await app.run(made.id, ignore)).status is Status.FINISHED


async def test_without_a_position_a_finished_debate_is_forked_before_its_last_step(model: ScriptedModel) -> None:
    app = scripted_app(model)
    debate_id = await played(app)
    made = await app.fork(debate_id, settings={"models": {"judge": "scripted:wise"}})
    assert made.origin == Origin(debate_id, 4)
    await app.run(made.id, ignore)
    reading = await app.read(made.id)
    assert (reading.usage.calls, reading.trace["usage"]["by_seat"].keys()) == (1, {"judge"})  # its origin has paid
    assert [summary.usage.calls for summary in await app.listing.page()] == [1, 5]


async def test_a_seat_that_the_fork_s_settings_add_gets_the_usual_model(model: ScriptedModel) -> None:
    app = scripted_app(model)
    debate_id = await played(app)
    assert "voter" not in (await app.load(debate_id)).record.seats
    made = await app.fork(debate_id, 0, {"ballots": 3})
    assert made.seats["voter"].model == made.seats["judge"].model
    assert (await app.run(made.id, ignore)).status is Status.FINISHED


async def test_a_fork_that_wants_research_is_refused_where_nothing_is_there_for_it(model: ScriptedModel) -> None:
    app = scripted_app(model)
    with pytest.raises(InvalidInput, match="nothing is configured to look things up with: name servers under"):
        await app.fork(await played(app), 0, {"research": True})


async def test_a_fork_from_the_beginning_reads_sources_that_are_sent_as_files(model: ScriptedModel) -> None:
    app = scripted_app(model)
    origin = await played(app)
    settings: dict[str, JsonValue] = {"sources": [{"name": "cats.txt", "base64": b64encode(b"Cats purr.").decode()}]}
    made = await app.fork(origin, 0, settings, key="once")
    assert made.settings["sources"] == [{"name": "cats.txt", "text": "Cats purr."}]
    assert await app.fork(origin, 0, settings, key="once") == made


async def test_a_fork_with_other_perspectives_compares_those(model: ScriptedModel) -> None:
    app = scripted_app(model)
    named: list[dict[str, JsonValue]] = [
        {"perspectives": ["Performance Advocate", "Operational Simplicity"]},
        {"perspectives": ["Climate and Nature", "Rule of Law"]},
    ]
    one, other = [await app.create("panel", "Redis or Postgres for sessions?", each) for each in named]
    assert one.settings["nearness"] != other.settings["nearness"]
    made = await app.fork(one.id, 0, named[1], key="once")
    assert made.settings["nearness"] == other.settings["nearness"]
    assert await app.fork(one.id, 0, named[1], key="once") == made


async def test_a_debate_from_before_its_format_had_a_seat_is_forked_without_it(model: ScriptedModel) -> None:
    app = scripted_app(model)
    stored = await app.load(await played(app, depth="normal", ballots=0))
    settings = {name: value for name, value in stored.record.settings.items() if name != "ballots"}
    older = stored._replace(record=replace(stored.record, settings=settings))
    assert list((await app.drafts.fork(older, 2, {})).seats) == list(stored.record.seats)


LATER = {"depth", "judgings", "max_check_output_tokens", "judges", "noise", "ledger", "ballots", "precedents"}
"""Settings that a duel got after its version 2 had begun."""


async def test_a_debate_from_before_its_format_had_a_depth_stays_as_it_was_wherever_it_goes_on(
    model: ScriptedModel,
) -> None:
    app = scripted_app(model)
    app.settings.depth = "normal"
    new = await app.create("duel", "Cats?", {"max_rounds": 1, "depth": "quick"})
    settings = {name: value for name, value in new.settings.items() if name not in LATER}
    older = await app.store.create(replace(new, id="DEB-older234", settings=settings))
    await app.change(older.id, {"max_rounds": 2})
    await app.run(older.id, ignore)
    fork = await app.fork(older.id, 3)
    await app.run(fork.id, ignore)
    for made in (older, fork):
        turns = (await app.load(made.id)).turns
        assert [turn.kind for turn in turns if turn.seat != "human"] == ["argument"] * 4 + ["verdict"]
    assert fork.settings["depth"] == "quick"
    again = await rejudge(app, older.id, judgings=2)
    await app.run(again.id, ignore)
    assert [turn.kind for turn in (await app.load(again.id)).turns][-2:] == ["verdict", "rejudging"]


async def test_a_debate_that_cannot_be_replayed_here_is_not_forked_and_says_why(model: ScriptedModel) -> None:
    app = scripted_app(model)
    stored = await app.load(await played(app))
    other = stored._replace(turns=(replace(stored.turns[0], seat="debater_b"), *stored.turns[1:]))
    with pytest.raises(ScriptChanged, match=f"turn 0 of {stored.record.id} is debater_b/argument"):
        await app.drafts.fork(other, 2, {})


async def test_a_fork_repeated_under_its_key_is_made_once(model: ScriptedModel) -> None:
    app = scripted_app(model)
    debate_id = await played(app)
    made = await app.fork(debate_id, 2, key="once")
    assert await app.fork(debate_id, 2, key="once") == made
    with pytest.raises(InvalidInput, match="the key 'once' was used for another debate"):
        await app.fork(debate_id, 3, key="once")


async def test_a_fork_repeated_under_its_key_is_found_whatever_became_of_its_origin(
    store: Store, model: ScriptedModel
) -> None:
    app = scripted_app(model, store)
    origin = await app.create("duel", "Cats?", TWO)
    await app.run(origin.id, ignore, until=lambda steps: any(step.round == 2 for step in steps))
    made = await app.fork(origin.id, None, {"model": "scripted:other"}, key="once")
    assert made.copied == 2

    async def again(position: int | None = None, **changes: str) -> str:
        return (await app.fork(origin.id, position, changes or {"model": "scripted:other"}, key="once")).id

    await app.run(origin.id, ignore)  # it has grown, and ended
    assert {await again(), await again(2)} == {made.id}
    for position, changes in ((3, {}), (None, {"model": "scripted:third"})):
        with pytest.raises(InvalidInput, match="the key 'once' was used for another debate"):
            await again(position, **changes)
    await app.delete(origin.id)
    assert {await again(), await again(2)} == {made.id}
    with pytest.raises(InvalidInput, match="the key 'once' was used for another debate"):
        await again(3)
    with pytest.raises(NotFound):
        await app.fork(origin.id, key="another")


@pytest.mark.parametrize("format", ["duel", "critique"])
async def test_every_export_names_the_origin(model: ScriptedModel, format: str) -> None:
    app = scripted_app(model)
    debate_id = await played(app, format)
    made = await app.fork(debate_id, 2)
    await app.run(made.id, ignore)
    words = f"forked from {debate_id} after the first 2 turns"
    for style in ("md", "html", "argdown"):
        assert words in await app.export(made.id, style), style
    assert json.loads(await app.export(made.id, "json"))["origin"] == {"debate": debate_id, "position": 2}


async def test_a_debate_of_a_version_that_nobody_here_could_run_is_not_forked(model: ScriptedModel) -> None:
    app = scripted_app(model)
    newer = replace(await app.create("duel", "Cats?"), id="DEB-newer", format_version=99)
    await app.store.create(newer)
    with pytest.raises(InvalidInput, match="DEB-newer follows version 99 of duel, newer than this moot knows; fork it"):
        await app.fork("DEB-newer", 0)
    await app.close()
