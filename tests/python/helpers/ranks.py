"""A program of the tests: ranks of torch.distributed (gloo) that do what the meeting at ADDRESS asks.

`torchrun ranks.py ADDRESS STORE`, or `ranks.py ADDRESS STORE WORLD`, which starts WORLD of them with
torch.multiprocessing.
"""

import contextlib
import itertools
import logging
import sys
import tempfile

import processes
import torch
import torch.distributed as dist
import torch.nn.functional as F
from small_graphs import WIDTH, sampled
from torch.nn.parallel import DistributedDataParallel

import ramet


class Model(torch.nn.Module):
    """Linear in a seed's features and in the sum of its sampled neighbors'."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.own = torch.nn.Linear(WIDTH, 5, dtype=torch.float64)
        self.neighbors = torch.nn.Linear(WIDTH, 5, dtype=torch.float64)

    def forward(self, batch: ramet.Batch) -> torch.Tensor:
        (block,) = batch.blocks
        x = batch.x.double()
        source, destination = block.edge_index
        sums = torch.zeros(block.num_dst, WIDTH, dtype=torch.float64).index_add(0, destination, x[source])
        return self.own(x[: block.num_dst]) + self.neighbors(sums)


def gradients(loader: ramet.NeighborLoader, model: torch.nn.Module) -> list[list[float]]:
    """The gradient of every step of an epoch."""
    result = []
    for batch in loader:
        model.zero_grad()
        batch.mean(F.cross_entropy(model(batch), batch.y, reduction="none")).backward()
        result.append([number for p in model.parameters() for number in p.grad.flatten().tolist()])
    return result


def steps(batches) -> list[tuple]:
    return [(b.epoch, b.step, b.global_num_seeds, b.seeds.tolist(), sampled(b)) for b in batches]


@contextlib.contextmanager
def warnings():
    """What is logged inside this context, as if it was the first time in this process, and the first epochs."""
    records = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())
    logging.getLogger("ramet").addHandler(handler)
    ramet.loading.ranks._warned = ramet.loading.ranks._warned_early = ramet.loading.watch._warned = False
    ramet.loading.watch._watches.clear()
    try:
        yield records
    finally:
        logging.getLogger("ramet").removeHandler(handler)


class Rank:
    """Each method is a request. `early` was made before the ranks knew each other."""

    def __init__(self, early: ramet.NeighborLoader):
        self.graph = early.graph
        self._early = early

    def loader(self, options: dict) -> ramet.NeighborLoader:
        return ramet.NeighborLoader(self.graph, **options)

    def place(self, options):
        loader = self.loader(options)
        return loader.rank, loader.world, len(loader)

    def epochs(self, options, count):
        loader = self.loader(options)
        return [steps(loader) for _ in range(count)]

    def gradients(self, options):
        return gradients(self.loader(options), DistributedDataParallel(Model()))

    def state(self, options, epoch, step):
        loader = self.loader(options)
        loader.set_epoch(epoch)
        seen = steps(itertools.islice(loader, step))
        return loader.state_dict(), seen

    def resume(self, options, state):
        loader = self.loader(options)
        loader.load_state_dict(state)
        return steps(loader)

    def in_group(self, options, members):
        """Rank, world and seeds inside a process group, or how the loader refuses a process outside."""
        group = dist.new_group(members)
        try:
            loader = self.loader(options | {"distributed": group})
        except ValueError as error:
            return str(error)
        return loader.rank, loader.world, [seeds for _, _, _, seeds, _ in steps(loader)]

    def log(self, options):
        """What two loaders log."""
        with warnings() as records:
            self.loader(options), self.loader(options)
        return records

    def early(self):
        """What the loops over a loader log that was made too early."""
        with warnings() as records:
            for _ in range(2):
                next(iter(self._early))
        return self._early.world, records

    def loops(self, options, scripts):
        """What this rank's script logs: loops over loaders, in order, `train` in lockstep."""
        loaders = {
            "train": self.loader(options),
            "validate": self.loader(options | {"input_nodes": "val"}),
            "alone": self.loader(options | {"input_nodes": "val", "distributed": False}),
        }
        with warnings() as records:
            for word in scripts[min(dist.get_rank(), len(scripts) - 1)].split():
                name, _, what = word.partition(":")
                if what == "again":
                    loaders[name].set_epoch(0)
                for _ in itertools.islice(loaders[name], 1 if what == "peek" else None):
                    if name == "train" and what != "peek":
                        dist.barrier()
        return records


def make_early(store: str) -> ramet.NeighborLoader:
    return ramet.NeighborLoader(ramet.open(store), [2], "val", 7)


def serve(address: str, early: ramet.NeighborLoader) -> None:
    rank = Rank(early)
    requests = {name: getattr(rank, name) for name in dir(rank) if not name.startswith("_") and name != "graph"}
    processes.answer(processes.visit(address, str(dist.get_rank())), requests)
    dist.destroy_process_group()


def spawned(rank: int, world: int, file: str, address: str, store: str) -> None:
    early = make_early(store)
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=world)
    serve(address, early)


def main() -> None:
    address, store, *world = sys.argv[1:]
    if not world:
        early = make_early(store)
        dist.init_process_group("gloo")
        serve(address, early)
        return
    with tempfile.TemporaryDirectory() as folder:
        arguments = (int(world[0]), f"{folder}/meet", address, store)
        torch.multiprocessing.spawn(spawned, arguments, nprocs=int(world[0]))


if __name__ == "__main__":
    main()
