#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# large.py divisions|branches BYTES: a valid module of one function of about that size, on standard output. Its compiler
# needs some 350 times as much memory (divisions), or time by the square of it (branches).
import sys

UNITS = {
    # local 0 = local 0 / 7 + local 0 * 3
    "divisions": b"\x20\x00\x41\x07\x6d\x20\x00\x41\x03\x6c\x6a\x21\x00",
    # if (local 0) local 0 += 1
    "branches": b"\x20\x00\x04\x40\x20\x00\x41\x01\x6a\x21\x00\x0b",
}


def number(n):
    """LEB128."""
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def sized(content):
    return number(len(content)) + content


def main():
    unit, size = UNITS[sys.argv[1]], int(sys.argv[2])
    function = b"\x00" + unit * (size // len(unit)) + b"\x20\x00\x0b"
    sections = {1: b"\x01\x60\x01\x7f\x01\x7f", 3: b"\x01\x00", 10: b"\x01" + sized(function)}
    module = b"\0asm\1\0\0\0" + b"".join(bytes([i]) + sized(s) for i, s in sections.items())
    sys.stdout.buffer.write(module)


main()
