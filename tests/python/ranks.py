"""A program of the tests: ranks of torch.distributed (gloo) that do what the meeting at ADDRESS asks.

`torchrun ranks.py ADDRESS STORE`, or `ranks.py ADDRESS STORE WORLD`, which starts WORLD of them with
torch.multiprocessing.
"""

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


class Rank:
    """Each method is a request."""

    def __init__(self, graph: ramet.Graph):
        self.graph = graph

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
        """How many warnings two loaders log."""
        records = []
        handler = logging.Handler()
        handler.emit = lambda record: records.append(record.getMessage())
        logging.getLogger("ramet").addHandler(handler)
        ramet.ranks._said = False
        self.loader(options), self.loader(options)
        logging.getLogger("ramet").removeHandler(handler)
        return records


def serve(address: str, store: str) -> None:
    rank = Rank(ramet.open(store))
    requests = {name: getattr(rank, name) for name in dir(rank) if not name.startswith("_") and name != "graph"}
    processes.answer(processes.visit(address, str(dist.get_rank())), requests)
    dist.destroy_process_group()


def spawned(rank: int, world: int, file: str, address: str, store: str) -> None:
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=world)
    serve(address, store)


def main() -> None:
    address, store, *world = sys.argv[1:]
    if not world:
        dist.init_process_group("gloo")
        serve(address, store)
        return
    with tempfile.TemporaryDirectory() as folder:
        arguments = (int(world[0]), f"{folder}/meet", address, store)
        torch.multiprocessing.spawn(spawned, arguments, nprocs=int(world[0]))


if __name__ == "__main__":
    main()
