"""How well questions find the template they need; bench/retrieval.py shows the numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from moot.retrieval.builtin import BuiltinStore
from moot.retrieval.embed import WordLlamaEmbedder
from moot.retrieval.retriever import Retriever
from moot.retrieval.templates import Template, collection, documents

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


@pytest.mark.parametrize("name", ["queries", "held_out"])
def test_no_question_stands_in_a_template_nearly_as_it_is(templates: dict[str, Template], name: str) -> None:
    for row in asked(name):
        for question in templates[row["expects"]].questions:
            ours, theirs = words(row["query"]), words(question)
            assert len(ours & theirs) / len(ours | theirs) < 0.34, f"{row['query']} ~ {question}"


@pytest.mark.parametrize(("name", "first", "third"), [("queries", 25, 35), ("held_out", 14, 27)])
async def test_questions_find_their_template(
    templates: dict[str, Template], wordllama: WordLlamaEmbedder, name: str, first: int, third: int
) -> None:
    retriever = Retriever(wordllama, BuiltinStore())
    await retriever.index(documents(templates.values()))
    hits = [[hit.id for hit in await retriever.search(row["query"], 3)] for row in asked(name)]
    expected = [row["expects"] for row in asked(name)]
    assert sum(ids[0] == wanted for ids, wanted in zip(hits, expected, strict=True)) >= first
    assert sum(wanted in ids for ids, wanted in zip(hits, expected, strict=True)) >= third
