"""GraphSAINT's samplers with PyG's arguments, whose batches the engine makes."""

from __future__ import annotations

import torch_geometric.loader
from torch.utils.data import DataLoader

from ramet._support.log import warn_once
from ramet.pyg.subgraph_loader import SubgraphBatches
from ramet.subgraphs.saint_loader import SaintLoader


class GraphSAINTSampler(SubgraphBatches, torch_geometric.loader.GraphSAINTSampler):
    """PyG's GraphSAINT samplers, with their arguments and without torch-sparse: nodes that are drawn, and all edges
    among them. Probabilities and norms are the paper's (docs/pyg.md).

    data: a Data, whose rows are read where they lie, or a ramet.Graph of one type.
    batch_size, num_steps, sample_coverage, walk_length: as of ramet.SaintLoader. `save_dir` and `log` change nothing.
    The other arguments are those of torch's DataLoader. Of ramet.SaintLoader it takes `threads`, `prefetch`,
    `placement` and `tables` ({attribute: ramet.Table}).

    A batch is a Data with the rows of its nodes, which ascend, `edge_index` by destination, `n_id` and `e_id`, and with
    a `sample_coverage` above 0 `node_norm` and `edge_norm`. torch.manual_seed, or `generator`, makes an epoch repeat.
    """

    draws_by = ""

    def __init__(
        self,
        data,
        batch_size: int,
        num_steps: int = 1,
        sample_coverage: int = 0,
        save_dir: str | None = None,
        log: bool = True,
        **kwargs,
    ):
        if save_dir is not None:
            warn_once("save_dir has no effect: norms are counted when a sampler is made")
        ahead = self._begin(data, kwargs)
        own = {"walk_length": self.walk_length} if self.draws_by == "walk" else {}
        self._set_engine(
            ahead, SaintLoader, self.draws_by, batch_size, num_steps, sample_coverage=sample_coverage, **own
        )
        self.num_steps, self.sample_coverage, self._batch_size = num_steps, sample_coverage, batch_size
        self.data, self.N, self.E = self.source.template, self.source.graph.num_nodes(), self.source.graph.num_edges()
        DataLoader.__init__(self, range(num_steps), batch_size=1, collate_fn=self._collate, **kwargs)

    def _collate(self, data_list):
        return self._made(data_list)


class GraphSAINTNodeSampler(GraphSAINTSampler, torch_geometric.loader.GraphSAINTNodeSampler):
    __doc__ = GraphSAINTSampler.__doc__
    draws_by = "node"


class GraphSAINTEdgeSampler(GraphSAINTSampler, torch_geometric.loader.GraphSAINTEdgeSampler):
    __doc__ = GraphSAINTSampler.__doc__
    draws_by = "edge"


class GraphSAINTRandomWalkSampler(GraphSAINTSampler, torch_geometric.loader.GraphSAINTRandomWalkSampler):
    __doc__ = GraphSAINTSampler.__doc__
    draws_by = "walk"

    def __init__(
        self,
        data,
        batch_size: int,
        walk_length: int,
        num_steps: int = 1,
        sample_coverage: int = 0,
        save_dir: str | None = None,
        log: bool = True,
        **kwargs,
    ):
        self.walk_length = walk_length
        GraphSAINTSampler.__init__(self, data, batch_size, num_steps, sample_coverage, save_dir, log, **kwargs)
