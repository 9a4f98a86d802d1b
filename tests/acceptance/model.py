#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server that plays the API of a model, for tests of real coding agents.

    model.py [--log FILE]     listens on a free port of the loopback, prints it, and serves

It speaks four dialects: Anthropic's Messages, OpenAI's Responses and Chat Completions, Gemini's
generateContent; each as a stream and, but for Responses, as one answer. The model has one plan: write a
file, run a command, say "all done". How far it is, it reads from the conversation: the number of
results of tools in it. Which tools there are it reads from the request, and takes the first of each
kind that it knows. A request without such tools (a title, a count of tokens) gets a word.

The last message of the user may carry `run: COMMAND` in a line of its own: the command that is run.
"""

import argparse
import http.server
import json
import re
import sys
import threading

FILE = "made.txt"
TEXT = "written by the agent"
COMMAND = "cat made.txt > ran.txt; echo ran >> ran.txt"
WORD = "all done"

# Tools that write a file, and that run a command, of the agents: the name and how its arguments are made.
WRITERS = {
    "Write": lambda path, cwd: {"file_path": f"{cwd}/{path}", "content": TEXT + "\n"},
    "write_file": lambda path, cwd: {"file_path": f"{cwd}/{path}", "content": TEXT + "\n"},
    "write": lambda path, cwd: {"filePath": f"{cwd}/{path}", "path": f"{cwd}/{path}", "content": TEXT + "\n"},
    "apply_patch": lambda path, cwd: {"input": f"*** Begin Patch\n*** Add File: {path}\n+{TEXT}\n*** End Patch\n"},
}
RUNNERS = {
    "Bash": lambda command: {"command": command, "description": "the command"},
    "bash": lambda command: {"command": command, "description": "the command"},
    "run_shell_command": lambda command: {"command": command, "description": "the command"},
    "exec_command": lambda command: {"cmd": command, "yield_time_ms": 30000},
    "shell_command": lambda command: {"command": command},
    "shell": lambda command: {"command": ["sh", "-c", command]},
    "exec": lambda command: {"command": command},
}


class Plan:
    """What the model does next: a call of a tool (name, arguments, is_free), or words."""

    def __init__(self, tools, n_results, prompt, cwd):
        run = re.search(r"^run: (.*)$", prompt, re.M)
        command = run.group(1) if run else COMMAND
        writer = next((name for name in WRITERS if name in tools), None)
        runner = next((name for name in RUNNERS if name in tools), None)
        self.name = self.arguments = None
        self.is_free = False
        if tools.get("exec") == "custom" and n_results < 2:
            # Codex: one tool, whose input is a program that calls the others.
            patch = json.dumps(WRITERS["apply_patch"](FILE, cwd)["input"])
            call = f"tools.exec_command({{cmd: {json.dumps(command)}, yield_time_ms: 30000}})" if n_results else f"tools.apply_patch({patch})"
            self.name, self.arguments, self.is_free = "exec", {"input": f"text(await {call});\n"}, True
            return
        if not runner or tools.get("exec") == "custom":
            return
        if n_results == 0 and writer:
            self.name, self.arguments = writer, WRITERS[writer](FILE, cwd)
        elif n_results == 0:
            # Some have a shell only.
            self.name, self.arguments = runner, RUNNERS[runner](f"echo '{TEXT}' > {FILE}")
        elif n_results == 1:
            self.name, self.arguments = runner, RUNNERS[runner](command)
        self.is_free = self.name is not None and tools.get(self.name) == "custom"


def sse(events, names=True):
    out = []
    for event in events:
        if names and isinstance(event, dict) and "type" in event:
            out.append(f"event: {event['type']}\n")
        out.append("data: " + (event if isinstance(event, str) else json.dumps(event)) + "\n\n")
    return "".join(out)


# Anthropic


def anthropic_text(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content if part.get("type") == "text")


def anthropic(body, cwd):
    tools = {tool.get("name"): "function" for tool in body.get("tools", [])}
    results = sum(part.get("type") == "tool_result" for message in body.get("messages", [])
                  if isinstance(message.get("content"), list) for part in message["content"])
    prompt = "\n".join(anthropic_text(m["content"]) for m in body.get("messages", []) if m["role"] == "user")
    plan = Plan(tools, results, prompt, cwd)
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message = {"id": f"msg_{results}", "type": "message", "role": "assistant", "model": body.get("model", "m"),
               "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    if plan.name:
        block = {"type": "tool_use", "id": f"toolu_{results}", "name": plan.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(plan.arguments)}
        stop = "tool_use"
        whole = {**block, "input": plan.arguments}
    else:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": WORD}
        stop = "end_turn"
        whole = {"type": "text", "text": WORD}
    if not body.get("stream"):
        return "application/json", json.dumps({**message, "content": [whole], "stop_reason": stop})
    return "text/event-stream", sse([
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"}])


# OpenAI


def responses(body, cwd):
    items = body.get("input", [])
    items = items if isinstance(items, list) else []
    tools = {tool.get("name"): tool.get("type") for tool in body.get("tools", [])}
    for item in items:
        for space in item.get("tools", []) if item.get("type") == "additional_tools" else []:
            tools.update({tool.get("name"): tool.get("type") for tool in space.get("tools", [])})
    results = sum(item.get("type") in ("function_call_output", "custom_tool_call_output") for item in items)
    prompt = "\n".join(part.get("text", "") for item in items if item.get("role") == "user"
                       for part in item.get("content", []) if isinstance(part, dict))
    plan = Plan(tools, results, prompt, cwd)
    if plan.name and plan.is_free:
        item = {"type": "custom_tool_call", "id": f"ctc_{results}", "call_id": f"call_{results}", "name": plan.name,
                "input": plan.arguments["input"], "status": "completed"}
    elif plan.name:
        item = {"type": "function_call", "id": f"fc_{results}", "call_id": f"call_{results}", "name": plan.name,
                "arguments": json.dumps(plan.arguments), "status": "completed"}
    else:
        item = {"type": "message", "id": f"msg_{results}", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": WORD, "annotations": []}]}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
             "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    response = {"id": f"resp_{results}", "object": "response", "created_at": 1, "status": "in_progress",
                "model": body.get("model", "m"), "output": []}
    return "text/event-stream", sse([
        {"type": "response.created", "sequence_number": 0, "response": response},
        {"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": item},
        {"type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": item},
        {"type": "response.completed", "sequence_number": 3,
         "response": {**response, "status": "completed", "output": [item], "usage": usage}}])


def chat(body, cwd):
    tools = {tool.get("function", {}).get("name"): "function" for tool in body.get("tools", [])}
    messages = body.get("messages", [])
    results = sum(message.get("role") == "tool" for message in messages)
    prompt = "\n".join(m["content"] if isinstance(m["content"], str) else anthropic_text(m["content"])
                       for m in messages if m.get("role") == "user")
    plan = Plan(tools, results, prompt, cwd)
    base = {"id": f"chat_{results}", "created": 1, "model": body.get("model", "m")}
    if plan.name:
        call = {"id": f"call_{results}", "type": "function",
                "function": {"name": plan.name, "arguments": json.dumps(plan.arguments)}}
        message, stop = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        delta = {"role": "assistant", "tool_calls": [{"index": 0, **call}]}
    else:
        message, stop = {"role": "assistant", "content": edit_by_text(prompt)}, "stop"
        delta = message
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    if not body.get("stream"):
        return "application/json", json.dumps({**base, "object": "chat.completion", "usage": usage, "choices": [
            {"index": 0, "message": message, "finish_reason": stop}]})
    base["object"] = "chat.completion.chunk"
    return "text/event-stream", sse([
        {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": stop}], "usage": usage}, "[DONE]"], names=False)


def edit_by_text(prompt):
    """aider has no tools: its model writes the new file into its answer, or blocks of edits."""
    return f"{WORD}\n\n{FILE}\n```\n{TEXT}\n```\n" if "*file listing*" in prompt else WORD


# Gemini


def gemini(body, cwd, is_stream):
    tools = {f.get("name"): "function" for tool in body.get("tools", []) for f in tool.get("functionDeclarations", [])}
    contents = body.get("contents", [])
    results = sum("functionResponse" in part for c in contents for part in c.get("parts", []))
    prompt = "\n".join(part.get("text", "") for c in contents if c.get("role") == "user" for part in c.get("parts", []))
    plan = Plan(tools, results, prompt, cwd)
    if plan.name:
        part = {"functionCall": {"id": f"call_{results}", "name": plan.name, "args": plan.arguments}}
    elif "responseJsonSchema" in body.get("generationConfig", {}) or "responseSchema" in body.get("generationConfig", {}):
        part = {"text": json.dumps({"reasoning": "simple", "model_choice": "flash", "complexity_reasoning": "x",
                                    "complexity_score": 1, "next_speaker": "user"})}
    else:
        part = {"text": WORD}
    answer = {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}],
              "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
              "modelVersion": "m", "responseId": f"r{results}"}
    if is_stream:
        return "text/event-stream", sse([answer], names=False)
    return "application/json", json.dumps(answer)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    lock = threading.Lock()

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass

    def answer(self, kind, text, status=200):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def note(self, body):
        if self.server.log:
            with self.lock, open(self.server.log, "a", encoding="utf-8") as log:
                row = {"method": self.command, "path": self.path, "host": self.headers.get("Host", "")}
                keys = ("x-api-key", "authorization", "x-goog-api-key")
                row["key"] = next((self.headers[k] for k in keys if self.headers.get(k)), "")
                if self.server.is_verbose:
                    row["body"] = body
                log.write(json.dumps(row) + "\n")

    def do_GET(self):  # pylint: disable=invalid-name
        self.note(None)
        if self.path.split("?")[0].endswith("/models"):
            self.answer("application/json", json.dumps({"object": "list", "data": [], "models": []}))
        else:
            self.answer("application/json", "{}", 404)

    do_HEAD = do_GET

    def do_POST(self):  # pylint: disable=invalid-name
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?")[0]
        try:
            body = json.loads(data or b"{}")
        except ValueError:
            body = {}
        self.note(body)
        cwd = self.server.cwd
        if path.endswith("/messages"):
            self.answer(*anthropic(body, cwd))
        elif path.endswith("/count_tokens"):
            self.answer("application/json", json.dumps({"input_tokens": 10}))
        elif path.endswith("/responses"):
            self.answer(*responses(body, cwd))
        elif path.endswith("/chat/completions"):
            self.answer(*chat(body, cwd))
        elif path.endswith("generateContent") or path.endswith("streamGenerateContent"):
            self.answer(*gemini(body, cwd, "stream" in path))
        elif path.endswith(":countTokens"):
            self.answer("application/json", json.dumps({"totalTokens": 10}))
        else:
            self.answer("application/json", "{}", 404)


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        pass  # a client that does not wait for the answer


def serve(cwd, log=None, is_verbose=False):
    """A server on a free port of the loopback, in a thread of its own; cwd: where the agent works."""
    server = Server(("127.0.0.1", 0), Handler)
    server.cwd, server.log, server.is_verbose = cwd, log, is_verbose
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log")
    parser.add_argument("--cwd", default=".")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    server = serve(options.cwd, options.log, options.verbose)
    print(server.server_port, flush=True)
    threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
