"""The library in whole debates through the program: templates, passages of sources, and what happens when it fails."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from model_server import ModelServer
from moot.retrieval.library import Library
from moot.retrieval.search import Excerpt
from moot.retrieval.templates import BUILT_IN
from ollama_server import OllamaServer
from pdf_file import pdf
from program import Ran, run
from replies import CAST, answers, asked, critique, kind_of, speech

QUESTION = "Why is the square root of 2 irrational?"
CRITIQUE = ("debate", QUESTION, "--format", "critique", "--max-rounds", "1", "--json")
UNREACHABLE = "cannot reach http://127.0.0.1:9: is the server running?"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(answers).running() as server:
        yield server


def configured(**retrieval: str) -> None:
    Path("moot.yaml").write_text(json.dumps({"retrieval": retrieval}))


def library_turns(ran: Ran) -> list[dict[str, Any]]:
    return [turn for turn in ran.turns if turn["seat"] == "library"]


def everything(request: dict[str, Any]) -> str:
    """All that a model is told."""
    return "\n".join(message["content"] for message in request["messages"])


# Templates


def test_a_critique_names_the_templates_it_found_and_the_proposer_reads_them(server: ModelServer) -> None:
    ran = run(*CRITIQUE, "--model", server.model)
    assert (ran.code, ran.err) == (0, "")
    (turn,) = library_turns(ran)
    found = turn["data"]["templates"]
    assert (turn["position"], turn["kind"], turn["marks"]) == (0, "templates", [])
    assert turn["data"]["embedder"] == "wordllama:l2_256"
    assert (len(found), found[0]["name"]) == (3, "proof-by-contradiction")
    assert turn["content"] == ", ".join(each["title"] for each in found)
    assert [each["score"] for each in found] == sorted((each["score"] for each in found), reverse=True)
    text = (BUILT_IN / "proof-by-contradiction.md").read_text().split("---\n", 2)[2].strip()
    assert found[0]["text"] == text
    assert text in everything(server.requests[0])
    assert ran.events[-1]["outcome"]["templates"] == {each["name"]: each["title"] for each in found}


def test_a_template_of_the_users_own_takes_the_place_of_moots(server: ModelServer) -> None:
    Path("proof-by-contradiction.md").write_text(
        "---\ntitle: Ask a teacher\nwhen: Why a square root is irrational.\n---\n## Steps\n1. Phone one.\n"
    )
    assert run("templates", "add", "proof-by-contradiction.md").code == 0
    ran = run(*CRITIQUE, "--model", server.model, "--set", "rag_top_k=1")
    (turn,) = library_turns(ran)
    assert turn["content"] == "Ask a teacher"
    assert [(each["name"], each["text"]) for each in turn["data"]["templates"]] == [
        ("proof-by-contradiction", "## Steps\n1. Phone one.")
    ]


def test_a_critique_that_wants_no_templates_asks_no_library(server: ModelServer) -> None:
    ran = run(*CRITIQUE, "--model", server.model, "--set", "rag_top_k=0")
    assert [turn["seat"] for turn in ran.turns] == ["proposer", "skeptic", "synthesizer", "skeptic"]


def test_retrieval_that_fails_is_told_and_marked_and_the_debate_goes_on(server: ModelServer) -> None:
    configured(embedder="ollama")
    ran = run(*CRITIQUE, "--model", server.model)
    assert (ran.code, ran.err) == (0, "")
    (turn,) = library_turns(ran)
    assert turn["content"] == f"The library could not be searched: {UNREACHABLE}"
    assert (turn["marks"], turn["data"]) == (["without:templates"], {"templates": []})
    assert [turn["seat"] for turn in ran.turns] == ["library", "proposer", "skeptic", "synthesizer", "skeptic"]
    caveats = ran.events[-1]["outcome"]["caveats"]
    assert caveats[0] == "no reasoning templates could be retrieved: the proposer worked without them"
    whole = ran.events[-1]["trace"]
    assert (whole["templates_used"], "embedding" in whole["models"]) == ([], False)


def test_strict_retrieval_that_fails_fails_the_debate_which_can_be_resumed(server: ModelServer) -> None:
    configured(embedder="ollama")
    ran = run(*CRITIQUE, "--model", server.model, "--set", "strict_retrieval=true")
    debate_id = ran.events[0]["debate"]
    assert (ran.code, ran.turns, server.requests) == (1, [], [])
    again = f"go on with: moot debate --resume {debate_id}"
    assert ran.err == f"moot: {debate_id} failed: {UNREACHABLE}; {again}\n"
    configured(embedder="wordllama")
    resumed = run("debate", "--resume", debate_id, "--json")
    assert (resumed.code, library_turns(resumed)[0]["marks"]) == (0, [])


def test_a_damaged_index_is_named_and_the_debate_goes_on(server: ModelServer, tmp_path: Path) -> None:
    configured(store="chroma")
    folder = tmp_path / "cache" / "moot" / "templates"
    index = folder / "wordllama-l2_256" / "chroma.sqlite3"
    index.parent.mkdir(parents=True)
    index.write_text("no database " * 100)
    ran = run(*CRITIQUE, "--model", server.model)
    assert (ran.code, ran.err) == (0, "")
    (turn,) = library_turns(ran)
    assert turn["marks"] == ["without:templates"]
    told = f"The library could not be searched: the index of templates in {re.escape(str(folder))} cannot be used: "
    assert re.fullmatch(rf"{told}.*; remove that folder", turn["content"])
    search = run("templates", "search", QUESTION)
    assert (search.code, search.err.count("\n")) == (1, 1)


# Passages of sources

FAST = "Latency and throughput matter most: the cluster answered a million reads per second under load."
CALM = "Operational simplicity decides: the small team could maintain one process and nobody was woken at night."
FILLER = "The canteen serves soup on Mondays and the bicycle shed was painted green in autumn by volunteers."


def noted(request: dict[str, Any]) -> str:
    """Whoever opens quotes the first passage found for it, and something that stands nowhere."""
    found = re.findall(r'<source tag="(S\d)[^"]*">\n(.+)', asked(request))
    tag, text = (found or [("S1", "nothing was found for me")])[0]
    return f'{speech(request)} As they say, "{text}" [{tag}]. And "the moon is made of cheese" [S2].'


def with_sources(request: dict[str, Any]) -> str:
    opens = not kind_of(request) and "Say in one sentence what you recommend" in asked(request)
    return noted(request) if opens else answers(request)


def paragraphs(*marked: str) -> str:
    filler = [f"{FILLER} " * 8 for _ in range(8)]
    return "\n\n".join([*filler[:4], *marked, *filler[4:]])


def panel(server: ModelServer, *sources: str) -> Ran:
    given = [word for source in sources for word in ("--source", source)]
    words = (
        "--perspectives",
        ",".join(CAST),
        "--max-rounds",
        "1",
        "--no-checkpoints",
        "--json",
        "--set",
        "whole_sources=6000",
    )
    return run("debate", "Which cache should we use?", *words, *given, "--model", server.model)


def test_each_debater_gets_its_own_passages_of_long_sources_and_its_quotes_are_checked(server: ModelServer) -> None:
    server.replies = with_sources
    Path("notes.md").write_text(paragraphs(FAST, CALM))
    Path("report.pdf").write_bytes(pdf("The first page is about soup.", "One process is simple to maintain at night."))
    ran = panel(server, "notes.md", "report.pdf")
    assert (ran.code, ran.err) == (0, "")
    (turn,) = library_turns(ran)
    found = turn["data"]["evidence"]
    assert (turn["kind"], turn["round"], turn["marks"], sorted(found)) == (
        "evidence",
        1,
        [],
        ["debater_1", "debater_2"],
    )
    number = sum(map(len, found.values()))
    assert re.fullmatch(rf"{number} of \d+ passages of the sources handed out\.", turn["content"])
    for passages in found.values():
        assert {passage["tag"] for passage in passages} == {"S1", "S2"}
        assert any("One process is simple to maintain at night." in passage["text"] for passage in passages)
    assert any(FAST in passage["text"] for passage in found["debater_1"])
    assert any(CALM in passage["text"] for passage in found["debater_2"])
    openings = [turn for turn in ran.turns if turn["kind"] == "opening"]
    assert [turn["notes"] for turn in openings] == [
        ["1 of 2 quotes stand in their source word for word", "not found: “the moon is made of cheese” [S2]"]
    ] * 2
    views = ran.events[-1]["outcome"]["perspectives"]
    assert [(view["name"], view["verified_quotes"], view["all_quotes"]) for view in views] == [
        (name, 1, 2) for name in CAST
    ]


async def test_many_sources_do_not_lead_to_more_passages_than_wanted(tmp_path: Path) -> None:
    library = Library(tmp_path / "own", tmp_path / "cache")
    texts = {f"S{number}": FILLER for number in range(1, 9)} | {"S9": CALM, "S10": FAST}
    assert await library.excerpts(texts, "reads per second, simple to maintain at night", 2) == (
        Excerpt("S9", CALM, "S9:0"),
        Excerpt("S10", FAST, "S10:0"),
    )
    assert len(await library.excerpts(texts, "latency", 4)) == 4


def test_short_sources_are_read_whole_and_nothing_is_searched(server: ModelServer) -> None:
    Path("notes.md").write_text(FAST)
    ran = panel(server, "notes.md")
    assert library_turns(ran) == []
    spoken = [request for request in server.requests if kind_of(request) != "analysis"]
    assert all(f'<source tag="S1" name="notes.md">\n{FAST}\n</source>' in everything(request) for request in spoken)


def test_sources_that_cannot_be_searched_are_told_and_the_panel_goes_on(server: ModelServer) -> None:
    configured(embedder="ollama")
    Path("notes.md").write_text(paragraphs(FAST, CALM))
    ran = panel(server, "notes.md")
    assert ran.code == 0
    (turn,) = library_turns(ran)
    assert (turn["content"], turn["marks"]) == (
        f"The library could not be searched: {UNREACHABLE}",
        ["without:evidence"],
    )
    caveats = ran.events[-1]["outcome"]["caveats"]
    assert "the sources could not be searched in round 1: the debaters knew only their names" in caveats


# Ollama


def native(body: dict[str, Any]) -> str:
    return json.dumps(critique(body)) if "format" in body else speech(body)


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaServer]:
    models = ("qwen3:8b", "qwen3:32b", "llama3.3:70b", "nomic-embed-text:latest")
    with OllamaServer(models, native).running() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        yield server


def test_with_the_models_a_critique_is_meant_for_its_seats_take_them_at_their_temperatures(
    ollama: OllamaServer,
) -> None:
    configured(embedder="ollama")
    ran = run(*CRITIQUE)
    assert (ran.code, ran.err) == (0, "")
    assert ran.events[-1]["trace"]["models"] == {
        "proposer": "ollama:qwen3:32b",
        "skeptic": "ollama:llama3.3:70b",
        "synthesizer": "ollama:qwen3:32b",
        "embedding": "ollama:nomic-embed-text",
    }
    chats = ollama.bodies("/api/chat")
    assert [(chat["model"], chat["options"]["temperature"]) for chat in chats] == [
        ("qwen3:32b", 0.7),
        ("llama3.3:70b", 0.8),
        ("qwen3:32b", 0.5),
        ("llama3.3:70b", 0.8),
    ]
    assert {body["model"] for body in ollama.bodies("/api/embed")} == {"nomic-embed-text"}


@pytest.mark.parametrize(
    ("models", "env", "expected"),
    [
        (("qwen3:8b", "qwen3:32b"), {}, ["ollama:qwen3:32b", "ollama:qwen3:8b", "ollama:qwen3:32b"]),
        (("qwen3:8b",), {}, ["ollama:qwen3:8b"] * 3),
        (("qwen3:32b", "llama3.3:70b"), {"MOOT_MODEL": "ollama:small"}, ["ollama:small"] * 3),
        (
            ("qwen3:32b", "llama3.3:70b"),
            {"MOOT_MODELS": '{"skeptic": "ollama:small"}'},
            ["ollama:qwen3:32b", "ollama:small", "ollama:qwen3:32b"],
        ),
    ],
    ids=["one of them is there", "none is there", "another is configured", "one seat's is configured"],
)
def test_without_them_or_with_others_configured_the_seats_take_what_there_is(
    ollama: OllamaServer, models: tuple[str, ...], env: dict[str, str], expected: list[str]
) -> None:
    ollama.models = models
    rows = [re.split(r" {2,}", line) for line in run("models", env=env).out.splitlines()]
    at = rows.index(["critique", "model", "because"])
    assert [(row[0], row[1]) for row in rows[at + 1 : at + 4]] == list(
        zip(["Proposer", "Skeptic", "Synthesizer"], expected, strict=True)
    )
