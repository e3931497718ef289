"""Which files of others the user lets moot obey: each by its place and its content, so that a changed one is asked for
again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from moot.text.files import write_whole


class Permission(NamedTuple):
    """What the user answered for a file."""

    path: Path
    is_allowed: bool


class AllowedFiles:
    """The user's answers, one file for each in a folder of theirs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def answer(self, path: Path, content: bytes) -> bool | None:
        """Whether the file, as it is, was allowed; None when nobody was asked."""
        kept = _read(self._place(path, content))
        return kept.is_allowed if kept and kept.path == path else None

    def keep(self, path: Path, content: bytes, is_allowed: bool) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(
            self._place(path, content), f"{'yes' if is_allowed else 'no'}\n{path}".encode(errors="surrogateescape")
        )

    def forget(self, path: Path) -> bool:
        """Take back every answer for the file, whatever it held; False when there was none."""
        kept = [place for place in self._places() if (found := _read(place)) and found.path == path]
        for place in kept:
            place.unlink(missing_ok=True)
        return bool(kept)

    def list(self) -> list[Permission]:
        return sorted({found for place in self._places() if (found := _read(place))})

    def _places(self) -> Iterator[Path]:
        return self._folder.glob("[0-9a-f]*")

    def _place(self, path: Path, content: bytes) -> Path:
        told = f"{path}\0".encode(errors="surrogateescape") + content
        return self._folder / hashlib.sha256(told).hexdigest()


def _read(place: Path) -> Permission | None:
    try:
        answer, _, path = place.read_bytes().decode(errors="surrogateescape").partition("\n")
    except OSError:
        return None
    return Permission(Path(path), answer == "yes")
