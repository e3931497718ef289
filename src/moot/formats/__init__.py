"""The formats moot knows: the built-in ones, and those that installed packages register.

A package adds a format by an entry point in the group `moot.formats` that names a `moot.model.Format`.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoints, entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING

from moot.errors import InvalidInput, Missing, WrongStatus, meant

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

    from moot.core.debate import Record
    from moot.core.format import AnyFormat, Choice

GROUP = "moot.formats"
DEFAULT = "panel"
"""What a debate is that names no format."""


BUILT_IN = ("panel", "duel", "evaluation", "critique", "poll")


class _Formats(Mapping[str, "AnyFormat"]):
    """Those of moot are imported when they are asked for: a list needs none of them, and a duel no panel."""

    def __init__(self, others: Mapping[str, AnyFormat]) -> None:
        self._others = others

    def __getitem__(self, name: str) -> AnyFormat:
        return _built_in(name) if name in BUILT_IN else self._others[name]

    def __contains__(self, name: object) -> bool:
        return name in BUILT_IN or name in self._others

    def __iter__(self) -> Iterator[str]:
        return iter((*BUILT_IN, *self._others))

    def __len__(self) -> int:
        return len(BUILT_IN) + len(self._others)


@cache
def _built_in(name: str) -> AnyFormat:
    format: AnyFormat = getattr(import_module(f"moot.formats.{name}.format"), name.upper())
    return format


def built_in() -> tuple[AnyFormat, ...]:
    return tuple(map(_built_in, BUILT_IN))


def load() -> Mapping[str, AnyFormat]:
    """All formats by name."""
    return _Formats(by_name(installed(), BUILT_IN))


def installed() -> Iterable[AnyFormat]:
    for entry in _entry_points(tuple(sys.path)):
        from moot.core.format import Format

        try:
            format = entry.load()
        except (ImportError, AttributeError) as error:
            raise InvalidInput(f"entry point {entry.value!r} in group {GROUP} cannot be loaded: {error}") from error
        if not isinstance(format, Format):
            raise InvalidInput(f"entry point {entry.value!r} in group {GROUP} is no moot.model.Format")
        yield format


@cache
def _entry_points(path: tuple[str, ...]) -> EntryPoints:
    """Looked for once for each path: it means to read a file of every package there is."""
    return entry_points(group=GROUP)


def choices(
    formats: Mapping[str, AnyFormat], configured: Mapping[str, Mapping[str, JsonValue]], setting: str
) -> list[Choice]:
    """What can be picked for a setting, in whichever format has it."""
    found = (format.choices(configured.get(name, {})).get(setting, ()) for name, format in formats.items())
    return [choice for known in found for choice in known]


def by_name(formats: Iterable[AnyFormat], taken: Collection[str] = ()) -> Mapping[str, AnyFormat]:
    known: dict[str, AnyFormat] = {}
    for format in formats:
        if format.name in known or format.name in taken:
            raise InvalidInput(f"two formats are named {format.name!r}; uninstall one of them")
        known[format.name] = format
    return MappingProxyType(known)


def find(formats: Mapping[str, AnyFormat], name: str) -> AnyFormat:
    """The format of that name, or an earlier version of it: `duel@1`."""
    plain, at, version = name.partition("@")
    if plain not in formats:
        near = meant(plain, formats) or ";"
        raise Missing(f"no format named {plain!r}{near} known: {', '.join(sorted(formats))}")
    versions = {str(each.version): each for each in (formats[plain], *formats[plain].earlier)}
    if at and version not in versions:
        raise Missing(f"{plain} has no version {version!r}; known: {', '.join(sorted(versions))}")
    return versions[version] if at else formats[plain]


def of_record(formats: Mapping[str, AnyFormat], record: Record) -> AnyFormat:
    """The format by whose rules a debate began. Raises WrongStatus where a debate cannot be read whole."""
    if record.unreadable:
        raise WrongStatus(f"{record.id} can only be looked at: {record.unreadable}")
    return find(formats, record.format).as_of(record.format_version)
