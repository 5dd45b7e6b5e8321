"""Trains GraphSAGE on features that memory does not hold: rows come from the disk, many at a time, ahead of the loop.

    ramet generate STORE --nodes 1000000 --edges 10000000 --features 256
    systemd-run --user --scope -p MemoryMax=700M python examples/larger_than_memory.py STORE
    python examples/larger_than_memory.py STORE --placement in_place

STORE needs a table "feat" and a split "train"; without a table "label" the classes are ids modulo 16. The second line
has less memory than features, page cache included; the third one has all, and the same losses.
"""

import argparse
import resource
import time
from itertools import islice, pairwise

import torch
import torch.nn.functional as F

import ramet
from ramet.nn import SAGEConv


class Sage(torch.nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.convs = torch.nn.ModuleList(SAGEConv(a, b) for a, b in pairwise(widths))

    def forward(self, x, blocks):
        for i, (conv, block) in enumerate(zip(self.convs, blocks, strict=True)):
            x = conv(x, block)
            x = x.relu() if i + 1 < len(self.convs) else x
        return x


def main(args):
    graph = ramet.open(args.store)
    feat, placement = graph.table("feat"), ramet.Placement(tables={"feat": args.placement})
    if args.placement == "disk":
        cached = int(args.cache * graph.num_nodes())
        placement = ramet.Placement(tables={"feat": "disk"}, cache_rows=cached, look_ahead=args.look_ahead)
    tables = ("feat", "label") if "label" in graph.tables() else ("feat",)
    loader = ramet.NeighborLoader(
        graph, args.num_neighbors, "train", args.batch_size, shuffle=True, tables=tables, placement=placement
    )
    torch.manual_seed(0)
    classes = 16 if "label" not in tables else int(graph.table("label").numpy().max()) + 1
    model = Sage([feat.shape[1], *[args.hidden] * (len(args.num_neighbors) - 1), classes])
    optimizer = torch.optim.Adam(model.parameters(), 0.003)
    begin = time.perf_counter()
    for batch in islice(loader, args.batches):
        labels = batch.y if "label" in tables else batch.seeds % classes
        loss = batch.mean(F.cross_entropy(model(batch.x, batch.blocks), labels, reduction="none"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"batch {batch.step}: loss {loss.item():.9f}")
    rate = args.batches / (time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"features of {feat.numpy().nbytes / 1e9:.2f} GB: {loader.placement['feat'].why}")
    print(f"{rate:.2f} batches/s, at most {peak / 1e9:.2f} GB in memory")
    print(loader.summary())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store")
    parser.add_argument("--placement", choices=["disk", "in_place"], default="disk", help="of the features")
    parser.add_argument("--cache", type=float, default=0.1, help="share of the rows that is kept in memory")
    parser.add_argument("--look-ahead", type=int, default=16, help="batches")
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--num-neighbors", type=int, nargs="+", default=[15, 10, 5])
    main(parser.parse_args())
