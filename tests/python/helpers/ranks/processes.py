"""Processes for tests: programs that meet the test at a socket, forks, and what processes use and leave.

Nothing here sleeps: a process that has something to say says it on a Line, and a process that ends closes it.
"""

import contextlib
import gc
import multiprocessing
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

MEETING = object()  # stands for the address of a meeting
PATIENCE = 600  # seconds that a test waits before it fails: longer than the busiest machine takes
_EXITING = 0x4  # PF_EXITING of the kernel: a thread that has been joined is listed until it has had a core once more
# In /dev/shm: semaphores of multiprocessing's queues, and folders that tests and checks of other checkouts make there.
_OTHERS = ("sem.mp-", "ramet-test", "ramet-gpu-check-")


class Meeting:
    """A socket without a name in any file system, at which programs introduce themselves with `visit`."""

    def __init__(self):
        self.address = f"ramet-test-{os.getpid()}-{secrets.token_hex(8)}"
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind("\0" + self.address)
        self._socket.listen(64)
        self._socket.settimeout(PATIENCE)
        self._lines: list[Line] = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Everybody goes home."""
        for line in self._lines:
            line.close()
        self._socket.close()

    def expect(self, count: int = 1) -> list["Line"]:
        """The next `count` visitors."""
        lines = []
        for _ in range(count):
            try:
                accepted, _ = self._socket.accept()
            except TimeoutError:
                raise AssertionError(f"only {len(lines)} of {count} processes came") from None
            accepted.setblocking(True)
            lines.append(Line(accepted.detach()))
            self._lines.append(lines[-1])
            lines[-1].pid, lines[-1].role = lines[-1].hear()
        return lines


@contextlib.contextmanager
def meeting_of(*arguments, **options):
    """A meeting, and a program that is started with its address in place of MEETING. When this has ended, so
    have the program and all its descendants. They have a temporary folder of their own, since multiprocessing
    leaves its sockets there when it is killed."""
    with tempfile.TemporaryDirectory(prefix="ramet-test-") as folder, Meeting() as meeting:
        options["env"] = {"TMPDIR": folder} | options.get("env", {})
        program = start(*(meeting.address if a is MEETING else a for a in arguments), **options)
        try:
            yield meeting, program
        except BaseException:
            meeting.close()
            program.kill()
            if not program.stdout.closed:
                print(program.communicate(timeout=PATIENCE)[0])
            raise
        meeting.close()
        if not program.stdout.closed:
            finish(program)


class Line:
    """Both ends of a conversation of picklable values. `pid` and `role` are the visitor's."""

    pid = 0
    role = ""

    def __init__(self, descriptor: int):
        self._connection = Connection(descriptor)

    def tell(self, value) -> None:
        self._connection.send(value)

    def hear(self, patience: float | None = PATIENCE):
        """What the other end said. EOFError once it is gone."""
        if not self._connection.poll(patience):
            raise AssertionError(f"process {self.pid} has said nothing for {patience} seconds")
        try:
            return self._connection.recv()
        except ConnectionResetError:
            raise EOFError from None

    def fileno(self) -> int:
        """For multiprocessing.connection.wait."""
        return self._connection.fileno()

    def is_speaking(self) -> bool:
        """There is something to hear."""
        return self._connection.poll()

    def ask(self, *request):
        """The answer of an other end that runs `answer`."""
        self.tell(request)
        outcome, value = self.hear()
        assert outcome == "done", value
        return value

    def close(self) -> None:
        self._connection.close()


def visit(address: str, role: str = "") -> Line:
    """The visitor's end of a new line to the meeting at `address`."""
    to_meeting = socket.socket(socket.AF_UNIX)
    to_meeting.connect("\0" + address)
    line = Line(to_meeting.detach())
    line.tell((os.getpid(), role))
    return line


def answer(line: Line, requests: dict) -> None:
    """Does what the other end asks, until it is gone."""
    while True:
        try:
            name, *arguments = line.hear(patience=None)
        except EOFError:
            return
        try:
            line.tell(("done", requests[name](*arguments)))
        except Exception:
            line.tell(("failed", traceback.format_exc()))


