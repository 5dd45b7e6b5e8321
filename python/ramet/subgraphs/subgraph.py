"""Subgraph: a batch of some nodes, and all edges of the graph among them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ramet._support.tensors import num_rows, to_tensor
from ramet.loading.batch import Batch, Origin
from ramet.loading.block import Block, per_type


@dataclass(frozen=True)
class Norms:
    """GraphSAINT's normalization: float32 of each node, and of each edge by its position."""

    node: np.ndarray
    edge: np.ndarray


@dataclass(frozen=True)
class SubgraphOrigin(Origin):
    """norms: None where batches have none."""

    norms: Norms | None = None


class Subgraph(Batch):
    """A batch of a ClusterLoader or a SaintLoader: some nodes, and all edges of the graph among them.

    It has what a Batch has: all its nodes count as seeds, `x` and `y` follow `n_id`, and `edges()` are its edges. On a
    heterogeneous graph values by type are dicts.
    """

    origin: SubgraphOrigin
    has_hops = False
    global_num_seeds = property(
        lambda self: self._core.global_num_seeds, doc="Clusters, or samples, of this step over all ranks."
    )

    @property
    def input_id(self):
        """int64 [clusters]: the clusters of this batch; of a SaintLoader the number of the subgraph in its epoch."""
        return self._placed(to_tensor(self._core.input_id))

    @property
    def edge_index(self):
        """int64 [2, num_edges]: (source; destination), positions in `n_id`, by destination."""
        return self._of_edges("edge_index")

    @property
    def e_id(self):
        """int64 [num_edges]: the user's edge ids."""
        return self._of_edges("e_id")

    @property
    def blocks(self) -> list[Block]:
        """The edges as one Block, whose sources and destinations are all nodes: each layer of ramet.nn takes it."""
        return [Block(self, 0)]

    @property
    def node_norm(self):
        """float32 [num_nodes], of a SaintLoader: the sum of losses times these estimates the mean over all nodes."""
        return self._norm("node", self._core.n_id(0))

    @property
    def edge_norm(self):
        """float32 [num_edges], of a SaintLoader: the sum over a node's edges of messages times these, divided by its
        in-degree in the graph, estimates the mean over all its in-neighbors."""
        return self._norm("edge", self._core.merged_positions(0))

    def mean(self, per_node):
        """The mean of `per_node`, one row for each node here; 0 and differentiable where there is none."""
        if (rows := num_rows(per_node, "per_node")) != self.num_seeds:
            raise ValueError(f"per_node has {rows} rows, but the subgraph has {self.num_seeds} nodes")
        return per_node.sum() / max(self.num_seeds, 1)

    def to_pyg(self, pad=None):
        """As PyG's Data or HeteroData; see Batch.to_pyg. It has no hops, so neither `batch_size` nor counts of them.
        ValueError for a pad."""
        if pad is not None:
            raise ValueError(f"pad is {pad}, which batches that are subgraphs do not take")
        data = super().to_pyg()
        data.input_id = self.input_id
        if self.origin.norms is not None:
            data.node_norm, data.edge_norm = self.node_norm, self.edge_norm
        return data

    def __repr__(self) -> str:
        return f"<ramet.Subgraph epoch={self.epoch} step={self.step} nodes={self.num_nodes} edges={self.num_edges}>"

    def _of_edges(self, what: str):
        types = self.graph.edge_types
        return per_type(self.graph, types, lambda t: getattr(self.edges(types[t]), what))

    def _norm(self, of: str, index: np.ndarray):
        norms = self.origin.norms
        if norms is None:
            raise AttributeError(f"batch.{of}_norm is there in batches of a SaintLoader with sample_coverage above 0")
        return self._placed(to_tensor(getattr(norms, of)[index]))
