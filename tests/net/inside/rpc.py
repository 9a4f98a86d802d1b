#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rpc.py serve ADDRESS:PORT | call HOST:PORT: gRPC without generated code: bytes in, bytes out."""

import sys
from concurrent import futures

import grpc

METHOD = "/corral.Test/Greet"


class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        if details.method != METHOD:
            return None
        return grpc.unary_unary_rpc_method_handler(lambda request, context: b"hello " + request)


def serve(place):
    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[Handler()])
    server.add_insecure_port(place)
    server.start()
    server.wait_for_termination()


def call(place):
    with grpc.insecure_channel(place) as channel:
        try:
            print(channel.unary_unary(METHOD)(b"rpc", timeout=60).decode())
        except grpc.RpcError as error:
            sys.exit(f"{error.code().name}: {error.details()}")


{"serve": serve, "call": call}[sys.argv[1]](sys.argv[2])
