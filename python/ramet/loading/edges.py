"""Edges: the sampled edges of a batch with expand="once"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ramet._support.tensors import to_tensor
from ramet.graph import EdgeTypeName

if TYPE_CHECKING:
    from ramet.loading.batch import Batch


class Edges:
    """All sampled edges of one type, as one graph: those of the seeds' hop first, then hop by hop.

    Every node is a destination in one hop at most, so no edge is listed twice, unless a seed is given twice or draws
    repeat. The first sum(num_sampled_edges[:i]) edges lead to the first sum(num_sampled_nodes[:i]) nodes, which lets a
    model trim its layers. Of ramet.Budget() without `nodes_per_tree` sources may be of any hop: layers take all edges.
    """

    def __init__(self, batch: Batch, edge_type: EdgeTypeName | None):
        if not batch._core.merged:
            raise ValueError("expand='every' samples nodes anew in every hop: use batch.blocks, or sample with 'once'")
        types = batch.graph.edge_types
        name = types[0] if edge_type is None and len(types) == 1 else edge_type
        if name is None or tuple(name) not in types:
            raise ValueError(f"edge_type is {edge_type!r}, expected one of {types}")
        self.batch = batch  # keeps the memory alive
        self.edge_type = tuple(name)
        self._index = types.index(self.edge_type)

    @property
    def edge_index(self):
        """int64 [2, num_edges]: (source; destination), positions in `batch.n_id`; where ranks cooperate, sources
        are positions in `batch.sources.n_id`. This and the arrays below are computed on access.
        """
        return self._derived("edge_index")

    @property
    def e_id(self):
        """int64 [num_edges]: the user's edge ids. Rows of edge tables are numbered by `position` instead."""
        return self._derived("edge_ids")

    @property
    def position(self):
        """int64 [num_edges]: positions in the graph's CSC, which are the rows of edge tables."""
        return self._derived("positions")

    @property
    def edge_weight(self):
        """float32 [num_edges]: as Block.edge_weight."""
        return self._derived("edge_weights")

    def table(self, name: str):
        """[num_edges, ...]: the rows of the edge table `name`, decoded where the loader decodes. Gathered ahead where
        the loader's `tables` name it, else on access. Raises KeyError with the existing names.
        """
        batch, table = self.batch, self.batch.graph.table(name, self.edge_type)
        if (self.edge_type, name) in batch.origin.requests:
            return batch._tensor(batch._core.table(list(batch.origin.requests).index((self.edge_type, name))))
        dtype = "float32" if batch.origin.decode and table.is_encoded else None
        position = batch._core.merged_positions(self._index)
        return batch._placed(to_tensor(table.gather(position, dtype=dtype)))

    def __len__(self) -> int:
        return sum(self.batch._core.num_sampled_edges(self._index))

    def __repr__(self) -> str:
        return f"Edges({len(self)} of {'-'.join(self.edge_type)})"

    def _derived(self, what: str):
        core = self.batch._core
        return self.batch._placed(to_tensor(getattr(core, "merged_" + what)(self._index)))
