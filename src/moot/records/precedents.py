"""Approved decisions of a folder as sources for later debates.

A file counts when its front matter says that it is accepted, and neither it nor another that is accepted says that it
was superseded. What the files say is data: they may be anybody's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from moot.sources.source import MAX_NAME, Source, as_name
from moot.text import strict_yaml
from moot.text.markdown import body, split_front_matter

NUMBERED = re.compile(r"([0-9]{4,9})-.*\.md")
MAX_FILES = 1000
MAX_BYTES = 200_000
MAX_TEXT = 12_000
"""Characters of a precedent; a record says first what was decided and why."""
ABOUT = 600
"""Characters by which a precedent is found."""


class Precedent(NamedTuple):
    """A decision as its file has it: front matter and text."""

    path: Path
    head: dict[str, Any]
    text: str

    @property
    def number(self) -> str:
        return self.path.name.partition("-")[0]

    @property
    def title(self) -> str:
        return " ".join(str(self.head.get("title") or self.path.stem).split())

    @property
    def names(self) -> set[str]:
        """By which another decision may speak of it."""
        number = self.number
        return {number, str(int(number)), self.path.name, self.path.stem, str(self.head.get("debate", ""))} - {""}

    @property
    def about(self) -> str:
        """In one line, which is one passage."""
        return " ".join(f"{self.title} {self.text[:ABOUT]}".split())

    @property
    def source(self) -> Source:
        date = str(self.head.get("date") or "")[:10]
        dated = f" ({date})" if date else ""
        name = " ".join(as_name(f"precedent {self.number}: {self.title}").split())
        return Source(name=f"{name[: MAX_NAME - len(dated)].strip()}{dated}", text=self.text)


def precedents(folder: Path) -> list[Precedent]:
    """Those that stand, the oldest first."""
    accepted = [file for file in _files(folder) if _said(file.head.get("status")) == ["accepted"]]
    gone = {name for file in accepted for name in _said(file.head.get("supersedes"))}
    return [file for file in accepted if not file.head.get("superseded_by") and not file.names & gone and file.text]


def _files(folder: Path) -> Iterator[Precedent]:
    found = [path for path in sorted(folder.glob("[0-9]*.md")) if NUMBERED.fullmatch(path.name)]
    for path in found[-MAX_FILES:]:
        if path.is_symlink() or not path.is_file():
            continue
        with suppress(OSError, ValueError), path.open("rb") as opened:
            text = opened.read(MAX_BYTES).decode(errors="replace").replace("\r\n", "\n").replace("\0", "\ufffd")
            head = strict_yaml.load(split_front_matter(text)[0]).value
            yield Precedent(path, head if isinstance(head, dict) else {}, body(text)[:MAX_TEXT].strip())


def _said(value: object) -> list[str]:
    """One or several, as a file has them."""
    return [str(each).strip() for each in (value if isinstance(value, list) else [value]) if each is not None]
