"""The way to a provider through a proxy, by the usual variables; with a login; with a company's certificates."""

from __future__ import annotations

import asyncio
import base64
import os
import ssl
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

import pytest
import trustme
from fileserver import file_server
from yarl import URL

from model_server import ModelServer
from moot.errors import InvalidInput, Unreachable
from moot.llm.client import Message, Request
from moot.llm.models import Models
from moot.llm.proxies import Proxy, proxy_for
from moot.llm.weights import pull
from moot.settings import ProviderSettings

ACME = "http://acme.example/v1"
REQUEST = Request(model="mock", messages=(Message("user", "Why?"),), max_tokens=50, temperature=0.5)
PROXY = {"HTTPS_PROXY": "http://proxy:3128", "HTTP_PROXY": "http://plain:3128"}


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        ("https://api.example/v1", PROXY, "http://proxy:3128"),
        ("http://api.example/v1", PROXY, "http://plain:3128"),
        ("http://api.example/v1", {"HTTPS_PROXY": "http://proxy:3128"}, None),
        ("https://api.example/v1", {"https_proxy": "proxy:3128"}, "http://proxy:3128"),
        ("https://api.example/v1", {"ALL_PROXY": "http://proxy"}, "http://proxy"),
        ("https://api.example/v1", {"HTTPS_PROXY": " "}, None),
        ("https://api.example/v1", {}, None),
        ("https://127.0.0.1:8000/v1", PROXY, None),
        ("https://[::1]:8000/v1", PROXY, None),
        ("https://localhost/v1", PROXY, None),
        *(
            ("https://api.example:8443/v1", {**PROXY, "NO_PROXY": exceptions}, None)
            for exceptions in ("*", "api.example", "other, .example", "*.example", "api.example:8443")
        ),
        ("https://api.example/v1", {**PROXY, "NO_PROXY": "pi.example, 10.0.0.0/8"}, "http://proxy:3128"),
        ("https://10.1.2.3/v1", {**PROXY, "NO_PROXY": "10.0.0.0/8"}, None),
    ],
)
def test_the_usual_variables_name_the_proxy(url: str, environ: dict[str, str], proxy: str | None) -> None:
    found = proxy_for(url, environ)
    assert (found and found.url) == proxy


def test_a_login_is_no_part_of_what_is_shown() -> None:
    found = proxy_for("https://api.example", {"HTTPS_PROXY": "http://ada:p%40ss@proxy:3128"})
    assert found == Proxy("http://proxy:3128", "ada", "p@ss", "HTTPS_PROXY")


@pytest.mark.parametrize("value", ["socks5://ada:secret@proxy", "http://ada:secret@proxy:port", "http://"])
def test_a_proxy_that_cannot_be_used_is_refused_without_its_password(value: str) -> None:
    with pytest.raises(InvalidInput, match="HTTPS_PROXY cannot be used") as raised:
        proxy_for("https://api.example", {"HTTPS_PROXY": value})
    assert "secret" not in str(raised.value)


