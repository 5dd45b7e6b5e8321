"""Node classification with GraphSAGE on several processes that share one copy of the graph.

    torchrun --nproc_per_node=2 examples/node_classification.py STORE
    python examples/node_classification.py STORE --processes 2

STORE has node tables "feat" and "label" and splits "train", "val" and "test".
"""

import argparse
import os
import tempfile
from functools import partial
from itertools import pairwise

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

import ramet
import ramet.distributed
from ramet.nn import SAGEConv, layerwise


class SAGE(torch.nn.Module):
    """GraphSAGE with the mean: layers count the blocks' weights, and so estimate the mean over all in-neighbors with
    every sampler (docs/semantics.md, section 8)."""

    def __init__(self, widths, dropout):
        super().__init__()
        self.convs = torch.nn.ModuleList(SAGEConv(a, b) for a, b in pairwise(widths))
        self.dropout = dropout

    def layer(self, i, x, block):  # rows of the block's sources -> rows of its destinations
        x = self.convs[i](x, block)
        if i + 1 == len(self.convs):
            return x
        return F.dropout(x.relu_(), self.dropout, self.training)

    def layers(self):  # what ramet.nn.layerwise asks for
        return [partial(self.layer, i) for i in range(len(self.convs))]

    def forward(self, x, blocks):
        for layer, block in zip(self.layers(), blocks, strict=True):
            x = layer(x, block)
        return x


def accuracy(graph, model, split, device):
    nodes = torch.as_tensor(graph.split(split)).long()
    y = torch.as_tensor(graph.table("label").gather(nodes)).long()
    out = layerwise(graph, model, nodes=nodes, device=device, progress=True)
    return (out.argmax(dim=1) == y).float().mean().item()


def train(graph, args):
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    torch.set_num_threads(max(1, os.cpu_count() // world))
    torch.manual_seed(args.seed)  # the same first model on every rank

    num_classes = int(graph.table("label").numpy().max()) + 1
    widths = [graph.table("feat").shape[1], *[args.hidden] * (len(args.num_neighbors) - 1)]
    model = SAGE([*widths, num_classes], dropout=0.5).to(device)
    ddp = DistributedDataParallel(model)
    optimizer = torch.optim.Adam(ddp.parameters(), lr=args.lr)
    loader = ramet.NeighborLoader(
        graph,
        num_neighbors=args.num_neighbors,
        input_nodes="train",
        batch_size=args.batch_size,  # of the global batch: every rank takes its slice
        shuffle=True,
        sampler=args.sampler,
        seed=args.seed,
        device=device if ramet.cuda.is_available() else None,  # batches are made where the model is
    )

    best = 0.0
    for epoch in range(1, args.epochs + 1):
        ddp.train()
        for batch in tqdm(loader, desc=f"epoch {epoch}", disable=rank > 0):
            batch = batch.to(device)
            out = ddp(batch.x, batch.blocks)
            loss = F.cross_entropy(out, batch.y.long(), reduction="none")
            optimizer.zero_grad()
            batch.mean(loss).backward()  # averaged over ranks: the global batch's gradient
            optimizer.step()
        if rank == 0:
            val = accuracy(graph, model, "val", device)
            print(f"epoch {epoch}: validation accuracy {val:.4f}")
            if val > best:
                best = val
                torch.save(model.state_dict(), args.save)
        dist.barrier()

    if rank == 0:
        model.load_state_dict(torch.load(args.save))
        print(f"test accuracy {accuracy(graph, model, 'test', device):.4f}, model in {args.save}")


def main(graph, args, **group):
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo", **group)
    try:
        train(graph, args)
    finally:
        ramet.distributed.destroy_process_group()


def spawned(rank, graph, args, folder):
    """A process that we started ourselves; the graph came along as a handle, not as a copy."""
    os.environ["LOCAL_RANK"] = str(rank)
    main(graph, args, init_method=f"file://{folder}/meeting", rank=rank, world_size=args.processes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store")
    parser.add_argument("--processes", type=int, default=1, help="without torchrun")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--num-neighbors", type=int, nargs="+", default=[15, 10])
    parser.add_argument("--sampler", choices=("uniform", "labor"), default="uniform")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", default="best.pt", help="where the best model goes")
    args = parser.parse_args()

    graph = ramet.open(args.store)
    if "RANK" in os.environ:  # started by torchrun
        main(graph, args)
    else:
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(spawned, (graph, args, folder), nprocs=args.processes)
