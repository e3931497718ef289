"""The MCP server with all it offers, whichever transport carries it."""

from __future__ import annotations

from importlib.metadata import version

from mcp.server.mcpserver import MCPServer
from mcp.server.request_state import RequestStateSecurity

from moot.app import App
from moot.integrations.mcp.debates import Debates
from moot.integrations.mcp.reading import add_prompts, add_resources
from moot.integrations.mcp.tools import add_tools
from moot.integrations.mcp.views import QUOTES

INSTRUCTIONS = (
    "moot has language models debate a question under fixed rules, and gives a decision with its reasons. Start a "
    "debate with start_debate; it runs by itself. Wait for it with wait_for_debate. Some debates ask a person in "
    f"between: show them the question, pass on their answer with answer_checkpoint. {QUOTES}"
)
SECONDS_TO_ANSWER = 24 * 60 * 60.0
"""So long a client may take to bring the answer to a question."""


def build_server(app: App) -> MCPServer[None]:
    server: MCPServer[None] = MCPServer(
        "moot",
        title="moot",
        description="Debates between language models.",
        instructions=INSTRUCTIONS,
        version=version("moot"),
        log_level="WARNING",
        request_state_security=RequestStateSecurity.ephemeral(ttl=SECONDS_TO_ANSWER),
    )
    add_tools(server, Debates(app))
    add_resources(server, app)
    add_prompts(server, app)
    return server
