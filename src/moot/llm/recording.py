"""Recordings of model calls at the level of the `Client` port: the same for every dialect, and no place for a key.

A recording is a file of JSON lines, compressed if its name ends in .gz: a header, then each call as it ended. Knows no
debate and no server.
"""

from __future__ import annotations

import asyncio
import gzip
import os
import time
import zlib
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias, cast

import orjson
from pydantic import TypeAdapter, ValidationError

from moot import errors
from moot.core.debate import Usage
from moot.errors import InvalidInput, Missing, ModelError, NotRecorded, faults
from moot.llm.addresses import public_name
from moot.llm.client import Client, Completion, FinishReason, Request
from moot.text.files import private_file, private_folder

VERSION = 1
_ERRORS = {
    error.code: error for error in vars(errors).values() if isinstance(error, type) and issubclass(error, ModelError)
}
MAX_PAUSE = 60.0
"""Seconds between two pieces of text that a replay waits at most."""
MAX_SECONDS = 600.0
"""Seconds that a replayed call takes at most."""
_SHOWN = 20  # characters before and after a difference


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCompletion:
    finish_reason: FinishReason
    usage: Usage
    reasoning: str = ""
    dropped: tuple[str, ...] = ()
    text: str | None = None
    """Only when it is not the chunks put together."""


