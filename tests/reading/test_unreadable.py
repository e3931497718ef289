"""An outcome that its format cannot read any more: every surface says so, and shows all the rest of the debate."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from in_process import moot
from integrations.mcp_stage import read, refusal, talking, use
from moot.app import App
from moot.core.debate import Status
from moot.core.events import TurnFinished
from moot.core.stored import StoredDebate
from moot.export.documents import export
from moot.integrations.langgraph import debate_graph
from moot.reading.debate import Reading
from moot.reading.history import events_of
from moot.reading.inspection import inspection
from moot.reading.unreadable import UNREADABLE
from moot.reading.views import whole_debate
from moot.store.sqlite import open_sqlite
from moot.testing import ScriptedModel, scripted_app
from stage import Panelists, sensible
from web.live import Live, serving
from web.theatre import company

WORDS = "The outcome was written by another version of the format and cannot be read"
STORED = {"headline": "Cats, by a whisker", "summary": "Old reasons.", "auto_score": "ten", "quality_score": []}
SHOWN = f"Cats, by a whisker ({WORDS})"
SPEECH = "speaks for it"
CHAT = {"model": "moot/duel", "messages": [{"role": "user", "content": "Cats?"}], "moot": {"max_rounds": 1}}
KEY = {"Idempotency-Key": "cats-1"}


class Place:
    """A database with one finished duel that today's formats cannot read."""

    def __init__(self, file: Path, **changed: Any) -> None:
        self.file = file
        self.format = changed.get("format", "duel")
        self.same_request = not changed
        self.debate = asyncio.run(self.visit(self._play))
        change(file, self.debate, outcome=json.dumps(STORED), **changed)

    async def _play(self, app: App) -> str:
        async with serving(app) as live:
            answer = await live.post("/v1/chat/completions", CHAT, headers=KEY)
        assert answer.status == 200
        return str(answer.body["moot"]["debate"])

    async def visit(self, do: Callable[[App], Awaitable[Any]]) -> Any:
        """Have an app of its own do something, which closes it."""
        return await do(scripted_app(ScriptedModel(company()), await open_sqlite(self.file)))


def change(file: Path, debate: str, **values: str) -> None:
    database = sqlite3.connect(file)
    with database:
        fields = ", ".join(f"{name} = ?" for name in values)
        database.execute(f"UPDATE debates SET {fields} WHERE id = ?", (*values.values(), debate))
    database.close()


CHANGES = {
    "of another version": {},
    "of another version with other settings": {"settings": '{"once": "otherwise"}'},
    "of a format that is not installed": {"format": "gone"},
}


@pytest.fixture(params=list(CHANGES))
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Place:
    monkeypatch.setenv("MOOT_DATABASE_URL", f"sqlite:///{tmp_path / 'moot.db'}")
    return Place(tmp_path / "moot.db", **CHANGES[request.param])


