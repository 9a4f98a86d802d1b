#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/gen-broker.py [--check] SANDBOX_CALL [ROOT]: what is made of the broker's table of methods.

The reference in docs/broker.md (between its two marks) and the words of the fuzzer for requests
(tests/data/fuzz/rpc.dict). With --check nothing is written: what differs is named, and the status
is 1.
"""

import json
import os
import subprocess
import sys

BEGIN = "<!-- From the table of methods, by tools/gen-broker.py: do not edit here. -->"
END = "<!-- The end of what is generated. -->"
TYPES = {
    "text": "text", "path": "path", "data": "data", "number": "number", "flag": "true or false", "choice": "one of",
    "time": "time", "list": "list of texts", "map": "map of texts", "json": "JSON", "files": "list of entries",
}


def cell(text):
    return text.replace("|", "\\|")


def size(number):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit and number % unit == 0:
            return f"{number // unit} {name}"
    return f"{number:,}"


def kind(field):
    text = TYPES[field["type"]]
    if "words" in field:
        text += " " + ", ".join(f"`{word}`" for word in field["words"])
    return text


def meaning(field, limits):
    text = field.get("help", "")
    if limits and "max" in field:
        bound = f"at most {size(field['max'])}" if field["type"] == "number" else f"at most {size(field['max'])} bytes"
        text += ("; " if text else "") + bound.replace("iB bytes", "iB")
    other = field.get("shield")
    if other:
        text += f" (`{other}`)"
    elif other == "":
        text += " (not by AgenShield's name)"
    return text


def fields(title, rows, limits):
    if not rows:
        return
    yield f"| {title} | type | |"
    yield "|---|---|---|"
    for row in rows:
        name = f"**`{row['name']}`**" if limits and row["required"] else f"`{row['name']}`"
        yield f"| {name} | {kind(row)} | {cell(meaning(row, limits))} |"
    yield ""


def names(method):
    return [method[key] for key in ("name", "shield") if key in method]


def section(method):
    yield "### " + " = ".join(f"`{name}`" for name in names(method))
    yield ""
    text = method["help"][0].upper() + method["help"][1:]
    yield text if text.endswith(("?", ".")) else text + "."
    if "operation" in method:
        yield f"The policy is asked for `{method['operation']}` of `{method['target']}`."
    if "http" in method["channels"]:
        yield "Can be called by HTTP, too."
    if "refused" in method:
        yield f"Always refused: {method['refused']}."
    yield ""
    yield from fields("parameter", method["params"], True)
    yield from fields("result", method["results"], False)
    if "note" in method:
        yield f"While it runs, notifications `{method['note']}` with the call's `id` and"
        yield ""
        yield from fields("field", method["notes"], False)


def reference(table):
    yield BEGIN
    yield ""
    yield "### Errors"
    yield ""
    yield "| class | code | by AgenShield's names | exit status of sandbox-call |"
    yield "|---|---|---|---|"
    for error in table["errors"]:
        yield f"| {error['class']} | {error['code']} | {error['shield']} | {error['status']} |"
    yield ""
    for method in table["methods"]:
        yield from section(method)
    yield END


def dictionary(table):
    words = {"jsonrpc", "2.0", "id", "method", "params", "null", "true", "false"}
    for method in table["methods"]:
        words.update(names(method))
        for row in method["params"]:
            words.update(word for word in (row["name"], row.get("shield"), *row.get("words", ())) if word)
    yield "# Words of requests, from the table of methods, by tools/gen-broker.py."
    for word in sorted(words):
        yield '"\\"' + word + '\\""'
    yield '"{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"method\\":\\""'
    yield '"\\",\\"params\\":{\\""'


def replace(old, new):
    begin, end = old.index(BEGIN), old.index(END) + len(END)
    return old[:begin] + new + old[end:]


def main():
    check = "--check" in sys.argv
    words = [word for word in sys.argv[1:] if word != "--check"]
    if not words:
        sys.exit(__doc__)
    root = words[1] if len(words) > 1 else "."
    run = subprocess.run([words[0], "--list", "--json"], check=True, capture_output=True)
    table = json.loads(run.stdout)
    page, words_file = os.path.join(root, "docs/broker.md"), os.path.join(root, "tests/data/fuzz/rpc.dict")
    with open(page, encoding="utf-8") as file:
        old_page = file.read()
    made = {page: replace(old_page, "\n".join(reference(table))), words_file: "\n".join(dictionary(table)) + "\n"}
    status = 0
    for path, text in made.items():
        old = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                old = file.read()
        if old == text:
            continue
        if check:
            print(f"{path}: is not what the table of methods says; run tools/gen-broker.py SANDBOX_CALL")
            status = 1
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
