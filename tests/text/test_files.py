from __future__ import annotations

from pathlib import Path

import pytest

from moot.text.files import write_whole


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
