"""Finding passages by words and meaning, and what a seat is handed of them."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from moot.formats import by_name
from moot.model import Debate, Format, Outcome, Script, Seat, Settings
from moot.retrieval.embed import WordLlamaEmbedder
from moot.retrieval.search import Excerpt, indexed
from moot.sources.passages import LONGEST
from moot.testing import ScriptedModel, scripted_app

BENCH = runpy.run_path(str(Path(__file__).parents[2] / "bench" / "evidence.py"))
TEXTS = {
    "S1": "# Animals\n\nCats sleep for most of the day.\n\n# Tax\n\nThe income tax was raised in spring.",
    "S2": "A star is born in a cloud of gas.\n\f\nKittens are the young of cats and learn to hunt by playing.",
}


async def test_passages_are_found_in_the_order_of_the_sources_and_never_twice(wordllama: WordLlamaEmbedder) -> None:
    search = await indexed(wordllama, TEXTS)
    cats, tax, star, kittens = search.index.excerpts
    assert kittens == Excerpt("S2", TEXTS["S2"].split("\f\n")[1], "S2:36", 2, ())
    assert (cats.headings, cats.cited, kittens.cited) == (("Animals",), "S1 § Animals", "S2 p. 2")
    assert await search.best(["how do young cats learn hunting"], 110) == (cats, kittens)
    assert await search.best(["how do young cats learn hunting"], 60, without=[cats.id]) == (kittens,)
    assert await search.best(["taxes", "stars and gas"], 90) == (tax, star)
    assert await search.best(["anything"], 10_000) == (cats, tax, star, kittens)
    assert await search.best(["anything"], 10) == await search.best([" "], 10_000) == ()


async def test_a_table_is_handed_out_however_long_it_is_and_small_the_room(
    wordllama: WordLlamaEmbedder,
) -> None:
    rows = "".join(f"| {year} | {year * 11} guests of the pool |\n" for year in range(1900, 2005))
    text = f"# Weather\n\nIt rained.\n\n# Guests\n\nAll years:\n\n| Year | Guests |\n| --- | --- |\n{rows}"
    assert 3600 < len(rows) < 4000
    found = await (await indexed(wordllama, {"S1": text})).best(["guests of the pool in 1955"], LONGEST)
    assert "| 1955 | 21505 guests of the pool |" in "\n".join(each.text for each in found)


async def test_sources_without_a_word_have_nothing_to_find(wordllama: WordLlamaEmbedder) -> None:
    assert await (await indexed(wordllama, {"S1": "..."})).best(["anything"], 100) != ()
    assert await (await indexed(wordllama, {})).best(["anything"], 100) == ()


@pytest.mark.parametrize(
    ("data", "rounds", "characters", "most_of"),
    [("constructed", 1, 800, (25, 27)), ("pool", 1, 3600, (6, 11)), ("pool", 2, 3600, (10, 11))],
)
async def test_seats_are_handed_what_they_need(
    data: str, rounds: int, characters: int, most_of: tuple[int, int]
) -> None:
    """What bench/evidence.py prints; of the pool the panel's first versions handed out 0 of 11."""
    assert await BENCH["counted"](*BENCH[data](), rounds, characters) >= most_of


# The step of a format


class Read(Outcome):
    ids: list[list[str]]


def reading(debate: Debate[Settings]) -> Script[Read]:
    """Two rounds in which one seat is handed what it asks for."""
    had: list[list[str]] = []
    for round in (1, 2):
        turn = yield from debate.ask(
            "library",
            "evidence",
            round,
            texts=TEXTS,
            queries={"reader": ["how do young cats learn hunting", "sleeping by day"]},
            had={"reader": [id for ids in had for id in ids]},
            characters=110,
        )
        had.append([passage["id"] for passage in turn.data["evidence"]["reader"]])
    return Read(summary="read", ids=had)


READING = Format(
    name="reading",
    version=1,
    summary="Somebody reads.",
    settings=Settings,
    seats=(Seat("library", "Library", "library", max_tokens=0, player="library"),),
    outcome=Read,
    script=reading,
    folder=Path(__file__).parent,
)


async def test_a_format_asks_the_library_for_evidence_and_the_turn_holds_all_that_was_handed_out() -> None:
    app = scripted_app(ScriptedModel([]), formats=by_name([READING]))
    record = await app.create("reading", "Cats?")
    ending = await app.run(record.id, lambda event: None)
    assert ending.outcome is not None
    assert ending.outcome["ids"] == [["S1:0", "S2:36"], ["S1:44", "S2:0"]]
    first, _ = (await app.load(record.id)).turns
    assert first.content == "2 of 4 passages of the sources handed out."
    assert first.data == {
        "evidence": {
            "reader": [
                {
                    "id": "S1:0",
                    "tag": "S1",
                    "cited": "S1 § Animals",
                    "page": None,
                    "headings": ["Animals"],
                    "text": "# Animals\n\nCats sleep for most of the day.",
                },
                {
                    "id": "S2:36",
                    "tag": "S2",
                    "cited": "S2 p. 2",
                    "page": 2,
                    "headings": [],
                    "text": "Kittens are the young of cats and learn to hunt by playing.",
                },
            ]
        },
        "total": 4,
        "embedder": "wordllama:l2_256",
    }
