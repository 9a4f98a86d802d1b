# SPDX-License-Identifier: Apache-2.0
"""One user in the world: folders of its own, and commands that it runs there, bare and inside."""

import collections
import itertools
import json
import os
import signal
import subprocess
import tempfile
import time

from world import PATH

# Nothing here takes as long: what does, hangs.
SECONDS = 60

# late: it had to be killed. events: what Corral told of the network. denials: those of them.
Result = collections.namedtuple("Result", "status out err seconds late events denials")
# target: as it was asked for. reason: for people. count: how often.
Denial = collections.namedtuple("Denial", "target reason count")

# What makes programs trust the authority of this world.
AUTHORITY = ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
             "GIT_SSL_CAINFO")


# A search for leaks takes seconds for each program; others look for them.
NO_LEAKS = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}


def read_audit(corral, path):
    """What `corral run --audit` recorded of the network; nothing bare, or if there was no sandbox."""
    if not path or not os.path.exists(path):
        return []
    words = [corral, "audit", "export", "--format", "jsonl", path]
    text = subprocess.run(words, check=True, capture_output=True, env={**os.environ, **NO_LEAKS}).stdout
    events = [json.loads(line) for line in text.splitlines()]
    return [e for e in events if e["action"].startswith("net.")]


def denials(events):
    return [Denial(e["target"], e["reason"], e["count"])
            for e in events if e["decision"] == "denied"]


class Scene:
    def __init__(self, world, account, corral):
        self.world, self.account, self.corral = world, account, corral
        self.numbers = itertools.count()
        self.top = tempfile.mkdtemp(prefix=f"{account.name}.", dir=world.top)
        os.chmod(self.top, 0o755)
        for name in ("home", "tmp", "policy", "audit"):
            os.mkdir(self.path(name))
        account.give(self.top)

    def path(self, name):
        return os.path.join(self.top, name)

    def fresh(self):
        """A working folder, and nothing in it."""
        folder = self.path(f"ws{next(self.numbers)}")
        os.mkdir(folder)
        self.account.give(folder)
        return folder

    def environment(self):
        authority = self.world.path("pub/ca.pem")
        return {"PATH": PATH, "HOME": self.path("home"), "TMPDIR": self.path("tmp"), "TERM": "dumb",
                "LANG": "C.UTF-8", "USER": self.account.name, "LOGNAME": self.account.name,
                **NO_LEAKS, **{name: authority for name in AUTHORITY}}

    def policy(self, network):
        """A policy in a file: the workspace and the system, and this network."""
        pub = self.world.path("pub")
        text = json.dumps({
            "fs": {"write": ["$WORK_DIR/**"],
                   "read": ["/usr/**", "/etc/**", "/bin/**", "/lib/**", "/lib64/**", f"{pub}/**"]},
            "env": ["PATH", "LANG", "USER", *AUTHORITY], "network": network})
        path = self.path(f"policy/{next(self.numbers)}.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        return path

    def options(self, net):
        """For a list: the profile `workspace` and these grants. For a map: a policy with it."""
        if isinstance(net, dict):
            return ["--policy", self.policy(net)]
        options = ["--read", self.world.path("pub")]
        for name in AUTHORITY:
            options += ["--env", name]
        for grant in net:
            options += grant.split(" ") if grant.startswith("--") else ["--net", grant]
        return options

    def words(self, run, net, folder, audit):
        if isinstance(run, str):
            run = ["sh", "-c", run]
        fill = {"ws": folder, "pub": self.world.path("pub"), "run": self.world.path("run")}
        run = [word.format(**fill) if "{" in word else word for word in run]
        if net is None:
            return run
        return [self.corral, "run", "--audit", audit, *self.options(net), "--", *run]

    def start(self, run, net=None, folder=None, **popen):
        """net: None is bare; else see options()."""
        folder = folder or self.fresh()
        audit = self.path(f"audit/{next(self.numbers)}")
        words = [*self.account.prefix(), "env", *self.words(run, net, folder, audit)]
        popen = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                 **popen}
        process = subprocess.Popen(words, cwd=folder, env={**self.environment(), "PWD": folder},
                                   start_new_session=True, **popen)
        process.audit = None if net is None else audit
        return process

    def finish(self, process, seconds=SECONDS):
        start, late = time.monotonic(), False
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            late = True
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        out, err = ((text or b"").decode(errors="replace") for text in (out, err))
        events = read_audit(self.corral, process.audit)
        return Result(status, out, err, time.monotonic() - start, late, events, denials(events))

    def run(self, run, net=None, seconds=SECONDS, **more):
        return self.finish(self.start(run, net, **more), seconds)
