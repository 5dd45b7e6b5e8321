"""ClusterLoader: batches of clusters of nodes, with the edges between them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ramet import _core
from ramet._support.arguments import as_int, as_path, shortened
from ramet.arrays import as_array, check_range, to_integers
from ramet.graph import Graph
from ramet.loading.options import as_graph, require_whole
from ramet.stores.ownership import stored
from ramet.stores.partition import REPORT, owner_file
from ramet.subgraphs.loader import SubgraphLoader
from ramet.tables.owners import owner_vector


class ClusterLoader(SubgraphLoader):
    """Cluster-GCN's batches: the nodes of some clusters, and all edges among them (Chiang et al.: "Cluster-GCN: an
    efficient algorithm for training deep and large graph convolutional networks", KDD 2019).

    parts: the cluster of each node: integers [num_nodes], or on a heterogeneous graph a dict of these by node type; or
        the folder that ramet.partition wrote. Clusters may be empty.
    batch_size=1: clusters of the GLOBAL batch. Each rank gets its slice of them, and the edges among its clusters.
    shuffle=False, drop_last=False: whether to shuffle the clusters; to drop a last batch of fewer.
    seed=0: of the shuffle.
    tables, features, threads, prefetch, ranks, placement: as of NeighborLoader.

    Each iteration is the next epoch, in which every node is once. A batch is a ramet.Subgraph: `n_id` has the nodes of
    its clusters, one cluster after the other, each by id. Raises what NeighborLoader raises; ValueError and IndexError
    for parts that do not fit; FileNotFoundError where the folder has no report of ramet.partition.
    """

    def __init__(
        self,
        graph: Graph,
        parts,
        batch_size: int = 1,
        *,
        shuffle: bool = False,
        drop_last: bool = False,
        seed: int = 0,
        **options,
    ):
        self._check_names(options)
        require_whole(as_graph(graph))
        self.num_parts, clusters = _clusters(graph, parts)
        subgraphs = _core.make_clusters(graph._core, clusters)
        batches = {"batch_size": batch_size, "shuffle": shuffle, "drop_last": drop_last, "seed": seed}
        super().__init__(graph, subgraphs, {"parts": self.num_parts}, options, **batches)


def _clusters(graph: Graph, parts) -> tuple[int, list[tuple[np.ndarray, np.ndarray]]]:
    """(number, (offsets, ids) of each node type)."""
    if isinstance(parts, (str, bytes, os.PathLike)):
        num_parts, of_types = _of_folder(graph, Path(as_path(parts, "parts")))
    else:
        of_types = {t: _as_parts(of_type, graph, t, name) for t, of_type, name in _by_type(graph, parts)}
        num_parts = max((int(of_type.max()) + 1 for of_type in of_types.values() if len(of_type)), default=1)
    return num_parts, [_nodes_of(of_types[t], num_parts) for t in graph.node_types]


def _by_type(graph: Graph, parts) -> list[tuple]:
    """(node type, its parts, what errors call them)."""
    if not isinstance(parts, Mapping):
        if len(graph.node_types) > 1:
            raise ValueError(f"parts is {shortened(parts)}, expected a dict by node type; they are {graph.node_types}")
        return [(graph.node_types[0], parts, "parts")]
    if set(parts) != set(graph.node_types):
        raise ValueError(f"parts is of the node types {list(parts)}, expected {graph.node_types}")
    return [(t, parts[t], f"parts[{t!r}]") for t in graph.node_types]


def _as_parts(parts, graph: Graph, node_type: str, what: str) -> np.ndarray:
    """int32 or int64 [num_nodes]."""
    array, num_nodes = as_array(parts, what), graph.num_nodes(node_type)
    if array.shape != (num_nodes,):
        raise ValueError(f"{what} has shape {list(array.shape)}, expected [{num_nodes}], the part of each node")
    most = max(_core.MAX_PARTS, sum(graph.num_nodes(t) for t in graph.node_types))
    array = to_integers(array, what)
    check_range(array, most, what, f"expected a part from 0 to {most - 1}")
    return array


def _of_folder(graph: Graph, folder: Path) -> tuple[int, dict[str, np.ndarray]]:
    """What ramet.partition wrote."""
    if not (folder / REPORT).is_file():
        raise FileNotFoundError(f"parts is {str(folder)!r}, which has no {REPORT}: ramet.partition writes it last")
    num_parts = as_int(json.loads((folder / REPORT).read_text())["parts"], f"parts in {REPORT}", 1, _core.MAX_PARTS)
    of_types = {}
    for t in graph.node_types:
        file = owner_file(folder, t)
        part_of = owner_vector(stored(np.load(file), num_parts, str(file)))
        of_types[t] = _as_parts(part_of, graph, t, str(file))
    return num_parts, of_types


def _nodes_of(part_of: np.ndarray, num_parts: int) -> tuple[np.ndarray, np.ndarray]:
    """(offsets, ids): the nodes of each part, by id."""
    nodes = np.arange(len(part_of), dtype=part_of.dtype)
    offsets, ids, _ = _core.build_csc(nodes, part_of, len(part_of), num_parts, edge_ids=False)
    return offsets, ids
