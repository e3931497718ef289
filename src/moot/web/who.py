"""Who asks: the name that a trusted proxy gives. From anybody else such a name counts for nothing."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING

from starlette.requests import HTTPConnection

if TYPE_CHECKING:
    from moot.settings import AppSettings


def who_asks(request: HTTPConnection, settings: AppSettings) -> str:
    """Empty where no proxy is configured, another address asks, or the header is there more than once."""
    if not settings.user_header or not _is_proxy(request, settings):
        return ""
    wanted = settings.user_header.lower().encode()
    given = [value for name, value in request.headers.raw if name.lower() == wanted]
    if len(given) != 1:
        return ""
    try:
        return given[0].decode().strip()
    except UnicodeDecodeError:
        return given[0].decode("latin-1").strip()


def _is_proxy(request: HTTPConnection, settings: AppSettings) -> bool:
    try:
        address = ip_address(request.client.host if request.client else "")
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return any(address in network for network in settings.trusted_proxies)
