"""The claims of a debate for other tools, and as the terminal and the pages show them."""

from __future__ import annotations

import orjson
import pytest

from formats.critics import Critics, critique, fine, issue
from formats.critics import staged as staged_critique
from moot.core.stored import StoredDebate
from moot.errors import InvalidInput
from moot.export.documents import export
from moot.reading.debate import Reading
from moot.terminal.claims import HEADER, rows
from moot.web.pages.claims import Thread, claims_page
from stage import Stage, judged


async def contested() -> Reading:
    """Of four issues one is answered, one withdrawn, one upheld after a reply, and one nobody replied to."""
    gaps = [
        issue(),
        issue("Lowest terms?", "minor", ""),
        issue("What is p?", "major", ""),
        issue("Long.", "minor", ""),
    ]
    stage = staged_critique(
        Critics(
            [critique(*gaps, score=4), fine(score=7, ready=False, upheld=[2], withdrawn=[3])],
            ["It is p/q.", "Issue 1: because q² = 2r².\n\nIssue 2: it is in lowest terms.\n\nIt is p/q."],
        ),
        {"max_rounds": 2, "min_rounds": 2},
    )
    await stage.run()
    return Reading(StoredDebate(await stage.record(), tuple(await stage.turns())), stage.format)


async def test_a_critiques_issues_and_replies_are_claims_that_end_as_the_skeptic_ruled() -> None:
    ledger = (await contested()).ledger
    assert ledger
    assert [(claim.seat, claim.text, claim.status) for claim in ledger.claims] == [
        ("skeptic", "Why is q even?", "answered"),
        ("skeptic", "Lowest terms?", "standing"),
        ("skeptic", "What is p?", "withdrawn"),
        ("skeptic", "Long.", "unanswered"),
        ("proposer", "because q² = 2r².", "standing"),
        ("proposer", "it is in lowest terms.", "contested"),
    ]
    assert [[(link.how, link.to) for link in claim.links] for claim in ledger.claims[4:]] == [
        [("attacks", "C1")],
        [("attacks", "C2")],
    ]


async def test_the_outcome_of_a_finished_debate_holds_its_ledger() -> None:
    reading = await contested()
    stored = orjson.loads(export(reading, "json"))["outcome"]["ledger"]
    assert reading.ledger
    assert stored == reading.ledger.model_dump(mode="json")
    assert len(stored["claims"]) == 6


async def test_as_aif_every_claim_is_a_node_with_its_words_and_every_answer_leads_to_one() -> None:
    graph = orjson.loads(export(await contested(), "aif"))
    nodes = {node["nodeID"]: node for node in graph["nodes"]}
    assert len(nodes) == len(graph["nodes"])
    assert {edge[end] for edge in graph["edges"] for end in ("fromID", "toID")} <= set(nodes)
    assert (nodes["C1"]["type"], nodes["C1"]["status"], nodes["CA1"]["type"]) == ("I", "answered", "CA")
    assert [(edge["fromID"], edge["toID"]) for edge in graph["edges"] if "CA1" in edge.values()] == [
        ("C5", "CA1"),
        ("CA1", "C1"),
    ]
    assert {each["personID"] for each in graph["locutions"]} == {"skeptic", "proposer"}


async def test_a_debate_whose_claims_nobody_noted_has_none_to_export() -> None:
    stage = Stage(judged('{"summary": "A.", "score_a": 7, "score_b": 4}'))
    await stage.run()
    reading = Reading(StoredDebate(await stage.record(), tuple(await stage.turns())), stage.format)
    assert reading.ledger is None
    with pytest.raises(InvalidInput, match="nobody noted the claims"):
        export(reading, "aif")


async def test_the_page_hangs_every_answer_under_what_it_answers_and_leads_to_its_words() -> None:
    reading = await contested()
    assert reading.ledger
    threads: tuple[Thread, ...] = claims_page(reading, reading.ledger)["threads"]
    shape = [(each.claim.id, [answer.claim.id for answer in each.answers]) for each in threads]
    assert shape == [("C1", ["C5"]), ("C2", ["C6"]), ("C3", []), ("C4", [])]
    assert threads[0].url == f"/debates/{reading.record.id}#turn-2", "its words stand in the form alone"


async def test_the_terminal_has_a_row_for_each_claim() -> None:
    reading = await contested()
    assert reading.ledger
    assert HEADER == ("", "who", "turn", "ended", "says to others", "claim")
    assert rows(reading, reading.ledger.claims)[4] == (
        "C5",
        "Proposer",
        "3",
        "standing",
        "attacks C1",
        "because q² = 2r².",
    )


async def test_a_document_ends_with_its_claims_as_a_table() -> None:
    reading = await contested()
    assert "## Claims\n" in export(reading, "md")
    assert "| C5 | Proposer | standing | attacks C1 | because q² = 2r². |" in export(reading, "md")
    assert "<td>C5</td>" in export(reading, "html")
