"""Every error moot raises on purpose. The message names the value and says what to do.

MootError
├── InvalidInput          a topic, setting or name that cannot be used
│   └── BrokenPrompt      a prompt file of the user's own that cannot be rendered
├── NotFound              no such debate, seat or template
│   └── Missing           no such format or file
├── WrongStatus           the debate's status does not allow this
├── Busy                  another process is running the debate
├── Fenced                this run was taken over; it may not write any more
├── ScriptChanged         a stored turn no longer fits the format's script
├── DebateEnded           it ended without an outcome: failed, stopped or waiting
├── ToolFailed            a tool that debaters look things up with has not answered
├── StoreError            the database cannot be used
│   ├── StoreAway         it cannot be reached now; what is tried again later may succeed
│   │   └── StoreBlocked  it answers, but does nothing now: locked, full, read-only
│   └── SchemaTooNew      the database was made by a newer moot
└── ModelError            a model call failed; `partial` holds what had arrived
    ├── ModelTimeout      too slow: connecting, first token, between tokens or in all
    ├── Unreachable       no connection to the server
    ├── RateLimited       429, with the server's `retry_after` if it gave one
    ├── ServerFault       5xx, or an error inside the stream
    ├── ReplyCut          the stream ended before the reply did
    ├── BadReply          not what the API promises: garbage, wrong content type, empty
    └── Refused           4xx: asking again will not help
        ├── WrongKey      401, 403
        ├── UnknownModel  404
        ├── ContextTooSmall  the prompt is longer than what the model can read
        └── NotRecorded   the recording that is replayed holds no such call
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import BaseModel
    from pydantic_core import ErrorDetails


class MootError(Exception):
    code = "error"


class InvalidInput(MootError):
    code = "invalid_input"


class BrokenPrompt(InvalidInput):
    code = "broken_prompt"


class NotFound(MootError):
    code = "not_found"


class Missing(NotFound):
    """A command that names it is a fault of usage."""


class WrongStatus(MootError):
    code = "wrong_status"


class Busy(MootError):
    code = "busy"


class NewerDebate(Busy):
    """A newer moot has begun it, which has to go on with it too."""

    code = "newer_debate"


class Fenced(MootError):
    code = "fenced"


class ScriptChanged(MootError):
    code = "script_changed"


class DebateEnded(MootError):
    code = "no_outcome"


class ToolFailed(MootError):
    code = "tool_failed"


class StoreError(MootError):
    code = "store_error"


class StoreAway(StoreError):
    code = "store_away"


class StoreBlocked(StoreAway):
    code = "store_blocked"


class SchemaTooNew(StoreError):
    code = "schema_too_new"


class ModelError(MootError):
    code = "model_error"

    def __init__(self, message: str, *, partial: str = "") -> None:
        super().__init__(message)
        self.partial = partial


class ModelTimeout(ModelError):
    code = "model_timeout"


class Unreachable(ModelError):
    code = "model_unreachable"

    def __init__(self, message: str, *, partial: str = "", reached_before: bool = True) -> None:
        super().__init__(message, partial=partial)
        self.reached_before = reached_before


class RateLimited(ModelError):
    code = "rate_limited"

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ServerFault(ModelError):
    code = "server_fault"

    def __init__(self, message: str, *, partial: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, partial=partial)
        self.retry_after = retry_after


class ReplyCut(ModelError):
    code = "reply_cut"


class BadReply(ModelError):
    code = "bad_reply"


class Refused(ModelError):
    code = "model_refused"


class WrongKey(Refused):
    code = "wrong_key"


class UnknownModel(Refused):
    code = "unknown_model"


class NotRecorded(Refused):
    code = "not_recorded"


class ContextTooSmall(Refused):
    code = "context_too_small"


KINDS = {
    "int": "a whole number",
    "float": "a number",
    "string": "a text",
    "bool": "true or false",
    "path": "a path",
    **dict.fromkeys(("list", "tuple", "set"), "a list"),
    **dict.fromkeys(("dict", "mapping", "model", "model_attributes", "dataclass"), "a value for each name"),
}
"""What can be asked for, by how pydantic's errors about it begin."""
WORDS = {
    "missing": "is missing",
    "greater_than_equal": "at least {ge:,.10g}",
    "greater_than": "more than {gt:,.10g}",
    "less_than_equal": "at most {le:,.10g}",
    "less_than": "less than {lt:,.10g}",
    "int_parsing_size": "write a smaller number",
    "finite_number": "write a number that is not infinite",
    "literal_error": "one of {expected}",
    "enum": "one of {expected}",
    "string_unicode": "write whole characters: half of one is in it",
    "string_too_short": "at least {min_length} characters",
    "string_too_long": "at most {max_length:,} characters",
    "string_pattern_mismatch": "does not have the form {pattern}",
    "too_short": "give at least {min_length}",
    "too_long": "give at most {max_length:,}",
    "json_invalid": "is no JSON: {error}",
    "ip_any_network": "write an address or a network, such as 10.0.0.0/8",
    "extra_forbidden": "not known",
}
"""What pydantic finds wrong, as moot says it."""
MAX_FAULTS = 20
_BRANCH = re.compile(r"int|str|float|bool|none|\[key\]|constrained-\w+|[\w-]+\[.*\]")
"""What pydantic calls one of several kinds that a value may have."""


