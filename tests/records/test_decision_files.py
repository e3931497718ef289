"""Decisions as files: numbered, whole, never over another, never outside their folder."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from forkserver import ForkedPopen
from moot.errors import InvalidInput
from moot.records.files import write
from moot.text.files import publish
from moot.text.markdown import front_matter
from moot.text.plain import slug

HOSTILE = st.one_of(
    st.text(max_size=200),
    st.text(alphabet="./\\~:\0\r\n -_aé\u202e\ud800CON*?", max_size=300),
    st.sampled_from(
        ["../../etc/passwd", "/etc/passwd", "..", ".", "a/../../b", "C:\\x", "$(touch x)", "-rf", "x" * 5000]
    ),
)
WRITER = """
import sys
from pathlib import Path
from moot.records.files import write
sys.stdin.readline()
for number in range(10):
    print(write(Path(sys.argv[1]), f"{sys.argv[2]} {number}", f"Text {number}.", f"DEB-{sys.argv[2]}{number}").name)
"""


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


def without_links(_claim: Path, _path: Path) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


# The file


def test_a_decision_is_a_numbered_file_with_front_matter(tmp_path: Path) -> None:
    folder = tmp_path / "docs" / "decisions"
    path = write(folder, "Use REST, not\nGraphQL?", "# Decision\n\nREST.\n", "DEB-abcd1234")
    assert path == folder / "0001-use-rest-not-graphql.md"
    assert files(folder) == {
        "0001-use-rest-not-graphql.md": (
            "---\ntitle: Use REST, not GraphQL?\ndebate: DEB-abcd1234\n---\n\n# Decision\n\nREST.\n"
        )
    }


def test_a_text_that_brings_front_matter_of_the_debate_is_written_as_it_is(tmp_path: Path) -> None:
    text = front_matter({"title": "Cats", "debate": "DEB-1", "rounds": 3}) + "\nCats.\n"
    assert write(tmp_path, "Cats", text, "DEB-1").read_text() == text


def test_front_matter_of_another_debate_does_not_count(tmp_path: Path) -> None:
    text = front_matter({"debate": "DEB-12"}) + "\nCats.\n"
    assert write(tmp_path, "Cats", text, "DEB-1").read_text() == f"---\ntitle: Cats\ndebate: DEB-1\n---\n\n{text}"


def test_numbers_go_on_from_the_highest_whatever_else_is_there(tmp_path: Path) -> None:
    for name in ("0007-old.md", "0003-older.md", "README.md", "12-short.md", "notes", "99999999999999-huge.md"):
        (tmp_path / name).write_text("mine")
    assert write(tmp_path, "New", "Text.", "DEB-1").name == "0008-new.md"
    (tmp_path / "9999-last.md").write_text("mine")
    assert write(tmp_path, "Newer", "Text.", "DEB-2").name == "10000-newer.md"


def test_the_same_text_of_the_same_debate_is_written_once(tmp_path: Path) -> None:
    first = write(tmp_path, "Cats", "Cats.", "DEB-1")
    renamed = first.rename(tmp_path / "0004-renamed.md")
    renamed.write_bytes(renamed.read_bytes().replace(b"\n", b"\r\n"))
    assert write(tmp_path, "Cats", "Cats.", "DEB-1") == renamed
    assert [path.name for path in tmp_path.iterdir()] == ["0004-renamed.md"]


def test_a_debate_has_one_file_and_what_a_person_wrote_in_it_stays(tmp_path: Path) -> None:
    first = write(tmp_path, "Cats", "Cats.", "DEB-1")
    first.write_bytes(noted := first.read_bytes() + b"My own note.")
    assert write(tmp_path, "Cats", "Dogs after all.", "DEB-1") == first
    assert first.read_bytes() == noted


def test_another_debate_gets_a_new_number(tmp_path: Path) -> None:
    first = write(tmp_path, "Cats", "Cats.", "DEB-1")
    before = first.read_bytes()
    assert write(tmp_path, "Cats", "Cats.", "DEB-2").name == "0002-cats.md"
    assert first.read_bytes() == before


def test_a_link_to_elsewhere_is_neither_read_nor_followed(tmp_path: Path) -> None:
    folder = tmp_path / "decisions"
    outside = write(tmp_path / "outside", "Cats", "Cats.", "DEB-1")
    folder.mkdir()
    (folder / "0001-cats.md").symlink_to(outside)
    (folder / ".0002.tmp").symlink_to(tmp_path / "nothing")
    assert write(folder, "Cats", "Cats.", "DEB-1") == folder / "0003-cats.md"
    assert not (tmp_path / "nothing").exists()


def test_without_hard_links_a_file_is_still_never_overwritten(tmp_path: Path) -> None:
    first = write(tmp_path, "Cats", "Cats.", "DEB-1", link=without_links)
    second = write(tmp_path, "Cats", "Dogs.", "DEB-2", link=without_links)
    taken = publish(first, b"mine", tmp_path / ".claim", lambda: False, without_links)
    assert (first.name, second.name, taken) == ("0001-cats.md", "0002-cats.md", False)
    assert files(tmp_path) == {
        "0001-cats.md": "---\ntitle: Cats\ndebate: DEB-1\n---\n\nCats.\n",
        "0002-cats.md": "---\ntitle: Cats\ndebate: DEB-2\n---\n\nDogs.\n",
    }


def test_a_file_is_never_seen_half_written(tmp_path: Path) -> None:
    """At the moment of publishing all of it is in the temporary file, and nothing at the name."""
    seen: list[tuple[bytes, bool]] = []

    def link(claim: Path, path: Path) -> None:
        seen.append((claim.read_bytes(), path.exists()))
        os.link(claim, path)

    path = write(tmp_path, "Cats", "Cats.", "DEB-1", link=link)
    assert seen == [(path.read_bytes(), False)]
    assert [path.name for path in tmp_path.iterdir()] == ["0001-cats.md"]


def test_a_folder_that_is_none_is_invalid_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidInput) as caught:
        write(tmp_path / "file", "Cats", "Cats.", "DEB-1")
    assert str(caught.value) == (
        f"cannot write a decision to '{tmp_path}/file': File exists; name a folder that can be written to"
    )


# Several at once


def test_threads_that_write_at_once_all_get_numbers_of_their_own(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        paths = list(
            pool.map(lambda number: write(tmp_path, f"Title {number % 3}", "Text.", f"DEB-{number}"), range(48))
        )
    assert sorted(path.name[:4] for path in paths) == [f"{number:04}" for number in range(1, 49)]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in paths)


def test_processes_that_write_at_once_all_get_numbers_of_their_own(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [
        ForkedPopen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for name in "abc"
    ]
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("go\n")
        writer.stdin.flush()
    names = [name for writer in writers for name in writer.communicate()[0].split()]
    assert sorted(name[:4] for name in names) == [f"{number:04}" for number in range(1, 31)]
    assert sorted(files(tmp_path)) == sorted(names)


# Hostile titles


@settings(max_examples=200)
@given(title=HOSTILE, text=st.text(max_size=50))
def test_no_title_writes_outside_its_folder(title: str, text: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name)
        folder = whole / "decisions"
        path = write(folder, title, text, "DEB-1")
        assert list(whole.rglob("*")) == [folder, path]
        assert path.parent == folder
        assert path.name == f"0001-{slug(title)}.md"


@given(HOSTILE)
def test_a_slug_is_short_and_plain_and_never_empty(title: str) -> None:
    made = slug(title)
    assert 0 < len(made) <= 60
    assert set(made) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert made == made.strip("-")


@pytest.mark.parametrize(
    ("title", "made"),
    [
        ("Straße für Élodie", "strasse-fur-elodie"),
        ("猫か犬か", "decision"),
        ("", "decision"),
        ("../../etc/passwd", "etc-passwd"),
        ("x" * 100, "x" * 60),
        ("word " * 20, "-".join(["word"] * 12)),
        ("a" * 60 + " b", "a" * 60),
        ("Con?", "con-decision"),  # which names no file on Windows, as "con.md" does not either
        ("Console", "console"),
    ],
)
def test_a_slug_keeps_what_can_be_read(title: str, made: str) -> None:
    assert slug(title) == made


# Front matter


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=20),
        st.one_of(st.text(), st.integers(), st.lists(st.text(), max_size=3)),
        min_size=1,
    )
)
@example({"title": "a\n---\nb"})
@example({"title": "\x85", "b": "\u2028", "c": "\ufeff", "d": "\0", "e": "\r\n"})
@example({"yes": "no", "null": "~", "date": "2025-12-05", "n": "1e3", "list": ["- a", "b: c", "#", "!x", "&a *a"]})
def test_front_matter_reads_back_as_it_was(fields: dict[str, str | int | list[str]]) -> None:
    first, *lines, last, end = front_matter(fields).split("\n")
    assert (first, last, end) == ("---", "---", "")
    assert yaml.safe_load("\n".join(lines)) == fields
    assert "---" not in lines
