"""Who may ask, from where, and how much, tried over a real socket."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from live import Live, serving, simple_app

from moot.app import App
from moot.errors import InvalidInput
from moot.llm.models import Models
from moot.settings import load
from moot.web.guard import HEADERS, MAX_BODY, MAX_DEBATE, Access, WrongTokens, access, is_loopback
from moot.web.server import Plain, Uvicorn, build_app
from moot.web.stream.hub import Hub

TOKEN = "correct horse battery staple"
DUEL = {"format": "duel", "topic": "Cats?", "start": False}


@pytest.fixture
async def live() -> AsyncIterator[Live]:
    async with serving(simple_app()) as live:
        yield live


async def at_once(seconds: float) -> None:
    """For tests that show many wrong tokens."""


@pytest.fixture
async def locked() -> AsyncIterator[Live]:
    async with serving(simple_app(), Access(token=TOKEN, wrong_tokens=WrongTokens(at_once))) as live:
        yield live


def routes() -> Iterator[tuple[str, str]]:
    """Every method and path the server answers."""
    app = simple_app()
    web = build_app(app, Hub(app.follow))
    for path, methods in web.openapi()["paths"].items():
        for method in methods:
            yield method.upper(), path.replace("{debate_id}", "DEB-none")
    for route in web.routes:
        if isinstance(route, APIRoute):
            continue
        for method in getattr(route, "methods", None) or ():
            yield method, getattr(route, "path", "/").replace("{id}", "DEB-none")


ROUTES = sorted(set(routes()))


def test_the_routes_are_the_ones_that_are_promised() -> None:
    promised = {
        ("POST", "/api/debates"),
        ("GET", "/api/debates"),
        ("GET", "/api/debates/DEB-none"),
        ("DELETE", "/api/debates/DEB-none"),
        *(
            ("POST", f"/api/debates/DEB-none/{action}")
            for action in ("start", "stop", "resume", "conclude", "reply", "rating", "workflow", "restore")
        ),
        ("GET", "/api/debates/DEB-none/events"),
        ("GET", "/api/debates/DEB-none/export"),
        *(("GET", f"/api/{name}") for name in ("formats", "perspectives", "templates", "models", "health")),
        ("POST", "/api/estimate"),
        ("GET", "/api/openapi.json"),
    }
    assert promised <= set(ROUTES)


# The token


async def test_every_route_but_health_wants_the_token(locked: Live) -> None:
    wrong = ({}, {"Authorization": f"Bearer {TOKEN}x"}, {"Authorization": TOKEN}, {"Cookie": "moot_session=x"})
    for method, path in (each for each in ROUTES if each[1] != "/api/health"):
        for headers in wrong:
            assert (await locked.ask(method, path, headers=headers)).status == 401, (method, path, headers)
        in_query = await locked.ask(method, path, params={"token": TOKEN, "access_token": TOKEN})
        assert in_query.status == 401, (method, path)


async def test_who_shows_the_token_is_let_in(locked: Live) -> None:
    assert (await locked.get("/api/health")).status == 200
    assert (await locked.get("/api/debates", headers={"Authorization": f"Bearer {TOKEN}"})).status == 200
    assert (await locked.get("/api/debates", headers={"authorization": f"bearer {TOKEN}"})).status == 200
    refused = await locked.get("/api/debates")
    assert refused.problem == (401, "unauthorized", "send the header Authorization: Bearer TOKEN, or log in")
    assert refused.headers["WWW-Authenticate"] == "Bearer"


async def test_a_browser_exchanges_the_token_for_a_cookie_that_does_not_hold_it(locked: Live) -> None:
    wrong = await locked.ask("POST", "/login", data={"token": "x"}, allow_redirects=False)
    assert wrong.status == 401
    right = await locked.ask("POST", "/login", data={"token": TOKEN}, allow_redirects=False)
    assert (right.status, right.headers["Location"]) == (303, "/")
    cookie = right.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    value = cookie.partition(";")[0]
    assert (await locked.get("/api/debates", headers={"Cookie": value})).status == 200


async def test_a_browser_without_the_token_gets_the_page_to_log_in_wherever_it_wanted_to_go(locked: Live) -> None:
    html = {"Accept": "text/html,application/xhtml+xml"}
    for path in ("/", "/new", "/debates/DEB-none", "/login", "/nowhere"):
        page = await locked.get(path, headers=html)
        assert (page.status, '<form class="page narrow stack" method="post" action="/login">' in page.body) == (
            401,
            True,
        )
    assert (await locked.get("/static/base.css")).status == 200
    wrong = await locked.ask("POST", "/login", data={"token": "x"}, headers=html, allow_redirects=False)
    assert (wrong.status, wrong.headers["Location"]) == (303, "/login?wrong")
    assert "This is not the server's token." in (await locked.get("/login?wrong", headers=html)).body


async def test_wrong_tokens_are_answered_ever_later_and_the_right_one_at_once() -> None:
    waited: list[float] = []
    now = 0.0

    async def sleep(seconds: float) -> None:
        nonlocal now
        waited.append(round(seconds, 3))
        now += seconds

    who = Access(token=TOKEN, wrong_tokens=WrongTokens(sleep, lambda: now))
    async with serving(simple_app(), who) as live:
        for _ in range(4):
            await live.ask("POST", "/login", data={"token": "x"}, allow_redirects=False)
            await live.get("/api/debates", headers={"Authorization": "Bearer x"})
            assert (await live.get("/api/debates", headers={"Authorization": f"Bearer {TOKEN}"})).status == 200
            assert (await live.get("/api/debates")).status == 401  # which is no guess
        assert waited == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
        now += 60.0
        await live.ask("POST", "/login", data={"token": "x"}, allow_redirects=False)
    assert waited[8:] == [0.1]


async def test_guessed_cookies_are_slowed_like_tokens_and_guesses_at_once_wait_for_each_other() -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(round(seconds, 3))

    async with serving(simple_app(), Access(token=TOKEN, wrong_tokens=WrongTokens(sleep, lambda: 0.0))) as live:
        for _ in range(4):  # the clock stands still: all at once
            assert (await live.get("/api/debates", headers={"Cookie": "moot_session=guess"})).status == 401
    assert waited == [0.1, 0.3, 0.7, 1.5]


async def test_a_token_that_is_no_ascii_is_only_wrong(locked: Live) -> None:
    assert (await locked.get("/api/debates", headers={"Authorization": "Bearer gr\xfc\xdfe"})).status == 401


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org"])
def test_listening_beyond_this_machine_needs_a_token(host: str) -> None:
    for token in (None, ""):
        with pytest.raises(InvalidInput, match=f"listening on {host} lets others in: set MOOT_TOKEN"):
            access(host, token, [])
    assert access(host, TOKEN, ["moot.example"]).hosts == {"localhost", "127.0.0.1", "::1", host, "moot.example"}


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost", "LOCALHOST"])
def test_listening_on_this_machine_needs_none(host: str) -> None:
    assert is_loopback(host)
    assert access(host, None, []).token is None


def test_names_of_the_server_come_from_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOOT_ALLOWED_HOSTS", "moot.example, box.lan")
    monkeypatch.setenv("MOOT_TOKEN", TOKEN)
    settings = load()
    assert settings.allowed_hosts == ["moot.example", "box.lan"]
    assert TOKEN not in repr(settings)


# Where from


async def test_a_host_that_is_not_ours_is_refused_on_every_route(live: Live) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "[::2]", "localhost@evil"):
        for method, path in (*ROUTES, ("GET", "/nothing")):
            answer = await live.ask(method, path, headers={"Host": host})
            assert answer.status == 421, (host, method, path)


async def test_our_own_names_are_known(live: Live) -> None:
    for host in ("localhost", "LOCALHOST:1234", "127.0.0.1", "[::1]:80"):
        assert (await live.get("/api/health", headers={"Host": host})).status == 200


async def raw(live: Live, request: str) -> bytes:
    host, port = live.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request.encode())
    answer = await reader.read(10_000)
    writer.close()
    await writer.wait_closed()
    return answer


async def test_two_hosts_are_none(live: Live) -> None:
    answer = await raw(live, "GET /api/health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")


FOREIGN = (
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"},
)


async def test_what_another_site_sends_is_refused_on_every_route_that_changes_something(live: Live) -> None:
    for method, path in (each for each in (*ROUTES, ("POST", "/login")) if each[0] not in ("GET", "HEAD")):
        for headers in FOREIGN:
            answer = await live.ask(method, path, {}, headers=headers)
            assert answer.problem == (403, "cross_site", "requests from other sites are refused")


async def test_what_our_own_page_sends_is_taken(live: Live) -> None:
    headers = {"Origin": live.url, "Sec-Fetch-Site": "same-origin"}
    assert (await live.post("/api/debates", DUEL, headers=headers)).status == 201


async def test_a_body_that_is_not_json_is_refused(live: Live) -> None:
    body = json.dumps(DUEL).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonp"):
        answer = await live.ask("POST", "/api/debates", data=body, headers={"Content-Type": kind})
        assert answer.problem == (415, "not_json", "send the body as application/json")
    assert (await live.get("/api/debates")).body["debates"] == []


async def test_reading_changes_nothing(live: Live) -> None:
    debate_id = (await live.post("/api/debates", DUEL)).body["id"]
    before = (await live.get(f"/api/debates/{debate_id}")).body
    for action in ("start", "stop", "resume", "conclude", "reply", "rating", "workflow", "restore"):
        assert (await live.get(f"/api/debates/{debate_id}/{action}")).status == 405
    assert (await live.get(f"/api/debates/{debate_id}")).body == before


# How much


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_that_is_too_large_is_refused(live: Live, chunked: bool) -> None:
    async def parts(size: int) -> AsyncIterator[bytes]:
        for _ in range(size // 1024):
            yield b" " * 1024

    async def send(path: str, size: int) -> int:
        data = parts(size) if chunked else io.BytesIO(b" " * size)
        answer = await live.ask("POST", path, data=data, headers={"Content-Type": "application/json"})
        return answer.status

    assert await send("/api/debates/DEB-none/reply", MAX_BODY) == 422
    assert await send("/api/debates/DEB-none/reply", MAX_BODY + 1024) == 413
    assert await send("/api/debates", MAX_DEBATE) == 422
    assert await send("/api/debates", MAX_DEBATE + 1024) == 413


async def test_a_debate_may_bring_its_sources_along(live: Live) -> None:
    source = {"name": "report", "text": "It is so. " * 50_000}
    body = {"format": "panel", "topic": "Redis?", "settings": {"sources": [source]}, "start": False}
    assert (await live.post("/api/debates", body)).status == 201


# What goes out


async def test_every_answer_has_the_headers_that_keep_browsers_careful(live: Live) -> None:
    for method, path in (*ROUTES, ("GET", "/nothing"), ("PUT", "/api/debates")):
        for headers in ({}, {"Host": "evil.example"}, {"Origin": "null"}):
            answer = await live.ask(method, path, headers=headers)
            for name, value in HEADERS:
                assert answer.headers[name.decode()] == value.decode(), (method, path, headers)
            assert "server" not in answer.headers


async def test_event_streams_have_them_too(live: Live) -> None:
    debate_id = await live.create(max_rounds=1)
    async with live.session.get(f"{live.url}/api/debates/{debate_id}/events") as response:
        for name, value in HEADERS:
            assert response.headers[name.decode()] == value.decode()
        await response.text()


ADDRESSES: tuple[dict[str, object], ...] = (
    {"model": "http://evil.example/v1#m"},
    {"model": " HTTPS://evil.example/v1#m"},
    {"models": {"judge": "http://169.254.169.254/v1#m"}},
    {"model_judge": "http://evil.example/v1#m"},
    {"model": "local:/etc/passwd"},
    {"model_debater": "local:~/secret.gguf"},
)


async def test_a_request_cannot_say_where_models_are(live: Live) -> None:
    for settings in ADDRESSES:
        for path in ("/api/debates", "/api/estimate"):
            answer = await live.post(path, {"format": "duel", "topic": "Cats?", "settings": settings})
            assert (answer.status, answer.body["error"]["code"]) == (400, "invalid_input")
            assert "is an address; name a model, PROVIDER:MODEL, instead" in answer.body["error"]["message"]
    assert (await live.get("/api/debates")).body["debates"] == []


async def test_an_address_from_the_configuration_is_used() -> None:
    app = simple_app()
    app.settings.model = "http://127.0.0.1:9/v1#m"
    async with serving(app) as live:
        debate_id = await live.create(start=False)
        assert (await live.get(f"/api/debates/{debate_id}")).body["seats"][0]["model"] == "http://127.0.0.1:9/v1#m"


async def test_keys_and_tokens_are_in_no_answer_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    key = "sk-sentinel-0123456789"
    caplog.set_level(logging.DEBUG)
    simple = simple_app()
    models = Models({"DEEPSEEK_API_KEY": key, "DEEPSEEK_BASE_URL": "http://127.0.0.1:9"}, clients={})
    app = App(
        simple.settings, simple.store, lambda: models, simple.formats, lambda: simple.prompts, {"DEEPSEEK_API_KEY": key}
    )
    app.settings.model = "deepseek:deepseek-chat"
    async with serving(app, Access(token=TOKEN), {"Authorization": f"Bearer {TOKEN}"}) as live:
        debate_id = (await live.post("/api/debates", {**DUEL, "start": True})).body["id"]
        texts = [json.dumps(event) for event in await live.all_events(debate_id)]
        assert '"debate_failed"' in texts[-1]
        for method, path in ROUTES:
            answer = await live.ask(method, path.replace("DEB-none", debate_id), {"topic": key[:3]})
            texts.append(f"{answer.body}{dict(answer.headers)}")
        await live.get("/api/debates", headers={"Authorization": "Bearer wrong"})
    for text in (*texts, caplog.text):
        assert key not in text
        assert TOKEN not in text


def test_what_steers_a_terminal_is_not_in_the_log() -> None:
    record = logging.LogRecord("moot", logging.ERROR, "", 1, "%s failed", ("DEB\x1b[2J\r\x07\x9b31m",), None)
    assert Plain(logging.Formatter("%(message)s")).format(record).isprintable()


def test_a_connection_is_kept_for_longer_than_clients_would_use_it_again() -> None:
    expiry = httpx.Limits().keepalive_expiry
    assert expiry is not None
    assert Uvicorn(FastAPI(), lambda: None).config.timeout_keep_alive > 2 * expiry
