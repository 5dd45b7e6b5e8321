"""A program of the tests: `cooperative_faults.py ADDRESS STORE WORLD SECONDS`, ranks (gloo, collectives time out after
so many seconds) that train a little for the meeting at ADDRESS and say how that ended. What one does, or suffers, is
nothing to the others but by their group."""

import datetime
import gc
import multiprocessing
import sys
import tempfile

import processes
import torch
import torch.distributed as dist
from small_graphs import WIDTH
from torch.nn.parallel import DistributedDataParallel

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

    def make_two(self, swapped: bool):
        """How two loaders, made in this order, are refused; or nothing."""
        options = [{"input_nodes": "train"}, {"input_nodes": "val", "batch_size": 7}]
        loaders = [ramet.NeighborLoader(self._graph, **OPTIONS | change) for change in options[:: -1 if swapped else 1]]
        self._loader, self._other = loaders

    def walk_two(self, swapped: bool):
        """The first batches of two loaders, in this order."""
        loaders = [self._loader, self._other]
        return [next(steps(loader)).num_seeds for loader in loaders[:: -1 if swapped else 1]]

    def state(self, epoch: int, step: int):
        return self._loader.state_dict() | {"epoch": epoch, "step": step}

    def load(self, state: dict):
        self._loader.load_state_dict(state)

    def set_epoch(self, epoch: int):
        self._loader.set_epoch(epoch)

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
        """Left early, with batches under way, and then everything destroyed: the threads of groups that are left."""
        model = DistributedDataParallel(torch.nn.Linear(WIDTH, 2))
        embedding = ramet.nn.Embedding(self._graph.num_nodes(), 2, placement="distributed")
        for batch in self._loader:
            (model(batch.x) + embedding(batch.n_id)).sum().backward()
            break
        del self._loader, model, embedding, batch
        gc.collect()
        dist.destroy_process_group()
        return [name for name in processes.thread_names() if "gloo" in name]

    def in_fork(self, new: bool):
        """How a fork is refused a new iterator, or the open one."""
        try:
            return processes.in_fork(lambda: next(iter(self._loader) if new else self._steps).step)
        except AssertionError as error:
            return str(error)


def serve(rank: int, world: int, file: str, seconds: float, address: str, store: str) -> None:
    torch.set_num_threads(1)
    timeout = datetime.timedelta(seconds=seconds)
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=world, timeout=timeout)
    line = processes.visit(address, str(rank))
    of_rank = Rank(line, store)
    processes.answer(line, {name: getattr(of_rank, name) for name in dir(of_rank) if not name.startswith("_")})


def main() -> None:
    address, store, world, seconds = sys.argv[1:]
    fork = multiprocessing.get_context("fork").Process  # torch is imported once for all
    with tempfile.TemporaryDirectory() as folder:
        common = (int(world), f"{folder}/meet", float(seconds), address, store)
        ranks = [fork(target=serve, args=(rank, *common)) for rank in range(int(world))]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()


if __name__ == "__main__":
    main()
