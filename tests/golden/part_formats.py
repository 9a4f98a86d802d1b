# SPDX-License-Identifier: Apache-2.0
"""The table of stored formats (src/base/formats.h), and that docs/stored-formats.md has the same."""

import golden


def sections(build):
    table = dict(golden.printed(build, "formats"))["table"]
    yield "table", table
    page = (golden.ROOT / "docs/stored-formats.md").read_text(encoding="utf-8").splitlines()
    yield "docs/stored-formats.md", "\n".join(f"lacks: {line}" for line in table.splitlines() if line not in page) or "has the table"
