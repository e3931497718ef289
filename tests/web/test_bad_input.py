"""Requests that nobody sends by accident: each is refused in words, and none ends in a fault of the server."""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections.abc import AsyncIterator, Iterator
from importlib.metadata import version
from typing import Any

import httpx
import pytest
from theatre import company

from moot.core.debate import Status
from moot.runs.embedded import EmbeddedQueue
from moot.testing import ScriptedModel, scripted_app
from moot.web.server import build_app
from moot.web.stream.hub import Hub

MANY = "9" * 5000
"""More digits than Python reads as a number."""
NUMBERS = (MANY, f"-{MANY}", "1e999", "nan", "-inf", "٣", "²", "1_0", " 1", "0x10", "", "\0", "%00", "\ud800")
TEXTS = ("\0", "\ud800", "\udfff\ud800", "%zz", "%", "\x1b[2J", "‮", "x" * 100_000, MANY, "../../etc/passwd")
FORM = {"content-type": "application/x-www-form-urlencoded"}
JSON = {"content-type": "application/json"}


class Prober:
    """Sends what no browser would, and is told how the server answered."""

    def __init__(self, web: Any, finished: str, waiting: str) -> None:
        self.web = web
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(web, raise_app_exceptions=False), base_url="http://localhost"
        )
        self.debates = (finished, waiting, "DEB-none")

    async def ask(self, method: str, path: str, headers: Any = None, content: bytes = b"") -> httpx.Response:
        response = await self._client.request(method, path, headers=headers, content=content)
        assert response.status_code < 500, (method, path[:200], headers, content[:200], response.text[:300])
        return response


@pytest.fixture
async def prober() -> AsyncIterator[Prober]:
    app = scripted_app(ScriptedModel(company()))
    hub = Hub(app.follow)
    app.queue = queue = EmbeddedQueue(app.runner)
    finished = (await app.create("duel", "Cats?", {"max_rounds": 1})).id
    waiting = (await app.create("panel", "Cats or dogs?", {"max_rounds": 2, "perspectives": 2})).id
    ends = [(await app.run(each, lambda event: None)).status for each in (finished, waiting)]
    assert ends == [Status.FINISHED, Status.WAITING]
    yield Prober(build_app(app, hub), finished, waiting)
    await queue.drain(0)
    await app.close()


def quoted(text: str) -> str:
    """In an address, as bytes that may be no text at all."""
    return "%" + text.encode("utf-8", "surrogatepass").hex("%") if text else ""


async def test_numbers_that_are_none_are_refused_wherever_one_is_asked_for(prober: Prober) -> None:
    for debate_id, number in itertools.product(prober.debates, NUMBERS):
        asked = quoted(number)
        for path in (
            f"/debates/{debate_id}/parts?from={asked}",
            f"/api/debates?limit={asked}",
            f"/api/debates/{prober.debates[2]}/events?after={asked}",
        ):
            await prober.ask("GET", path)
        for field, action in (("stars", "rating"), ("position", "reply")):
            body = f"{field}={asked}&action=continue&text=go"
            await prober.ask("POST", f"/debates/{debate_id}/{action}", FORM, body.encode())
        for body in (f'{{"stars": {number}}}', f'{{"action": "continue", "position": {number}}}'):
            for action in ("rating", "reply"):
                content = body.encode("utf-8", "surrogatepass")
                await prober.ask("POST", f"/api/debates/{debate_id}/{action}", JSON, content)


async def test_a_number_too_long_is_told_to_be_none(prober: Prober) -> None:
    finished = prober.debates[0]
    for path in (f"/debates/{finished}/parts?from={MANY}", f"/debates/{finished}/parts?from=x"):
        response = await prober.ask("GET", path)
        assert (response.status_code, "is no number" in response.text) == (422, True)
    response = await prober.ask("POST", f"/debates/{finished}/rating", FORM, f"stars={MANY}".encode())
    assert (response.status_code, "choose 1 to 5" in response.text) == (422, True)


@pytest.mark.parametrize("at", ["nan", "inf", "-inf", "1e999", "-1e999", MANY, "", "0x1"])
async def test_a_cursor_without_a_time_is_none(prober: Prober, at: str) -> None:
    cursor = base64.urlsafe_b64encode(f"{at} DEB-x".encode()).decode()
    assert (await prober.ask("GET", f"/api/debates?cursor={cursor}")).status_code == 400
    assert (await prober.ask("GET", f"/?after={cursor}")).status_code == 422


