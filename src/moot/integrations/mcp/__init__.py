"""moot as an MCP server: debates for assistants and editors, over stdio or streamable HTTP."""

from importlib.util import find_spec

from moot.errors import InvalidInput

if find_spec("mcp") is None:
    raise InvalidInput("the MCP server is not installed: pip install 'moot[mcp]'")
