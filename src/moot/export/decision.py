"""A decision as a file of its own, NNNN-slug.md: published whole, never over another file.

Its name is made of letters, digits and dashes alone, whatever the title says.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from moot.errors import InvalidInput

Fields: TypeAlias = Mapping[str, str | int | list[str]]
Link: TypeAlias = Callable[[Path, Path], None]

LONGEST_SLUG = 60
_NUMBERED = re.compile(r"([0-9]{4,9})-")
_FRONT_MATTER = re.compile(r"---\n(.*?\n)---\n", re.DOTALL)


def front_matter(fields: Fields) -> str:
    """YAML between two lines of dashes, for the top of a markdown file."""
    import yaml

    whole = yaml.dump(dict(fields), Dumper=_dumper(), allow_unicode=True, sort_keys=False, width=sys.maxsize)
    return f"---\n{whole}---\n"


def body(document: str) -> str:
    """A document for readers who have just seen the turns: no front matter, and footnotes only as numbers of turns."""
    text = re.sub(r"\A---\n.*?\n---\n+", "", document, flags=re.DOTALL)
    text = re.sub(r"^\[\^turn-\d+\]:.*\Z", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"\[\^turn-(\d+)\]", r" (turn \1)", text).strip()


@cache
def _dumper() -> type[Any]:
    """Writes whatever holds a line break on one line, so that readers who go by lines read the same."""
    import yaml  # slow to import

    class Dumper(yaml.SafeDumper):
        pass

    Dumper.add_representer(
        str,
        lambda dumper, value: dumper.represent_scalar(
            "tag:yaml.org,2002:str", value, style=None if value.isprintable() else '"'
        ),
    )
    return Dumper


def slug(title: str) -> str:
    """The title as part of a file name, at most 60 of a-z, 0-9 and dashes, broken at a word."""
    letters = unicodedata.normalize("NFKD", title.casefold()).encode("ascii", "ignore").decode()
    whole = re.sub(r"[^a-z0-9]+", "-", letters).strip("-")
    if len(whole) > LONGEST_SLUG:
        whole = whole[: LONGEST_SLUG + 1].rpartition("-")[0] or whole[:LONGEST_SLUG]
    return whole or "decision"


def write(folder: Path, title: str, text: str, debate_id: str, *, link: Link = os.link) -> Path:
    """The file that holds this decision: one that is there already with the same text, or a new one.

    A text that brings front matter naming the debate is written as it is; any other gets the title and the debate.
    """
    content = _document(title, text, debate_id)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _with_content(folder, content) or _publish_numbered(folder, slug(title), content, link)
    except OSError as error:
        raise InvalidInput(
            f"cannot write a decision to {str(folder)!r}: {error.strerror}; name a folder that can be written to"
        ) from None


def publish(path: Path, content: bytes, claim: Path, taken: Callable[[], bool], link: Link = os.link) -> bool:
    """Make a file appear at `path`, whole or not at all; False when it is `taken` or somebody else is at it.

    The content is written to `claim`, which one process alone can create: while it exists nobody else with the
    same claim publishes, so that what `taken` says stays true.
    """
    try:
        _create(claim, content)
    except FileExistsError:
        return False
    try:
        if taken():
            return False
        _link_or_create(claim, path, content, link)
        _sync_folder(path.parent)
    except FileExistsError:
        return False
    finally:
        claim.unlink(missing_ok=True)
    return True


def _document(title: str, text: str, debate_id: str) -> bytes:
    head = (
        "" if _names(text, debate_id) else front_matter({"title": " ".join(title.split()), "debate": debate_id}) + "\n"
    )
    return f"{head}{text.rstrip()}\n".encode(errors="replace")


def _names(text: str, debate_id: str) -> bool:
    """Whether the text has front matter of this debate, in the form in which we write it."""
    found = _FRONT_MATTER.match(text)
    line = front_matter({"debate": debate_id}).removeprefix("---\n").removesuffix("---\n")
    return found is not None and f"\n{line}" in f"\n{found[1]}"


def _with_content(folder: Path, content: bytes) -> Path | None:
    """A decision that says exactly this; the debate's id is part of what it says."""
    for path in sorted(folder.glob("*.md")):
        if _NUMBERED.match(path.name) and path.is_file() and not path.is_symlink():
            with suppress(PermissionError):
                if path.read_bytes().replace(b"\r\n", b"\n") == content:
                    return path
    return None


def _publish_numbered(folder: Path, name: str, content: bytes, link: Link) -> Path:
    for number in count(max(_numbers(folder), default=0) + 1):
        path = folder / f"{number:04}-{name}.md"
        if publish(path, content, folder / f".{number:04}.tmp", partial(_has_number, folder, number), link):
            break
    return path


def _has_number(folder: Path, number: int) -> bool:
    return number in _numbers(folder)


def _numbers(folder: Path) -> Iterator[int]:
    return (int(found[1]) for name in os.listdir(folder) if (found := _NUMBERED.match(name)))


def _link_or_create(claim: Path, path: Path, content: bytes, link: Link) -> None:
    try:
        link(claim, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        _create(path, content)


def _create(path: Path, content: bytes) -> None:
    """A new file, on the disk when this returns; none when it cannot be written whole."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink()
        raise


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some systems cannot open or sync a folder
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
