"""Reports as files: under the usual name always the latest, and nothing that was there is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from moot.errors import InvalidInput
from moot.records.reports import check, find, write

OLD, NEW = "DEB-aaaaaaaa", "DEB-bbbbbbbb"


def report(debate_id: str, more: str = "") -> str:
    return f"# Evaluation: Rain\n\n2026-11-16 · {debate_id} · mock\n\n{more}"


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


def test_an_earlier_report_is_kept_with_its_notes_under_the_id_of_its_debate(tmp_path: Path) -> None:
    path = tmp_path / "analysis" / "debate.md"
    assert write(path, report(OLD), OLD) == path
    path.write_text(report(OLD, "My note."))
    assert write(path, report(NEW), NEW) == path
    assert files(path.parent) == {"debate-DEB-aaaaaaaa.md": report(OLD, "My note."), "debate.md": report(NEW)}
    assert (find(path, OLD), find(path, NEW)) == (path.with_name("debate-DEB-aaaaaaaa.md"), path)


def test_a_report_is_written_once_and_a_note_in_it_stays(tmp_path: Path) -> None:
    path = write(tmp_path, report(OLD), OLD)
    path.write_text(report(OLD, "My note."))
    assert write(tmp_path, report(OLD), OLD) == tmp_path / "debate.md"
    assert files(tmp_path) == {"debate.md": report(OLD, "My note.")}


def test_beside_a_file_that_is_no_report_the_new_one_gets_the_id_of_its_debate(tmp_path: Path) -> None:
    path = tmp_path / "debate.md"
    path.write_text("Mine.")
    assert write(path, report(NEW), NEW) == tmp_path / "debate-DEB-bbbbbbbb.md"
    assert files(tmp_path) == {"debate-DEB-bbbbbbbb.md": report(NEW), "debate.md": "Mine."}


def test_a_report_whose_place_under_its_id_is_taken_stays_where_it_is(tmp_path: Path) -> None:
    path = write(tmp_path, report(OLD, "one"), OLD)
    (tmp_path / "debate-DEB-aaaaaaaa.md").write_text("Mine.")
    assert write(path, report(NEW), NEW).name == "debate-DEB-bbbbbbbb.md"
    assert files(tmp_path) == {
        "debate-DEB-aaaaaaaa.md": "Mine.",
        "debate-DEB-bbbbbbbb.md": report(NEW),
        "debate.md": report(OLD, "one"),
    }


@pytest.mark.parametrize("link", ["analysis", "analysis/debate.md"])
def test_a_link_that_leads_out_of_the_folder_is_refused_and_nothing_is_written(tmp_path: Path, link: str) -> None:
    folder, outside = tmp_path / "idea", tmp_path / "outside"
    outside.mkdir()
    (folder / link).parent.mkdir(parents=True)
    (folder / link).symlink_to(outside if link == "analysis" else outside / "debate.md")
    path = folder / "analysis" / "debate.md"
    for use in (lambda: check(path, folder), lambda: write(path, report(NEW), NEW, folder)):
        with pytest.raises(InvalidInput) as caught:
            use()
        assert str(caught.value) == (f"{path} leads out of {folder} through a link; remove the link, or give --output")
    assert list(outside.iterdir()) == []


def test_a_place_that_cannot_be_written_is_refused_before_anything_is(tmp_path: Path) -> None:
    (tmp_path / "analysis").write_text("a file where a folder should be")
    path = tmp_path / "analysis" / "debate.md"
    with pytest.raises(InvalidInput) as caught:
        check(path)
    assert str(caught.value) == (
        f"the report cannot be written to {path}: its folder cannot be written to; choose another place"
    )
    with pytest.raises(InvalidInput, match="File exists; choose another place"):
        write(path, report(NEW), NEW)
    assert files(tmp_path) == {"analysis": "a file where a folder should be"}
