# SPDX-License-Identifier: Apache-2.0
"""Calls the broker of a Corral sandbox, from a program that runs inside.

    from corral_broker import Client, PermissionDenied

    with Client() as broker:
        print(broker.call("fs.read", path="/srv/data/report.csv")["content"])
        broker.fs_write(path="out.bin", content=b"\\x00\\x01")
        result = broker.exec_run(command="git", args=["log", "-1"])
        try:
            broker.network_http(url="https://api.example.com/")
        except PermissionDenied as error:
            print(error, error.allowed)

`broker.fs_read(…)` is `broker.call("fs.read", …)`; a name of AgenShield's, file_read, is called as it
is. Values that are bytes go as base64; `data()` gives the bytes of a result. docs/broker.md of Corral
has all methods. Python 3.8 or newer, no other module is needed.
"""

import base64
import json
import os
import socket
import threading

__all__ = [
    "Client", "BrokerError", "PermissionDenied", "ScopeDenied", "RateLimited", "TimedOut",
    "ServiceUnavailable", "NetworkError", "PathError", "BadCall", "ProtocolError", "data",
]

# The longest line of an answer. Whoever answers is outside of this program.
LINE_MAX = 64 << 20
# Corral's names have a dot behind these.
GROUPS = ("fs", "network", "exec", "env", "browser")


class BrokerError(Exception):
    """A call failed. `code`, `message` and `data` are those of the answer."""

    def __init__(self, message, code=-32603, data=None):
        super().__init__(message)
        self.message = message
        self.code = code
        self.data = data if isinstance(data, dict) else {}

    @property
    def hint(self):
        """What to do; None: nothing is known."""
        return self.data.get("hint")

    @property
    def allowed(self):
        """What is allowed instead."""
        return self.data.get("allowed", [])


class PermissionDenied(BrokerError):
    """The policy does not allow it (-32001)."""


class ScopeDenied(PermissionDenied):
    """The permission is there, but not for this target (-32002)."""


class RateLimited(BrokerError):
    """Too many calls (-32003)."""


class TimedOut(BrokerError):
    """It took too long (-32004), or no answer came in time."""


class ServiceUnavailable(BrokerError):
    """There is no such service, or no broker (-32005)."""


class NetworkError(BrokerError):
    """The connection or the server failed (-32006)."""


class PathError(BrokerError):
    """The file is not there, or is not what it should be (-32007)."""


class BadCall(BrokerError):
    """The method or a parameter is wrong."""


class ProtocolError(BrokerError):
    """The broker's answer was not understood."""


# By the class that `data` has; codes alone do not tell for AgenShield's names.
_CLASSES = {
    "parse": BadCall, "request": BadCall, "method": BadCall, "parameters": BadCall,
    "permission": PermissionDenied, "channel": PermissionDenied, "scope": ScopeDenied,
    "rate": RateLimited, "timeout": TimedOut, "service": ServiceUnavailable,
    "network": NetworkError, "path": PathError,
}
_CODES = {
    -32700: BadCall, -32600: BadCall, -32601: BadCall, -32602: BadCall, -32001: PermissionDenied,
    -32002: ScopeDenied, -32003: RateLimited, -32004: TimedOut, -32005: ServiceUnavailable,
    -32006: NetworkError, -32007: PathError,
}


def data(result, field="content"):
    """The bytes of a field of a result, however they were written."""
    text, encoding = result[field], result.get("encoding", "utf-8")
    if encoding == "base64":
        return base64.b64decode(text, validate=True)
    if encoding == "hex":
        return bytes.fromhex(text)
    return text.encode("utf-8")


def _error(answer):
    error = answer.get("error")
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        return ProtocolError("the broker's answer is not an answer")
    extra = error.get("data") if isinstance(error.get("data"), dict) else {}
    kind = _CLASSES.get(extra.get("class")) or _CODES.get(error["code"], BrokerError)
    return kind(str(error.get("message", "")), error["code"], extra)


def _params(params):
    """Bytes become base64, and the call says so."""
    params = {name: value for name, value in params.items() if value is not None}
    found = [name for name, value in params.items() if isinstance(value, (bytes, bytearray))]
    if found and "encoding" in params:
        raise BadCall("bytes are sent as base64: leave `encoding` out", -32602)
    for name in found:
        params[name] = base64.b64encode(params[name]).decode("ascii")
    if found:
        params["encoding"] = "base64"
    return params


