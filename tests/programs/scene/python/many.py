# SPDX-License-Identifier: Apache-2.0
"""What programs in Python use of the system, each answer on one line."""
import asyncio
import json
import multiprocessing
import os
import pathlib
import shutil
import signal
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import shared_memory


def square(n):
    return n * n


def processes():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print("pool:", pool.map(square, range(5)))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        print("spawn:", list(pool.map(square, range(3))))
    block = shared_memory.SharedMemory(create=True, size=16)
    block.buf[0] = 42
    other = shared_memory.SharedMemory(block.name)
    print("shared memory:", other.buf[0])
    other.close()
    block.close()
    block.unlink()
    result = subprocess.run(["sh", "-c", "echo to stdout; exit 3"], stdout=subprocess.PIPE, text=True)
    print("subprocess:", result.returncode, result.stdout.strip())
    sleeper = subprocess.Popen(["sleep", "60"], start_new_session=True)
    os.killpg(sleeper.pid, signal.SIGKILL)
    print("killed:", sleeper.wait())


def threads():
    lock, done = threading.Lock(), []
    with ThreadPoolExecutor(8) as pool:
        for n in pool.map(square, range(100)):
            with lock:
                done.append(n)
    print("threads:", len(done))


def files():
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name, "a", "b")
        path.parent.mkdir()
        path.write_text("text")
        shutil.copytree(path.parent, pathlib.Path(name, "c"))
        print("files:", sorted(p.name for p in pathlib.Path(name).rglob("*")))
    with tempfile.TemporaryFile() as file:
        print("temporary:", file.write(b"1234"))


def database():
    with sqlite3.connect("made.db") as base:
        base.execute("pragma journal_mode=wal")
        base.execute("create table t (a, b)")
        base.executemany("insert into t values (?, ?)", [(n, n * n) for n in range(10)])
        print("sqlite:", base.execute("select sum(b) from t").fetchone()[0])
    base.close()


async def echo(reader, writer):
    writer.write((await reader.readline()).upper())
    await writer.drain()
    writer.close()


async def sockets():
    for host in "127.0.0.1", "localhost":
        server = await asyncio.start_server(echo, host, 0)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"hello\n")
        print("socket:", host, (await reader.readline()).decode().strip())
        writer.close()
        server.close()
    child = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    print("asyncio:", (await child.communicate(b"through a pipe"))[0].decode())


def main():
    processes()
    threads()
    files()
    database()
    asyncio.run(sockets())
    print("ssl:", ssl.create_default_context().verify_mode.name)
    print("json:", json.dumps({"utf-8": "ä", "n": 1}, ensure_ascii=False), sys.stdout.encoding)


if __name__ == "__main__":
    main()
