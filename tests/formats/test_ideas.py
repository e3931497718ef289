"""Ideas as files: what is read, what is refused and how that is told, and where the report goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moot.core.format import FileDebate
from moot.errors import InvalidInput, NotFound
from moot.formats.evaluation.ideas import read
from moot.formats.evaluation.settings import EvaluationSettings, Topic

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "ideas"
TEXT = "# Rain tanks\n\nWe sell tanks."
EVALUATION = "categories:\n  problem: 7\n"
TEAM = Topic(name="Team", category="team", advocate="They can.", challenger="They cannot.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An idea in a folder of its own; the tests speak of it as their user does, from where it lies."""
    made = tmp_path / "rain"
    made.mkdir()
    (made / "idea.md").write_text(TEXT)
    return Path("rain")


# What is read


def test_a_folder_is_an_idea_with_its_evaluation_and_its_challenges(folder: Path) -> None:
    (folder / "evaluation.yaml").write_text(
        "categories:\n  Problem: 7\n  market: {score: 5, evidence: We sell tanks.}\n"
    )
    (folder / "challenges.json").write_text('["Who buys tanks?", {"challenge": "Rain is free.", "category": "market"}]')
    found = read(folder)
    problem = {"score": 7.0, "evidence": [], "confidence": "medium"}
    market = {"score": 5.0, "evidence": ["We sell tanks."], "confidence": "medium"}
    assert found == FileDebate(
        name="rain",
        topic="Rain tanks",
        settings={
            "idea": TEXT,
            "idea_key": found.key,
            "debate": True,
            "evaluation": {"categories": {"problem": problem, "market": market}},
            "challenges": [
                {"challenge": "Who buys tanks?", "category": None, "severity": "medium"},
                {"challenge": "Rain is free.", "category": "market", "severity": "medium"},
            ],
        },
        key=found.key,
        report=folder / "analysis/debate.md",
        folder=folder,
    )


def test_idea_md_goes_before_the_readme(folder: Path) -> None:
    (folder / "README.md").write_text("# About this folder")
    assert read(folder).topic == "Rain tanks"
    (folder / "idea.md").unlink()
    assert (read(folder).topic, read(folder).name) == ("About this folder", "rain")


def test_a_file_alone_in_its_folder_is_read_like_the_folder(folder: Path) -> None:
    (folder / "evaluation.yml").write_text(EVALUATION)
    assert read(folder / "idea.md") == read(folder)
    (folder / "idea.md").rename(folder / "tanks.md")
    found = read(folder / "tanks.md")
    assert (found.name, found.report) == ("tanks", folder / "analysis/debate.md")
    assert found.settings["evaluation"] == {
        "categories": {"problem": {"score": 7.0, "evidence": [], "confidence": "medium"}}
    }


def test_a_file_among_others_is_read_by_itself_and_has_a_report_of_its_own(folder: Path) -> None:
    (folder / "tanks.md").write_text("tanks")
    (folder / "barrels.md").write_text("barrels")
    (folder / "evaluation.yaml").write_text(EVALUATION)
    found = read(folder / "tanks.md")
    assert (found.topic, found.report) == ("tanks", folder / "analysis/tanks/debate.md")
    assert "evaluation" not in found.settings
    assert read(folder / "barrels.md").report == folder / "analysis/barrels/debate.md"


def test_an_idea_keeps_its_key_however_it_is_reached(folder: Path, tmp_path: Path) -> None:
    key = read(folder).key
    assert key == read(tmp_path / "rain" / "idea.md").key == read(Path("rain/../rain")).key
    assert key.startswith("rain-")
    assert str(tmp_path) not in key
    (folder / "idea.md").write_text("# Something else")
    assert read(folder).key == key
    (folder / "snow").mkdir()
    (folder / "snow" / "idea.md").write_text(TEXT)
    assert read(folder / "snow").key != key


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Rain #\n# Snow", "Rain"),
        ("First we explain.\n\n### Rain tanks\n", "Rain tanks"),
        ("\ufeff# Rain", "Rain"),
        ("#hashtag only", "rain"),
        ("# " + "word " * 100, ("word " * 100)[:200].strip()),
    ],
)
def test_the_title_is_the_first_heading_or_the_name(folder: Path, text: str, title: str) -> None:
    (folder / "idea.md").write_text(text)
    assert read(folder).topic == title


def test_what_no_database_keeps_does_not_get_into_one(folder: Path) -> None:
    (folder / "challenges.json").write_text('["Who\\u0000 buys?", "Half \\ud83d a face."]')
    challenges: Any = read(folder).settings["challenges"]
    assert [each["challenge"] for each in challenges] == ["Who\ufffd buys?", "Half ? a face."]


