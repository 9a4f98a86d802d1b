#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs inside, for test-ssh-agent.py: writes down what ssh says to its agent, and uses it to ask for more. PORT-A PORT-B USER HOSTS:
two servers, of which the first is granted, a user, known_hosts. Prints what each attempt got as one JSON object."""

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

AGENT = os.environ["SSH_AUTH_SOCK"]
FAILURE, SUCCESS, LIST, SIGN, SIGNED, EXTENSION = 5, 6, 11, 13, 14, 27
BIND = b"session-bind@openssh.com"
RECORDER = os.path.abspath("recorder.sock")


def string(data):
    return struct.pack(">I", len(data)) + data


def take(data, n=1):
    """n strings from the front."""
    parts = []
    for _ in range(n):
        size = struct.unpack(">I", data[:4])[0]
        parts.append(data[4:4 + size])
        data = data[4 + size:]
    return parts


def receive(s):
    try:
        head = s.recv(4, socket.MSG_WAITALL)
        return s.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL) if len(head) == 4 else b""
    except ConnectionResetError:
        return b""


class Forger:
    """Has the key of the granted host, as its root has, and binds whatever session ssh has to that host."""

    def __init__(self, key):
        self.own, self.path = os.path.abspath("own.sock"), os.path.abspath("forger.sock")
        self.process = subprocess.Popen(["ssh-agent", "-D", "-a", self.own], stdout=subprocess.DEVNULL)
        # 2: it does not listen yet.
        while subprocess.run(["ssh-add", "-q", key], env={**os.environ, "SSH_AUTH_SOCK": self.own}, stderr=subprocess.DEVNULL, check=False).returncode == 2:
            time.sleep(0.05)
        agent = Agent(self.own)
        agent.ask(bytes([LIST]))
        self.host = take(agent.answer[5:])[0]
        self.said = []
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.path)
        listener.listen(8)
        threading.Thread(target=self.serve, args=(listener,), daemon=True).start()

    def bind(self, session):
        agent = Agent(self.own)
        agent.ask(bytes([SIGN]) + string(self.host) + string(session) + bytes(4))
        return bytes([EXTENSION]) + string(BIND) + string(self.host) + string(session) + string(take(agent.answer[1:])[0]) + b"\0"

    def serve(self, listener):
        while True:
            client, agent = listener.accept()[0], Agent()
            while message := receive(client):
                is_bind = message[0] == EXTENSION and BIND in message
                agent.ask(self.bind(take(message[1:], 3)[2]) if is_bind else message)
                self.said.append(agent.answer[0])
                client.sendall(string(agent.answer))

    def ssh(self, port, user, kind):
        self.said = []
        subprocess.run(["ssh", "-o", f"IdentityAgent={self.path}", "-o", f"PubkeyAuthentication={kind}", "-o", f"UserKnownHostsFile={sys.argv[4]}", "-o", "BatchMode=yes",
                        "-p", port, f"{user}@127.0.0.1", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)
        return self.said


class Agent:
    """A connection; ask() returns the type of the answer, None if it hung up."""

    def __init__(self, path=AGENT):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.answer = b""

    def ask(self, message):
        try:
            self.socket.sendall(string(message))
        except BrokenPipeError:
            return None
        self.answer = receive(self.socket)
        return self.answer[0] if self.answer else None


class Recorder:
    """Between ssh and its agent: what ssh sent, and each answer's type."""

    def __init__(self):
        self.said = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(RECORDER)
        self.listener.listen(8)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            client, agent = self.listener.accept()[0], Agent()
            while message := receive(client):
                agent.ask(message)
                self.said.append((message, agent.answer[0]))
                client.sendall(string(agent.answer))

    def ssh(self, port, user):
        self.said = []
        subprocess.run(["ssh", "-o", f"IdentityAgent={RECORDER}", "-o", f"UserKnownHostsFile={sys.argv[4]}", "-o", "BatchMode=yes", "-p", port,
                        f"{user}@127.0.0.1", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)
        binds = [m for m, _ in self.said if m[0] == EXTENSION and BIND in m]
        signs = [m for m, _ in self.said if m[0] == SIGN]
        return binds[0], signs[0] if signs else None, [answer for _, answer in self.said]


def login(session, user, key, host_key=None):
    return (string(session) + b"\x32" + string(user.encode()) + string(b"ssh-connection") +
            string(b"publickey-hostbound-v00@openssh.com" if host_key else b"publickey") + b"\x01" + string(take(key)[0]) + string(key) +
            (string(host_key) if host_key else b""))


def main():
    port_a, port_b, user, _ = sys.argv[1:]
    recorder, got = Recorder(), {}
    bind_a, sign_a, got["ssh to the granted host"] = recorder.ssh(port_a, user)
    bind_b, sign_b, got["ssh to another host"] = recorder.ssh(port_b, user)
    _, name, host_a, session_a, signature_a = [bind_a[0], *take(bind_a[1:], 4)]
    host_b, session_b = take(bind_b[1:], 3)[1:]
    key = take(sign_a[1:])[0]
    flags = sign_a[-4:]

    def signs(agent, data, by=key):
        return agent.ask(bytes([SIGN]) + string(by) + string(data) + flags)

    def bound(message=bind_a):
        agent = Agent()
        return agent, agent.ask(message)

    def bind(host=host_a, session=session_a, signature=signature_a, forwarded=b"\0"):
        return bytes([EXTENSION]) + string(name) + string(host) + string(session) + string(signature) + forwarded

    got["unbound: the list"] = Agent().ask(bytes([LIST]))
    got["unbound: what ssh had signed"] = Agent().ask(sign_a)
    got["unbound: anything"] = signs(Agent(), b"anything")
    got["unbound: 32 bytes"] = signs(Agent(), bytes(32))

    agent, got["the bind once more, elsewhere"] = bound()
    got["and what ssh had signed there"] = agent.ask(sign_a)
    got["bound: another user"] = signs(agent, login(session_a, user + "x", key, host_a))
    got["bound: another session"] = signs(agent, login(session_b, user, key, host_a))
    got["bound: no session of anyone"] = signs(agent, login(bytes(len(session_a)), user, key, host_a))
    got["bound: another host"] = signs(agent, login(session_a, user, key, host_b))
    got["bound: another key in it"] = signs(agent, login(session_a, user, host_b, host_a))
    got["bound: what ssh wanted for another host"] = agent.ask(sign_b)
    got["bound: anything"] = signs(agent, b"anything")
    got["bound: the session alone"] = signs(agent, session_a)
    got["bound: more behind it"] = signs(agent, login(session_a, user, key, host_a) + b"\0")
    got["bound: by a key that is not there"] = signs(agent, login(session_a, user, host_b, host_a), host_b)
    got["bound: no host"] = signs(agent, login(session_a, user, key))
    got["bound: the bind of another host"] = agent.ask(bind_b)
    got["bound: the same bind"] = agent.ask(bind_a)
    got["bound: still the granted one"] = agent.ask(sign_a)

    for what, message in (("another session", bind(session=session_b)), ("the key of another host", bind(host=host_b)),
                          ("a signature cut off", bind(signature=signature_a[:-1])), ("no signature", bind(signature=b"")),
                          ("a key of its own", bind(host=key)), ("more behind it", bind() + b"\0")):
        agent, got["bind: " + what] = bound(message)
        got["bind: " + what + ", and a login"] = agent.ask(sign_a)
    agent, got["bind: forwarded"] = bound(bind(forwarded=b"\1"))
    got["forwarded: not forwarded after all"] = agent.ask(bind_a)
    got["forwarded: a login"] = agent.ask(sign_a)
    got["forwarded: the list"] = agent.ask(bytes([LIST]))

    forger = Forger("hostkey-of-a")
    agent, got["forged: another host's session"] = bound(forger.bind(session_b))
    got["forged: a login that names no host"] = signs(agent, login(session_b, user, key))
    got["forged: a login that names that host"] = signs(agent, login(session_b, user, key, host_b))
    for kind in ("unbound", "host-bound", "yes"):
        got["forged: ssh, " + kind] = forger.ssh(port_b, user, kind)
    forger.process.kill()

    for what, message in (("add", b"\x11" + string(b"ssh-ed25519")), ("remove", b"\x12" + string(key)), ("remove all", b"\x13"), ("lock", b"\x16" + string(b"x")),
                          ("unlock", b"\x17" + string(b"x")), ("add a token", b"\x14" + string(b"/x") + string(b"")), ("query", b"\x1b" + string(b"query")),
                          ("of version 1", b"\x01"), ("unknown", b"\xff")):
        got["other: " + what] = Agent().ask(message)
    got["other: the list with more"] = Agent().ask(bytes([LIST, 0]))

    for what, raw in (("no bytes", struct.pack(">I", 0)), ("too many", struct.pack(">I", (256 << 10) + 1)), ("very many", b"\xff\xff\xff\xff")):
        agent = Agent()
        agent.socket.sendall(raw)
        got["length: " + what] = len(receive(agent.socket))
    agent = Agent()
    got["length: as many as there may be"] = agent.ask(bytes([SIGN]) + bytes((256 << 10) - 1))

    # More connections than there may be: those wait, and each is answered once others go.
    many = [Agent() for _ in range(40)]
    for a in many:
        a.socket.sendall(string(bytes([LIST])))
    answered = 0
    for a in many:
        answered += receive(a.socket)[:1] == b"\x0c"
        a.socket.close()
    got["40 connections"] = answered
    # Several requests at once, and a connection that goes while it is served.
    agent = Agent()
    agent.socket.sendall(string(bytes([LIST])) * 20)
    got["20 requests at once"] = sum(receive(agent.socket)[:1] == b"\x0c" for _ in range(20))
    for _ in range(50):
        agent = Agent()
        agent.socket.sendall(string(bytes([LIST])))
        agent.socket.close()
    got["after 50 that went"] = Agent().ask(bytes([LIST]))
    print(json.dumps(got))


if __name__ == "__main__":
    main()
