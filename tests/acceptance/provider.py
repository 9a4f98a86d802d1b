# SPDX-License-Identifier: Apache-2.0
"""A server that plays a provider of logins (OAuth 2 with PKCE), for tests of real coding agents.

It has the addresses that `codex login` asks for, and those that clients of MCP find out by themselves (RFC 9728, 8414 and
7591), and an MCP server behind such a login. Who opens its page has consented: it leads back at once, to the address of the
agent, with a code. The code is worth a token only with the verifier of the challenge that came with it.
"""

import base64
import hashlib
import http.server
import json
import secrets
import threading
import urllib.parse

import model


def token(claims):
    """As its users read it; nobody verifies the signature."""
    part = lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
    return f"{part({'alg': 'RS256', 'typ': 'JWT'})}.{part(claims)}.c2lnbmF0dXJl"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, status, value=None, **headers):
        data = json.dumps(value).encode() if value is not None else b""
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), text)
        self.end_headers()
        self.wfile.write(data)

    def authorize(self, query):
        code = secrets.token_hex(8)
        self.server.codes[code] = query["code_challenge"]
        back = urllib.parse.urlencode({"code": code, "state": query["state"]})
        self.answer(302, Location=f"{query['redirect_uri']}?{back}")

    def give_token(self, form):
        challenge = self.server.codes.pop(form.get("code"), None)
        verifier = form.get("code_verifier", "").encode()
        if challenge != base64.urlsafe_b64encode(hashlib.sha256(verifier).digest()).rstrip(b"=").decode():
            self.answer(400, {"error": "invalid_grant"})
            return
        claims = {"sub": "user", "email": "user@example.org", "exp": 4102444800, "https://api.openai.com/auth": {
            "chatgpt_account_id": "account-of-the-test", "chatgpt_user_id": "user", "chatgpt_plan_type": "plus"}}
        self.server.n_logins += 1
        self.answer(200, {"access_token": token(claims), "id_token": token(claims), "refresh_token": "refresh",
                          "token_type": "Bearer", "expires_in": 86400})

    def do_GET(self):  # pylint: disable=invalid-name
        url = urllib.parse.urlsplit(self.path)
        if url.path.startswith("/.well-known/oauth-protected-resource"):
            self.answer(200, {"resource": self.url + "/mcp", "authorization_servers": [self.url]})
        elif url.path.startswith(("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")):
            self.answer(200, {"issuer": self.url, "authorization_endpoint": self.url + "/oauth/authorize",
                              "token_endpoint": self.url + "/oauth/token", "registration_endpoint": self.url + "/register",
                              "response_types_supported": ["code"], "grant_types_supported": ["authorization_code", "refresh_token"],
                              "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"]})
        elif url.path == "/oauth/authorize":
            self.authorize(dict(urllib.parse.parse_qsl(url.query)))
        else:
            self.answer(405 if url.path == "/mcp" else 404, {})

    def do_POST(self):  # pylint: disable=invalid-name
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        if self.path == "/oauth/token":
            self.give_token(dict(urllib.parse.parse_qsl(data)))
        elif self.path == "/register":
            self.answer(201, {**json.loads(data), "client_id": "client-of-the-test"})
        elif self.path == "/mcp":
            self.mcp(json.loads(data))
        else:
            self.answer(404, {})

    def mcp(self, request):
        if not self.headers.get("Authorization"):
            self.answer(401, {}, WWW_Authenticate=f'Bearer resource_metadata="{self.url}/.well-known/oauth-protected-resource"')
            return
        known = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "test", "version": "1"}},
                 "tools/list": {"tools": []}, "ping": {}}
        if "id" not in request:
            self.answer(202)
        elif request["method"] in known:
            self.answer(200, {"jsonrpc": "2.0", "id": request["id"], "result": known[request["method"]]})
        else:
            self.answer(200, {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no such method"}})

    def do_DELETE(self):  # pylint: disable=invalid-name
        self.answer(200, {})


def serve():
    """On a free port of the loopback. n_logins: tokens that were given."""
    server = model.Server(("127.0.0.1", 0), Handler)
    server.codes, server.n_logins = {}, 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
