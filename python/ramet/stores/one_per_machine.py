"""One graph per machine: processes of a user that ask for a graph of the same content get one copy of it.

The content's hash is a name of a socket in Linux's abstract namespace: no file, and gone with its last descriptor,
however processes end. Who gets the name makes the graph. All others connect, and wait for two descriptors: of the
graph's memory, and of the listening socket, so that each that has the graph hands it out, too. Where the first ends
before the graph is made, one of those that wait makes it.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import select
import socket
import threading
import time
import weakref
from collections.abc import Callable

from ramet import _core
from ramet._support.descriptor_server import is_of_this_user
from ramet.graph import Graph

HERE, MAKING, REFUSED = b"h", b"m", b"r"  # what comes with descriptors; before them; instead of them
BACKLOG = 128
PAUSE = 0.02  # seconds, until a name is asked for again
PATIENCE = 30.0  # seconds, for an answer: a process that was stopped gives none

_graphs: weakref.WeakValueDictionary[bytes, Graph] = weakref.WeakValueDictionary()
_making = threading.Lock()
_open: weakref.WeakSet = weakref.WeakSet()  # sockets, and files


def find_or_make(content: bytes, make: Callable[[], Graph]) -> tuple[Graph, bool]:
    """(graph, whether another process made it). content: a hash of all that decides the graph. Waits while another
    process makes it; what `make` raises is raised here, and leaves the graph to the next."""
    with _making:
        graph, is_found = _graphs.get(content), False
        if graph is None:
            graph, is_found = _found_or_made(_name_of(content), make)
            _graphs[content] = graph
    return graph, is_found


def _name_of(content: bytes) -> bytes:
    return b"\0ramet-graph-%d-%s" % (os.getuid(), content.hex().encode())


def _found_or_made(name: bytes, make: Callable[[], Graph]) -> tuple[Graph, bool]:
    while True:
        try:
            listener = _named(name)
            handed_out = _fetched(name) if listener is None else None
        except OSError:  # no sockets, no descriptors left, or another user's: this process has its own
            return make(), False
        if listener is not None:
            return _made(make, listener), False
        if handed_out is not None:
            return _attached(*handed_out), True
        time.sleep(PAUSE)  # who had the name has ended


def _made(make: Callable[[], Graph], listener: socket.socket) -> Graph:
    sharer = _Sharer(listener)
    try:
        graph = make()
        sharer.begin(graph)
    except BaseException:
        sharer.end()  # whoever waits tries it
        raise
    return graph


def _attached(memory: int, listener: socket.socket) -> Graph:
    sharer = _Sharer(listener)
    try:
        graph = Graph(_core.open_segment(memory))
        sharer.begin(graph)
    except BaseException:
        sharer.end()
        raise
    finally:
        os.close(memory)
    return graph


def _named(name: bytes) -> socket.socket | None:
    """A listening socket; None where another process has one of this name."""
    listener = _kept(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    try:
        listener.bind(name)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise
    return listener


def _fetched(name: bytes) -> tuple[int, socket.socket] | None:
    """(descriptor of the graph's memory, listening socket) of whoever has the graph; None where it ends before that.
    OSError where they cannot come, and where it is another user's."""
    with _kept(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
        try:
            connection.connect(name)
            if not is_of_this_user(connection):
                raise PermissionError(errno.EACCES, "another user has the name of this graph")
            connection.settimeout(PATIENCE)
            said, fds, _, _ = socket.recv_fds(connection, 1, 2)
            if said == MAKING:
                connection.settimeout(None)
                said, fds, _, _ = socket.recv_fds(connection, 1, 2)
        except ConnectionError:
            return None
    if len(fds) == 2:
        return fds[0], _kept(socket.socket(fileno=fds[1]))
    for fd in fds:
        os.close(fd)
    if not said:
        return None
    raise OSError(errno.EMFILE, f"no room for the descriptors of a graph: {os.strerror(errno.EMFILE)}")


class _Sharer:
    """A thread that gives a graph to whoever connects, from begin() until the graph is dropped. Before that it asks
    them to wait."""

    def __init__(self, listener: socket.socket):
        self._listener = listener
        self._listener.setblocking(False)  # of all that listen, one gets whoever connects
        events, self._wake = map(_kept, socket.socketpair())  # a byte: it begins; closed: it ends
        self._memory: io.FileIO | None = None
        self._waiting: list[socket.socket] = []
        threading.Thread(target=self._run, args=(events,), name="ramet-one-graph", daemon=True).start()

    def begin(self, graph: Graph) -> None:
        self._memory = _kept(os.fdopen(os.dup(graph._core.segment_fd), "rb", buffering=0))
        self._wake.send(HERE)
        weakref.finalize(graph, self._wake.close)

    def end(self) -> None:
        self._wake.close()

    def _run(self, events: socket.socket) -> None:
        poll = select.poll()
        for one in (self._listener, events):
            poll.register(one, select.POLLIN)
        while True:
            ready = dict(poll.poll())
            if events.fileno() in ready:
                if not events.recv(1):
                    break
                for peer in self._waiting:
                    self._give(peer)
                self._waiting.clear()
            if self._listener.fileno() in ready:
                self._accept()
        if self._memory is not None:
            self._memory.close()
        for one in (self._listener, events, *self._waiting):
            one.close()

    def _accept(self) -> None:
        try:
            peer = _kept(self._listener.accept()[0])
        except OSError as error:  # another process was quicker, or there is no descriptor for it now
            time.sleep(0 if isinstance(error, BlockingIOError) else PAUSE)
            return
        if not is_of_this_user(peer):
            peer.close()
        elif self._memory is not None:
            self._give(peer)
        else:
            self._waiting.append(peer)
            with contextlib.suppress(OSError):  # it has gone again
                peer.send(MAKING)

    def _give(self, peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            try:
                socket.send_fds(peer, [HERE], [self._memory.fileno(), self._listener.fileno()])
            except OSError:
                peer.send(REFUSED)


def _kept(descriptor):
    """Registers a descriptor that a forked child has to close."""
    _open.add(descriptor)
    return descriptor


def _begin_child() -> None:
    """Closes a forked child's copies: as long as one is open, a parent that has ended has the name, and its memory."""
    global _making
    _making = threading.Lock()  # another thread may have held it
    for one in list(_open):
        one.close()


os.register_at_fork(after_in_child=_begin_child)
