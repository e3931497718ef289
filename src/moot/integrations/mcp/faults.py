"""An MCP server that takes no argument it does not know, and whose faults are told in moot's words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mcp import MCPError
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import (
    ResourceError,
    ResourceNotFoundError,
    ToolError,
    UnexpectedResourceError,
    UnexpectedToolError,
)
from mcp_types import INVALID_PARAMS, Tool
from pydantic import ValidationError

from moot.core.format import AnyFormat
from moot.errors import MootError, NotFound, faults, meant


class PlainServer(MCPServer[None]):
    def __init__(self, name: str, formats: Iterable[AnyFormat], **options: Any) -> None:
        super().__init__(name, **options)
        self._settings = {field for format in formats for field in format.settings.model_fields}

    async def list_tools(self) -> list[Tool]:
        """With schemas that say what `call_tool` holds: nothing but what is named there is taken."""
        tools = await super().list_tools()
        closed = {"additionalProperties": False}
        return [tool.model_copy(update={"input_schema": {**tool.input_schema, **closed}}) for tool in tools]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None) -> Any:
        takes = {tool.name: list(tool.input_schema.get("properties", ())) for tool in await self.list_tools()}
        if name not in takes:
            raise ToolError(f"no tool named {name!r}{meant(name, takes) or ';'} known: {', '.join(takes)}")
        if unknown := [each for each in arguments if each not in takes[name]]:
            raise ToolError(self._misplaced(name, unknown, takes[name]))
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError as error:
            if isinstance(error.__cause__, MootError):
                raise ToolError(str(error.__cause__)) from error.__cause__
            raise UnexpectedToolError(_inside(error)) from error.__cause__
        except ToolError as error:
            cause = error.__cause__ or error
            raise ToolError(faults(cause.errors()) if isinstance(cause, ValidationError) else str(cause)) from cause

    async def read_resource(self, uri: Any, context: Context[Any, Any] | None = None) -> Any:
        try:
            return await super().read_resource(uri, context)
        except UnexpectedResourceError as error:
            if isinstance(error.__cause__, MootError):
                refused = ResourceNotFoundError if isinstance(error.__cause__, NotFound) else ResourceError
                raise refused(str(error.__cause__)) from error.__cause__
            raise UnexpectedResourceError(_inside(error)) from error.__cause__
        except ResourceNotFoundError as error:
            if not str(error).startswith("Unknown resource"):
                raise
            known = [str(each.uri) for each in await self.list_resources()]
            known += [each.uri_template for each in await self.list_resource_templates()]
            raise ResourceNotFoundError(f"no resource {str(uri)!r}; known: {', '.join(known)}") from None

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> Any:
        takes = {prompt.name: [each.name for each in prompt.arguments or ()] for prompt in await self.list_prompts()}
        if name not in takes:
            near = meant(name, takes) or ";"
            raise MCPError(INVALID_PARAMS, f"no prompt named {name!r}{near} known: {', '.join(takes)}")
        if {*(arguments or {})} != {*takes[name]}:
            raise MCPError(INVALID_PARAMS, f"the prompt {name!r} takes exactly {', '.join(takes[name])}")
        return await super().get_prompt(name, arguments, context)

    def _misplaced(self, tool: str, unknown: list[str], takes: list[str]) -> str:
        named = ", ".join(map(repr, unknown))
        settings = [each for each in unknown if each in self._settings] if "settings" in takes else []
        if settings == unknown:
            return f"{tool} takes no {named}: give it in settings, as in {{'settings': {{{unknown[0]!r}: …}}}}"
        placed = f"; {', '.join(map(repr, settings))} belongs in settings" if settings else ""
        return f"{tool} takes no {named}; it takes {', '.join(takes) or 'nothing'}{placed}"


def _inside(error: Exception) -> str:
    return f"something went wrong inside ({type(error.__cause__).__name__}); moot.log tells more"
