"""`moot templates`: moot's own and the user's are listed, shown, found, added and removed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import in_process
from moot.retrieval.templates import BUILT_IN
from ollama_server import OllamaServer
from program import Ran, run

OWN = """---
title: Rubber duck
when: You are stuck in a program and want to explain it line by line.
---
## Steps
1. Tell the duck what each line should do.
"""
NAMES = sorted(path.stem for path in BUILT_IN.glob("*.md"))
Moot = Callable[..., Ran]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "moot" / "templates"


@pytest.fixture
def moot(capsys: pytest.CaptureFixture[str]) -> Moot:
    return partial(in_process.moot, capsys, "templates")


@pytest.fixture
def ollama() -> Iterator[OllamaServer]:
    with OllamaServer(("nomic-embed-text:latest",), lambda body: "").running() as server:
        yield server


def rows(ran: Ran) -> list[list[str]]:
    assert (ran.code, ran.err) == (0, "")
    return [re.split(r" {2,}", line) for line in ran.out.splitlines()]


def test_all_templates_are_listed_by_name_and_the_users_own_are_marked(moot: Moot) -> None:
    Path("rubber-duck.md").write_text(OWN)
    assert moot("add", "rubber-duck.md") == Ran(0, "rubber-duck: Rubber duck\n", "")
    header, *listed = rows(moot("list"))
    assert header == ["name", "title", "when to use it"]
    assert [row[0] for row in listed] == sorted([*NAMES, "rubber-duck"])
    assert [row for row in listed if "yours" in row] == [
        ["rubber-duck", "Rubber duck", "yours", "You are stuck in a program and want to explain it line by line."]
    ]


def test_a_template_is_shown_as_a_model_reads_it_and_the_users_own_wins(moot: Moot) -> None:
    built_in = moot("show", "five-whys")
    text = (BUILT_IN / "five-whys.md").read_text().split("---\n", 2)[2].strip()
    assert (built_in.code, built_in.out.startswith("Five whys\n\n")) == (0, True)
    assert built_in.out.endswith(f"\n\n{text}\n")
    Path("five-whys.md").write_text(OWN)
    moot("add", "five-whys.md")
    shown = "Rubber duck\n\nYou are stuck in a program and want to explain it line by line.\n\n"
    assert moot("show", "five-whys") == Ran(0, f"{shown}## Steps\n1. Tell the duck what each line should do.\n", "")
    assert moot("remove", "five-whys") == Ran(0, "five-whys is removed\n", "")
    assert moot("show", "five-whys") == built_in


def test_a_search_shows_what_a_question_would_get_the_best_first(cache: Path) -> None:
    found = run("templates", "search", "Why is the square root of 2 irrational?", "--top", "4")
    header, *hits = rows(found)
    assert header == ["score", "name", "title"]
    assert (len(hits), hits[0][1:]) == (4, ["proof-by-contradiction", "Proof by contradiction"])
    assert [hit[0] for hit in hits] == sorted((hit[0] for hit in hits), reverse=True)
    assert [path.name for path in cache.rglob("*.npz")] == ["index.npz"]
    none = run("templates", "search", "How many are there?", "--top", "0")
    assert (none.code, none.out) == (2, "")
    assert re.fullmatch("moot: --top: .*; see: moot templates search --help\n", none.err)


def test_a_template_of_the_users_own_is_found_once_it_is_added_and_not_once_it_is_removed(moot: Moot) -> None:
    question = "I am stuck in a program. Should I explain it line by line to a duck?"
    assert "rubber-duck" not in [hit[1] for hit in rows(moot("search", question))]
    Path("rubber-duck.md").write_text(OWN)
    moot("add", "rubber-duck.md")
    assert rows(moot("search", question, "--top", "1"))[1][1:] == ["rubber-duck", "Rubber duck"]
    moot("remove", "rubber-duck")
    assert "rubber-duck" not in [hit[1] for hit in rows(moot("search", question))]


@pytest.mark.parametrize("embedder", ["ollama", "ollama:mxbai-embed-large"])
def test_an_ollama_server_embeds_templates_once_and_then_only_questions(
    moot: Moot, ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch, cache: Path, embedder: str
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", ollama.host)
    Path("moot.yaml").write_text(f"retrieval: {{embedder: '{embedder}'}}\n")
    first = moot("search", "Should we estimate how many piano tuners there are?")
    assert rows(first)[0] == ["score", "name", "title"]
    assert moot("search", "Should we estimate how many piano tuners there are?") == first
    sent = ollama.bodies("/api/embed")
    model = embedder.partition(":")[2] or "nomic-embed-text"
    assert {body["model"] for body in sent} == {model}
    texts = [text for body in sent for text in body["input"]]
    assert sum(text.startswith("search_document: ") for text in texts) == len(NAMES)
    assert [text for text in texts if text.startswith("search_query: ")] == [
        "search_query: Should we estimate how many piano tuners there are?"
    ] * 2
    assert [path.name for path in cache.iterdir()] == [f"ollama-{model}"]


def test_chroma_keeps_the_vectors_if_the_user_wants_it(moot: Moot, cache: Path) -> None:
    built_in = moot("search", "How many piano tuners are there in Chicago?")
    Path("moot.yaml").write_text("retrieval: {store: chroma}\n")
    assert moot("search", "How many piano tuners are there in Chicago?") == built_in
    assert [path.parent.name for path in cache.rglob("chroma.sqlite3")] == ["wordllama-l2_256"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["show", "duck"], 1, "no template named 'duck'; moot templates list shows all"),
        (["show", "six-whys"], 1, r"no template named 'six-whys', did you mean five-whys\? moot templates list .*"),
        (["remove", "six-whys"], 1, "no template.*'six-whys'.*"),
        (["remove", "five-whys"], 2, "the template 'five-whys' comes with moot and cannot be removed; .*"),
        (["remove", "../secrets"], 2, r"\.\./secrets: a template's name has small letters, .*"),
        (["add", "nowhere.md"], 2, "no file nowhere.md"),
        (["add", "Bad Name.md"], 2, "Bad Name.md: a template's name has small letters, .*, not 'Bad Name'"),
        (["add", "plain.md"], 2, "plain.md must begin with a line ---, then title: and when:, then a line ---"),
        (["add", "untitled.md"], 2, "untitled.md: title: is missing"),
        (["add", "long.md"], 2, "long.md is longer than 20000 bytes; a template should fit on a page"),
        (["search", " "], 2, "nothing to search for: give a QUESTION"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_every_error_is_one_line_and_leaves_the_collection_as_it_was(
    moot: Moot, words: list[str], code: int, said: str
) -> None:
    Path("Bad Name.md").write_text(OWN)
    Path("plain.md").write_text("Just think.\n")
    Path("untitled.md").write_text(OWN.replace("title: Rubber duck\n", ""))
    Path("long.md").write_text(OWN + "x" * 20_000)
    ran = moot(*words)
    assert (ran.code, ran.out) == (code, "")
    assert re.fullmatch(f"moot: {said}\n", ran.err), ran.err
    assert len(rows(moot("list"))) == len(NAMES) + 1


def test_a_broken_template_among_the_users_own_is_named(moot: Moot, tmp_path: Path) -> None:
    own = tmp_path / "config" / "moot" / "templates" / "broken.md"
    own.parent.mkdir(parents=True)
    own.write_text("Just think.\n")
    for words in (["list"], ["show", "five-whys"], ["search", "Why?"]):
        assert moot(*words) == Ran(
            2, "", f"moot: {own} must begin with a line ---, then title: and when:, then a line ---\n"
        )
