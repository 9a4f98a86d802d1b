# SPDX-License-Identifier: Apache-2.0
"""For test-link.py: a server of tools and its authorization server, over TLS on loopback, which do as they are told: right, slowly, wrong."""

import base64
import hashlib
import http.server
import json
import threading
import urllib.parse

import importlib.util
import os

HERE = os.path.dirname(os.path.abspath(__file__))


def load(name):
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), os.path.join(HERE, f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


secret = load("test-run-secret")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def raw(self, body, kind="application/json", status=200, **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send(self, value, status=200, **headers):
        self.raw(json.dumps(value).encode(), "application/json", status, **headers)

    def do_GET(self):
        self.server.seen.append((self.command, self.path, self.headers.get("Authorization", ""), ""))
        self.server.get(self)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.server.seen.append((self.command, self.path, self.headers.get("Authorization", ""), body))
        self.server.post(self, body)


class Server(secret.Server):
    """Attributes of `lies` replace what it would say."""

    def __init__(self, certificate):
        self.lies = {}
        super().__init__(certificate)
        self.RequestHandlerClass = Handler
        self.origin = f"https://{self.place}"

    def paths(self, method="POST"):
        return [path for m, path, _, _ in self.seen if m == method]


class Tools(Server):
    """A protected resource: says where its tokens come from, and takes them."""

    def __init__(self, certificate, authority):
        self.authority = authority
        super().__init__(certificate)
        self.url = f"{self.origin}/mcp"

    def describe(self):
        said = {"resource": self.url, "authorization_servers": [self.authority.issuer], "scopes_supported": ["tools"]}
        return {**said, **self.lies.get("resource", {})}

    def get(self, h):
        path = h.path.partition("?")[0]
        token = h.headers.get("Authorization", "")
        if path == "/.well-known/oauth-protected-resource/mcp" and "no metadata" not in self.lies:
            h.send(self.describe())
        elif path == "/mcp" and h.command == "GET" and "calls" in self.lies:
            h.send({"error": "there is nothing to read"}, 405)
        elif path == "/mcp" and token[len("Bearer "):] in self.authority.issued:
            h.send({"tools": "here they are", "sent": token})
        elif path == "/mcp":
            h.send({}, 401, **({"WWW_Authenticate": self.lies["challenge"]} if "challenge" in self.lies else
                               {"WWW_Authenticate": f'Bearer resource_metadata="{self.origin}/.well-known/oauth-protected-resource/mcp", scope="tools"'}))
        else:
            h.send({"error": "not found"}, 404)

    def post(self, h, body):
        token = h.headers.get("Authorization", "")
        if token[len("Bearer "):] not in self.authority.issued:
            self.get(h)
            return
        call = json.loads(body)
        if call["method"] == "tools/call" and "lacks" in self.lies:
            h.send({"error": "insufficient_scope"}, 403, WWW_Authenticate=f'Bearer error="insufficient_scope", scope="{self.lies["lacks"]}"')
            return
        answers = {"initialize": lambda p: {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "tools", "version": "1"}},
                   "tools/list": lambda p: {"tools": TOOLS},
                   "tools/call": lambda p: self.call(p, token)}
        if "id" not in call:
            h.raw(b"", status=202)
        elif call["method"] in answers:
            h.send({"jsonrpc": "2.0", "id": call["id"], "result": answers[call["method"]](call.get("params", {}))})
        else:
            h.send({"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32601, "message": "there is no such method"}})

    def call(self, params, token):
        arguments = params.get("arguments", {})
        if params["name"] == "fail":
            return {"content": [{"type": "text", "text": "it did not work"}], "isError": True}
        return {"content": [{"type": "text", "text": json.dumps({"arguments": arguments, "token": token})}]}


TOOLS = [{"name": "echo", "description": "Says what it was given\nand more", "inputSchema": {"type": "object", "properties": {
             "text": {"type": "string"}, "times": {"type": "integer"}, "words": {"type": "array"}}}},
         {"name": "fail", "description": "Fails", "inputSchema": {"type": "object"}}]


class Authority(Server):
    def __init__(self, certificate):
        self.n = 0
        self.access = self.refresh = ""
        self.codes, self.issued, self.revoked, self.clients = {}, [], [], {}
        self.lifetime, self.approved, self.user_code = 3600, False, "ABCD-1234"
        self.lock, self.gate, self.entered = threading.Lock(), None, threading.Event()
        super().__init__(certificate)
        self.issuer = f"{self.origin}/tenant"

    def describe(self):
        said = {"issuer": self.issuer, "authorization_endpoint": f"{self.origin}/authorize", "token_endpoint": f"{self.origin}/token",
                "device_authorization_endpoint": f"{self.origin}/device", "registration_endpoint": f"{self.origin}/register",
                "revocation_endpoint": f"{self.origin}/revoke", "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"], "authorization_response_iss_parameter_supported": True,
                "client_id_metadata_document_supported": True}
        said.update(self.lies.get("server", {}))
        return {key: value for key, value in said.items() if value is not None}

    def get(self, h):
        url = urllib.parse.urlsplit(h.path)
        if url.path == "/.well-known/oauth-authorization-server/tenant":
            lie = self.lies.get("metadata")
            if lie == "huge":
                h.raw(b'{"issuer": "' + b"x" * (1 << 20) + b'"}')
            elif lie == "slow":
                self.entered.set()
                self.gate.wait(60)
                h.close_connection = True
            elif lie == "redirect":
                h.raw(b"", "text/plain", 302, Location=self.lies["to"])
            else:
                h.send(self.describe())
        elif url.path == "/authorize":
            self.authorize(h, dict(urllib.parse.parse_qsl(url.query)))
        else:
            h.send({"error": "not found"}, 404)

    def authorize(self, h, query):
        """The user is logged in, and agrees."""
        with self.lock:
            code = f"code-{len(self.codes)}-0123456789abcdef"
            self.codes[code] = query
        back = {"code": code, "state": query["state"], "iss": self.issuer, **self.lies.get("callback", {})}
        h.raw(b"", "text/plain", 302, Location=query["redirect_uri"] + "?" + urllib.parse.urlencode({k: v for k, v in back.items() if v is not None}))

    def post(self, h, body):
        form = dict(urllib.parse.parse_qsl(body))
        path = urllib.parse.urlsplit(h.path).path
        if path == "/register":
            wanted = json.loads(body)
            client = {"client_id": f"client-{len(self.clients)}", "redirect_uris": wanted["redirect_uris"]}
            self.clients[client["client_id"]] = wanted
            h.send({**client, **self.lies.get("client", {})}, 201)
        elif path == "/device":
            h.send({"device_code": "device-code-0123456789", "user_code": self.user_code, "verification_uri": f"{self.origin}/activate", "interval": 1,
                    "expires_in": 120, **self.lies.get("device", {})})
        elif path == "/revoke":
            self.revoked.append(form.get("token"))
            h.send({})
        elif path == "/token":
            self.token(h, form)
        else:
            h.send({"error": "not found"}, 404)

    def token(self, h, form):
        if self.lies.get("token") == "huge":
            h.raw(b'{"access_token": "' + b"x" * (1 << 20) + b'"}')
            return
        if self.lies.get("token") == "redirect":
            h.raw(b"", "text/plain", 307, Location=self.lies["to"])
            return
        kind = form.get("grant_type", "")
        if kind == "authorization_code":
            asked = self.codes.pop(form.get("code"), None)
            challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest()).decode().rstrip("=")
            good = asked and asked["code_challenge"] == challenge and asked["redirect_uri"] == form.get("redirect_uri") and asked["resource"] == form.get("resource")
            good = good and (h.headers.get("Authorization") or asked["client_id"] == form.get("client_id"))
            h.send(*((self.issue(),) if good else ({"error": "invalid_grant"}, 400)))
        elif kind.endswith("device_code"):
            h.send(*((self.issue(),) if self.approved else ({"error": "authorization_pending"}, 400)))
        elif kind == "refresh_token":
            self.refreshed(h, form)
        else:
            h.send({"error": "unsupported_grant_type"}, 400)

    def refreshed(self, h, form):
        """Each refresh token is good for once."""
        self.entered.set()
        gate = self.gate
        if gate:
            gate.wait(60)
        if getattr(gate, "drops", False):
            h.close_connection = True
        elif self.lies.get("refresh"):
            h.send(*self.lies["refresh"])
        elif form.get("refresh_token") != self.refresh:
            h.send({"error": "invalid_grant", "error_description": "it was used before"}, 400)
        else:
            h.send(self.issue())

    def issue(self):
        with self.lock:
            self.n += 1
            self.access, self.refresh = f"access-{self.n}-0123456789abcdefghijklmnop", f"refresh-{self.n}-0123456789abcdefghijklmnop"
            self.issued += [self.access, self.refresh]
            said = {"access_token": self.access, "refresh_token": self.refresh, "token_type": "Bearer", "expires_in": self.lifetime, "scope": "tools"}
            said.update(self.lies.get("tokens", {}))
            return {key: value for key, value in said.items() if value is not None}
