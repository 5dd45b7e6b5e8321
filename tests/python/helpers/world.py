"""A program of the tests: ranks of torch.distributed (gloo) that call functions for a test. `world_of` starts it.

The functions lie beside the tests that ask for them, in any file of the tests.
"""

import contextlib
import importlib
import sys
import tempfile
from pathlib import Path

import processes


@contextlib.contextmanager
def world_of(size: int):
    """`size` ranks, alive inside this context."""
    arguments = (__file__, processes.MEETING, size)
    with processes.meeting_of(*arguments, env={"OMP_NUM_THREADS": "1"}) as (meeting, _):
        yield World(meeting.expect(size))


class World:
    def __init__(self, lines: list[processes.Line]):
        self.lines = sorted(lines, key=lambda line: int(line.role))

    def call(self, function, *arguments) -> list:
        """What every rank's call returns, by rank, tensors as numpy arrays."""
        file = function.__code__.co_filename
        for line in self.lines:
            line.tell(("call", file, function.__name__, *arguments))
        outcomes = [line.hear() for line in self.lines]
        for outcome, value in outcomes:
            assert outcome == "done", value
        return [value for _, value in outcomes]


def call(file: str, function: str, *arguments):
    from torch.utils._pytree import tree_map_only

    if (folder := str(Path(file).parent)) not in sys.path:
        sys.path.append(folder)
    result = getattr(importlib.import_module(Path(file).stem), function)(*arguments)
    return tree_map_only(sys.modules["torch"].Tensor, lambda tensor: tensor.detach().numpy(), result)


def rank(number: int, size: int, file: str, address: str) -> None:
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{file}", rank=number, world_size=size)
    processes.answer(processes.visit(address, str(number)), {"call": call})
    dist.destroy_process_group()


def main() -> None:
    import torch

    address, size = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        # Forked, so that torch is imported once for all.
        arguments = (size, f"{folder}/meet", address)
        torch.multiprocessing.start_processes(rank, arguments, nprocs=size, start_method="fork")


if __name__ == "__main__":
    main()
