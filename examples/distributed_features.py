"""Training on features that no process, and no machine, has alone: they are one table over all ranks.

    ramet build STORE coauthor_phy.npz --undirected --dtype float16 --normalize --train-per-class 20 --val-per-class 30
    torchrun --nproc-per-node=4 examples/distributed_features.py STORE

STORE has node tables "feat" and "label" and a split "train". Every step prints the loss, which is that of one process
up to rounding (--nproc-per-node=1). On several machines, with --placement distributed, ranks pull the rows of other
machines ahead of the loop. --cache-rows keeps some of them.
"""

import argparse
from itertools import chain, islice, pairwise, repeat

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

import ramet
import ramet.distributed
from ramet.nn import SAGEConv


class Sage(torch.nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.convs = torch.nn.ModuleList(SAGEConv(a, b) for a, b in pairwise(widths))

    def forward(self, x, blocks):
        for i, (conv, block) in enumerate(zip(self.convs, blocks, strict=True)):
            x = conv(x, block)
            if i + 1 < len(self.convs):
                x = x.relu()
        return x


def main(args):
    graph = ramet.open(args.store)
    feat, classes = graph.table("feat"), int(graph.table("label").numpy().max()) + 1

    # Each rank reads its own rows of the store, once.
    table = ramet.Table.create(feat.shape, feat.dtype, placement=args.placement)
    table.copy_from(feat)

    options = {"batch_size": args.batch_size, "shuffle": True, "seed": args.seed}
    options["placement"] = ramet.Placement(cache_rows=args.cache_rows)
    loader = ramet.NeighborLoader(graph, args.num_neighbors, "train", tables={"feat": table, "label": None}, **options)
    torch.manual_seed(args.seed)  # the same first model on every rank
    model = Sage([feat.shape[1], *[args.hidden] * (len(args.num_neighbors) - 1), classes]).to(args.dtype)
    model = DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), args.lr)
    for batch in islice(chain.from_iterable(repeat(loader)), args.steps):
        out = model(batch.x.to(args.dtype), batch.blocks)
        loss = batch.mean(F.cross_entropy(out, batch.y.long(), reduction="none"))
        optimizer.zero_grad()
        loss.backward()  # averaged over ranks: the global batch's gradient
        optimizer.step()
        loss = loss.detach()
        dist.all_reduce(loss)
        if dist.get_rank() == 0:
            print(f"epoch {batch.epoch}, step {batch.step}: loss {loss / dist.get_world_size():.9f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store")
    parser.add_argument("--placement", choices=("continuous", "chunked", "distributed"), default="continuous")
    parser.add_argument("--cache-rows", type=int, default=0, help="rows of other machines that a rank keeps")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--num-neighbors", type=int, nargs="+", default=[10, 10])
    parser.add_argument("--batch-size", type=int, default=50, help="of the global batch, over all ranks")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--float64", dest="dtype", action="store_const", const=torch.float64, default=torch.float32)
    args = parser.parse_args()

    dist.init_process_group("gloo")
    try:
        main(args)
    finally:
        ramet.distributed.destroy_process_group()