async def test_texts_that_no_database_keeps_do_no_harm_in_addresses(prober: Prober) -> None:
    for text in TEXTS:
        asked = quoted(text[:3000])
        for path in (
            *(f"/?{name}={asked}" for name in ("q", "status", "format", "after", "before", "deleted")),
            *(f"/new?{name}={asked}" for name in ("format", "topic")),
            *(f"/api/debates?{name}={asked}" for name in ("q", "status", "format", "cursor")),
            *(f"/debates/{asked}{rest}" for rest in ("", "/parts")),
            *(f"/api/debates/{asked}{rest}" for rest in ("", "/events", "/export")),
            f"/api/debates/{prober.debates[0]}/export?as={asked}",
            f"/static/{asked}",
            f"/{asked}",
        ):
            await prober.ask("GET", path)


async def test_texts_that_no_database_keeps_do_no_harm_in_forms(prober: Prober) -> None:
    names = ("topic", "format", "once", "do", "max_rounds", "model", "models", "max_cost", "perspectives", "sources")
    for text, name in itertools.product(TEXTS, names):
        written = {"format": "panel", "topic": "Cats?", "do": "estimate", name: text}
        body = "&".join(f"{field}={quoted(value)}" for field, value in written.items())
        await prober.ask("POST", "/new", FORM, body.encode())
    for text, debate_id in itertools.product(TEXTS, prober.debates):
        for action in ("reply", "rating", "workflow", "stop", "conclude"):
            body = f"stars=3&action=guide&text={quoted(text)}&comment={quoted(text)}"
            await prober.ask("POST", f"/debates/{debate_id}/{action}", FORM, body.encode())


def bodies() -> Iterator[bytes]:
    """JSON that is none, or that no program would write."""
    yield from (b"", b"null", b"[]", b"0", b'"x"', b"{", b"\xff\xfe", b"\0", b'{"a": 1' * 10, b"{}" * 2)
    yield b"[" * 50_000
    yield b'{"settings":' * 20_000 + b"1" + b"}" * 20_000
    for value in (MANY, f"-{MANY}", "1e999", "NaN", "-Infinity", '"\\u0000"', '"\\ud800"', "[[[[]]]]", "null"):
        yield f'{{"format": "duel", "topic": {value}, "messages": {value}, "model": {value}}}'.encode()
        for setting in ("max_rounds", "max_cost", "max_runtime_seconds", "models", "perspectives", "topics", "x"):
            body = f'{{"format": "duel", "topic": "Cats?", "settings": {{"{setting}": {value}}}}}'
            yield body.encode()
            yield body.replace("duel", "panel").encode()
            yield body.replace("duel", "evaluation").encode()
        message = f'{{"role": {value}, "content": {value}}}'
        yield f'{{"model": "moot/duel", "messages": [{message}], "max_tokens": {value}, "moot": {value}}}'.encode()
    yield json.dumps({"format": "duel", "topic": "\ud800\0"}).encode()


async def test_bodies_that_are_no_json_or_too_much_of_it_are_refused(prober: Prober) -> None:
    for body in bodies():
        for path in ("/api/estimate", "/v1/chat/completions", f"/api/debates/{prober.debates[1]}/reply"):
            await prober.ask("POST", path, JSON, body)


@pytest.mark.parametrize("origin", ["http://[", "http://[::1", "http://]", "//[", "null", "", "http://a@b:c", "\xff"])
async def test_an_origin_that_is_no_address_is_another_site(prober: Prober, origin: str) -> None:
    response = await prober.ask("POST", "/api/estimate", {**JSON, "origin": origin.encode("latin-1")}, b"{}")
    assert (response.status_code, response.json()["error"]["code"]) == (403, "cross_site")


async def test_headers_that_are_none_do_no_harm(prober: Prober) -> None:
    debate_id = prober.debates[2]
    odd = (b"[", b"]", b"\xff", b"=", b";", b"a=b;" * 1000, b"\x80=\x81", b'"', MANY.encode(), b"a/b/c", b"%00")
    names = ("host", "referer", "origin", "cookie", "authorization", "content-type", "accept", "last-event-id")
    for name, value in itertools.product((*names, "idempotency-key", "content-length", "sec-fetch-site"), odd):
        await prober.ask("GET", f"/api/debates/{debate_id}/events", {name: value})
        await prober.ask("GET", "/", {name: value, **({} if name == "accept" else {"accept": "text/html"})})
        await prober.ask("POST", "/api/estimate", {**JSON, name: value}, b'{"format": "duel", "topic": "Cats?"}')
        await prober.ask("POST", "/new", {**FORM, name: value}, b"topic=Cats%3F&format=duel&do=estimate")
    for kind in ("multipart/form-data", "multipart/form-data; boundary=", "text/plain", "application/json; charset=x"):
        await prober.ask("POST", "/new", {"content-type": kind}, b"--x\r\n\r\n")
        await prober.ask("POST", f"/debates/{prober.debates[0]}/rating", {"content-type": kind}, b"\0")


