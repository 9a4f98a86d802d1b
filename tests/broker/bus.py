# SPDX-License-Identifier: Apache-2.0
"""A session bus with a notification daemon on it, as small as a test needs it.

Bus(path) listens there, speaks D-Bus as far as sd-bus asks (EXTERNAL, Hello, the four methods of
org.freedesktop.Notifications), and keeps what it was asked to show in .shown. What it advertises,
and whether there is a daemon at all, can be set.
"""

import os
import socket
import struct
import threading

CALL, RETURN, ERROR = 1, 2, 3


class Reader:
    def __init__(self, data, order="<"):
        self.data, self.at, self.order = data, 0, order

    def take(self, form, size):
        self.at += -self.at % size
        value, = struct.unpack_from(self.order + form, self.data, self.at)
        self.at += size
        return value

    def text(self, size):
        length = self.take("I", 4) if size == 4 else self.take("B", 1)
        value = self.data[self.at:self.at + length].decode()
        self.at += length + 1
        return value

    def value(self, kind):
        if kind in "ybnqiuxtdh":
            form, size = {"y": ("B", 1), "b": ("I", 4), "n": ("h", 2), "q": ("H", 2), "i": ("i", 4), "u": ("I", 4),
                          "x": ("q", 8), "t": ("Q", 8), "d": ("d", 8), "h": ("I", 4)}[kind]
            return self.take(form, size)
        if kind in ("s", "o"):
            return self.text(4)
        if kind == "g":
            return self.text(1)
        if kind == "v":
            return self.value(self.text(1))
        if kind[0] in "({":
            self.at += -self.at % 8
            return tuple(self.value(part) for part in split(kind[1:-1]))
        length = self.take("I", 4)
        self.at += -self.at % (8 if kind[1] in "({xtd" else 4 if kind[1] not in "yvg" else 1)
        end, items = self.at + length, []
        while self.at < end:
            items.append(self.value(kind[1:]))
        return items


def split(signature):
    """The single types of a signature."""
    parts, at = [], 0
    while at < len(signature):
        end = at
        while signature[end] == "a":
            end += 1
        if signature[end] in "({":
            depth = 0
            while True:
                depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(signature[end], 0)
                if depth == 0:
                    break
                end += 1
        parts.append(signature[at:end + 1])
        at = end + 1
    return parts


def padded(data, size):
    return data + b"\0" * (-len(data) % size)


def text(value):
    value = value.encode()
    return struct.pack("<I", len(value)) + value + b"\0"


def texts(values):
    body = b""
    for value in values:
        body = padded(body, 4) + text(value)
    return struct.pack("<I", len(body)) + body


def message(kind, serial, reply, signature="", body=b"", name=None):
    fields = b""
    for code, sign, value in ((5, "u", struct.pack("<I", reply)), (4, "s", text(name) if name else None),
                              (8, "g", bytes([len(signature)]) + signature.encode() + b"\0" if signature else None)):
        if value is not None:
            fields = padded(fields, 8) + bytes([code, 1]) + sign.encode() + b"\0" + value
    head = struct.pack("<BBBBIII", ord("l"), kind, 1, 1, len(body), serial, len(fields))
    return padded(head + fields, 8) + body


class Bus:
    def __init__(self, path, capabilities=("body", "body-markup"), has_daemon=True):
        self.path, self.capabilities, self.has_daemon = path, capabilities, has_daemon
        self.address = f"unix:path={path}"
        self.shown, self.hangs, self.serial = [], False, 0
        self.connections = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        os.chmod(path, 0o777)
        self.listener.listen(8)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def close(self):
        """The bus is gone, and so are its connections."""
        self.listener.close()
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        os.unlink(self.path)

    def serve(self, connection):
        stream = connection.makefile("rb")
        if stream.read(1) != b"\0":
            return
        for line in iter(stream.readline, b""):
            word = line.split()[0]
            if word == b"AUTH":
                answer = b"OK 0123456789abcdef0123456789abcdef\r\n" if len(line.split()) > 2 else b"DATA\r\n"
            elif word == b"DATA":
                answer = b"OK 0123456789abcdef0123456789abcdef\r\n"
            elif word == b"NEGOTIATE_UNIX_FD":
                answer = b"AGREE_UNIX_FD\r\n"
            else:
                break
            connection.sendall(answer)
        try:
            while self.take(connection, stream):
                pass
        except (OSError, struct.error):
            pass

    def take(self, connection, stream):
        head = stream.read(16)
        if len(head) < 16:
            return False
        order = "<" if head[:1] == b"l" else ">"
        body_len, serial, fields_len = struct.unpack(order + "III", head[4:])
        rest = stream.read(fields_len + -fields_len % 8 + body_len)
        reader = Reader(head + rest, order)
        reader.at = 12
        fields = dict(reader.value("a(yv)"))
        body = Reader(rest[fields_len + -fields_len % 8:], order)
        arguments = [body.value(kind) for kind in split(fields.get(8, ""))]
        self.serial += 1
        if head[1] != CALL or self.hangs and fields[3] == "Notify":
            return True
        connection.sendall(self.answer(serial, fields[3], fields.get(6), arguments))
        return True

    def answer(self, serial, member, destination, arguments):
        if member == "Hello":
            return message(RETURN, self.serial, serial, "s", text(":1.1"))
        if destination == "org.freedesktop.Notifications" and self.has_daemon:
            if member == "GetServerInformation":
                body = b""
                for word in ("testd", "corral", "7", "1.2"):
                    body = padded(body, 4) + text(word)
                return message(RETURN, self.serial, serial, "ssss", body)
            if member == "GetCapabilities":
                return message(RETURN, self.serial, serial, "as", texts(self.capabilities))
            if member == "Notify":
                keys = ("app", "replaces", "icon", "title", "body", "actions", "hints", "expire")
                self.shown.append(dict(zip(keys, arguments)))
                return message(RETURN, self.serial, serial, "u", struct.pack("<I", len(self.shown)))
        return message(ERROR, self.serial, serial, "s", text("The name is not activatable"),
                       "org.freedesktop.DBus.Error.ServiceUnknown")
