#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The vault with a real Secret Service: GNOME Keyring on a session bus of the test's own. As root, once more as an
ordinary user. Needs `tools/setup acceptance`. Prints TAP."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import broker_tap  # noqa: E402
from broker_tap import end, ok  # noqa: E402

PROGRAMS = ("CORRAL", "CORRAL_VAULT", "CORRAL_SECRET_SERVICE")


def run(*words, value=""):
    return subprocess.run(words, input=value, capture_output=True, text=True, timeout=120, check=False, start_new_session=True)


def vault(*words, passphrase=None):
    return run(os.environ["CORRAL"], "vault", *words, *(("--passphrase-file", passphrase) if passphrase else ()))


def cases(scratch):
    """On the bus."""
    passphrase = scratch / "passphrase"
    passphrase.write_text("correct horse battery")
    passphrase.chmod(0o600)
    ok(run("gnome-keyring-daemon", "--unlock", "--components=secrets", value="of the keyring").returncode == 0, "a keyring is there")
    checks = {x["name"]: x for x in json.loads(vault("doctor", "--json").stdout)["checks"]}
    ok(checks["secret-service"]["held"], "doctor finds it", checks)
    ok(run("secret-tool", "store", "--label=x", "service", "github", "user", "me", value="of-the-service").returncode == 0, "another program keeps a secret")
    done = vault("init", "--key", "secret-service", passphrase=str(passphrase))
    ok(done.returncode == 0, "a vault whose key the Secret Service has", done)
    done = vault("set", "TOKEN", "--from", "secret-service:service=github,user=me")
    ok(done.returncode == 0, "it opens without a passphrase", done)
    done = vault("export", "--yes", "TOKEN")
    ok(done.returncode == 0 and json.loads(done.stdout) == {"TOKEN": "of-the-service"}, "a value of the Secret Service", done)
    run("secret-tool", "store", "--label=y", "service", "github", "user", "me", "more", "1", value="another")
    ok(vault("export", "--yes", "TOKEN").returncode == 2, "of two items that match, none is taken")
    vault("set", "NONE", "--from", "secret-service:service=none")
    done = vault("export", "--yes", "NONE")
    ok(done.returncode == 2 and "no such item" in done.stderr, "an item that is not there is an error", done)
    id_of = run("secret-tool", "search", "application", "corral-vault")
    ok("Key of the Corral vault" in id_of.stdout, "the key is an item with a name", id_of)
    run("secret-tool", "clear", "application", "corral-vault")
    ok(vault("list").returncode == 2 and vault("list", passphrase=str(passphrase)).returncode == 0, "without it the passphrase opens the vault")


def main():
    if "--inside" in sys.argv:
        cases(pathlib.Path(os.environ["HOME"]))
        return end()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="cs-"))
    (scratch / "run").mkdir(mode=0o700)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(scratch), "XDG_RUNTIME_DIR": str(scratch / "run"), "LC_ALL": "C.UTF-8",
           **{name: os.path.abspath(os.environ[name]) for name in PROGRAMS}}
    done = subprocess.run(["dbus-run-session", "--", "/usr/bin/python3", os.path.abspath(__file__), "--inside"], env=env, cwd=scratch,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=240, check=False)
    shutil.rmtree(scratch, ignore_errors=True)
    ok(done.returncode == 0 and "ok 10 " in done.stdout, "with GNOME Keyring", *done.stdout.splitlines())
    if os.geteuid() == 0:
        broker_tap.as_user(__file__, PROGRAMS)
    return end()


if __name__ == "__main__":
    sys.exit(main())
