#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests to a host with secrets: clients in turn, round after round, and what each way costs beside none.

    bare       no sandbox
    relay      in a sandbox that may connect to the host: TLS goes on to the host as it is
    injector   the same with a secret, which corral-inject puts into each request
    alone      the injector without a sandbox (inject-proxy), with one secret
    1000       the same with 1,000 secrets
    mitmproxy  mitmdump as a reverse proxy that sets the header, where $MITMDUMP names one

$CORRAL, $CORRAL_VAULT, $CORRAL_INJECT and $INJECT_PROXY are the programs. Exit status 1: a target is missed.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROUNDS, REQUESTS, CONNECTIONS, MANY, BULK = 9, 300, 30, 1000, 64 << 20
VALUE = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
# A client: HOST PORT AUTHORITIES HEADER; a line of words in, a line of JSON out.
CLIENT = r"""
import json, os, resource, socket, ssl, sys, time
host, port, authorities, value = sys.argv[1], int(sys.argv[2]), sys.argv[3], os.environ.get("TOKEN") or sys.argv[4]
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
context = ssl.create_default_context(cafile=None if authorities == "-" else authorities)
room = bytearray(1 << 18)
def connect():
    plain = socket.create_connection((host, port), timeout=120)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return context.wrap_socket(plain, server_hostname="127.0.0.1")
def ask(s, path, want):
    s.sendall(("GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nAuthorization: Bearer %s\r\n\r\n" % (path, sys.argv[5], value)).encode())
    got, head = 0, b""
    while b"\r\n\r\n" not in head:
        part = s.recv(65536)
        if not part:
            raise EOFError(head)
        head += part
    if not head.startswith(b"HTTP/1.1 200"):
        raise ValueError(head)
    got = len(head.partition(b"\r\n\r\n")[2])
    while got < want:
        n = s.recv_into(room)
        if not n:
            raise EOFError
        got += n
def kept(n):
    with connect() as s:
        ask(s, "/2", 2)
        times = []
        for _ in range(n):
            start = time.perf_counter()
            ask(s, "/2", 2)
            times.append(time.perf_counter() - start)
    return times
def new(n):
    times = []
    for _ in range(n):
        start = time.perf_counter()
        with connect() as s:
            ask(s, "/2", 2)
        times.append(time.perf_counter() - start)
    return times
def bulk(n):
    with connect() as s:
        start = time.perf_counter()
        ask(s, "/%d" % n, n)
        return [time.perf_counter() - start]
def many(n):
    start, all = time.perf_counter(), []
    for _ in range(n):
        all.append(connect())
    for s in all:
        ask(s, "/2", 2)
    return [time.perf_counter() - start]
for line in sys.stdin:
    word, n = line.split()
    print(json.dumps(globals()[word](int(n))), flush=True)
"""


