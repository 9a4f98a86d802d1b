#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""conformance_client.py CORRAL URL: a small client of MCP on `corral mcp remote URL`, as the conformance suite starts it (../conformance-client.py). What
is of HTTP is done by the bridge; this has the rest of a client: the handshake or the version of each request, answers to questions, retries."""

import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
import mcp_peer  # noqa: E402

PREFIX = "io.modelcontextprotocol/"
INFO = {"name": "corral-conformance", "version": "1"}
CAPABILITIES = {"elicitation": {"form": {"applyDefaults": True}}}
MODERN = "2026-07-28"
SAMPLES = {"string": "text", "number": 2.5, "integer": 3, "boolean": True, "array": [], "object": {}, "null": None}


def defaults(schema):
    return {name: entry["default"] for name, entry in schema.get("properties", {}).items() if "default" in entry}


def sample(schema):
    return {name: SAMPLES[entry.get("type", "string")] for name, entry in schema.get("properties", {}).items() if name in schema.get("required", [])}


class Client:
    def __init__(self, corral, url, version, *words, **more):
        self.peer = mcp_peer.Client([corral, "mcp", "remote", *words, url], **more)
        self.error = None  # of the last answer
        self.version, self.is_modern = version, version == MODERN
        if not self.is_modern:
            self.ask("initialize", {"protocolVersion": version, "capabilities": CAPABILITIES, "clientInfo": INFO})
            self.peer.send({"method": "notifications/initialized"})

    def request(self, method, params):
        meta = {PREFIX + "protocolVersion": self.version, PREFIX + "clientInfo": INFO, PREFIX + "clientCapabilities": CAPABILITIES}
        return self.peer.request(method, {**params, "_meta": meta} if self.is_modern else params)

    def answer(self, number):
        """What the server asks meanwhile is answered."""
        while (message := self.peer.next()) is not None:
            if "method" not in message and message.get("id") == number:
                return message
            if "method" in message and "id" in message:
                self.peer.send({"id": message["id"], **self.reply(message)})
        sys.exit(f"the bridge has ended: {self.peer.errors}")

    def reply(self, message):
        if message["method"] == "elicitation/create":
            return {"result": {"action": "accept", "content": defaults(message["params"].get("requestedSchema", {}))}}
        return {"result": {}} if message["method"] == "ping" else {"error": {"code": -32601, "message": "not here"}}

    def ask(self, method, params=None, between=None):
        """With as many rounds as the server asks for. between: is done before the second."""
        sent, answer = params or {}, self.answer(self.request(method, params or {}))
        error = answer.get("error", {})
        if self.is_modern and error.get("code") == -32022 and MODERN in error.get("data", {}).get("supported", []):
            answer = self.answer(self.request(method, sent))
        while answer.get("result", {}).get("resultType") == "input_required":
            if between:
                between = between()
            result = answer["result"]
            responses = {key: self.reply(asked)["result"] for key, asked in result.get("inputRequests", {}).items()}
            state = {"requestState": result["requestState"]} if "requestState" in result else {}
            answer = self.answer(self.request(method, {**sent, "inputResponses": responses, **state}))
        self.error = answer.get("error")
        return answer.get("result", {})

    def call(self, name, arguments, between=None):
        return self.ask("tools/call", {"name": name, "arguments": arguments}, between)


def standard_headers(client, tools):
    for tool in tools:
        client.call(tool["name"], sample(tool["inputSchema"]))
    for resource in client.ask("resources/list").get("resources", []):
        client.ask("resources/read", {"uri": resource["uri"]})
    for prompt in client.ask("prompts/list").get("prompts", []):
        client.ask("prompts/get", {"name": prompt["name"], "arguments": {}})


def request_state(client, tools):
    names = [tool["name"] for tool in tools]
    for name in names:
        if name != "test_mrtr_unrelated":
            client.call(name, {}, between=lambda: client.call("test_mrtr_unrelated", {}) and None)


def preservation(client, tools):
    rich = next(tool for tool in tools if "$defs" in tool["inputSchema"])
    echo = next(tool for tool in tools if "schema" in tool["inputSchema"].get("properties", {}))
    client.call(echo["name"], {"schema": rich["inputSchema"]})


def custom_headers(client, _):
    for call in json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]:
        client.call(call["name"], call["arguments"])


def all_tools(client, tools):
    for tool in tools:
        client.call(tool["name"], sample(tool["inputSchema"]))


# What is done after the tools were listed.
SCENARIOS = {"http-standard-headers": standard_headers, "http-custom-headers": custom_headers, "sep-2322-client-request-state": request_state,
             "json-schema-2020-12-preservation": preservation, "json-schema-ref-no-deref": lambda client, tools: None}


def main():
    corral, url = sys.argv[1:]
    client = Client(corral, url, os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "2025-11-25"))
    tools = client.ask("tools/list").get("tools", [])
    SCENARIOS.get(os.environ.get("MCP_CONFORMANCE_SCENARIO"), all_tools)(client, tools)
    return client.peer.end()


if __name__ == "__main__":
    sys.exit(main())
