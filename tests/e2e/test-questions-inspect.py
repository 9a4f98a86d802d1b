#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Questions about single requests inside TLS, on hosts of network.inspect: what is shown is what goes out, once is for one request, and a grant or
its end holds for the next request of a connection that is open. As root, once more as an ordinary user. Prints TAP."""

import importlib.util
import os
import pathlib
import ssl
import sys

from broker_tap import beside_user, end, ok

HERE = os.path.dirname(os.path.abspath(__file__))
NETWORK, SECRETS = (os.environ.get(name) or os.path.join(HERE, file) for name, file in (("NETWORK", "test-questions-network.py"), ("RUN_SECRET", "test-run-secret.py")))


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


network, run_secret = load("network", NETWORK), load("run_secret", SECRETS)
questions = network.questions
until, policy, asks, settle, Run = questions.until, questions.policy, questions.asks, questions.settle, questions.Run


class Encrypted(network.Requests):
    def __init__(self, certificate):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        super().__init__(context)
        self.url = "https://" + self.host


def begin(place):
    folder = pathlib.Path(place.path)
    run_secret.certificates(folder)
    vault = folder / "state/corral/vault"
    vault.mkdir(parents=True, mode=0o700)
    (vault / "authorities.pem").write_text((folder / "ca.pem").read_text())
    return Encrypted(folder / "good.pem")


def asking(place, server, *rules, allow=None):
    return policy(place, {"id": "some", "action": "ask", "operations": ["net.connect"], "patterns": [f"{server.url}/admin/**"]}, *rules,
                  network={"allow": allow or [server.host], "inspect": [server.host]})


def held(place):
    server = begin(place)
    url = server.url
    run = Run(place, asking(place, server))
    run.joined()
    ok(run.do(f"curl {url}/public") == "ok" and not place.questions(), "a path that no rule asks about does not wait", run.lines)
    q, waits = asks(run, f"curl {url}/admin/a?x=1")
    ok(q["target"] == f"GET {url}/admin/a?x=1" and q["scopes"][0] == f"GET http://{server.host}/admin/a" and "some" in q["reason"] and len(server.seen) == 1,
       "one that a rule asks about waits, and is shown as what it is", q, server.seen)
    ok(settle(run, q, waits, answer="once") == (200, "ok") and server.seen[-1] == "GET /admin/a?x=1", "once: it goes out", run.lines[waits:], server.seen)
    q, waits = asks(run, f"curl {url}/admin/a?x=1")
    before = len(server.seen)
    status, said = settle(run, q, waits, answer="deny")
    ok(status == 200 and "corral: denied: GET " in str(said) and "did not agree" in str(said) and len(server.seen) == before, "deny: it is answered so, and nothing arrives", said, server.seen)
    q, waits = asks(run, f"curl -d data {url}/admin/b")
    ok(q["target"] == f"POST {url}/admin/b" and settle(run, q, waits, answer="allow") == (200, "ok") and server.seen[-1] == "POST /admin/b data", "allow, with a body", q, server.seen)
    ok(run.do(f"curl -d more {url}/admin/b") == "ok" and not place.questions(), "what was allowed is not asked again", run.lines)
    q, waits = asks(run, f"curl {url}/admin/gone")
    run.process.kill()
    ok(q["id"] != "none" and until(lambda: not place.questions()) and "GET /admin/gone" not in server.seen, "a run that ends takes its question along", q, server.seen)
    run.end()
    run = Run(place, asking(place, server, allow=[f"{url}/v1/**", f"{url}/admin/**"]))
    ok("denied" in str(run.do(f"curl {url}/v2/x")) and "GET /v2/x" not in server.seen, "a path that nothing grants is denied without a question", run.lines, server.seen)
    run.end()


def main():
    with beside_user(__file__, questions.PROGRAMS + ("CORRAL_VAULT", "CORRAL_INJECT"), QUESTIONS=network.QUESTIONS, NETWORK=NETWORK, RUN_SECRET=SECRETS, AWS_PY=run_secret.aws.__file__):
        place = questions.Place()
        try:
            place.start()
            held(place)
        finally:
            place.end()
    return end()


if __name__ == "__main__":
    sys.exit(main())
