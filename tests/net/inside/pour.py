#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pour.py HOST PORT N: sends N bytes, and says how many went."""

import socket
import sys

host, port, length = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sent = 0
try:
    with socket.create_connection((host, port), timeout=60) as sock:
        while sent < length:
            sent += sock.send(bytes(min(65536, length - sent)))
        sock.shutdown(socket.SHUT_WR)
        sock.recv(1)  # nothing: the other side has read it all
except OSError as error:
    print("error", error)
print("poured", sent)
