"""The proxy on the way to a model server, as the variables name it that other programs read too."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

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
