"""What can be done on the pages of finished debates without a script: tick, inspect, run again, compare, print."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from markup import fields_of
from test_pages import House, texts

import claimants
from moot.core.debate import Origin, Status
from moot.core.page import bold_to_colon, told
from stage import SYNTHESIS, Panelists

TASKS = ["By March: measure the cache.", "Decide."]


@pytest.fixture
async def house() -> AsyncIterator[House]:
    synthesis = {**SYNTHESIS, "tasks": TASKS, "changes_if": ["The load doubles: use Redis.", "Nobody is trained."]}
    made = House(Panelists(synthesis=synthesis))
    yield made
    await made.queue.drain(0)
    await made.reader.client.aclose()


async def decided(house: House, **settings: object) -> str:
    return await house.played("panel", "Redis or Postgres?", max_rounds=2, checkpoints=False, **settings)


async def test_next_steps_are_ticked_and_unticked_with_who_and_when(house: House) -> None:
    url = f"/debates/{await decided(house)}"
    page = await house.reader.open(url)
    steps = page.one("ul", id="step-list").all("button")
    assert [(each.one("span", class_="what").text, each.one("span", class_="due").text) for each in steps] == [
        ("measure the cache.", "By March"),
        ("Decide.", ""),
    ]
    assert [each.attributes["aria-checked"] for each in steps] == ["false", "false"]
    page = await house.reader.submit(f"{url}/next-steps", done="1")
    (tick,) = (await house.app.load(url.removeprefix("/debates/"))).ticks
    assert (tick.step, tick.done) == (1, True)
    assert [each.attributes["aria-checked"] for each in page.one("ul", id="step-list").all("button")] == [
        "false",
        "true",
    ]
    page = await house.reader.submit(f"{url}/next-steps", undone="1")
    assert page.one("ul", id="step-list").all("button")[1].attributes["aria-checked"] == "false"
    page = await house.reader.submit(f"{url}/next-steps", done="7")
    assert page.one("p", role="alert").text.endswith("has no next step 7; tick one from 0 to 1")


async def test_what_would_change_it_stands_beside_the_dissent(house: House) -> None:
    page = await house.reader.open(f"/debates/{await decided(house)}")
    change = page.one("section", id="change")
    assert texts(change.all("h2")) == ["This changes if", "Dissent"]
    conditions = change.one("ul", class_="turns-on")
    assert texts(conditions.all("li")) == ["The load doubles. Use Redis.", "Nobody is trained."]
    assert texts(conditions.all("b")) == ["The load doubles."]


async def test_a_turn_is_inspected_on_a_page_of_its_own(house: House) -> None:
    url = f"/debates/{await decided(house)}"
    page = await house.reader.open(url)
    (link,) = [each for each in page.one("details", id="turn-2").all("a") if "data-inspect" in each.attributes]
    page = await house.reader.open(link.attributes["href"] or "")
    assert page.one("h1").text.startswith("Turn 2 · ")
    assert texts(page.all("p", class_="label"))[:2] == ["system", "user"]
    assert "Redis or Postgres?" in page.one("div", id="sent-2").text
    for wrong, status in (("99", 404), ("x", 422)):
        await house.reader.open(f"{url}/turns/{wrong}/inspect")
        assert house.reader.response.status_code == status


async def test_a_debate_is_run_again_with_what_it_was_asked_with_and_compared(house: House) -> None:
    first = await decided(house, model="scripted:one")
    form = (await house.reader.open(f"/new?again={first}&panel.max_rounds=1")).one("form", id="new")
    given = dict(fields_of(form))
    assert (given["topic"], given["format"], given["again"]) == ("Redis or Postgres?", "panel", first)
    assert (given["panel.max_rounds"], given["panel.model"]) == ("1", "scripted:one")
    await house.reader.submit("/new", "start", panel__model="scripted:two")
    again = house.reader.path.removeprefix("/debates/")
    await house.until(again, Status.FINISHED)
    record = (await house.app.load(again)).record
    assert (record.origin, record.settings["max_rounds"]) == (Origin(first, 0), 1)
    assert {seat.model for seat in record.seats.values()} == {"scripted:two"}
    page = await house.reader.open(f"/debates/{again}")
    assert page.one("a", href=f"/debates/{first}").text == f"run again after {first}"
    page = await house.reader.open(f"/debates/{first}")
    assert page.one("a", href=f"/compare?a={first}&b={again}").text == "compare"
    page = await house.reader.open(f"/compare?a={first}&b={again}")
    assert page.one("h1").text == "Redis or Postgres?"
    assert f"{again} was run again after {first}" in page.all("p", class_="facts")[0].text
    assert {"models", "max rounds"} <= set(page.all("p", class_="facts")[1].one("b").text.split(", "))
    assert "model in every seat" not in texts(page.all("ins"))
    assert "two in every seat" in " ".join(texts(page.all("ins")))


async def test_a_duel_is_run_again_with_its_sides_swapped() -> None:
    house = House(Panelists())
    record = await house.app.create("duel", "Cats?", {"stance_a": "con", "max_rounds": 1})
    for swap, stance in (("", "con"), ("&swap=1", "pro")):
        form = (await house.reader.open(f"/new?again={record.id}{swap}")).one("form", id="new")
        assert dict(fields_of(form))["duel.stance_a"] == stance
    await house.reader.open("/new?again=DEB-nothing1")
    assert house.reader.response.status_code == 404


async def test_what_a_debate_can_be_compared_with_is_offered(house: House) -> None:
    first, second = await decided(house), await decided(house)
    page = await house.reader.open(f"/compare?a={first}")
    assert [each.attributes["href"] for each in page.one("ul", class_="choices").all("a")] == [
        f"/compare?a={first}&b={second}"
    ]
    await house.reader.open("/compare")
    assert house.reader.response.status_code == 422


async def test_paper_has_the_claims_and_how_they_ended() -> None:
    noted = [claimants.CLAIMS[0], {**claimants.CLAIMS[1], "text": "It saves time."}, claimants.CLAIMS[2]]
    house = House(claimants.company(noted))
    debate_id = await house.played("duel", "Should it be built?", **claimants.NOTED)
    paper = (await house.reader.open(f"/debates/{debate_id}/print")).one("article", class_="paper")
    (table,) = (each for each in paper.all("table") if "C1" in each.text)
    assert [texts(row.all("td")) for row in table.all("tr")[1:]] == [
        ["Debater A", "contested", "–", "The tunnel pays."],
        ["Debater A", "unanswered", "–", "It saves time."],
        ["Debater B", "untested", "attacks C1", "It does not pay."],
    ]
    await house.queue.drain(0)
    await house.reader.client.aclose()


async def test_on_paper_the_decision_comes_first_with_places_to_sign(house: House) -> None:
    debate_id = await decided(house)
    page = await house.reader.open(f"/debates/{debate_id}/print")
    paper = page.one("article", class_="paper")
    assert paper.one("p", class_="headline").text == "Use Redis"
    assert texts(paper.one("ul", class_="boxes").all("li")) == TASKS
    assert texts(paper.one("div", class_="sign").all("span")) == ["Decided by", "Date", "Review by"]
    unfinished = await house.app.create("panel", "Redis?", {})
    await house.reader.open(f"/debates/{unfinished.id}/print")
    assert house.reader.response.status_code == 422


def test_a_headline_ends_at_the_first_colon_or_full_stop_and_the_lead_goes_on() -> None:
    assert told("Use PostgreSQL first: it is enough. It costs nothing. Test it. Then decide.") == (
        "Use PostgreSQL first",
        "It is enough. It costs nothing.",
    )
    assert told("Keep it.", "Because it works.") == ("Keep it", "Because it works.")
    assert told("") == ("", "")
    assert bold_to_colon("No colon here") == ("No colon here", "", "", (), "")


async def test_two_ticks_in_the_list_are_compared_and_no_more(house: House) -> None:
    first, second = await decided(house), await decided(house)
    ticks = (await house.reader.open("/")).all("input", name="compare")
    assert [each.attributes["value"] for each in ticks] == [second, first]
    assert {each.attributes["form"] for each in ticks} == {"compare"}
    page = await house.reader.open(f"/compare?compare={second}&compare={first}")
    heads = [each.one("a").attributes["href"] for each in page.all("div", class_="versus-head")]
    assert heads == [f"/debates/{second}", f"/debates/{first}"]
    page = await house.reader.open(f"/compare?compare={second}&compare={first}&compare={first}")
    assert house.reader.response.status_code == 422
    assert "Two debates are compared at a time, and 3 are ticked." in page.text


async def test_the_list_tells_how_many_next_steps_are_done(house: House) -> None:
    url = f"/debates/{await decided(house)}"
    await house.reader.open(url)
    await house.reader.submit(f"{url}/next-steps", done="1")
    row = (await house.reader.open("/")).one("li", class_="debate")
    assert "1 of 2 steps done" in row.one("p", class_="facts").text


async def test_the_outcome_of_a_german_debate_is_in_german_words_and_says_so() -> None:
    house = House(Panelists(synthesis={**SYNTHESIS, "tasks": TASKS}))
    debate_id = await house.played("panel", "Soll die Stadt das Bad für die Kinder offen halten?", checkpoints=False)
    page = await house.reader.open(f"/debates/{debate_id}")
    assert page.one("html").attributes["lang"] == "en"
    verdict = page.one("section", id="verdict")
    assert verdict.attributes["lang"] == "de"
    assert "confidence" not in verdict.text
    assert "Zuversicht" in verdict.text
    (actions,) = page.one("section", id="steps").all("div", class_="actions")
    assert actions.attributes["lang"] == "en"
    parts = [each for each in page.all("section", class_="block") if each.attributes.get("lang") == "de"]
    assert {"As a table", "votes", "together", "because:"} & {
        word for each in parts for word in texts(each.all("summary"))
    } == set()
    assert {each.attributes["lang"] for each in page.one("section", id="transcript").all("div", class_="prose")} == {
        "de"
    }
    await house.queue.drain(0)
    await house.reader.client.aclose()
