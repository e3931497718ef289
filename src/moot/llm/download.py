"""Large files over HTTP: whole and checked or not there at all, and never fetched twice because a line was cut.

Knows no models. Each server on the way is asked through the proxy that the environment names for it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

import aiohttp
import orjson
from yarl import URL

from moot.errors import InvalidInput, Missing, MootError, Unreachable
from moot.llm.addresses import public_name
from moot.llm.proxies import Proxy, proxy_for, why_unreachable
from moot.text.files import alone, put, write_whole
from moot.text.plain import printable

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the bytes that are there, and with those there will be, where the server says so."""

_ATTEMPTS = 3
"""So many in a row may come no further than an earlier one before it is given up."""
_SILENCE = 60
"""Seconds without a byte."""
_CHUNK = 1 << 18
_MAX_WAY = 10
"""So often a server may name another place before the file comes."""
_ELSEWHERE = (301, 302, 303, 307, 308)
_SHA256 = re.compile(r'^(?:W/)?"?([0-9a-f]{64})"?$')


class Fetched(NamedTuple):
    sha256: str
    checked: bool
    """Whether it is the checksum that the caller or the server named before."""
    whole: bool = True
    """Whether it would have been noticed that its end is missing."""


class _Told(NamedTuple):
    """What a server says of its file."""

    sha256: str | None
    end: bool
    """Whether it is noticed when its end is missing: by its size, or as it comes in chunks."""


async def download(url: str, target: Path, sha256: str | None, progress: Progress) -> Fetched:
    """Fetch a file; what an earlier attempt left at `target`.part is gone on with if the server still has the same.

    A CancelledError says what is kept.
    """
    part = _Part(url, target.with_name(f"{target.name}.part"))
    with alone(target.with_name(f"{target.name}.lock")) as free:
        if not free:
            raise Unreachable(f"{part.name} is being fetched already: wait until that is done")
        return await _download(part, target, sha256, progress)


async def _download(part: _Part, target: Path, sha256: str | None, progress: Progress) -> Fetched:
    timeout = aiohttp.ClientTimeout(total=None, connect=20, sock_read=_SILENCE)
    async with aiohttp.ClientSession(timeout=timeout, auto_decompress=False) as session:
        try:
            told = await _fetch_patiently(session, part, progress)
        except OSError as error:  # of files: those of the line were told
            raise InvalidInput(f"cannot write {part.path}: {error.strerror or error}{part.kept}") from None
        except asyncio.CancelledError:
            raise asyncio.CancelledError(f"stopped fetching {part.name}{part.kept}") from None
    found = await asyncio.to_thread(_sha256_of, part.path)
    expected = sha256 or told.sha256
    if expected and found != expected.lower():
        part.remove()
        raise InvalidInput(
            f"{part.name} has the SHA-256 {found}, expected was {expected}: it is another file, or it was damaged on "
            "the way; nothing of it was kept"
        )
    put(part.path, target)
    part.remove()
    return Fetched(found, bool(expected), told.end or bool(expected))