def start(*arguments, launcher=(sys.executable,), **options) -> subprocess.Popen:
    """A program that imports what this one does. Its standard output stays open until the last of its
    descendants is gone."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | options.pop("env", {})
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen([*launcher, *map(str, arguments)], env=env, **streams | options)


def finish(process: subprocess.Popen) -> str:
    """What it printed, once it and all its descendants are gone."""
    try:
        return process.communicate(timeout=PATIENCE)[0]
    except subprocess.TimeoutExpired as late:
        process.kill()
        raise AssertionError(f"some process is left after {PATIENCE} seconds; output: {late.output}") from None


def run(*arguments, **options) -> str:
    """What a program printed, which must have ended well."""
    process = start(*arguments, **options)
    output = finish(process)
    assert process.returncode == 0, output
    return output


def in_fork(body, *arguments):
    """The result of `body`, called in a forked child; what it raises there is raised here."""
    here, there = (Line(end.detach()) for end in socket.socketpair())

    def child():
        here.close()
        answer(there, {"call": lambda: body(*arguments)})

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    there.close()
    try:
        value = here.ask("call")
    except EOFError:
        process.join()
        raise AssertionError(f"the forked child ended with {process.exitcode}") from None
    finally:
        here.close()
        process.join(PATIENCE)
        process.kill()
    assert process.exitcode == 0
    return value


def threads(wanted: int | None = None) -> int:
    """The threads of this process, as soon as there are `wanted`, or what there are in the end; by default, now,
    without those that garbage of earlier tests holds."""
    if wanted is None:
        gc.collect()
    end = time.monotonic() + PATIENCE
    while (count := _own_threads()) != wanted and wanted is not None and time.monotonic() < end:
        time.sleep(0.001)
    return count


def threads_left(expected: int) -> int:
    """The threads of this process, as soon as there are at most `expected`: others' may end meanwhile."""
    end = time.monotonic() + PATIENCE
    while (count := _own_threads()) > expected and time.monotonic() < end:
        time.sleep(0.001)
    return count


def _own_threads() -> int:
    """But for the kernel's own that do what is slow of an io_uring, and stay for some seconds."""
    return sum(not name.startswith("iou-") for name in thread_names())


def thread_names() -> list[str]:
    """Those of this process's threads; at most 15 characters each, as the kernel keeps them."""
    names = []
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):  # it ends
            name, _, rest = Path(f"/proc/self/task/{task}/stat").read_text().partition("(")[2].rpartition(")")
            if not int(rest.split()[6]) & _EXITING:
                names.append(name)
    return names


def descriptors() -> int:
    """The open descriptors of this process, without those that garbage holds, such as that of earlier tests."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def shared_memory_names() -> set[str]:
    """Files in /dev/shm, but for those that others may make meanwhile."""
    folder = Path("/dev/shm")
    names = os.listdir(folder) if folder.is_dir() else []
    return {name for name in names if not name.startswith(_OTHERS)}


def new_shared_memory_names(before: set[str]) -> set[str]:
    """Files in /dev/shm that were not there before. Other programs on the machine come and go, so only what
    stays for a while counts."""
    new, end = shared_memory_names() - before, time.monotonic() + PATIENCE
    while new and time.monotonic() < end:
        time.sleep(0.05)
        new &= shared_memory_names()
    return new


# Files of the interpreter and of libraries. Whatever else runs on the machine shares them too, so they would
# make any difference between two measurements noise.
_PROGRAM_FILE = re.compile(
    r"\.so(\.[\d.]+)?( \(deleted\))?$|^(/usr/|/lib|{}/|{}/)".format(*map(re.escape, (sys.prefix, sys.base_prefix)))
)


def pss(pids) -> int:
    """Proportional set size of the processes together, in bytes, but for program files: a page that n
    processes have mapped counts 1/n for each of them."""
    total = 0
    for pid in pids:
        path = ""
        for text in Path(f"/proc/{pid}/smaps").read_text().splitlines():
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", text):
                path = "".join(text.split(maxsplit=5)[5:])
            elif text.startswith("Pss:") and not _PROGRAM_FILE.search(path):
                total += int(text.split()[1]) * 1024
    return total
