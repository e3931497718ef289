"""The formats moot knows: the built-in ones, and those that installed packages register.

A package adds a format by an entry point in the group `moot.formats` that names a `moot.model.Format`.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from types import MappingProxyType
from typing import TYPE_CHECKING

from moot.core.format import AnyFormat, Choice, Format
from moot.errors import InvalidInput, Missing, WrongStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

    from moot.core.debate import Record

GROUP = "moot.formats"
DEFAULT = "panel"
"""What a debate is that names no format."""


def built_in() -> tuple[AnyFormat, ...]:
    from moot.formats.critique.format import CRITIQUE
    from moot.formats.duel.format import DUEL
    from moot.formats.evaluation.format import EVALUATION
    from moot.formats.panel.format import PANEL

    return (PANEL, DUEL, EVALUATION, CRITIQUE)


def load() -> Mapping[str, AnyFormat]:
    """All formats by name."""
    return by_name([*built_in(), *installed()])


def installed() -> Iterable[AnyFormat]:
    for entry in entry_points(group=GROUP):
        try:
            format = entry.load()
        except (ImportError, AttributeError) as error:
            raise InvalidInput(f"entry point {entry.value!r} in group {GROUP} cannot be loaded: {error}") from error
        if not isinstance(format, Format):
            raise InvalidInput(f"entry point {entry.value!r} in group {GROUP} is no moot.model.Format")
        yield format


def choices(
    formats: Mapping[str, AnyFormat], configured: Mapping[str, Mapping[str, JsonValue]], setting: str
) -> list[Choice]:
    """What can be picked for a setting, in whichever format has it."""
    found = (format.choices(configured.get(name, {})).get(setting, ()) for name, format in formats.items())
    return [choice for known in found for choice in known]


def by_name(formats: Iterable[AnyFormat]) -> Mapping[str, AnyFormat]:
    known: dict[str, AnyFormat] = {}
    for format in formats:
        if format.name in known:
            raise InvalidInput(f"two formats are named {format.name!r}; uninstall one of them")
        known[format.name] = format
    return MappingProxyType(known)


def find(formats: Mapping[str, AnyFormat], name: str) -> AnyFormat:
    """The format of that name, or an earlier version of it: `duel@1`."""
    plain, at, version = name.partition("@")
    if plain not in formats:
        raise Missing(f"no format named {plain!r}; known: {', '.join(sorted(formats))}")
    versions = {str(each.version): each for each in (formats[plain], *formats[plain].earlier)}
    if at and version not in versions:
        raise Missing(f"{plain} has no version {version!r}; known: {', '.join(sorted(versions))}")
    return versions[version] if at else formats[plain]


def of_record(formats: Mapping[str, AnyFormat], record: Record) -> AnyFormat:
    """The format by whose rules a debate began. Raises WrongStatus where a debate cannot be read whole."""
    if record.unreadable:
        raise WrongStatus(f"{record.id} can only be looked at: {record.unreadable}")
    return find(formats, record.format).as_of(record.format_version)
