"""HGTLoader: PyG's loader of budgets by node type."""

from __future__ import annotations

from ramet.loading.samplers import Budget
from ramet.pyg.loader import NeighborLoader
from ramet.pyg.sampler import RametSampler


class HGTLoader(NeighborLoader):
    """PyG's HGTLoader, with its arguments and batches, without torch-sparse.

    data: as of NeighborLoader. Graphs of one type work, too.
    num_samples: how many nodes each hop draws of each node type, 0 for none: a list with a number per hop, or a dict of
        such lists by node type.
    input_nodes: as in PyG; for a ramet.Graph also the name of a split.
    The other arguments are those of NeighborLoader.

    Nodes and edges are those of ramet.Budget (docs/semantics.md, section 25). Rows of more than 50 edges, which PyG
    cuts, are whole, and `e_id` is right for them.
    """

    def __init__(
        self,
        data,
        num_samples,
        input_nodes,
        is_sorted: bool = False,
        transform=None,
        transform_sampler_output=None,
        filter_per_worker: bool | None = None,
        **kwargs,
    ):
        super().__init__(
            data,
            num_samples,
            input_nodes,
            transform=transform,
            transform_sampler_output=transform_sampler_output,
            is_sorted=is_sorted,
            filter_per_worker=filter_per_worker,
            neighbor_sampler=RametSampler(data, num_samples, method=Budget()),
            **kwargs,
        )
