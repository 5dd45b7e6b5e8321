"""What the benchmarks run of PyG: its data, and a program as it documents one. Needs torch and PyG alone, so that it
runs in either environment, with either NeighborLoader.
"""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from functools import partial
from itertools import islice, pairwise

import numpy as np
import torch
import torch.nn.functional as F
from changes import trains
from harness import arrays, forever, seconds_each
from torch_geometric.data import Data, HeteroData
from torch_geometric.nn import GAT, GIN, GraphSAGE, HeteroConv, HGTConv, SAGEConv
from torch_geometric.utils import trim_to_layer

BATCH = 1024
HIDDEN = 256
TRIMMED = "GraphSAGE, trim_to_layer"
REDDIT = "GraphSAGE, Reddit's shape"
CLASSES_OF_TYPES = 349  # of ogbn-mag; a label is the largest of the first columns of the seed's row
THREADS = 2
LEAD = 2  # batches at the head of a turn that do not count: the first of each worker

warnings.filterwarnings("ignore", message=".*without a 'pyg-lib' installation")


# ---- data


def make_data(store, shuffled: bool = False) -> tuple[Data, torch.Tensor]:
    """A store's graph, and its training nodes. Edges are sorted by destination, or in random order."""
    found = arrays(store)
    x, y, train = (torch.from_numpy(np.array(found[name])) for name in ("feat", "label", "train"))
    return Data(x=x, y=y, edge_index=edge_list(found["indptr"], found["indices"], shuffled)), train.long()


def make_hetero_data(store, shuffled: bool = True) -> tuple[HeteroData, tuple]:
    """The same of a store with several types, each the destination of some edges."""
    data = HeteroData()
    for folder in sorted((store / "edge").iterdir()):
        edge_type = tuple(folder.name.split("__"))
        indptr, indices = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("indptr", "indices"))
        data[edge_type].edge_index = edge_list(indptr, indices, shuffled)
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


# ---- models, which give the rows of a batch's seeds


class Trimmed(torch.nn.Module):
    """As PyG documents it. trim: PyG's trim_to_layer, or what stands in for it."""

    def __init__(self, widths, trim=trim_to_layer):
        super().__init__()
        self.convs = torch.nn.ModuleList(SAGEConv(a, b, aggr="mean") for a, b in pairwise(widths))
        self.trim = trim

    def forward(self, batch):
        x, edge_index = batch.x, batch.edge_index
        for i, conv in enumerate(self.convs):
            x, edge_index, _ = self.trim(i, batch.num_sampled_nodes, batch.num_sampled_edges, x, edge_index)
            x = conv(x, edge_index)
            x = x if i + 1 == len(self.convs) else x.relu()
        return x[: batch.batch_size]


class Whole(torch.nn.Module):
    """A model of PyG on all of a batch, as most programs are."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, batch):
        return self.model(batch.x, batch.edge_index)[: batch.batch_size]


class WholeTypes(torch.nn.Module):
    """The same with types of nodes, of which some have no rows but a number for each type. trim: PyG's."""

    def __init__(self, metadata, conv, width: int = HIDDEN, trim=None):
        super().__init__()
        self.first = torch.nn.ModuleDict({t: torch.nn.LazyLinear(width) for t in metadata[0]})
        self.convs = torch.nn.ModuleList(conv(metadata, width) for _ in range(2))
        self.last = torch.nn.Linear(width, CLASSES_OF_TYPES)
        self.trim = trim

    def forward(self, batch):
        x = {t: self.first[t](batch[t].get("x", torch.ones(batch[t].num_nodes, 1))) for t in batch.node_types}
        edges = batch.edge_index_dict
        for i, conv in enumerate(self.convs):
            if self.trim:
                x, edges, _ = self.trim(i, batch.num_sampled_nodes_dict, batch.num_sampled_edges_dict, x, edges)
            x = {t: rows.relu() for t, rows in conv(x, edges).items()}
        return self.last(x["paper"])[: batch["paper"].batch_size]


def relations(metadata, width: int):
    """R-GCN with a mean for each type of edges."""
    return HeteroConv({t: SAGEConv((-1, -1), width) for t in metadata[1]})


