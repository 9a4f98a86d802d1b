#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/term-svg.py [--title TEXT] [--columns N] INPUT OUTPUT.svg: terminal output as a picture.

INPUT is what a terminal showed ("-" is standard input), with its colours as ANSI escapes. The result is
plain SVG text, so that it stays sharp, can be searched, and changes readably under version control.
A line that starts with "$ " is shown as a prompt with the command that was typed.
"""

import argparse
import html
import re
import sys

CELL_WIDTH, LINE_HEIGHT, FONT_SIZE, PADDING, BAR = 8.43, 20, 14, 18, 34
BACKGROUND, FOREGROUND, PROMPT, COMMAND = "#1e2430", "#d8dee9", "#7f8ba0", "#ffffff"
COLOURS = ["#3b4252", "#ff7b86", "#8fd48f", "#ebcb8b", "#82aaff", "#c792ea", "#7fd6e0", "#e5e9f0"]
BRIGHT = ["#7f8ba0", "#ff99a2", "#a8e6a8", "#ffe3a3", "#a3c1ff", "#dcb3ff", "#a3ebf2", "#ffffff"]

ESCAPE = re.compile(r"\x1b\[([0-9;]*)m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;?]*[A-Za-z]|\r")


class Style:
    """What the escapes so far have set."""

    def __init__(self):
        self.colour, self.bold, self.dim, self.underline = None, False, False, False

    def apply(self, codes):
        for code in [int(part or 0) for part in codes.split(";")]:
            if code == 0:
                self.__init__()
            elif code in (1, 2, 4):
                setattr(self, {1: "bold", 2: "dim", 4: "underline"}[code], True)
            elif code == 22:
                self.bold = self.dim = False
            elif code == 24:
                self.underline = False
            elif 30 <= code <= 37:
                self.colour = COLOURS[code - 30]
            elif code == 39:
                self.colour = None
            elif 90 <= code <= 97:
                self.colour = BRIGHT[code - 90]

    def attributes(self):
        parts = []
        if self.colour:
            parts.append(f'fill="{self.colour}"')
        if self.bold:
            parts.append('font-weight="700"')
        if self.dim:
            parts.append('fill-opacity="0.65"')
        if self.underline:
            parts.append('text-decoration="underline"')
        return " ".join(parts)


def spans(line, style):
    """(text, attributes) pairs; the style goes on over the end of the line, as in a terminal."""
    at, result = 0, []
    for escape in ESCAPE.finditer(line):
        result.append((line[at:escape.start()], style.attributes()))
        if escape.group(1) is not None:
            style.apply(escape.group(1))
        at = escape.end()
    result.append((line[at:], style.attributes()))
    return [(text, attributes) for text, attributes in result if text]


def wrap(parts, columns):
    """Cuts a line where a terminal would."""
    lines, room = [[]], columns
    for text, attributes in parts:
        while text:
            if room == 0:
                lines.append([])
                room = columns
            lines[-1].append((text[:room], attributes))
            text, room = text[room:], max(0, room - len(text))
    return lines


def read_lines(text, columns):
    style, lines = Style(), []
    for line in text.expandtabs(8).rstrip("\n").split("\n"):
        if line.startswith("$ "):
            parts = [("$ ", f'fill="{PROMPT}"'), (line[2:], f'fill="{COMMAND}" font-weight="600"')]
        else:
            parts = spans(line, style)
        lines += wrap(parts, columns)
    return lines


def draw(lines, title, columns):
    width = round(columns * CELL_WIDTH + 2 * PADDING)
    height = BAR + len(lines) * LINE_HEIGHT + 2 * PADDING - 6
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{html.escape(title)}">',
        f'  <rect width="{width}" height="{height}" rx="10" fill="{BACKGROUND}"/>',
        *(f'  <circle cx="{20 + 20 * i}" cy="{BAR // 2 + 1}" r="6" fill="{colour}"/>'
          for i, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))),
        f'  <text x="{width / 2:g}" y="{BAR // 2 + 6}" text-anchor="middle" fill="{PROMPT}" font-size="13" '
        f'font-family="-apple-system, \'Segoe UI\', \'DejaVu Sans\', sans-serif">{html.escape(title)}</text>',
        f'  <g font-family="\'SF Mono\', Menlo, Consolas, \'DejaVu Sans Mono\', monospace" '
        f'font-size="{FONT_SIZE}" fill="{FOREGROUND}" xml:space="preserve" style="white-space: pre">',
    ]
    for row, parts in enumerate(lines):
        y = BAR + PADDING + 8 + row * LINE_HEIGHT
        column, cells = 0, []
        for text, attributes in parts:
            # Every span says where it starts and how long it is: fonts differ, columns must not.
            shown = text.strip(" ")
            x = PADDING + (column + len(text) - len(text.lstrip(" "))) * CELL_WIDTH
            length = f'textLength="{len(shown) * CELL_WIDTH:.1f}" lengthAdjust="spacingAndGlyphs"'
            if shown:
                cells.append(f'<tspan x="{x:.1f}" {length}{" " + attributes if attributes else ""}>'
                             f"{html.escape(shown, quote=False)}</tspan>")
            column += len(text)
        if cells:
            out.append(f'    <text y="{y}">{"".join(cells)}</text>')
    return "\n".join(out + ["  </g>", "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--title", default="corral")
    parser.add_argument("--columns", type=int, default=96)
    parser.add_argument("input")
    parser.add_argument("output")
    options = parser.parse_args()
    with (sys.stdin if options.input == "-" else open(options.input, encoding="utf-8")) as file:
        lines = read_lines(file.read(), options.columns)
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(draw(lines, options.title, options.columns))


if __name__ == "__main__":
    main()