@dataclass(frozen=True, slots=True)
class RecordedError:
    code: str
    message: str
    details: dict[str, str | bool | int | float | None]
    """What else it knows: `partial`, `retry_after` and the like."""

    def __post_init__(self) -> None:
        if self.code not in _ERRORS:
            raise ValueError(f"no model error has the code {self.code!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """One call: what was asked, each piece of text with its milliseconds since the start, and how it ended."""

    provider: str
    request: Request
    chunks: tuple[tuple[float, str], ...]
    milliseconds: float
    completion: RecordedCompletion | None = None
    error: RecordedError | None = None

    def __post_init__(self) -> None:
        if (self.completion is None) == (self.error is None):
            raise ValueError("a call ends with a completion or with an error")

    def ended(self) -> Completion:
        """The completion; raises the error if it ended in one."""
        if self.error is not None:
            raise _raisable(self.error)
        done = self.completion
        assert done is not None  # noqa: S101 - as __post_init__ has seen
        text = "".join(text for _, text in self.chunks) if done.text is None else done.text
        return Completion(
            text=text,
            finish_reason=done.finish_reason,
            usage=done.usage,
            reasoning=done.reasoning,
            dropped=done.dropped,
        )


class Recorder:
    """A new recording; every client it wraps adds its calls, each when it ends. A cancelled call leaves no trace."""

    def __init__(self, path: Path, *, now: Callable[[], float] = time.perf_counter) -> None:
        self._path = path
        self._now = now
        self._empty = True
        try:
            private_folder(path.parent)
            private_file(path, os.O_EXCL)  # it holds all that was asked and answered
            with _opened(path, "ab") as file:
                file.write(orjson.dumps({"moot_recording": VERSION}) + b"\n")
        except OSError as error:
            if path.exists():
                told = f"{path} exists and is not overwritten: replay it, or delete it to record anew"
                raise InvalidInput(told) from None
            raise self._cannot(error) from None

    def wrap(self, provider: str, client: Client) -> Client:
        return _RecordedClient(self, public_name(provider), client, self._now)

    def add(self, call: RecordedCall) -> None:
        """Append a call as one whole line, so that parallel calls do not mix and a crash costs at most the last."""
        try:
            with _opened(self._path, "ab") as file:
                file.write(orjson.dumps(call) + b"\n")
        except OSError as error:
            raise self._cannot(error) from None
        self._empty = False

    def drop_if_empty(self) -> None:
        """Nothing was asked of a model: there is nothing to keep."""
        if self._empty:
            self._path.unlink(missing_ok=True)

    def _cannot(self, error: OSError) -> InvalidInput:
        return InvalidInput(f"cannot record to {self._path}: {error.strerror}")


@dataclass(frozen=True, slots=True)
class _RecordedClient:
    recorder: Recorder
    provider: str
    client: Client
    now: Callable[[], float]

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        chunks: list[tuple[float, str]] = []
        start = self.now()

        def milliseconds() -> float:
            return round((self.now() - start) * 1000, 1)

        def listen(text: str) -> None:
            chunks.append((milliseconds(), text))
            on_text(text)

        def add(completion: RecordedCompletion | None = None, error: RecordedError | None = None) -> None:
            call = RecordedCall(
                provider=self.provider,
                request=request,
                chunks=tuple(chunks),
                milliseconds=milliseconds(),
                completion=completion,
                error=error,
            )
            self.recorder.add(call)

        try:
            completion = await self.client.complete(request, listen)
        except ModelError as error:
            add(error=_recorded_error(error))
            raise
        add(_recorded_completion(completion, chunks))
        return completion


Key: TypeAlias = tuple[str, Request, bytes]


class Recording:
    """A recording to replay. Each of its calls is played once, in whatever order the requests come."""

    def __init__(
        self, path: Path, calls: Iterable[RecordedCall], speed: float | None, now: Callable[[], float]
    ) -> None:
        """Made by `load`; the path is for messages."""
        self._path = path
        self._calls = tuple(calls)
        self._speed = speed
        self._now = now
        self._left: dict[Key, deque[RecordedCall]] = {}
        for call in self._calls:
            self._left.setdefault(key_of(call.provider, call.request), deque()).append(call)

    @classmethod
    def load(
        cls, path: Path, timing: bool = False, *, speed: float = 1.0, now: Callable[[], float] = time.monotonic
    ) -> Recording:
        """Read a file; with `timing` its calls take as long as they did, at a speed of 1, else no time at all."""
        if not 0 < speed < inf:
            raise InvalidInput(f"{speed:g} is no speed: 1 is as it was recorded, 0.5 half as fast")
        return cls(path, calls_of(path), speed if timing else None, now)

    @property
    def providers(self) -> tuple[str, ...]:
        """Whose calls it holds, in the order of the file."""
        return tuple(dict.fromkeys(call.provider for call in self._calls))

    def client(self, provider: str) -> Client:
        return _ReplayedClient(self, public_name(provider))

    def unused(self) -> tuple[RecordedCall, ...]:
        """The calls that nobody has made yet, in the order of the file."""
        left = {id(call) for calls in self._left.values() for call in calls}
        return tuple(call for call in self._calls if id(call) in left)

    async def play(self, provider: str, request: Request, on_text: Callable[[str], None]) -> Completion:
        """Answer as recorded. Raises NotRecorded, or the error the call ended in."""
        left = self._left.get(key_of(provider, request))
        if not left:
            raise NotRecorded(f"not in {self._path}: {self._why_not(provider, request)}")
        call = left.popleft()
        try:
            await tell(call, on_text, self._speed, self._now)
        except asyncio.CancelledError:
            left.appendleft(call)  # as a cancelled call is not recorded, so it is not played
            raise
        return call.ended()

    def _why_not(self, provider: str, request: Request) -> str:
        """One line: the first difference to the call that was probably meant."""
        recorded = [call for call in self._calls if call.provider == provider]
        if not recorded:
            others = ", ".join(sorted({call.provider for call in self._calls})) or "nobody"
            return f"it has no calls of {provider}, only of {others}"
        key = key_of(provider, request)
        if times := sum(key_of(call.provider, call.request) == key for call in recorded):
            return f"this call was recorded {times} times and is made once more"
        unused = [call.request for call in self.unused() if call.provider == provider]
        if not unused:
            return f"all {len(recorded)} calls of {provider} have been played"
        return difference(request, min(unused, key=lambda other: distance(request, other)))


@dataclass(frozen=True, slots=True)
class _ReplayedClient:
    recording: Recording
    provider: str

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        return await self.recording.play(self.provider, request, on_text)


async def tell(
    call: RecordedCall, on_text: Callable[[str], None], speed: float | None, now: Callable[[], float]
) -> None:
    """Say what a call said, as fast as it did at a speed of 1, or at once without one."""
    start = now()

    async def reach(at: float) -> None:
        if speed and (seconds := start + at / speed - now()) > 0:
            await asyncio.sleep(seconds)

    *spoken, ended = _seconds([*(at for at, _ in call.chunks), call.milliseconds])
    for at, (_, text) in zip(spoken, call.chunks, strict=True):
        await reach(at)
        on_text(text)
    await reach(ended)


def _seconds(milliseconds: Iterable[float]) -> Iterator[float]:
    """The recorded moments of a call, without pauses that nobody would wait for."""
    at, before = 0.0, 0.0
    for moment in milliseconds:
        at = min(MAX_SECONDS, at + min(max(0.0, (moment - before) / 1000), MAX_PAUSE))
        before = moment
        yield at


def difference(asked: Request, recorded: Request) -> str:
    """Where two requests differ first, and what stands there in either."""
    ours, theirs = _parts(asked), _parts(recorded)
    for name in ours | theirs:
        if name not in theirs:
            return f"{name} is not in the closest recorded call: {_around(ours[name], 0)}"
        if name not in ours:
            return f"{name} of the closest recorded call is missing: {_around(theirs[name], 0)}"
        if ours[name] != theirs[name]:
            at = _common(ours[name], theirs[name])
            return (
                f"{name} differs from the closest recorded call at character {at + 1}: "
                f"{_around(ours[name], at)}, recorded: {_around(theirs[name], at)}"
            )
    return "no difference"


def _opened(path: Path, mode: Literal["rb", "ab"]) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, mode)) if path.suffix == ".gz" else path.open(mode)


def calls_of(path: Path) -> Iterable[RecordedCall]:
    try:
        with _opened(path, "rb") as file:
            header, *lines = file.read().removesuffix(b"\n").split(b"\n")
    except FileNotFoundError:
        raise Missing(f"there is no recording {path}: record it first") from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InvalidInput(f"{path} is not compressed as its name says, or cut short: record it anew") from None
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from None
    _check_header(path, header)
    adapter = TypeAdapter(RecordedCall)
    for number, line in enumerate(lines, 2):
        try:
            yield adapter.validate_json(line)
        except ValidationError as error:
            what = faults(error.errors()[:1])
            raise InvalidInput(
                f"line {number} of {path} is no recorded call ({what}): delete that line, or record anew"
            ) from None


def _check_header(path: Path, line: bytes) -> None:
    try:
        version = orjson.loads(line)["moot_recording"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise InvalidInput(f"{path} is not a recording of moot: line 1 is not its header") from None
    if version != VERSION:
        raise InvalidInput(f"{path} has version {version} in line 1, this moot reads {VERSION}: record it anew")


def key_of(provider: str, request: Request) -> Key:
    return provider, replace(request, schema=None), _schema(request)


def _schema(request: Request) -> bytes:
    return orjson.dumps(request.schema, option=orjson.OPT_SORT_KEYS)


def _recorded_completion(completion: Completion, chunks: Iterable[tuple[float, str]]) -> RecordedCompletion:
    text = None if completion.text == "".join(text for _, text in chunks) else completion.text
    return RecordedCompletion(
        finish_reason=completion.finish_reason,
        usage=completion.usage,
        reasoning=completion.reasoning,
        dropped=completion.dropped,
        text=text,
    )


def _recorded_error(error: ModelError) -> RecordedError:
    plain = (str, int, float, type(None))
    details = {name: value for name, value in vars(error).items() if isinstance(value, plain)}
    return RecordedError(error.code, str(error), details)


def _raisable(recorded: RecordedError) -> ModelError:
    error = _ERRORS[recorded.code](recorded.message)
    vars(error).update(recorded.details)
    return error


def _parts(request: Request) -> dict[str, str]:
    """A request as named texts, in the order in which differences are looked for."""
    parts = {"model": request.model}
    for number, message in enumerate(request.messages, 1):
        parts[f"the role of message {number}"] = message.role
        parts[f"message {number}"] = message.content
    more = {"max_tokens": f"{request.max_tokens}", "temperature": f"{float(request.temperature)}"}
    return parts | {"schema": _schema(request).decode()} | more


def distance(one: Request, other: Request) -> int:
    """How many characters of two requests have no partner at the beginning or the end of the other's part."""
    ours, theirs = _parts(one), _parts(other)
    return sum(_unmatched(ours.get(name, ""), theirs.get(name, "")) for name in ours | theirs)


def _unmatched(one: str, other: str) -> int:
    if one == other:
        return 0
    at = _common(one, other)
    return len(one) + len(other) - 2 * (at + _common(one[at:][::-1], other[at:][::-1]))


def _common(one: str, other: str) -> int:
    """The length of the beginning that two texts share."""
    shorter = min(len(one), len(other))
    return bisect_left(range(shorter), True, key=lambda at: one[: at + 1] != other[: at + 1])


def _around(text: str, at: int) -> str:
    """The text at a place, on one line."""
    start, end = max(0, at - _SHOWN), at + _SHOWN
    return repr("…" * (start > 0) + text[start:end] + "…" * (end < len(text)))
