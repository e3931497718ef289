"""A decision as a file of its own, NNNN-slug.md: published whole, once for each debate, never over another file.

Its name is made of letters, digits and dashes alone, whatever the title says.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

from moot.errors import InvalidInput
from moot.text.files import Link, publish
from moot.text.markdown import front_matter, split_front_matter
from moot.text.plain import slug

_NUMBERED = re.compile(r"([0-9]{4,9})-")
_HEAD = 100_000
"""Bytes at the top of a file in which its front matter is looked for."""


def write(folder: Path, title: str, text: str, debate_id: str, *, link: Link = os.link) -> Path:
    """The file that holds a debate's decision: the one that is there already, whatever was changed in it, or a new one.

    A text that brings front matter naming the debate is written as it is; any other gets the title and the debate.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return find(folder, debate_id) or _publish_numbered(
            folder, slug(title), _document(title, text, debate_id), debate_id, link
        )
    except OSError as error:
        raise InvalidInput(
            f"cannot write a decision to {str(folder)!r}: {error.strerror}; name a folder that can be written to"
        ) from None


def find(folder: Path, debate_id: str) -> Path | None:
    """The file in a folder whose front matter names this debate."""
    for path in sorted(folder.glob("*.md")):
        if _NUMBERED.match(path.name) and path.is_file() and not path.is_symlink():
            with suppress(PermissionError), path.open("rb") as file:
                if _names(file.read(_HEAD).decode(errors="replace").replace("\r\n", "\n"), debate_id):
                    return path
    return None


def _document(title: str, text: str, debate_id: str) -> bytes:
    head = (
        "" if _names(text, debate_id) else front_matter({"title": " ".join(title.split()), "debate": debate_id}) + "\n"
    )
    return f"{head}{text.rstrip()}\n".encode(errors="replace")


def _names(text: str, debate_id: str) -> bool:
    """Whether the text has front matter of this debate, in the form in which we write it."""
    (line, _), (head, _) = split_front_matter(front_matter({"debate": debate_id})), split_front_matter(text)
    return f"\n{line}" in f"\n{head}"


def _publish_numbered(folder: Path, name: str, content: bytes, debate_id: str, link: Link) -> Path:
    for number in count(max(_numbers(folder), default=0) + 1):
        path = folder / f"{number:04}-{name}.md"
        if publish(path, content, folder / f".{number:04}.tmp", partial(_has_number, folder, number), link):
            break
        if found := find(folder, debate_id):  # another process was faster
            return found
    return path


def _has_number(folder: Path, number: int) -> bool:
    return number in _numbers(folder)


def _numbers(folder: Path) -> Iterator[int]:
    return (int(found[1]) for name in os.listdir(folder) if (found := _NUMBERED.match(name)))
