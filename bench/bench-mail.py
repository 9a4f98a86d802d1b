#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mail by the broker and by smtplib to the same server on loopback, in turn: a short text, and one of 1 MB. The broker's has a
connection and a login for each mail, and so has smtplib's here.

    $CORRAL, $CORRAL_BROKER, $CORRAL_BACKENDS, $CORRAL_WARDEN name the programs. bench-mail.py [ROUNDS]
"""

import json
import os
import smtplib
import socketserver
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
SIZES = (("a line", 40), ("1 MB", 1000000))

# Waits for a size on each line of standard input, sends that much, and prints what it took.
INSIDE = r"""
import json, os, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["SANDBOX_SOCKET"])
answers = s.makefile()
for line in sys.stdin:
    body = ("x" * 70 + "\n") * (int(line) // 71 + 1)
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "email.send", "params": {"to": ["a@example.com"], "body": body}})
    start = time.monotonic()
    s.sendall(text.encode() + b"\n")
    answer = json.loads(answers.readline())
    print(time.monotonic() - start if "result" in answer else json.dumps(answer), flush=True)
"""


class Smtp(socketserver.StreamRequestHandler):
    """As much as a client needs that sends one mail."""

    def handle(self):
        self.wfile.write(b"220 bench\r\n")
        for line in self.rfile:
            word = line[:4].upper().strip()
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                while self.rfile.readline() != b".\r\n":
                    pass
            self.wfile.write({b"EHLO": b"250-bench\r\n250 SIZE 4000000\r\n", b"QUIT": b"221 bye\r\n"}.get(word, b"250 fine\r\n"))
            if word == b"QUIT":
                return


def bare(port, size):
    body = ("x" * 70 + "\n") * (size // 71 + 1)
    start = time.monotonic()
    with smtplib.SMTP("127.0.0.1", port) as client:
        client.sendmail("b@example.com", ["a@example.com"], "Subject: x\r\n\r\n" + body)
    return time.monotonic() - start


def main():
    socketserver.ThreadingTCPServer.daemon_threads = True
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Smtp)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="corral-b.") as scratch:
        os.makedirs(f"{scratch}/config/corral")
        with open(f"{scratch}/config/corral/services.yaml", "w", encoding="utf-8") as file:
            file.write(f"email: {{server: 127.0.0.1, port: {server.server_address[1]}, tls: plain, from: b@example.com}}\n")
        os.chmod(f"{scratch}/config/corral/services.yaml", 0o600)
        with open(f"{scratch}/policy.yaml", "w", encoding="utf-8") as file:
            json.dump({"fs": {"read": ["/usr/**", "/lib/**", "/bin/**", "/etc/**"]}, "exec": ["/**"], "services": {
                "email": {"access": "send", "recipients": ["*@example.com"], "rate_limit": "1000/min"}}}, file)
        inside = subprocess.Popen([os.environ["CORRAL"], "run", "--policy", f"{scratch}/policy.yaml", "--", "/usr/bin/python3", "-c",
                                   INSIDE], env={**os.environ, "XDG_CONFIG_HOME": f"{scratch}/config"}, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, cwd="/")
        times = {name: ([], []) for name, _ in SIZES}
        for _ in range(ROUNDS):
            for name, size in SIZES:
                inside.stdin.write(f"{size}\n")
                inside.stdin.flush()
                line = inside.stdout.readline()
                try:
                    times[name][0].append(float(line))
                except ValueError:
                    sys.exit("bench-mail: " + line)
                times[name][1].append(bare(server.server_address[1], size))
        inside.stdin.close()
        inside.wait(timeout=30)
    for name, (ours, theirs) in times.items():
        print(f"email.send, {name}: first {ours[0] * 1e3:.1f} ms, then {statistics.median(ours[1:]) * 1e3:.1f} ms; "
              f"smtplib {statistics.median(theirs) * 1e3:.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
