# SPDX-License-Identifier: Apache-2.0
"""The broker's methods with their parameters and results, and its errors: from the table that requests are read by."""

import json
import subprocess


def line(row):
    return json.dumps(row, sort_keys=True, ensure_ascii=False)


def sections(build):
    program = build.program("sandbox-call")
    if not program:
        build.missing["errors"] = build.missing["method"] = "build: without the broker"
        return
    table = json.loads(subprocess.run([program, "--list", "--json"], check=True, capture_output=True).stdout)
    for method in table.pop("methods"):
        lists = [(key, row) for key in ("params", "results", "notes") for row in method.pop(key, ())]
        name = method.get("name") or method["shield"]
        yield f"method {name}", "\n".join([line(method), *(f"{key} {line(row)}" for key, row in lists)])
    for name, rows in table.items():
        yield name, "\n".join(map(line, rows))
