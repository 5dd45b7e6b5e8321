"""Trains GraphSAGE on features that memory does not hold, then on the same in memory: equal losses, and both rates.

    ramet generate STORE --nodes 1000000 --edges 10000000 --features 256
    python examples/larger_than_memory.py STORE --memory 0.7

STORE needs a table "feat" and a split "train"; without a table "label" the classes are ids modulo 16. --memory is in
GB: what the first run may use, page cache included. For that it is put into a control group; where none can be made it
says so. It reads rows from the disk either way. The second run has all the memory that there is.
"""

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import time
from itertools import islice, pairwise
from pathlib import Path

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


def train(args) -> dict:
    """Losses, rates and memory of one run."""
    graph = ramet.open(args.store)
    feat = graph.table("feat")
    placement = {"feat": "in_place"}
    if args.run == "disk":
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
    losses, begin = [], time.perf_counter()
    for batch in islice(loader, args.batches):
        labels = batch.y if "label" in tables else batch.seeds % classes
        loss = batch.mean(F.cross_entropy(model(batch.x, batch.blocks), labels, reduction="none"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if len(losses) == args.batches // 4:  # caches and buffers are warm
            begin = time.perf_counter()
    seconds = time.perf_counter() - begin
    return {
        "losses": losses,
        "rate": (len(losses) - args.batches // 4) / seconds,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "features": feat.numpy().nbytes,
        "why": loader.placement["feat"].why,
        "summary": str(loader.summary()),
    }


@contextlib.contextmanager
def memory_limit(nbytes: int):
    """What a new process calls to be in a control group with so much memory; None where none can be made."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root, limit = ("memory", "memory.limit_in_bytes") if controllers else ("", "memory.max")
        group = Path("/sys/fs/cgroup", root, path.lstrip("/"), f"larger-than-memory-{os.getpid()}")
        with contextlib.suppress(OSError):
            group.mkdir()
            try:
                (group / limit).write_text(str(nbytes))
                yield lambda group=group: (group / "cgroup.procs").write_text(str(os.getpid()))
                return
            finally:
                group.rmdir()
    yield None


def run(placed: str, enter) -> dict:
    command = [sys.executable, __file__, *sys.argv[1:], "--run", placed]
    return json.loads(subprocess.check_output(command, preexec_fn=enter))


def main():
    args = parse()
    if args.run:
        return print(json.dumps(train(args)))
    with memory_limit(int(args.memory * 1e9)) as enter:
        disk = run("disk", enter)
    memory = run("in_place", None)
    limit = f"{args.memory:g} GB of memory" if enter else "memory that could not be limited"
    print(f"features of {disk['features'] / 1e9:.2f} GB, {limit}: {disk['why']}")
    print(disk["summary"])
    for name, of in (("disk", disk), ("memory", memory)):
        print(f"{name:6}: loss {of['losses'][-1]:.6f}, {of['rate']:.2f} batches/s, at most {of['peak'] / 1e9:.2f} GB")
    same = "the same" if disk["losses"] == memory["losses"] else "NOT the same"
    print(f"{same} losses of {len(disk['losses'])} batches; {disk['rate'] / memory['rate']:.2f} of the rate in memory")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store")
    parser.add_argument("--memory", type=float, default=0.7, help="GB")
    parser.add_argument("--cache", type=float, default=0.1, help="share of the rows that is kept in memory")
    parser.add_argument("--look-ahead", type=int, default=16, help="batches")
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--num-neighbors", type=int, nargs="+", default=[15, 10, 5])
    parser.add_argument("--run", choices=["disk", "in_place"], help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
