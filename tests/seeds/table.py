# SPDX-License-Identifier: Apache-2.0
"""The form of the tables seed000.py … seed004.py.

An item of a seed is a row: its state, a command for sh(1), and what the command prints. Of several rows with the same
command the command runs once. Expected texts stand anywhere in the output, standard error included; "!text" must not
be there, and "/text/" is a regular expression. @HOME@ is the home, in files too, where @PORT@ is the server's port."""

import dataclasses
import re

STATES = ("works", "differs", "absent", "declined")
# What other plans bring, in words.
BROUGHT = {
    "setup": "set-up of a host",
    "agentlink": "AgentLink",
    "authors": "tools for authors of WASM skills",
}


@dataclasses.dataclass
class Row:
    state: str
    item: str
    command: str
    expected: tuple
    status: int
    why: str = ""
    id: str = ""
    program: str = ""  # that the command needs and `make test` does not

    def problems(self, status, output, home):
        """What is not as the row has it: a list of sentences."""
        output = output.replace(home, "@HOME@")
        found = [] if status == self.status else [f"exit status {status}, not {self.status}"]
        return found + [f"expected: {text}" for text in self.expected if not fits(text, output)]


def fits(text, output):
    if text.startswith("!"):
        return text[1:] not in output
    if len(text) > 2 and text[0] == text[-1] == "/" and not text.startswith("/etc"):
        return re.search(text[1:-1], output) is not None
    return text in output


@dataclasses.dataclass
class Section:
    title: str


@dataclasses.dataclass
class Seed:
    number: str
    title: str
    entries: list  # of Section and Row
    files: dict = dataclasses.field(default_factory=dict)  # path in the working folder: text
    setup: tuple = ()  # commands that must succeed before the rows
    needs: tuple = ()  # of scene.py: "daemon", "bus", "wasm" …

    def __post_init__(self):
        for number, row in enumerate(self.rows, 1):
            row.id = f"{self.number}-{number:02}"

    @property
    def rows(self):
        return [entry for entry in self.entries if isinstance(entry, Row)]


def section(title):
    return Section(title)


def works(item, command, *expected, status=0, program=""):
    return Row("works", item, command, expected, status, program=program)


def differs(item, why, command, *expected, status=0):
    return Row("differs", item, command, expected, status, why)


def absent(item, brings, command, *expected, status=2):
    return Row("absent", item, command, expected, status, f"comes with: {BROUGHT[brings]}")


def declined(item, why, command, *expected, status=0):
    return Row("declined", item, command, expected, status, why)
