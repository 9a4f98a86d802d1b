#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance suite of MCP (@modelcontextprotocol/conformance, by tools/fetch-mcp): each scenario that a revision of the specification requires
of servers, by its name, against mcp-fixture, which has the suite's tools on our core. The suite has no option for a token: bearer.mjs adds it.
Prints TAP."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from acceptance_tap import Tap  # noqa: E402

PATIENCE_S = 600
BOTH = """completion-complete tools-list tools-call-simple-text tools-call-image tools-call-audio tools-call-embedded-resource tools-call-mixed-content
    tools-call-error tools-call-with-progress server-sse-multiple-streams resources-list resources-read-text resources-read-binary
    resources-templates-read prompts-list prompts-get-simple prompts-get-with-args prompts-get-embedded-resource prompts-get-with-image
    dns-rebinding-protection"""
# What is required; the suite's own list is compared with these names.
REQUIRED = {
    "2026-07-28": set(f"""{BOTH} server-stateless sep-2164-resource-not-found caching input-required-result-basic-elicitation
        input-required-result-basic-sampling input-required-result-basic-list-roots input-required-result-request-state
        input-required-result-multiple-input-requests input-required-result-multi-round input-required-result-missing-input-response
        input-required-result-non-tool-request input-required-result-result-type input-required-result-unsupported-methods
        input-required-result-tampered-state input-required-result-capability-check input-required-result-ignore-extra-params
        input-required-result-validate-input""".split()),
    "2025-11-25": set(f"""{BOTH} server-initialize logging-set-level ping tools-call-with-logging tools-call-sampling tools-call-elicitation
        elicitation-sep1034-defaults elicitation-sep1330-enums resources-subscribe resources-unsubscribe""".split()),
}
# Not required, and passed.
BESIDE = {"2026-07-28": {"http-header-validation", "json-schema-2020-12"}, "2025-11-25": {"server-session-lifecycle", "json-schema-2020-12"}}
# Not required, and failed by design: name -> why.
WITHOUT = {"tasks-": "the extension of tasks is not served: a call that takes long is one stream",
           "http-custom-header-server-validation": "no tool of ours repeats arguments in headers (x-mcp-header)",
           "server-sse-polling": "a stream ends with its answer; there is nothing to poll for"}
tap = Tap()


class Suite:
    def __init__(self, arguments, root):
        node = next(iter(sorted(arguments.agents.glob("node-linux-*/bin/node"))), None)
        self.packages, self.root, self.fixture, self.number = arguments.packages, root, arguments.fixture, 0
        self.entry = arguments.packages / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
        self.missing = "Node 24 is not in build-agents" if node is None else "" if self.entry.exists() else f"{self.entry} is not there"
        self.words = [str(node), "--import", str(HERE / "mcp" / "bearer.mjs"), str(self.entry)]
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(root), "MCP_PACKAGES": str(arguments.packages), "MCP_TOKEN": ""}

    def run(self, *words):
        return subprocess.run([*self.words, *words], cwd=self.root, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def scenarios(self, revision):
        """What the suite itself says that the revision requires of servers."""
        text = self.entry.parents[1].joinpath("requirements", f"{revision}.yaml").read_text(encoding="utf-8")
        lines = text.split("\nserver:\n", 1)[1].split("\n\n", 1)[0].splitlines()
        return {line.strip()[2:] for line in lines}

    def results(self, revision):
        """By scenario: its checks. The fixture is one server for all of them."""
        tokens = self.root / f"{revision}.token"
        with subprocess.Popen([self.fixture, tokens], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as fixture:
            results = self.results_at(revision, fixture.stdout.readline().strip(), tokens)
            fixture.stdin.close()
            status = fixture.wait(PATIENCE_S)
        tap.ok(status == 0, f"{revision}: the fixture ends as it should", status)
        return results

    def results_at(self, revision, url, tokens):
        """The same of a server with this URL and file of tokens."""
        self.number += 1
        results = self.root / str(self.number)
        self.environment["MCP_TOKEN"] = tokens.read_text(encoding="ascii").strip()
        done = self.run("server", "--url", url, "--requirements", revision, "--output-dir", str(results))
        # The folder of a scenario is called server-NAME-TIME.
        names = ((re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z", folder.name), folder) for folder in results.glob("server-*"))
        found = {match[1]: folder for match, folder in names if match}
        return {name: json.loads(folder.joinpath("checks.json").read_text(encoding="utf-8")) for name, folder in found.items()}, done


def failures(checks):
    """A warning is a requirement that should hold: it fails here, too."""
    return [f"{check['id']}: {check['status']}: {check.get('errorMessage')}" for check in checks if check["status"] not in ("SUCCESS", "INFO")]


def expected(name):
    return next((why for prefix, why in WITHOUT.items() if name.startswith(prefix)), None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixture", required=True, type=pathlib.Path)
    parser.add_argument("--packages", required=True, type=pathlib.Path)
    parser.add_argument("--agents", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        suite = Suite(arguments, pathlib.Path(root).resolve())
        if suite.missing:
            print(f"1..0 # SKIP {suite.missing}: `tools/setup agents` fetches it")
            return 0
        for revision, required in REQUIRED.items():
            tap.ok(suite.scenarios(revision) == required, f"{revision}: the {len(required)} scenarios that are required", suite.scenarios(revision) ^ required)
            results, done = suite.results(revision)
            for name in sorted(required | BESIDE[revision]):
                checks = results.pop(name, None)
                tap.ok(checks and not failures(checks), f"{revision}: {name}", *(failures(checks) if checks else [done.stdout[-2000:], done.stderr[-2000:]]))
            unknown = {name for name in results if not expected(name)}
            tap.ok(not unknown, f"{revision}: of the others each is known, with its reason", unknown)
    print(f"1..{tap.number}")
    return 1 if tap.failures else 0


if __name__ == "__main__":
    sys.exit(main())