@pytest.mark.parametrize("name", ["second-hearing", "balcony-solar"])
def test_the_examples_are_ideas(name: str) -> None:
    found = read(EXAMPLES / name)
    settings = EvaluationSettings.model_validate(found.settings)
    assert (found.name, settings.idea) == (name, (EXAMPLES / name / "idea.md").read_text(encoding="utf-8").strip())
    assert (bool(settings.evaluation), bool(settings.challenges)) == (name == "balcony-solar",) * 2
    assert settings.unscored == (() if settings.evaluation else ("problem", "solution", "market"))


# What is refused


def told(path: Path) -> str:
    with pytest.raises((InvalidInput, NotFound)) as caught:
        read(path)
    return str(caught.value)


def test_what_is_not_there_is_named(folder: Path) -> None:
    assert told(Path("snow")) == "there is no file or folder snow"
    (folder / "idea.md").unlink()
    assert told(folder) == "the folder rain holds no idea: it needs idea.md or README.md"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b" \n\t", "rain/idea.md is empty: describe the idea in it"),
        (b"one\ntwo \xff\n", "rain/idea.md, line 2: this is no UTF-8 text; save it as UTF-8"),
        (b"one\0two", "rain/idea.md is no text: it holds a zero byte"),
        (b"x" * 40_001, "rain/idea.md has 40001 characters; at most 40000 can be debated: shorten it"),
        (b"x" * 1_000_001, "rain/idea.md is larger than 1000000 bytes: shorten it"),
    ],
)
def test_a_text_that_cannot_be_debated_is_refused(folder: Path, content: bytes, message: str) -> None:
    (folder / "idea.md").write_bytes(content)
    assert told(folder) == message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "evaluation.yaml",
            "categories:\n  problem: 7\n  solution:\n    score: 11\n    evidense: x\n",
            "line 4, categories.solution.score: at most 10; line 5, categories.solution.evidense: not known",
        ),
        (
            "evaluation.yaml",
            "categories:\n  problem: {evidence: x}\n",
            "line 2, categories.problem.score: is missing",
        ),
        (
            "evaluation.yaml",
            "categories:\n  problem: 7\n  overall: 5\n",
            "line 3, categories.overall: 'overall' is the score of all categories together; "
            "name the category otherwise",
        ),
        (
            "evaluation.yaml",
            "categories:\n  1st: 7\n",
            "line 2, categories.1st: '1st' cannot name a category: begin with a letter, then letters, digits, "
            "spaces, hyphens",
        ),
        ("evaluation.yaml", "categories: [7]", "line 1, categories: write a value for each name"),
        (
            "evaluation.yaml",
            "categories: {problem: .nan}",
            "line 1, categories.problem.score: write a number that is not infinite",
        ),
        (
            "evaluation.yaml",
            "categories:\n  problem: [7\nx: 1",
            "line 3: this is no YAML: expected ',' or ']', but got ':'",
        ),
        ("evaluation.yaml", "a: &a [x]\nb: [*a, *a]", "line 2: write out what *a stands for"),
        ("challenges.yaml", "[" * 50_000, "line 1: nested too deeply to be read"),
        ("challenges.yaml", "\n" + "- " * 50_000, "line 2: nested too deeply to be read"),
        ("challenges.yaml", "- a\n" * 20_000, "line 20000: too long to be read"),
        ("evaluation.json", f'{{"categories": {{"problem": {"9" * 5000}}}}}', "line 1: a number with too many digits"),
        ("evaluation.yaml", f"categories:\n  a: {'9' * 5000}", "line 2: a number with too many digits"),
        ("evaluation.yaml", f"categories:\n  a: 0x{'9' * 20_000}", "line 2: a number with too many digits"),
        ("evaluation.yaml", f"categories:\n  a: 1{':10' * 20_000}", "line 2: a number with too many digits"),
        (
            "evaluation.yaml",
            "categories:\n" + "".join(f"  _{number}: 4\n" for number in range(1000)),
            "; ".join(
                f"line {number + 2}, categories._{number}: '_{number}' cannot name a category: begin with a letter, "
                "then letters, digits, spaces, hyphens"
                for number in range(5)
            )
            + "; and 995 more",
        ),
        (
            "challenges.yaml",
            "- \x07",
            "this is no YAML: unacceptable character #x0007: special characters are not allowed "
            'in "<unicode string>", position 2',
        ),
        (
            "evaluation.yaml",
            "!!python/name:os.system x",
            "line 1: this is no YAML: could not determine a constructor for the tag "
            "'tag:yaml.org,2002:python/name:os.system'",
        ),
        (
            "evaluation.json",
            '{\n\t"categories": {\n\t\t"problem": {"score": "high"}\n\t}\n}',
            "line 3, categories.problem.score: write a number",
        ),
        ("evaluation.json", '{\n"categories": }', "line 2: this is no JSON: Expecting value"),
        (
            "challenges.yaml",
            "- Who buys?\n- challenge: x\n  severity: huge\n",
            "line 3, 1.severity: one of low, medium, high",
        ),
        (
            "challenges.yaml",
            "challenges:\n- challenge:\n",
            "line 2, challenges.0.challenge: write a text",
        ),
    ],
)
def test_a_fault_in_a_file_is_told_with_its_line_and_field(folder: Path, name: str, text: str, message: str) -> None:
    (folder / name).write_text(text)
    assert told(folder) == f"rain/{name}, {message}"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("evaluation.yaml", "# nothing yet\n", "is empty: fill it, or remove it"),
        ("evaluation.json", "[" * 100_000, "is nested too deeply to be read"),
    ],
)
def test_a_file_that_is_wrong_as_a_whole_is_named(folder: Path, name: str, text: str, message: str) -> None:
    (folder / name).write_text(text)
    assert told(folder) == f"rain/{name} {message}"


