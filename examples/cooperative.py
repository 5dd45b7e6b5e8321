"""Training where several ranks make each batch together, beside one process that trains on the same batches alone.

    torchrun --nproc_per_node=4 examples/cooperative.py STORE --float64

STORE has node tables "feat" and "label" and a split "train". Every step prints the loss of the ranks and that of the
one process, which rank 0 runs: they are equal up to rounding, dropout included.
"""

import argparse
from itertools import pairwise

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

import ramet
import ramet.distributed
from ramet.distributed import Cooperative, dropout
from ramet.nn import GATConv, GINConv, SAGEConv


def gin(width, out):
    mlp = [torch.nn.Linear(width, out), torch.nn.BatchNorm1d(out), torch.nn.ReLU(), torch.nn.Linear(out, out)]
    return GINConv(torch.nn.Sequential(*mlp))


CONVS = {"sage": SAGEConv, "gat": GATConv, "gin": gin}


class Model(torch.nn.Module):
    """An ordinary model on blocks. What is random in it, dropout, follows the nodes."""

    def __init__(self, conv, widths, p):
        super().__init__()
        self.convs = torch.nn.ModuleList(conv(a, b) for a, b in pairwise(widths))
        self.p = p

    def forward(self, x, blocks):
        for i, (conv, block) in enumerate(zip(self.convs, blocks, strict=True)):
            x = conv(x, block)
            if i + 1 < len(self.convs):
                x = dropout(x.relu(), block, self.p, self.training)
        return x


class Trainer:
    """A model, its optimizer, and how a batch changes it."""

    def __init__(self, model, lr, dtype):
        self.model, self.dtype = model, dtype
        self.optimizer = torch.optim.Adam(model.parameters(), lr)

    def step(self, batch):
        out = self.model(batch.x.to(self.dtype), batch.blocks)
        loss = batch.mean(F.cross_entropy(out, batch.y.long(), reduction="none"))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def make_model(graph, args):
    torch.manual_seed(args.seed)  # the same first model on every rank
    classes = int(graph.table("label").numpy().max()) + 1
    widths = [graph.table("feat").shape[1], *[args.hidden] * (len(args.num_neighbors) - 1), classes]
    return Model(CONVS[args.model], widths, args.dropout).to(args.dtype)


def over_ranks(number):
    total = torch.as_tensor(number, dtype=torch.float64)
    dist.all_reduce(total)
    return total.item()


def train(graph, args):
    rank, world = dist.get_rank(), dist.get_world_size()
    loader = {"num_neighbors": args.num_neighbors, "input_nodes": "train", "batch_size": args.batch_size}
    loader |= {"shuffle": True, "seed": args.seed}

    # The two lines that make training cooperative.
    batches = ramet.NeighborLoader(graph, **loader, ranks=ramet.Cooperate())
    ranks = Trainer(DistributedDataParallel(Cooperative(make_model(graph, args))), args.lr, args.dtype)

    # To compare with: one process, and ranks that read the batch's rows each for itself.
    alone = Trainer(make_model(graph, args), args.lr, args.dtype)
    whole = iter(ramet.NeighborLoader(graph, **loader, ranks=False) if rank == 0 else [])
    independent = iter(ramet.NeighborLoader(graph, **loader, tables=()))

    largest = rows = rows_of_independent = 0
    for batch in batches:
        if batch.step == args.steps:
            break
        loss = over_ranks(ranks.step(batch)) / world
        rows += over_ranks(len(batch.n_id))
        rows_of_independent += over_ranks(len(next(independent).n_id))
        if rank == 0:
            loss_alone = alone.step(next(whole)).item()
            largest = max(largest, abs(loss - loss_alone))
            print(f"step {batch.step}: loss {loss:.15f} on {world} ranks, {loss_alone:.15f} alone")
    if rank == 0:
        print(f"largest difference: {largest:.1e}")
        print(f"rows read by all ranks: {rows:,.0f}; independent ranks would read {rows_of_independent:,.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store")
    parser.add_argument("--model", choices=CONVS, default="sage")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--num-neighbors", type=int, nargs="+", default=[10, 10])
    parser.add_argument("--batch-size", type=int, default=1024, help="of the global batch, over all ranks")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--float64", dest="dtype", action="store_const", const=torch.float64, default=torch.float32)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    try:
        train(ramet.open(args.store), args)
    finally:
        ramet.distributed.destroy_process_group()
