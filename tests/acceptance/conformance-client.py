#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance suite of MCP (@modelcontextprotocol/conformance, by tools/fetch-mcp): each scenario that a revision of the specification requires
of clients, by its name. The client is mcp/conformance_client.py on `corral mcp remote`; with a login, mcp/conformance_auth.py on `corral link`.
Prints TAP."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from acceptance_tap import Tap  # noqa: E402

PATIENCE_S, CLIENT_S = 200, 150
# Logins that both revisions require.
AUTH = """metadata-default metadata-var1 metadata-var2 metadata-var3 basic-cimd scope-from-www-authenticate scope-from-scopes-supported
scope-omitted-when-undefined scope-step-up scope-retry-limit token-endpoint-auth-basic token-endpoint-auth-post token-endpoint-auth-none
pre-registration"""
AUTH_MODERN = """resource-mismatch offline-access-scope offline-access-not-supported authorization-server-migration iss-supported iss-not-advertised
iss-supported-missing iss-wrong-issuer iss-unexpected iss-normalized metadata-issuer-mismatch"""


def named(names, auth):
    return {*names.split(), *(f"auth/{name}" for name in auth.split())}


# What is required; the suite's own list is compared with these names.
REQUIRED = {
    "2026-07-28": named("""tools_call request-metadata sep-2322-client-request-state http-standard-headers http-custom-headers http-invalid-tool-headers
                              json-schema-ref-no-deref""", f"{AUTH} {AUTH_MODERN}"),
    "2025-11-25": named("initialize tools_call elicitation-sep1034-client-defaults sse-retry", AUTH),
}
# Not required, and passed.
BESIDE = {revision: {"json-schema-2020-12-preservation"} for revision in REQUIRED}
# Names of checks that are skipped by design.
SKIPPED = {"ClientMcpMethodHeader_initialize": "2026-07-28 has no handshake", "ClientMcpMethodHeader_notifications_initialized": "2026-07-28 has no handshake",
           "ClientDeclaresRootsCapability": "the client has none", "ClientDeclaresSamplingCapability": "the client has none"}
tap = Tap()


class Suite:
    def __init__(self, arguments, root):
        node = next(iter(sorted(arguments.agents.glob("node-linux-*/bin/node"))), None)
        self.root, self.corral = root, arguments.corral
        self.entry = arguments.packages / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
        self.missing = "Node 24 is not in build-agents" if node is None else "" if self.entry.exists() else f"{self.entry} is not there"
        self.words = [str(node), str(self.entry)]
        kept = ("CORRAL_", "ASAN_", "UBSAN_")
        self.environment = {**{name: value for name, value in os.environ.items() if name.startswith(kept)}, "CORRAL": str(self.corral), "PATH": "/usr/bin:/bin",
                            "HOME": str(root)}

    def scenarios(self, revision):
        """What the suite itself says that the revision requires of clients."""
        text = self.entry.parents[1].joinpath("requirements", f"{revision}.yaml").read_text(encoding="utf-8")
        lines = text.split("\nclient:\n", 1)[1].split("\n\n", 1)[0].splitlines()
        return {line.strip()[2:] for line in lines}

    def run(self, revision, name):
        """Its checks, and what was printed."""
        results = self.root / revision / name
        client = "conformance_auth.py" if name.startswith("auth/") else "conformance_client.py"
        command = f"/usr/bin/python3 {HERE / 'mcp' / client} {self.corral}"
        done = subprocess.run([*self.words, "client", "--command", command, "--scenario", name, "--spec-version", revision, "--output-dir", str(results),
                               "--timeout", str(CLIENT_S * 1000)],
                              cwd=self.root, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        checks = [check for file in results.rglob("checks.json") for check in json.loads(file.read_text(encoding="utf-8"))]
        said = "".join(file.read_text(encoding="utf-8")[-2000:] for file in results.rglob("stderr.txt"))
        return checks, done, said


def failures(checks):
    """A warning is a requirement that should hold: it fails here, too."""
    return [f"{check['id']} {check['name']}: {check['status']}: {check.get('errorMessage')}" for check in checks
            if check["status"] not in ("SUCCESS", "INFO") and not (check["status"] == "SKIPPED" and re.sub(r"\W", "", check["name"]) in SKIPPED)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--corral", required=True, type=pathlib.Path)
    parser.add_argument("--packages", required=True, type=pathlib.Path)
    parser.add_argument("--agents", required=True, type=pathlib.Path)
    parser.add_argument("--only", help="scenarios with this in their names")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        suite = Suite(arguments, pathlib.Path(root).resolve())
        if suite.missing:
            print(f"1..0 # SKIP {suite.missing}: `tools/setup agents` fetches it")
            return 0
        for revision, required in REQUIRED.items():
            tap.ok(suite.scenarios(revision) == required, f"{revision}: the {len(required)} scenarios that are required", suite.scenarios(revision) ^ required)
            for name in sorted(x for x in required | BESIDE[revision] if (arguments.only or "") in x):
                checks, done, said = suite.run(revision, name)
                good = any(check["status"] == "SUCCESS" for check in checks) and not failures(checks) and done.returncode == 0
                tap.ok(good, f"{revision}: {name}", *failures(checks), done.stdout[-2000:], done.stderr[-1000:], said)
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
