"""Citations that lead to their passage: on the pages, over HTTP, in exports; and documents that mean no good."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hostile import PAYLOADS
from test_pages import House, texts, unsafe
from theatre import company

from moot.sources.references import MAX_PART
from moot.sources.source import as_name
from moot.web.guard import POLICY
from stage import CLEAR, FAST

REPORT = "The pool costs money.\n\f\nIn 2023, 1,850 children learned to swim in the pool.\n\f\nThe roof leaks."
NOTES = "# Notes\nThe winter was long, and nobody came to swim before noon.\n"
SOURCES = [
    {"name": "report.pdf", "text": REPORT},
    {"name": "notes.md", "text": NOTES},
    {"name": "unread.txt", "text": "Nobody opens this."},
]
TRUE = 'It says "1,850 children learned to swim" [S1 p. 2], and S2 has more: see [S1 p. 3].'
FALSE = 'No: "nobody came to swim before ten" [S2], "all is well with us" [S1], and `[S1]` as [S9] and [S1 p. 9] show.'
SYNTHESIS = {"recommendation": "Keep it: 1,850 children [S1].", "tensions": ["cost against use"]}


def panel(**parts: Any) -> dict[str, Any]:
    said = {"opening": lambda call: TRUE if call.name == FAST else FALSE, "synthesis": SYNTHESIS, **parts}
    return {"replies": company(**said)}


@pytest.fixture
async def house() -> AsyncIterator[House]:
    made = House(**panel())
    yield made
    await made.queue.drain(0)
    await made.reader.client.aclose()


async def played(house: House, **settings: Any) -> str:
    usual = {"checkpoints": False, "max_rounds": 1, "perspectives": [FAST, CLEAR], "sources": SOURCES}
    return await house.played("panel", "Should the pool close?", **{**usual, **settings})


async def test_every_tag_of_a_speech_leads_to_its_passage_page_or_source(house: House) -> None:
    debate_id = await played(house)
    page = await house.reader.open(f"/debates/{debate_id}")
    url = f"/debates/{debate_id}/sources"
    spoken = page.one("section", id="transcript").all("div", class_="prose")
    speech = next(each for each in spoken if "It says" in each.text)
    assert speech.raw.strip() == TRUE
    assert [(each.text, each.attributes["href"]) for each in speech.all("a", class_="cite")] == [
        ("S1 p. 2", f"{url}/S1#at-{REPORT.index('1,850')}"),
        ("S2", f"{url}/S2"),
        ("S1 p. 3", f"{url}/S1#page-3"),
    ]
    other = next(each for each in spoken if "No: " in each.text)
    assert [(each.text, each.attributes["href"]) for each in other.all("a", class_="cite")] == [
        ("S2", f"{url}/S2#at-{NOTES.index('nobody')}"),
        ("S1", f"{url}/S1"),
        ("S1 p. 9", f"{url}/S1"),
    ]
    assert texts(speech.all("a", class_="doubtful")) == []
    assert texts(other.all("a", class_="doubtful")) == ["S2", "S1", "S1 p. 9"]
    assert texts(other.all("em", class_="nowhere")) == ["S9"]
    assert texts(other.all("code")) == ["[S1]"]


async def test_the_page_of_a_debate_lists_its_sources_and_what_leads_nowhere(house: House) -> None:
    debate_id = await played(house)
    page = await house.reader.open(f"/debates/{debate_id}")
    listed = page.one("ul", class_="source-list")
    assert texts(listed.all("li")) == [
        "S1 report.pdf carried the decision",
        "S2 notes.md cited",
        "S3 unread.txt never used",
    ]
    assert any("Citations that lead nowhere: 4" in each.text for each in page.all("h2"))
    assert any("[S9] – there is no such source" in each.text for each in page.all("li"))


async def test_a_source_is_a_page_with_every_quoted_passage_marked_and_linked_back(house: House) -> None:
    debate_id = await played(house)
    page = await house.reader.open(f"/debates/{debate_id}/sources/S1")
    assert page.one("h1").text == "S1 report.pdf"
    (mark,) = page.all("mark")
    assert (mark.text, mark.attributes["id"]) == ("1,850 children learned to swim", f"at-{REPORT.index('1,850')}")
    assert [each.attributes["id"] for each in page.all("h3", class_="page-number")] == ["page-1", "page-2", "page-3"]
    back = [each.attributes["href"] for each in page.one("span", class_="by").all("a")]
    shown = await house.reader.open(f"/debates/{debate_id}")
    spoken = [shown.one("details", id=(href or "").partition("#")[2]).one("div", class_="prose") for href in back]
    assert [each.raw.strip() for each in spoken] == [TRUE]
    page = await house.reader.open(f"/debates/{debate_id}/sources/S2")
    assert [(each.text, each.attributes["class"]) for each in page.all("mark")] == [
        ("nobody came to swim before noon.", "near")
    ]


async def test_a_very_long_source_is_shown_part_by_part_and_links_lead_to_the_right_one(house: House) -> None:
    text = "A line of the long report.\n" * 4000 + REPORT
    debate_id = await played(house, sources=[{"name": "long.txt", "text": text}])
    page = await house.reader.open(f"/debates/{debate_id}")
    speech = next(each for each in page.all("div", class_="prose") if "It says" in each.text)
    href = next(each.attributes["href"] or "" for each in speech.all("a", class_="cite") if each.text == "S1 p. 2")
    last = len(text) // MAX_PART + 1
    assert href == f"/debates/{debate_id}/sources/S1?part={last}#at-{text.index('1,850')}"
    page = await house.reader.open(href)
    assert page.one("mark").text == "1,850 children learned to swim"
    assert len(page.one("div", class_="source-text").raw) <= MAX_PART + 1000
    assert [each.attributes["href"] for each in page.all("a", rel="prev")][:1] == [f"?part={last - 1}"]
    for asked in ("0", "-1", "x", "999999", "1e9"):
        await house.reader.open(f"/debates/{debate_id}/sources/S1?part={asked}")
        assert house.reader.response.status_code == 200


async def test_a_source_that_is_not_there_is_a_page_that_says_so(house: House) -> None:
    debate_id = await played(house)
    page = await house.reader.open(f"/debates/{debate_id}/sources/S9")
    assert house.reader.response.status_code == 404
    assert f"{debate_id} has no source S9; it has: S1, S2, S3" in page.text
    await house.reader.open("/debates/DEB-aaaaaaaa/sources/S1")
    assert house.reader.response.status_code == 404


async def test_http_tells_what_became_of_the_sources(house: House) -> None:
    debate_id = await played(house)
    told = (await house.reader.client.get(f"/api/debates/{debate_id}/sources")).json()
    assert [(each["tag"], each["use"], each["pages"]) for each in told["sources"]] == [
        ("S1", "carried", 3),
        ("S2", "cited", None),
        ("S3", "unused", None),
    ]
    assert [(each["cited"], each["fault"]) for each in told["unresolved"]] == [
        ("S2", "misquoted"),
        ("S1", "not_found"),
        ("S9", "no_source"),
        ("S1 p. 9", "no_page"),
    ]
    one = (await house.reader.client.get(f"/api/debates/{debate_id}/sources/s1")).json()
    (passage,) = one["passages"]
    assert one["text"][passage["start"] : passage["end"]] == passage["text"] == "1,850 children learned to swim"
    assert passage["page"] == 2
    assert (await house.reader.client.get(f"/api/debates/{debate_id}/sources/S9")).status_code == 404


async def test_exports_hold_the_sources_and_every_link_in_them_leads_somewhere(house: House) -> None:
    debate_id = await played(house)
    markdown, html, trace = [
        (await house.reader.client.get(f"/api/debates/{debate_id}/export?as={style}"))
        for style in ("md", "html", "json")
    ]
    assert "## Sources\n" in markdown.text
    assert "### S1: report.pdf\n" in markdown.text
    assert "> 1,850 children learned to swim (p. 2, turn " in markdown.text
    assert "### Never used\n\n- S3: unread.txt\n" in markdown.text
    assert f"[S1 p. 2](#source-s1-at-{REPORT.index('1,850')})" in markdown.text
    page = house.reader._read(html)
    anchors = {each.attributes["id"] for each in page if "id" in each.attributes}
    inner = {each.attributes["href"] or "" for each in page.all("a") if (each.attributes["href"] or "").startswith("#")}
    assert {href for href in inner if href[1:] not in anchors} == set()
    assert {f"#source-s1-at-{REPORT.index('1,850')}", "#source-s2"} <= inner
    assert [each["use"] for each in trace.json()["sources"]["sources"]] == ["carried", "cited", "unused"]


async def test_hostile_sources_are_shown_as_words(house: House) -> None:
    names = [as_name(payload, "")[:100] for payload in PAYLOADS]
    sources = [
        {"name": f"{number} {name}", "text": f"{payload}\nIn 2023, 1,850 children learned to swim.\n{payload}"}
        for number, (name, payload) in enumerate(zip(names, PAYLOADS, strict=True))
    ]
    debate_id = await played(house, sources=sources)
    for path in ("", *(f"/sources/S{number}" for number in range(1, len(PAYLOADS) + 1))):
        page = await house.reader.open(f"/debates/{debate_id}{path}")
        assert house.reader.response.status_code == 200
        assert unsafe(page) == []
        assert house.reader.response.headers["content-security-policy"] == POLICY


TABLE = (
    "Costs of a year:\n\n| what | euros | |\n| --- | ---: | --- |\n"
    "| heating | 41,000 | <b>high</b> |\n| staff | 1\\|2 | |\n\nThat is all.\n"
)
COSTS = [{"name": "costs.csv", "text": TABLE}]
QUOTING = 'It says "heating | 41,000" [S1].'


async def test_tables_of_a_source_are_tables_whose_quoted_cells_are_marked(house: House) -> None:
    house = House(**panel(opening=QUOTING))
    debate_id = await played(house, sources=COSTS)
    page = await house.reader.open(f"/debates/{debate_id}/sources/S1")
    table = page.one("div", class_="source-text").one("table")
    rows = [[cell.raw.strip() for cell in row.all("th") + row.all("td")] for row in table.all("tr")]
    marked = [mark.raw for mark in table.all("mark")]
    assert [[re.sub(r"\s*turn \d+\s*", "", cell) for cell in row] for row in rows] == [
        ["what", "euros", ""],
        ["heating", "41,000", "<b>high</b>"],
        ["staff", "1|2", ""],
    ]
    assert marked == ["heating", "41,000"]
    assert table.all("mark")[0].attributes["id"] == f"at-{TABLE.index('heating')}"
    text = page.one("div", class_="source-text").raw
    assert (text.startswith("Costs of a year:\n\n"), text.count("|")) == (True, 1)
    await house.queue.drain(0)
    await house.reader.client.aclose()
