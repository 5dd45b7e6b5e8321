"""Random walks; docs/semantics.md, section 22."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from ramet import _core
from ramet._support import torch_devices as devices
from ramet._support.arguments import UINT64_MAX, EdgeTypeName, as_flag, as_int, as_real, check_word
from ramet._support.tensors import to_tensor
from ramet.graph import Graph, only
from ramet.loading.options import MAX_THREADS, as_graph, as_input_nodes, node_type_of, require_whole
from ramet.stores.ordered_edges import Needs, ordered_edges
from ramet.walks import on_device

DIRECTIONS = ("out", "in")
LEFT_OVER = 1e-6  # share of walks that are cut before they end


def random_walk(
    graph: Graph,
    starts,
    length: int,
    *,
    metapath: Sequence[EdgeTypeName] | None = None,
    restart: float = 0.0,
    stop: float = 0.0,
    weight: str | None = None,
    time: str | None = None,
    decreasing: bool = False,
    direction: str = "out",
    return_edges: bool = False,
    seed: int = 0,
    threads: int = 0,
):
    """Walks of `length` steps from each start, along edges.

    starts: ids [n] in any order, repeats allowed; or a split's name, a bool mask, or with several node types a pair of
        node type and any of these. A walk is a function of `seed`, its start, and how many starts before it are the
        same node. Ids or a mask on a GPU: it walks there, and the results are there.
    metapath: the edge types of the steps, which chain. A walk that is longer begins it again. None: the only edge type.
    restart: the probability, before a step, that it leads back to the start, from where the walk goes on. With a
        metapath, only where it begins.
    stop: the probability, before a step, that the walk ends.
    weight: a float edge table: edges are drawn by it. None: all edges alike.
    time: an int64 edge table: no step goes back in time, or with `decreasing` forwards.
    direction: "out": from source to destination. "in": against the edges. The first walk along the edges of a directed
        graph makes the other order, which takes about the memory of its topology, once on a machine; not where the
        store has it (`ramet.save(..., out_edges=True)`).
    return_edges: also the ids of the edges.
    threads: how many work on this call; 0: all. The result does not depend on it.

    Returns int64 [n, length + 1], nodes, -1 after an end: a node without out-edges, without any in time, or whose
    weights are all 0. With `return_edges` also int64 [n, length], -1 where no edge was followed. Raises IndexError for
    starts out of range, KeyError for a table that is missing, TypeError and ValueError for what does not fit.
    """
    if as_flag(decreasing, "decreasing") and time is None:
        raise ValueError("decreasing is True, but there is no `time`, an edge table of times")
    path = _metapath(graph, metapath, _along(direction))
    needs = Needs(_along(direction), weight, time, edge_ids=as_flag(return_edges, "return_edges"))
    walks = _walks(
        graph,
        path,
        needs,
        _starts(starts, graph, path[0], needs.outgoing),
        length=length,
        restart=_probability(restart, "restart"),
        stop=_probability(stop, "stop"),
        decreasing=decreasing,
        seed=seed,
        threads=threads,
    )
    return _as_result(walks)


def node2vec_walk(
    graph: Graph,
    starts,
    length: int,
    p: float = 1.0,
    q: float = 1.0,
    *,
    weight: str | None = None,
    direction: str = "out",
    return_edges: bool = False,
    seed: int = 0,
    threads: int = 0,
):
    """Walks of the second order (Grover, Leskovec: "node2vec", 2016), of a graph with one edge type.

    A step back to the node before weighs 1 / p, one to a node that has an edge from the node before 1, any other 1 / q,
    each times the edge's weight. The other arguments, the result and what is raised are as in `random_walk`; ValueError
    also for p or q that are not above 0.
    """
    path = _metapath(graph, None, _along(direction))
    needs = Needs(_along(direction), weight, by_end=True, edge_ids=as_flag(return_edges, "return_edges"))
    bias = as_real(p, "p"), as_real(q, "q")
    starts = _starts(starts, graph, path[0], needs.outgoing)
    return _as_result(_walks(graph, path, needs, starts, length=length, node2vec=bias, seed=seed, threads=threads))


def pinsage_neighbors(
    graph: Graph,
    seeds,
    num_neighbors: int,
    *,
    num_walks: int = 10,
    length: int = 3,
    stop: float = 0.5,
    metapath: Sequence[EdgeTypeName] | None = None,
    weight: str | None = None,
    direction: str = "out",
    seed: int = 0,
    threads: int = 0,
):
    """The nodes that random walks from each seed visit most, and how often: PinSAGE's neighbors, with their importance
    (Ying et al.: "Graph convolutional neural networks for web-scale recommender systems", 2018).

    num_walks: walks from each seed, of at most `length` passes of the metapath; before each step a walk ends with
        probability `stop`.
    metapath: leads back to the seeds' type, such as [("item", "bought by", "user"), ("user", "buys", "item")]. Visits
        are counted where it ends. Other arguments: as in `random_walk`.

    Returns (nodes, visits), int64 [n, num_neighbors] each: most visits first, then by id; the seed itself is not among
    them. Where walks reach fewer nodes, -1 and 0. Raises what `random_walk` raises.
    """
    path = _metapath(graph, metapath, _along(direction))
    needs = Needs(_along(direction), weight)
    _require_cycle(path, needs.outgoing)
    count, walks = as_int(num_neighbors, "num_neighbors", 1), as_int(num_walks, "num_walks", 1)
    starts = np.repeat(_starts(seeds, graph, path[0], needs.outgoing, "seeds", stays=False), walks)
    length = as_int(length, "length", 1) * len(path)
    stop = _probability(stop, "stop")
    visits = _walks(graph, path, needs, starts, length=length, stop=stop, seed=seed, threads=threads)[0]
    found = _core.most_visited(visits, walks_per_seed=walks, stride=len(path), count=count, threads=threads)
    return tuple(map(to_tensor, found))


def ppr_neighbors(
    graph: Graph,
    seeds,
    num_neighbors: int,
    *,
    alpha: float = 0.15,
    epsilon: float = 1e-4,
    num_walks: int | None = None,
    weight: str | None = None,
    direction: str = "out",
    seed: int = 0,
    threads: int = 0,
):
    """The nodes of highest personalized PageRank of each seed, and their scores, by forward push (Andersen, Chung,
    Lang, 2006): a score is at most `epsilon` times the number of the node's edges too low.

    alpha: the probability to teleport, to the seed. The mass of a node without edges returns to the seed.
    num_walks: estimates scores by so many walks from each seed instead. A walk ends with probability `alpha` before
        each step, and at a node without edges. A score is alpha times the visits of a walk.
    Other arguments: as in `random_walk`, of a graph with one edge type.

    Returns (nodes, scores), int64 and float64 [n, num_neighbors]: highest score first, then by id; the seed itself is
    not among them. Where fewer nodes have a score, -1 and 0. Raises what `random_walk` raises.
    """
    (edge_type,) = path = _metapath(graph, None, _along(direction))
    _require_cycle(path, _along(direction))
    needs = Needs(_along(direction), weight)
    starts = _starts(seeds, graph, edge_type, needs.outgoing, "seeds", stays=False)
    count, alpha = as_int(num_neighbors, "num_neighbors", 1), as_real(alpha, "alpha", below=1)
    threads = as_int(threads, "threads", 0, MAX_THREADS)
    if num_walks is None:
        walked, limits = (
            ordered_edges(graph, edge_type, needs),
            {"alpha": alpha, "epsilon": as_real(epsilon, "epsilon")},
        )
        return tuple(map(to_tensor, _core.ppr_neighbors(walked, starts, count=count, **limits, threads=threads)))
    num_walks, length = as_int(num_walks, "num_walks", 1), math.ceil(math.log(LEFT_OVER) / math.log1p(-alpha))
    starts = np.repeat(starts, num_walks)
    walks, _ = _walks(graph, path, needs, starts, length=length, stop=alpha, seed=seed, threads=threads)
    nodes, visits = _core.most_visited(walks, walks_per_seed=num_walks, stride=1, count=count, threads=threads)
    return to_tensor(nodes), to_tensor(visits * (alpha / num_walks))


def _walks(
    graph: Graph,
    path: list[EdgeTypeName],
    needs: Needs,
    starts,
    *,
    length,
    seed,
    threads,
    restart: float = 0.0,
    stop: float = 0.0,
    node2vec: tuple[float, float] | None = None,
    decreasing: bool = False,
):
    """(nodes, edge ids where they are needed), where `starts` are."""
    length = as_int(length, "length", 0)
    if length > len(path):
        _require_cycle(path, needs.outgoing)
    options = _core.WalkOptions(
        length,
        restart=restart,
        stop=stop,
        node2vec=node2vec,
        decreasing=decreasing,
        edge_ids=needs.edge_ids,
        seed=as_int(seed, "seed", 0, UINT64_MAX),
        threads=as_int(threads, "threads", 0, MAX_THREADS),
    )
    edges = [ordered_edges(graph, edge_type, needs) for edge_type in path]
    if devices.is_on_device(starts):
        return on_device.random_walks(graph, edges, starts, options, length, needs.edge_ids)
    return _core.random_walks(edges, starts, options)


def _as_result(walks: tuple):
    nodes, edge_ids = walks
    return to_tensor(nodes) if edge_ids is None else (to_tensor(nodes), to_tensor(edge_ids))


def _metapath(graph: Graph, metapath, outgoing: bool) -> list[EdgeTypeName]:
    require_whole(as_graph(graph))
    if metapath is None:
        return [only(graph.edge_types, "the graph has several edge types; name them in metapath")]
    path = [tuple(edge_type) for edge_type in metapath]
    if not path:
        raise ValueError("metapath is empty, expected one edge type or more")
    for edge_type in path:
        if edge_type not in graph.edge_types:
            raise KeyError(f"metapath names edge type {edge_type}; there are {graph.edge_types}")
    for one, other in itertools.pairwise(path):
        if _end(one, outgoing) != _begin(other, outgoing):
            raise ValueError(f"metapath: {one} leads to {_end(one, outgoing)!r}, where {other} does not begin")
    return path


def _begin(edge_type: EdgeTypeName, outgoing: bool) -> str:
    return edge_type[0 if outgoing else 2]


def _end(edge_type: EdgeTypeName, outgoing: bool) -> str:
    return edge_type[2 if outgoing else 0]


def _require_cycle(path: list[EdgeTypeName], outgoing: bool) -> None:
    if _begin(path[0], outgoing) != _end(path[-1], outgoing):
        raise ValueError(f"metapath {path} does not lead back to {_begin(path[0], outgoing)!r}, where it begins")


def _starts(starts, graph: Graph, first: EdgeTypeName, outgoing: bool, what: str = "starts", stays=True):
    """int64 ids: an array, or a tensor on the device where they are. stays: whether they may be on a device."""
    given, chosen = node_type_of(starts, graph, what)
    is_there, ids = stays and devices.is_on_device(chosen), None
    if not is_there:
        _, ids = as_input_nodes((given, chosen), graph, what)
    expected = _begin(first, outgoing)
    if given != expected:
        raise ValueError(f"{what} are of type {given!r}, but the walk begins at {expected!r}, by edge type {first}")
    num_nodes = graph.num_nodes(given)
    if is_there:
        owner = f"node type {given!r} has {num_nodes} nodes"
        return on_device.starts_on_device(chosen, num_nodes, what, owner)
    return np.arange(num_nodes) if ids is None else np.ascontiguousarray(ids)


def _probability(value, what: str) -> float:
    number = as_real(value, what)
    if number > 1:
        raise ValueError(f"{what} is {number}, expected a probability, at most 1")
    return number


def _along(direction) -> bool:
    return check_word(direction, "direction", DIRECTIONS) == "out"
