"""Descriptors that other processes cannot open by a path, as those of CUDA's memory: handed out over a socket.

A thread of the process that has such a descriptor gives a copy to whoever knows its token, and runs as the same user.
The socket is in Linux's abstract namespace: no file, and gone with the process, however it ends.
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
import threading
from typing import NamedTuple

TOKEN_BYTES = 16
TIMEOUT = 60.0  # seconds; of one exchange


class Address(NamedTuple):
    """Of a descriptor of the process `pid`."""

    pid: int
    name: bytes
    token: bytes


class Server:
    """Of one process."""

    def __init__(self):
        self.pid = os.getpid()
        self._served: dict[bytes, int] = {}
        self._name = b"\0ramet-" + secrets.token_hex(TOKEN_BYTES).encode()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(self._name)
        self._socket.listen(128)
        threading.Thread(target=self._run, name="ramet-descriptors", daemon=True).start()

    def serve(self, fd: int) -> Address:
        token = secrets.token_bytes(TOKEN_BYTES)
        self._served[token] = fd
        return Address(self.pid, self._name, token)

    def stop(self, address: Address) -> None:
        self._served.pop(address.token, None)

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.settimeout(TIMEOUT)
                    self._answer(connection)
                except OSError:
                    continue  # whoever asked is gone

    def _answer(self, connection: socket.socket) -> None:
        said = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        if struct.unpack("3i", said)[1] not in (0, os.getuid()):
            return
        token = _received(connection, TOKEN_BYTES)
        fd = self._served.get(token)
        if fd is not None:
            socket.send_fds(connection, [token], [fd])


_server: Server | None = None
_starting = threading.Lock()


def serve(fd: int) -> Address:
    """Hands out `fd`, which stays open, until stop()."""
    global _server
    with _starting:
        if _server is None or _server.pid != os.getpid():  # a fork has no thread
            _server = Server()
        return _server.serve(fd)


def stop(address: Address) -> None:
    if _server is not None and _server.pid == address.pid:
        _server.stop(address)


def fetch(address: Address) -> int:
    """A descriptor of the caller's own. FileNotFoundError where it is not handed out any more."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.settimeout(TIMEOUT)
            connection.connect(address.name)
            connection.sendall(address.token)
            said, fds, _, _ = socket.recv_fds(connection, TOKEN_BYTES, 1)
        except OSError as error:
            raise FileNotFoundError(
                error.errno, f"the process {address.pid} that owns this memory cannot be reached ({error})"
            ) from None
    if said != address.token or len(fds) != 1:
        raise FileNotFoundError(f"the process {address.pid} does not hand out this memory any more")
    return fds[0]


def _received(connection: socket.socket, size: int) -> bytes:
    said = b""
    while len(said) < size:
        more = connection.recv(size - len(said))
        if not more:
            break
        said += more
    return said
