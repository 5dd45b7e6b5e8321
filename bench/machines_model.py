"""Rows and bytes of a rank on any number of machines, on paper: from the nodes that sampling reaches in one process and
the share of edges that owners cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import ramet

ID_BYTES, FLOAT_BYTES = 4, 4


@dataclass(frozen=True)
class Rank:
    """Of a step, means over the ranks: rows that it reads, rows that it gets from other machines for each layer, the
    input layer first, and bytes that it gets."""

    rows_read: float
    rows_received: list[float]
    nbytes: float

    def seconds(self, rate: float) -> float:
        """That the network needs, if nothing else takes time. rate: in bits a second."""
        return self.nbytes * 8 / rate


def together(graph, seeds: np.ndarray, fanouts: list[int], ranks: int, cut: float, widths: list[int]) -> Rank:
    """A rank of those that cooperate. seeds: of the global batch. cut: the share of edges whose ends have different
    owners. widths: of the rows of each layer's input. Each hop, a rank samples its share of the nodes that all have
    reached: as many of them, drawn at random, stand for its own."""
    whole, random = ramet.sample(graph, seeds, fanouts), np.random.default_rng(0)
    received, nbytes = [], 0.0
    for block, fanout, width in zip(whole.blocks, reversed(fanouts), widths):
        reached = np.asarray(whole.n_id)[: block.num_dst]
        own = random.choice(reached, max(1, len(reached) // ranks), replace=False)
        (hop,) = ramet.sample(graph, own, [fanout]).blocks
        received.append(len(np.unique(hop.indices)) * cut)  # of the neighbors, those of others
        ways = 2 if nbytes else 1  # rows of hidden layers have gradients, which go back
        nbytes += received[-1] * (ID_BYTES + ways * width * FLOAT_BYTES)
    return Rank(len(whole.n_id) / ranks, received, nbytes)


def apart(graph, seeds: np.ndarray, fanouts: list[int], ranks: int, width: int) -> Rank:
    """An independent rank, whose rows lie on all machines. seeds: of its own."""
    rows = len(ramet.sample(graph, seeds, fanouts).n_id)
    received = rows * (1 - 1 / ranks)
    return Rank(rows, [received], received * (ID_BYTES + width * FLOAT_BYTES))
