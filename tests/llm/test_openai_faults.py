"""What OpenAIClient makes of refusals, silence, cut replies and garbage, all from a real socket."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import aiohttp
import pytest
from badserver import (
    DONE,
    END,
    STREAM_HEAD,
    USAGE,
    Answer,
    BadServer,
    StreamFormat,
    closes_after,
    event,
    framed,
    hangs_after,
    resets_after,
    sends,
    streamed,
    whole,
)
from calls import HALF, HELLO, KEY, REQUEST, ask, client_of, fail, failing, told

from moot.core.debate import Usage
from moot.errors import (
    BadReply,
    InvalidInput,
    ModelError,
    ModelTimeout,
    RateLimited,
    Refused,
    ReplyCut,
    ServerFault,
    UnknownModel,
    Unreachable,
    WrongKey,
)
from moot.llm.client import Completion, Timeouts

# --- refusals ---


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (failing("401 Unauthorized"), WrongKey, "acme refused the key: check ACME_API_KEY"),
        (
            failing("403 Forbidden", message="Country not supported"),
            WrongKey,
            "acme refused the key: check ACME_API_KEY (it says: Country not supported)",
        ),
        (
            failing("400 Bad Request", message="API key not valid. Please pass a valid API key."),
            WrongKey,
            "acme refused the key: check ACME_API_KEY",
        ),
        (
            failing("400 Bad Request", message="Incorrect API key provided: sk***ng."),
            WrongKey,
            "acme refused the key: check ACME_API_KEY",
        ),
        (
            failing("400 Bad Request", message="Your credit balance is too low to access the Anthropic API."),
            Refused,
            "acme is out of credit: Your credit balance is too low to access the Anthropic API.",
        ),
        (
            failing("403 Forbidden", message="Your newly created team doesn't have any credits yet."),
            Refused,
            "acme is out of credit: Your newly created team doesn't have any credits yet.",
        ),
        (failing("402 Payment Required"), Refused, "acme is out of credit: no luck"),
        (failing("429 X", message="insufficient_quota"), Refused, "acme is out of credit: insufficient_quota"),
        (failing("404 Not Found"), UnknownModel, "acme has no model 'm1'; `moot models` shows what there is"),
        (
            failing("400 Bad Request", message="Model Not Exist"),
            UnknownModel,
            "acme has no model 'm1'; `moot models` shows what there is",
        ),
        (failing("400 Bad Request"), Refused, "acme refused the request (400): no luck"),
        (failing("418 Teapot", message="a\x1b[31m\nb"), Refused, "acme refused the request (418): a [31m b"),
        (sends(whole("413 Big", b"<h1>too\nbig")), Refused, "acme refused the request (413): <h1>too big"),
        (
            failing("307 Moved", "Location: http://evil/"),
            Refused,
            "acme redirects, which is not followed; give its real address: http://evil/",
        ),
    ],
)
async def test_a_refusal_says_what_to_do(
    session: aiohttp.ClientSession, answer: Answer, kind: type[ModelError], message: str
) -> None:
    listed = [answer] if kind is UnknownModel else []
    assert told(await fail(session, answer, *listed)) == (kind, message, "")


async def test_a_missing_key_is_asked_for(session: aiohttp.ClientSession) -> None:
    error = await fail(session, failing("401 Unauthorized"), api_key=None)
    assert str(error) == "acme wants a key: check ACME_API_KEY"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("Retry-After: 7", 7.0),
        ("Retry-After: 0.5", 0.5),
        ("retry-after-ms: 250", 0.25),
        ("Retry-After: Mon, 01 Jan 2001 00:00:00 GMT", 0.0),
        ("Retry-After: -5", 0.0),
        ("Retry-After: 1e999", None),
        ("Retry-After: soon", None),
        ("X-Other: 1", None),
    ],
)
async def test_the_wait_a_server_asks_for_is_read(
    session: aiohttp.ClientSession, header: str, seconds: float | None
) -> None:
    limited = await fail(session, failing("429 Too Many Requests", header))
    broken = await fail(session, failing("529 Overloaded", header))
    assert isinstance(limited, RateLimited)
    assert isinstance(broken, ServerFault)
    assert (limited.retry_after, str(limited)) == (seconds, "acme has too many requests: no luck")
    assert (broken.retry_after, str(broken)) == (seconds, "acme failed (529): no luck")


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        (whole("200 OK", b'{"data": [{"id": "gpt-4.1"}, {"id": "o3"}]}'), ", did you mean gpt-4.1? "),
        (whole("200 OK", b'{"data": [{"id": "o3"}]}'), "; "),
        (whole("404 Not Found", b"no"), "; "),
        (whole("200 OK", b"[]"), "; "),
    ],
)
async def test_the_nearest_of_the_models_that_a_server_lists_is_named(
    session: aiohttp.ClientSession, listed: bytes, message: str
) -> None:
    error = await fail(session, failing("404 Not Found"), sends(listed), request=replace(REQUEST, model="gtp-4.1"))
    assert told(error) == (UnknownModel, f"acme has no model 'gtp-4.1'{message}`moot models` shows what there is", "")


async def test_a_date_to_wait_for_is_read(session: aiohttp.ClientSession) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    error = await fail(session, failing("429 Too Many Requests", f"Retry-After: {date}"))
    assert isinstance(error, RateLimited)
    assert error.retry_after == pytest.approx(60, abs=5)


@pytest.mark.parametrize(
    "answer",
    [
        failing("400 Bad Request", message=f"bad key {KEY}"),
        failing("400 Bad Request", message="x" * 320 + KEY),
        failing("302 Found", f"Location: http://evil/?key={KEY}"),
        sends(whole("500 Oops", f"Authorization: Bearer {KEY}".encode(), kind="text/plain")),
        sends(streamed(b'data: {"error": "%s"}\n\n' % KEY.encode())),
        sends(b"HTTP/1.1 200 OK\r\nContent-Type: text/%s\r\nContent-Length: 0\r\n\r\n" % KEY.encode()),
        sends(f"HTTP/1.1 {KEY} nonsense\r\n\r\n".encode()),
        closes_after(b"HTTP/1.1 200 OK\r\n"),
    ],
)
async def test_a_key_that_the_server_echoes_never_shows(session: aiohttp.ClientSession, answer: Answer) -> None:
    assert "sk-sentinel" not in str(await fail(session, answer))


# --- no server, or one that is too slow ---


async def test_a_refused_connection_asks_whether_the_server_runs(session: aiohttp.ClientSession) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        with pytest.raises(Unreachable) as raised:
            await client_of(session, url.replace("//", "//me:secret@"), api_key=None).complete(REQUEST, print)
    assert str(raised.value) == f"cannot reach {url}: is the server running?"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "http://no-such-host.invalid/v1",
            "cannot reach http://no-such-host.invalid/v1: no such host; check the address and the network",
        ),
        ("ftp://host/v1", "ftp://host/v1 is not an address: it should look like http://host:port/v1"),
        ("host", "host is not an address: it should look like http://host:port/v1"),
    ],
)
async def test_an_address_that_leads_nowhere_is_said(session: aiohttp.ClientSession, url: str, message: str) -> None:
    with pytest.raises(Unreachable) as raised:
        await client_of(session, url).complete(REQUEST, print)
    assert str(raised.value) == message


async def test_an_address_that_is_none_is_invalid_input(session: aiohttp.ClientSession) -> None:
    with pytest.raises(InvalidInput) as raised:
        client_of(session, "http://[::1/v1")
    assert str(raised.value) == "the address of acme is not one: it should look like http://host:port/v1"


async def test_https_to_a_plain_server_is_unreachable(session: aiohttp.ClientSession) -> None:
    async def refuse(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        with pytest.raises(Unreachable) as raised:
            await client_of(session, url).complete(REQUEST, print)
    said = "no secure connection; check https and its certificate (SSL_CERT_FILE names those of a company)"
    assert str(raised.value) == f"cannot reach {url}: {said}"


@pytest.mark.parametrize(
    "parts", [(), (STREAM_HEAD,), (STREAM_HEAD, framed(b": keep-alive\n\n")), (STREAM_HEAD, framed(event("")))]
)
async def test_silence_before_the_first_token_is_a_timeout(
    session: aiohttp.ClientSession, parts: tuple[bytes, ...]
) -> None:
    error = await fail(session, hangs_after(*parts), timeouts=Timeouts(first_token=0.1))
    assert told(error) == (ModelTimeout, "acme sent no token within 0.1 s", "")


@pytest.mark.parametrize("chunk", [event(""), event(" "), event({"reasoning_content": "\n"}), b": ping\n\n"])
async def test_empty_chunks_without_end_count_against_the_time_for_the_first_token(
    session: aiohttp.ClientSession, chunk: bytes
) -> None:
    async def drip(wire: StreamFormat) -> None:
        await wire.send(STREAM_HEAD)
        while not wire.writer.is_closing():
            await wire.send(framed(chunk))
            await asyncio.sleep(0.005)

    request = replace(REQUEST, max_tokens=100_000)
    error = await fail(session, drip, request=request, timeouts=Timeouts(first_token=0.3, between_tokens=0.2, total=60))
    assert (type(error), str(error)) == (ModelTimeout, "acme sent no token within 0.3 s")


async def test_silence_between_tokens_is_a_timeout_with_the_text_so_far(session: aiohttp.ClientSession) -> None:
    parts = (STREAM_HEAD, framed(event("Hel")), framed(event("lo")), framed(b": keep-alive\n\n"))
    error = await fail(session, hangs_after(*parts), timeouts=Timeouts(between_tokens=0.1))
    assert told(error) == (ModelTimeout, "acme fell silent for 0.1 s between tokens", "Hello")


async def test_a_reply_that_takes_too_long_in_all_is_a_timeout(session: aiohttp.ClientSession) -> None:
    async def drip(wire: StreamFormat) -> None:
        await wire.send(STREAM_HEAD)
        while not wire.writer.is_closing():
            await wire.send(framed(event("x")))
            await asyncio.sleep(0.02)

    error = await fail(session, drip, timeouts=Timeouts(first_token=5, between_tokens=5, total=0.2))
    assert (type(error), str(error)) == (ModelTimeout, "acme took longer than 0.2 s in all")
    assert set(error.partial) == {"x"}


async def test_tokens_that_keep_coming_hold_off_the_timeout(session: aiohttp.ClientSession) -> None:
    async def slow(wire: StreamFormat) -> None:
        await wire.send(STREAM_HEAD)
        for letter in "Hello":
            await wire.send(framed(event(letter)))
            await asyncio.sleep(0.1)
        await wire.send(framed(event("", "stop", usage=USAGE)) + framed(DONE) + END)

    assert await ask(session, slow, timeouts=Timeouts(between_tokens=0.3)) == HELLO


async def test_a_server_that_accepts_no_connection_is_a_timeout(session: aiohttp.ClientSession) -> None:
    with socket.socket() as deaf, socket.socket() as first, socket.socket() as second:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for filler in (first, second):  # a full backlog: the next connection waits
            filler.setblocking(False)
            filler.connect_ex(deaf.getsockname())
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        with pytest.raises(ModelTimeout) as raised:
            await client_of(session, url, timeouts=Timeouts(connect=0.1)).complete(REQUEST, print)
    assert str(raised.value) == f"no connection to {url} within 0.1 s"


# --- replies that are cut, or are none ---


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (closes_after(HALF), "acme closed the connection before its reply was complete"),
        (closes_after(HALF + b"fff\r\ndata: {"), "acme closed the connection before its reply was complete"),
        (sends(HALF + END), "acme ended its reply before it was complete"),
        (sends(HALF + framed(b'data: {"choices": [{"del') + END), "acme ended its reply before it was complete"),
    ],
)
async def test_a_cut_stream_is_no_reply(session: aiohttp.ClientSession, answer: Answer, message: str) -> None:
    assert told(await fail(session, answer)) == (ReplyCut, message, "Hello")


async def test_a_reset_connection_is_no_reply(session: aiohttp.ClientSession) -> None:
    read = asyncio.Event()
    async with BadServer(resets_after(HALF, when=read)) as server:
        with pytest.raises(ReplyCut) as raised:
            await client_of(session, server.url).complete(REQUEST, lambda text: read.set())
    assert told(raised.value) == (ReplyCut, "acme closed the connection before its reply was complete", "Hello")


@pytest.mark.parametrize(
    ("tail", "kind", "message"),
    [
        (b"data: {garbage\n\n", BadReply, "acme sent something that is not JSON"),
        (b"data: " + b"[" * 100_000 + b"\n\n", BadReply, "acme sent something that is not JSON"),
        (b"data: 7\n\n", BadReply, "acme sent something that is no part of a reply"),
        (b'data: {"choices": "all"}\n\n', BadReply, "acme sent something that is no part of a reply"),
        (b'data: {"choices": {"a": 1}}\n\n', BadReply, "acme sent something that is no part of a reply"),
        (event(["a"]), BadReply, "acme sent something that is no part of a reply"),
        (event(7), BadReply, "acme sent something that is no part of a reply"),
        (b"x" * 1_000_001, BadReply, "acme sent a line of more than 1000000 bytes"),
        (
            b'data: {"error": {"message": "out of\\nmemory", "code": 500}}\n\n',
            ServerFault,
            "acme reported an error: out of memory",
        ),
        (b'data: {"error": {"no": 1}}\n\n', ServerFault, 'acme reported an error: {"no": 1}'),
    ],
)
async def test_garbage_in_the_stream_ends_it_with_the_text_so_far(
    session: aiohttp.ClientSession, tail: bytes, kind: type[ModelError], message: str
) -> None:
    error = await fail(session, hangs_after(HALF + framed(tail)))
    assert told(error) == (kind, message, "Hello")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (sends(streamed(event("", "stop"), DONE)), "acme answered nothing"),
        (sends(streamed(DONE)), "acme answered nothing"),
        (sends(streamed(event(" \n", "stop"), DONE)), "acme answered nothing"),
        (sends(whole("200 OK", {"hello": "world"})), "acme answered nothing"),
        (sends(whole("200 OK", b"{half")), "acme sent something that is not JSON"),
        (
            sends(streamed(event({"reasoning": "Hm"}, "length"), DONE)),
            "acme answered nothing: it spent its tokens on reasoning; raise max_tokens",
        ),
    ],
)
async def test_an_empty_reply_is_a_bad_one(session: aiohttp.ClientSession, answer: Answer, message: str) -> None:
    error = await fail(session, answer)
    assert (type(error), str(error)) == (BadReply, message)


async def test_a_web_page_is_not_an_api(session: aiohttp.ClientSession) -> None:
    async with BadServer(sends(whole("200 OK", b"<h1>Hi", kind="text/html"))) as server:
        with pytest.raises(BadReply) as raised:
            await client_of(session, server.url).complete(REQUEST, print)
    assert str(raised.value) == f"acme answers with text/html: is {server.url} the address of a chat-completions API?"


async def test_a_server_that_speaks_no_http_is_not_an_api(session: aiohttp.ClientSession) -> None:
    async with BadServer(closes_after(b"220 mail.example ESMTP\r\n\r\n")) as server:
        with pytest.raises(BadReply) as raised:
            await client_of(session, server.url).complete(REQUEST, print)
    assert str(raised.value) == f"acme does not speak HTTP: is {server.url} the address of a chat-completions API?"


async def test_a_reply_of_10_mb_is_cut_at_its_bound_and_the_connection_closed(session: aiohttp.ClientSession) -> None:
    async with BadServer(hangs_after(STREAM_HEAD, *[framed(event("word " * 1000))] * 2000)) as server:
        completion = await client_of(session, server.url).complete(REQUEST, lambda text: None)
        await server.hung_up.wait()
    usage = Usage(input_tokens=4, output_tokens=50, calls=1, estimated=True)
    assert completion == Completion(text=("word " * 100)[:432], finish_reason="over_cap", usage=usage)


async def test_a_whole_body_of_10_mb_is_cut_at_the_same_bound(session: aiohttp.ClientSession) -> None:
    body = {"choices": [{"message": {"content": "word " * 2_000_000}, "finish_reason": "stop"}]}
    usage = Usage(input_tokens=4, output_tokens=50, calls=1, estimated=True)
    assert await ask(session, sends(whole("200 OK", body))) == Completion(
        text=("word " * 100)[:432], finish_reason="over_cap", usage=usage
    )


async def test_a_whole_body_beyond_all_bounds_is_not_read(session: aiohttp.ClientSession) -> None:
    error = await fail(session, sends(whole("200 OK", b" " * 17_000_000)))
    assert told(error) == (BadReply, "acme sent more than 16000000 bytes", "")
