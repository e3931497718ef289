"""The way to a server: the proxy, by the variables that other programs read too, and why one did not get there."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

import aiohttp

from moot.errors import InvalidInput


class Proxy(NamedTuple):
    url: str
    """Without the login."""
    user: str
    password: str
    variable: str
    """What names it."""

    @property
    def login(self) -> dict[str, str]:
        """The header it knows its user by."""
        given = b64encode(f"{self.user}:{self.password}".encode()).decode()
        return {"Proxy-Authorization": f"Basic {given}"} if self.user else {}

    def refusal(self, status: int) -> str:
        if status == 407 and self.user:
            return f"the proxy {self.url} refused the login in {self.variable}: check its user and password (@ is %40)"
        if status == 407:
            return f"the proxy {self.url} wants a login: write http://USER:PASSWORD@HOST:PORT into {self.variable}"
        return f"the proxy {self.url} of {self.variable} refused the connection ({status}); NO_PROXY names exceptions"


def proxy_for(url: str, environ: Mapping[str, str]) -> Proxy | None:
    """None where nothing names one, for servers of this machine, and for what NO_PROXY names."""
    address = urlsplit(url)
    for variable in (f"{address.scheme}_proxy", "all_proxy"):
        for name in (variable, variable.upper()):
            if (given := environ.get(name, "").strip()) and not _is_direct(address, environ):
                return _proxy(given, name)
    return None


def why_unreachable(problem: aiohttp.ClientError, url: str, proxy: Proxy | None) -> str | None:
    """What to tell a user who got no connection; None when something else went wrong."""
    match problem:
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            return f"{url} is not an address: it should look like http://host:port/v1"
        case aiohttp.ClientProxyConnectionError() if proxy:
            return f"cannot reach the proxy {proxy.url} that {proxy.variable} names"
        case aiohttp.ClientHttpProxyError() if proxy:
            return proxy.refusal(problem.status)
        case aiohttp.ClientConnectorDNSError() if proxy:  # the proxy looks up all others
            return f"cannot reach the proxy {proxy.url} that {proxy.variable} names: no such host"
        case aiohttp.ClientConnectorDNSError():
            return f"cannot reach {url}: no such host; check the address and the network"
        case aiohttp.ClientSSLError():
            return (
                f"cannot reach {url}: no secure connection; check https and its certificate "
                "(SSL_CERT_FILE names those of a company)"
            )
        case aiohttp.ClientConnectorError():
            return f"cannot reach {url}: is the server running?"
    return None


def _proxy(given: str, variable: str) -> Proxy:
    parts = urlsplit(given if "://" in given else f"http://{given}")
    try:
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        port = None
    if parts.scheme not in ("http", "https") or not parts.hostname or port is None:  # the value may hold a password
        raise InvalidInput(f"{variable} cannot be used: write http://HOST:PORT (SOCKS proxies are not supported)")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    login = (unquote(parts.username or ""), unquote(parts.password or ""))
    return Proxy(f"{parts.scheme}://{host}{port}", *login, variable)


def _is_direct(address: SplitResult, environ: Mapping[str, str]) -> bool:
    host = address.hostname or "localhost"
    exceptions = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    named = [name.strip().lower().lstrip("*.") for name in exceptions.split(",") if name.strip()]
    if exceptions.strip() == "*" or any(_is_below(place, name) for place in (host, address.netloc) for name in named):
        return True
    try:
        number = ip_address(host)
        return number.is_loopback or any(number in ip_network(name) for name in named if "/" in name)
    except ValueError:  # a name, or an exception that is no network
        return host == "localhost"


def _is_below(host: str, name: str) -> bool:
    return host == name or host.endswith(f".{name}")
