"""`moot evaluate`, in real processes against a scripted model: reports, rankings, comparisons and broken input."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from forkserver import ForkedPopen
from in_process import moot
from model_server import PATIENCE, ModelServer
from program import COMMAND, Ran, events_until, finish, run, started
from replies import JUDGED, answers, kind_of

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "ideas"
ID = re.compile(r"DEB-[a-z0-9]{8}")
Evaluate = Callable[..., Ran]
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(answers).running() as server:
        yield server


@pytest.fixture
def evaluate(server: ModelServer, capsys: pytest.CaptureFixture[str]) -> Evaluate:
    return lambda *words: moot(capsys, "evaluate", *words, "--model", server.model)


@pytest.fixture
def ideas() -> Path:
    shutil.copytree(EXAMPLES, "ideas")
    return Path("ideas")


def both(ideas: Path) -> list[Path]:
    return [ideas / "second-hearing", ideas / "balcony-solar"]


def report(folder: Path) -> str:
    text = (folder / "analysis" / "debate.md").read_text()
    return DATE.sub("DATE", ID.sub("DEB-ID", text), count=1)


def headings(text: str) -> list[str]:
    return re.findall(r"^## .*$", text, re.MULTILINE)


def kinds(server: ModelServer) -> list[str]:
    return sorted(kind_of(request) or "answer" for request in server.requests)


SCORES = """\
# Evaluation: Second Hearing: refurbished hearing aids, fitted at the pharmacy

DATE · DEB-ID · mock

**6.0 → 5.9 overall; problem +0.8, solution −1.1, market 0.0**

Of 3 topics the advocate won 1 and the challenger 1. Overall the idea moved from 6.0 to 5.9.

What moved it most was Solution fit (−1.1): On Solution fit both sides were heard. What to test next (Market \
opportunity): Count the pairs that pharmacies hand in.

**Trust: Low; 2 of 3 topics are decided**

- judged once: whether another judging would say the same is not known

## Scores

|  | before | after | difference |
| --- | --- | --- | --- |
| problem | 6.0 | 6.8 | +0.8 |
| solution | 7.0 | 5.9 | −1.1 |
| market | 5.0 | 5.0 | 0.0 |
| overall | 6.0 | 5.9 | −0.1 |

- **problem**: Problem validity: the advocate wins, 8 : 5, certainty medium: +0.8
- **solution**: Solution fit: the challenger wins, 8 : 4, certainty medium: −1.1
- **market**: Market opportunity: a draw, 6 : 6, so nothing moved

