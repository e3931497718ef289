"""moot as an MCP server: debates for assistants and editors, over stdio or streamable HTTP.

What needs the extra `moot[mcp]` is imported when a server starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec

from moot.errors import InvalidInput
from moot.llm.client import Client
from moot.settings import AppSettings


async def serve_stdio(settings: AppSettings, clients: Mapping[str, Client] | None = None) -> None:
    """Serve the process that started this one, until it closes stdin; stdout carries the protocol alone.

    `clients` are model clients of the caller's own, by provider name.
    """
    _check_installed()
    from moot.integrations.mcp import stdio

    await stdio.serve(settings, clients)


async def serve_http(
    settings: AppSettings,
    host: str | None = None,
    port: int | None = None,
    ready: Callable[[str], None] = lambda address: None,
    clients: Mapping[str, Client] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT; the second one ends the process at once. `ready` is told the address."""
    _check_installed()
    from moot.integrations.mcp import http

    await http.serve(settings, host, port, ready, clients)


def _check_installed() -> None:
    if find_spec("mcp") is None:
        raise InvalidInput("the MCP server is not installed: pip install 'moot[mcp]'")
