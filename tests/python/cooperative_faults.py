"""A program of the tests: `cooperative_faults.py ADDRESS STORE RANK WORLD FILE SECONDS`, one rank (gloo, collectives
time out after so many seconds) that trains a little for the meeting at ADDRESS and says how that ended."""

import datetime
import sys

import processes
import torch
import torch.distributed as dist

import ramet
from ramet.distributed import exchange

OPTIONS = {"num_neighbors": [3, 3], "input_nodes": "train", "batch_size": 20, "cooperative": True}


def steps(loader: ramet.NeighborLoader):
    """One exchange per block, forward and backward."""
    for batch in loader:
        rows = batch.x.double().requires_grad_()
        for block in batch.blocks:
            rows = exchange(rows, block)[: block.num_dst] * 2
        rows.sum().backward()
        yield batch


class Rank:
    def __init__(self, line: processes.Line, store: str):
        self._line, self._graph = line, ramet.open(store)

    def make(self, options: dict):
        """How a loader is refused, or nothing."""
        self._loader = ramet.NeighborLoader(self._graph, **OPTIONS | options)

    def open(self, store: str):
        self._graph = ramet.open(store)

    def walk(self, count: int):
        """So many steps of an epoch that is then open."""
        self._steps = steps(self._loader)
        return [next(self._steps).step for _ in range(count)]

    def finish(self):
        return [batch.step for batch in self._steps]

    def fail(self):
        """A loop that raises, and so ends."""
        next(self._steps)
        raise KeyError("a bug in the loop")

    def leave(self):
        """Left early, with batches under way, and then everything destroyed."""
        for _ in self._loader:
            break
        dist.destroy_process_group()

    def in_fork(self, new: bool):
        """How a fork is refused a new iterator, or the open one."""
        try:
            return processes.in_fork(lambda: next(iter(self._loader) if new else self._steps).step)
        except AssertionError as error:
            return str(error)


def main() -> None:
    address, store, rank, world, file, seconds = sys.argv[1:]
    torch.set_num_threads(1)
    timeout = datetime.timedelta(seconds=float(seconds))
    dist.init_process_group(
        "gloo", init_method=f"file://{file}", rank=int(rank), world_size=int(world), timeout=timeout
    )
    line = processes.visit(address, rank)
    of_rank = Rank(line, store)
    processes.answer(line, {name: getattr(of_rank, name) for name in dir(of_rank) if not name.startswith("_")})


if __name__ == "__main__":
    main()
