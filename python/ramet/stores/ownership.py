"""Who owns a node: what a user may say about that, turned into what the engine takes."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np

from ramet import _core
from ramet.arrays import as_array
from ramet.graph import Graph


def as_owners(ownership, graph: Graph, parts: int) -> list[_core.Ownership]:
    """Per node type, who of `parts` ranks owns which node.

    ownership: None or "range" (ranges of ids, with about equally many in-edges and nodes), "hash" (of the id), a vector
    of owners (integers [num_nodes], or the path of an .npy file of them, which is mapped), or a dict of any of these by
    node type. An int64 file or vector of parts + 1 entries from 0 to num_nodes is bounds of ranges.
    A part of a graph says itself who owns what: None.
    Raises ValueError or TypeError where that does not cover the graph, or is not of so many ranks.
    """
    if not 1 <= parts <= _core.MAX_PARTS:
        raise ValueError(f"{parts} ranks, expected 1 to {_core.MAX_PARTS}")
    if graph.part is not None:
        return _of_part(graph, ownership, parts)
    if not isinstance(ownership, Mapping):
        if ownership is not None and not isinstance(ownership, str) and len(graph.node_types) > 1:
            raise ValueError(f"ownership must be a dict by node type; node types are {graph.node_types}")
        return [_of_type(ownership, graph, t, parts, "ownership") for t in graph.node_types]
    unknown = [t for t in ownership if t not in graph.node_types]
    missing = [t for t in graph.node_types if t not in ownership]
    if unknown or missing:
        raise ValueError(f"ownership must name every node type; missing: {missing}, unknown: {unknown}")
    return [_of_type(ownership[t], graph, t, parts, f"ownership[{t!r}]") for t in graph.node_types]


def _of_part(graph: Graph, ownership, parts: int) -> list[_core.Ownership]:
    index, count = graph.part
    if ownership is not None:
        raise ValueError("ownership is given, but the graph is a part, which says itself who owns what")
    if parts != count:
        raise ValueError(f"the graph is part {index} of {count}, but {parts} ranks cooperate: each needs one part")
    return [stored(graph._core.owner(t), parts, f"the owners of node type {t!r}") for t in graph.node_types]


def stored(owner: np.ndarray, parts: int, place: str) -> _core.Ownership:
    """From the form that owners have in a store: bounds of ranges are int64, a vector is uint8 or uint16."""
    if owner.dtype == np.int64:
        return _core.Ownership.ranges(owner)
    return _core.Ownership.by_vector(owner, parts, place)


def _of_type(ownership, graph: Graph, node_type: str, parts: int, what: str) -> _core.Ownership:
    if ownership is None or (isinstance(ownership, str) and ownership == "range"):
        bounds = np.array(_core.balanced_ranges(graph._core, node_type, parts))
        return _core.Ownership.ranges(bounds)
    if isinstance(ownership, str) and ownership == "hash":
        return _core.Ownership.hashed(graph._core, node_type, parts)
    place = what
    if isinstance(ownership, (str, os.PathLike)):
        place = os.fspath(ownership)
        if not os.path.exists(place):
            raise FileNotFoundError(f"{what} is {place!r}: neither 'range', 'hash' nor a file")
        ownership = _load(place)
    return _of_array(as_array(ownership, what), graph.num_nodes(node_type), parts, place)


def _load(path: str) -> np.ndarray:
    try:
        owners = np.load(path, mmap_mode="r")
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is no .npy file of owners: {error}") from error
    if not isinstance(owners, np.ndarray):
        raise ValueError(f"{path} is an archive of arrays, expected an .npy file of owners")
    return owners


def _of_array(owners: np.ndarray, num_nodes: int, parts: int, place: str) -> _core.Ownership:
    if owners.ndim != 1 or owners.dtype.kind not in "iu":
        raise ValueError(f"{place} is {owners.dtype}{list(owners.shape)}, expected one dimension of integers")
    is_bounds = len(owners) == parts + 1 != num_nodes and owners[0] == 0 and owners[-1] == num_nodes
    if is_bounds:
        return _core.Ownership.ranges(owners.astype(np.int64))
    if len(owners) != num_nodes:
        raise ValueError(f"{place} has {len(owners)} entries, but there are {num_nodes} nodes")
    if num_nodes and not 0 <= owners.min() <= owners.max() < parts:
        worst = int(np.argmax((owners < 0) | (owners >= parts)))
        raise ValueError(f"{place}[{worst}] = {owners[worst]} is outside [0, {parts}), the ranks")
    if owners.dtype not in (np.uint8, np.uint16):
        owners = owners.astype(np.uint8 if parts <= 256 else np.uint16)
    return _core.Ownership.by_vector(np.ascontiguousarray(owners), parts, place)
