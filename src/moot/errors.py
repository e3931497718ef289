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

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import ValidationError


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


def faults(error: ValidationError, known: Iterable[str] = ()) -> str:
    """What pydantic found wrong, in one line: each field and what it should be, or which of the known it may mean."""
    found = []
    for fault in error.errors():
        path = [str(part) for part in fault["loc"]] or ["all"]
        is_unknown = fault["type"] == "extra_forbidden"
        found.append(f"{'.'.join(path)}: " + (f"not known{meant(path[-1], known)}" if is_unknown else fault["msg"]))
    return "; ".join(found)


def meant(name: str, known: Iterable[str]) -> str:
    """What somebody may have meant by a name that nothing has, as the end of a message; empty when nothing is near."""
    by_letters = {each.lower(): each for each in known}
    near = get_close_matches(name[:40].lower(), by_letters, 1, 0.7)
    return f", did you mean {by_letters[near[0]]}?" if near else ""
