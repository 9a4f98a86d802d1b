# SPDX-License-Identifier: Apache-2.0
"""Clients that others wrote, and how each reaches a server.

A row is run bare, and five times inside:

    granted         as bare: the same status, the same output
    another host    only an unrelated name is granted: the name does not exist
    another port    the name is granted, on port 1
    its address     the name is granted, and its address is what the client asks for
    no network      nothing is granted

The last four must fail, soon, with nothing of the answer seen, and be told to the caller. {host}
and {port} are what the client is told, literal is the address it has; {pub} has its files.
"""

import collections

from world import DATABASE, ECHO, GIT, NAME, WEB, WEB6

Row = collections.namedtuple(
    "Row", "name run host port literal see needs udp extra says waits",
    defaults=((), False, (), "", False))
# see: in the output if it worked. needs: programs. udp: by datagrams. extra: grants beside. says: what
# Corral itself writes to standard error. waits: for half a minute, since without a network musl takes its
# time for a name, although it cannot send.


def web(name, run, port=443, see="web HTTP", literal=WEB, host="web.example.com", **more):
    return Row(name, run, host, port, literal, see, **more)


def echo(name, run, port, see, **more):
    return Row(name, run, "echo.example.com", port, ECHO, see, **more)


NEW_REPOSITORY = ("corral: the command created r/.git (git runs its hooks and commands): "
                  "review it first\n")
CURL = "curl -sS "
PYTHON = "/usr/bin/python3 {pub}/client.py "
SSH = ("ssh -F /dev/null -i {ws}/key -o UserKnownHostsFile={pub}/known -o BatchMode=yes "
       "-o ConnectTimeout=60 -o IdentitiesOnly=yes -o GlobalKnownHostsFile=/dev/null")

ROWS = [
    web("curl, plain HTTP", CURL + "http://{host}:{port}/", port=80, see="web HTTP/1.1"),
    web("curl, HTTP/1.1 over TLS", CURL + "--http1.1 https://{host}:{port}/", see="web HTTP/1.1"),
    web("curl, HTTP/2", CURL + "--http2 https://{host}:{port}/", see="web HTTP/2.0"),
    web("curl -4", CURL + "-4 https://{host}:{port}/"),
    web("curl -6", CURL + "-6 https://{host}:{port}/", literal=f"[{WEB6}]"),
    web("curl, a name that has only IPv6", CURL + "https://{host}:{port}/", host="v6.example.com",
        literal=f"[{WEB6}]"),
    web("curl, a name that is an alias", CURL + "https://{host}:{port}/", host="chain.example.com"),
    web("curl, a name with more addresses than a datagram holds", CURL + "https://{host}:{port}/",
        host="many.example.com"),
    web("curl, a name of another alphabet", CURL + "https://{host}:{port}/",
        host="bücher.example.com"),
    web("wget", "wget -q -O - --ca-certificate={pub}/ca.pem --tries=1 --timeout=60 "
        "https://{host}:{port}/", needs=("wget",)),
    web("python3, urllib", PYTHON + "urllib {host} {port}"),
    web("python3, requests", PYTHON + "requests {host} {port}"),
    echo("python3, asyncio streams", PYTHON + "asyncio {host} {port}", 7, "asyncio streams"),
    echo("python3, a name in /etc/hosts", PYTHON + "asyncio {host} {port}", 7, "asyncio streams")
    ._replace(host="listed.example.com"),
    echo("python3, datagrams", PYTHON + "udp {host} {port}", 7, "datagram True", udp=True),
    echo("python3, large datagrams", PYTHON + "udp_large {host} {port}", 7, "40960 True", udp=True),
    echo("python3, NTP", PYTHON + "ntp {host} {port}", 123, "time True", udp=True),
    web("node, fetch", "node {pub}/client.js fetch {host} {port}", needs=("node",)),
    echo("node, net", "node {pub}/client.js net {host} {port}", 7, "node net", needs=("node",)),
    web("node, tls", "node {pub}/client.js tls {host} {port}", needs=("node",)),
    web("C, plain", "{pub}/client plain {host} {port}", port=80),
    web("C, a socket that is in epoll before it is connected", "{pub}/client epoll {host} {port}",
        port=80),
    web("C, static with musl", "{pub}/client-musl plain {host} {port}", port=80,
        needs=("musl-gcc",), waits=True),
    web("C, static with musl, epoll", "{pub}/client-musl epoll {host} {port}", port=80,
        needs=("musl-gcc",), waits=True),
    web("Go, static, its own resolver", "{pub}/client-go {host} {port}", needs=("go",)),
    web("Java", "java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp {pub} Client {host} {port}",
        port=80, needs=("javac",)),
    echo("gRPC", "/usr/bin/python3 {pub}/rpc.py call {host}:{port}", 50051, "hello rpc"),
    Row("git clone over https", "git clone -q https://{host}:{port}/repo.git r && cat r/file",
        "git.example.com", 443, GIT, "content", says=NEW_REPOSITORY),
    Row("git clone over ssh", "install -m 600 {pub}/key {ws}/key && GIT_SSH_COMMAND='" + SSH +
        "' git clone -q ssh://" + NAME + "@{host}:{port}{run}/git/repo.git r && cat r/file",
        "git.example.com", 22, GIT, "content", needs=("ssh",), says=NEW_REPOSITORY),
    Row("psql", "PGCONNECT_TIMEOUT=60 psql -X -A -t -h {host} -p {port} -U agent -d postgres -c "
        "\"select 'rows: ' || count(*) from generate_series(1, 7)\"",
        "db.example.com", 5432, DATABASE, "rows: 7", needs=("psql",)),
    Row("redis-cli", "redis-cli -h {host} -p {port} incr counter >/dev/null && "
        "redis-cli -e -h {host} -p {port} ping",
        "db.example.com", 6379, DATABASE, "PONG", needs=("redis-cli",)),
]
