"""Graphs with times, for the engine and for the twin, and what time a sampled edge has."""

import itertools
import operator

import numpy as np
import twin
from comparison import EDGE, ODD_EDGES, ODD_NODES, by_type, edge_list

import ramet

NUM_NODES = 200
IN_ORDER = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt}


def some_times(count: int, seed: int) -> np.ndarray:
    """Many of them equal."""
    return np.random.default_rng(seed).integers(-20, 20, count)


def sorted_by_time(csc: twin.Csc, times: list[int]) -> tuple[twin.Csc, list[int]]:
    """Each row by (time, order); and the old position of each edge."""
    rows = [sorted(range(a, b), key=lambda p: times[p]) for a, b in itertools.pairwise(csc.indptr)]
    order = [p for row in rows for p in row]
    return twin.Csc(csc.indptr, [csc.indices[p] for p in order], [csc.edge_ids[p] for p in order]), order


def timed_pair(of: str, sort: bool, seed: int = 0):
    """(engine's graph, twin's graph) of one type. of: "edges" or "nodes" have times. Edges also have weights "w"."""
    edges = edge_list(NUM_NODES, NUM_NODES, 1500, seed=seed, hub=90)
    num_edges = edges.shape[1]
    times = some_times(num_edges if of == "edges" else NUM_NODES, seed)
    weights = np.random.default_rng(seed).integers(0, 4, num_edges).astype(np.float64)
    tables = {"w": weights} | ({"time": times} if of == "edges" else {})
    nodes = {"time": times} if of == "nodes" else None
    options = {"sort_by": "time"} if sort else {}
    graph = ramet.from_edge_index(edges, NUM_NODES, nodes=nodes, edges=tables, **options)
    csc = twin.Csc.from_edges(*edges, NUM_NODES)
    if sort:
        of_edges = times[csc.edge_ids] if of == "edges" else times[csc.indices]
        csc, _ = sorted_by_time(csc, of_edges.tolist())
    twin_tables = {name: {EDGE: rows[csc.edge_ids].tolist()} for name, rows in tables.items()}
    node_tables = {"time": {"node": times.tolist()}} if of == "nodes" else {}
    return graph, twin.TwinGraph({"node": NUM_NODES}, {EDGE: csc}, twin_tables, node_tables)


def timed_types(of: str, sort: bool):
    """The same of several types, whose names need encoding; every other type that could have times has some."""
    lists = {
        t: edge_list(ODD_NODES[t[0]], ODD_NODES[t[2]], 200 + 40 * i, seed=i, hub=40) for i, t in enumerate(ODD_EDGES)
    }
    edge_times = {t: some_times(lists[t].shape[1], i) for i, t in enumerate(ODD_EDGES[::2]) if of == "edges"}
    node_times = {t: some_times(n, i) for i, (t, n) in enumerate(list(ODD_NODES.items())[:2]) if of == "nodes"}
    graph = ramet.from_edge_index(
        lists,
        dict(ODD_NODES),
        nodes={t: {"time": times} for t, times in node_times.items()},
        edges={t: {"time": times} for t, times in edge_times.items()},
        sort_by="time" if sort else None,
    )
    cscs = {t: twin.Csc.from_edges(*edges, ODD_NODES[t[2]]) for t, edges in lists.items()}
    for t, csc in cscs.items() if sort else ():
        if t in edge_times:
            cscs[t], _ = sorted_by_time(csc, edge_times[t][csc.edge_ids].tolist())
        elif t[0] in node_times:
            cscs[t], _ = sorted_by_time(csc, node_times[t[0]][csc.indices].tolist())
    tables = {"time": {t: times[cscs[t].edge_ids].tolist() for t, times in edge_times.items()}}
    node_tables = {"time": {t: times.tolist() for t, times in node_times.items()}}
    return graph, twin.TwinGraph(dict(ODD_NODES), cscs, tables, node_tables)


def is_allowed(times: np.ndarray, of_seeds: np.ndarray, rule: ramet.Time) -> np.ndarray:
    """Whether the times, all of them small, are allowed by those of the seeds: one each, or the first and the last."""
    if of_seeds.ndim == 2:
        return (of_seeds[:, 0] <= times) & (times <= of_seeds[:, 1])
    window = np.inf if rule.window is None else rule.window
    return IN_ORDER[rule.comparison](times, of_seeds) & (abs(times - of_seeds) <= window)


def sampled_times(graph, batch, table: str = "time"):
    """For each edge type with times, in every hop: (times of the sampled edges, times of the seeds of their trees)."""
    trees = {t: np.asarray(of_type) for t, of_type in by_type(batch.batch, graph.node_types).items()}
    seed_times = np.asarray(batch.seed_time)
    for edge_type, sources, destinations, position in edges_of_hops(graph, batch):
        src, _, dst = edge_type
        assert np.array_equal(trees[src][sources], trees[dst][destinations])  # a path never leaves its tree
        times = _times_at(graph, edge_type, position, table)
        if times is not None:
            yield times, seed_times[trees[dst][destinations]]


def _times_at(graph, edge_type, position: np.ndarray, table: str) -> np.ndarray | None:
    if table in graph.tables(edge_type):
        return graph.table(table, edge_type).numpy()[position]
    if table in graph.tables(edge_type[0]):
        return graph.table(table, edge_type[0]).numpy()[graph.indices(edge_type)[position]]
    return None


def edges_of_hops(graph, batch):
    """(edge type, local sources, local destinations, positions) of every hop and edge type."""
    if batch.expand == "once":
        for edge_type in graph.edge_types:
            edges = batch.edges(edge_type)
            yield edge_type, *np.asarray(edges.edge_index), np.asarray(edges.position)
        return
    for block in batch.blocks:
        yield from _edges_of(graph, block)


def _edges_of(graph, block):
    index, position = (by_type(value, graph.edge_types) for value in (block.edge_index, block.position))
    for edge_type in graph.edge_types:
        yield edge_type, *np.asarray(index[edge_type]), np.asarray(position[edge_type])
