#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""embed.py OUT.c URL=FILE…: writes the table of daemon/dashboard/asset.h.

Names of packages in imports become paths, because a page without inline scripts has no import map. Licences of
packages stay in their files where they have them; LICENSES is a file of the page."""

import gzip
import hashlib
import re
import sys

TYPES = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
         "svg": "image/svg+xml", "txt": "text/plain; charset=utf-8"}
PACKAGES = {"preact": "/lib/preact.js", "preact/hooks": "/lib/hooks.js", "htm": "/lib/htm.js", "uplot": "/lib/uplot.js"}


def prepare(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    # uPlot has no small module: the script becomes one.
    if path.endswith("uPlot.iife.min.js"):
        text += "\nexport default uPlot;\n"
    if path.endswith((".js", ".mjs")):
        text = re.sub(r"^//# sourceMappingURL=.*\n?", "", text, flags=re.M)
        text = re.sub(r'(\bfrom|\bimport)(\s*)"([a-z/]+)"', lambda m: f'{m[1]}{m[2]}"{PACKAGES[m[3]]}"', text)
    return text.encode()


def main():
    out, rows = [], []
    for number, word in enumerate(sys.argv[2:]):
        url, path = word.split("=", 1)
        data = gzip.compress(prepare(path), 9, mtime=0)
        lines = [", ".join(map(str, data[i:i + 24])) for i in range(0, len(data), 24)]
        out.append(f"static const unsigned char asset_{number}[] = {{\n\t" + ",\n\t".join(lines) + "\n};\n")
        etag = hashlib.sha256(data).hexdigest()[:24]
        kind = TYPES[url.rsplit(".", 1)[1] if "." in url else "html"]
        rows.append(f'\t{{ "{url}", "{kind}", "\\"{etag}\\"", asset_{number}, sizeof(asset_{number}) }},\n')
    with open(sys.argv[1], "w", encoding="ascii") as file:
        file.write('#include "daemon/dashboard/asset.h"\n\n' + "\n".join(out))
        file.write("\nconst struct asset assets[] = {\n" + "".join(rows) + "};\n")
        file.write("const size_t assets_count = sizeof(assets) / sizeof(assets[0]);\n")


if __name__ == "__main__":
    main()
