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

from moot.errors import InvalidInput, Missing, Unreachable
from moot.llm.addresses import public_name
from moot.llm.proxies import proxy_for
from moot.text.files import put, write_whole

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the bytes that are there, and with those there will be, where the server says so."""

_ATTEMPTS = 3
"""So many in a row may bring nothing before it is given up."""
_CHUNK = 1 << 18
_MAX_WAY = 10
"""So often a server may name another place before the file comes."""
_ELSEWHERE = (301, 302, 303, 307, 308)
_SHA256 = re.compile(r'^(?:W/)?"?([0-9a-f]{64})"?$')


class Fetched(NamedTuple):
    sha256: str
    checked: bool
    """Whether it is the checksum that the caller or the server named before."""


async def download(url: str, target: Path, sha256: str | None, progress: Progress) -> Fetched:
    """Fetch a file; what an earlier attempt left at `target`.part is gone on with if the server still has the same."""
    part = _Part(url, target.with_name(f"{target.name}.part"))
    timeout = aiohttp.ClientTimeout(total=None, connect=20, sock_read=60)
    async with aiohttp.ClientSession(timeout=timeout, auto_decompress=False) as session:
        named = await _fetch_patiently(session, part, progress)
    found = await asyncio.to_thread(_sha256_of, part.path)
    expected = sha256 or named
    if expected and found != expected.lower():
        part.remove()
        raise InvalidInput(
            f"{part.name} has the SHA-256 {found}, expected was {expected}: it is another file, or it was damaged on "
            "the way; nothing of it was kept"
        )
    put(part.path, target)
    part.remove()
    return Fetched(found, bool(expected))


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

    def wanted(self) -> dict[str, str]:
        """The headers that ask for the rest, or for all when nobody could say that the rest belongs to it."""
        try:
            of = orjson.loads(self._of.read_bytes())
        except (OSError, orjson.JSONDecodeError):
            of = {}
        if self.size and of.get("url") == self.name and of.get("version"):
            return {"Range": f"bytes={self.size}-", "If-Range": of["version"]}
        self.remove()
        return {}

    def begin(self, headers: Mapping[str, str]) -> None:
        """What follows is the file from its first byte on."""
        self.path.write_bytes(b"")
        etag = headers.get("ETag", "")
        version = etag if etag and not etag.startswith("W/") else headers.get("Last-Modified")
        write_whole(self._of, orjson.dumps({"url": self.name, "version": version}))


async def _fetch_patiently(session: aiohttp.ClientSession, part: _Part, progress: Progress) -> str | None:
    """Ask for the rest whenever the line was cut, as long as that brings more; the SHA-256 that the server told."""
    fruitless = 0
    while True:
        before = part.size
        try:
            return await _fetch(session, part, progress)
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError):
            raise InvalidInput(f"{part.name} is no address of a file: write https://…") from None
        except (aiohttp.ClientError, TimeoutError) as error:
            fruitless = 0 if part.size > before else fruitless + 1
            if fruitless == _ATTEMPTS:
                kept = f"; {part.size:,} bytes are kept, and the same command goes on from there" if part.size else ""
                raise Unreachable(f"cannot fetch {part.name}: {error or type(error).__name__}{kept}") from None


async def _fetch(session: aiohttp.ClientSession, part: _Part, progress: Progress) -> str | None:
    response, checksum = await _arrive(session, part)
    async with response:
        if response.status == 416:  # what is there is not the beginning of it
            part.remove()
            raise aiohttp.ClientPayloadError("the server has another file by now")
        if response.status not in (200, 206):
            raise Missing(f"{part.name} answered {response.status} {response.reason or ''}: is the address right?")
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
        return checksum


def _check_room(part: _Part, size: int | None) -> None:
    needed, free = (size or 0) - part.size, shutil.disk_usage(part.path.parent).free
    if needed > free:
        told = f"{needed >> 20:,} MB are still to be fetched, and {part.path.parent} has room for {free >> 20:,} MB"
        raise InvalidInput(told)


async def _arrive(session: aiohttp.ClientSession, part: _Part) -> tuple[aiohttp.ClientResponse, str | None]:
    """The answer at the end of the way, and the file's SHA-256, which hubs name where they send one elsewhere."""
    url, checksum = URL(part.url), None
    wanted = {"Accept-Encoding": "identity", **part.wanted()}
    for _ in range(_MAX_WAY):
        proxy = proxy_for(str(url), os.environ)
        login = proxy.login if proxy else {}
        headers = wanted | (login if url.scheme == "http" else {})  # which the proxy reads itself
        through = proxy.url if proxy else None
        try:
            response = await session.get(
                url, headers=headers, allow_redirects=False, proxy=through, proxy_headers=login or None
            )
        except aiohttp.ClientHttpProxyError as error:
            raise Unreachable(proxy.refusal(error.status) if proxy else str(error)) from None
        if proxy and response.status == 407:
            response.release()
            raise Unreachable(proxy.refusal(response.status))
        if found := _SHA256.match(response.headers.get("X-Linked-ETag", "")):
            checksum = checksum or found[1]
        if response.status not in _ELSEWHERE or "Location" not in response.headers:
            return response, checksum
        response.release()
        try:
            url = url.join(URL(response.headers["Location"]))
        except ValueError:
            break
    raise Missing(f"{part.name} leads nowhere, from place to place: is the address right?")


def _sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