class _Part:
    """A file on its way, and which file of which server it is a part of."""

    def __init__(self, url: str, path: Path) -> None:
        self.url = url
        self.name = public_name(url)
        self.path = path
        self._of = path.with_name(f"{path.name}.of")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
        self._of.unlink(missing_ok=True)

    @property
    def kept(self) -> str:
        """What to tell of it when the rest does not come."""
        return f"; {self.size:,} bytes are kept, and the same command goes on from there" if self._version() else ""

    def wanted(self) -> dict[str, str]:
        """The headers that ask for the rest, or for all when nobody could say that the rest belongs to it."""
        if version := self._version():
            return {"Range": f"bytes={self.size}-", "If-Range": version}
        self.remove()
        return {}

    def _version(self) -> str | None:
        """Which version of the file it is a part of; None when there is nothing that could be gone on with."""
        try:
            of = orjson.loads(self._of.read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return None
        return of.get("version") if self.size and of.get("url") == self.name else None

    def begin(self, headers: Mapping[str, str]) -> None:
        """What follows is the file from its first byte on."""
        self.path.write_bytes(b"")
        etag = headers.get("ETag", "")
        version = etag if etag and not etag.startswith("W/") else headers.get("Last-Modified")
        write_whole(self._of, orjson.dumps({"url": self.name, "version": version}))


async def _fetch_patiently(session: aiohttp.ClientSession, part: _Part, progress: Progress) -> _Told:
    """Ask for the rest whenever the line was cut, as long as that brings more than there ever was."""
    furthest, fruitless = part.size, 0
    while True:
        try:
            return await _fetch(session, part, progress)
        except (aiohttp.ClientError, TimeoutError) as error:
            fruitless = 0 if part.size > furthest else fruitless + 1
            furthest = max(furthest, part.size)
            if fruitless == _ATTEMPTS:
                raise Unreachable(f"cannot fetch {part.name}: {_why(error)}{part.kept}") from None


def _why(error: aiohttp.ClientError | TimeoutError) -> str:
    match error:
        case TimeoutError():
            return f"the server said nothing for {_SILENCE} s"
        case aiohttp.ClientResponseError():
            return "the server does not speak HTTP"
        case aiohttp.ClientConnectorError():
            return why_unreachable(error, f"{error.host}:{error.port}", None) or str(error)
    return "the connection was closed in the middle"


async def _fetch(session: aiohttp.ClientSession, part: _Part, progress: Progress) -> _Told:
    response, checksum = await _arrive(session, part)
    async with response:
        if part.size and _does_not_fit(response, part.size):
            part.remove()
            return await _fetch(session, part, progress)
        if response.status != 200 and not (response.status == 206 and part.size):
            raise _refusal(response, part)
        if response.status == 200:
            part.begin(response.headers)
        size = part.size + response.content_length if response.content_length is not None else None
        _check_room(part, size)
        progress(part.size, size)
        with part.path.open("ab") as file:
            async for chunk in response.content.iter_chunked(_CHUNK):
                await asyncio.to_thread(file.write, chunk)
                progress(file.tell(), size)
            file.flush()
            os.fsync(file.fileno())
        chunked = response.headers.get("Transfer-Encoding", "").lower() == "chunked"
        return _Told(checksum, size is not None or chunked)


def _does_not_fit(response: aiohttp.ClientResponse, have: int) -> bool:
    """Whether a server that was asked for the rest has a shorter file by now, or sends another part of it."""
    begins = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    return response.status == 416 or (response.status == 206 and not begins)


def _refusal(response: aiohttp.ClientResponse, part: _Part) -> MootError:
    said = f"{part.name} answered {response.status} {printable(response.reason or '')}".strip()
    if response.status in (401, 403):
        return Missing(f"{said}: it wants a login; fetch the file yourself, and name it as local:./FILE.gguf")
    if response.status == 429 or response.status >= 500:
        return Unreachable(f"{said}: try again later{part.kept}")
    return Missing(f"{said}: is the address right?")


def _check_room(part: _Part, size: int | None) -> None:
    needed, free = (size or 0) - part.size, shutil.disk_usage(part.path.parent).free
    if needed > free:
        told = f"{needed >> 20:,} MB are still to be fetched, and {part.path.parent} has room for {free >> 20:,} MB"
        raise InvalidInput(told)


async def _arrive(session: aiohttp.ClientSession, part: _Part) -> tuple[aiohttp.ClientResponse, str | None]:
    """The answer at the end of the way, and the file's SHA-256, which hubs name where they send one elsewhere."""
    place, checksum = part.url, None
    wanted = {"Accept-Encoding": "identity", **part.wanted()}
    for _ in range(_MAX_WAY):
        try:
            url, proxy = URL(place), proxy_for(place, os.environ)
        except ValueError:
            raise InvalidInput(f"{public_name(place)} is no address of a file: write https://…") from None
        response = await _ask(session, url, proxy, wanted)
        if proxy and response.status == 407:
            response.release()
            raise Unreachable(proxy.refusal(response.status))
        if found := _SHA256.match(response.headers.get("X-Linked-ETag", "")):
            checksum = checksum or found[1]
        if response.status not in _ELSEWHERE or "Location" not in response.headers:
            return response, checksum
        response.release()
        try:
            place = str(url.join(URL(response.headers["Location"])))
        except ValueError:
            break
    raise Missing(f"{part.name} leads nowhere, from place to place: is the address right?")


async def _ask(
    session: aiohttp.ClientSession, url: URL, proxy: Proxy | None, headers: Mapping[str, str]
) -> aiohttp.ClientResponse:
    login = proxy.login if proxy else {}
    if url.scheme == "http":  # which the proxy reads itself
        headers = {**headers, **login}
    through = proxy.url if proxy else None
    try:
        return await session.get(
            url, headers=headers, allow_redirects=False, proxy=through, proxy_headers=login or None
        )
    except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError):
        raise InvalidInput(f"{public_name(str(url))} is no address of a file: write https://…") from None
    except (aiohttp.ClientHttpProxyError, aiohttp.ClientProxyConnectionError, aiohttp.ClientConnectorDNSError) as error:
        if proxy is None:
            raise
        raise Unreachable(why_unreachable(error, public_name(str(url)), proxy) or str(error)) from None


def _sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
