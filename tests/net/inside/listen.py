#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""listen.py PORT [ADDRESS...]: a server on all addresses.

Without addresses it says so, and waits until it is ended. With them it connects to itself there;
what is a name is a host outside with an echo on that port.
"""

import socket
import sys
import threading


def serve(server):
    while True:
        peer, _ = server.accept()
        peer.sendall(b"served\n")
        peer.close()


def main(port, addresses):
    server = socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    port = server.getsockname()[1]
    if not addresses:
        print("listening", flush=True)
        serve(server)
    threading.Thread(target=serve, args=(server,), daemon=True).start()
    for address in addresses:
        with socket.create_connection((address, port), timeout=60) as sock:
            named = address[-1:].isalpha()
            if named:
                sock.sendall(b"echoed\n")
            print(sock.recv(100).decode().strip(), address)


main(int(sys.argv[1]), sys.argv[2:])
