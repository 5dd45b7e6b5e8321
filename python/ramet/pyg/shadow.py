"""ShaDowKHopSampler: for each seed the subgraph that its sampled neighborhood induces."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import torch
import torch_geometric.loader
from torch.utils.data import DataLoader
from torch_geometric.data import Batch
from torch_geometric.typing import SparseTensor

from ramet._support.arguments import as_flag, as_int
from ramet.graph import Graph
from ramet.loading.options import MAX_HOPS, as_input_nodes
from ramet.loading.pyg_data.names import TOPOLOGY
from ramet.loading.samplers import Uniform
from ramet.loading.sampling import sample
from ramet.pyg.attributes import select
from ramet.pyg.hooks import inherits
from ramet.pyg.inputs import on_cpu
from ramet.pyg.order import explicit_batches
from ramet.pyg.sampler import random_epoch
from ramet.pyg.source import Source, source_of
from ramet.pyg.subgraphs import edge_numbers, edges_among

MADE_HERE = (*TOPOLOGY, "num_nodes", "batch", "ptr")


class ShaDowKHopSampler(torch_geometric.loader.ShaDowKHopSampler):
    """PyG's ShaDowKHopSampler, with its arguments and batches, without torch-sparse.

    data: a Data, whose rows are read where they lie, and whose edges are sorted once on a machine; or a ramet.Graph of
        one type of nodes and one of edges.
    depth, num_neighbors, replace: a seed's subgraph has the nodes that `depth` hops find, which draw `num_neighbors`
        in-neighbors of each node; -1 is all. Its edges are all edges of the data among these nodes.
    node_idx: the seeds: ids [n], a bool mask [num_nodes], or None for all nodes; of a ramet.Graph also a split's name.
    The other arguments are those of torch's DataLoader. `num_workers` threads of this process make batches ahead,
    `prefetch_factor` (2) each; with 0 a batch is made when the loop asks for it.

    A batch is a PyG Batch of one subgraph per seed, with nodes ascending by id in each: `batch`, `ptr`, `root_n_id`
    (the positions of the seeds), `edge_index` in the order of its sources, `y` at the seeds, and the data's other
    attributes at the nodes or edges. torch.manual_seed, or `generator`, makes an epoch repeat, for any `num_workers`.
    TypeError for other data, ValueError and IndexError for seeds and fanouts that do not fit.
    """

    def __init__(self, data, depth: int, num_neighbors: int, node_idx=None, replace: bool = False, **kwargs):
        self.source: Source = source_of(data)
        if self.source.is_hetero:
            raise TypeError(f"data is a {type(data).__name__} of several types, expected a Data or a graph of one type")
        self.depth, self.num_neighbors = as_int(depth, "depth", 0, MAX_HOPS), num_neighbors
        self.replace = as_flag(replace, "replace")
        self.is_sparse_tensor = not self.source.is_fused and "edge_index" not in self.source.template
        self.node_idx = _as_seeds(node_idx, self.source.graph)
        for name in ("dataset", "collate_fn"):  # which Lightning hands over
            kwargs.pop(name, None)
        DataLoader.__init__(self, self.node_idx, collate_fn=self.__collate__, **kwargs)
        self._make(self.node_idx[:0], 0, 0)  # checks the arguments

    @property
    def data(self):
        """The data. For a ramet.Graph it is made on access, with all edges."""
        return self.source.data

    def __iter__(self) -> Iterator[Batch]:
        return self._batches() if self._makes_batches else super().__iter__()

    def check_worker_number_rationality(self) -> None:
        """Torch's warning of many worker processes, where there will be any."""
        if not self._makes_batches:
            super().check_worker_number_rationality()

    @property
    def _makes_batches(self) -> bool:
        """Whether threads of this process make the batches of loops; else torch's DataLoader does."""
        collates = getattr(self.collate_fn, "__func__", None) is ShaDowKHopSampler.__collate__
        return collates and inherits(self, "_get_iterator", DataLoader)

    def _batches(self) -> Iterator[Batch]:
        self.source.renew(by_content=True)
        epoch, pins = random_epoch(self.generator), self.pin_memory and torch.cuda.is_available()
        most = self.num_workers * (self.prefetch_factor or 2)
        pool = ThreadPoolExecutor(max(self.num_workers, 1))
        ahead: deque[Future] = deque()
        try:
            for number, positions in enumerate(self._positions()):
                ahead.append(pool.submit(self._make, self.node_idx[torch.from_numpy(positions)], epoch, number))
                if len(ahead) > most:
                    yield _delivered(ahead.popleft(), pins)
            while ahead:
                yield _delivered(ahead.popleft(), pins)
        finally:
            pool.shutdown(cancel_futures=True)

    def __collate__(self, n_id) -> Batch:
        """The batch of the seeds `n_id`, a list of ids."""
        self.source.renew()
        return self._make(torch.tensor(n_id, dtype=torch.int64), random_epoch(self.generator), 0)

    def _positions(self) -> Iterator[np.ndarray]:
        """The positions in `node_idx` of the seeds of each batch."""
        for order, offsets in explicit_batches(self):
            yield from (order[begin:end] for begin, end in pairwise(offsets))

    def _make(self, seeds: torch.Tensor, epoch: int, step: int) -> Batch:
        graph = self.source.graph
        threads = 1 if self.num_workers else torch.get_num_threads()
        n_id, ptr, roots = self._sampled(seeds.numpy(), epoch, step, threads)
        (edge_type,), nodes = graph.edge_types, (n_id, ptr)
        edge_index, position = edges_among(graph, edge_type, nodes, nodes, by_source=True, threads=threads)
        e_id = edge_numbers(graph, edge_type, position)
        trees = np.repeat(np.arange(len(seeds)), np.diff(ptr))
        batch = Batch(batch=torch.from_numpy(trees), ptr=torch.from_numpy(ptr))
        batch.root_n_id = torch.from_numpy(roots)
        self._add_edges(batch, edge_index, e_id)
        self._add_attributes(batch, torch.from_numpy(n_id), seeds, position, e_id)
        return batch

    def _sampled(self, seeds: np.ndarray, epoch: int, step: int, threads: int) -> tuple:
        """(n_id, ptr, roots), int64: the nodes of each seed's tree, ascending, one tree after the other."""
        graph = self.source.graph
        fanouts = [self.num_neighbors] * self.depth or [0]
        method = Uniform(replace=self.replace)
        options: dict = {"expand": "once", "disjoint": True, "epoch": epoch, "step": step, "threads": threads}
        sampled = sample(graph, seeds, fanouts, sampler=method, **options)
        num_nodes = max(graph.num_nodes(), 1)
        first_keys = np.arange(len(seeds) + 1) * num_nodes  # of each tree
        keys = np.sort(sampled.batch.numpy() * num_nodes + sampled.n_id.numpy())
        return keys % num_nodes, np.searchsorted(keys, first_keys), np.searchsorted(keys, first_keys[:-1] + seeds)

    def _add_edges(self, batch: Batch, edge_index: torch.Tensor, e_id: torch.Tensor) -> None:
        (t,) = self.source.edge_types
        if not self.is_sparse_tensor:
            batch.edge_index = edge_index.to(self.source.index_dtype(t))
            return
        value, size = self.source.template.adj_t.storage.value(), int(batch.ptr[-1])
        row, col = edge_index
        batch.adj_t = SparseTensor(
            row=col, col=row, value=None if value is None else value[e_id], sparse_sizes=(size, size)
        )

    def _add_attributes(self, batch: Batch, n_id, seeds, position, e_id) -> None:
        """Rows at the nodes or at the edges, distinguished as PyG does; other values unchanged."""
        (of_nodes,), (of_edges,) = self.source.node_types, self.source.edge_types
        (store,) = self.source.template.stores
        for key, value in store.items():
            if key in MADE_HERE:
                continue
            if self.source.is_of_nodes(store, key):
                rows = seeds if key == "y" else n_id
                batch[key] = self._rows(of_nodes, key, rows, rows)
            elif self.source.is_of_edges(store, key):
                batch[key] = self._rows(of_edges, key, position, e_id)
            else:
                batch[key] = value

    def _rows(self, of, key: str, of_table: torch.Tensor, of_data: torch.Tensor):
        """The rows of an attribute: numbered as the table that has a copy of it, and as the data."""
        (store,) = self.source.template.stores
        table = self.source.table_of(of, key)
        if table is None:
            return select(store, key, of_data)
        return table.gather(of_table, dtype="float32" if table.is_encoded else None)


def _as_seeds(node_idx, graph: Graph) -> torch.Tensor:
    """int64 [n]."""
    _, ids = as_input_nodes(on_cpu(node_idx), graph, "node_idx")
    return torch.arange(graph.num_nodes()) if ids is None else torch.tensor(ids)


def _delivered(future, pins: bool) -> Batch:
    batch = future.result()
    return batch.pin_memory() if pins else batch
