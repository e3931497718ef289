"""The pages for a reader without JavaScript, over the application itself: everything can be read and done."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from hostile import PAYLOADS
from markup import Element, Reader, fields_of, parsed
from pydantic import Field
from theatre import company

from model_server import PATIENCE
from moot.app import App
from moot.core.debate import Settings, Status
from moot.core.format import AnyFormat
from moot.core.stored import StoredDebate
from moot.errors import Refused
from moot.formats import load
from moot.formats.duel.format import DUEL
from moot.llm.client import Request
from moot.runs.embedded import EmbeddedQueue
from moot.runs.process import this_process
from moot.settings import Price
from moot.store.refusals import not_found
from moot.testing import ScriptedModel, scripted_app
from moot.web.guard import POLICY
from moot.web.pages.assets import FOREVER
from moot.web.pages.forms import InvalidFields, form, settings
from moot.web.pages.markdown import document, speech
from moot.web.server import build_app
from moot.web.stream.hub import Hub
from stage import CLEAR, FAST, SAFE, decisions

OPPOSED = {"name": "Slow Food", "priorities": "taste, time", "trade_offs": "Accepts slower service for taste"}


class House:
    """A server without sockets, and its reader."""

    def __init__(self, replies: Callable[[Request], str], **options: Any) -> None:
        faults = options.pop("faults", None)
        self.app: App = scripted_app(ScriptedModel(replies, faults=faults), **options)
        self.app.queue = self.queue = EmbeddedQueue(self.app.runner)
        self.web = build_app(self.app, Hub(self.app.follow))
        self.reader = Reader(self.web)

    async def until(self, debate_id: str, *statuses: Status) -> None:
        async with asyncio.timeout(PATIENCE):
            while (await self.app.load(debate_id)).record.status not in statuses:
                async with aclosing(self.app.follow(debate_id, through_waits=True)) as events:
                    async for _ in events:
                        if (await self.app.load(debate_id)).record.status in statuses:
                            return

    async def played(self, format: str, topic: str, **settings: Any) -> str:
        """A debate that has ended, or waits."""
        record = await self.app.create(format, topic, settings, start=True)
        await self.until(record.id, Status.FINISHED, Status.WAITING, Status.FAILED)
        return record.id


@pytest.fixture
async def house() -> AsyncIterator[House]:
    made = House(company())
    yield made
    await made.queue.drain(0)
    await made.app.models.close()
    await made.reader.client.aclose()


def texts(elements: list[Element]) -> list[str]:
    return [element.text for element in elements]


# The list


async def test_an_empty_list_starts_a_first_debate(house: House) -> None:
    page = await house.reader.open("/")
    assert page.one("h1").text == "Put a question. Watch it argued. Get a decision you can check."
    assert page.one("p", class_="runs-on").text == "Runs on model (scripted) in every seat · change"
    await house.reader.submit("/new", "start", topic="Cats or dogs?", format="duel")
    record = (await house.app.load(house.reader.path.removeprefix("/debates/"))).record
    assert (record.topic, record.format) == ("Cats or dogs?", "duel")
    await house.until(record.id, Status.FINISHED)


async def test_a_starter_fills_the_form_with_its_format_perspectives_and_depth(house: House) -> None:
    page = await house.reader.open("/")
    cards = page.all("a", class_="starter")
    assert {card.one("b").text for card in cards} == {"Panel", "Duel", "Evaluation", "Critique"}
    (offers,) = [card for card in cards if "offers" in card.text]
    page = await house.reader.open(offers.attributes["href"])
    filled = dict(fields_of(page.one("form", id="new")))
    names = ("topic", "format", "panel.perspectives", "panel.depth")
    assert [filled[name] for name in names] == ["Which of these three offers should we take?", "panel", "2", "careful"]


async def test_with_only_the_built_in_model_the_first_page_says_how_to_get_a_better_one() -> None:
    house = House(company())
    house.app.settings.model = None
    page = await house.reader.open("/")
    assert page.one("section", class_="notice").one("h2").text == "Only the tiny built-in model is here"
    await house.app.models.close()
    commands = [each.text for each in page.all("code")]
    assert commands == ["export DEEPSEEK_API_KEY=sk-…", "ollama pull qwen3:32b", "moot doctor"]
    assert page.one("p", class_="runs-on").text.startswith(
        "Runs on smollm2, the tiny built-in model in every seat · free"
    )


async def test_a_tiny_model_of_ones_own_is_warned_of_too() -> None:
    Path("tiny.gguf").write_bytes(b"GGUF")  # noqa: ASYNC240
    house = House(company())
    house.app.settings.model = "local:./tiny.gguf"
    page = await house.reader.open("/")
    assert page.one("section", class_="notice").one("h2").text == "Only a tiny local model is here"
    assert ", a tiny local model in every seat" in page.one("p", class_="runs-on").text
    await house.app.models.close()


async def test_the_list_tells_status_format_outcome_and_cost_of_every_debate() -> None:
    house = House(company(), prices={"scripted:model": Price(input=1, output=1_000_000)})
    await house.played("duel", "Cats are better", max_rounds=1)
    await house.played("panel", "Redis or Postgres?", max_rounds=2)
    await house.app.create("duel", "Dogs are better")
    page = await house.reader.open("/")
    assert texts(page.one("article", class_="waiting").all("a", class_="topic")) == ["Redis or Postgres?"]
    assert page.one("article", class_="waiting").one("span", class_="state").text == "Your turn"
    shown = [
        (
            row.one("a", class_="topic").text,
            texts(row.all("p", class_="result")),
            texts(row.all("span", class_="state")),
            row.one("time").text,
            row.one("span", title="cost").text[:2],
        )
        for row in page.all("li", class_="debate")
    ]
    assert shown == [
        ("Dogs are better", [], ["not started"], "just now", "no"),
        ("Cats are better", ["The case for it wins, 7 : 4"], [], "just now", "$2"),
    ]


async def test_the_list_is_searched_filtered_and_read_page_by_page(house: House) -> None:
    for number in range(23):
        await house.app.create("duel", f"Topic number {number}")
    await house.app.create("panel", "Something else")
    page = await house.reader.open("/")
    first = texts(page.all("a", class_="topic"))
    page = await house.reader.open(page.one("a", rel="next").attributes["href"])
    second = texts(page.all("a", class_="topic"))
    assert first + second == ["Something else", *(f"Topic number {number}" for number in reversed(range(23)))]
    assert texts(page.all("nav", aria_label="Pages")) == ["Newer 4 of 24"]
    page = await house.reader.open(page.one("a", rel="prev").attributes["href"])
    assert texts(page.all("a", class_="topic")) == first
    assert page.all("a", rel="prev") == []
    page = await house.reader.submit("/", q="2 NUMBER")
    assert texts(page.all("a", class_="topic")) == [f"Topic number {number}" for number in (22, 21, 20, 12, 2)]
    page = await house.reader.submit("/", q="")
    panels = next(each for each in page.all("a", class_="chip") if each.text == "Panel")
    page = await house.reader.open(panels.attributes["href"])
    assert texts(page.all("a", class_="topic")) == ["Something else"]
    page = await house.reader.submit("/", status="created")
    assert (house.reader.query, texts(page.all("a", class_="topic"))) == (
        {"format": "panel", "status": "created"},
        ["Something else"],
    )
    page = await house.reader.submit("/", status="failed", q="moon")
    assert page.one("div", class_="notice").one("h2").text == "Nothing matches “moon”"


async def test_of_a_long_question_the_list_shows_how_it_begins(house: House) -> None:
    await house.app.create("duel", "# A shelf of parts\n\nIt costs 1,900 euros.")
    assert texts((await house.reader.open("/")).all("a", class_="topic")) == ["A shelf of parts"]


async def test_the_list_is_searched_in_outcomes_too(house: House) -> None:
    await house.played("duel", "Cats are better", max_rounds=1)
    page = await house.reader.open("/?q=reasons+CATS")
    assert texts(page.all("a", class_="topic")) == ["Cats are better"]
    page = await house.reader.open("/?q=reasons+dogs")
    assert page.all("a", class_="topic") == []


async def test_what_was_deleted_is_in_the_trash_and_filters_survive_a_deletion(house: House) -> None:
    records = [await house.app.create("duel", topic) for topic in ("Cats are better", "Dogs are better")]
    await house.reader.open("/?q=better&format=duel")
    page = await house.reader.submit(f"/debates/{records[0].id}/delete")
    assert house.reader.query == {"q": "better", "format": "duel", "deleted": records[0].id}
    assert texts(page.all("a", class_="topic")) == ["Dogs are better"]
    page = await house.reader.open(page.one("a", href="/?trash=1").attributes["href"])
    assert texts(page.all("span", class_="topic")) == ["Cats are better"]
    await house.reader.submit(f"/debates/{records[0].id}/restore")
    page = await house.reader.open("/?trash=1")
    assert page.one("div", class_="notice").one("h2").text == "The trash is empty"


async def test_a_debate_that_is_deleted_while_the_first_page_is_made_is_not_pinned_to_it(house: House) -> None:
    record = await house.app.create("duel", "Cats are better")
    await house.app.store.enqueue(record.id)

    async def deleted_since(debate_id: str) -> StoredDebate:
        raise not_found(debate_id)

    house.app.store.load = deleted_since  # type: ignore[method-assign]
    page = await house.reader.open("/")
    assert (house.reader.response.status_code, page.all("a", class_="topic")) == (200, [])


async def test_a_deleted_debate_is_gone_and_comes_back_by_undo(house: House) -> None:
    record = await house.app.create("duel", "Cats are better")
    await house.reader.open("/")
    page = await house.reader.submit(f"/debates/{record.id}/delete")
    assert page.one("div", role="status").text == f"{record.id} is deleted. Undo"
    assert page.all("a", class_="topic") == []
    page = await house.reader.submit(f"/debates/{record.id}/restore")
    assert house.reader.path == f"/debates/{record.id}"
    assert page.one("h1").text == "Cats are better"


# A new debate


async def test_a_duel_is_created_with_the_stance_that_was_chosen(house: House) -> None:
    await house.reader.open("/new?format=duel")
    page = await house.reader.submit(
        "/new", "start", topic="Cats are better", duel__stance_a="con", duel__max_rounds="1"
    )
    debate_id = house.reader.path.removeprefix("/debates/")
    record = (await house.app.load(debate_id)).record
    assert (record.topic, record.settings["stance_a"], record.settings["max_rounds"]) == ("Cats are better", "con", 1)
    assert page.one("h1").text == "Cats are better"
    await house.until(debate_id, Status.FINISHED)


async def test_a_form_that_is_sent_twice_makes_one_debate(house: House) -> None:
    for topic in ("Cats\r\nor dogs?", "Cats\r\nor dogs?", "Tea?"):
        page = await house.reader.open("/new?format=duel")
        page.one("input", name="once").attributes["value"] = "1"
        await house.reader.submit("/new", "start", topic=topic)
    assert [record.topic for record in await house.app.list()] == ["Tea?", "Cats\nor dogs?"]


@pytest.mark.parametrize("status", [Status.STOPPED, Status.FINISHED, Status.WAITING])
async def test_a_form_that_is_sent_again_later_leads_to_its_debate_and_changes_nothing(
    house: House, status: Status
) -> None:
    page = await house.reader.open(f"/new?format={'duel' if status is Status.FINISHED else 'panel'}")
    await house.reader.submit("/new", "start", topic="Cats or dogs?")
    path = house.reader.path
    debate_id = path.rpartition("/")[2]
    await house.until(debate_id, Status.FINISHED, Status.WAITING)
    while (await house.queue.load()).running:  # noqa: ASYNC110 - its run is about to end
        await asyncio.sleep(0)
    if status is Status.STOPPED:
        await house.app.stop(debate_id)
    before = await house.app.load(debate_id)
    assert before.record.status is status
    house.reader.page = page  # as the button that leads back does
    await house.reader.submit("/new", "start", topic="Cats or dogs?")
    assert (house.reader.response.status_code, house.reader.path) == (200, path)
    assert await house.app.load(debate_id) == before


@pytest.mark.parametrize("name", sorted(load()))
async def test_a_form_that_nobody_has_touched_chooses_nothing(house: House, name: str) -> None:
    page = await house.reader.open("/new")
    posted: dict[str, list[str]] = {}
    for field, value in fields_of(page.one("form", id="new")):
        posted.setdefault(field, []).append(value)
    assert settings(load()[name], house.app.drafts.configured(load()[name]), posted) == {}


async def test_a_debate_is_run_again_with_all_that_it_was_asked_with(house: House) -> None:
    sources = [{"name": "notes", "text": "Redis is fast."}]
    chosen = {"max_rounds": 1, "stance_a": "con", "models": {"judge": "scripted:other"}, "sources": sources}
    debate_id = await house.played("duel", "Cats are better", **chosen)
    await house.reader.open(f"/new?again={debate_id}")
    await house.reader.submit("/new", "start", duel__max_rounds="2")
    again = await house.app.load(house.reader.path.removeprefix("/debates/"))
    await house.until(again.record.id, Status.FINISHED)
    before = (await house.app.load(debate_id)).record
    assert again.record.topic == before.topic
    assert again.record.seats == before.seats
    assert again.record.settings == {**before.settings, "max_rounds": 2}


async def test_every_format_explains_itself(house: House) -> None:
    page = await house.reader.open("/new?format=critique")
    cards = page.one("fieldset", class_="formats").all("label", class_="pick")
    assert texts(cards) == [f"{each.name.capitalize()} {each.summary}" for each in load().values()]
    assert len({str(card.one("svg", class_="glyph")) for card in cards}) == len(cards)
    (chosen,) = [each for each in page.all("input", name="format") if "checked" in each.attributes]
    assert chosen.attributes["value"] == "critique"


async def test_errors_stand_beside_their_fields_and_everything_typed_is_kept(house: House) -> None:
    await house.reader.open("/new?format=duel")
    page = await house.reader.submit(
        "/new", "start", topic="Cats", duel__max_rounds="0", duel__max_cost="much", duel__stance_a="con"
    )
    assert house.reader.response.status_code == 422
    assert page.one("p", role="alert").text == "Nothing has started: look at what is marked."
    faults = {each.attributes["id"]: each.text for each in page.all("p", class_="fault")}
    assert faults == {
        "duel-max_rounds-fault": "At least 1.",
        "duel-max_cost-fault": "Write a number, such as 0.5.",
    }
    field = page.one("input", id="duel-max_rounds")
    assert (field.attributes["value"], field.attributes["aria-invalid"]) == ("0", "true")
    assert "duel-max_rounds-fault" in field.attributes["aria-describedby"]
    folds = {
        each.one("summary").text.rpartition(" ")[2]: "open" in each.attributes
        for each in page.all("details", class_="advanced")
    }
    assert [name for name, is_open in folds.items() if is_open] == ["duel"]
    kept = dict(fields_of(page.one("form", id="new")))
    assert (kept["topic"], kept["duel.max_cost"], kept["duel.stance_a"]) == ("Cats", "much", "con")
    assert await house.app.list() == ()


async def test_an_empty_topic_is_told_beside_the_topic(house: House) -> None:
    await house.reader.open("/new")
    page = await house.reader.submit("/new", "start", topic="  ")
    assert page.one("p", id="topic-fault").text == "The topic is empty: write the question to debate."


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ({"panel__perspectives": "3"}, "3"),
        ({"panel__perspectives__pick": [FAST, CLEAR]}, [FAST, CLEAR]),
        (
            {
                "panel__perspectives__pick": [FAST],
                **{f"panel__perspectives__0__{name}": value for name, value in OPPOSED.items()},
            },
            [FAST, {**OPPOSED, "priorities": ["taste", "time"]}],
        ),
    ],
)
async def test_perspectives_are_counted_picked_or_written(house: House, typed: dict[str, Any], expected: Any) -> None:
    page = await house.reader.open("/new?format=panel")
    assert FAST in texts(page.all("b"))
    posted = {name.replace("__", "."): [value] if isinstance(value, str) else value for name, value in typed.items()}
    assert settings(load()["panel"], {}, {"panel.perspectives": [""], **posted}) == {"perspectives": expected}


async def test_perspectives_that_cannot_debate_are_refused_with_the_reason(house: House) -> None:
    await house.reader.open("/new?format=panel")
    page = await house.reader.submit("/new", "start", topic="Redis?", panel__perspectives__pick=[FAST])
    assert page.one("p", role="alert").text == "A panel takes 2 to 4 perspectives, not 1; choose 1 more."
    boxes = [each for each in page.all("input", name="panel.perspectives.pick") if "checked" in each.attributes]
    assert [each.attributes["value"] for each in boxes] == [FAST]


async def test_sources_and_ideas_are_pasted(house: House) -> None:
    posted = {
        "sources.0.name": ["notes"],
        "sources.0.text": ["Redis is fast."],
        "sources.1.name": [""],
    }
    assert settings(load()["panel"], {}, posted) == {"sources": [{"name": "notes", "text": "Redis is fast."}]}
    assert settings(load()["evaluation"], {}, {"evaluation.idea": ["A bakery."]}) == {"idea": "A bakery."}


async def test_models_are_chosen_by_seat_and_never_by_address(house: House) -> None:
    await house.reader.open("/new?format=duel")
    page = await house.reader.submit("/new", "start", topic="Cats", duel__models__judge="http://evil/v1#m")
    assert page.one("p", role="alert").text == (
        "Models: 'http://evil/v1#m' is an address; name a model, PROVIDER:MODEL, instead."
    )
    page = await house.reader.submit("/new", "start", topic="Cats", duel__models__judge="nobody:model")
    assert page.one("p", id="duel-models-judge-fault").text.startswith("No provider in 'nobody:model': write")
    await house.reader.submit("/new", "start", topic="Cats", duel__models__judge="scripted:other")
    record = (await house.app.load(house.reader.path.removeprefix("/debates/"))).record
    assert {seat: chosen.model for seat, chosen in record.seats.items()} == {
        "debater_a": "scripted:model",
        "debater_b": "scripted:model",
        "judge": "scripted:other",
    }


async def test_the_cost_is_estimated_before_anything_is_created(house: House) -> None:
    await house.reader.open("/new?format=duel")
    page = await house.reader.submit("/new", "estimate", topic="Cats", duel__max_rounds="1", duel__depth="quick")
    assert page.one("span", id="estimate").text == "19 s"
    told = page.one("div", id="bill").one("dl").text
    assert re.fullmatch(r"Runs on model × 3 Calls about 3 Tokens 2\.\dk in, 960 out", told)
    assert {each.attributes["value"]: each.text for each in page.all("data")} == {
        "duel.depth.quick": "about 19 s",
        "duel.depth.normal": "about 1 min",
        "duel.depth.careful": "about 2 min",
    }
    assert await house.app.list() == ()


async def test_what_costs_nothing_is_told_in_words_that_say_so() -> None:
    house = House(company(), prices={"scripted:model": Price(input=0, output=0)})
    page = await house.reader.open("/new?format=duel&topic=Cats&duel.depth=quick")
    assert page.one("p", class_="sum-line").text == "1 min · free about; it costs nothing"
    assert page.one("data", value="duel.depth.quick").text == "about 1 min · free"
    await house.reader.client.aclose()


async def test_a_question_from_a_markdown_file_has_no_mark_of_a_heading_on_any_page(house: House) -> None:
    debate_id = await house.played("duel", "# Cats are better\n\nBecause.", max_rounds=1)
    url = f"/debates/{debate_id}"
    for path in ("/", url, f"{url}/print", f"/compare?a={debate_id}"):
        await house.reader.open(path)
        assert "# Cats" not in house.reader.response.text, path


async def test_the_estimate_follows_what_is_chosen_without_the_page(house: House) -> None:
    async def estimate(**said: str) -> Element:
        answer = await house.reader.client.post("/new/estimate", data=said)
        assert answer.status_code == 200
        return parsed(answer.text)

    one = await estimate(format="duel", topic="", **{"duel.max_rounds": "1"})
    two = await estimate(format="duel", topic="", **{"duel.max_rounds": "2"})
    assert (one.one("span", id="estimate").text, two.one("span", id="estimate").text) == ("19 s", "34 s")
    wrong = await estimate(format="duel", **{"duel.max_rounds": "many"})
    assert wrong.one("p", class_="sum-line").text == (
        "– The estimate comes when all that is marked or needed is filled in."
    )


class WritingSettings(Settings):
    tone: Literal["calm", "loud", "dry", "sweet", "sour"] = Field("calm", description="how it sounds")
    words: list[str] = Field(default_factory=list)
    ratios: dict[str, float] = Field(default_factory=dict)
    deep: dict[str, dict[str, int]] = Field(default_factory=dict)
    title: str
    ready: bool = False


WRITING: AnyFormat = replace(DUEL, name="writing", summary="Two writers.", settings=WritingSettings)


def test_a_format_of_somebody_else_gets_a_form_for_whatever_it_lets_one_choose() -> None:
    made = form(WRITING, {}, {})
    shown = (*made.group("sources"), *made.group("first"), *made.group("more"))
    assert [(each.name, each.label, each.widget, each.hint) for each in shown] == [
        ("sources", "Sources", "rows", "Documents to argue from"),
        ("writing.title", "Title", "line", ""),
        ("writing.tone", "Tone", "choice", "How it sounds"),
        ("writing.words", "Words", "list", ""),
        ("writing.ratios", "Ratios", "pairs", ""),
        ("writing.deep", "Deep", "json", ""),
        ("writing.ready", "Ready", "flag", ""),
    ]
    posted = {
        "writing.tone": ["loud"],
        "writing.words": ["a, b\nc"],
        "writing.ratios": ["x = 0.5\ny=2"],
        "writing.deep": ['{"a": {"b": 1}}'],
        "writing.title": ["T"],
        "writing.ready": ["", "on"],
    }
    assert settings(WRITING, {}, posted) == {
        "tone": "loud",
        "words": ["a", "b", "c"],
        "ratios": {"x": "0.5", "y": "2"},
        "deep": {"a": {"b": 1}},
        "title": "T",
        "ready": True,
    }


def test_what_cannot_be_read_is_told_by_field() -> None:
    posted = {"writing.ratios": ["x"], "writing.deep": ["{"], "writing.title": [""]}
    with pytest.raises(InvalidFields) as raised:
        settings(WRITING, {}, posted)
    assert raised.value.faults == {
        "ratios": "'x' is not of the form name = value; write one pair on each line",
        "deep": "this is no JSON: unexpected end of data, line 1",
        "title": "This is needed.",
    }


# A debate


async def test_a_finished_duel_is_its_outcome_and_every_turn(house: House) -> None:
    debate_id = await house.played("duel", "Cats are better", max_rounds=2)
    page = await house.reader.open(f"/debates/{debate_id}")
    verdict = page.one("section", id="verdict")
    assert verdict.one("h2", class_="headline").text == "The case for it wins"
    assert verdict.one("div", class_="score").text == "7 For, Debater A : 4 Against, Debater B"
    assert "Ended because all rounds were played." in verdict.text
    transcript = page.one("section", id="transcript")
    assert texts(transcript.all("h3", class_="round-line")) == ["Round 1", "Round 2", "Closing"]
    turns = transcript.all("details", class_="turn")
    assert texts([turn.one("h3") for turn in turns]) == [
        *["Debater A argument", "Debater B argument"] * 2,
        "Judge verdict",
    ]
    assert [turn.attributes["data-seat"] for turn in turns] == [*["debater_a", "debater_b"] * 2, "judge"]
    caveats = page.one("section", id="caveats")
    assert texts(caveats.all("li")) == ["one model, scripted:model, spoke in every seat"]
    assert [each.attributes["href"] for each in page.one("menu").all("a")] == [
        f"/debates/{debate_id}/print",
        *(f"/api/debates/{debate_id}/export?as={style}" for style in ("md", "html", "json", "argdown")),
    ]
    contents = [each.attributes["href"][1:] for each in page.one("nav", class_="index").all("a")]
    assert contents == ["verdict", "caveats", "transcript", "took"]
    assert set(contents) <= {each.attributes["id"] for each in page if "id" in each.attributes}
    assert len(page.all("figure")) == len(page.all("svg", role="img")) > 0


async def test_the_background_of_a_question_stands_below_it(house: House) -> None:
    record = await house.app.create("duel", "Cats?", background="<conversation>\nUser: So?\n</conversation>")
    page = await house.reader.open(f"/debates/{record.id}")
    assert (page.one("h1").text, page.one("p", class_="background").text.split()) == (
        "Cats?",
        ["<conversation>", "User:", "So?", "</conversation>"],
    )


async def test_an_outcome_is_rated_and_the_rating_shown(house: House) -> None:
    debate_id = await house.played("duel", "Cats are better", max_rounds=1)
    await house.reader.open(f"/debates/{debate_id}")
    page = await house.reader.submit(f"/debates/{debate_id}/rating", stars="4", comment="Fair.")
    rating = page.one("div", id="rating")
    assert rating.one("p").text == "You gave it 4 of 5 stars."
    assert dict(fields_of(rating)) == {"stars": "4", "comment": "Fair."}
    page = await house.reader.submit(f"/debates/{debate_id}/rating", stars="9")
    assert house.reader.response.status_code == 422
    assert page.one("p", role="alert").text == "9 stars cannot be given: give 1 to 5"


async def test_a_panel_is_steered_approved_and_made_a_workflow_by_forms_alone(house: House) -> None:
    await house.reader.open("/new?format=panel")
    await house.reader.submit("/new", "start", topic="Redis or Postgres?", panel__max_rounds="2")
    url = house.reader.path
    debate_id = url.removeprefix("/debates/")
    await house.until(debate_id, Status.WAITING)
    page = await house.reader.open(url)
    asked = page.one("section", id="controls")
    assert texts(asked.all("button", name="action")) == ["Continue", "Add guidance", "End & synthesize"]
    assert asked.one("div", class_="prose").text.startswith("New points still come up.")
    page = await house.reader.submit(f"{url}/reply", "guide")
    assert page.one("p", role="alert").text == "`guide` needs a text: say what you want the debate to hear"
    await house.reader.submit(f"{url}/reply", "guide", text="Mind the cost.")
    await house.until(debate_id, Status.WAITING)
    page = await house.reader.open(url)
    buttons = texts(page.one("section", id="controls").all("button", name="action"))
    assert buttons == ["Approve", "Add guidance", "Reject"]
    await house.reader.submit(f"{url}/reply", "approve")
    await house.until(debate_id, Status.FINISHED)
    page = await house.reader.open(url)
    verdict = page.one("section", id="verdict")
    assert (verdict.one("p", class_="label").text, verdict.one("h2").text) == ("Approved", "Use Redis")
    assert verdict.one("p", class_="level-head").text == "Low confidence"
    ((name, text),) = decisions().items()
    assert page.one("p", id="document-place").text == f"Written to docs/decisions/{name} on the server."
    assert text.startswith(f"---\ndebate: {debate_id}\n")
    assert "Dissent" in texts(page.all("h2"))
    anchors = {f"#{each.attributes['id']}" for each in page if "id" in each.attributes}
    links = {each.attributes["href"] for each in page.one("section", id="reached").all("a", class_="cite")}
    assert links
    assert links <= anchors
    assert page.one("div", id="text-7").text == "Mind the cost."
    page = await house.reader.submit(f"{url}/workflow")
    handed = page.one("details", id="workflow").one("summary")
    assert handed.text.removeprefix("WFL-")[9:].startswith("Act on the decision: Redis or Postgres?")
    page = await house.reader.open("/")
    assert [each.text[:4] for each in page.all("a") if each.attributes["href"] == f"{url}#workflow"] == ["WFL-"]


@pytest.fixture
def in_the_way(tmp_path: Path) -> Path:
    """A file where the folder of the decisions should be."""
    (tmp_path / "docs").touch()
    return tmp_path / "docs"


async def test_where_no_decision_can_be_written_the_page_says_where_it_is_and_writes_it_when_it_can_be(
    house: House, in_the_way: Path
) -> None:
    debate_id = await house.played("panel", "Redis or Postgres?", max_rounds=1)
    await house.app.reply(debate_id, "approve")
    await house.until(debate_id, Status.FINISHED)
    url = f"/debates/{debate_id}"
    page = await house.reader.open(url)
    said = page.one("form", id="document-place")
    assert said.one("p").text == "It is not in docs/decisions on this server: take it as Markdown ."
    assert said.one("a").attributes["href"] == f"/api{url}/export?as=md"
    page = await house.reader.submit(f"{url}/document")
    assert page.one("p", role="alert").text.startswith("cannot write a decision to 'docs/decisions': ")
    await asyncio.to_thread(in_the_way.unlink)
    page = await house.reader.submit(f"{url}/document")
    assert (
        page.one("p", id="document-place").text == "Written to docs/decisions/0001-redis-or-postgres.md on the server."
    )


async def test_an_answer_to_what_is_not_asked_any_more_is_refused_and_kept(house: House) -> None:
    debate_id = await house.played("panel", "Redis or Postgres?", max_rounds=2)
    await house.reader.open(f"/debates/{debate_id}")
    page = await house.reader.submit(f"/debates/{debate_id}/reply", "guide", text="Mind the cost.", position="3")
    assert house.reader.response.status_code == 409
    assert page.one("p", role="alert").text == f"{debate_id} does not ask at position 3, but is at 7; read on"
    assert page.one("textarea", id="words").raw == "\nMind the cost."


async def test_a_debate_is_started_stopped_resumed_and_concluded(house: House) -> None:
    debate_id = await house.played("panel", "Redis or Postgres?", max_rounds=3)
    url = f"/debates/{debate_id}"
    await house.app.stop(debate_id)
    page = await house.reader.open(url)
    assert page.one("header", id="masthead").one("span", class_="state").text == "stopped"
    assert page.one("section", id="controls").one("p", class_="soft").text == (
        "It stopped because a person stopped it. Nothing is lost; your answer lets it go on."
    )
    await house.reader.submit(f"{url}/reply", "continue")
    await house.until(debate_id, Status.WAITING)
    await house.reader.open(url)
    page = await house.reader.submit(f"{url}/reply", "end")
    await house.until(debate_id, Status.WAITING)
    page = await house.reader.open(url)
    assert "Approve" in texts(page.all("button"))


async def test_a_debate_that_was_not_started_is_started(house: House) -> None:
    record = await house.app.create("duel", "Cats are better", {"max_rounds": 1})
    page = await house.reader.open(f"/debates/{record.id}")
    assert page.one("p", id="nothing-yet").text == "Nobody has spoken yet."
    await house.reader.submit(f"/debates/{record.id}/resume")
    await house.until(record.id, Status.FINISHED)


async def test_a_failed_debate_says_why_and_is_tried_again() -> None:
    house = House(company(), faults={1: Refused("the model said no")})
    debate_id = await house.played("duel", "Cats are better", max_rounds=1)
    page = await house.reader.open(f"/debates/{debate_id}")
    assert page.one("div", role="alert").text.startswith("It failed.")
    assert "the model said no" in page.one("div", role="alert").text
    assert page.one("details", id="failures").one("summary").text == "1 attempt failed on the way"
    await house.reader.submit(f"/debates/{debate_id}/resume")
    await house.until(debate_id, Status.FINISHED)


async def test_a_debate_whose_process_is_gone_is_resumed_from_its_page(house: House) -> None:
    record = await house.app.create("duel", "Cats?", {"max_rounds": 1})
    await house.app.store.take(record.id, this_process().replace("process ", "process 999", 1), 1000)
    page = await house.reader.open(f"/debates/{record.id}")
    assert "The process that ran it is gone." in page.one("section", id="controls").text
    await house.reader.submit(f"/debates/{record.id}/resume")
    await house.until(record.id, Status.FINISHED)


async def test_a_debate_that_runs_elsewhere_has_nothing_to_resume(house: House) -> None:
    record = await house.app.create("duel", "Cats?", {"max_rounds": 1})
    await house.app.store.take(record.id, "process 1 on another machine", 1000)
    page = await house.reader.open(f"/debates/{record.id}")
    assert page.all("form", action=f"/debates/{record.id}/resume") == []


async def test_a_debate_that_is_not_there_is_a_page_that_says_so(house: House) -> None:
    page = await house.reader.open("/debates/DEB-22222222")
    assert house.reader.response.status_code == 404
    assert (page.one("h1").text, page.one("div", role="alert").one("p", dir="auto").text) == (
        "This is not here",
        "No debate 'DEB-22222222'; it was deleted, or there never was one.",
    )


async def test_the_parts_from_a_position_on_hold_the_turns_from_there(house: House) -> None:
    debate_id = await house.played("panel", "Redis or Postgres?", max_rounds=2)
    page = await house.reader.open(f"/debates/{debate_id}/parts?from=2")
    positions = [each.attributes["data-position"] for each in page if "data-position" in each.attributes]
    assert positions == [str(number) for number in range(2, len((await house.app.load(debate_id)).turns))]


# Safety


def unsafe(page: Element) -> list[str]:
    """What a strict policy would block, or what text should never have become."""
    acting = ("style", "iframe", "object", "embed", "base", "img", "video", "audio", "math")
    found = [
        each.tag for each in page if each.tag in acting or (each.tag == "script" and not each.attributes.get("src"))
    ]
    for each in page:
        found += [name for name in each.attributes if name.startswith("on") or name == "style"]
        target = each.attributes.get("href", each.attributes.get("action", "/"))
        found += [] if target.startswith(("/", "#", "?", "http://", "https://", "mailto:")) else [target]
    return found


@pytest.mark.parametrize("payload", PAYLOADS)
def test_markdown_of_others_becomes_no_element_that_acts(payload: str) -> None:
    assert unsafe(parsed(speech(payload))) == []
    whole = document(f"---\na: b\n---\n# T\n\n## {payload}\n\n{payload}")
    assert unsafe(parsed(whole.html)) == []


async def test_hostile_words_are_shown_as_words_on_every_page(house: House) -> None:
    hostile = "\n".join(PAYLOADS)[:3900]
    house = House(lambda request: company()(request).replace("Reason number", hostile.replace('"', "'")))
    debate_id = await house.played("duel", hostile, max_rounds=1)
    url = f"/debates/{debate_id}"
    for path in ("/", "/new", url, f"{url}/parts", "/login", "/?q=%22%3E%3Cscript%3E", "/?deleted=%22%3E%3Cscript%3E"):
        assert unsafe(await house.reader.open(path)) == [], path
        assert house.reader.response.headers["content-security-policy"] == POLICY
        assert not set(house.reader.response.text) & set("\x00\x01\x07\x0b\x1b\u202e")
    page = await house.reader.open(f"/debates/{debate_id}")
    assert "<script>window.executed=1</script>" in page.one("h1").text
    page = await house.reader.submit(f"/debates/{debate_id}/rating", stars="5", comment=hostile[:1900])
    assert unsafe(page) == []


async def test_a_hostile_perspective_is_refused_and_shown_as_it_was_typed(house: House) -> None:
    await house.reader.open("/new?format=panel")
    name = PAYLOADS[2]
    page = await house.reader.submit(
        "/new",
        "start",
        topic="Redis?",
        panel__perspectives__pick=[SAFE],
        panel__perspectives__0__name=name,
        panel__perspectives__0__priorities="speed",
        panel__perspectives__0__trade_offs="Accepts risk for speed",
    )
    assert house.reader.response.status_code == 422
    assert unsafe(page) == []
    assert page.one("input", name="panel.perspectives.0.name").attributes["value"] == name


# Markdown


def test_headings_of_a_turn_are_no_headings_of_the_page() -> None:
    assert speech("# Big\n\nText **bold**") == '<p class="heading">Big</p>\n<p>Text <strong>bold</strong></p>\n'


def test_a_document_loses_what_the_page_says_itself_and_links_its_turns() -> None:
    text = """---
