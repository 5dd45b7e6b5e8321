"""Counts what ranks would sample, read and send for a batch: W(PB) together, P times W(B) on their own.

W(n) is the number of nodes that a batch of n seeds reaches, whose rows have to be read. Ranks that cooperate reach
W(PB) in sum, ranks that work on their own P W(B), and W grows more slowly than n (Balin, LaSalle, Catalyurek:
"Cooperative Minibatching in Graph Neural Networks", arXiv:2310.12403).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ramet import _core
from ramet._support.arguments import as_int
from ramet.costs.memory import FLOAT_BYTES, bytes_of_row
from ramet.costs.sample import batches_of
from ramet.loading.neighbor_loader import NeighborLoader
from ramet.stores.ownership import as_owners


@dataclass
class Hop:
    """One hop, the seeds' first: nodes reached so far, edges of the hop, and rows that its layer pulls from other
    ranks; means per batch over all ranks."""

    nodes: float = 0
    edges: float = 0
    nodes_independent: float = 0
    edges_independent: float = 0
    rows_sent: float = 0


@dataclass
class RankCount:
    """Means of a batch, in sum over all ranks. `rows_sent` is of the input layer. `imbalance`: the largest rank's part
    over the mean one. `bytes`: "read" and "read_independent" from tables; "sent_ids", "sent_rows" (of the input layer,
    decoded) and "sent_hidden" (of the layers after it, there and their gradients back) to other ranks."""

    batches: int
    seeds: float
    rows_read: float
    rows_independent: float
    rows_sent: float
    hops: list[Hop]
    imbalance: dict[str, float]
    bytes: dict[str, float]

    @property
    def ratio(self) -> float:
        """Rows read together over rows read alone."""
        return self.rows_read / max(self.rows_independent, 1)


def count_ranks(
    loader: NeighborLoader,
    ranks: int,
    *,
    ownership=None,
    batches: int = 1,
    row_bytes: int | None = None,
    hidden: int = 256,
    progress: bool = False,
) -> RankCount:
    """Samples the first `batches` batches of the loader as ranks would, both ways, in this process.

    loader: of the global batches, without tables. ownership: as a NeighborLoader's. row_bytes: of a row that is read,
    and sent; None: as table "feat" has them, which are sent as float32 where they are decoded to that, and 512 without
    one. hidden: width of the layers between the first and the last, float32.
    """
    ranks = as_int(ranks, "ranks", 1, _core.MAX_PARTS)
    batches = as_int(batches, "batches", 1)
    owners = as_owners(ownership, loader.graph, ranks)
    together = [_core.CooperativeLoader(loader._core, owners=owners, rank=rank) for rank in range(ranks)]
    count, batches = _Counter(loader, row_bytes, as_int(hidden, "hidden", 0)), min(batches, len(loader))
    for batch in batches_of(loader, batches, progress=progress):
        whole = batch._core
        count.sums["seeds"] += whole.num_seeds
        count.add_sampled(whole, "read", "")  # the union of what ranks make together
        for positions in np.array_split(whole.input_id, ranks):
            count.add_sampled(loader._core.make(positions, batch.epoch, batch.step), "independent", "_independent")
        of_ranks, bytes_of_ids = make_together(together, batch.epoch, batch.step)
        count.bytes["sent_ids"] += bytes_of_ids
        count.add_imbalance(of_ranks)
        for rank, of_rank in enumerate(of_ranks):
            count.add_sent(of_rank, rank)
    return count.mean(batches)


class _Counter:
    """Sums over batches."""

    def __init__(self, loader: NeighborLoader, row_bytes: int | None, hidden: int):
        graph = loader.graph
        self._types, self._edge_types = range(len(graph.node_types)), range(len(graph.edge_types))
        self._read_bytes, self._sent_bytes = zip(*(bytes_of_row(graph, t, row_bytes) for t in graph.node_types))
        self._hidden_bytes = hidden * FLOAT_BYTES
        self._hops = [Hop() for _ in loader.options["fanouts"][0]]
        self._imbalance = {"rows": 0.0, "edges": 0.0}
        self.sums = dict.fromkeys(("seeds", "rows_read", "rows_independent", "rows_sent"), 0)
        self.bytes = dict.fromkeys(("read", "read_independent", "sent_rows", "sent_ids", "sent_hidden"), 0)

    def add_sampled(self, batch: _core.Batch, rows: str, suffix: str) -> None:
        nodes = self._nodes(batch)
        self.sums["rows_" + rows] += sum(nodes)
        self.bytes["read" + suffix] += _dot(nodes, self._read_bytes)
        for block in range(batch.num_blocks):
            counts = vars(self._hops[-1 - block])
            counts["nodes" + suffix] += sum(batch.num_src(block, t) for t in self._types)
            counts["edges" + suffix] += sum(len(batch.indices(block, t)) for t in self._edge_types)

    def add_imbalance(self, batches: list[_core.Batch]) -> None:
        rows, edges = ([sum(self._nodes(batch)) for batch in batches], [batch.num_edges for batch in batches])
        for name, parts in ("rows", rows), ("edges", edges):
            self._imbalance[name] += max(parts) * len(parts) / max(sum(parts), 1)

    def add_sent(self, batch: _core.Batch, rank: int) -> None:
        for block in range(batch.num_blocks):
            plans = [batch.plan(block, t) for t in self._types]
            sent = [sum(plan.send_counts) - plan.send_counts[rank] for plan in plans]
            self._hops[-1 - block].rows_sent += sum(sent)
            if block == 0:
                self.sums["rows_sent"] += sum(sent)
                self.bytes["sent_rows"] += _dot(sent, self._sent_bytes)
            else:  # there, and the gradients back
                self.bytes["sent_hidden"] += 2 * sum(sent) * self._hidden_bytes

    def mean(self, batches: int) -> RankCount:
        def mean(sums: dict) -> dict:
            return {name: value / batches for name, value in sums.items()}

        hops = [Hop(**mean(vars(hop))) for hop in self._hops]
        return RankCount(batches, **mean(self.sums), hops=hops, imbalance=mean(self._imbalance), bytes=mean(self.bytes))

    def _nodes(self, batch: _core.Batch) -> list[int]:
        return [len(batch.n_id(t)) for t in self._types]


def _dot(counts, sizes) -> int:
    return sum(count * size for count, size in zip(counts, sizes))


# ---- ranks in one process


def make_together(ranks: list[_core.CooperativeLoader], epoch: int, step: int) -> tuple[list[_core.Batch], int]:
    """The batch of a step, by all ranks of a group in this process, and how many bytes of messages went from one rank
    to another. Messages are passed on in memory."""
    weight = 0
    messages = [rank.begin(epoch, step) for rank in ranks]
    while messages[0] is not None:
        weight += sum(sum(sizes) - sizes[rank] for rank, (sizes, _) in enumerate(messages))
        messages = [rank.receive(*message) for rank, message in zip(ranks, _all_to_all(messages))]
    return [rank.finish() for rank in ranks], weight


def _all_to_all(messages: list[tuple]) -> list[tuple]:
    """Converts messages by sender to messages by receiver."""
    parts = [np.split(data, np.cumsum(sizes)[:-1]) for sizes, data in messages]
    return [
        ([sizes[rank] for sizes, _ in messages], np.concatenate([sent[rank] for sent in parts]))
        for rank in range(len(messages))
    ]
