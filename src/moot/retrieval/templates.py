"""Reasoning templates: markdown files, moot's own and the user's, and what of them is searched.

A user's template replaces one of moot's by taking its name. Files are not trusted: they are bounded, and checked when
they are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from moot.errors import InvalidInput, Missing, NotFound, faults
from moot.retrieval.retriever import Document
from moot.text.files import write_whole
from moot.text.markdown import split_front_matter
from moot.text.strict_yaml import load

BUILT_IN = Path(__file__).parent / "reasoning_templates"
MAX_BYTES = 20_000
"""Bytes of a file; a few templates go into every prompt of a debate."""

_NAME = re.compile(r"[a-z0-9-]+")
_FRONT_FIELDS = ("title", "when", "questions")
_SECTION = re.compile(r"^## +(\w+) *$", re.MULTILINE)
_ITEM = re.compile(r"^(?:\d+\.|[-*]) +", re.MULTILINE)


class Template(BaseModel, frozen=True, extra="forbid", str_strip_whitespace=True):
    """A way to reason about a question; the text is what a model reads, title, when and questions are searched."""

    name: str
    title: str = Field(min_length=1, max_length=100)
    when: str = Field(min_length=1, max_length=1000)
    questions: tuple[str, ...] = Field((), max_length=20)
    """Some that it answers; they too are searched."""
    steps: tuple[str, ...] = Field(min_length=1)
    pitfalls: tuple[str, ...] = ()
    example: str = ""
    built_in: bool
    text: str


def read(path: Path) -> Template:
    """Raises InvalidInput that names the file and what is wrong with it."""
    check_name(path.stem, path)
    front, body = split_front_matter(_content(path))
    if not front:
        raise InvalidInput(f"{path} must begin with a line ---, then title: and when:, then a line ---")
    fields = _front_matter(front, path) | _sections(body) | {"name": path.stem, "text": body.strip()}
    try:
        return Template(**fields, built_in=path.parent == BUILT_IN)
    except ValidationError as error:
        raise InvalidInput(f"{path}: {faults(error.errors())}") from None


def collection(user_folder: Path) -> Mapping[str, Template]:
    """All templates by name, in alphabetical order."""
    own = {path.stem: read(path) for path in user_folder.glob("*.md")}
    return dict(sorted({**_built_in(), **own}.items()))


@cache
def _built_in() -> Mapping[str, Template]:
    """Moot's own, which do not change while it runs; reading them takes a while."""
    return {path.stem: read(path) for path in BUILT_IN.glob("*.md")}


def add(user_folder: Path, file: Path) -> Template:
    """Copy a file into the user's collection; one of the same name is replaced."""
    read(file)
    own = user_folder / f"{file.stem}.md"
    write_whole(own, _content(file).encode())
    return read(own)


def remove(user_folder: Path, name: str) -> None:
    """Delete a template of the user's own; if it had replaced one of moot's, that one is back."""
    check_name(name, name)
    try:
        (user_folder / f"{name}.md").unlink()
    except FileNotFoundError:
        if (BUILT_IN / f"{name}.md").exists():
            hint = f"to replace it, add a file {name}.md of your own"
            raise InvalidInput(f"the template {name!r} comes with moot and cannot be removed; {hint}") from None
        own = ", ".join(sorted(path.stem for path in user_folder.glob("*.md"))) or "none"
        raise NotFound(f"no template named {name!r} of your own; there are: {own}") from None


def check_name(name: str, where: object) -> None:
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"{where}: a template's name has small letters, digits and hyphens only, not {name!r}")


def documents(templates: Iterable[Template]) -> tuple[Document, ...]:
    """What is searched: one vector for each template finds better than one for each of its sentences."""
    return tuple(
        Document(template.name, " ".join([f"{template.title}.", template.when, *template.questions]))
        for template in templates
    )


def _content(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise Missing(f"no file {path}") from None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise InvalidInput(f"{path} is longer than {MAX_BYTES} bytes; a template should fit on a page")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is not UTF-8 at byte {error.start}; save it as UTF-8") from None


def _front_matter(text: str, path: Path) -> dict[str, Any]:
    try:
        fields = load(text).value
    except ValueError as error:
        raise InvalidInput(f"{path}: between the lines of ---, {error}") from None
    if not isinstance(fields, dict):
        raise InvalidInput(f"{path}: the lines between --- must be of the form `title: …` and `when: …`")
    if unknown := sorted(str(name) for name in fields if name not in _FRONT_FIELDS):
        raise InvalidInput(f"{path}: no such field: {', '.join(unknown)}; there are {', '.join(_FRONT_FIELDS)}")
    return fields


def _sections(body: str) -> dict[str, Any]:
    _, *parts = _SECTION.split(body)
    sections = {name.lower(): text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}
    return {
        "steps": _items(sections.get("steps", "")),
        "pitfalls": _items(sections.get("pitfalls", "")),
        "example": sections.get("example", ""),
    }


def _items(text: str) -> tuple[str, ...]:
    """The items of a list, each on one line."""
    return tuple(" ".join(item.split()) for item in _ITEM.split(text)[1:])
