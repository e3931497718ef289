from __future__ import annotations

import os
from pathlib import Path

import pytest

from moot.text.files import put, write_whole


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "new" / "file"
    for data in (b"first, and longer", b"second"):
        write_whole(file, data)
        assert file.read_bytes() == data
    assert list(file.parent.iterdir()) == [file]


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    (in_the_way / "child").mkdir(parents=True)
    with pytest.raises(OSError):
        write_whole(in_the_way, b"data")
    assert list(tmp_path.iterdir()) == [in_the_way]


def test_a_file_that_somebody_reads_is_replaced_when_they_are_done(tmp_path: Path) -> None:
    draft, path = tmp_path / "draft", tmp_path / "file"
    path.write_text("old")
    draft.write_text("new")
    refusals = [PermissionError(13, "somebody has it open")] * 2

    def replace(source: Path, target: Path) -> None:
        if refusals:
            raise refusals.pop()
        os.replace(source, target)

    put(draft, path, replace, patience=(0, 0))
    assert path.read_text() == "new"


def test_a_file_that_may_not_be_replaced_is_said_when_patience_is_over(tmp_path: Path) -> None:
    def replace(source: Path, target: Path) -> None:
        raise PermissionError(13, "not yours")

    with pytest.raises(PermissionError, match="not yours"):
        put(tmp_path / "draft", tmp_path / "file", replace, patience=(0, 0))