"""


def test_an_idea_is_scored_argued_and_judged_and_the_report_lies_beside_it(
    server: ModelServer, evaluate: Evaluate, ideas: Path
) -> None:
    folder = ideas / "second-hearing"
    ran = run("evaluate", str(folder), "--model", server.model)
    assert (ran.code, ran.err) == (0, "")
    text = report(folder)
    assert text[: len(SCORES)] == SCORES
    assert headings(text) == [
        "## Scores",
        "## What to test next",
        "## 1. Problem validity: the advocate wins, 8 : 5",
        "## 2. Solution fit: the challenger wins, 8 : 4",
        "## 3. Market opportunity: a draw, 6 : 6",
        "## What to keep in mind",
        "## Transcript",
        "## Claims",
    ]
    assert ran.out.endswith(f"\nsecond-hearing: {folder}/analysis/debate.md\n")
    assert kinds(server) == [*["arguments"] * 6, *["judgment"] * 3, "redteam", *["reply"] * 6, "scores"]


def test_an_evaluation_and_challenges_that_lie_beside_the_idea_are_argued_from(
    server: ModelServer, evaluate: Evaluate, ideas: Path
) -> None:
    assert evaluate(ideas / "balcony-solar").code == 0
    assert kinds(server) == [*["arguments"] * 6, *["judgment"] * 3, *["reply"] * 6]
    cases = [
        "\n".join(message["content"] for message in request["messages"])
        for request in server.requests
        if kind_of(request) == "arguments"
    ]
    challengers = [case for case in cases if "A red team has raised this" in case]
    reasons = [case.partition("out of 10 because of this:")[2] for case in cases]
    assert sum("19 neighbours told us they would like one." in each for each in reasons) == 2, "to both sides"
    assert sum("one service visit a year eats the margin" in case for case in challengers) == 1
    assert sum("Prices of plug-in sets have halved" in case for case in challengers) == 3
    table = [line.split(" | ")[1:] for line in report(ideas / "balcony-solar").splitlines() if line.startswith("| ")]
    assert [row[0] for row in table[2:5]] == ["6.0", "7.0", "5.5"]


def test_judges_of_other_models_judge_an_evaluation(server: ModelServer, ideas: Path) -> None:
    ran = run(
        "evaluate",
        str(ideas / "balcony-solar"),
        "--model",
        server.model,
        "--judges",
        f"{server.model}-2",
        "--set",
        "depth=normal",
    )
    assert (ran.code, ran.err) == (0, "")
    assert {kind_of(each) for each in server.requests if each["model"].endswith("-2")} == {"judgment"}


def test_without_a_debate_the_idea_is_only_scored(server: ModelServer, evaluate: Evaluate, ideas: Path) -> None:
    ran = evaluate(ideas / "second-hearing", "--no-debate")
    assert (ran.code, kinds(server)) == (0, ["scores"])
    text = report(ideas / "second-hearing")
    assert headings(text) == ["## Scores", "## Transcript"]
    assert "**6.0 overall; problem 6.0, solution 7.0, market 5.0**" in text.splitlines()


def test_topics_of_the_users_own_replace_the_usual_ones(server: ModelServer, evaluate: Evaluate, ideas: Path) -> None:
    Path("topics.yaml").write_text(
        "- name: Supply\n  category: supply\n  advocate: There are enough devices.\n  challenger: There are not.\n"
    )
    ran = evaluate(ideas / "second-hearing", "--topics", "topics.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert headings(report(ideas / "second-hearing"))[2] == "## 1. Supply: the advocate wins, 7 : 4"
    assert kinds(server) == ["arguments", "arguments", "judgment", "redteam", "reply", "reply", "scores"]


@pytest.mark.parametrize(("output", "written"), [("out", "out/debate.md"), ("new/report.md", "new/report.md")])
def test_the_report_goes_where_the_user_wants_it(evaluate: Evaluate, ideas: Path, output: str, written: str) -> None:
    Path("out").mkdir()
    ran = evaluate(ideas / "second-hearing", "--no-debate", "--output", output)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, f"second-hearing: {written}")
    assert headings(Path(written).read_text()) == ["## Scores", "## Transcript"]
    assert not (ideas / "second-hearing" / "analysis").exists()


def test_a_comparison_shows_what_moved_since_the_last_evaluation_of_the_same_idea(
    evaluate: Evaluate, ideas: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate(ideas / "balcony-solar")
    first = evaluate(ideas / "second-hearing", "--compare")
    assert first.out.endswith("\n\nThere is no earlier evaluation of this idea to compare with.\n")
    monkeypatch.setitem(JUDGED, "Market opportunity", (9, 4, "high"))
    second = evaluate(ideas / "second-hearing", "--compare")
    assert second.code == 0
    assert second.out.partition("debate.md\n")[2] == (
        "\n"
        "          last time       now             difference\n"
        "problem   ███████░░░ 6.8  ███████░░░ 6.8  0.0\n"
        "solution  ██████░░░░ 5.9  ██████░░░░ 5.9  0.0\n"
        "market    █████░░░░░ 5.0  ██████░░░░ 6.4  +1.4\n"
        "overall   ██████░░░░ 5.9  ██████░░░░ 6.4  +0.5\n"
    )


def test_a_comparison_says_what_makes_it_a_poor_one(evaluate: Evaluate, ideas: Path) -> None:
    evaluate(ideas / "second-hearing", "--no-debate")
    with (ideas / "second-hearing" / "idea.md").open("a") as idea:
        idea.write("\nWe also rent them out.\n")
    second = evaluate(ideas / "second-hearing", "--compare")
    assert "The scores were debated now, and not last time: a difference may come from that alone." in second.out
    assert "The idea has changed since the last time." in second.out


def test_an_evaluation_is_recorded_and_replayed_without_a_model(
    server: ModelServer, evaluate: Evaluate, ideas: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded = evaluate(ideas / "second-hearing", "--no-debate", "--record", "calls.jsonl", "--json")
    server.requests.clear()
    replayed = evaluate(ideas / "second-hearing", "--no-debate", "--replay", "calls.jsonl", "--json")
    assert (recorded.code, replayed.code, server.requests) == (0, 0, [])
    assert recorded.events[-1]["outcome"]["categories"] == replayed.events[-1]["outcome"]["categories"]


def test_what_is_refused_leaves_no_recording_behind(evaluate: Evaluate, ideas: Path) -> None:
    assert evaluate(ideas / "second-hearing", "--set", "nonsense=1", "--record", "calls.jsonl").code == 2
    assert not Path("calls.jsonl").exists()


def test_events_of_an_evaluation_as_json_are_all_that_stdout_holds(evaluate: Evaluate, ideas: Path) -> None:
    ran = evaluate(ideas / "second-hearing", "--no-debate", "--compare", "--json")
    types = [event["type"] for event in ran.events if event["type"] != "turn_chunk"]
    assert types == ["debate_started", "turn_started", "turn_finished", "debate_finished"]
    assert ran.err == (
        f"\nsecond-hearing: {ideas}/second-hearing/analysis/debate.md\n"
        "\nThere is no earlier evaluation of this idea to compare with.\n"
    )


# Several ideas


def test_several_ideas_end_in_a_ranking(evaluate: Evaluate, ideas: Path) -> None:
    ran = evaluate(*both(ideas), "--compare")
    assert (ran.code, ran.err) == (0, "")
    nothing = "\nThere is no earlier evaluation of this idea to compare with.\n"
    assert ran.out == (
        f"\nsecond-hearing: {ideas}/second-hearing/analysis/debate.md\n{nothing}"
        f"\nbalcony-solar: {ideas}/balcony-solar/analysis/debate.md\n{nothing}"
        "rank  idea            before  after           difference\n"
        "1     balcony-solar   6.2     ██████░░░░ 6.2  0.0\n"
        "2     second-hearing  6.0     ██████░░░░ 5.9  −0.1\n"
    )
    again = evaluate(*both(ideas), "--compare")
    assert again.out.count("          last time       now             difference\n") == 2


def test_several_ideas_as_json_are_events_alone_and_their_ranking_is_for_people(
    evaluate: Evaluate, ideas: Path
) -> None:
    ran = evaluate(*both(ideas), "--no-debate", "--json")
    finished = [event for event in ran.events if event["type"] == "debate_finished"]
    assert sorted(event["outcome"]["overall_after"] for event in finished) == [6.0, 6.17]
    assert len({event["debate"] for event in ran.events}) == 2
    assert ran.err.splitlines()[-2:] == [
        "1     balcony-solar   6.2     ██████░░░░ 6.2  0.0",
        "2     second-hearing  6.0     ██████░░░░ 6.0  0.0",
    ]


def test_an_idea_that_fails_stops_no_other_and_can_be_gone_on_with(
    server: ModelServer, evaluate: Evaluate, ideas: Path
) -> None:
    sound = True

    def replies(request: dict[str, Any]) -> str:
        if sound or "hearing aids" not in json.dumps(request["messages"]):
            return answers(request)
        raise ConnectionError

    server.replies, sound = replies, False
    ran = evaluate(*both(ideas), "--no-debate")
    assert ran.code == 1
    failed = ID.findall(ran.err)[0]
    assert re.fullmatch(rf"moot: second-hearing is failed: .*; go on with: moot debate --resume {failed}\n", ran.err)
    assert ran.out.splitlines()[-1] == "1     balcony-solar  6.2     ██████░░░░ 6.2  0.0"
    assert not (ideas / "second-hearing" / "analysis").exists()
    sound = True
    assert run("debate", "--resume", failed).code == 0


def test_a_report_that_could_not_be_written_is_told_before_a_model_is_asked(
    server: ModelServer, evaluate: Evaluate, ideas: Path
) -> None:
    Path("mine.md").write_text("Mine.")
    place = ideas / "second-hearing" / "analysis"
    place.write_text("in the way")
    cannot = "moot: the report cannot be written to {}: its folder cannot be written to; choose another place\n"
    for words, said in (
        (both(ideas), cannot.format(place / "debate.md")),
        (
            [ideas / "balcony-solar", "--output", "mine.md"],
            "moot: mine.md exists already; choose another name or remove it\n",
        ),
        ([ideas / "balcony-solar", "--output", "mine.md/it.md"], cannot.format("mine.md/it.md")),
    ):
        assert evaluate(*words, "--no-debate") == Ran(2, "", said)
    assert (server.requests, Path("mine.md").read_text()) == ([], "Mine.")


def test_a_second_evaluation_keeps_the_first_report_with_its_notes(evaluate: Evaluate, ideas: Path) -> None:
    folder = ideas / "second-hearing" / "analysis"
    evaluate(folder.parent, "--no-debate")
    first = (folder / "debate.md").read_text() + "My note."
    (folder / "debate.md").write_text(first)
    ran = evaluate(folder.parent, "--no-debate")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, f"second-hearing: {folder}/debate.md")
    (kept,) = folder.glob("debate-DEB-*.md")
    assert (kept.read_text(), kept.stem.removeprefix("debate-")) == (first, ID.findall(first)[0])
    assert headings((folder / "debate.md").read_text()) == ["## Scores", "## Transcript"]


def test_all_that_lies_in_a_folder_is_evaluated_a_second_time_too(server: ModelServer, evaluate: Evaluate) -> None:
    Path("ideas").mkdir()
    for name in ("rain", "sun"):
        Path(f"ideas/{name}.md").write_text(f"# {name.capitalize()} tanks\n")
    for _ in range(2):
        ran = evaluate(*sorted(Path("ideas").iterdir()), "--no-debate")
        assert (ran.code, ran.err) == (0, "")
        assert [line.split()[1] for line in ran.out.splitlines()[-2:]] == ["rain", "sun"]
    assert len(server.requests) == 4
    assert evaluate("ideas/analysis") == Ran(
        2, "", "moot: nothing to evaluate: give the PATH of a markdown file or a folder\n"
    )


def test_wildcards_that_a_shell_leaves_are_expanded(server: ModelServer, evaluate: Evaluate) -> None:
    Path("ideas").mkdir()
    for name in ("sun", "rain", "wind[1]"):
        Path(f"ideas/{name}.md").write_text(f"# {name.capitalize()} tanks\n")
    ran = evaluate("ideas/*n.md", "--no-debate")
    assert (ran.code, ran.err) == (0, "")
    assert sorted(line.split()[1] for line in ran.out.splitlines()[-2:]) == ["rain", "sun"]
    ran = evaluate("ideas/wind[1].md", "--no-debate")  # a file that is called so
    assert (ran.code, ran.err) == (0, "")
    assert len(server.requests) == 3


def test_wildcards_that_nothing_matches_are_named(server: ModelServer, evaluate: Evaluate, ideas: Path) -> None:
    ran = evaluate(ideas / "balcony-solar", "ideas/*.txt", "--no-debate")
    assert ran == Ran(2, "", "moot: no file or folder matches 'ideas/*.txt'\n")
    assert server.requests == []


def test_an_evaluation_that_was_killed_writes_its_report_when_it_is_resumed_and_again_when_it_is_missing(
    server: ModelServer, ideas: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, arrived, go_on = server.replies, threading.Event(), threading.Event()

    def held_back(request: dict[str, object]) -> str:
        arrived.set()
        go_on.wait(PATIENCE)
        return usual(request)

    server.replies = held_back
    with started(
        "evaluate", str(ideas / "second-hearing"), "--no-debate", "--json", "--model", server.model
    ) as process:
        debate_id = events_until(process, "debate_started")[0]["debate"]
        assert arrived.wait(PATIENCE)
        process.kill()
    go_on.set()
    written = tmp_path / ideas / "second-hearing" / "analysis" / "debate.md"
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    for _ in range(2):
        assert not written.exists()
        ran = run("debate", "--resume", debate_id)
        assert (ran.code, ran.out.splitlines()[-1]) == (0, f"Written to {written}")
        assert headings(written.read_text()) == ["## Scores", "## Transcript"]
        written.unlink()


def test_ideas_that_are_called_alike_keep_their_reports_apart_and_one_named_twice_is_evaluated_once(
    server: ModelServer, evaluate: Evaluate, ideas: Path
) -> None:
    shutil.copytree(ideas / "second-hearing", Path("other") / "second-hearing")
    paths = [ideas / "second-hearing", Path("other/second-hearing"), ideas / "second-hearing" / "idea.md"]
    ran = evaluate(*paths, "--no-debate", "--output", "out")
    assert (ran.code, kinds(server)) == (0, ["scores", "scores"])
    assert sorted(str(path) for path in Path("out").rglob("*.md")) == [
        "out/second-hearing-2/debate.md",
        "out/second-hearing/debate.md",
    ]
    assert [line.split()[:2] for line in ran.out.splitlines()[-2:]] == [
        ["1", "second-hearing"],
        ["1", "second-hearing-2"],
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_several_ideas_so_that_each_can_be_gone_on_with(
    server: ModelServer, ideas: Path, number: signal.Signals
) -> None:
    usual, arrived, go_on = server.replies, threading.Event(), threading.Event()

    def held_back(request: dict[str, object]) -> str:
        arrived.set()
        go_on.wait(PATIENCE)
        return usual(request)

    server.replies = held_back
    command = [*COMMAND, "evaluate", *map(str, both(ideas)), "--model", server.model]
    with ForkedPopen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert arrived.wait(PATIENCE)  # one speaks; the other may not have begun
        process.send_signal(number)
        ran = finish(process, [])
    go_on.set()
    assert (ran.code, ran.out) == (130, "")
    left = re.findall(r"^moot: ([a-z-]+) was left; go on with: moot debate --resume (DEB-\w+)$", ran.err, re.MULTILINE)
    assert sorted(name for name, _ in left) == ["balcony-solar", "second-hearing"]
    assert len(ran.err.splitlines()) == 2
    assert [run("debate", "--resume", debate_id).code for _, debate_id in left] == [0, 0]
    assert [(folder / "analysis" / "debate.md").is_file() for folder in both(ideas)] == [True, True]


# Broken input


def written(name: str, text: str | bytes) -> None:
    path = Path("idea") / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


@pytest.mark.parametrize(
    ("files", "arguments", "code", "said"),
    [
        ({}, ["nowhere"], 2, "there is no file or folder nowhere"),
        ({"notes.txt": "x"}, ["idea"], 2, "the folder idea holds no idea: it needs idea.md or README.md"),
        ({"idea.md": " \n"}, ["idea"], 2, "idea/idea.md is empty: describe the idea in it"),
        ({"idea.md": b"Good\nbad \xff"}, ["idea"], 2, "idea/idea.md, line 2: this is no UTF-8 text; save it as UTF-8"),
        (
            {"evaluation.yaml": "categories:\n  problem: 6\n  market: eleven\n"},
            ["idea"],
            2,
            "idea/evaluation.yaml, line 3, categories.market.score: write a number",
        ),
        (
            {"evaluation.json": '{"categories": {"market": 12}}'},
            ["idea"],
            2,
            "idea/evaluation.json, line 1, categories.market.score: at most 10",
        ),
        ({"evaluation.json": '{\n"categories": }'}, ["idea"], 2, "idea/evaluation.json, line 2: this is no JSON: .*"),
        ({"evaluation.yaml": ""}, ["idea"], 2, "idea/evaluation.yaml is empty: fill it, or remove it"),
        (
            {"evaluation.yaml": "categories: {a: 1}", "evaluation.json": "{}"},
            ["idea"],
            2,
            "idea/evaluation.yaml and evaluation.json lie side by side: keep one of them",
        ),
        ({"challenges.yaml": "- [\n"}, ["idea"], 2, "idea/challenges.yaml, line 2: this is no YAML: .*"),
        (
            {"challenges.yaml": "- too few\n- challenge: too late\n  severity: deadly\n"},
            ["idea"],
            2,
            r"idea/challenges.yaml, line 3, 1.severity: one of low, medium, high",
        ),
        (
            {"topics.yaml": "- name: Supply\n  category: supply\n  advocate: Enough.\n"},
            ["idea", "--topics", "idea/topics.yaml"],
            2,
            "idea/topics.yaml, line 1, 0.challenger: is missing",
        ),
        ({}, ["idea", "--topics", "nowhere.yaml"], 2, "nowhere.yaml cannot be read: No such file or directory"),
        ({}, ["idea", "--set", "exchanges=9"], 2, "evaluation settings: exchanges: .*"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)  # fmt: skip
def test_broken_input_is_one_line_with_file_line_and_field(
    capsys: pytest.CaptureFixture[str], files: dict[str, str | bytes], arguments: list[str], code: int, said: str
) -> None:
    sound = {} if "notes.txt" in files else {"idea.md": "# A sound idea\n"}
    for name, text in {**sound, **files}.items():
        written(name, text)
    ran = moot(capsys, "evaluate", *arguments, "--model", "http://127.0.0.1:9/v1#m")
    assert (ran.code, ran.out) == (code, "")
    assert re.fullmatch(f"moot: {said}\n", ran.err), ran.err
