# SPDX-License-Identifier: Apache-2.0
"""A client of MCP by the Python SDK: `client.py ERA`, a job on standard input, what came of it on standard output (../mcp.py)."""

import asyncio
import json
import sys

import mcp
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


def shown(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def run(job, era):
    if "url" in job:
        server = streamable_http_client(job["url"], http_client=create_mcp_http_client(headers={"Authorization": f"Bearer {job['token']}"}))
    else:
        server = mcp.StdioServerParameters(command=job["command"][0], args=job["command"][1:], cwd=job["cwd"], env=job["env"])
    asked = []

    async def answer(_, params):
        asked.append(params.message)
        return mcp.types.ElicitResult(action="accept", content={"allow": job["answer"]})

    forms = {} if job.get("answer") is None else {"elicitation_callback": answer}
    async with mcp.Client(server, mode=era, read_timeout_seconds=60, **forms) as client:
        result = {"server": client.server_info.name if client.server_info else None, "era": client.protocol_version, "calls": [], "asked": asked,
                  "tools": [shown(tool) for tool in (await client.list_tools()).tools]}
        for name, arguments in job["calls"]:
            try:
                answer = shown(await client.call_tool(name, arguments))
                result["calls"].append({"isError": answer.get("isError", False), "content": answer["content"], "structured": answer.get("structuredContent")})
            except mcp.MCPError as error:
                result["calls"].append({"error": error.error.code, "message": error.error.message})
        if job.get("resources"):
            result["resources"] = [shown(resource) for resource in (await client.list_resources()).resources]
    return result


print(json.dumps(asyncio.run(run(json.load(sys.stdin), sys.argv[1]))))
