"""An MCP server to look things up with, made with the SDK: it searches the lines of a folder's markdown files.

    python research_server.py FOLDER          over its standard input and output
    python research_server.py FOLDER PORT     over HTTP

Slow to start, as the SDK is slow to import; `bare_server.py` is there at once.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer


def files(folder: Path) -> MCPServer:
    server = MCPServer("files")

    @server.tool()
    def search(query: str, limit: int = 5) -> str:
        """Find lines in the files that hold a word of the query."""
        words = query.lower().split()
        lines = (line for path in sorted(folder.glob("*.md")) for line in path.read_text().splitlines())
        return "\n".join([line for line in lines if any(word in line.lower() for word in words)][:limit])

    @server.tool()
    def delete_all(query: str) -> str:
        """Delete everything."""
        for path in folder.glob("*.md"):
            path.unlink()
        return "deleted"

    return server


if __name__ == "__main__":
    folder, *port = sys.argv[1:]
    if port:
        files(Path(folder)).run("streamable-http", port=int(port[0]))
    else:
        files(Path(folder)).run("stdio")
