"""Input nodes and their times as users of PyG give them, checked, as PyG's NodeLoader takes them."""

from __future__ import annotations

import numpy as np
import torch

from ramet._support.arguments import shortened
from ramet.loading.options import as_input_nodes, as_times
from ramet.pyg.sampler import RametSampler
from ramet.pyg.source import Source


def as_inputs(sampler: RametSampler, input_nodes, input_time, input_id) -> tuple:
    """(input_nodes, input_time) for PyG's NodeLoader. ValueError, TypeError and IndexError name the argument.

    input_nodes: as in PyG, or the name of a split; masks may be arrays and lists, too. input_time: integers, one for
        each input node. input_id: only checked.
    """
    nodes, count = _as_nodes(sampler.source, input_nodes)
    if input_id is not None and not isinstance(input_id, torch.Tensor):
        raise TypeError(f"input_id is {shortened(input_id)}, expected a tensor")
    if input_id is not None and input_id.numel() != count:
        raise ValueError(f"input_id has {input_id.numel()} entries, expected {count}, one for each input node")
    if input_time is None:
        _require_own_times(sampler, input_nodes)
    if input_time is None or sampler.time is None:  # PyG refuses a time without time_attr
        return nodes, input_time
    return nodes, torch.tensor(as_times(on_cpu(input_time), sampler.time.plain(), count))


def _require_own_times(sampler: RametSampler, input_nodes) -> None:
    """ValueError where the sampler needs times and the seeds' type has none, in the engine's words."""
    node_type, _ = _pair(sampler.source, input_nodes)
    if sampler.time is None or sampler.time.table in sampler.source.graph.tables(node_type):
        return
    raise ValueError(
        f"node type {node_type!r} has no table '{sampler.time.table}': its seeds need times of their own, input_time"
    )


def _as_nodes(source: Source, input_nodes) -> tuple:
    """(input nodes, their number)."""
    node_type, chosen = _pair(source, input_nodes)
    graph = source.graph
    _, ids = as_input_nodes((node_type, chosen), graph, "input_nodes")
    count = graph.num_nodes(node_type) if ids is None else len(ids)
    nodes = None
    if ids is not None and np.asarray(chosen).dtype == bool:  # PyG's `input_id` is then the node's id
        nodes = torch.tensor(np.asarray(chosen))
    elif ids is not None or count == 0:
        nodes = torch.tensor([] if ids is None else ids, dtype=torch.int64)
    if not source.is_hetero:
        return nodes, count
    return (node_type if nodes is None else (node_type, nodes)), count


def _pair(source: Source, input_nodes) -> tuple:
    """(node type, its input)."""
    graph = source.graph
    is_pair = isinstance(input_nodes, (tuple, list)) and len(input_nodes) == 2 and isinstance(input_nodes[0], str)
    if is_pair:
        return input_nodes[0], on_cpu(input_nodes[1])
    if not source.is_hetero:
        return graph.node_types[0], on_cpu(input_nodes)
    if not isinstance(input_nodes, str):
        given = shortened(input_nodes)
        raise ValueError(
            f"input_nodes is {given}, expected a node type, or a pair of one and nodes: {graph.node_types}"
        )
    of_split = graph.splits.get(input_nodes, [])
    if len(of_split) == 1 and input_nodes not in graph.node_types:
        return of_split[0], input_nodes
    return input_nodes, None


def on_cpu(value):
    return value.cpu() if isinstance(value, torch.Tensor) else value
