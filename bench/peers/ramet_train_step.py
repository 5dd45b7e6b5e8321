"""Training with Ramet, in a process of its own as the peers': `ramet_train_step.py STORE CASE THREADS [keep]`.

Answers as runs.py says, and ("floor", batches) and ("has_bfloat16",). `keep`: with ramet.keep_memory().
"""

import sys
import time
from functools import cache

import runs
import torch
import torch.nn.functional as F
from harness import forever
from torch_geometric.nn import GATConv, SAGEConv
from train_cases import BATCH
from training import shape_of

import ramet
import ramet.nn


class OfRamet(runs.Layers):
    def conv(self, case, width, out, heads):
        if case.layer == "sage":
            return ramet.nn.SAGEConv(width, out)
        return ramet.nn.GATConv(width, out // heads, heads=heads, add_self_loops=False)

    def forward(self, x, blocks):
        for i, block in enumerate(blocks):
            x = self.activate(i, self.layer(i, x, block))
        return x

    def layer(self, i, x, block):
        return self.convs[i](x, block)


class OfPyG(OfRamet):
    """PyG's layers on our blocks."""

    def conv(self, case, width, out, heads):
        if case.layer == "sage":
            return SAGEConv(width, out)
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


class Training(runs.Run):
    def __init__(self, graph, case, variant):
        model, options, self._dtype = VARIANTS[variant]
        options = options | {"shuffle": True, "sampler": case.sampler}
        loader = ramet.NeighborLoader(graph, list(case.fanouts), "train", BATCH, **options)
        super().__init__(model(case, *shape_of(graph)), self._scores, forever(loader), fused=True)

    def loss(self, batch):
        out, labels = self._scores(self.model, batch)
        return batch.mean(F.cross_entropy(out, labels.long(), reduction="none"))

    def _scores(self, model, batch):
        with torch.autocast("cpu", self._dtype, enabled=self._dtype is not None):
            return model(batch.x, batch.blocks).float(), batch.y


class Floor:
    """The products of matrices of a GraphSAGE step alone, forward and backward: two per layer, ReLU between layers."""

    def __init__(self, graph, case):
        widths = case.widths(*shape_of(graph))
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
    store, case, _ = runs.arguments()
    if "keep" in sys.argv[4:]:
        ramet.keep_memory()
    graph = ramet.open(store)
    floors = []

    def floor(count):
        if not floors:
            floors.append(Floor(graph, case))
            floors[0]()
        return [floors[0]() for _ in range(count)]

    def bfloat16():
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()  # noqa: SLF001

    runs.serve(cache(lambda variant: Training(graph, case, variant)), floor=floor, has_bfloat16=bfloat16)


if __name__ == "__main__":
    main()
