"""The claims of a debate on its pages: the map, the threads, and where they lead."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from claimants import company, played
from moot.core.claims import Claim, ClaimLink
from moot.core.stored import StoredDebate
from moot.export.charts.claim_map import BOX, LINES, ROOM, Look, Seated, _wrapped, claim_map
from moot.export.documents import export
from moot.formats.evaluation.format import EVALUATION
from moot.llm.client import Request
from moot.reading.debate import Reading
from moot.trust.claims import MAX_CLAIMS
from moot.web.pages.claims import claims_page
from stage import Stage

LOOK = Look({"a": Seated("a", 1), "b": Seated("b", 2)}, lambda claim: f"#{claim.id}")


def drawn(*claims: Claim, stacked: bool = False) -> ElementTree.Element:
    layers: dict[str, list[Claim]] = {}
    for each in claims:
        layers.setdefault(f"{each.turn}", []).append(each)
    return ElementTree.fromstring(claim_map(layers, LOOK, stacked=stacked))


def claim(number: int, text: str = "It rains.", *, turn: int = 0, seat: str = "a", answers: int = 0) -> Claim:
    links = [ClaimLink(how="attacks", to=f"C{answers}")] if answers else []
    return Claim(id=f"C{number}", turn=turn, seat=seat, text=text, links=links, status="contested")


def test_a_map_has_a_box_for_each_claim_and_a_line_for_each_answer() -> None:
    svg = drawn(claim(1), claim(2), claim(3, turn=1, seat="b", answers=1), claim(4, turn=1, seat="b", answers=9))
    nodes = [node for node in svg.iter("a") if "node" in node.attrib["class"]]
    assert [node.attrib["data-id"] for node in nodes] == ["C1", "C2", "C3", "C4"]
    lines = [path.attrib for path in svg.iter("path") if path.attrib["class"].startswith("link")]
    assert [(line["data-from"], line["data-to"], line["marker-end"]) for line in lines] == [
        ("C3", "C1", "url(#m-attacks)")
    ], "what answers a claim that there is not has no line"


def test_claims_that_answer_each_other_stand_at_the_same_height() -> None:
    first = [claim(number) for number in range(1, 5)]
    svg = drawn(*first, *(claim(9 - number, turn=1, seat="b", answers=number) for number in range(1, 5)))
    boxes = {node.attrib["data-id"]: float(node[0].attrib["y"]) for node in svg.iter("a")}
    assert [boxes[f"C{9 - number}"] for number in range(1, 5)] == [boxes[f"C{number}"] for number in range(1, 5)]


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script> & \"quoted\" 'so'",
        "]]>\x00\x1b[31m\u202e",
        "a" * 500,
        "これは長い文章です。" * 30,
        "",
    ],
)
def test_whatever_a_claim_says_stays_in_its_box(text: str) -> None:
    svg = drawn(claim(1, text))
    assert [element.tag for element in svg.iter() if element.tag == "script"] == []
    lines = [element.text or "" for element in svg.iter("text") if element.attrib["class"] == "words"]
    assert len(lines) <= LINES


@pytest.mark.parametrize("text", ["word " * 40, "x" * 200, "猫" * 200, "two words"])
def test_lines_fit_and_what_is_too_much_ends_in_an_ellipsis(text: str) -> None:
    from rich.cells import cell_len

    lines = _wrapped(text)
    assert all(cell_len(line) <= ROOM for line in lines)
    assert len(lines) <= LINES
    assert (lines[-1][-1] == "…") == (len("".join(text.split())) > len("".join("".join(lines).split())))


def test_the_largest_ledger_is_drawn_without_boxes_that_overlap() -> None:
    svg = drawn(*(claim(n, "It rains. " * n, turn=n % 4, answers=max(0, n - 7)) for n in range(1, MAX_CLAIMS + 1)))
    boxes = [node[0].attrib for node in svg.iter("a")]
    places = sorted((float(box["x"]), float(box["y"]), float(box["height"])) for box in boxes)
    for (x, y, height), (next_x, next_y, _) in pairwise(places):
        assert next_x >= x + BOX or next_y >= y + height
    assert len(places) == MAX_CLAIMS


def test_stacked_its_layers_are_one_column_in_the_order_of_the_debate() -> None:
    svg = drawn(claim(1), claim(2), claim(3, turn=1, seat="b", answers=1), stacked=True)
    assert float(svg.attrib["width"]) < 300
    boxes = [(node.attrib["data-id"], float(node[0].attrib["y"])) for node in svg.iter("a")]
    titles = [(each.text, float(each.attrib["y"])) for each in svg.iter("text") if each.attrib["class"] == "layer"]
    assert [name for name, _ in sorted([*boxes, *titles], key=lambda each: each[1])] == ["0", "C1", "C2", "1", "C3"]


def test_no_id_is_used_twice() -> None:
    ids = re.findall(r' id="([^"]+)"', claim_map({"": [claim(1)]}, LOOK))
    assert len(ids) == len(set(ids))


# The page around it


async def test_every_claim_leads_to_its_words_and_filters_are_those_that_find_something() -> None:
    stage, _ = await played(company())
    reading = Reading(StoredDebate(await stage.record(), tuple(await stage.turns())), stage.format)
    assert reading.ledger
    view = claims_page(reading, reading.ledger)
    first, second = view["threads"]
    words = "The%20tunnel%20pays%20for%20itself"
    assert first.url == f"/debates/{reading.record.id}#turn-0:~:text={words}"
    assert f'href="{first.url}"' in view["map"]
    assert [(each.claim.id, each.decisive) for each in (first, *first.answers, second)] == [
        ("C1", False),
        ("C3", False),
        ("C2", True),
    ]
    filters = [("All", ""), ("Decisive", "key"), ("Contested", "contested"), ("Unanswered", "unanswered untested")]
    assert list(view["filters"]) == filters
    assert [seat.name for seat in view["seats"]] == ["Debater A", "Debater B"]


async def test_the_map_of_an_evaluation_names_its_topics() -> None:
    def reply(request: Request) -> str:
        match request.schema.name if request.schema else "":
            case "judgment":
                return json.dumps({"reasoning": "Even.", "score_advocate": 5, "score_challenger": 5})
            case "reply":
                return json.dumps({"answer": "So it is."})
            case _:
                said = [{"claim": "People wait.", "reasoning": "They said so.", "evidence": ""}]
                return json.dumps({"case": "So it is.", "arguments": said})

    topic = {"name": "Need: real?", "category": "problem", "advocate": "It is real.", "challenger": "It is not."}
    settings = {"evaluation": {"categories": {"problem": 6}}, "topics": [topic], "challenges": ["Nobody asked."]}
    stage = Stage(reply, format=EVALUATION, topic="A queue app", settings=settings)
    await stage.run()
    reading = Reading(StoredDebate(await stage.record(), tuple(await stage.turns())), stage.format)
    assert reading.ledger
    titles = re.findall(r'<text class="layer"[^>]*>([^<]*)<', claims_page(reading, reading.ledger)["map"])
    assert titles == ["Need: real? · argument"]


# The HTML document


async def test_the_html_document_has_the_map_whose_boxes_lead_to_the_speeches() -> None:
    stage, _ = await played(company())
    reading = Reading(StoredDebate(await stage.record(), tuple(await stage.turns())), stage.format)
    text = export(reading, "html")
    assert text.count('class="node') == 3
    assert 'href="#turn-0" data-id="C1"' in text
    assert 'id="turn-0"' in text
    assert "a line with a bar attacks" in text
    key = text.partition('<figure class="drawn">')[2].partition("</figcaption>")[0]
    assert [name for name in ("Debater A", "Debater B") if f"</svg> {name}</span>" in key] == ["Debater A", "Debater B"]


async def test_without_claims_the_html_document_has_no_map() -> None:
    stage, _ = await played(company(), ledger="off")
    reading = Reading(StoredDebate(await stage.record(), tuple(await stage.turns())), stage.format)
    assert 'class="drawn"' not in export(reading, "html")
