# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document of the daemon: a section for each path, and one for the rest."""

import json

import golden


def lines(value, start=""):
    """A line for each value."""
    for key, inner in sorted(value.items()):
        name = f"{start}{key}"
        if isinstance(inner, dict):
            yield from lines(inner, name + ".")
        else:
            yield f"{name}: {json.dumps(inner, sort_keys=True, ensure_ascii=False)}"


def sections(build):
    if "corrald" not in build.installed:
        build.missing["path"] = build.missing["document"] = "build: without the daemon"
        return
    document = json.loads(dict(golden.printed(build, "openapi"))["openapi"])
    for path, methods in document.pop("paths").items():
        for method, row in methods.items():
            parameters = [json.dumps(p, sort_keys=True) for p in row.pop("parameters", ())]
            yield f"path {path} {method}", "\n".join([json.dumps(row, sort_keys=True), *parameters])
    yield "document", "\n".join(lines(document))