def test_every_surface_says_that_an_outcome_cannot_be_read_and_goes_on(
    place: Place, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asyncio.run(place.visit(lambda app: _browse(app, place)))
    asyncio.run(place.visit(lambda app: _call_tools(app, place)))
    _use_terminal(place, capsys, tmp_path)


async def _browse(app: App, place: Place) -> None:
    """The pages, the API, and OpenAI's dialect."""
    debate = place.debate
    async with serving(app) as live:
        for path in ("/", f"/debates/{debate}", f"/debates/{debate}/print"):
            page = await live.get(path)
            assert (page.status, SHOWN in page.body) == (200, True), path
            assert SPEECH in page.body or path == "/"
        (line,) = (await live.get("/api/debates")).body["debates"]
        whole = (await live.get(f"/api/debates/{debate}")).body
        assert (line["headline"], line["status"], line["format"]) == (SHOWN, "finished", place.format)
        assert (whole["headline"], whole["outcome"], whole["question"]) == (SHOWN, STORED, None)
        assert all(SPEECH in turn["content"] for turn in whole["turns"][:2])
        ended = await live.ended(debate)
        assert (ended["type"], ended["outcome"]) == ("debate_finished", STORED)
        for style in ("md", "html", "argdown"):
            text = (await live.get(f"/api/debates/{debate}/export?as={style}")).body
            assert (WORDS in text, SPEECH in text) == (True, True), style
        assert (await live.post(f"/api/debates/{debate}/rating", {"stars": 4})).status == 200
        refused = (await live.post(f"/api/debates/{debate}/workflow")).problem
        assert refused == (400, "invalid_input", f"no workflow can be made of {debate}: {WORDS}")
        await _chat(live, place)


async def _chat(live: Live, place: Place) -> None:
    if place.same_request:
        again = (await live.post("/v1/chat/completions", CHAT, headers=KEY)).body
        assert again["moot"]["debate"] == place.debate
        assert again["choices"][0]["message"]["content"].startswith(f"**{SHOWN}**\n\nOld reasons.")
    later = await live.post("/v1/chat/completions", {**CHAT, "moot": {"max_rounds": 1, "debate": place.debate}})
    assert later.status == 200
    made = (await live.get(f"/api/debates/{later.body['moot']['debate']}")).body
    assert (made["topic"], made["status"]) == ("Cats?", "finished")
    assert (await live.ask("DELETE", f"/api/debates/{made['id']}")).status == 204


async def _call_tools(app: App, place: Place) -> None:
    debate = place.debate
    async with talking(app) as client:
        report = await use(client, "look_at_debate", debate_id=debate)
        assert (report["debate"]["headline"], report["outcome"], report["speeches"]) == (SHOWN, STORED, 3)
        assert await use(client, "wait_for_debate", debate_id=debate) == report
        assert [line["headline"] for line in (await use(client, "list_debates"))["debates"]] == [SHOWN]
        found = await use(client, "search_decisions", words="whisker")
        assert [decision["headline"] for decision in found["decisions"]] == [SHOWN]
        assert SHOWN in await read(client, "moot://debates")
        for part in ("transcript", "decision"):
            text = await read(client, f"moot://debates/{debate}/{part}")
            assert (WORDS in text, SPEECH in text) == (True, True)
        assert json.loads(await read(client, f"moot://debates/{debate}/trace"))["outcome"] == STORED
        assert "finished" in await refusal(client, "resume_debate", debate_id=debate)


def _use_terminal(place: Place, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    debate = place.debate
    shown = moot(capsys, "show", debate)
    assert (shown.code, shown.err, SHOWN in shown.out, SPEECH in shown.out) == (0, "", True, True)
    assert json.loads(moot(capsys, "show", debate, "--json").out)["outcome"] == STORED
    assert debate in moot(capsys, "debate", "--list").out
    for style in ("md", "html", "argdown"):
        text = moot(capsys, "export", debate, "--as", style)
        assert (text.code, WORDS in text.out, SPEECH in text.out) == (0, True, True), style
    whole = json.loads(moot(capsys, "export", debate, "--as", "json").out)
    assert (whole["outcome"], whole["final_answer"], whole["auto_score"]) == (STORED, "Old reasons.", None)
    assert moot(capsys, "export", "--all", "--as", "jsonl", "--output", folder / "all").code == 0
    assert [json.loads(line)["id"] for line in (folder / "all" / "debates.jsonl").read_text().splitlines()] == [debate]
    stats = moot(capsys, "traces", "stats", "--json")
    assert [(row["format"], row["debates"], row["auto_score"]) for row in stats.events] == [(place.format, 1, None)]
    assert moot(capsys, "rate", debate, "5").out == f"{debate}: ★★★★★\n"
    refused = moot(capsys, "workflow", debate)
    assert (refused.code, refused.err) == (2, f"moot: no workflow can be made of {debate}: {WORDS}\n")


async def test_a_graph_goes_on_with_a_debate_whose_outcome_cannot_be_read(tmp_path: Path) -> None:
    app = scripted_app(ScriptedModel(company()), await open_sqlite(tmp_path / "moot.db"))
    graph = debate_graph(app, "duel", max_rounds=1).compile(InMemorySaver(), interrupt_before=["synthesize"])
    thread: Any = {"configurable": {"thread_id": "cats"}}
    begun: Any = {"topic": "Cats?"}
    debate = (await graph.ainvoke(begun, thread))["debate_id"]
    await app.run(debate, lambda event: None)
    change(tmp_path / "moot.db", debate, outcome=json.dumps(STORED))
    assert await graph.ainvoke(None, thread) == {"debate_id": debate, "outcome": STORED, "stop_reason": "max_rounds"}
    await app.close()


@pytest.mark.parametrize("stored", ["[1, 2]", '"hello"', "7", "true"])
async def test_an_outcome_that_is_no_object_is_shown_as_one_that_cannot_be_read(tmp_path: Path, stored: str) -> None:
    store = await open_sqlite(tmp_path / "moot.db")
    app = scripted_app(ScriptedModel(sensible), store)
    record = await app.create("duel", "Cats?", {"max_rounds": 1})
    await app.run(record.id, lambda event: None)
    with closing(sqlite3.connect(tmp_path / "moot.db")) as database, database:
        database.execute("UPDATE debates SET outcome = ?", (stored,))
    reading = await app.read(record.id)
    assert reading.headline == UNREADABLE
    for style in ("md", "html", "argdown", "json"):
        assert await app.export(record.id, style)
    assert len(await app.stats()) == 1
    assert [Reading(StoredDebate(each.record), reading.format).headline for each in await app.listing.page()] == [
        UNREADABLE
    ]
    await app.close()


async def test_a_debate_that_waits_with_a_question_that_cannot_be_known_is_shown_and_can_be_stopped(
    tmp_path: Path,
) -> None:
    store = await open_sqlite(tmp_path / "moot.db")
    app = scripted_app(ScriptedModel(Panelists()), store)
    debate = (await app.create("panel", "Redis?", {"max_rounds": 1})).id
    await app.run(debate, lambda event: None)
    change(tmp_path / "moot.db", debate, format="gone")
    async with serving(app) as live:
        page = await live.get(f"/debates/{debate}")
        assert (page.status, "It waits for an answer to a question that is not known here" in page.body) == (200, True)
        assert f'action="/debates/{debate}/stop"' in page.body
        assert f'action="/debates/{debate}/resume"' not in page.body
        assert (await live.get(f"/api/debates/{debate}")).body["question"] is None
        assert (await live.post(f"/api/debates/{debate}/stop")).body["status"] == "stopped"
        assert (await live.get(f"/debates/{debate}")).status == 200


async def test_a_debate_whose_provider_is_gone_is_shown_and_names_its_model(tmp_path: Path) -> None:
    app = scripted_app(ScriptedModel(sensible), await open_sqlite(tmp_path / "moot.db"))
    record = await app.create("duel", "Cats?", {"max_rounds": 1})
    seats = {name: asdict(replace(seat, model="gone:away")) for name, seat in record.seats.items()}
    change(tmp_path / "moot.db", debate := record.id, seats=json.dumps(seats))
    async with serving(app) as live:
        for _ in range(2):
            page = await live.get(f"/debates/{debate}")
            assert (page.status, "gone:away" in page.body) == (200, True)


@pytest.mark.parametrize("data", [{}, {"calls": [1], "opposed": [3], "decision": -1, "templates": [{}]}])
@pytest.mark.parametrize(("format", "settings"), [("panel", {}), ("critique", {"min_rounds": 1}), ("duel", {})])
async def test_turns_with_data_of_another_version_are_shown_as_they_were_said(
    format: str, settings: dict[str, Any], data: dict[str, Any]
) -> None:
    app = scripted_app(ScriptedModel(Panelists() if format == "panel" else sensible))
    debate = (await app.create(format, "Redis?", {"max_rounds": 1, "depth": "normal", **settings})).id
    await app.run(debate, lambda event: None)
    stored = await app.load(debate)
    assert format != "panel" or stored.record.status is Status.WAITING
    for turn in stored.turns:
        turns = [replace(each, data=data) if each is turn else each for each in stored.turns]
        reading = app.reading(stored._replace(turns=tuple(turns)))
        told = [event.content for event in events_of(reading.stored, reading.format) if isinstance(event, TurnFinished)]
        assert told == [each.content for each in turns]
        assert [each.content for each in whole_debate(reading).turns] == told
        assert reading.trace["final_answer"] == app.reading(stored).trace["final_answer"]
        assert all("Redis?" in export(reading, style) for style in ("md", "html", "argdown"))
        assert inspection(reading, app.prompts, turn.position).seat == turn.seat


async def test_a_turn_of_research_of_another_version_is_shown_as_it_was_said() -> None:
    app = scripted_app(ScriptedModel(sensible))
    debate = (await app.create("duel", "Cats?", {"max_rounds": 1})).id
    await app.run(debate, lambda event: None)
    stored = await app.load(debate)
    searched = replace(stored.turns[0], seat="researcher", kind="research", data={"calls": ["x"]})
    reading = app.reading(stored._replace(turns=(searched, *stored.turns[1:])))
    assert len(events_of(reading.stored, reading.format)) == len(stored.turns) + 1
    assert [each.content for each in whole_debate(reading).turns] == [each.content for each in stored.turns]


@pytest.mark.parametrize("field", ["winner", "tally"])
async def test_an_outcome_whose_headline_or_table_cannot_be_told_is_of_another_version(field: str) -> None:
    app = scripted_app(ScriptedModel(sensible))
    debate = (await app.create("poll", "Cats?", {"ballots": 3})).id
    await app.run(debate, lambda event: None)
    stored = await app.load(debate)
    outcome = {**(stored.record.outcome or {}), field: {"winner": "x", "tally": {"x": 1.0}}[field]}
    reading = app.reading(stored._replace(record=replace(stored.record, outcome=outcome)))
    assert WORDS in str(reading.headline)
    assert WORDS in str(whole_debate(reading).headline)
    assert all("Cats?" in export(reading, style) for style in ("md", "html"))


async def test_an_outcome_with_a_number_beyond_all_is_of_another_version() -> None:
    app = scripted_app(ScriptedModel(sensible))
    debate = (await app.create("duel", "Cats?", {"max_rounds": 1})).id
    await app.run(debate, lambda event: None)
    stored = await app.load(debate)
    outcome = {**(stored.record.outcome or {}), "score_a": "9" * 400}
    reading = app.reading(stored._replace(record=replace(stored.record, outcome=outcome)))
    assert WORDS in str(reading.headline)
    assert all("Cats?" in export(reading, style) for style in ("md", "html"))


async def test_a_chart_that_cannot_be_drawn_of_a_debate_is_left_out_and_the_log_says_why(caplog: Any) -> None:
    app = scripted_app(ScriptedModel(sensible))
    debate = (await app.create("duel", "Cats?", {"max_rounds": 1})).id
    await app.run(debate, lambda event: None)
    reading = await app.read(debate)
    broken = replace(reading.format, charts=lambda debate, outcome: [1 / len(outcome.todo())])
    assert Reading(reading.stored, broken).charts == []
    assert caplog.messages == [
        f"a part of {debate} is not shown: its format raised ZeroDivisionError('division by zero')"
    ]
    assert export(Reading(reading.stored, broken), "html") != ""


def _faulty(*_: object) -> Any:
    return [][1]


@pytest.mark.parametrize("part", ["document", "headline", "table", "notes", "script"])
async def test_what_a_format_fails_to_show_is_named_in_the_log(part: str, caplog: Any) -> None:
    app = scripted_app(ScriptedModel(sensible))
    debate = (await app.create("duel", "Cats?", {"max_rounds": 1, "depth": "quick"})).id
    await app.run(debate, lambda event: None)
    reading = await app.read(debate)
    stored, format = reading.stored, reading.format
    if part in ("notes", "script"):
        format = replace(format, **{part: _faulty})
        stored = stored._replace(record=replace(stored.record, status=Status.WAITING))
    else:
        format = replace(format, outcome=type("Faulty", (format.outcome,), {part: _faulty}))
    broken = Reading(stored, format)
    shown = {
        "document": lambda: broken.document,
        "headline": lambda: broken.headline,
        "table": lambda: broken.headline,
        "notes": lambda: broken.events,
        "script": lambda: broken.question,
    }
    shown[part]()
    raised = "its format raised IndexError('list index out of range')"
    assert {*caplog.messages} == {f"a part of {debate} is not shown: {raised}"}
