"""Training with Ramet, in a process of its own as the peers': `ramet_train_step.py STORE CASE THREADS [keep]`.

Answers ("turn", variant, batches), ("accuracy", variant, batches), which is that of validation nodes on sampled blocks,
("floor", batches) and ("has_bfloat16",). `keep`: with ramet.keep_memory().
"""

import itertools
import sys
import time

import harness
import torch
import torch.nn.functional as F
from changes import trains
from processes import peak
from torch_geometric.nn import GATConv, SAGEConv
from train_cases import BATCH, CASES, LEAD

import ramet
import ramet.nn


class OfRamet(torch.nn.Module):
    def __init__(self, case, widths):
        super().__init__()
        self.convs = torch.nn.ModuleList(self.conv(case, i, *widths[i]) for i in range(len(widths)))

    def conv(self, case, i, width, out):
        if case.layer == "sage":
            return ramet.nn.SAGEConv(width, out)
        heads = case.heads if i + 1 < len(case.fanouts) else 1
        return ramet.nn.GATConv(width, out // heads, heads=heads, add_self_loops=False)

    def forward(self, x, blocks):
        for i, block in enumerate(blocks):
            x = self.layer(i, x, block)
            if i + 1 < len(blocks):
                x = x.relu()
        return x

    def layer(self, i, x, block):
        return self.convs[i](x, block)


class OfPyG(OfRamet):
    """PyG's layers on our blocks."""

    def conv(self, case, i, width, out):
        if case.layer == "sage":
            return SAGEConv(width, out)
        heads = case.heads if i + 1 < len(case.fanouts) else 1
        return GATConv((width, width), out // heads, heads=heads, add_self_loops=False)

    def layer(self, i, x, block):
        return self.convs[i]((x, x[: block.num_dst]), block.edge_index)


# Model, options of the loader, and the dtype of torch.autocast.
VARIANTS = {
    "ramet.nn": (OfRamet, {}, None),
    "ramet.nn, fuse=True": (OfRamet, {"features": ramet.Features(fuse=True)}, None),
    "ramet.nn, bfloat16": (OfRamet, {}, torch.bfloat16),
    "ramet.nn, fuse=True, bfloat16": (OfRamet, {"features": ramet.Features(fuse=True)}, torch.bfloat16),
    "PyG's layers on Ramet's blocks": (OfPyG, {}, None),
}


class Training:
    """A training run that is continued for a few batches at a time."""

    def __init__(self, graph, case, variant):
        model, options, self._dtype = VARIANTS[variant]
        torch.manual_seed(0)
        classes = int(graph.table("label").numpy().max()) + 1
        self._model = model(case, case.widths(graph.table("feat").shape[1], classes))
        self._optimizer = torch.optim.Adam(self._model.parameters(), lr=0.003, fused=True)
        options = options | {"shuffle": True, "sampler": case.sampler}
        loaders = (ramet.NeighborLoader(graph, list(case.fanouts), s, BATCH, **options) for s in ("train", "val"))
        self._batches, self._judges = (itertools.chain.from_iterable(itertools.repeat(loader)) for loader in loaders)

    def turn(self, count):
        with trains(self._model):
            return [self.step() for _ in range(count)]

    def step(self):
        begin = time.perf_counter()
        batch = next(self._batches)
        ready = time.perf_counter()
        loss = batch.mean(F.cross_entropy(self._scores(batch), batch.y.long(), reduction="none"))
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        return ready - begin, time.perf_counter() - ready, loss.item()

    def accuracy(self, count):
        with torch.no_grad():
            batches = itertools.islice(self._judges, count)
            right = [(self._scores(batch).argmax(1) == batch.y).float().mean().item() for batch in batches]
        return sum(right) / len(right)

    def _scores(self, batch):
        with torch.autocast("cpu", self._dtype, enabled=self._dtype is not None):
            return self._model(batch.x, batch.blocks).float()


class Floor:
    """The products of matrices of a GraphSAGE step alone, forward and backward: two per layer, ReLU between layers."""

    def __init__(self, graph, case):
        classes = int(graph.table("label").numpy().max()) + 1
        widths = case.widths(graph.table("feat").shape[1], classes)
        loader = ramet.NeighborLoader(graph, list(case.fanouts), "train", BATCH, sampler=case.sampler, tables=())
        blocks = next(iter(loader)).blocks
        self._pairs = [torch.nn.ModuleList([torch.nn.Linear(*w), torch.nn.Linear(*w, bias=False)]) for w in widths]
        self._inputs = [torch.randn(block.num_dst, w[0]) for block, w in zip(blocks, widths)]

    def __call__(self) -> float:
        begin = time.perf_counter()
        for i, (pair, x) in enumerate(zip(self._pairs, self._inputs)):
            x.grad = None
            pair.zero_grad()
            (pair[0](x) + pair[1](x.requires_grad_(i > 0))).relu().sum().backward()
        return time.perf_counter() - begin


def main():
    store, name, threads = sys.argv[1:4]
    case = CASES[name]
    torch.set_num_threads(int(threads))
    if "keep" in sys.argv[4:]:
        ramet.keep_memory()
    graph = ramet.open(store)
    runs, floors = {}, []

    def run(variant):
        if variant not in runs:
            runs[variant] = Training(graph, case, variant)
        return runs[variant]

    def turn(variant, count):
        steps = run(variant).turn(LEAD + count)
        return {"times": [s[:2] for s in steps[LEAD:]], "loss": steps[-1][2], "peak": peak()}

    def floor(count):
        if not floors:
            floors.append(Floor(graph, case))
            floors[0]()
        return [floors[0]() for _ in range(count)]

    def bfloat16():
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()  # noqa: SLF001

    def accuracy(variant, count):
        return run(variant).accuracy(count)

    harness.serve({"turn": turn, "accuracy": accuracy, "floor": floor, "has_bfloat16": bfloat16})


if __name__ == "__main__":
    main()