def _line(request):
    # Strict JSON: no NaN, no lone surrogates.
    return json.dumps(request, ensure_ascii=False, allow_nan=False).encode("utf-8") + b"\n"


class Client:
    """One connection to the broker. One call at a time; threads wait for each other."""

    def __init__(self, path=None, timeout=None):
        """path: of the socket; SANDBOX_SOCKET if not given. timeout: seconds for each answer."""
        self._lock = threading.Lock()
        self._next = 0
        self._rest = bytearray()
        path = path or os.environ.get("SANDBOX_SOCKET")
        if not path:
            raise ServiceUnavailable("there is no broker: SANDBOX_SOCKET is not set", -32005,
                                     {"hint": "run the command with `corral run --broker`"})
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise ServiceUnavailable(f"the broker at {path} cannot be reached: {error}", -32005) from error

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, method, /, on_note=None, **params):
        """Calls a method and gives its result, a dict. on_note(name, params): notifications."""
        with self._lock:
            self._next += 1
            request = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": _params(params)}
            self._send(_line(request))
            answer = self._answer(self._next, on_note)
        if "error" in answer:
            raise _error(answer)
        return answer["result"]

    def notify(self, method, /, **params):
        """Calls a method without waiting, or hearing, what comes of it."""
        with self._lock:
            self._send(_line({"jsonrpc": "2.0", "method": method, "params": _params(params)}))

    def batch(self, calls):
        """Calls many at once: [(method, params), …]. Gives a list of results; what failed is its
        exception."""
        with self._lock:
            first = self._next + 1
            requests = [{"jsonrpc": "2.0", "id": first + place, "method": method, "params": _params(params)}
                        for place, (method, params) in enumerate(calls)]
            if not requests:
                return []
            self._next += len(requests)
            self._send(_line(requests))
            answers = self._answer(None, None)
        if not isinstance(answers, list):
            raise _error(answers)
        by_id = {answer.get("id"): answer for answer in answers if isinstance(answer, dict)}
        return [self._outcome(by_id.get(first + place)) for place in range(len(requests))]

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        group, _, rest = name.partition("_")
        method = f"{group}.{rest}" if rest and group in GROUPS else name
        return lambda on_note=None, **params: self.call(method, on_note=on_note, **params)

    @staticmethod
    def _outcome(answer):
        if answer is None:
            return ProtocolError("the broker did not answer this call")
        return _error(answer) if "error" in answer else answer.get("result")

    def _send(self, line):
        try:
            self._socket.sendall(line)
        except socket.timeout as error:
            raise self._lost(TimedOut("the broker did not take the call in time", -32004)) from error
        except OSError as error:
            raise self._lost(ServiceUnavailable("the broker has ended", -32005)) from error

    def _lost(self, error):
        """What comes after this could be taken for the answer to another call."""
        self.close()
        return error

    def _read_line(self):
        scanned = 0
        while True:
            end = self._rest.find(b"\n", scanned)
            if end >= 0:
                line = bytes(self._rest[:end])
                del self._rest[:end + 1]
                return line
            scanned = len(self._rest)
            if scanned > LINE_MAX:
                raise self._lost(ProtocolError("the broker's answer is too long"))
            try:
                piece = self._socket.recv(1 << 16)
            except socket.timeout as error:
                raise self._lost(TimedOut("the broker did not answer in time", -32004)) from error
            except OSError as error:
                raise self._lost(ServiceUnavailable("the broker has ended", -32005)) from error
            if not piece:
                raise self._lost(ServiceUnavailable("the broker has ended, or closed the connection", -32005))
            self._rest += piece

    def _answer(self, number, on_note):
        """The answer with this number; None: a batch's. Notes before it go to on_note."""
        while True:
            try:
                answer = json.loads(self._read_line().decode("utf-8"))
            except (ValueError, RecursionError) as error:
                raise self._lost(ProtocolError("the broker's answer is no JSON")) from error
            if number is None and isinstance(answer, list):
                return answer
            if not isinstance(answer, dict) or answer.get("jsonrpc") != "2.0":
                raise self._lost(ProtocolError("the broker's answer is not an answer"))
            if isinstance(answer.get("method"), str):
                if on_note:
                    on_note(answer["method"], answer.get("params"))
                continue
            refused = "error" in answer and answer.get("id") is None
            if refused or (answer.get("id") == number and isinstance(answer.get("result"), dict)) or (
                    answer.get("id") == number and "error" in answer):
                return answer
            raise self._lost(ProtocolError("the broker's answer is one to another call"))
