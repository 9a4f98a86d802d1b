# SPDX-License-Identifier: Apache-2.0
"""An adapter of Corral for WebAssembly/wasi-testsuite:

    CORRAL=corral ./run-tests -r tests/wasm/wasi-testsuite-adapter.py

The branch prod/testsuite-base has the compiled modules; its runner needs Python 3.12.

Each test is a skill of its own in a folder below TMPDIR: the module, and a manifest that grants the test's root.
"""
import atexit
import json
import os
import shutil
import subprocess
import tempfile

CORRAL = os.getenv("CORRAL", "corral")


def get_name():
    return "corral"


def get_version():
    out = subprocess.run([CORRAL, "--version"], capture_output=True, text=True, check=True).stdout
    return out.split()[-1]


def get_wasi_versions():
    return ["wasm32-wasip1"]


def get_wasi_worlds():
    return ["wasi:cli/command"]


def compute_argv(test_path, args_env_root, proposals, wasi_world, wasi_version):
    args, env, root = args_env_root
    folder = tempfile.mkdtemp(prefix="corral-wasi-")
    atexit.register(shutil.rmtree, folder, True)
    shutil.copy(test_path, os.path.join(folder, "test.wasm"))
    manifest = {"name": "wasi-test", "version": "1", "wasm": {"file": "test.wasm", "export": "_start"}}
    if root:
        paths = [{"guest": "/", "host": os.path.realpath(root), "mode": "rw"}]
        manifest["capabilities"] = {"filesystem": {"enabled": True, "paths": paths}}
    with open(os.path.join(folder, "manifest.yaml"), "w", encoding="utf-8") as f:
        json.dump(manifest, f)
    with open(os.path.join(folder, "SKILL.md"), "w", encoding="utf-8") as f:
        f.write("---\nname: wasi-test\ndescription: a test\n---\n")
    # --env NAME=VALUE takes one line; what is passed on may be any text.
    argv = ["env"] + [f"{name}={value}" for name, value in env.items()] + [CORRAL, "run", "--yes", "--skill", folder]
    for name in env:
        argv += ["--env", name]
    return argv + ["--"] + args
