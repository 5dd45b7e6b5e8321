"""What the benchmarks run of PyG: its data, and a program as it documents one. Needs torch and PyG alone, so that it
runs in either environment, with either NeighborLoader.
"""

from __future__ import annotations

import time
import warnings
from itertools import chain, islice, pairwise, repeat

import numpy as np
import torch
import torch.nn.functional as F
from harness import arrays
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import SAGEConv
from torch_geometric.utils import trim_to_layer

BATCH = 1024
HIDDEN = 256
THREADS = 2
LEAD = 2  # batches at the head of a turn that do not count: the first of each worker

warnings.filterwarnings("ignore", message=".*without a 'pyg-lib' installation")


# ---- data


def make_data(store, shuffled: bool = False) -> tuple[Data, torch.Tensor]:
    """A store's graph, and its training nodes. Edges are sorted by destination, or in random order."""
    found = arrays(store)
    x, y, train = (torch.from_numpy(np.array(found[name])) for name in ("feat", "label", "train"))
    return Data(x=x, y=y, edge_index=edge_list(found["indptr"], found["indices"], shuffled)), train.long()


def make_hetero_data(store) -> tuple[HeteroData, tuple]:
    """The same of a store with several types, each the destination of some edges. Edges are in random order."""
    data = HeteroData()
    for folder in sorted((store / "edge").iterdir()):
        edge_type = tuple(folder.name.split("__"))
        indptr, indices = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("indptr", "indices"))
        data[edge_type].edge_index = edge_list(indptr, indices, shuffled=True)
        data[edge_type[2]].num_nodes = len(indptr) - 1
    for file in (store / "node").glob("*/feat.npy"):
        data[file.parent.name].x = torch.from_numpy(np.load(file))
    (split,) = (store / "split" / "train").iterdir()
    return data, (split.stem, torch.from_numpy(np.load(split)).long())


def edge_list(indptr, indices, shuffled: bool) -> torch.Tensor:
    edges = torch.empty(2, len(indices), dtype=torch.int64)
    order = torch.randperm(len(indices), generator=torch.Generator().manual_seed(0)) if shuffled else slice(None)
    edges[0] = torch.from_numpy(indices.astype(np.int64))[order]
    edges[1] = torch.from_numpy(np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)))[order]
    return edges


# ---- a model


class Sage(torch.nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.convs = torch.nn.ModuleList(SAGEConv(a, b, aggr="mean") for a, b in pairwise(widths))

    def activate(self, i, x):
        return x if i + 1 == len(self.convs) else x.relu()


class Trimmed(Sage):
    """As PyG documents it."""

    def forward(self, batch):
        x, edge_index = batch.x, batch.edge_index
        for i, conv in enumerate(self.convs):
            x, edge_index, _ = trim_to_layer(i, batch.num_sampled_nodes, batch.num_sampled_edges, x, edge_index)
            x = self.activate(i, conv(x, edge_index))
        return x[: batch.batch_size]


def count_hops(batch, num_hops: int):
    """(nodes, edges) that each hop added: PyG's loader does not say when it samples with torch-sparse. Nodes
    are numbered, and edges ordered, as they were found."""
    row, col = batch.edge_index
    nodes, edges = [batch.batch_size], []
    for _ in range(num_hops):
        found = int(torch.searchsorted(col, sum(nodes)))
        known = int(row[:found].max()) + 1 if found else 0
        nodes.append(max(known - sum(nodes), 0))
        edges.append(found - sum(edges))
    return nodes, edges


def train_step(model, optimizer, batch) -> float:
    loss = F.cross_entropy(model(batch), batch.y[: batch.batch_size])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


# ---- a program


class Program:
    """Turns of a program, in seconds per batch. A turn begins an epoch, and leaves it unfinished."""

    def __init__(self, NeighborLoader, data, seeds, fanouts):
        torch.set_num_threads(THREADS)
        self._new, self._data, self._num_hops = NeighborLoader, data, len(fanouts)
        self._arguments = {"num_neighbors": fanouts, "input_nodes": seeds, "batch_size": BATCH, "shuffle": True}
        self._loaders = {0: NeighborLoader(data, **self._arguments)}
        self._training = None

    def load(self, num_workers: int, count: int) -> float:
        """Batches alone."""
        return self._turn(num_workers, count, lambda batch: None)

    def train(self, num_workers: int, count: int) -> float:
        if self._training is None:
            torch.manual_seed(0)
            model = Trimmed([self._data.num_features, HIDDEN, HIDDEN, int(self._data.y.max()) + 1])
            self._training = model, torch.optim.Adam(model.parameters(), lr=0.003)
        return self._turn(num_workers, count, self._step)

    def size(self) -> tuple[int, int]:
        """Nodes and edges of a batch."""
        batch = next(iter(self.loader(0)))
        return batch.num_nodes, sum(store.edge_index.shape[1] for store in batch.edge_stores)

    @property
    def num_batches(self) -> int:
        return len(self._loaders[0])

    def loader(self, num_workers: int):
        """All loaders have one sampler, which has sorted the edges."""
        if num_workers not in self._loaders:
            sampler = self._loaders[0].node_sampler
            more = {"num_workers": num_workers, "neighbor_sampler": sampler}
            self._loaders[num_workers] = self._new(self._data, **self._arguments, **more)
        return self._loaders[num_workers]

    def _step(self, batch) -> None:
        if "num_sampled_nodes" not in batch:
            batch.num_sampled_nodes, batch.num_sampled_edges = count_hops(batch, self._num_hops)
        train_step(*self._training, batch)

    def _turn(self, num_workers: int, count: int, use) -> float:
        batches = chain.from_iterable(repeat(self.loader(num_workers)))  # epoch after epoch
        for batch in islice(batches, LEAD):
            use(batch)
        begin = time.perf_counter()
        for batch in islice(batches, count):
            use(batch)
        return (time.perf_counter() - begin) / count
