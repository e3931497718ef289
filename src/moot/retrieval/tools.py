"""Tools of MCP servers with which things are looked up: what there are, and what they answer.

Whatever a server says is data: printable, cut to a length, and nothing but the answer to what it was asked. A tool that
its settings do not name does not exist. What goes wrong with a server is told in a `ToolFailed`, whatever it is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from moot.core.debate import JsonObject
from moot.errors import InvalidInput, ToolFailed
from moot.settings import ResearchServer
from moot.text.plain import clean, one_line, printable, shortened

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult

log = logging.getLogger(__name__)
T = TypeVar("T")

SECONDS = 30.0
"""That a call has; to list the tools a server may have to be fetched first."""
LIST_SECONDS = 90.0
AT_ONCE = 4
"""Connections to one server."""
MAX_RESULT = 4000
"""Characters of what a tool answers."""
MAX_DESCRIPTION, MAX_HINT, MAX_PARAMETERS = 400, 160, 12
MAX_PAGES = 20


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: str
    required: bool
    description: str = ""

    def value(self, text: str) -> Any:
        """What somebody wrote for it, as the type it has."""
        if self.type == "string":
            return text
        try:
            read = orjson.loads(text)
        except orjson.JSONDecodeError:
            return [text] if self.type == "array" else text
        return [read] if self.type == "array" and not isinstance(read, list) else read


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()

    def arguments(self, given: Mapping[str, str]) -> JsonObject:
        return {each.name: each.value(given[each.name]) for each in self.parameters if each.name in given}


class ToolServer:
    """A server of the user's, connected anew for each call."""

    def __init__(self, server: ResearchServer, environ: Mapping[str, str]) -> None:
        self._server = server
        self._environ = environ
        self._places = asyncio.Semaphore(AT_ONCE)

    async def tools(self) -> tuple[Tool, ...]:
        """Those of its tools that may be used. Raises ToolFailed."""
        listed = await self._connected(_all_tools, LIST_SECONDS)
        known = {tool.name: tool for tool in map(_tool, listed)}
        return tuple(known[name] for name in self._server.tools if name in known)

    async def call(self, tool: str, arguments: JsonObject) -> str:
        """What a tool answers. Raises ToolFailed."""
        if tool not in self._server.tools:
            raise ToolFailed(f"there is no tool {tool!r}")

        async def called(client: Client) -> str:
            result = await client.call_tool(tool, arguments)
            text = _text(result)
            if result.is_error:
                raise ToolFailed(shortened(one_line(text), MAX_DESCRIPTION) or "it failed without a word")
            return text

        return await self._connected(called, SECONDS)

    async def _connected(self, use: Callable[[Client], Coroutine[None, None, T]], seconds: float) -> T:
        try:
            from moot.retrieval.connection import connected
        except ImportError:
            raise InvalidInput("research needs the MCP package: install moot[mcp]") from None
        async with self._places:
            try:
                async with asyncio.timeout(seconds), connected(self._server, self._environ) as client:
                    return await use(client)
            except TimeoutError:
                raise ToolFailed(f"no answer in {seconds:.0f} s") from None
            except Exception as error:  # a stranger's server can fail in any way, and no debate may fail with it
                fault = _innermost(error)
                log.info("a server of research failed", exc_info=error)
                raise fault if isinstance(fault, ToolFailed) else ToolFailed(_told(fault)) from None


async def _all_tools(client: Client) -> Sequence[Any]:
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def _tool(listed: Any) -> Tool:
    properties: Any = listed.input_schema.get("properties")
    required: Any = listed.input_schema.get("required")
    known = properties if isinstance(properties, dict) else {}
    needed = required if isinstance(required, list) else []
    parameters = [_parameter(name, about, name in needed) for name, about in known.items()]
    parameters.sort(key=lambda each: not each.required)
    description = shortened(one_line(listed.description or listed.title or ""), MAX_DESCRIPTION)
    return Tool(listed.name, description, tuple(parameters[:MAX_PARAMETERS]))


def _parameter(name: str, about: Any, required: bool) -> Parameter:
    told = about if isinstance(about, dict) else {}
    kind = told.get("type")
    hint = shortened(one_line(str(told.get("description") or "")), MAX_HINT)
    return Parameter(str(name), kind if isinstance(kind, str) else "any", required, hint)


def _text(result: CallToolResult) -> str:
    """All text of an answer; its data where it has no text."""
    texts = [
        str(getattr(part, "text", "") or getattr(getattr(part, "resource", None), "text", ""))
        for part in result.content
    ]
    text = "\n\n".join(filter(None, texts))
    if not text and result.structured_content is not None:
        text = orjson.dumps(result.structured_content, option=orjson.OPT_INDENT_2).decode()
    return shortened(printable(str(clean(text[: 2 * MAX_RESULT]))).strip(), MAX_RESULT)


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def _told(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no program {error.filename!r}"
    return shortened(one_line(str(error)), MAX_DESCRIPTION) or type(error).__name__
