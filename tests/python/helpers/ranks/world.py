"""Ranks of torch.distributed (gloo) that call functions for a test, or run a script. One program for all tests, the
template, has imported what ranks need, and forks them: a world costs little more than its connections.

The functions lie beside the tests that ask for them, in any file of the tests.
"""

import contextlib
import ctypes
import datetime
import functools
import gc
import importlib.util
import multiprocessing.connection
import os
import runpy
import signal
import sys
import tempfile
import time
from pathlib import Path

import processes

PROGRAM = "import world; world.main()"
IMPORTS = (
    "pytest",
    "ramet.distributed",
    "ramet.nn",
    "ramet.optim",
    "torch._dynamo",  # which optimizers and DistributedDataParallel import when they are made
    "torch.nn.parallel",
    "torch.utils._pytree",
)
PR_SET_PDEATHSIG = 1


@contextlib.contextmanager
def template():
    """A line to the template, for worlds. The program, and with it every rank, ends with this context, and with this
    process; Ctrl-C is not for it."""
    options = {"stdout": None, "stderr": None, "start_new_session": True, "env": {"OMP_NUM_THREADS": "1"}}
    with processes.Meeting() as meeting:
        program = processes.start("-c", PROGRAM, meeting.address, **options)
        (line,) = meeting.expect()
        yield line
    program.wait(processes.PATIENCE)


class Ranks:
    """Ranks that call functions."""

    def __init__(self, lines: list[processes.Line]):
        self.lines = sorted(lines, key=lambda line: int(line.role))
        self.size = len(lines)

    def tell(self, rank: int, function, *arguments, group: tuple | None = None, groups: tuple = ()) -> None:
        """Lets a rank call a function; what it says then is ("done", value) or ("failed", traceback). See call()."""
        place = function.__module__, function.__code__.co_filename, function.__name__
        self.lines[rank].tell(("call", *place, group, groups, arguments))

    def call(self, function, *arguments, size: int | None = None, groups: tuple = (), without: tuple = ()) -> list:
        """What every rank's call returns, by rank, tensors as numpy arrays; nothing of ranks that end in it. With a
        size only so many ranks call the function, with their process group in front of the arguments; groups: others
        that it asks for."""
        members = None if size is None else tuple(range(size))
        for rank in range(self.size):
            self.tell(rank, function, *arguments, group=members, groups=groups)
        values = _hear_all([line for rank, line in enumerate(self.lines) if rank not in without])
        return values if size is None else values[:size]

    def outcomes(self, function, *arguments, ranks=None, others: dict | None = None) -> list[tuple]:
        """What ranks say, by default all, whose calls may fail. others: arguments by rank, of those that get others."""
        ranks = range(self.size) if ranks is None else ranks
        for rank in ranks:
            self.tell(rank, function, *(others or {}).get(rank, arguments))
        return [self.lines[rank].hear() for rank in ranks]


def _hear_all(lines: list[processes.Line]) -> list:
    """What all calls return. Whichever fails is heard at once: the others may wait for it."""
    values = {}
    while missing := [line for line in lines if line not in values]:
        ready = multiprocessing.connection.wait(missing, processes.PATIENCE)
        assert ready, f"ranks {[line.role for line in missing]} have said nothing for {processes.PATIENCE} seconds"
        for line in ready:
            outcome, values[line] = line.hear()
            assert outcome == "done", values[line]
    return [values[line] for line in lines]


class World(Ranks):
    """`size` ranks, alive inside this context, whose collectives time out after so many seconds. They leave nothing
    with a name in shared memory. After a call that failed there are new ones."""

    def __init__(self, template: processes.Line, size: int, seconds: float = processes.PATIENCE):
        self._names = processes.shared_memory_names()
        self._template, self._options = template, (size, seconds)
        self._begin()

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        self._end(processes.PATIENCE / 2 if error is None else 0)
        assert error or not processes.new_shared_memory_names(self._names)

    def call(self, *arguments, **options) -> list:
        if not self.lines:
            self._begin()
        try:
            return super().call(*arguments, **options)
        except BaseException:
            self._end(patience=0)
            raise

    def _begin(self) -> None:
        size, seconds = self._options
        self._meeting = processes.Meeting()
        self._number = self._template.ask("begin", self._meeting.address, size, seconds)
        super().__init__(self._meeting.expect(size))

    def _end(self, patience: float) -> None:
        self._meeting.close()
        self.lines = []
        self._template.ask("end", self._number, patience)


