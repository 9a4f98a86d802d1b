# SPDX-License-Identifier: Apache-2.0
"""A server of MCP by the Python SDK: `server.py stdio`, or `server.py PORT` over HTTP on the loopback (../mcp.py)."""

import sys

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("python")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
async def steps(n: int, ctx: Context) -> str:
    """Says how far it is."""
    for i in range(n):
        await ctx.report_progress(i, n)
    return "é\U0001f642" * n


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("it failed")


if sys.argv[1] == "stdio":
    server.run()
else:
    server.run("streamable-http", port=int(sys.argv[1]))
