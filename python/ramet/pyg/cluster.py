"""ClusterLoader: PyG's loader of clusters, whose batches the engine makes."""

from __future__ import annotations

import copy

import numpy as np
import torch
import torch_geometric.loader
from torch.utils.data import DataLoader
from torch_geometric.index import ptr2index
from torch_geometric.loader import ClusterData

from ramet import _core
from ramet._support.arguments import as_int, shortened
from ramet.pyg.subgraph_loader import SubgraphBatches
from ramet.stores import metis
from ramet.subgraphs.cluster_loader import ClusterLoader as Engine


class ClusterLoader(SubgraphBatches, torch_geometric.loader.ClusterLoader):
    """PyG's ClusterLoader, without pyg-lib and torch-sparse: batches of clusters, and all edges among their nodes.

    cluster_data: PyG's ClusterData; or a Data or a ramet.Graph, with `num_parts`: METIS makes so many clusters of it
        (needs pymetis).
    The other arguments are those of torch's DataLoader. Of ramet.ClusterLoader it takes `threads`, `prefetch`,
    `placement` and `tables` ({attribute: ramet.Table}).

    A batch is a Data with the rows of its nodes, `edge_index` by destination, `n_id` and `e_id`, which number the nodes
    and edges of `cluster_data` (those of a ClusterData are PyG's, in the order of clusters). TypeError and ValueError
    name the argument.
    """

    def __init__(self, cluster_data, num_parts: int | None = None, **kwargs):
        is_clustered = isinstance(cluster_data, ClusterData)
        if is_clustered == (num_parts is not None):
            raise ValueError(
                f"num_parts is {shortened(num_parts)} with a {type(cluster_data).__name__}: "
                "a ClusterData has its clusters, other data needs their number"
            )
        self.cluster_data = cluster_data
        ahead = self._begin(_joined(cluster_data) if is_clustered else cluster_data, kwargs)
        parts = _parts_of(cluster_data) if is_clustered else self._metis(num_parts)
        self._set_engine(ahead, Engine, parts)
        num_parts = len(cluster_data) if is_clustered else num_parts
        DataLoader.__init__(self, range(num_parts), collate_fn=self._collate, **kwargs)

    def _collate(self, batch):
        return self._made(batch)

    def _metis(self, num_parts: int) -> np.ndarray:
        graph = self.source.graph
        return metis.owners(graph, as_int(num_parts, "num_parts", 1, _core.MAX_PARTS), "nodes", 0)[graph.node_types[0]]


def _joined(clusters: ClusterData):
    """The Data of a ClusterData with its edges, whose attributes are in their order already."""
    found, data = clusters.partition, copy.copy(clusters.data)
    ends = ptr2index(found.indptr), found.index
    data.edge_index = torch.stack(ends if found.sparse_format == "csr" else ends[::-1])
    data.num_nodes = len(found.node_perm)
    return data


def _parts_of(clusters: ClusterData) -> np.ndarray:
    return ptr2index(clusters.partition.partptr).numpy()