def run_script(template: processes.Line, folder: Path, script, *arguments, ranks: int | None = None) -> str:
    """What a script prints that runs in a folder, as `python` starts it, or `torchrun` for so many ranks."""
    import torch.distributed as dist

    output, environments = folder / "output", [{}]
    if ranks is not None:
        store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
        meeting = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(store.port), "WORLD_SIZE": str(ranks)}
        meeting |= {"TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "0"}
        meeting |= {"LOCAL_WORLD_SIZE": str(ranks)}
        environments = [meeting | {"RANK": str(k), "LOCAL_RANK": str(k)} for k in range(ranks)]
    output.write_text("")
    codes = template.ask("run", str(output), environments, [str(word) for word in (script, *arguments)])
    assert not any(codes), output.read_text()
    return output.read_text()


# ---- what runs in a rank


@functools.cache
def group_of(members: tuple):
    """The process group of some ranks, which every rank of the world asks for."""
    import torch.distributed as dist

    return dist.new_group(list(members))


def call(module: str, file: str, function: str, members: tuple | None, groups: tuple, arguments: tuple):
    import torch
    import torch.distributed as dist
    from torch.utils._pytree import tree_map_only

    made = [group_of(ranks) for ranks in (members, *groups) if ranks is not None]
    if members is not None:
        if dist.get_rank() not in members:
            return None
        arguments = (made[0], *arguments)
    import_file(module, file)
    result = getattr(sys.modules[module], function)(*arguments)
    return tree_map_only(torch.Tensor, lambda tensor: tensor.detach().numpy(), result)


def import_file(name: str, file: str) -> None:
    """Under the name that it has in the tests, which its classes have in pickles."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])


def serve(address: str, rank: int) -> None:
    """Calls what the meeting's host asks for."""
    processes.answer(processes.visit(address, str(rank)), {"call": call})


def be_rank(number: int, size: int, seconds: float, file: str, address: str) -> None:
    import torch.distributed as dist

    import ramet.distributed

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    timeout = datetime.timedelta(seconds=seconds)
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=number, world_size=size, timeout=timeout)
    serve(address, number)
    ramet.distributed.destroy_process_group()


def be_script(output: str, environment: dict, command: list[str]) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    descriptor = os.open(output, os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.chdir(os.path.dirname(output))
    os.environ.update(environment)
    sys.argv = command
    sys.path.insert(0, os.path.dirname(command[0]))
    runpy.run_path(command[0], run_name="__main__")


# ---- the template


def forks(function, calls: list[tuple]) -> list:
    """Processes, one for each call. What is here is no garbage of theirs: they look at their own, and end at once."""
    gc.freeze()
    made = [multiprocessing.get_context("fork").Process(target=function, args=arguments) for arguments in calls]
    for process in made:
        process.start()
    return made


class Template:
    def __init__(self):
        self._worlds: list[list] = []  # processes

    def begin(self, address: str, size: int, seconds: float) -> int:
        """The number of a world, whose ranks come to the meeting at the address."""
        file = f"{tempfile.gettempdir()}/world-{len(self._worlds)}"
        self._worlds.append(forks(be_rank, [(k, size, seconds, file, address) for k in range(size)]))
        return len(self._worlds) - 1

    def end(self, number: int, patience: float) -> None:
        """Waits for its ranks, or kills them."""
        ranks, self._worlds[number] = self._worlds[number], []
        deadline = time.monotonic() + patience
        for rank in ranks:
            rank.join(max(0, deadline - time.monotonic()))
        late = [k for k, rank in enumerate(ranks) if rank.exitcode is None]
        for k in late:
            ranks[k].kill()
            ranks[k].join()
        assert not late or patience == 0, f"ranks {late} are left after {patience} seconds"


def run(output: str, environments: list[dict], command: list[str]) -> list[int]:
    """The exit codes of a script's processes, of which one that fails ends the others."""
    ranks = forks(be_script, [(output, environment, command) for environment in environments])
    while running := [rank for rank in ranks if rank.exitcode is None]:
        multiprocessing.connection.wait([rank.sentinel for rank in running])
        if any(rank.exitcode for rank in ranks):
            for rank in running:
                rank.kill()
    return [rank.exitcode for rank in ranks]


def main() -> None:
    for name in IMPORTS:
        importlib.import_module(name)
    assert "torch_geometric" not in sys.modules, "ranks need no PyG"
    with tempfile.TemporaryDirectory(prefix="ramet-test-", ignore_cleanup_errors=True) as folder:
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        worlds = Template()
        requests = {"import": import_file, "begin": worlds.begin, "end": worlds.end, "run": run}
        processes.answer(processes.visit(sys.argv[1]), requests)
    os._exit(0)  # whatever its ranks do, which die with it
