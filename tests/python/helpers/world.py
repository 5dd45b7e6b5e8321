"""A program of the tests: ranks of torch.distributed (gloo) that call functions for a test. `world_of` starts it.

The functions lie beside the tests that ask for them, in any file of the tests.
"""

import contextlib
import datetime
import importlib
import multiprocessing
import sys
import tempfile
from pathlib import Path

import processes


@contextlib.contextmanager
def world_of(size: int, seconds: float = processes.PATIENCE):
    """`size` ranks, alive inside this context, whose collectives time out after so many seconds. They leave nothing
    with a name in shared memory."""
    names = processes.shared_memory_names()
    arguments = (__file__, processes.MEETING, size, seconds)
    with processes.meeting_of(*arguments, env={"OMP_NUM_THREADS": "1"}) as (meeting, _):
        yield World(meeting.expect(size))
    assert not processes.new_shared_memory_names(names)


class World:
    def __init__(self, lines: list[processes.Line]):
        self.lines = sorted(lines, key=lambda line: int(line.role))

    def call(self, function, *arguments, without: tuple = ()) -> list:
        """What every rank's call returns, by rank, tensors as numpy arrays; nothing of ranks that end in it."""
        file = function.__code__.co_filename
        for line in self.lines:
            line.tell(("call", file, function.__name__, *arguments))
        outcomes = [line.hear() for rank, line in enumerate(self.lines) if rank not in without]
        for outcome, value in outcomes:
            assert outcome == "done", value
        return [value for _, value in outcomes]


def call(file: str, function: str, *arguments):
    from torch.utils._pytree import tree_map_only

    if (folder := str(Path(file).parent)) not in sys.path:
        sys.path.append(folder)
    result = getattr(importlib.import_module(Path(file).stem), function)(*arguments)
    return tree_map_only(sys.modules["torch"].Tensor, lambda tensor: tensor.detach().numpy(), result)


def rank(number: int, size: int, seconds: float, file: str, address: str) -> None:
    import torch.distributed as dist

    timeout = datetime.timedelta(seconds=seconds)
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=number, world_size=size, timeout=timeout)
    processes.answer(processes.visit(address, str(number)), {"call": call})
    dist.destroy_process_group()


def main() -> None:
    import torch  # noqa: F401 (once for all ranks, which are forked)

    address, size, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    fork = multiprocessing.get_context("fork").Process
    with tempfile.TemporaryDirectory() as folder:
        ranks = [fork(target=rank, args=(k, size, seconds, f"{folder}/meet", address)) for k in range(size)]
        for process in ranks:
            process.start()
        for process in ranks:
            process.join()


if __name__ == "__main__":
    main()