def attention(metadata, width: int):
    return HGTConv(width, width, metadata, heads=4)


MODELS = {  # that takes the widths of rows and classes
    "GraphSAGE": partial(GraphSAGE, num_layers=3, hidden_channels=HIDDEN),
    "GAT": partial(GAT, num_layers=3, hidden_channels=HIDDEN, heads=4),
    "GIN": partial(GIN, num_layers=3, hidden_channels=HIDDEN),
    REDDIT: partial(GraphSAGE, num_layers=2, hidden_channels=HIDDEN),
    "cora": partial(GraphSAGE, num_layers=2, hidden_channels=64, dropout=0.5),
    "amazon_computers": partial(GraphSAGE, num_layers=2, hidden_channels=64, dropout=0.5),
}
OF_TYPES = {"R-GCN": relations, "HGT": attention}


def make_model(name: str, data, trim=trim_to_layer) -> torch.nn.Module:
    torch.manual_seed(0)
    if name in OF_TYPES:
        return WholeTypes(data.metadata(), OF_TYPES[name])
    classes = int(data.y.max()) + 1
    if name == TRIMMED:
        return Trimmed([data.num_features, HIDDEN, HIDDEN, classes], trim)
    return Whole(MODELS[name](data.num_features, out_channels=classes))


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


def count_hops_of_types(batch, num_hops: int) -> None:
    """The same by type, kept in the batch."""
    nodes = {t: [batch[t].get("batch_size", 0)] for t in batch.node_types}
    edges = {t: [] for t in batch.edge_types}
    for _ in range(num_hops):
        before = {t: sum(counts) for t, counts in nodes.items()}
        known = dict(before)
        for (src, relation, dst), counts in edges.items():
            row, col = batch[src, relation, dst].edge_index
            found = int(torch.searchsorted(col, before[dst]))
            counts.append(found - sum(counts))
            known[src] = max(known[src], int(row[:found].max()) + 1 if found else 0)
        for t, counts in nodes.items():
            counts.append(known[t] - before[t])
    batch.set_value_dict("num_sampled_nodes", nodes)
    batch.set_value_dict("num_sampled_edges", edges)


def labels(batch) -> torch.Tensor:
    if "y" in batch:
        return batch.y[: batch.batch_size]
    return batch["paper"].x[: batch["paper"].batch_size, :16].argmax(1)


def train_step(model, optimizer, batch) -> float:
    loss = F.cross_entropy(model(batch), labels(batch))
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

    def load(self, num_workers: int, count: int) -> float:
        """Batches alone."""
        return self._turn(num_workers, count, lambda batch: None)

    def train(self, name: str, num_workers: int, count: int) -> float:
        """Seconds of a batch and a step of a model; see make_model(). The model begins anew."""
        self._begin(make_model(name, self._data))
        return self._turn(num_workers, count, self._step)

    def train_with(self, model, count: int) -> float:
        self._begin(model)
        return self._turn(0, count, self._step)

    def _begin(self, model) -> None:
        self._model, self._optimizer = model, None

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
            more = {"num_workers": num_workers, "neighbor_sampler": self._loaders[0].node_sampler}
            self._loaders[num_workers] = self._new(self._data, **self._arguments, **more)
        return self._loaders[num_workers]

    def _step(self, batch) -> None:
        if isinstance(self._model, Trimmed) and "num_sampled_nodes" not in batch:
            batch.num_sampled_nodes, batch.num_sampled_edges = count_hops(batch, self._num_hops)
        if self._optimizer is None:  # after the first forward, which makes lazy parameters
            with torch.no_grad():
                self._model(batch)
            self._optimizer = torch.optim.Adam(self._model.parameters(), lr=0.003)
        train_step(self._model, self._optimizer, batch)

    def _turn(self, num_workers: int, count: int, use) -> float:
        batches = forever(self.loader(num_workers))
        for batch in islice(batches, LEAD):
            use(batch)
        with nullcontext() if use != self._step else trains(self._model):
            return seconds_each(batches, count, use, lead=0)
