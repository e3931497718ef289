from __future__ import annotations

import cProfile
import re
from pathlib import Path

import pytest

from moot.errors import InvalidInput, MootError, NotFound
from moot.retrieval.retriever import Document
from moot.retrieval.templates import BUILT_IN, MAX_BYTES, Template, add, collection, documents, read, remove

OWN = """---
title: Rubber duck
when: >-
  You are stuck
  in code.
questions:
  - Why does it not compile?
---
Some words before.

## Steps
1. Tell the duck
   what it should do.
2. Tell it what it does.

## Pitfalls
- Telling a colleague
- Not listening

## Example
"It adds one." It does not.

Mended.
"""
BUILT_INS = sorted(BUILT_IN.glob("*.md"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "templates"


def written(tmp_path: Path, text: str | bytes, name: str = "rubber-duck.md") -> Path:
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_a_file_is_read_in_all_its_parts(tmp_path: Path) -> None:
    assert read(written(tmp_path, OWN)) == Template(
        name="rubber-duck",
        title="Rubber duck",
        when="You are stuck in code.",
        questions=("Why does it not compile?",),
        steps=("Tell the duck what it should do.", "Tell it what it does."),
        pitfalls=("Telling a colleague", "Not listening"),
        example='"It adds one." It does not.\n\nMended.',
        built_in=False,
        text=OWN.split("---\n", 2)[2].strip(),
    )


def test_a_file_from_windows_reads_alike(tmp_path: Path) -> None:
    plain = read(written(tmp_path, OWN))
    assert read(written(tmp_path, b"\xef\xbb\xbf" + OWN.replace("\n", "\r\n").encode())) == plain


def test_only_title_when_and_steps_are_needed(tmp_path: Path) -> None:
    template = read(written(tmp_path, "---\ntitle: T\nwhen: W\n---\n## Steps\n- Think\n"))
    assert (template.steps, template.pitfalls, template.example, template.questions) == (("Think",), (), "", ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# No front", " must begin with a line ---, then title: and when:, then a line ---"),
        ("---\n- a\n---\n", ": the lines between --- must be of the form `title: …` and `when: …`"),
        (OWN.replace("title: Rubber duck\n", ""), ": title: is missing"),
        (OWN.replace("title: Rubber duck", "title: 7"), ": title: write a text"),
        (OWN.replace("title:", "titel:"), ": no such field: titel; there are title, when, questions"),
        (OWN.replace("## Steps", "## Moves"), ": steps: give at least 1"),
        (OWN.replace("stuck\n", f"{'very ' * 300}stuck\n"), ": when: at most 1,000 characters"),
        (b"---\ntitle: \xff", " is not UTF-8 at byte 11; save it as UTF-8"),
        (OWN + "x" * MAX_BYTES, f" is longer than {MAX_BYTES} bytes; a template should fit on a page"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str | bytes, problem: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(InvalidInput) as raised:
        read(file)
    assert str(raised.value) == f"{file}{problem}"


@pytest.mark.parametrize("front", ["a: [", "[" * 5000, "a: 2024-99-99", "a: &x [*x]", "!!python/name:os.system x"])
def test_hostile_yaml_is_refused_in_one_line(tmp_path: Path, front: str) -> None:
    file = written(tmp_path, f"---\n{front}\n---\n## Steps\n1. a\n")
    with pytest.raises(InvalidInput, match=re.escape(str(file))) as raised:
        read(file)
    assert "\n" not in str(raised.value)


def test_a_users_template_replaces_moots_of_the_same_name_until_it_is_removed(tmp_path: Path, folder: Path) -> None:
    before = collection(folder)
    added = add(folder, written(tmp_path, OWN, "induction.md"))
    assert added == read(folder / "induction.md")
    assert collection(folder) == {**before, "induction": added}
    remove(folder, "induction")
    assert collection(folder) == before
    assert list(folder.iterdir()) == []


def test_adding_again_replaces(tmp_path: Path, folder: Path) -> None:
    add(folder, written(tmp_path, OWN))
    newer = add(folder, written(tmp_path, OWN.replace("Rubber duck", "Wooden duck")))
    assert collection(folder)["rubber-duck"] == newer
    assert newer.title == "Wooden duck"


def test_a_file_that_cannot_be_read_is_not_added(tmp_path: Path, folder: Path) -> None:
    add(folder, written(tmp_path, OWN))
    with pytest.raises(InvalidInput):
        add(folder, written(tmp_path, "nothing"))
    assert (folder / "rubber-duck.md").read_text() == OWN


def test_names_are_in_alphabetical_order_whoever_wrote_them(tmp_path: Path, folder: Path) -> None:
    add(folder, written(tmp_path, OWN))
    assert list(collection(folder)) == sorted([*(path.stem for path in BUILT_INS), "rubber-duck"])


def test_moots_own_cannot_be_removed(folder: Path) -> None:
    with pytest.raises(InvalidInput) as raised:
        remove(folder, "induction")
    assert str(raised.value) == (
        "the template 'induction' comes with moot and cannot be removed; "
        "to replace it, add a file induction.md of your own"
    )
    assert (BUILT_IN / "induction.md").exists()


def test_removing_an_unknown_name_tells_those_there_are(tmp_path: Path, folder: Path) -> None:
    add(folder, written(tmp_path, OWN))
    with pytest.raises(NotFound) as raised:
        remove(folder, "duck")
    assert str(raised.value) == "no template named 'duck' of your own; there are: rubber-duck"


@pytest.mark.parametrize("name", ["../secret", "..", "", "a/b", "A", "a b", "a.md", "é", "a\n", "/etc/passwd"])
def test_a_name_leads_nowhere_else(tmp_path: Path, folder: Path, name: str) -> None:
    folder.mkdir()
    secret = written(tmp_path, "keep", "secret.md")
    with pytest.raises(InvalidInput, match="small letters, digits and hyphens only"):
        remove(folder, name)
    assert secret.read_text() == "keep"


def test_a_file_with_a_bad_name_or_none_at_all_is_not_added(tmp_path: Path, folder: Path) -> None:
    file = written(tmp_path, OWN, "Rubber Duck.md")
    for bad, problem in (
        (file, f"{file}: a template's name has small letters, digits and hyphens only, not 'Rubber Duck'"),
        (tmp_path / "gone.md", f"no file {tmp_path / 'gone.md'}"),
    ):
        with pytest.raises(MootError) as raised:
            add(folder, bad)
        assert str(raised.value) == problem
    assert not folder.exists()


@pytest.mark.parametrize("file", BUILT_INS, ids=lambda file: file.stem)
def test_each_template_of_moots_is_whole_and_fits_on_a_page(file: Path) -> None:
    template = read(file)
    assert template.built_in
    assert 4 <= len(template.steps) <= 7
    assert len(template.pitfalls) >= 3
    assert 9 <= len(template.questions) <= 14
    assert template.example
    assert 150 <= len(template.text.split()) <= 350
    assert max(len(line) for line in file.read_text().splitlines()) <= 120
    assert re.findall(r"^## (.*)$", template.text, re.MULTILINE) == ["Steps", "Pitfalls", "Example"]


def test_there_are_enough_templates_and_no_two_are_called_alike(folder: Path) -> None:
    templates = collection(folder).values()
    assert len(templates) >= 34
    assert len({template.title for template in templates}) == len(templates)


def test_title_when_and_questions_are_searched(tmp_path: Path) -> None:
    template = read(written(tmp_path, OWN))
    text = "Rubber duck. You are stuck in code. Why does it not compile?"
    assert documents([template]) == (Document("rubber-duck", text),)


def test_moot_s_own_templates_are_read_once_and_the_user_s_every_time(tmp_path: Path) -> None:
    collection(tmp_path)
    own = (BUILT_IN / "bisection.md").read_text().replace("title: ", "title: My ")
    (tmp_path / "bisection.md").write_text(own)
    profile = cProfile.Profile()
    found = profile.runcall(collection, tmp_path)
    assert found["bisection"].title.startswith("My ")
    assert list(found) == sorted(found)
    assert sum(entry.callcount for entry in profile.getstats() if getattr(entry.code, "co_name", "") == "read") == 1