@pytest.mark.parametrize("id", ["../login?x=", "..%2flogin", "DEB-1/../../new", "DEB-1?", "DEB-1#", "%2e%2e", "a" * 41])
async def test_an_undo_that_leads_elsewhere_is_not_offered(prober: Prober, id: str) -> None:
    page = (await prober.ask("GET", f"/?deleted={quoted(id)}")).text
    assert "/restore" not in page
    assert "/restore" in (await prober.ask("GET", "/?deleted=DEB-abcdefgh")).text


async def test_every_route_survives_odd_ids_queries_and_headers(prober: Prober) -> None:
    odd = ("\0", "\ud800", MANY, "DEB-none")
    kinds = [{"last-event-id": b"\xff"}, {"accept": b"\xff;q=x"}, {"content-length": b"-1"}, {"range": b"bytes=9-1"}]
    headers = itertools.cycle(kinds)
    pages = [(route.path, sorted(route.methods or ())) for route in prober.web.routes if hasattr(route, "methods")]
    described = [(path, [method.upper() for method in each]) for path, each in prober.web.openapi()["paths"].items()]
    routes = [*pages, *described]
    assert len(routes) > 30
    for (path, methods), text in itertools.product(routes, odd):
        target = re.sub(r"\{[^}]*\}", quoted(text), path)
        for method, more in zip(methods, headers, strict=False):
            kind = FORM if method == "POST" and not path.startswith(("/api/", "/v1/")) else JSON
            body = f'{{"x": "{MANY[:50]}"}}'.encode() if kind is JSON else b"x=1&topic=%00&at=" + MANY.encode()
            sent = body if method not in ("GET", "HEAD") else b""
            await prober.ask(method, f"{target}?after={quoted(text)}&as={quoted(text)}", {**kind, **more}, sent)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/api/debates?stat=finished", "no query parameter 'stat', did you mean status?"),
        (
            "/api/debates?mood=1&limit=2",
            "no query parameter 'mood'; known: cursor, format, limit, q, status",
        ),
        ("/api/debates?limit=1&limit=2", "the query parameter 'limit' is given more than once; give one value"),
        ("/api/debates/DEB-none?full=1", "no query parameter 'full'; this address takes none"),
        ("/api/compare?a=DEB-a&b=DEB-b&c=1", "no query parameter 'c'; known: a, b"),
    ],
)
async def test_no_parameter_of_the_api_is_ignored(prober: Prober, path: str, said: str) -> None:
    response = await prober.ask("GET", path)
    assert (response.status_code, response.json()["error"]["message"]) == (400, said)


@pytest.mark.parametrize("path", ["/api/debates?_=17", "/api/health?ts=17", "/?utm_source=x", "/api/debates?limit=2"])
async def test_what_clients_add_to_get_past_caches_does_no_harm(prober: Prober, path: str) -> None:
    assert (await prober.ask("GET", path)).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/debates", "GET, POST"),
        ("POST", "/api/compare", "GET"),
        ("GET", "/api/debates/DEB-none/stop", "POST"),
        ("PATCH", "/debates/DEB-none", "GET, HEAD"),
    ],
)
async def test_another_method_is_told_what_an_address_takes(
    prober: Prober, method: str, path: str, allowed: str
) -> None:
    response = await prober.ask(method, path)
    said = f"{path} takes {allowed}, not {method}"
    assert (response.status_code, response.headers.get_list("allow")) == (405, [allowed])
    assert response.json()["error"] == {"code": "method_not_allowed", "message": said}


async def test_an_address_without_anything_is_named(prober: Prober) -> None:
    said = (await prober.ask("GET", "/api/nope")).json()["error"]["message"]
    assert said == "there is nothing at /api/nope; /api/openapi.json says what there is"
    page = await prober.ask("GET", "/nope", {"accept": "text/html"})
    assert (page.status_code, "Nothing has this address" in page.text) == (404, True)


async def test_the_document_of_the_api_says_which_moot_it_is_of(prober: Prober) -> None:
    assert (await prober.ask("GET", "/api/openapi.json")).json()["info"]["version"] == version("moot")
