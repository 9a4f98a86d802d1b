# SPDX-License-Identifier: Apache-2.0
"""Frames: the number of each type, and a sample of each body in bytes. Both machines that Corral runs on are
little-endian."""

import re

import golden


def types():
    """By the order of the header's list."""
    text = (golden.ROOT / "src/wire/frame.h").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", re.search(r"enum frame_type \{(.*?)\};", text, re.S)[1], flags=re.S)
    names = [name.split("=")[0].strip() for name in text.split(",") if name.strip()]
    return "\n".join(f"{number:3} {name}" for number, name in enumerate(names))


def sections(build):
    if "corrald" not in build.installed:
        for name in ("api-setup", "api-tab", "api-answer", "api-event", "api-note"):
            build.missing[f"body {name}"] = "build: without the daemon"
    yield "types", types()
    yield from golden.printed(build, "frames")
