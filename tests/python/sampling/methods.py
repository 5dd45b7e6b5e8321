"""Every way to pick neighbors, and graphs with weights for each of them."""

import numpy as np
import twin
from comparison import EDGE, edge_list, labor, thompson, write_store

import ramet

WEIGHTED = {
    "weighted": {"sampler": ramet.Weighted("w")},
    "weighted replace": {"sampler": ramet.Weighted("w", replace=True)},
}
ALONE = {  # a destination's row alone decides
    "uniform": {},
    "replace": {"sampler": ramet.Uniform(replace=True)},
    "uniform kappa": {"sampler": ramet.Uniform(dependent=4)},
    **WEIGHTED,
    "weighted kappa": {"sampler": ramet.Weighted("w", dependent=4)},
}
LABOR = {
    "labor-0": labor(),
    "labor-2": labor(2),
    "labor-0 layer_dependent": labor(layer_dependent=True),
    "labor-1 thompson": thompson(1),
    "labor-1 kappa": labor(1, dependent=4),
    "labor-0 weighted": labor(table="w"),
    "labor-2 weighted": labor(2, table="w"),
}
METHODS = ALONE | LABOR
PLAIN = {name: ALONE[name] for name in ("uniform", "replace")} | {f"labor-{i}": labor(i) for i in range(4)}
SEEDS = [7, 19, 0, 50, 42, 33, 19, 7]  # two of them twice


def some_weights(num_edges: int) -> np.ndarray:
    """A third of them 0."""
    return np.arange(num_edges) % 3 * (1.0 + np.arange(num_edges) % 7)


def with_weights(lists: dict, num_nodes: dict[str, int], weights: dict | None = None):
    """(engine's graph, twin's graph) with an edge table "w", by default of some_weights()."""
    cscs = {t: twin.Csc.from_edges(*edges, num_nodes[t[2]]) for t, edges in lists.items()}
    weights = weights or {t: some_weights(len(edges[0])) for t, edges in lists.items()}
    graph = ramet.from_edge_index(dict(lists), dict(num_nodes), edges={t: {"w": w} for t, w in weights.items()})
    tables = {t: weights[t][csc.edge_ids].astype(float).tolist() for t, csc in cscs.items()}
    return graph, twin.TwinGraph(dict(num_nodes), cscs, {"w": tables})


def homogeneous(num_nodes: int = 300):
    """With a hub, the last node, parallel edges and self loops."""
    return with_weights({EDGE: edge_list(num_nodes, num_nodes, 2000, seed=1, hub=150)}, {"node": num_nodes})


KINDS = ("homogeneous", "heterogeneous", "64 bits")


def make(kind: str, folder):
    """(engine's graph, twin's graph, type of seeds)."""
    if kind == "homogeneous":
        return *homogeneous(), "node"
    if kind == "heterogeneous":
        types = {"a": 120, "b": 80}
        ends = [("a", "to", "a"), ("a", "to", "b"), ("b", "to", "a"), ("b", "also", "a")]
        lists = {t: edge_list(types[t[0]], types[t[2]], 500, seed=i, hub=60) for i, t in enumerate(ends)}
        return *with_weights(lists, types), "a"
    _, small = homogeneous()
    csc = (np.array(small.edges[EDGE].indptr), np.array(small.edges[EDGE].indices, np.int64))
    return *write_store(folder / "wide", {"node": 300, "huge": 2**40}, {EDGE: csc}), "node"
