"""Documents a debate may cite: what a user names (files, folders, patterns) or sends, read as sources.

A file is never trusted: whatever is no readable text is refused, with what to do about it. In a folder it is left
out instead, and counted. All of this takes time; call it off the event loop.
"""

from __future__ import annotations

import base64
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pydantic import JsonValue

from moot.errors import InvalidInput, Missing
from moot.retrieval.extract import MAX_TEXT, Kind, csv_text, decoded, extract_all, kind_of
from moot.retrieval.folders import MAX_FILES, NamedFile, Search
from moot.sources.source import MAX_NAME, Source, as_name

MAX_FILE = 20_000_000
"""Bytes."""
NO_TEXT = "is no text; give text, markdown, PDF, HTML, docx, CSV or source code"
TABLES = (".csv", ".tsv")


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was read, and how many files were left out for which reason."""

    sources: tuple[Source, ...]
    skipped: Mapping[str, int]

    @property
    def left_out(self) -> str:
        """For a person: "3 files left out: hidden (2), is no text (1)"; nothing when all was read."""
        reasons = ", ".join(f"{why} ({number})" for why, number in sorted(self.skipped.items()))
        number = sum(self.skipped.values())
        return f"{number} {'file' if number == 1 else 'files'} left out: {reasons}" if number else ""


def read_all(names: Iterable[str | Path]) -> Gathered:
    """All files that are meant, each under a name of its own."""
    search = Search()
    files = list(_at_most(search.files(names)))
    sources: dict[str, Source] = {}
    skipped, left = Counter(search.skipped), MAX_TEXT
    for file, said in _texts(files):
        if isinstance(said, InvalidInput | Missing):
            if file.chosen:
                raise said
            skipped[_reason(file, said)] += 1
            continue
        left -= len(said)
        if left < 0:
            raise InvalidInput(
                f"the sources up to {file.path} are over {MAX_TEXT:,} characters; give fewer or shorter ones"
            )
        name = _unused(_name(file.name), sources)
        sources[name] = Source(name=name, text=said)
    if files and not sources:
        raise InvalidInput(f"nothing that can be read: {Gathered((), skipped).left_out}")
    return Gathered(tuple(sources.values()), dict(skipped))


def read_data(name: str, data: bytes) -> Source:
    """A document that somebody sent, as a source of this name; its kind is told by its name and its beginning."""
    (source,) = _read_files([(name, data)])
    return source


def read_sent(sources: JsonValue) -> JsonValue:
    """Sources as a program sends them: those with the file itself in `base64` instead of a `text` are read."""
    if not isinstance(sources, list):
        return sources
    if len(sources) > MAX_FILES:
        raise InvalidInput(f"{len(sources)} sources are over {MAX_FILES}; give those that matter")
    read = _read_files([_decoded(each) for each in sources if _is_file(each)])
    given: list[JsonValue] = []
    left = MAX_TEXT
    for each in sources:
        given.append(next(read).model_dump() if _is_file(each) else each)
        left -= _length(given[-1])
        if left < 0:
            raise InvalidInput(f"the sources are over {MAX_TEXT:,} characters together; give fewer or shorter ones")
    return given


def _is_file(sent: JsonValue) -> bool:
    return isinstance(sent, dict) and "base64" in sent


def _length(sent: JsonValue) -> int:
    text = sent.get("text") if isinstance(sent, dict) else ""
    return len(text) if isinstance(text, str) else 0


def _decoded(sent: JsonValue) -> tuple[str, bytes]:
    match sent:
        case {"name": str(name), "base64": str(encoded), **rest} if not rest:
            try:
                return name, base64.b64decode(encoded, validate=True)
            except ValueError:
                raise InvalidInput(f"{_name(name)} is no base64") from None
    raise InvalidInput("a source is a name and a text, or a name and a file in base64")


def _read_files(files: Sequence[tuple[str, bytes]]) -> Iterator[Source]:
    """What was sent, one after the other, by one process."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{at}{Path(_name(name)).suffix[:10]}" for at, (name, _) in enumerate(files)]
        for path, (_, data) in zip(paths, files, strict=True):
            path.write_bytes(data)
        for file, said in _texts(NamedFile(path, name) for path, (name, _) in zip(paths, files, strict=True)):
            name = _name(file.name)
            if isinstance(said, InvalidInput | Missing):
                raise InvalidInput(str(said).replace(str(file.path), name))
            yield Source(name=name, text=said)


def _at_most(files: Iterator[NamedFile]) -> Iterator[NamedFile]:
    for number, file in enumerate(files):
        if number == MAX_FILES:
            raise InvalidInput(f"over {MAX_FILES} files, the last {file.path}; name those that matter")
        yield file


def _texts(files: Iterable[NamedFile]) -> Iterator[tuple[NamedFile, str | InvalidInput | Missing]]:
    """The text of each file in turn, or why there is none; one process extracts all that need it."""
    sniffed = [(file, _sniffed(file)) for file in files]
    extracted = extract_all([(file.path, kind) for file, kind in sniffed if isinstance(kind, str)])
    for file, kind in sniffed:
        said = next(extracted) if isinstance(kind, str) else kind or _text(file)
        if isinstance(said, InvalidInput) and kind is not said:
            said = InvalidInput(f"{file.path} {said}")
        if isinstance(said, str) and not said.strip():
            said = InvalidInput(f"{file.path} is empty; give a file with text")
        yield file, said


def _sniffed(file: NamedFile) -> Kind | InvalidInput | Missing | None:
    """How its text is to be extracted, if it is; or why it cannot be read."""
    path = file.path
    try:
        if not path.exists():
            return Missing(f"no file {path}")
        if not path.is_file():
            return InvalidInput(f"{path} is no file; name files, folders or patterns such as 'docs/**/*.md'")
        if path.stat().st_size > MAX_FILE:
            return InvalidInput(f"{path} is larger than {MAX_FILE // 1_000_000} MB; give the part that matters")
        with path.open("rb") as opened:
            return kind_of(path.name, opened)
    except OSError as error:
        return InvalidInput(f"{path} cannot be read: {error.strerror}")


def _text(file: NamedFile) -> str | InvalidInput:
    try:
        with file.path.open("rb") as opened:
            text = decoded(opened.read(MAX_FILE))
    except OSError as error:
        return InvalidInput(f"cannot be read: {error.strerror}")
    if text is None:
        return InvalidInput(NO_TEXT)
    return csv_text(text) if file.path.suffix.lower() in TABLES else text


def _reason(file: NamedFile, fault: Exception) -> str:
    return str(fault).removeprefix(f"{file.path} ").partition(";")[0].partition(":")[0]


def _name(name: str) -> str:
    return as_name(name, "_").strip()[-MAX_NAME:].strip() or "source"


def _unused(name: str, used: Iterable[str]) -> str:
    """The name, with a number behind it if another source has it already."""
    taken = set(used)
    numbered = (f"{name[: MAX_NAME - 6].strip()} ({number})" for number in count(2))
    return name if name not in taken else next(other for other in numbered if other not in taken)