def serve(folder, wants):
    """A host in a process of its own: GET /N answers N bytes, if the value is there. Its port, and the process."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    if pid := os.fork():
        return listener.getsockname()[1], pid
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "host.crt", folder / "host.key")
    threading.stack_size(256 << 10)
    block = bytes(1 << 18)

    def one(plain):
        with contextlib.suppress(OSError, ValueError, IndexError):
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with context.wrap_socket(plain, server_side=True) as s:
                text = b""
                while True:
                    while b"\r\n\r\n" not in text:
                        part = s.recv(65536)
                        if not part:
                            return
                        text += part
                    head, _, text = text.partition(b"\r\n\r\n")
                    n = int(head.split(b" ")[1][1:])
                    s.sendall((f"HTTP/1.1 {200 if wants in head else 403} x\r\nContent-Length: {n}\r\n\r\n").encode() + b"x" * min(n, 2))
                    for at in range(min(n, 2), n, len(block)):
                        s.sendall(block[:min(len(block), n - at)])

    while True:
        threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()


def certificates(folder):
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=authority")
    (folder / "ext").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl("req", *new, "-keyout", "host.key", "-out", "csr", "-subj", "/CN=x")
    openssl("x509", "-req", "-in", "csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "host.crt", "-days", "2", "-extfile", "ext")


class Way:
    def __init__(self, words, port, authorities, header, host_port, **more):
        self.process = subprocess.Popen([*words, "/usr/bin/python3", "-c", CLIENT, "127.0.0.1", str(port), authorities, header, str(host_port)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **more)

    def ask(self, word, n):
        self.process.stdin.write(f"{word} {n}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline() or "null")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def proxy(folder, port, name, secrets):
    """The injector alone: its process, its port, the placeholder that counts, and how long it took to begin."""
    words = [f"S{i}={VALUE[:-4]}{i:04}" for i in range(secrets - 1)] + [f"TOKEN={VALUE}"]
    start = time.perf_counter()
    process = subprocess.Popen([os.environ["INJECT_PROXY"], "127.0.0.1", str(port), str(port), "ca.pem", f"{name}.pem", *words], cwd=folder,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said = [process.stdout.readline().strip() for _ in range(secrets + 1)]
    return process, int(said[0]), said[-1], time.perf_counter() - start


def mitmproxy(folder, port):
    with socket.create_server(("127.0.0.1", 0)) as free:
        own = free.getsockname()[1]
    process = subprocess.Popen([os.environ["MITMDUMP"], "-q", "--set", f"confdir={folder}/mitm", "--mode", f"reverse:https://127.0.0.1:{port}", "--listen-host",
                                "127.0.0.1", "-p", str(own), "--set", "ssl_insecure=true", "--set", "http2=false",
                                "--modify-headers", f"|~q|Authorization|Bearer {VALUE}"], stdout=subprocess.DEVNULL)
    while process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", own)):
            return process, own
        time.sleep(0.1)
    sys.exit("bench-inject: mitmdump does not start")


def vault(folder, env, host):
    def call(*words, value=""):
        subprocess.run([os.environ["CORRAL"], "vault", *words], input=value, env=env, check=True, text=True, capture_output=True)

    (folder / "passphrase").write_text("correct horse battery\n")
    (folder / "passphrase").chmod(0o600)
    call("init", "--passphrase-file", str(folder / "passphrase"))
    call("unlock", "--passphrase-file", str(folder / "passphrase"))
    shutil.copy(folder / "ca.pem", folder / "state/corral/vault/authorities.pem")
    call("set", "TOKEN", value=VALUE)
    call("grant", "TOKEN", host)


def measure(ways):
    times = {}
    for _ in range(ROUNDS):
        for word, n in (("kept", REQUESTS), ("new", CONNECTIONS), ("bulk", BULK)):
            for name, way in ways.items():
                got = way.ask(word, n)
                if got is None:
                    sys.exit(f"bench-inject: {name}: {word} failed")
                times.setdefault((word, name), []).append(statistics.median(got))
    for name in ("bare", "relay", "injector"):
        times["many", name] = ways[name].ask("many", MANY) or sys.exit(f"bench-inject: {name}: {MANY} connections failed")
    return {key: statistics.median(values) for key, values in times.items()}


def report(times, ways, began):
    print(f"{'':10} {'kept':>10} {'more':>9} {'new':>10} {'more':>9} {'64 MiB':>9} {'MB/s':>7} : bare")
    for name in ways:
        kept, new, bulk = (times[word, name] for word in ("kept", "new", "bulk"))
        print(f"{name:10} {kept * 1e6:7.0f} µs {(kept - times['kept', 'bare']) * 1e6:6.0f} µs {new * 1e3:7.2f} ms {(new - times['new', 'bare']) * 1e3:6.2f} ms "
              f"{bulk:7.3f} s {BULK / bulk / 1e6:7.0f} {times['bulk', 'bare'] / bulk:6.2f}")
    for name in ("bare", "relay", "injector"):
        print(f"{MANY} connections at once, {name:9} {times['many', name]:6.2f} s")
    print(f"the injector begins with 1 secret in {began[0] * 1e3:.0f} ms, with 1,000 in {began[1] * 1e3:.0f} ms")
    missed = 0
    for name, value, target in (("a request on a kept connection : by the relay, µs more", (times["kept", "injector"] - times["kept", "relay"]) * 1e6, 150),
                                ("a new connection : by the relay, ms more", (times["new", "injector"] - times["new", "relay"]) * 1e3, 2),
                                ("64 MiB by the relay : by the injector, at most", times["bulk", "injector"] / times["bulk", "relay"], 2)):
        missed += value > target
        print(f"{name:55} {value:8.2f} (target {target}){' MISSED' if value > target else ''}")
    return missed > 0


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="bi-")).resolve()
    ended, ways, hosts = [], {}, []
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), **{f"XDG_{n}": str(folder / n.split("_")[0].lower()) for n in ("STATE_HOME", "RUNTIME_DIR", "CACHE_HOME")},
           **{n: os.environ[n] for n in ("CORRAL_VAULT", "CORRAL_INJECT")}}
    try:
        certificates(folder)
        (folder / "work").mkdir()
        hosts = [serve(folder, VALUE.encode()), serve(folder, b"Authorization: Bearer")]
        port, free = (port for port, _ in hosts)
        place = f"127.0.0.1:{port}"
        vault(folder, env, place)
        inside = {"env": env, "cwd": folder / "work"}
        corral = os.environ["CORRAL"]
        ways["bare"] = Way([], port, str(folder / "ca.pem"), VALUE, port)
        shutil.copy(folder / "ca.pem", folder / "work")
        ways["relay"] = Way([corral, "run", "--net", f"127.0.0.1:{free}", "--"], free, "ca.pem", "x", free, **inside)
        ways["injector"] = Way([corral, "run", "--secret", "TOKEN", "--"], port, "-", "", port, **inside)
        began = []
        for name, secrets in (("alone", 1), ("1000", 1000)):
            process, own, text, took = proxy(folder, port, name, secrets)
            ended.append(process)
            began.append(took)
            ways[name] = Way([], own, str(folder / f"{name}.pem"), text, port)
        if os.environ.get("MITMDUMP"):
            process, own = mitmproxy(folder, port)
            ended.append(process)
            ways["mitmproxy"] = Way([], own, str(folder / "mitm/mitmproxy-ca-cert.pem"), "x", port)
        else:
            print("mitmproxy  skipped: $MITMDUMP names no mitmdump (pip install mitmproxy==11.0.2)")
        return report(measure(ways), ways, began)
    finally:
        for way in ways.values():
            way.end()
        for process in ended:
            process.kill()
        subprocess.run([os.environ["CORRAL"], "vault", "lock"], env=env, check=False)
        shutil.rmtree(folder, ignore_errors=True)
        for _, pid in hosts:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


if __name__ == "__main__":
    sys.exit(main())
