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

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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


class Fenced(MootError):
    code = "fenced"


class ScriptChanged(MootError):
    code = "script_changed"


class DebateEnded(MootError):
    code = "no_outcome"


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


def faults(error: ValidationError) -> str:
    """What pydantic found wrong, in one line: each field and what it should be."""
    return "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'all'}: {fault['msg']}" for fault in error.errors())
