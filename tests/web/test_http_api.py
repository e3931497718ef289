"""The JSON API over a real socket: what each route takes, answers and refuses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from live import Gate, Live, serving, simple_app

from model_server import PATIENCE
from moot.core.debate import Status
from moot.core.engine import RunResult
from moot.reading.unreadable import UNREADABLE
from moot.testing import MemoryStore, scripted_app
from stage import Mortal, Overloaded, Panelists, decisions


@pytest.fixture
async def live() -> AsyncIterator[Live]:
    async with serving(simple_app()) as live:
        yield live


# From creation to outcome


async def test_a_debate_is_created_played_and_shown_whole(live: Live) -> None:
    answer = await live.post("/api/debates", {"format": "duel", "topic": "Cats?", "settings": {"max_rounds": 1}})
    debate_id = answer.body["id"]
    assert answer.status == 201
    assert answer.headers["Location"] == f"/api/debates/{debate_id}"
    assert answer.body == {
        "id": debate_id,
        "format": "duel",
        "topic": "Cats?",
        "title": "Cats?",
        "status": answer.body["status"],
        "stop_reason": None,
        "error": None,
        "headline": None,
        "created_at": answer.body["created_at"],
        "finished_at": None,
        "origin": None,
    }
    assert (await live.ended(debate_id))["type"] == "debate_finished"

    whole = (await live.get(f"/api/debates/{debate_id}")).body

    assert (whole["status"], whole["stop_reason"], whole["error"]) == ("finished", "max_rounds", None)
    assert [(turn["position"], turn["seat"], turn["title"], turn["kind"]) for turn in whole["turns"]] == [
        (0, "debater_a", "Debater A", "argument"),
        (1, "debater_b", "Debater B", "argument"),
        (2, "judge", "Judge", "verdict"),
    ]
    assert whole["usage"]["calls"] == 3
    assert whole["usage"]["output_tokens"] == sum(turn["usage"]["output_tokens"] for turn in whole["turns"])
    assert whole["outcome"]["winner"] in ("a", "b", "undecided")
    assert whole["last_event_id"] == whole["turns"][-1]["event_id"]
    assert (whole["question"], whole["rating"], whole["workflow"], whole["failures"]) == (None, None, None, [])
    assert [seat["model"] for seat in whole["seats"]] == ["scripted:model"] * 3


async def test_a_debate_that_is_not_started_waits_for_it_and_fifty_starts_make_one_run(live: Live) -> None:
    debate_id = await live.create(start=False, max_rounds=1)
    assert await live.status(debate_id) == "created"
    answers = await asyncio.gather(*(live.post(f"/api/debates/{debate_id}/start") for _ in range(50)))
    assert {answer.status for answer in answers} <= {202, 409}  # a late one may find it finished
    assert answers[0].status == 202
    await live.ended(debate_id)
    whole = (await live.get(f"/api/debates/{debate_id}")).body
    assert (whole["run"], len(whole["turns"])) == (1, 3)


async def test_fifty_creates_with_one_key_make_one_debate() -> None:
    gate = Gate()
    async with serving(simple_app(pace=gate)) as live:
        body = {"format": "duel", "topic": "Cats?"}
        creates = (live.post("/api/debates", body, headers={"Idempotency-Key": "k 1"}) for _ in range(50))
        answers = await asyncio.gather(*creates)
        assert {(answer.status, answer.body["id"]) for answer in answers} == {(201, answers[0].body["id"])}
        assert len((await live.get("/api/debates")).body["debates"]) == 1
        body["topic"] = "Dogs?"
        other = await live.post("/api/debates", body, headers={"Idempotency-Key": "k 1"})
        assert other.problem == (
            400,
            "invalid_input",
            f"the key 'k 1' was used for another debate, {answers[0].body['id']}; choose a new one",
        )


async def test_the_key_of_a_stopped_debate_gives_that_debate_and_does_not_resume_it(live: Live) -> None:
    body, key = {"format": "duel", "topic": "Cats?"}, {"Idempotency-Key": "k 1"}
    debate_id = (await live.post("/api/debates", {**body, "start": False}, headers=key)).body["id"]
    await live.post(f"/api/debates/{debate_id}/stop")
    before = (await live.get(f"/api/debates/{debate_id}")).body
    again = await live.post("/api/debates", body, headers=key)
    assert (again.status, again.body["id"], again.body["status"]) == (201, debate_id, before["status"])
    assert (await live.get(f"/api/debates/{debate_id}")).body == before


# Stop, resume, conclude


async def test_a_debate_goes_on_with_another_model_and_its_reader_sees_the_change() -> None:
    async with serving(scripted_app(Mortal())) as live:
        settings = {"max_rounds": 1, "models": {"judge": "scripted:dead"}}
        made = await live.post("/api/debates", {"format": "duel", "topic": "Cats?", "settings": settings})
        where = f"/api/debates/{made.body['id']}"
        failed = await live.ended(made.body["id"])
        assert failed["type"] == "debate_failed"
        refused = await live.post(f"{where}/resume", {"settings": {"stance_a": "con"}})
        assert (refused.status, refused.body["error"]["code"]) == (400, "invalid_input")
        address = await live.post(f"{where}/resume", {"settings": {"model": "http://169.254.169.254/v1#m"}})
        assert address.status == 400
        after = failed["id"]
        resumed = await live.post(f"{where}/resume", {"settings": {"models": {"judge": "scripted:new"}}})
        assert (resumed.status, resumed.body["status"]) == (202, "queued")
        events = await live.all_events(made.body["id"], after)
        assert [event["kind"] for event in events if event["type"] == "turn_finished"] == ["settings", "verdict"]
        assert events[-1]["type"] == "debate_finished"
        whole = (await live.get(where)).body
        assert [seat["model"] for seat in whole["seats"]] == ["scripted:model", "scripted:model", "scripted:new"]
        assert whole["turns"][2]["content"] == "Settings changed: Judge is scripted:new instead of scripted:dead."


async def test_a_seat_that_is_retried_gets_another_model_and_a_call_that_waits_is_made_now() -> None:
    model = Overloaded()
    async with serving(scripted_app(model)) as live:
        settings = {"max_rounds": 1, "models": {"debater_a": "scripted:dead", "judge": "scripted:gone"}}
        model.dead = {"dead", "gone"}
        made = await live.post("/api/debates", {"format": "duel", "topic": "Cats?", "settings": settings})
        where = f"/api/debates/{made.body['id']}"
        retried = []
        async with asyncio.timeout(PATIENCE), aclosing(live.events(made.body["id"])) as events:
            async for event in events:
                if event["type"] != "step_retrying":
                    continue
                retried.append(event["seat"])
                if event["seat"] == "debater_a":
                    change = {"settings": {"models": {"debater_a": "scripted:new"}}}
                    resumed = await live.post(f"{where}/resume", change)
                    assert (resumed.status, resumed.body["status"]) == (202, "running")
                else:
                    model.dead = set()
                    assert (await live.post(f"{where}/retry")).status == 202
        assert retried == ["debater_a", "judge"]
        assert (await live.post(f"{where}/retry")).problem == (
            409,
            "wrong_status",
            f"{made.body['id']} is finished, so no call of it waits; resume it",
        )


async def test_a_stop_lets_the_step_in_progress_end_and_nothing_more_begins() -> None:
    gate = Gate(word=3)
    async with serving(simple_app(pace=gate)) as live:
        debate_id = await live.create()
        await gate.reached.wait()
        for _ in range(3):
            assert (await live.post(f"/api/debates/{debate_id}/stop")).body["status"] == "stopping"
        resumed = await live.post(f"/api/debates/{debate_id}/resume")
        assert resumed.problem == (
            409,
            "wrong_status",
            f"{debate_id} is stopping; wait until its step in progress has ended, then resume it",
        )
        gate.opened.set()
        last = await live.ended(debate_id)
        assert (last["type"], last["stop_reason"]) == ("debate_stopped", "stopped")
        whole = (await live.get(f"/api/debates/{debate_id}")).body
        assert (whole["status"], whole["stop_reason"], len(whole["turns"])) == ("stopped", "stopped", 1)
        assert (await live.queue.load()).running == 0
        assert (await live.post(f"/api/debates/{debate_id}/stop")).status == 202

        assert (await live.post(f"/api/debates/{debate_id}/resume")).status == 202
        assert (await live.all_events(debate_id, last["id"]))[-1]["type"] == "debate_finished"
        stopped = await live.post(f"/api/debates/{debate_id}/stop")
        assert stopped.problem == (409, "wrong_status", f"{debate_id} is finished; there is nothing to stop")
        started = await live.post(f"/api/debates/{debate_id}/start")
        assert started.problem == (409, "wrong_status", f"{debate_id} is finished; there is nothing left to run")


async def test_concluding_goes_to_the_judge_after_the_step_in_progress() -> None:
    gate = Gate(word=3)
    async with serving(simple_app(pace=gate)) as live:
        debate_id = await live.create()
        await gate.reached.wait()
        assert (await live.post(f"/api/debates/{debate_id}/conclude")).status == 202
        gate.opened.set()
        await live.ended(debate_id)
        whole = (await live.get(f"/api/debates/{debate_id}")).body
        assert [turn["kind"] for turn in whole["turns"]] == ["argument", "conclude", "verdict"]
        assert whole["stop_reason"] == "concluded"
        again = await live.post(f"/api/debates/{debate_id}/conclude")
        assert again.problem == (409, "wrong_status", f"{debate_id} is finished; there is nothing to conclude")


async def test_a_stopped_debate_that_is_concluded_goes_on_to_its_verdict() -> None:
    gate = Gate(word=3)
    async with serving(simple_app(pace=gate)) as live:
        debate_id = await live.create()
        await gate.reached.wait()
        await live.post(f"/api/debates/{debate_id}/stop")
        gate.opened.set()
        last = await live.ended(debate_id)
        await live.post(f"/api/debates/{debate_id}/conclude")
        events = await live.all_events(debate_id, last["id"])
        assert [event["kind"] for event in events if event["type"] == "turn_finished"] == ["conclude", "verdict"]


async def test_what_has_not_begun_cannot_be_concluded(live: Live) -> None:
    debate_id = await live.create(start=False)
    answer = await live.post(f"/api/debates/{debate_id}/conclude")
    assert answer.problem == (409, "wrong_status", f"{debate_id} is created; there is nothing to conclude")


# People


@pytest.fixture
async def panel() -> AsyncIterator[Live]:
    async with serving(simple_app(replies=Panelists())) as live:
        yield live


async def waiting(live: Live, debate_id: str, after: int = 0) -> dict[str, object]:
    last = (await live.all_events(debate_id, after))[-1]
    assert last["type"] == "waiting", last
    return last


async def test_a_checkpoint_is_answered_and_the_decision_approved_and_made_a_workflow(panel: Live) -> None:
    debate_id = await panel.create("Redis?", "panel", max_rounds=2)
    asked = await waiting(panel, debate_id)
    whole = (await panel.get(f"/api/debates/{debate_id}")).body
    question = whole["question"]
    assert (whole["status"], question["position"]) == ("waiting", len(whole["turns"]))
    assert (question["question"], question["actions"]) == (asked["question"], asked["actions"])
    refused = await panel.post(f"/api/debates/{debate_id}/start")
    assert refused.problem == (
        409,
        "wrong_status",
        f"{debate_id} is waiting; it goes on when the person it asks has replied",
    )
    wrong = await panel.post(f"/api/debates/{debate_id}/reply", {"action": "approve"})
    assert (wrong.status, wrong.body["error"]["code"]) == (400, "invalid_input")

    guided = await panel.post(f"/api/debates/{debate_id}/reply", {"action": "guide", "text": "Mind the cost."})
    assert (guided.status, guided.body["status"]) == (202, "queued")
    await waiting(panel, debate_id, int(str(asked["id"])))
    await panel.post(f"/api/debates/{debate_id}/reply", {"action": "approve"})
    assert (await panel.ended(debate_id))["type"] == "debate_finished"
    ((name, text),) = decisions().items()
    assert (name, text[:25]) == ("0001-redis.md", f"---\ndebate: {debate_id}\n")

    made = await panel.post(f"/api/debates/{debate_id}/workflow")
    again = await panel.post(f"/api/debates/{debate_id}/workflow")
    assert (made.status, made.body["id"]) == (200, again.body["id"])
    rated = await panel.post(f"/api/debates/{debate_id}/rating", {"stars": 4, "comment": "Good."})
    assert (rated.body["stars"], rated.body["comment"]) == (4, "Good.")
    whole = (await panel.get(f"/api/debates/{debate_id}")).body
    assert [turn["content"] for turn in whole["turns"] if turn["seat"] == "human"] == ["Mind the cost.", ""]
    assert (whole["rating"]["stars"], whole["workflow"]["id"]) == (4, made.body["id"])


async def test_one_of_fifty_replies_to_a_checkpoint_is_heard(panel: Live) -> None:
    debate_id = await panel.create("Redis?", "panel", max_rounds=2)
    asked = await waiting(panel, debate_id)
    reply = {"action": "guide", "text": "Mind the cost.", "position": asked["position"]}
    answers = await asyncio.gather(*(panel.post(f"/api/debates/{debate_id}/reply", reply) for _ in range(50)))
    assert sorted(answer.status for answer in answers) == [202] + [409] * 49
    await waiting(panel, debate_id, int(str(asked["id"])))
    whole = (await panel.get(f"/api/debates/{debate_id}")).body
    assert [turn["content"] for turn in whole["turns"] if turn["seat"] == "human"] == ["Mind the cost."]


async def test_a_checkpoint_that_ends_the_rounds_leads_to_the_synthesis(panel: Live) -> None:
    debate_id = await panel.create("Redis?", "panel", max_rounds=5)
    asked = await waiting(panel, debate_id)
    await panel.post(f"/api/debates/{debate_id}/conclude")
    await waiting(panel, debate_id, int(str(asked["id"])))
    whole = (await panel.get(f"/api/debates/{debate_id}")).body
    assert "synthesis" in [turn["kind"] for turn in whole["turns"]]
    assert whole["question"]["actions"][0] == "approve"


async def test_guidance_is_heard_while_a_debate_runs() -> None:
    gate = Gate(word=3)
    async with serving(simple_app(pace=gate)) as live:
        debate_id = await live.create(max_rounds=1)
        await gate.reached.wait()
        reply = {"action": "guide", "text": "Think of birds."}
        assert (await live.post(f"/api/debates/{debate_id}/reply", reply)).body["status"] == "running"
        asks_nothing = await live.post(f"/api/debates/{debate_id}/reply", {"action": "continue"})
        assert asks_nothing.status == 409
        gate.opened.set()
        await live.ended(debate_id)
        whole = (await live.get(f"/api/debates/{debate_id}")).body
        assert [turn["kind"] for turn in whole["turns"]] == ["argument", "remark", "argument", "verdict"]


# Lists, deleting, exports


async def test_lists_are_filtered_and_come_in_pages(live: Live) -> None:
    made = [await live.create(topic, start=False) for topic in ("Cats?", "Dogs?", "cats again?", "Birds?")]
    newest = list(reversed(made))

    first = (await live.get("/api/debates?limit=3")).body
    second = (await live.get("/api/debates", params={"limit": 3, "cursor": first["next_cursor"]})).body

    assert [debate["id"] for debate in (*first["debates"], *second["debates"])] == newest
    assert second["next_cursor"] is None
    found = (await live.get("/api/debates?q=CATS&status=created&format=duel")).body
    assert [debate["topic"] for debate in found["debates"]] == ["cats again?", "Cats?"]
    assert (await live.get("/api/debates?format=panel")).body == {"debates": [], "next_cursor": None}
    bad = await live.get("/api/debates?cursor=nonsense")
    assert bad.problem == (400, "invalid_input", "'nonsense' is no cursor; take next_cursor from the page before")


async def test_a_list_survives_a_debate_of_a_format_that_has_changed(live: Live) -> None:
    debate_id = await live.create(start=False)
    await live.app.store.take(debate_id, "ann", 30)
    await live.app.store.end(debate_id, 1, RunResult(Status.FINISHED, "completed", outcome={"once": "otherwise"}))
    debates = (await live.get("/api/debates")).body["debates"]
    assert [(debate["status"], debate["headline"]) for debate in debates] == [("finished", UNREADABLE)]
    assert (await live.get(f"/api/debates/{debate_id}")).body["outcome"] == {"once": "otherwise"}


async def test_a_deleted_debate_is_gone_until_it_is_restored(live: Live) -> None:
    debate_id = await live.create(start=False)
    assert (await live.ask("DELETE", f"/api/debates/{debate_id}")).status == 204
    assert (await live.ask("DELETE", f"/api/debates/{debate_id}")).status == 204
    gone = await live.get(f"/api/debates/{debate_id}")
    assert gone.problem == (404, "not_found", f"no debate '{debate_id}'; moot debate --list shows the latest")
    assert (await live.get("/api/debates")).body["debates"] == []
    assert (await live.post(f"/api/debates/{debate_id}/restore")).body["status"] == "created"
    assert (await live.get(f"/api/debates/{debate_id}")).status == 200


async def test_a_running_debate_is_not_deleted() -> None:
    gate = Gate()
    async with serving(simple_app(pace=gate)) as live:
        debate_id = await live.create()
        await gate.reached.wait()
        answer = await live.ask("DELETE", f"/api/debates/{debate_id}")
        assert (answer.status, answer.body["error"]["code"]) == (409, "wrong_status")


@pytest.mark.parametrize(
    ("style", "media", "beginning"),
    [("md", "text/markdown", "---"), ("json", "application/json", ""), ("html", "text/html", "<!doctype html>")],
)
async def test_a_debate_is_exported_as_a_file(live: Live, style: str, media: str, beginning: str) -> None:
    debate_id = await live.create(max_rounds=1)
    await live.ended(debate_id)
    answer = await live.get(f"/api/debates/{debate_id}/export?as={style}")
    assert answer.headers["Content-Type"].partition(";")[0] == media
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{debate_id}.{style}"'
    if style == "json":
        assert (answer.body["id"], answer.body["status"], len(answer.body["turns"])) == (debate_id, "finished", 3)
    else:
        assert answer.body.lower().startswith(beginning)


# What there is


async def test_formats_tell_their_seats_and_the_schema_of_their_settings(live: Live) -> None:
    formats = {each["name"]: each for each in (await live.get("/api/formats")).body["formats"]}
    assert set(formats) >= {"panel", "duel", "evaluation"}
    seats = ["debater_a", "debater_b", "judge", "judge_2", "judge_3", "scribe", "voter"]
    assert [seat["name"] for seat in formats["duel"]["seats"]] == seats
    assert formats["duel"]["settings"]["properties"]["max_rounds"]["default"] == 5


async def test_perspectives_templates_and_models_are_listed(live: Live) -> None:
    perspectives = (await live.get("/api/perspectives")).body["perspectives"]
    assert {"name", "priorities", "trade_offs"} == set(perspectives[0])
    templates = (await live.get("/api/templates")).body["templates"]
    assert "fermi-estimate" in [each["name"] for each in templates]
    models = (await live.get("/api/models")).body
    states = {each["name"]: each["state"] for each in models["providers"]}
    assert states["scripted"] == "ready"
    assert states["deepseek"] == "set DEEPSEEK_API_KEY"
    assert {"format": "duel", "seat": "judge", "model": "scripted:model", "why": "MOOT_MODEL or moot.yaml"} in (
        models["seats"]
    )


async def test_an_estimate_calls_no_model(live: Live) -> None:
    answer = await live.post("/api/estimate", {"format": "duel", "topic": "Cats?", "settings": {"max_rounds": 2}})
    assert (answer.body["most"]["calls"], answer.body["typical"]["calls"]) == (6, 5)
    time = answer.body["duration"]
    assert (time["tokens_a_second"], time["measured"], time["warning"]) == (50.0, False, "")
    assert time["most_seconds"] == answer.body["most"]["output_tokens"] / 50
    assert (await live.get("/api/debates")).body["debates"] == []


async def test_health_tells_how_busy_the_server_is() -> None:
    gate = Gate()
    app = simple_app(pace=gate)
    app.settings.max_running = 1
    async with serving(app) as live:
        await live.create()
        await live.create()
        await gate.reached.wait()
        health = (await live.get("/api/health")).body
        assert (health["status"], health["running"], health["queued"]) == ("ok", 1, 1)


async def test_health_says_503_when_the_database_cannot_be_used() -> None:
    from moot.errors import StoreError
    from moot.store.sqlite import Memory

    class Broken(Memory):
        async def write(self, operation: object) -> Any:
            raise StoreError("the disk is gone; bring it back")

    app = simple_app()
    async with serving(app) as live:
        app.store.database = Broken(time.time)
        assert (await live.get("/api/health")).problem == (503, "store_error", "the disk is gone; bring it back")


# Errors


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/api/debates/DEB-none", None, 404, "not_found"),
        ("GET", "/api/debates/DEB-none/events", None, 404, "not_found"),
        ("POST", "/api/debates/DEB-none/stop", None, 404, "not_found"),
        ("POST", "/api/debates/DEB-none/restore", None, 404, "not_found"),
        ("DELETE", "/api/debates/DEB-none", None, 404, "not_found"),
        ("GET", "/api/nothing", None, 404, "not_found"),
        ("PUT", "/api/debates", None, 405, "method_not_allowed"),
        ("POST", "/api/debates", {"topic": "x", "format": "dule"}, 404, "not_found"),
        ("POST", "/api/debates", {"topic": " "}, 400, "invalid_input"),
        ("POST", "/api/debates", {"topic": "x" * 4001, "format": "duel"}, 400, "invalid_input"),
        ("POST", "/api/debates", {"topic": "x", "settings": {"nonsense": 1}, "format": "duel"}, 400, "invalid_input"),
        ("POST", "/api/debates", {"topic": "x", "more": 1}, 422, "invalid_input"),
        ("POST", "/api/debates", {}, 422, "invalid_input"),
        ("GET", "/api/debates?limit=0", None, 422, "invalid_input"),
        ("GET", "/api/debates?status=asleep", None, 422, "invalid_input"),
    ],
)
async def test_errors_have_one_form(live: Live, method: str, path: str, body: object, status: int, code: str) -> None:
    answer = await live.ask(method, path, body)
    assert answer.problem == (status, code, answer.body["error"]["message"])
    assert answer.body["error"]["message"]


async def test_a_field_that_is_not_known_is_told_with_the_one_that_was_meant(live: Live) -> None:
    answer = await live.ask("POST", "/api/debates", {"topic": "x", "setings": {}})
    assert answer.problem == (422, "invalid_input", "body.setings: not known, did you mean settings?")
    answer = await live.ask("POST", "/api/debates/DEB-22222222/resume", {"setings": {}})
    assert answer.problem == (422, "invalid_input", "body.setings: not known, did you mean settings?")


async def test_what_goes_wrong_inside_is_a_500_that_tells_nothing_of_it() -> None:
    class Broken(MemoryStore):
        async def list(self, **filters: object) -> tuple[()]:  # type: ignore[override]
            raise RuntimeError("a secret of the inside")

    async with serving(simple_app(Broken())) as live:
        answer = await live.get("/api/debates")
        assert answer.problem == (
            500,
            "internal_error",
            "something went wrong inside (RuntimeError); the server's log tells more",
        )
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_fork_begins_with_the_turns_of_its_origin_and_names_it(live: Live) -> None:
    debate_id = await live.create(max_rounds=1)
    await live.ended(debate_id)
    path = f"/api/debates/{debate_id}/fork"
    made = await live.post(path, {"position": 2, "settings": {"model": "scripted:other"}})
    assert (made.status, made.body["origin"]) == (201, {"debate": debate_id, "position": 2})
    assert made.headers["Location"] == f"/api/debates/{made.body['id']}"
    events = await live.all_events(made.body["id"])
    assert [event["position"] for event in events if event["type"] == "turn_finished"] == [0, 1, 2]
    fork = (await live.get(f"/api/debates/{made.body['id']}")).body
    assert [turn["model"] for turn in fork["turns"]] == ["scripted:model", "scripted:model", "scripted:other"]
    page = (await live.get(f"/debates/{made.body['id']}", headers={"accept": "text/html"})).body
    assert f'<a href="/debates/{debate_id}">forked from {debate_id} after the first 2 turns</a>' in page
    refused = await live.post(path, {"position": 9})
    assert refused.problem == (400, "invalid_input", f"{debate_id} has 3 turns; fork it at a position from 0 to 3")
    assert (await live.post(path, {"position": 2, "settings": {"model": "http://10.0.0.1/v1#x"}})).status == 400
