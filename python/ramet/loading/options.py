"""Checks a user's graph, seeds, fanouts and device, and converts them for the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from ramet import _core
from ramet._support import torch_devices
from ramet._support.arguments import UINT64_MAX, as_flag, as_int, shortened
from ramet._support.foreign_words import graph_advice
from ramet.arrays import as_split
from ramet.graph import Graph
from ramet.loading.samplers import Budget, as_sampler, draws_by_node_type
from ramet.loading.times import as_integers, as_time, by_type, require_time

EXPAND = ("every", "once")
MAX_HOPS = 256  # what the engine takes
MAX_THREADS = 4096
MAX_PREFETCH = 65536  # batches


def as_graph(graph) -> Graph:
    if not isinstance(graph, Graph):
        raise TypeError(f"graph is a {type(graph).__name__}, expected a ramet.Graph{graph_advice(graph)}")
    return graph


def require_whole(graph: Graph) -> None:
    """ValueError for a part of a graph, where neighbors of neighbors are elsewhere."""
    if graph.part is not None:
        index, count = graph.part
        raise ValueError(
            f"the graph is part {index} of {count} and has no in-edges of nodes of other parts; "
            f"parts are for cooperative loaders, whose ranks have one each"
        )


def as_device(device):
    """The torch.device, with its number, of a GPU; None for the CPU. RuntimeError with the reason if there is none."""
    if device is None or str(device) == "cpu":
        return None
    _core.cuda_num_devices()
    return torch_devices.as_device(device)


def as_fanouts(num_neighbors, graph: Graph) -> list[list[int]]:
    """A list of fanouts (for every edge type) or a dict of lists by edge type, as one list per edge type."""
    if not graph.edge_types and not isinstance(num_neighbors, Mapping) and _per_hop(num_neighbors, "num_neighbors"):
        raise ValueError("the graph has no edge types to sample from")
    return _by_type(num_neighbors, graph.edge_types, "num_neighbors", "edge type (0 leaves one out)", _per_hop)


def as_budgets(num_nodes, graph: Graph, what: str = "num_neighbors") -> list[list[int]]:
    """A list of numbers of nodes (for every node type) or a dict of lists by node type, as one list per node type."""
    per_hop = partial(_per_hop, kind="numbers of nodes", least=0)
    return _by_type(num_nodes, graph.node_types, what, "node type", per_hop)


def _by_type(value, types: list, what: str, expected: str, per_hop: Callable) -> list[list[int]]:
    if not isinstance(value, Mapping):
        return [per_hop(value, what) for _ in types]
    unknown = [t for t in value if t not in types]
    missing = [t for t in types if t not in value]
    if unknown or missing:
        raise ValueError(f"{what} must name every {expected}; missing: {missing}, unknown: {unknown}")
    return [per_hop(value[t], f"{what}[{t!r}]") for t in types]


def sample_options(graph: Graph, num_neighbors, *, sampler, seed, expand="every", disjoint=False, time=None) -> dict:
    """All options that affect the picks, checked, as numbers and strings."""
    time, sampler, expand = as_time(time), as_sampler(sampler), _as_expand(expand)
    of_types = draws_by_node_type(sampler)
    of_trees = isinstance(sampler, Budget) and not of_types
    return {
        "fanouts": as_budgets(num_neighbors, graph) if of_types else as_fanouts(num_neighbors, graph),
        "sampler": sampler.plain(),
        "seed": as_int(seed, "seed", 0, UINT64_MAX),
        "expand": "once" if sampler.one_graph else expand,
        "disjoint": as_flag(disjoint, "disjoint") or time is not None or of_trees,
        "time": None if time is None else time.plain(),
    }


def for_sampling(options: dict) -> _core.SampleOptions:
    """The result of `sample_options`, for the engine."""
    fields = dict(options["sampler"])
    common = {"sampler": fields.pop("name"), "dependent": fields.pop("dependent")}
    return _core.SampleOptions(**options | common, fields=fields)


class Input(NamedTuple):
    """The seeds of one node type, as the engine takes them."""

    node_type: int  # its position
    ids: np.ndarray | None  # int64; None for all nodes
    times: np.ndarray | None  # int64, of each, or [ids, 2]: a window of each; None for those of the nodes


def as_inputs(nodes, input_time, graph: Graph, what: str, time: dict | None) -> list[Input]:
    """nodes: as in as_input_nodes(), or a dict of these by node type; then `input_time` is a dict, too. time: as in
    `sample_options`."""
    if not isinstance(nodes, Mapping):
        chosen = [(as_input_nodes(nodes, graph, what), input_time, "input_time")]
    else:
        if not nodes:
            raise ValueError(f"{what} is an empty dict, expected at least one node type")
        times = by_type(input_time, nodes, "node type", "input_time", what)
        chosen = [
            (_ids_of(t, of_type, graph, f"{what}[{t!r}]"), times.get(t), f"input_time[{t!r}]")
            for t, of_type in nodes.items()
        ]
    inputs = []
    for (position, ids), of_type, name in chosen:
        count = graph.num_nodes(graph.node_types[position]) if ids is None else len(ids)
        inputs.append(Input(position, ids, as_times(of_type, time, count, name)))
    windows = [of_type.times is not None and of_type.times.ndim == 2 for of_type in inputs]
    if any(windows) and not all(windows):
        without = [graph.node_types[of_type.node_type] for of_type, has in zip(inputs, windows) if not has]
        raise ValueError(f"input_time has windows for seeds of some node types, but not for {without}: give all")
    return inputs


def as_input_nodes(input_nodes, graph: Graph, what: str) -> tuple[int, np.ndarray | None]:
    """(position of the node type, int64 ids or None for all) from None, the name of a split, ids, a bool mask, or
    on a heterogeneous graph a node type, or a pair of a node type and any of these."""
    node_type, chosen = node_type_of(input_nodes, graph, what)
    return _ids_of(node_type, chosen, graph, what)


def _ids_of(node_type, chosen, graph: Graph, what: str) -> tuple[int, np.ndarray | None]:
    if node_type not in graph.node_types:
        raise ValueError(f"{what} names node type {node_type!r}; there is {graph.node_types}")
    position = graph.node_types.index(node_type)
    if chosen is None:
        return position, None
    if isinstance(chosen, str):
        return position, graph.split(chosen, node_type).astype(np.int64, copy=False)
    num_nodes = graph.num_nodes(node_type)
    ids = as_split(chosen, what, num_nodes, f"node type {node_type!r} has {num_nodes} nodes")
    return position, ids.astype(np.int64, copy=False)


def as_times(input_time, time: dict | None, count: int, what: str = "input_time") -> np.ndarray | None:
    """int64 times of `count` seeds, or their windows. time: as in `sample_options`."""
    if input_time is None or time is None:
        require_time(input_time, what)
        return None
    expected = f"[{count}], a time for each seed, or [{count}, 2], the first and the last time that each allows"
    times = as_integers(input_time, what, ((count,), (count, 2)), expected)
    if times.ndim == 2:
        _require_windows(times, time, what)
    return times


def _require_windows(windows: np.ndarray, time: dict, what: str) -> None:
    if time["window"] != -1:
        raise ValueError(f"{what} has a window for each seed, but time.window is {time['window']}: give one of them")
    wrong = np.flatnonzero(windows[:, 0] > windows[:, 1])
    if wrong.size:
        i = int(wrong[0])
        expected = "the first time that is allowed, and then the last"
        raise ValueError(f"{what}[{i}] is {windows[i].tolist()}, expected {expected}")


def _as_expand(expand) -> str:
    if not isinstance(expand, str) or expand not in EXPAND:
        error = ValueError if isinstance(expand, str) else TypeError
        raise error(f"expand is {shortened(expand)}, expected {' or '.join(map(repr, EXPAND))}")
    return expand


def is_list(value) -> bool:
    """Whether it has entries in order: a list, a tuple, an array or a tensor that is no single number."""
    return hasattr(value, "__iter__") and not isinstance(value, (str, bytes)) and getattr(value, "ndim", 1) > 0


def _per_hop(numbers, what: str, kind: str = "fanouts", **bounds) -> list[int]:
    if not is_list(numbers):
        raise TypeError(f"{what} is {numbers!r}, expected a list of {kind}, one per hop")
    return [as_int(number, f"{what}[{hop}]", **bounds) for hop, number in enumerate(as_hops(numbers, what))]


def as_hops(numbers, what: str) -> list:
    """`numbers`, one per hop, as a list. ValueError for too many, also for numbers without end."""
    hops = list(islice(numbers, MAX_HOPS + 1))
    if len(hops) > MAX_HOPS:
        count = len(numbers) if hasattr(numbers, "__len__") else f"over {MAX_HOPS}"
        raise ValueError(f"{what} has {count} hops, expected at most {MAX_HOPS}")
    return hops


def node_type_of(input_nodes, graph: Graph, what: str) -> tuple:
    """(node type, what names its nodes), of what as_input_nodes() takes."""
    if isinstance(input_nodes, tuple) and len(input_nodes) == 2 and isinstance(input_nodes[0], str):
        return input_nodes
    types = graph.splits.get(input_nodes, []) if isinstance(input_nodes, str) else []
    if not types and isinstance(input_nodes, str) and input_nodes in graph.node_types:
        return input_nodes, None
    if len(graph.node_types) == 1:
        return graph.node_types[0], input_nodes
    if len(types) == 1:
        return types[0], input_nodes
    expected = f"a node type, one of {graph.node_types}, or a pair of it and nodes"
    raise ValueError(f"{what} is {shortened(input_nodes)}, expected {expected}")
