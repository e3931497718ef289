"""The trace of a whole debate, field by field, and what many traces together tell."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ConfigDict, TypeAdapter
from typing_extensions import TypedDict, is_typeddict

from in_process import moot
from model_server import ModelServer
from moot.core.debate import Rating, Record, SeatSettings, Status, Turn, Usage
from moot.core.trace import Trace, trace
from moot.export.stats import Stats, Totals
from program import Ran, run
from replies import answers, critique, kind_of

QUESTION = "Why is the square root of 2 irrational?"
CRITIQUE = ("debate", QUESTION, "--format", "critique", "--json")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with ModelServer(answers).running() as server:
        yield server


def id_of(ran: Ran) -> str:
    return str(ran.events[0]["debate"])


def checked(type_: Any) -> Any:
    """The same type so that pydantic checks it strictly: nothing more, nothing less, nothing converted."""
    if is_typeddict(type_):
        made: Any = TypedDict(type_.__name__, {name: checked(own) for name, own in get_type_hints(type_).items()})  # type: ignore[misc]
        made.__pydantic_config__ = ConfigDict(extra="forbid", strict=True)
        return made
    if get_origin(type_) is list:
        return list[checked(get_args(type_)[0])]  # type: ignore[misc]
    return type_


TRACE = TypeAdapter(checked(Trace))


def ready_in_round(number: int, request: dict[str, Any]) -> str:
    """A skeptic who is content from this round on."""
    if kind_of(request) != "critique":
        return answers(request)
    said = "\n".join(message["content"] for message in request["messages"])
    return json.dumps({**critique(request), "score": 9, "ready": f"round {number}" in said.lower()})


# The trace of a debate


def test_the_trace_of_a_critique_tells_everything_and_is_of_its_type(server: ModelServer) -> None:
    ran = run(*CRITIQUE, "--model", server.model, "--max-rounds", "2")
    debate_id = id_of(ran)
    assert run("rate", debate_id, "5").code == 0
    told = json.loads(run("export", debate_id, "--as", "json").out)
    whole = TRACE.validate_json(json.dumps(told))
    assert whole == told
    found = whole["turns"][0]["data"]["templates"]
    assert whole["templates_used"] == [{name: each[name] for name in ("name", "title", "score")} for each in found]
    assert len(found) == 3
    assert [(one["round"], one["positions"]) for one in whole["rounds"]] == [(1, [1, 2]), (2, [3, 4])]
    assert [(turn["seat"], turn["kind"], turn["round"]) for turn in whole["turns"]] == [
        ("library", "templates", None),
        ("proposer", "proposal", 1),
        ("skeptic", "critique", 1),
        ("proposer", "proposal", 2),
        ("skeptic", "critique", 2),
        ("synthesizer", "answer", None),
        ("skeptic", "review", None),
    ]
    assert whole["models"] == {
        "proposer": server.model,
        "skeptic": server.model,
        "synthesizer": server.model,
        "embedding": "wordllama:l2_256",
    }
    expected = {
        "version": 1,
        "id": debate_id,
        "format": "critique",
        "format_version": 2,
        "status": "finished",
        "query": QUESTION,
        "final_answer": whole["turns"][-2]["content"],
        "total_rounds": 2,
        "early_stopped": False,
        "stop_reason": "max_rounds",
        "error": None,
        "quality_score": 6,
        "user_rating": 5,
        "auto_score": 2.75,
    }
    assert {name: whole[name] for name in expected} == expected
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", whole["created_at"])
    assert sorted(whole["timing"]["kinds_ms"]) == ["answer", "review", "templates"]
    assert len(whole["timing"]["rounds_ms"]) == 2
    assert whole["timing"]["total_ms"] >= sum(whole["timing"]["rounds_ms"])
    assert (whole["usage"]["calls"], sorted(whole["usage"]["by_seat"])) == (6, ["proposer", "skeptic", "synthesizer"])


# Numbers over many debates


def test_stats_are_whole_rows_by_format_and_models_the_most_frequent_first(
    server: ModelServer, capsys: pytest.CaptureFixture[str]
) -> None:
    mocked, wise = server.model, f"{server.url}#wise"
    first = id_of(moot(capsys, *CRITIQUE, "--model", mocked, "--max-rounds", "2"))
    server.replies = lambda request: ready_in_round(1, request)
    second = id_of(moot(capsys, *CRITIQUE, "--model", mocked, "--max-rounds", "3", "--set", "min_rounds=1"))
    server.replies = answers
    duel = id_of(moot(capsys, "debate", "Cats?", "--format", "duel", "--max-rounds", "1", "--json", "--model", wise))
    moot(
        capsys, "debate", "Cats?", "--json", "--model", wise, "--max-rounds", "1"
    )  # waits for its approval: not counted
    for debate_id, stars in ((first, "5"), (second, "2"), (duel, "3")):
        moot(capsys, "rate", debate_id, stars)
    lines = run("traces", "stats").out.splitlines()
    traces = [json.loads(moot(capsys, "show", debate_id, "--json").out) for debate_id in (first, second, duel)]
    written = [each["usage"]["output_tokens"] for each in traces]
    tokens = f"{(written[0] + written[1]) / 2:.0f}"
    header = ["format", "models", "debates", "rating", "auto", "rounds", "early stops", "tokens out", "seconds"]
    assert [re.split(r" {2,}", re.sub(r"\d+\.\d$", "S", line)) for line in lines] == [
        header,
        ["critique", f"{mocked}, wordllama:l2_256", "2", "3.5 (2)", "4.2", "1.5", "1", tokens, "S"],
        ["duel", wise, "1", "3.0 (1)", "6.0", "1.0", "0", str(written[2]), "S"],
    ]
    rows = [json.loads(line) for line in run("traces", "stats", "--json").out.splitlines()]
    seconds = [(traces[0]["timing"]["total_ms"] + traces[1]["timing"]["total_ms"]) / 2000]
    assert rows[0] == {
        "format": "critique",
        "models": f"{mocked}, wordllama:l2_256",
        "debates": 2,
        "rated": 2,
        "stars": 3.5,
        "auto_score": pytest.approx(4.25),
        "rounds": 1.5,
        "early_stopped": 1,
        "output_tokens": sum(written[:2]) / 2,
        "seconds": pytest.approx(seconds[0]),
    }
    assert len(rows) == 2


def test_without_debates_there_are_no_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    header = "format  models  debates  rating  auto  rounds  early stops  tokens out  seconds\n"
    assert moot(capsys, "traces", "stats") == Ran(0, header, "")
    assert moot(capsys, "traces", "stats", "--json") == Ran(0, "", "")


def made(
    format: str = "duel", model: str = "x:one", status: Status = Status.FINISHED, stars: int | None = None
) -> Trace:
    record = Record(
        id="DEB-1",
        format=format,
        format_version=1,
        topic="Cats?",
        settings={"max_rounds": 1},
        seats={"judge": SeatSettings(model, 0.2, 400)},
        created_at=1.0,
        status=status,
        stop_reason="max_rounds",
    )
    turn = Turn(
        position=0,
        seat="judge",
        kind="verdict",
        round=1,
        content="Yes.",
        data=None,
        usage=Usage(output_tokens=10, calls=1),
        model=model,
        marks=(),
        started_at=1.0,
        finished_at=3.5,
    )
    return trace(record, [turn], Rating(stars) if stars else None)


def stats(traces: Iterable[Trace]) -> tuple[Stats, ...]:
    totals = Totals()
    for each in traces:
        totals.add(each)
    return totals.stats()


def test_debates_that_nobody_rated_count_but_do_not_weigh_in_the_mean_of_ratings() -> None:
    assert stats([made(stars=5), made(), made(stars=2), made(status=Status.FAILED, stars=1)]) == (
        Stats(
            format="duel",
            models="x:one",
            debates=3,
            rated=2,
            stars=3.5,
            auto_score=None,
            rounds=1.0,
            early_stopped=0,
            output_tokens=10.0,
            seconds=2.5,
        ),
    )


def test_an_idea_that_was_only_scored_is_no_debate_that_stopped_early(server: ModelServer) -> None:
    Path("idea.md").write_text("# A sound idea\n")
    assert run("evaluate", "idea.md", "--no-debate", "--model", server.model).code == 0
    (row,) = [json.loads(line) for line in run("traces", "stats", "--json").out.splitlines()]
    assert (row["format"], row["rounds"], row["early_stopped"]) == ("evaluation", 0, 0)


@given(
    st.lists(
        st.builds(
            made,
            st.sampled_from(["duel", "panel"]),
            st.sampled_from(["x:one", "x:two"]),
            st.sampled_from([Status.FINISHED, Status.FAILED, Status.STOPPED]),
            st.none() | st.integers(1, 5),
        )
    )
)
def test_every_finished_debate_is_counted_once(traces: list[Trace]) -> None:
    rows = stats(traces)
    finished = [each for each in traces if each["status"] == "finished"]
    assert sum(row.debates for row in rows) == len(finished)
    assert sum(row.rated for row in rows) == sum(each["user_rating"] is not None for each in finished)
    assert [row.debates for row in rows] == sorted((row.debates for row in rows), reverse=True)
    assert all(row.stars is None or 1 <= row.stars <= 5 for row in rows)