class TheProxy:
    """Leads every host to one server; what it was asked for is in `asked`, with what login in `logins`."""

    def __init__(self, port: int, login: str = "") -> None:
        self._port = port
        self._login = login
        self.asked: list[str] = []
        self.url = ""

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.decode().split(" ", 2)
        self.asked.append(f"{method} {target}")
        if self._login and base64.b64encode(self._login.encode()) not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            writer.close()
            return
        there, onward = await asyncio.open_connection("127.0.0.1", self._port)
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            onward.write(head)
        await asyncio.gather(_pump(reader, onward), _pump(there, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


@asynccontextmanager
async def proxy_to(server: ModelServer, login: str = "") -> AsyncIterator[TheProxy]:
    async with proxy_to_port(int(server.host.rpartition(":")[2]), login) as proxy:
        yield proxy


@asynccontextmanager
async def proxy_to_port(port: int, login: str = "") -> AsyncIterator[TheProxy]:
    proxy = TheProxy(port, login)
    async with await asyncio.start_server(proxy.connected, "127.0.0.1", 0) as listening:
        proxy.url = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        yield proxy


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer().running() as server:
        yield server


async def say(environ: dict[str, str]) -> str:
    models = Models(environ, {"acme": ProviderSettings(base_url=ACME)})
    try:
        connection = await models.connect("acme:mock")
        return (await connection.client.complete(REQUEST, lambda text: None)).text
    finally:
        await models.close()


async def test_a_provider_is_reached_through_the_proxy_with_its_login(server: ModelServer) -> None:
    async with proxy_to(server, "ada:p@ss") as proxy:
        text = await say({"HTTP_PROXY": f"http://ada:p%40ss@{proxy.url}"})
    assert (bool(text), proxy.asked, len(server.requests)) == (True, [f"POST {ACME}/chat/completions"], 1)


async def test_a_proxy_that_wants_a_login_says_where_to_write_it(server: ModelServer) -> None:
    async with proxy_to(server, "ada:p@ss") as proxy:
        with pytest.raises(Unreachable) as raised:
            await say({"HTTP_PROXY": f"http://{proxy.url}"})
    said = f"the proxy http://{proxy.url} wants a login: write http://USER:PASSWORD@HOST:PORT into HTTP_PROXY"
    assert str(raised.value) == said


async def test_a_login_that_a_proxy_refuses_is_told_without_the_password(server: ModelServer) -> None:
    async with proxy_to(server, "ada:p@ss") as proxy:
        with pytest.raises(Unreachable) as raised:
            await say({"HTTP_PROXY": f"http://ada:wrong@{proxy.url}"})
    said = f"the proxy http://{proxy.url} refused the login in HTTP_PROXY: check its user and password (@ is %40)"
    assert str(raised.value) == said


async def test_a_proxy_that_is_not_there_is_named() -> None:
    with pytest.raises(Unreachable, match=r"^cannot reach the proxy http://127.0.0.1:9 that HTTP_PROXY names$"):
        await say({"HTTP_PROXY": "http://ada:secret@127.0.0.1:9"})


async def test_a_proxy_whose_host_is_unknown_is_named_and_not_the_provider() -> None:
    said = r"^cannot reach the proxy http://proxy.invalid:3128 that HTTP_PROXY names: no such host$"
    with pytest.raises(Unreachable, match=said):
        await say({"HTTP_PROXY": "http://ada:secret@proxy.invalid:3128"})


async def test_servers_of_this_machine_are_called_without_it(server: ModelServer) -> None:
    models = Models({"HTTP_PROXY": "http://127.0.0.1:9", "OLLAMA_HOST": "http://ollama.invalid"})
    try:
        connection = await models.connect(server.model)
        assert (await connection.client.complete(REQUEST, lambda text: None)).text
        with pytest.raises(Unreachable, match=r"ollama\.invalid"):  # and not: the proxy
            await models.list_models(models.providers["ollama"])
    finally:
        await models.close()


async def doctor(environ: dict[str, str]) -> str:
    command = [sys.executable, "-m", "moot", "doctor"]
    process = await asyncio.create_subprocess_exec(*command, env=environ, stdout=asyncio.subprocess.PIPE)
    return (await process.communicate())[0].decode()


async def test_a_company_s_certificates_and_its_proxy_lead_to_a_provider(server: ModelServer, tmp_path: Path) -> None:
    """In a process of its own: OpenSSL reads SSL_CERT_FILE once."""
    company = trustme.CA()
    company.cert_pem.write_to_path(str(tmp_path / "company.pem"))
    secure = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    company.issue_cert("api.deepseek.com").configure_cert(secure)
    server._http.socket = secure.wrap_socket(server._http.socket, server_side=True)
    environ = {**os.environ, "DEEPSEEK_API_KEY": "sk-1", "MOOT_MODEL": "deepseek:mock", "MOOT_PORT": "0"}
    async with proxy_to(server) as proxy:
        environ["HTTPS_PROXY"] = f"http://{proxy.url}"
        other = await doctor(environ)
        ran = await doctor({**environ, "SSL_CERT_FILE": str(tmp_path / "company.pem")})
    assert "✓ model deepseek:mock" in ran
    assert "CONNECT api.deepseek.com:443" in proxy.asked
    assert "no secure connection; check https and its certificate (SSL_CERT_FILE names" in other


async def test_a_model_s_file_is_fetched_through_the_proxy_also_where_a_hub_sends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = b"GGUF" + bytes(1000)
    async with (
        file_server(content) as server,
        proxy_to_port(URL(server.url).port or 0, "ada:p@ss") as proxy,
    ):
        server.named_sha256 = sha256(content).hexdigest()
        monkeypatch.setenv("http_proxy", f"http://ada:p%40ss@{proxy.url}")
        name, fetched = await pull("acme/tiny/file.gguf", "mine", "http://hub.example", None, lambda *_: None)
    assert (name, fetched.checked) == ("mine", True)
    assert proxy.asked == ["GET http://hub.example/acme/tiny/resolve/main/file.gguf"]  # and the rest on that line


async def test_a_file_of_this_machine_is_fetched_without_the_proxy_and_a_login_that_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with file_server(b"GGUF") as server, proxy_to_port(1, "ada:p@ss") as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.url}")
        await pull(server.url, "mine", "http://hub.example", None, lambda *_: None)
        assert proxy.asked == []
        with pytest.raises(Unreachable, match="wants a login: write http://USER:PASSWORD@HOST:PORT into HTTP_PROXY"):
            await pull("http://hub.example/file.gguf", "other", "http://hub.example", None, lambda *_: None)


async def test_a_proxy_that_is_not_there_is_named_where_a_file_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://ada:secret@127.0.0.1:9")
    with pytest.raises(Unreachable, match=r"^cannot reach the proxy http://127.0.0.1:9 that HTTP_PROXY names$"):
        await pull("http://hub.example/file.gguf", "other", "http://hub.example", None, lambda *_: None)


async def test_a_proxy_whose_host_is_unknown_is_named_where_a_file_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:3128")
    with pytest.raises(Unreachable, match=r"^cannot reach the proxy http://proxy.invalid:3128 that HTTP_PROXY names:"):
        await pull("http://hub.example/file.gguf", "other", "http://hub.example", None, lambda *_: None)
