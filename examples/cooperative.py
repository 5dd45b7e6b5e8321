"""Training where several ranks make each batch together.

    torchrun --nproc_per_node=4 examples/cooperative.py STORE

STORE has node tables "feat" and "label" and a split "train". Every step prints the loss and the rows that all ranks
read: those of one process (--nproc_per_node=1), dropout included. With --float64 the losses have 12 equal digits.
Where there is a GPU for each rank, it trains there.
"""

import argparse
import os
from itertools import islice, pairwise

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


def over_ranks(number):
    total = torch.as_tensor(number, dtype=torch.float64)
    dist.all_reduce(total)
    return total.item()


def device_of_rank():
    if not ramet.cuda.is_available() or int(os.environ["LOCAL_WORLD_SIZE"]) > torch.cuda.device_count():
        return None
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    return torch.device("cuda", torch.cuda.current_device())


def train(graph, args, device):
    torch.manual_seed(args.seed)  # the same first model on every rank
    classes = int(graph.table("label").numpy().max()) + 1
    widths = [graph.table("feat").shape[1], *[args.hidden] * (len(args.num_neighbors) - 1), classes]
    model = Model(CONVS[args.model], widths, args.dropout).to(device, args.dtype)

    # The two lines that make training cooperative.
    options = {"shuffle": True, "seed": args.seed, "device": device, "ranks": ramet.Cooperate()}
    model = DistributedDataParallel(Cooperative(model))

    loader = ramet.NeighborLoader(graph, args.num_neighbors, "train", args.batch_size, **options)
    optimizer = torch.optim.Adam(model.parameters(), args.lr)
    for batch in islice(loader, args.steps):
        out = model(batch.x.to(args.dtype), batch.blocks)
        loss = batch.mean(F.cross_entropy(out, batch.y.long(), reduction="none"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean, rows = over_ranks(loss.item()) / dist.get_world_size(), over_ranks(len(batch.n_id))
        if dist.get_rank() == 0:
            print(f"step {batch.step}: loss {mean:.15f}, {rows:,.0f} rows read")


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

    device = device_of_rank()
    dist.init_process_group("cpu:gloo,cuda:nccl" if device else "gloo")
    try:
        train(ramet.open(args.store), args, device)
    finally:
        ramet.distributed.destroy_process_group()