@pytest.mark.parametrize("name", ["idea.md", "evaluation.yaml", "challenges.json"])
def test_a_link_that_leads_out_of_the_folder_is_not_read(folder: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("root:x:0:0:root:/root:/bin/bash\n[")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(tmp_path / "secret")
    assert told(folder) == f"rain/{name} is a link that leads out of its folder; put a copy in its place"


def test_a_link_within_the_folder_is_followed(folder: Path) -> None:
    (folder / "idea.md").rename(folder / "rain.txt")
    (folder / "idea.md").symlink_to("rain.txt")
    assert read(folder).topic == "Rain tanks"


@pytest.mark.parametrize("text", ["# a{}x", "#{}x", "# a {}#", "# a{}#x", "# {}"])
def test_a_heading_of_many_spaces_is_read_at_once(folder: Path, text: str) -> None:
    (folder / "idea.md").write_text(text.format(" " * 39_000))
    assert read(folder).topic[:1] in "axr"


def test_two_files_for_one_thing_are_refused(folder: Path) -> None:
    (folder / "evaluation.yaml").write_text(EVALUATION)
    (folder / "evaluation.json").write_text("{}")
    assert told(folder) == "rain/evaluation.yaml and evaluation.json lie side by side: keep one of them"


# What an evaluation is created with


def test_the_settings_hold_all_that_an_idea_s_files_say(folder: Path) -> None:
    (folder / "evaluation.yaml").write_text(EVALUATION)
    (folder / "challenges.yaml").write_text("- Who buys?")
    topics = folder.parent / "topics.json"
    topics.write_text(f"[{TEAM.model_dump_json()}]")
    found = read(folder, topics, debate=False)
    assert found.settings == {
        "idea": TEXT,
        "idea_key": found.key,
        "debate": False,
        "evaluation": {"categories": {"problem": {"score": 7.0, "evidence": [], "confidence": "medium"}}},
        "challenges": [{"challenge": "Who buys?", "category": None, "severity": "medium"}],
        "topics": [TEAM.model_dump()],
    }
    checked = EvaluationSettings.model_validate(found.settings)
    assert (checked.topics, checked.unscored, checked.categories) == ([TEAM], ("team",), ("team", "problem"))


def test_without_files_of_its_own_an_idea_says_nothing_about_scores(folder: Path) -> None:
    found = read(folder)
    assert found.settings == {"idea": TEXT, "idea_key": found.key, "debate": True}


@pytest.mark.parametrize("under", ["", "topics:\n"])
def test_topics_come_from_a_list_in_a_file(folder: Path, tmp_path: Path, under: str) -> None:
    file = tmp_path / "topics.yaml"
    file.write_text(f"{under}- {{name: Team, category: Team, advocate: They can., challenger: They cannot.}}\n")
    assert read(folder, file).settings["topics"] == [TEAM.model_dump()]


def test_a_topic_that_lacks_a_side_is_refused(folder: Path) -> None:
    file = Path("topics.yaml")
    file.write_text("- name: Team\n  category: team\n  advocate: They can.\n")
    with pytest.raises(InvalidInput) as caught:
        read(folder, file)
    assert str(caught.value) == "topics.yaml, line 1, 0.challenger: is missing"