def faults(found: Sequence[ErrorDetails], model: type[BaseModel] | None = None, whole: bool = False) -> str:
    """What pydantic found wrong, in one line: each field and what it should be, or which of the model's it may mean.

    `whole` lists all that the model has where none is near.
    """
    more = len(found) - MAX_FAULTS
    found = found[:MAX_FAULTS]
    told: dict[str, list[ErrorDetails]] = {}
    for fault in found:
        told.setdefault(_place(fault, found), []).append(fault)
    lines = []
    for place, about in told.items():
        if all(map(_kind, about)) and any(other.startswith(f"{place}.") for other in told):
            continue  # it is of another kind than these, and what is wrong there is told
        said = _fault_of_all(about)
        if model and about[0]["type"] == "extra_forbidden":
            said += _instead(place.split("."), model, whole)
        lines.append(f"{place}: {said}" if place else said)
    return "; ".join([*lines, f"and {more} more"] if more > 0 else lines)


def _instead(way: Sequence[int | str], model: type[BaseModel], whole: bool) -> str:
    """What may be meant by a name that is not known where it stands: one that is, or whose part it would be."""
    *above, name = map(str, way)
    place = [model]
    for part in above:
        place = _parts(place, part) or place
    known = sorted({part for each in place for part in each.model_fields})
    if near := meant(name, known):
        return near
    listed = f"known: {', '.join(known)}" if whole or place != [model] else ""
    owners: dict[str, list[str]] = {}
    for setting in model.model_fields:
        for part in {part for each in _parts([model], setting) for part in each.model_fields}:
            owners.setdefault(part, []).append(setting)
    if owned := nearest(name, owners):
        return f", did you mean {owned} of {' or '.join(owners[owned])}? {listed}".rstrip()
    return listed and f"; {listed}"


def _parts(models: Iterable[type[BaseModel]], name: str) -> list[type[BaseModel]]:
    """The models of the values that a field may have, or that are in its lists and its values by name."""
    kinds: list[Any] = [each.model_fields[name].annotation for each in models if name in each.model_fields]
    for kind in kinds:
        kinds += get_args(kind)
    return [kind for kind in kinds if hasattr(kind, "model_fields")]


def fault_words(fault: ErrorDetails) -> str:
    """What is wrong with a value, or what to write instead, without its name."""
    if kind := _kind(fault):
        return f"write {kind}" + ("" if kind == KINDS["string"] else _not(fault.get("input")))
    words = WORDS.get(fault["type"])
    if words is None:
        return fault["msg"].removeprefix("Value error, ")
    about = dict(fault.get("ctx", {}))
    if "expected" in about:
        about["expected"] = str(about["expected"]).replace("'", "").replace(" or ", ", ")
    return words.format(**about) + (
        _not(fault.get("input")) if about.keys() & {"ge", "gt", "le", "lt", "expected"} else ""
    )


def _fault_of_all(about: Sequence[ErrorDetails]) -> str:
    """Of a value that may have several kinds, what is wrong with the kind it has; else the kinds it may have."""
    if fitting := [fault for fault in about if not _kind(fault)]:
        return ", ".join(dict.fromkeys(map(fault_words, fitting)))
    kinds = " or ".join(dict.fromkeys(filter(None, map(_kind, about))))
    return f"write {kinds}" if len(about) > 1 else fault_words(about[0])


def _kind(fault: ErrorDetails) -> str | None:
    return KINDS.get(re.sub("_(type|parsing|from_float)$", "", fault["type"]))


def _not(value: object) -> str:
    """Numbers and short texts, as they were given; what is long is not told again."""
    is_short = isinstance(value, str | float) or (isinstance(value, int) and abs(value) < 10**15)
    if not is_short or isinstance(value, bool) or len(text := str(value)) > 40:
        return ""
    return f", not {text if re.fullmatch(r'[+-]?[0-9.]+', text) else repr(value)}"


def _place(fault: ErrorDetails, found: Sequence[ErrorDetails]) -> str:
    """The way to a value; the kinds among which pydantic chose on it are left out."""
    places = [[str(part) for part in each["loc"]] for each in found]
    way = [str(part) for part in fault["loc"]]

    def is_branch(at: int) -> bool:
        if _BRANCH.fullmatch(way[at]):
            return True
        others = (other[at] for other in places if other[:at] == way[:at] and len(other) > at)
        return way[at][:1].isupper() and any(_BRANCH.fullmatch(other) for other in others)

    return ".".join(part for at, part in enumerate(way) if not is_branch(at))


def meant(name: str, known: Iterable[str]) -> str:
    """What somebody may have meant by a name that nothing has, as the end of a message; empty when nothing is near."""
    near = nearest(name, known)
    return f", did you mean {near}?" if near else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    by_letters = {each.lower(): each for each in known}
    name = name[:40].lower()
    begun = sorted(each for each in by_letters if each.startswith(name) and len(name.strip("-")) > 2)
    near = begun or get_close_matches(name, by_letters, 1, 0.7)
    return by_letters[near[0]] if near else None
