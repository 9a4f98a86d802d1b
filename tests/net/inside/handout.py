#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""handout.py SOCKET [greet]: hands a new TCP socket to whoever listens there, or greets it."""

import socket
import sys

place = sys.argv[1].replace("@", "\0", 1)
with socket.socket(socket.AF_UNIX) as sock:
    try:
        sock.connect(place)
        if len(sys.argv) > 2:
            sock.sendall(b"hello\n")
            print(sock.recv(4096).decode())
        else:
            with socket.socket() as ours:
                socket.send_fds(sock, [b"x"], [ours.fileno()])
                sock.recv(1)  # until it was tried
    except OSError as error:
        print("error", error)
print("done")
