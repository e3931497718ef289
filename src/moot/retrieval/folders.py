"""The files that somebody means by a file, a folder or a pattern: `report.pdf`, `notes/`, `docs/**/*.md`.

In a folder nothing is read that is hidden, that git ignores, or that a link leads to: a link may leave the folder.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from moot.errors import InvalidInput, Missing

MAX_FILES = 200
MAX_SEEN = 50_000
"""Of everything in a folder."""
MAX_IGNORE_FILE = 100_000
"""Characters of a .gitignore."""
WILD = frozenset("*?[")


class NamedFile(NamedTuple):
    path: Path
    name: str
    """As a reader of the debate knows it."""
    chosen: bool = True
    """Whether it was named itself, and did not just stand in a folder."""


@dataclass(slots=True)
class Search:
    """Finds what is meant, and keeps count of what it leaves out, by reason."""

    skipped: Counter[str] = field(default_factory=Counter)

    def files(self, names: Iterable[str | Path]) -> Iterator[NamedFile]:
        """Each once, however often and in whatever way it is named."""
        seen: set[Path] = set()
        for file in self._files(names):
            if (resolved := file.path.resolve()) not in seen:
                seen.add(resolved)
                yield file

    def _files(self, names: Iterable[str | Path]) -> Iterator[NamedFile]:
        for name in names:
            path = Path(name)
            try:
                if path.is_dir():
                    yield from self._found(path, path.resolve().name, ("**",))
                elif not path.exists() and WILD & {*str(name)}:
                    folder, pattern = _split(path)
                    yield from self._found(folder, "", pattern)
                else:
                    yield NamedFile(path, path.name)
            except OSError as error:
                raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None

    def _found(self, folder: Path, named: str, pattern: tuple[str, ...]) -> Iterator[NamedFile]:
        shown, before = folder / Path(*pattern) if not named else folder, self.skipped.total()
        none = True
        for path, why in self._walk(folder):
            parts = path.relative_to(folder).parts
            if not _matches(parts, pattern):
                continue
            if why:
                self.skipped[why] += 1
                continue
            none = False
            yield NamedFile(path, "/".join([named, *parts] if named else parts), chosen=False)
        if none:
            left_out = f" ({self.skipped.total() - before} left out)" if self.skipped.total() > before else ""
            raise Missing(f"no file to read in {shown}{left_out}")

    def _walk(self, folder: Path) -> Iterator[tuple[Path, str]]:
        """All files in a folder and in those within, in the order of their names; what is left out with the reason."""
        waiting: list[tuple[Path, tuple[Rule, ...]]] = [(folder, _rules_above(folder))]
        seen = 0
        while waiting:
            path, rules = waiting.pop()
            if not path.is_dir():
                yield path, ""
                continue
            rules += tuple(_rules(path))
            inside = sorted(self._entries(path), key=lambda entry: entry.name, reverse=True)
            if (seen := seen + len(inside)) > MAX_SEEN:
                raise InvalidInput(f"{folder} holds over {MAX_SEEN:,} files; name those that matter")
            for entry in inside:
                if why := _reason_to_skip(entry, rules):
                    yield path / entry.name, why
                else:
                    waiting.append((path / entry.name, rules))

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return list(entries)
        except PermissionError:
            self.skipped["closed to you"] += 1
            return []


def _reason_to_skip(entry: os.DirEntry[str], rules: tuple[Rule, ...]) -> str:
    if entry.is_symlink():
        return "symbolic link"
    if entry.name.startswith("."):
        return "hidden"
    is_folder = entry.is_dir(follow_symlinks=False)
    if _ignored(Path(entry.path).absolute(), is_folder, rules):
        return "ignored by git"
    return "" if is_folder or entry.is_file(follow_symlinks=False) else "no file"


def _split(path: Path) -> tuple[Path, tuple[str, ...]]:
    """The folder that a pattern begins in, and the rest of it."""
    first = next(at for at, part in enumerate(path.parts) if WILD & {*part})
    return Path(*path.parts[:first]), path.parts[first:]


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether a path is of a pattern in which ** stands for any folders; in proportion to both, whatever they are."""

    def reached(places: set[int]) -> set[int]:
        for at in range(len(pattern)):
            if at in places and pattern[at] == "**":
                places.add(at + 1)
        return places

    places = reached({0})
    for part in parts:
        open = (at for at in places if at < len(pattern))
        went = {
            at if pattern[at] == "**" else at + 1
            for at in open
            if pattern[at] in ("**", part) or fnmatchcase(part, pattern[at])
        }
        places = reached(went)
    return len(pattern) in places


# What git ignores


class Rule(NamedTuple):
    """A line of a .gitignore, and the folder it stands in."""

    folder: Path
    pattern: tuple[str, ...]
    only_folders: bool
    takes_back: bool


def _rules_above(folder: Path) -> tuple[Rule, ...]:
    """The rules of the repository that a folder is in, if it is in one."""
    above = [*reversed(folder.absolute().parents)]
    inside = [at for at, each in enumerate(above) if (each / ".git").exists()]
    return tuple(rule for each in (above[inside[-1] :] if inside else ()) for rule in _rules(each))


def _rules(folder: Path) -> Iterator[Rule]:
    try:
        with (folder / ".gitignore").open(encoding="utf-8", errors="replace") as file:
            lines = file.read(MAX_IGNORE_FILE).splitlines()
    except OSError:
        return
    for line in map(str.strip, lines):
        pattern = line.removeprefix("!").removeprefix("\\")
        if not pattern.strip("/") or line.startswith("#"):
            continue
        parts = tuple(part for part in pattern.split("/") if part)
        anywhere = () if "/" in pattern.rstrip("/") else ("**",)
        yield Rule(folder.absolute(), (*anywhere, *parts), pattern.endswith("/"), line.startswith("!"))


def _ignored(path: Path, is_folder: bool, rules: tuple[Rule, ...]) -> bool:
    """The last rule that is about a path decides."""
    for rule in reversed(rules):
        if (is_folder or not rule.only_folders) and _matches(path.relative_to(rule.folder).parts, rule.pattern):
            return not rule.takes_back
    return False