title: x
---
# Title

**The lead**

## First

- point[^turn-7]

#### Deep

## Transcript

### Somebody

words

[^turn-7]: the whole turn
"""
    made = document(text, "The lead")
    assert [(entry.level, entry.title) for entry in made.contents] == [(2, "First"), (3, "Deep")]
    tree = parsed(made.html)
    assert tree.text == "First point turn 7 Deep"
    assert tree.one("a").attributes["href"] == "#turn-7"
    assert [each.attributes["id"] for each in tree.all("h2") + tree.all("h3")] == [
        entry.anchor for entry in made.contents
    ]


async def test_a_debate_is_forked_from_its_page(house: House) -> None:
    origin = await house.played("duel", "Cats are better", max_rounds=1)
    page = await house.reader.open(f"/debates/{origin}")
    assert page.one("input", id="fork-position").attributes["value"] == "2"  # the judge's turn is played anew
    page = await house.reader.submit(f"/debates/{origin}/fork", position="2", model="scripted:other")
    fork = house.reader.path.removeprefix("/debates/")
    assert fork != origin
    assert page.one("a", href=f"/debates/{origin}").text == f"forked from {origin} after the first 2 turns"
    await house.until(fork, Status.FINISHED)
    assert [turn.model for turn in (await house.app.load(fork)).turns][1:] == ["scripted:model", "scripted:other"]
    listed = (await house.reader.open("/")).all("li", class_="debate")
    assert [f"forked from {origin}" in each.one("p", class_="facts").text for each in listed] == [True, False]
    page = await house.reader.open(f"/debates/{origin}?fork=1")
    assert page.one("input", id="fork-position").attributes["value"] == "1"
    page = await house.reader.submit(f"/debates/{origin}/fork", position="7", model="scripted:third")
    assert page.one("p", role="alert").text == f"{origin} has 3 turns; fork it at a position from 0 to 3"
    form = page.one("form", action=f"/debates/{origin}/fork")
    assert [pair for pair in fields_of(form) if pair[0] != "once"] == [("position", "7"), ("model", "scripted:third")]


async def test_the_form_begins_with_the_depth_that_is_configured() -> None:
    app = scripted_app(ScriptedModel(company()))
    app.settings.depth = "careful"
    reader = Reader(build_app(app, Hub(app.follow)))
    page = await reader.open("/new?format=duel")
    assert {value for name, value in fields_of(page) if name.endswith("depth")} == {"careful"}
    await reader.client.aclose()


# What every page loads


async def test_what_pages_load_is_kept_under_the_hash_of_its_content_and_nothing_else_is(house: House) -> None:
    page = await house.reader.open("/")
    icon, *styles = [each.attributes["href"] for each in page.all("link")]
    scripts = [each.attributes["src"] for each in page.all("script")]
    assert {url.rsplit("/", 1)[0] for url in (icon, *styles, *scripts)} == {icon.rsplit("/", 1)[0]}
    for url in (icon, *styles, *scripts):
        kept = await house.reader.client.get(url)
        assert (kept.status_code, kept.headers["cache-control"]) == (200, FOREVER), url
    both = await house.reader.client.get(f"{icon.rsplit('/', 1)[0]}/base.css+charts.css")
    assert both.headers["content-type"] == "text/css; charset=utf-8"
    assert [both.text.index("/* What every page"), both.text.count("\n/* Charts:")] == [0, 1]
    for wrong in ("base.css+none.css", "base.css+../guard.py", "base.css+"):
        assert (await house.reader.client.get(f"/static/{wrong}")).status_code == 404, wrong
    older = await house.reader.client.get("/static/0123456789ab/base.css")
    assert (older.status_code, older.headers["cache-control"]) == (200, "no-cache")


async def test_a_page_says_what_it_is_to_whoever_shares_it(house: House) -> None:
    debate_id = await house.played("duel", "Cats are better", max_rounds=1)
    page = await house.reader.open(f"/debates/{debate_id}")
    told = {
        each.attributes["property"]: each.attributes["content"]
        for each in page.all("meta")
        if "property" in each.attributes
    }
    assert told["og:title"] == "Cats are better"
    assert (
        told["og:description"] == page.one("meta", name="description").attributes["content"] == "The case for it wins."
    )


async def test_every_page_counts_the_debates_that_wait(house: House) -> None:
    page = await house.reader.open("/new")
    assert page.all("span", class_="count") == []
    await house.played("panel", "Redis or Postgres?", max_rounds=2)
    for path in ("/new", "/", "/debates/none"):
        page = await house.reader.open(path)
        assert page.one("span", class_="count").text == "1"


# The first minute


async def test_an_example_is_an_ordinary_debate_that_says_it_is_a_recording(house: House) -> None:
    await house.reader.open("/")
    page = await house.reader.submit("/examples/caching")
    assert page.one("h1").text == "Should we use Redis or PostgreSQL for caching?"
    assert page.one("p", class_="recorded").text.startswith("A recording of a large model , played as if")
    debate_id = house.reader.path.removeprefix("/debates/")
    await house.app.stop(debate_id)
    record = (await house.app.load(debate_id)).record
    assert {seat.model for seat in record.seats.values()} == {"recorded:a large model"}
    await house.reader.open("/examples/caching")
    assert house.reader.response.status_code == 405


async def test_the_example_can_still_be_watched_where_there_are_debates(house: House) -> None:
    await house.app.create("duel", "Cats or dogs?")
    await house.reader.open("/")
    page = await house.reader.submit("/examples/caching")
    assert page.one("p", class_="recorded").text.startswith("A recording of a large model")


async def test_models_are_told_with_what_each_seat_uses_and_tested_by_a_button(house: House) -> None:
    page = await house.reader.open("/models")
    rows = [texts(row.all("th") + row.all("td")) for row in page.one("tbody").all("tr")]
    assert rows == [["every seat", "scripted:model", "MOOT_MODEL or moot.yaml.", "unknown"]]
    ready, *_, no_key, not_running = page.all("li", class_="provider")
    assert ready.one("h3").text == "scripted ready"
    assert no_key.one("h3").text.startswith("deepseek, openai, anthropic")
    assert "export OPENAI_API_KEY=…" in texts(no_key.all("code"))
    assert not_running.one("h3").text == "ollama, vllm, llamacpp, lmstudio not running"
    page = await house.reader.submit("/models/test")
    (tested,) = [
        each for each in page.all("li", class_="provider") if texts(each.all("p", class_="result")) not in ([], [""])
    ]
    assert tested.one("h3").text == "built in ready"
    assert tested.one("p", class_="result").text == "It is there; it is loaded when a debate needs it."
    await house.reader.open("/models")
    await house.reader.submit("/models/test", model="http://evil/v1#m")
    assert house.reader.response.status_code == 422


# Errors


async def test_a_browser_is_told_of_every_error_on_a_page_and_a_program_in_json(house: House) -> None:
    for_people = {"accept": "text/html,*/*;q=0.8"}
    debate_id = await house.played("duel", "Cats are better", max_rounds=1)
    asked = [
        ("GET", "/nowhere", "", 404, "This is not here", "Nothing has this address: it is mistyped, or"),
        ("GET", "/debates/DEB-none", "", 404, "This is not here", "No debate 'DEB-none'; it was deleted, or there"),
        ("PUT", "/new", "", 405, "That cannot be done here", "This address takes nothing that is sent in this way."),
        (
            "POST",
            f"/debates/{debate_id}/reply",
            "a" * 300_000,
            413,
            "That is too large",
            "What you sent is over 256 kB,",
        ),
        ("GET", "/?after=zz", "", 422, "That did not work", "This part of the list cannot be found any more."),
        ("GET", "/compare", "", 422, "That did not work", "No debate is chosen; tick two in the list, and Compare"),
    ]
    for method, path, body, status, title, begins in asked:
        form = {"content-type": "application/x-www-form-urlencoded"}
        answer = await house.reader.client.request(method, path, content=body, headers={**for_people, **form})
        assert (answer.status_code, parsed(answer.text).one("h1").text) == (status, title)
        assert parsed(answer.text).one("div", role="alert").one("p", dir="auto").text.startswith(begins)
        assert answer.headers["content-security-policy"] == POLICY
    for path in ("/nowhere", "/api/nowhere"):
        answer = await house.reader.client.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


async def test_pages_are_compressed_and_event_streams_are_not(house: House) -> None:
    debate_id = await house.played("duel", "Cats are better", max_rounds=1)
    page = await house.reader.client.get("/")
    assert page.headers["content-encoding"] == "gzip"
    stream = await house.reader.client.get(f"/api/debates/{debate_id}/events")
    assert (stream.headers["content-type"].partition(";")[0], "content-encoding" in stream.headers) == (
        "text/event-stream",
        False,
    )


async def test_rounds_that_are_played_at_once_are_one_step_of_the_way_in_columns_of_who_argues(house: House) -> None:
    played = await house.played("evaluation", "A bakery that bakes at night")
    turns = (await house.app.load(played)).turns
    first = next(turn.position for turn in turns if turn.round)

    async def resting(position: int) -> Element:
        record = await house.app.fork(played, position, {}, start=False)
        return await house.reader.open(f"/debates/{record.id}")

    page = await resting(first)
    assert texts(page.one("nav", id="phases").all("li")) == ["Opening", "Rounds 1 to 3: arguments", "Closing"]
    page = await resting(next(turn.position for turn in turns if turn.kind == "verdict"))
    lanes = {card.attributes["data-lane"] for card in page.all("article", data_kind="argument")}
    assert lanes == {"1", "2"}
