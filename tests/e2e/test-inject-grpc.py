#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gRPC through the injector, by python3-grpcio on both sides: calls of each kind, with a token in their metadata. Prints TAP."""

import concurrent.futures
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import h2_peers  # noqa: E402
from broker_tap import end, ok, skip  # noqa: E402

PROXY = os.path.abspath(os.environ["INJECT_PROXY"])
VALUE = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
STARS = "*" * len(VALUE)
PATIENCE_S = 60


class Service:
    """Messages are bytes. Each answer has what came in the metadata."""

    def token(self, context):
        token = dict(context.invocation_metadata()).get("authorization", "")
        context.send_initial_metadata((("x-head", token),))
        context.set_trailing_metadata((("x-tail", token),))
        return token.encode()

    def unary(self, message, context):
        return self.token(context) + b": " + message

    def gathers(self, messages, context):
        token = self.token(context)
        return token + b": " + b",".join(messages)

    def streams(self, message, context):
        token = self.token(context)
        for i in range(int(message)):
            yield b"%d: %s" % (i, token)

    def talks(self, messages, context):
        token = self.token(context)
        for message in messages:
            yield token + b": " + message

    def fails(self, _, context):
        context.abort(grpc.StatusCode.NOT_FOUND, "nothing for " + self.token(context).decode())

    def waits(self, _, context):
        self.token(context)
        done = queue.Queue()
        context.add_callback(lambda: done.put(self.ended.put("ended")))
        self.begun.put("begun")
        done.get(timeout=PATIENCE_S)
        return b""

    def __init__(self):
        self.begun, self.ended = queue.Queue(), queue.Queue()

    def handler(self):
        kinds = {"unary": grpc.unary_unary_rpc_method_handler, "gathers": grpc.stream_unary_rpc_method_handler, "streams": grpc.unary_stream_rpc_method_handler,
                 "talks": grpc.stream_stream_rpc_method_handler, "fails": grpc.unary_unary_rpc_method_handler, "waits": grpc.unary_unary_rpc_method_handler}
        return grpc.method_handlers_generic_handler("test.Service", {name: kind(getattr(self, name)) for name, kind in kinds.items()})


def calls(channel, metadata):
    more = {"metadata": metadata, "timeout": PATIENCE_S}
    call = channel.unary_unary("/test.Service/unary").with_call(b"hello", **more)
    ok(call[0] == f"Bearer {STARS}: hello".encode(), "a call: the host has the token, and the answer stars", call)
    ends = (dict(call[1].initial_metadata()).get("x-head"), dict(call[1].trailing_metadata()).get("x-tail"))
    ok(ends == (f"Bearer {STARS}",) * 2, "in metadata before and behind it, too", ends)
    got = channel.stream_unary("/test.Service/gathers")(iter(b"%d" % i for i in range(200)), **more)
    ok(got == f"Bearer {STARS}: ".encode() + b",".join(b"%d" % i for i in range(200)), "a stream of messages to the host", got[:200])
    got = list(channel.unary_stream("/test.Service/streams")(b"500", **more))
    ok(got == [b"%d: Bearer %s" % (i, STARS.encode()) for i in range(500)], "a stream of messages from it", len(got), got[:3])
    # Each message is asked for by the one before: none waits for another.
    said, got = queue.Queue(), []
    for message in channel.stream_stream("/test.Service/talks")(iter(said.get, None), **more) if not said.put(b"0") else ():
        got.append(message)
        said.put(b"%d" % len(got) if len(got) < 100 else None)
    ok(got == [f"Bearer {STARS}: {i}".encode() for i in range(100)], "messages in turn", len(got), got[:3])
    large = os.urandom(1 << 20)
    got = channel.unary_unary("/test.Service/unary")(large, **more)
    ok(got == f"Bearer {STARS}: ".encode() + large, "a large one", len(got))
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda i: channel.unary_unary("/test.Service/unary")(b"%d" % i, **more), range(200)))
    ok(found == [f"Bearer {STARS}: {i}".encode() for i in range(200)], "many at once", found[:3])


def ends(channel, metadata, service):
    try:
        channel.unary_unary("/test.Service/fails")(b"", metadata=metadata, timeout=PATIENCE_S)
        ok(False, "an error comes as one")
    except grpc.RpcError as error:
        ok(error.code() == grpc.StatusCode.NOT_FOUND and error.details() == f"nothing for Bearer {STARS}", "an error comes as one, masked", error)
    call = channel.unary_unary("/test.Service/waits").future(b"", metadata=metadata, timeout=PATIENCE_S)
    service.begun.get(timeout=PATIENCE_S)
    gave_up = call.cancel()
    ok(gave_up and service.ended.get(timeout=PATIENCE_S) == "ended", "the host hears that the client gave up")
    try:
        channel.unary_unary("/test.Service/unary")(b"hello" * 999, metadata=metadata, timeout=PATIENCE_S, compression=grpc.Compression.Gzip)
        ok(True, "a compressed request passes")
    except grpc.RpcError as error:
        ok(False, "a compressed request passes", error)


def compressed(place_for, metadata):
    """A host that compresses although that was not asked for."""
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), compression=grpc.Compression.Gzip)
    with place_for(server, Service()) as (channel, token):
        try:
            got = channel.unary_unary("/test.Service/unary")(b"hello" * 999, metadata=metadata(token), timeout=PATIENCE_S)
            ok(False, "a compressed answer is refused", got[:80])
        except grpc.RpcError as error:
            ok(error.code() == grpc.StatusCode.PERMISSION_DENIED, "a compressed answer is refused", error)


class Place:
    def __init__(self, folder, server, service):
        server.add_generic_rpc_handlers((service.handler(),))
        key, chain = ((folder / name).read_bytes() for name in ("host.key", "host.crt"))
        self.server, self.port = server, server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, chain)]))
        server.start()
        self.proxy = subprocess.Popen([PROXY, "127.0.0.1", str(self.port), str(self.port), "ca.pem", "injector.pem", f"TOKEN={VALUE}"], cwd=folder,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        port, self.token = int(self.proxy.stdout.readline()), self.proxy.stdout.readline().strip()
        credentials = grpc.ssl_channel_credentials((folder / "injector.pem").read_bytes())
        self.channel = grpc.secure_channel(f"127.0.0.1:{port}", credentials, options=[("grpc.default_authority", f"127.0.0.1:{self.port}")])

    def __enter__(self):
        return self.channel, self.token

    def __exit__(self, *_):
        self.channel.close()
        self.server.stop(None)
        self.proxy.stdin.close()
        self.proxy.wait()


def main():
    if missing:
        skip("gRPC", missing)
        return end()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="ig-")).resolve()
    try:
        h2_peers.certificates(folder)
        service = Service()

        def metadata(token):
            return (("authorization", f"Bearer {token}"),)

        with Place(folder, grpc.server(concurrent.futures.ThreadPoolExecutor(32)), service) as (channel, token):
            calls(channel, metadata(token))
            ends(channel, metadata(token), service)
        compressed(lambda server, service: Place(folder, server, service), metadata)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return end()


if __name__ == "__main__":
    missing = h2_peers.again("grpc")
    if not missing:
        import grpc
    status = main()
    sys.stdout.flush()
    os._exit(status)  # threads of grpcio would wait for calls that are not made any more
