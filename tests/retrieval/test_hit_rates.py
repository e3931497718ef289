"""How well questions find the template they need; bench/retrieval.py shows the numbers."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
import yaml

from moot.retrieval.embed import WordLlamaEmbedder
from moot.retrieval.library import Library
from moot.retrieval.templates import Template, collection

HERE = Path(__file__).parent
STOP_WORDS = """
a about all also an and any are as at be been but by can could did do does each every for from had has have how i if in
into is it its me must my no not of on one or our out should so some than that the their them then there they this to
too us was we were what when where which who why will with would you your
"""


def asked(name: str) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = yaml.safe_load((HERE / f"{name}.yaml").read_text())
    return rows


@pytest.fixture(scope="module")
def templates() -> dict[str, Template]:
    return dict(collection(HERE / "none"))


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) - set(STOP_WORDS.split())


def test_there_are_forty_questions_and_all_templates_are_asked_for(templates: dict[str, Template]) -> None:
    assert len(asked("queries")) == 40
    for name in ("queries", "held_out"):
        assert {row["expects"] for row in asked(name)} == set(templates)


def test_no_question_shares_a_word_with_the_name_or_title_it_should_find(templates: dict[str, Template]) -> None:
    for row in asked("queries"):
        template = templates[row["expects"]]
        shared = words(row["query"]) & words(f"{template.name.replace('-', ' ')} {template.title}")
        assert not shared, f"{row['query']} shares {shared} with {template.title}"


@pytest.mark.parametrize("name", ["queries", "held_out", "fresh", "blind"])
def test_no_question_stands_in_a_template_nearly_as_it_is(templates: dict[str, Template], name: str) -> None:
    for row in (row for row in asked(name) if row["expects"] != "none"):
        for question in templates[row["expects"]].questions:
            ours, theirs = words(row["query"]), words(question)
            assert len(ours & theirs) / len(ours | theirs) < 0.34, f"{row['query']} ~ {question}"


@pytest.mark.parametrize(
    ("name", "first", "third", "noise"),
    [
        ("queries", 32, 37, 0),
        ("development", 66, 67, 3),
        ("held_out", 26, 29, 0),
        ("new", 26, 30, 0),
        ("fresh", 27, 28, 0),
        ("blind", 29, 37, 0),
    ],
)
async def test_questions_find_their_template_or_none(
    wordllama: WordLlamaEmbedder, tmp_path: Path, name: str, first: int, third: int, noise: int
) -> None:
    library = Library(tmp_path, tmp_path, connect=partial(itself, wordllama))
    found = [[each.template.name for each in await library.find(row["query"], 3)] or ["none"] for row in asked(name)]
    expected = [row["expects"] for row in asked(name)]
    assert sum(names[0] == wanted for names, wanted in zip(found, expected, strict=True)) >= first
    assert sum(wanted in names for names, wanted in zip(found, expected, strict=True)) >= third
    unwanted = [names for names, wanted in zip(found, expected, strict=True) if wanted == "none" and names != ["none"]]
    assert len(unwanted) <= noise


async def itself(embedder: WordLlamaEmbedder) -> WordLlamaEmbedder:
    return embedder


async def test_a_number_of_things_in_a_city_is_a_fermi_estimate(wordllama: WordLlamaEmbedder, tmp_path: Path) -> None:
    library = Library(tmp_path, tmp_path, connect=partial(itself, wordllama))
    (best,) = await library.find("How many piano tuners are in Chicago?", 1)
    assert best.template.name == "fermi-estimate"
