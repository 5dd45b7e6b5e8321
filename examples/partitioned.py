"""Training where no machine has the whole graph: each has one part, and the ranks make every batch together.

    ramet partition STORE --parts 4 --out FOLDER        # then FOLDER/part-0 goes to the first machine, and so on
    torchrun --nnodes=4 --nproc-per-node=1 --rdzv-backend=c10d --rdzv-endpoint=HOST:29500 examples/partitioned.py FOLDER

The second line runs on each machine. STORE has node tables "feat" and "label" and splits "train" and "val". With
--nproc-per-node=2 both ranks of a machine open the same part, of which there is one copy in memory, and there are two
groups that cooperate, each on its half of the batch. To try it on one machine: --standalone --nproc-per-node=4.
"""

import argparse
from itertools import islice, pairwise
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

import ramet
import ramet.distributed
from ramet.distributed import Cooperative, dropout
from ramet.nn import SAGEConv


class Sage(torch.nn.Module):
    """An ordinary model on blocks."""

    def __init__(self, widths):
        super().__init__()
        self.convs = torch.nn.ModuleList(SAGEConv(a, b) for a, b in pairwise(widths))

    def forward(self, x, blocks):
        for i, (conv, block) in enumerate(zip(self.convs, blocks, strict=True)):
            x = conv(x, block)
            if i + 1 < len(self.convs):
                x = dropout(x.relu(), block, 0.5, self.training)
        return x


def open_part(folder):
    """The part of this rank, and the group of ranks that has one of each: ranks that follow each other share a part."""
    there = sorted(Path(folder).glob("part-*"))
    if not there:
        raise SystemExit(f"{folder} has no part-*: see `ramet partition`")
    rank, world = dist.get_rank(), dist.get_world_size()
    _, parts = ramet.open(there[0]).part
    if world % parts:
        raise SystemExit(f"{world} ranks, but {parts} parts: expected a multiple")
    copies = world // parts
    teams = [dist.new_group(list(range(first, world, copies))) for first in range(copies)]
    return ramet.open(f"{folder}/part-{rank // copies}"), teams[rank % copies]


def over_ranks(numbers, op=dist.ReduceOp.SUM):
    total = torch.tensor(numbers, dtype=torch.float64)
    dist.all_reduce(total, op)
    return total.tolist()


def train_epoch(model, optimizer, loader, steps):
    """Mean loss of a step, and rows that all ranks read."""
    model.train()
    losses, rows = [], 0
    for batch in islice(loader, steps):
        out = model(batch.x, batch.blocks)
        loss = batch.mean(F.cross_entropy(out, batch.y.long(), reduction="none"))
        optimizer.zero_grad()
        loss.backward()  # averaged over ranks: the global batch's gradient
        optimizer.step()
        losses.append(loss.item())
        rows += len(batch.n_id)
    loss, rows = over_ranks([sum(losses) / max(len(losses), 1), rows])
    return loss / dist.get_world_size(), rows


@torch.no_grad()
def accuracy(model, loader, steps):
    """Of sampled batches, which ranks make together as in training."""
    model.eval()
    right = count = 0
    for batch in islice(loader, steps):
        right += (model(batch.x, batch.blocks).argmax(dim=1) == batch.y).sum().item()
        count += batch.num_seeds
    right, count = over_ranks([right, count])
    return right / max(count, 1)


def main(args):
    graph, team = open_part(args.folder)
    (classes,) = over_ranks([graph.table("label").numpy().max(initial=0) + 1], dist.ReduceOp.MAX)
    torch.manual_seed(args.seed)  # the same first model on every rank
    widths = [graph.table("feat").shape[1], *[args.hidden] * (len(args.num_neighbors) - 1), int(classes)]
    model = DistributedDataParallel(Cooperative(Sage(widths)))
    optimizer = torch.optim.Adam(model.parameters(), args.lr)
    options = {"batch_size": args.batch_size, "shuffle": True, "seed": args.seed, "ranks": ramet.Cooperate(team)}
    train, val = (ramet.NeighborLoader(graph, args.num_neighbors, split, **options) for split in ("train", "val"))
    for epoch in range(args.epochs):
        loss, rows = train_epoch(model, optimizer, train, args.steps)
        val_accuracy = accuracy(model, val, args.steps)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: loss {loss:.4f}, {rows:,.0f} rows read, validation accuracy {val_accuracy:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="has part-K, at least on the machine of the ranks that need it")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--num-neighbors", type=int, nargs="+", default=[15, 10, 5], help="seeds' hop first")
    parser.add_argument("--batch-size", type=int, default=4096, help="of the global batch, over all ranks")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--steps", type=int, help="of an epoch, at most (default: all)")
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    try:
        main(args)
    finally:
        ramet.distributed.destroy_process_group()
