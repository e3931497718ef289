"""Connections of those who send too much, too slowly or not to the end: nobody else notices, and nothing is done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from live import Live, serving, simple_app

from model_server import PATIENCE
from moot.web import protocol
from moot.web.guard import Access

HOST = "Host: 127.0.0.1\r\n"


@pytest.fixture
async def live() -> AsyncIterator[Live]:
    async with serving(simple_app()) as live:
        yield live


async def opened(live: Live) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    address = urlsplit(live.url)
    return await asyncio.open_connection(address.hostname, address.port)


async def answer(live: Live, *pieces: bytes) -> bytes:
    """All that comes back, until the server closes the connection."""
    reader, writer = await opened(live)
    try:
        async with asyncio.timeout(PATIENCE):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def health(live: Live) -> int:
    return (await live.get("/api/health")).status


REFUSED = b"Send headers of at most 32 kB in at most 100 lines."


@pytest.mark.parametrize(
    "pieces",
    [
        [b"x" * 1000] * 1000,
        [b"x: " + b"y" * 60_000],
        [b"a: b\r\n"] * 20_000,
        [b"a: b\r\n" * 20_000],
    ],
    ids=["endless header", "long header", "many lines", "many at once"],
)
async def test_headers_without_end_are_refused_after_a_few_kilobytes(live: Live, pieces: list[bytes]) -> None:
    said = await answer(live, f"GET /api/health HTTP/1.1\r\n{HOST}".encode(), *pieces)
    assert said == b"" or REFUSED in said or b"400 Bad Request" in said
    assert await health(live) == 200


async def test_a_head_that_is_whole_but_too_large_is_refused_too(live: Live) -> None:
    head = f"GET /api/health HTTP/1.1\r\n{HOST}".encode() + b"a: b\r\n" * 20_000 + b"\r\n"
    said = await answer(live, head)
    assert b"200 OK" not in said
    pipelined = f"GET /api/health HTTP/1.1\r\n{HOST}\r\n".encode()
    assert (await answer(live, pipelined + head)).count(b"200 OK") <= 1


async def test_requests_sent_before_the_last_was_answered_are_answered_in_turn(live: Live) -> None:
    one = f"GET /api/health HTTP/1.1\r\n{HOST}\r\n"
    last = f"GET /api/health HTTP/1.1\r\n{HOST}Connection: close\r\n\r\n"
    assert (await answer(live, (one * 5 + last).encode())).count(b"HTTP/1.1 200 OK") == 6


@pytest.mark.parametrize(
    "sent",
    ["", f"GET / HTTP/1.1\r\n{HOST}", f"POST /new HTTP/1.1\r\n{HOST}Content-Length: 9\r\n\r\nhalf"],
    ids=["nothing", "half a head", "half a body"],
)
async def test_who_does_not_go_on_is_left_after_a_while(live: Live, sent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "SECONDS_FOR_HEAD", 0.05)
    monkeypatch.setattr(protocol, "SECONDS_FOR_BODY", 0.05)
    assert await answer(live, sent.encode()) == b""


async def test_half_open_connections_cost_nobody_anything(live: Live) -> None:
    held = [await opened(live) for _ in range(300)]
    for _, writer in held:
        writer.write(b"GET / HTTP/1.1\r\nHost:")
    async with asyncio.timeout(PATIENCE):
        assert [await health(live) for _ in range(3)] == [200] * 3
        for reader, _ in held[:90]:  # there may be 200 of them: the oldest are gone
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
    for _, writer in held:
        writer.close()


FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
QUESTION = "Should we delete the backups"


@pytest.mark.parametrize(
    ("path", "type", "body"),
    [
        ("/new", FORM, f"format=duel&topic={QUESTION}"),
        (
            "/new",
            "multipart/form-data; boundary=x",
            f'--x\r\nContent-Disposition: form-data; name="topic"\r\n\r\n{QUESTION}',
        ),
        ("/api/debates", JSON, f'{{"format": "duel", "topic": "{QUESTION}"}}'),
        (
            "/v1/chat/completions",
            JSON,
            f'{{"model": "duel", "messages": [{{"role": "user", "content": "{QUESTION}"}}]}}',
        ),
    ],
    ids=["form", "upload", "json", "v1"],
)
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
async def test_a_body_that_ends_early_is_dropped(live: Live, path: str, type: str, body: str, chunked: bool) -> None:
    _, writer = await opened(live)
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body) + 40}"
    sent = f"{len(body):x}\r\n{body}\r\n" if chunked else body
    writer.write(f"POST {path} HTTP/1.1\r\n{HOST}Content-Type: {type}\r\n{length}\r\n\r\n{sent}".encode())
    await writer.drain()
    assert await health(live) == 200
    writer.close()
    await writer.wait_closed()
    for _ in range(5):  # it has heard of the end, and would have begun
        assert await health(live) == 200
    assert (await live.get("/api/debates")).body["debates"] == []


async def test_half_an_answer_is_not_the_person_s(live: Live) -> None:
    debate_id = await live.create(start=False)
    body = '{"action": "guide", "text": "Do not"}'
    _, writer = await opened(live)
    head = f"POST /api/debates/{debate_id}/reply HTTP/1.1\r\n{HOST}Content-Type: {JSON}\r\n"
    writer.write(f"{head}Content-Length: {len(body) + 9}\r\n\r\n{body}".encode())
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert [await health(live) for _ in range(5)] == [200] * 5
    assert (await live.app.load(debate_id)).record.status == "created"


TINY = b"1\r\nx\r\n" * 50_000
CHUNKED = b"Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n"


async def test_who_is_refused_is_not_listened_to_any_longer() -> None:
    """A body in tiny chunks takes long to read, and nobody wants it."""
    async with serving(simple_app(), Access(token="secret")) as live:
        head = f"POST /api/debates HTTP/1.1\r\n{HOST}".encode() + CHUNKED
        said = await answer(live, head, b"1\r\nx\r\n")
        assert b" 401 " in said
        assert b"1\r\nx\r\n" not in said


async def test_a_body_in_tiny_chunks_lets_others_have_their_turn(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: between two pieces of the body the loop comes round."""
    turns = 0

    def count() -> None:
        nonlocal turns
        turns += 1
        asyncio.get_running_loop().call_soon(count)

    asyncio.get_running_loop().call_soon(count)
    before = turns
    head = f"POST /login HTTP/1.1\r\n{HOST}Connection: close\r\n".encode() + CHUNKED
    await answer(live, head, TINY, b"0\r\n\r\n")
    assert turns - before > len(TINY) / (protocol.PIECE * protocol.PIECES)


async def test_half_open_heads_close_nobody_s_upload(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_UNFINISHED", 5)
    body = b'{"topic": "Cats?", "format": "duel"}'
    head = f"POST /api/estimate HTTP/1.1\r\n{HOST}Content-Type: application/json\r\nConnection: close\r\n"
    reader, writer = await opened(live)
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:10])
    await writer.drain()
    others = [await opened(live) for _ in range(20)]
    for _, other in others:
        other.write(b"GET / HT")
    assert await health(live) == 200
    writer.write(body[10:])
    async with asyncio.timeout(PATIENCE):
        assert (await reader.read()).startswith(b"HTTP/1.1 ")
    for _, other in [*others, (reader, writer)]:
        other.close()
