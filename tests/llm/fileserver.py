"""A server of files for tests: it answers ranges as real ones do, and cuts lines when told to."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.test_utils import TestServer


class FileServer:
    """One file at /file.gguf, and on a hub under /acme/tiny/resolve/main/file.gguf."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.etag: str | None = '"one"'
        self.named_sha256 = ""
        self.location = "/file.gguf"
        """Where the hub sends one."""
        self.cuts: list[int] = []
        """After so many bytes of its body each answer ends in the middle, one for each request."""
        self.ranges: list[str | None] = []
        """What was asked for, request by request."""
        self.rest: int | None = None
        """How it answers who asks for the rest: 416, or 206 with the whole file; None is as it should."""
        self.refusal = 0
        """The status it refuses everything with."""
        self.url = ""

    async def send(self, request: web.Request) -> web.StreamResponse:
        wanted = request.headers.get("Range")
        self.ranges.append(wanted)
        start = 0
        if self.refusal:
            return web.Response(status=self.refusal)
        if wanted and self.rest == 416:
            return web.Response(status=416)
        if wanted and self.rest == 206:
            size = len(self.content)
            return web.Response(status=206, body=self.content, headers={"Content-Range": f"bytes 0-{size - 1}/{size}"})
        if wanted and request.headers.get("If-Range") == self.etag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        if start and start >= len(self.content):
            return web.Response(status=416)
        body = self.content[start:]
        response = web.StreamResponse(status=206 if start else 200, headers={"Content-Length": str(len(body))})
        if start:
            response.headers["Content-Range"] = f"bytes {start}-{len(self.content) - 1}/{len(self.content)}"
        if self.etag:
            response.headers["ETag"] = self.etag
        await response.prepare(request)
        if not self.cuts:
            await response.write(body)
            return response
        await response.write(body[: self.cuts.pop(0)])
        assert request.transport is not None
        request.transport.close()
        return response

    async def redirect(self, request: web.Request) -> web.StreamResponse:
        headers = {"X-Linked-ETag": f'"{self.named_sha256}"'} if self.named_sha256 else {}
        return web.Response(status=302, headers={"Location": self.location, **headers})


@asynccontextmanager
async def file_server(content: bytes) -> AsyncIterator[FileServer]:
    served = FileServer(content)
    app = web.Application()
    app.router.add_get("/file.gguf", served.send)
    app.router.add_get("/acme/tiny/resolve/main/file.gguf", served.redirect)
    async with TestServer(app) as server:
        served.url = str(server.make_url("/file.gguf"))
        yield served
