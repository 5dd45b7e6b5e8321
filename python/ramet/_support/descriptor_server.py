"""Descriptors that other processes cannot open by a path, as those of CUDA's memory: handed out over a socket.

A thread of the process that has such a descriptor gives a copy to whoever knows its token, and runs as the same user.
The socket is in Linux's abstract namespace: no file, and gone with the process, however it ends. A forked child has
neither the thread nor the socket, and what it hands out itself it hands out by its own.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import selectors
import socket
import struct
import threading
import time
from typing import NamedTuple

TOKEN_BYTES = 16
TIMEOUT = 60.0  # seconds; of one exchange
PAUSE = 0.02  # seconds, until a connection is accepted for which there was no room, of files or memory
REFUSAL = struct.Struct("i")  # in place of the token: the errno for which the descriptor could not be sent
CLOSED = (errno.EBADF, errno.ENOTSOCK, errno.EINVAL)  # of accept(): by somebody who closes all that is open


class Address(NamedTuple):
    """The address of a descriptor of the process `pid`."""

    pid: int
    name: bytes
    token: bytes


class Server:
    """The server of one process. One thread serves all peers, and none waits for another."""

    def __init__(self):
        self.pid = os.getpid()
        self._served: dict[bytes, int] = {}
        self._sending = threading.Lock()  # so that none is sent that is not handed out any more
        self._name = b"\0ramet-" + secrets.token_hex(TOKEN_BYTES).encode()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(self._name)
        self._socket.listen(128)
        self._socket.setblocking(False)
        self._peers: dict[socket.socket, float] = {}  # who has said nothing yet, and until when they may
        self._ready = selectors.PollSelector()  # which has no descriptor that a fork would share
        self._ready.register(self._socket, selectors.EVENT_READ)
        threading.Thread(target=self._run, name="ramet-descriptors", daemon=True).start()

    def serve(self, fd: int) -> Address:
        token = secrets.token_bytes(TOKEN_BYTES)
        self._served[token] = fd
        return Address(self.pid, self._name, token)

    def stop(self, address: Address) -> None:
        with self._sending:
            self._served.pop(address.token, None)

    def close_in_child(self) -> None:
        """A forked child's copies: as long as these are open, peers of a parent that has ended wait for it."""
        for connection in [self._socket, *self._peers]:
            connection.close()

    def _run(self) -> None:
        while True:
            for ready, _ in self._ready.select(self._patience()):
                if isinstance(ready.fileobj, socket.socket) and ready.fileobj is not self._socket:
                    self._answer(ready.fileobj)
                elif not self._accept():
                    return _forget(self)
            for silent in [peer for peer, until in self._peers.items() if until < time.monotonic()]:
                self._leave(silent)

    def _patience(self) -> float | None:
        return max(min(self._peers.values()) - time.monotonic(), 0) if self._peers else None

    def _accept(self) -> bool:
        """False if no peer can connect any more."""
        try:
            peer, _ = self._socket.accept()
        except BlockingIOError:  # the peer has gone again
            return True
        except OSError as error:
            time.sleep(PAUSE)
            return error.errno not in CLOSED
        if not is_of_this_user(peer):
            peer.close()
            return True
        peer.setblocking(False)
        self._peers[peer] = time.monotonic() + TIMEOUT
        self._ready.register(peer, selectors.EVENT_READ)
        return True

    def _answer(self, peer: socket.socket) -> None:
        with contextlib.suppress(OSError):  # whoever asked is gone
            token = peer.recv(TOKEN_BYTES)  # sent in one piece
            try:
                with self._sending:
                    if token in self._served:
                        socket.send_fds(peer, [token], [self._served[token]])
            except OSError as error:
                peer.send(REFUSAL.pack(error.errno or 0))
        self._leave(peer)

    def _leave(self, peer: socket.socket) -> None:
        self._ready.unregister(peer)
        del self._peers[peer]
        with contextlib.suppress(OSError):  # it has left before
            peer.shutdown(socket.SHUT_RDWR)  # also where a child that was forked just now has a copy
        peer.close()


_server: Server | None = None
_starting = threading.Lock()


def _begin_child() -> None:
    global _server, _starting
    _starting = threading.Lock()  # another thread may have held it
    if _server is not None:
        _server.close_in_child()
        _server = None


os.register_at_fork(after_in_child=_begin_child)


def serve(fd: int) -> Address:
    """Hands out `fd`, which stays open, until stop()."""
    global _server
    with _starting:
        if _server is None:
            _server = Server()
        return _server.serve(fd)


def _forget(server: Server) -> None:
    """The next to be handed out begins a new one."""
    global _server
    with _starting:
        if _server is server:
            _server = None


def stop(address: Address) -> None:
    if _server is not None and _server.pid == address.pid:
        _server.stop(address)


def fetch(address: Address) -> int:
    """A descriptor of the caller's own. FileNotFoundError where it is not handed out any more, and where the process
    that does so cannot be reached."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.settimeout(TIMEOUT)
            connection.connect(address.name)
            connection.sendall(address.token)
            said, fds, flags, _ = socket.recv_fds(connection, TOKEN_BYTES, 1)
        except OSError as error:
            raise FileNotFoundError(
                error.errno, f"the process {address.pid} that owns this memory cannot be reached ({error})"
            ) from None
    if said == address.token and len(fds) == 1:
        return fds[0]
    for fd in fds:
        os.close(fd)
    if flags & socket.MSG_CTRUNC:
        raise OSError(errno.EMFILE, f"{os.strerror(errno.EMFILE)}: no room for the descriptor of process {address.pid}")
    if len(said) == REFUSAL.size:
        (why,) = REFUSAL.unpack(said)
        raise OSError(why, f"the process {address.pid} could not send its descriptor: {os.strerror(why)}")
    raise FileNotFoundError(f"the process {address.pid} does not hand out this memory any more")


def is_of_this_user(peer: socket.socket) -> bool:
    said = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", said)[1] in (0, os.getuid())
