"""A report under a name that is always the latest one's; one that was there is kept under its own debate's id."""

from __future__ import annotations

import os
import re
from pathlib import Path

from moot.errors import InvalidInput
from moot.text.files import contained_in, is_writable, publish, replace_same

NAME = "debate.md"
_HEAD = 20_000
_DEBATE = re.compile(r"^\d{4}-\d\d-\d\d · (DEB-[a-z0-9]{8})\b", re.MULTILINE)
"""How a report names its debate below its title."""


def write(path: Path, text: str, debate_id: str, within: Path | None = None) -> Path:
    """The file that holds a debate's report: the one that is there already, or a new one at `path`.

    What is at `path` is kept: a report under its own debate's id, and beside anything else the new one gets such a
    name. In a folder it is called like any other report. Nothing is written outside `within`.
    """
    path = _named(path)
    _stays(path, within)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return find(path, debate_id) or _publish(path, text.encode(errors="replace"), debate_id)
    except OSError as error:
        raise _refused(path, error.strerror or "") from None


def find(path: Path, debate_id: str) -> Path | None:
    """The report of this debate among the files that `write` may have put there."""
    path = _named(path)
    return next((at for at in (path, _kept(path, debate_id)) if debate_of(at) == debate_id), None)


def check(path: Path, within: Path | None = None) -> None:
    """Raises InvalidInput when no report can be written there."""
    _stays(_named(path), within)
    if not is_writable(_named(path).parent):
        raise _refused(path, "its folder cannot be written to")


def debate_of(path: Path) -> str | None:
    """The debate whose report a file is."""
    if not path.is_file() or path.is_symlink():
        return None
    with path.open("rb") as file:
        found = _DEBATE.search(file.read(_HEAD).decode(errors="replace"))
    return found[1] if found else None


def _publish(path: Path, content: bytes, debate_id: str) -> Path:
    claim = path.with_name(f".{path.name}.{debate_id}.tmp")
    if publish(path, content, claim, lambda: os.path.lexists(path)):
        return path
    earlier = debate_of(path)
    if earlier and replace_same(path, content, claim, _kept(path, earlier)):
        return path
    beside = _kept(path, debate_id)
    if publish(beside, content, claim, lambda: os.path.lexists(beside)):
        return beside
    raise _refused(path, f"{path.name} and {beside.name} are there already")


def _named(path: Path) -> Path:
    return path / NAME if path.is_dir() else path


def _kept(path: Path, debate_id: str) -> Path:
    return path.with_name(f"{path.stem}-{debate_id}{path.suffix}")


def _stays(path: Path, within: Path | None) -> None:
    if within and not contained_in(path, within):
        raise InvalidInput(f"{path} leads out of {within} through a link; remove the link, or give --output")


def _refused(path: Path, why: str) -> InvalidInput:
    return InvalidInput(f"the report cannot be written to {path}: {why}; choose another place")
