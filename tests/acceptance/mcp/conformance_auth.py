#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""conformance_auth.py CORRAL URL: as the conformance suite starts a client whose server wants a token (../conformance-client.py). All of OAuth is done
by `corral link auth`, and the calls go by `corral mcp remote --secret`. This is the person: it opens the page that is printed, has the clients that
a person has, and runs the command that a refusal names. The suite has no TLS, without which no secret is sent, so an end of TLS stands before it."""

import json
import os
import pathlib
import re
import select
import shlex
import shutil
import socket
import ssl
import sys
import tempfile
import threading
import urllib.parse

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "e2e")]
import conformance_client  # noqa: E402
import link_authority  # noqa: E402

link = link_authority.load("test-link")
LOGINS_MAX = 8  # of a person who has patience; the product should be the one that ends it
# The document that the suite has for its clients.
DOCUMENT = "https://conformance-test.local/client-metadata.json"


class Front:
    """An end of TLS: bytes go on as they are."""

    def __init__(self, certificate, url):
        self.to = urllib.parse.urlsplit(url)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.listener = context.wrap_socket(socket.create_server(("127.0.0.1", 0)), server_side=True, do_handshake_on_connect=False)
        self.place = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.url = f"https://{self.place}{self.to.path}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            threading.Thread(target=self.join, args=(self.listener.accept()[0],), daemon=True).start()

    def join(self, client):
        with client, socket.create_connection((self.to.hostname, self.to.port)) as server:
            try:
                while self.copy(client, server):
                    pass
            except OSError:
                pass  # who hangs up does so as it likes

    @staticmethod
    def copy(client, server):
        ready = [client] if client.pending() else select.select([client, server], [], [])[0]
        for source, sink in ((client, server), (server, client)):
            data = source.recv(65536) if source in ready else b" "
            if not data:
                return False
            if source in ready:
                sink.sendall(data)
        return True


class Person:
    def __init__(self, corral, url, scratch):
        self.corral, self.url, self.place = corral, url, link.Place(scratch)
        self.front = Front(str(self.place.path / "good.pem"), url)

    def login(self, *words, value=""):
        a = link.Auth(self.place, *words, value=value)
        if a.page:
            link.get(link.get(a.page)[1])
        done = a.end()
        if done.returncode:
            sys.exit(f"{done.stderr}\n({done.returncode})")
        self.place.vault("grant", "LINK_CONFORMANCE", self.front.place)

    def use(self):
        """The tools are listed and called; the words of what was refused, or None."""
        client = conformance_client.Client(self.corral, self.front.url, os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"], "--secret", "LINK_CONFORMANCE",
                                           env=self.place.env, cwd=self.place.path / "work")
        tools = client.ask("tools/list").get("tools", [])
        for tool in tools if client.error is None else []:
            client.call(tool["name"], conformance_client.sample(tool["inputSchema"]))
        client.peer.end()
        print(client.error, client.peer.stderr(), file=sys.stderr)
        return client.error and client.error["message"]

    def known(self, scenario):
        """The clients that this person has."""
        own = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
        if "client_id" in own:
            return ["--client-id", own["client_id"], "--client-secret"], own["client_secret"]
        return ["--client-document", DOCUMENT] if scenario == "auth/basic-cimd" else [], ""

    def work(self, scenario):
        words, value = self.known(scenario)
        self.login(*words, "conformance", self.url, value=value)
        for _ in range(LOGINS_MAX):
            refused = self.use()
            if refused is None:
                return
            said = re.search("`corral link auth ([^`]+)`", refused)
            if not said:
                sys.exit(refused)
            self.login(*shlex.split(said[1]))
        sys.exit("there is no end of logins")


def main():
    corral, url = sys.argv[1:]
    scratch = tempfile.mkdtemp(prefix="ca-")
    person = None
    try:
        person = Person(corral, url, scratch)
        person.work(os.environ["MCP_CONFORMANCE_SCENARIO"])
    finally:
        if person:
            person.place.vault("lock")
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
