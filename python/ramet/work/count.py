"""Counts what ranks would sample, read and send for a batch: W(PB) together, P times W(B) on their own.

W(n) is the number of nodes that a batch of n seeds reaches, whose rows have to be read. Ranks that cooperate reach
W(PB) in sum, ranks that work on their own P W(B), and W grows more slowly than n (Balin, LaSalle, Catalyurek:
"Cooperative Minibatching in Graph Neural Networks", arXiv:2310.12403).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

import numpy as np

from ramet import _core
from ramet.arguments import as_int
from ramet.graph import Graph
from ramet.loading.neighbor_loader import NeighborLoader
from ramet.loading.samplers import as_sampler
from ramet.progress import byte_progress
from ramet.stores.ownership import as_owners
from ramet.work.memory import ROW_BYTES
from ramet.work.together import make_and_weigh

FLOAT_BYTES = 4


@dataclass
class Hop:
    """Of one hop, the seeds' first: nodes reached so far, the edges of the hop, and the rows that its layer pulls from
    other ranks; mean of a batch over all ranks."""

    nodes: float = 0
    edges: float = 0
    nodes_independent: float = 0
    edges_independent: float = 0
    rows_sent: float = 0


@dataclass
class Work:
    """Means of a batch, in sum over all ranks. `rows_sent` is of the input layer. `imbalance`: the largest rank's part
    over the mean one. `bytes`: "read" and "read_independent" from tables; "sent_ids", "sent_rows" (of the input layer,
    decoded) and "sent_hidden" (of the layers after it, there and their gradients back) to other ranks."""

    ranks: int
    batch_size_per_rank: int
    num_neighbors: list
    sampler: str
    batches: int
    seeds: float
    rows_read: float
    rows_independent: float
    ratio: float  # rows_read / rows_independent
    redundancy: float  # rows_independent / rows_read
    rows_sent: float
    hops: list[Hop]
    imbalance: dict[str, float]
    bytes: dict[str, float]


def count_work(
    graph: Graph,
    ranks: int,
    batch_size_per_rank: int,
    num_neighbors,
    *,
    input_nodes=None,
    ownership=None,
    batches: int = 1,
    row_bytes: int | None = None,
    hidden: int = 256,
    seed: int = 0,
    progress: bool = False,
    sampler="uniform",
) -> Work:
    """Samples `batches` global batches of ranks * batch_size_per_rank seeds, shuffled, both ways in this process.

    input_nodes: as a NeighborLoader's; None: the split "train" where there is one, else all nodes with in-edges.
    ownership: as a NeighborLoader's. row_bytes: of a row that is read, and sent; None: as table "feat" has them, which
    are sent as float32 where they are decoded to that, and 512 without one.
    hidden: width of the layers between the first and the last, float32. sampler: as a NeighborLoader's.
    Raises ValueError for no seeds, and what a NeighborLoader raises.
    """
    ranks = as_int(ranks, "ranks", 1, _core.MAX_PARTS)
    per_rank = as_int(batch_size_per_rank, "batch_size_per_rank", 1)
    batches = as_int(batches, "batches", 1)
    hidden = as_int(hidden, "hidden", 0)
    row_bytes = row_bytes if row_bytes is None else as_int(row_bytes, "row_bytes", 0)
    options = {
        "num_neighbors": num_neighbors,
        "input_nodes": default_seeds(graph) if input_nodes is None else input_nodes,
        "batch_size": ranks * per_rank,
        "shuffle": True,
        "seed": seed,
        "tables": (),
        "threads": 1,
        "ranks": False,
        "sampler": sampler,
    }
    loader = NeighborLoader(graph, **options)
    if len(loader) == 0:
        raise ValueError("there are no seeds: no split 'train', and no node with in-edges")
    owners = as_owners(ownership, graph, ranks)
    together = [_core.CooperativeLoader(loader._core, owners=owners, rank=rank) for rank in range(ranks)]
    batches = min(batches, len(loader))
    (seed_type,) = (graph.node_types.index(t) for t in loader.seed_types)  # the ranks have refused several
    counter = _Counter(graph, row_bytes, hidden, num_hops=len(loader.options["fanouts"][0]))
    with byte_progress(progress, "batches", unit="") as report:
        for step in range(batches):
            counter.add_together(*make_and_weigh(together, 0, step))
            for i, seeds in enumerate(np.array_split(loader._core.seeds(0, step), ranks)):
                report(step * ranks + i, batches * ranks)
                seeds = [(seed_type, seeds, None)]
                alone = _core.sample(graph._core, loader.sample_options, seeds, epoch=0, step=step, threads=1)
                counter.add_alone(alone)
    sampler = str(as_sampler(sampler))
    return counter.finish(
        batches, ranks=ranks, batch_size_per_rank=per_rank, num_neighbors=num_neighbors, sampler=sampler
    )


def default_seeds(graph: Graph):
    """The split "train", or all nodes with in-edges of the first node type that has some."""
    if "train" in graph.splits:
        types = graph.splits["train"]
        return (types[0], "train") if graph.is_hetero else "train"
    for node_type in graph.node_types:
        degrees = np.zeros(graph.num_nodes(node_type), np.int64)
        for edge_type in graph.edge_types:
            if edge_type[2] == node_type:
                degrees += np.diff(graph.indptr(edge_type))
        if degrees.any():
            ids = np.flatnonzero(degrees)
            return (node_type, ids) if graph.is_hetero else ids
    raise ValueError("there are no seeds: no split 'train', and no node with in-edges")


class _Counter:
    """Sums over batches."""

    def __init__(self, graph: Graph, row_bytes: int | None, hidden: int, num_hops: int):
        self._types = range(len(graph.node_types))
        self._edge_types = range(len(graph.edge_types))
        row_bytes = [bytes_of_row(graph, t) if row_bytes is None else (row_bytes, row_bytes) for t in graph.node_types]
        self._read_bytes, self._sent_bytes = zip(*row_bytes)
        self._hidden_bytes = hidden * FLOAT_BYTES
        self._hops = [Hop() for _ in range(num_hops)]
        self._sums = dict.fromkeys(("seeds", "rows_read", "rows_independent", "rows_sent"), 0)
        self._imbalance = {"rows": 0.0, "edges": 0.0}
        self._bytes = dict.fromkeys(("read", "read_independent", "sent_rows", "sent_ids", "sent_hidden"), 0)

    def add_together(self, batches: list[_core.Batch], bytes_of_ids: int) -> None:
        """One batch, of all ranks."""
        rows, edges = [], []
        for rank, batch in enumerate(batches):
            nodes = [len(batch.n_id(t)) for t in self._types]
            rows.append(sum(nodes))
            edges.append(batch.num_edges)
            self._sums["seeds"] += batch.num_seeds
            self._bytes["read"] += _dot(nodes, self._read_bytes)
            for block in range(batch.num_blocks):
                self._add_block(batch, rank, block)
        self._sums["rows_read"] += sum(rows)
        self._bytes["sent_ids"] += bytes_of_ids
        for name, parts in ("rows", rows), ("edges", edges):
            self._imbalance[name] += max(parts) * len(parts) / max(sum(parts), 1)

    def add_alone(self, batch: _core.Batch) -> None:
        """The batch of a rank that works on its own."""
        nodes = [len(batch.n_id(t)) for t in self._types]
        self._sums["rows_independent"] += sum(nodes)
        self._bytes["read_independent"] += _dot(nodes, self._read_bytes)
        for block in range(batch.num_blocks):
            hop = self._hops[-1 - block]
            hop.nodes_independent += sum(batch.num_src(block, t) for t in self._types)
            hop.edges_independent += self._num_edges(batch, block)

    def finish(self, batches: int, **facts) -> Work:
        def mean(sums: dict) -> dict:
            return {name: value / batches for name, value in sums.items()}

        sums = mean(self._sums)
        return Work(
            **facts,
            batches=batches,
            **sums,
            ratio=sums["rows_read"] / max(sums["rows_independent"], 1),
            redundancy=sums["rows_independent"] / max(sums["rows_read"], 1),
            hops=[Hop(**mean(asdict(hop))) for hop in self._hops],
            imbalance=mean(self._imbalance),
            bytes=mean(self._bytes),
        )

    def _add_block(self, batch: _core.Batch, rank: int, block: int) -> None:
        plans = [batch.plan(block, t) for t in self._types]
        sent = [sum(plan.send_counts) - plan.send_counts[rank] for plan in plans]
        hop = self._hops[-1 - block]
        hop.nodes += sum(plan.num_owned for plan in plans)
        hop.edges += self._num_edges(batch, block)
        hop.rows_sent += sum(sent)
        if block == 0:
            self._sums["rows_sent"] += sum(sent)
            self._bytes["sent_rows"] += _dot(sent, self._sent_bytes)
        else:  # there, and the gradients back
            self._bytes["sent_hidden"] += 2 * sum(sent) * self._hidden_bytes

    def _num_edges(self, batch: _core.Batch, block: int) -> int:
        return sum(len(batch.indices(block, t)) for t in self._edge_types)


def _dot(counts, sizes) -> int:
    return sum(count * size for count, size in zip(counts, sizes))


def bytes_of_row(graph: Graph, node_type: str) -> tuple[int, int]:
    """Of a row of "feat": as it is stored, and as it is sent."""
    if "feat" not in graph.tables(node_type):
        return ROW_BYTES, ROW_BYTES
    table = graph.table("feat", node_type)
    columns = math.prod(table.shape[1:])
    stored = columns * table.dtype.itemsize
    return stored, columns * FLOAT_BYTES if table.is_encoded else stored
