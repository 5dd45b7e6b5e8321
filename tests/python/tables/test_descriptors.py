"""Descriptors of memory that processes hand to each other; docs/tables.md, "Tables on devices"."""

import concurrent.futures
import errno
import os
import signal
import socket

import processes
import pytest

from ramet._support import descriptor_server

PROGRAM = """
import errno, os, resource, socket, sys, threading
import processes
from ramet._support import descriptor_server

if len(sys.argv) > 2:
    descriptor_server.TIMEOUT = float(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
taken, was_full, accept = [], threading.Event(), socket.socket.accept

def noting(listening):
    try:
        return accept(listening)
    except OSError as error:
        if error.errno == errno.EMFILE:
            was_full.set()
        raise

socket.socket.accept = noting

def serve(content):
    fd = os.memfd_create("rows")
    os.write(fd, content)
    return descriptor_server.serve(fd)

def serve_closed():
    os.dup2(sys.stdin.fileno(), 50)  # which nothing opened later gets
    address = descriptor_server.serve(50)
    os.close(50)
    return address

def fetch(address):
    fd = descriptor_server.fetch(address)
    content = os.pread(fd, 100, 0)
    os.close(fd)
    return content

def fill(left=0):
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        for _ in range(left):
            os.close(taken.pop())

def free():
    while taken:
        os.close(taken.pop())

def fork():
    if os.fork() == 0:
        processes.answer(processes.visit(sys.argv[1], "child"), requests)
        os._exit(0)

def fetch_without_room(address):
    fill(left=1)  # for the connection
    try:
        fetch(address)
    except OSError as error:
        return error.errno
    finally:
        free()

requests = {"serve": serve, "serve_closed": serve_closed, "fetch": fetch, "stop": descriptor_server.stop, "fill": fill,
            "free": free, "fork": fork, "wait_until_full": was_full.wait, "fetch_without_room": fetch_without_room}
processes.answer(processes.visit(sys.argv[1]), requests)
"""


def owner_of_descriptors(*arguments):
    return processes.meeting_of("-c", PROGRAM, processes.MEETING, *arguments)


def fetched(address) -> bytes:
    fd = descriptor_server.fetch(address)
    try:
        return os.pread(fd, 100, 0)
    finally:
        os.close(fd)


def silent_peer(address) -> socket.socket:
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.settimeout(processes.PATIENCE)
    peer.connect(address.name)
    return peer


def test_a_descriptor_is_handed_out_until_it_is_not():
    with owner_of_descriptors() as (meeting, _):
        (owner,) = meeting.expect()
        one, other = owner.ask("serve", b"one"), owner.ask("serve", b"other")
        assert [fetched(one), fetched(other), fetched(one)] == [b"one", b"other", b"one"]
        owner.ask("stop", one)
        with pytest.raises(FileNotFoundError, match=f"the process {owner.pid} does not hand out this memory any more"):
            fetched(one)
        assert fetched(other) == b"other"


def test_a_descriptor_that_cannot_be_sent_says_why():
    with owner_of_descriptors() as (meeting, _):
        (owner,) = meeting.expect()
        with pytest.raises(OSError, match=f"the process {owner.pid} could not send its descriptor") as caught:
            fetched(owner.ask("serve_closed"))
        assert caught.value.errno == errno.EBADF
        assert fetched(owner.ask("serve", b"rows")) == b"rows"


def test_a_process_that_was_out_of_descriptors_goes_on():
    with owner_of_descriptors() as (meeting, _), concurrent.futures.ThreadPoolExecutor(1) as thread:
        (owner,) = meeting.expect()
        address = owner.ask("serve", b"rows")
        owner.ask("fill")
        content = thread.submit(fetched, address)
        owner.ask("wait_until_full")
        owner.ask("free")
        assert content.result() == b"rows"
        assert fetched(address) == b"rows"


def test_a_caller_without_room_for_a_descriptor_is_told():
    fd = os.memfd_create("rows")
    os.write(fd, b"rows")
    address = descriptor_server.serve(fd)
    with owner_of_descriptors() as (meeting, _):
        (caller,) = meeting.expect()
        assert caller.ask("fetch_without_room", address) == errno.EMFILE
        assert caller.ask("fetch", address) == b"rows"
    descriptor_server.stop(address)
    os.close(fd)


def test_peers_that_say_nothing_keep_nobody_waiting_and_are_left():
    with owner_of_descriptors() as (meeting, _):
        (owner,) = meeting.expect()
        address = owner.ask("serve", b"rows")
        silent = [silent_peer(address) for _ in range(3)]
        assert fetched(address) == b"rows"
        for peer in silent:
            peer.close()
        assert fetched(address) == b"rows"
    with owner_of_descriptors(0.01) as (meeting, _):
        (owner,) = meeting.expect()
        peer = silent_peer(owner.ask("serve", b"rows"))
        assert peer.recv(1) == b""
        peer.close()


def test_a_fork_hands_out_its_own_alone():
    with owner_of_descriptors() as (meeting, program):
        (owner,) = meeting.expect()
        address = owner.ask("serve", b"parent's")
        silent = silent_peer(address)  # of which the fork has a copy
        assert fetched(address) == b"parent's"
        owner.ask("fork")
        (child,) = meeting.expect()
        own = child.ask("serve", b"child's")
        assert own.pid == child.pid != owner.pid
        child.ask("stop", address)  # which is not its own
        assert child.ask("fetch", address) == owner.ask("fetch", address) == fetched(address) == b"parent's"
        assert fetched(own) == owner.ask("fetch", own) == b"child's"
        program.send_signal(signal.SIGKILL)
        program.wait()
        with pytest.raises(FileNotFoundError, match=r"cannot be reached .*Connection refused"):
            fetched(address)  # at once, though the child lives
        assert silent.recv(1) == b""
        silent.close()
        assert fetched(own) == b"child's"
