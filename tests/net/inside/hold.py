#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hold.py HOST PORT: connects, says so when it was answered, and does nothing more."""

import signal
import socket
import sys

with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=60) as sock:
    sock.sendall(b"held\n")
    print(sock.recv(100).decode(), flush=True)
    signal.pause()
